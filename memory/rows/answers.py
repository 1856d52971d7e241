"""Answers that are kept under a key, so that a repeated request or run does nothing twice."""

from typing import NamedTuple

from memory.rows.record_columns import SQL
from protocol.seams.ports import Tx


class KeptAnswer(NamedTuple):
    """An answer that was given before."""

    request: bytes
    """The digest of its request."""
    answer: str
    """JSON."""


def find_answer(tx: Tx, key: str, after: int = 0) -> KeptAnswer | None:
    """Return the answer that was kept under a key after a time, or None."""
    row = tx.one(SQL["get_answer"], {"key": key, "after": after})
    return KeptAnswer(*row) if row is not None else None


def keep_answer(tx: Tx, key: str, kept: KeptAnswer, now: int) -> None:
    """Keep an answer under a key."""
    tx.run(SQL["put_answer"], {"key": key, **kept._asdict(), "at": now})
