"""Evidence: the words that support records and candidates.

Rule 1: the same words of the same message support a record or a candidate once.
Rule 2: words that were altered in the file are shown as nobody's evidence; only an erase reads them.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from memory.rows.record_columns import SQL
from protocol.memory.reads import KeptEvidence
from protocol.memory.values import Evidence
from protocol.saying import MARK, fold_text
from protocol.seams.checks import Find, row_finder
from protocol.seams.ports import Row, Tx


class Quote(Struct, frozen=True):
    """Words that support a record, and where they were said."""

    thread_id: str | None
    turn_id: str | None
    item_id: str | None
    text: str


def add_evidence(tx: Tx, values: Mapping[str, Any], *, is_new: bool) -> None:
    """Store what supports a record or a candidate; one that is not new may have it already."""
    if is_new or not tx.one(SQL["has_evidence"], values):
        tx.run(SQL["add_evidence"], values)


def recount_evidence(tx: Tx, memory_id: str, now: int) -> None:
    """Have a record say how much supports it: it has changed."""
    tx.run(SQL["grow_evidence"], {"memory_id": memory_id, "now": now})


def take_evidence(tx: Tx, memory_id: str, taken_by: str, now: int) -> None:
    """Have what supported a record support another one."""
    tx.run(SQL["take_evidence"], {"taken_from": memory_id, "memory_id": taken_by})
    recount_evidence(tx, taken_by, now)


def evidence_of_record(tx: Tx, memory_id: str, limit: int) -> list[KeptEvidence]:
    """Return the words that support a record and where they were said, newest first."""
    rows = tx.all(SQL["evidence_of_record"], {"memory_id": memory_id, "limit": limit})
    return [KeptEvidence(**evidence_of_row(row)) for row in rows]


def find_altered_evidence() -> Find:
    """Return a look at evidence that is not as it was written, each with the record or candidate that it supports."""
    return row_finder(SQL["vouched_evidence_after"], lambda row: not row[-1])


def quotes_of(tx: Tx, memory_id: str) -> list[Quote]:
    """Return the words that support a record, in the order in which they came."""
    return [Quote(*row) for row in tx.all(SQL["quotes_of_record"], {"memory_id": memory_id})]


def list_on_same_words(tx: Tx, memory_id: str) -> list[str]:
    """Return the records that rest on words of the same turn of which one record's are a part, or the other way round.

    They are in the order in which these words were kept. A quote that an erase has changed tells nothing.
    """
    beside = dict[str, None]()
    for other_id, *quotes in tx.all(SQL["quotes_of_same_turns"], {"memory_id": memory_id}):
        part, whole = sorted((fold_text(quote.decode("utf-8", "replace")) for quote in quotes), key=len)
        if part in whole and MARK not in part:
            beside[other_id] = None
    return list(beside)


def evidence_of_row(row: Row) -> dict[str, Any]:
    """Return the members of a piece of evidence."""
    return dict(zip(("quote", "thread_id", "turn_id", "item_id", "source_kind", "at"), row, strict=True))


def evidence_of_candidate(tx: Tx, candidate_id: str) -> list[Evidence]:
    """Return the words that support a candidate; who said them was verified when they came."""
    rows = tx.all(SQL["evidence_of_candidate"], {"candidate_id": candidate_id})
    return [Evidence(**evidence_of_row(row)) for row in rows]
