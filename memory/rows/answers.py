"""Answers that are kept under a key, so that a request or a run that comes again does nothing twice."""

from typing import NamedTuple

from memory.rows.record_columns import SQL
from protocol.seams.ports import Tx


class KeptAnswer(NamedTuple):
    """An answer as JSON, and the digest of the request that it was given to."""

    request: bytes
    answer: str


def find_answer(tx: Tx, key: str, after: int = 0) -> KeptAnswer | None:
    """Return the answer of a key that was given after then."""
    row = tx.one(SQL["get_answer"], {"key": key, "after": after})
    return KeptAnswer(*row) if row is not None else None


def keep_answer(tx: Tx, key: str, kept: KeptAnswer, now: int) -> None:
    """Keep an answer under a key."""
    tx.run(SQL["put_answer"], {"key": key, **kept._asdict(), "at": now})
