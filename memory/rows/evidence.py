"""Rows of evidence: the words that support records and candidates.

Rule 1: the same words of the same message support a record or a candidate once.
Rule 2: evidence that was altered in the file is in no answer; only an erase reads it.
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
    """Words that support a record, with the message in which they were said, as far as it is known."""

    thread_id: str | None
    turn_id: str | None
    item_id: str | None
    text: str


def add_evidence(tx: Tx, values: Mapping[str, Any], *, is_new: bool) -> None:
    """Store a piece of evidence of a record or a candidate; unless that `is_new`, only if it lacks it."""
    if is_new or not tx.one(SQL["has_evidence"], values):
        tx.run(SQL["add_evidence"], values)


def recount_evidence(tx: Tx, memory_id: str, now: int) -> None:
    """Count a record's evidence anew, which is a change of the record."""
    tx.run(SQL["recount_evidence"], {"memory_id": memory_id, "now": now})


def take_evidence(tx: Tx, memory_id: str, taken_by: str, now: int) -> None:
    """Move a record's evidence to another one."""
    tx.run(SQL["take_evidence"], {"taken_from": memory_id, "memory_id": taken_by})
    recount_evidence(tx, taken_by, now)


def evidence_of_record(tx: Tx, memory_id: str, limit: int) -> list[KeptEvidence]:
    """Return the unaltered evidence of a record, newest first."""
    rows = tx.all(SQL["evidence_of_record"], {"memory_id": memory_id, "limit": limit})
    return [KeptEvidence(**evidence_of_row(row)) for row in rows]


def find_altered_evidence() -> Find:
    """Return a look that finds altered evidence, each with the id of its record or candidate."""
    return row_finder(SQL["vouched_evidence_after"], lambda row: not row[-1])


def quotes_of(tx: Tx, memory_id: str) -> list[Quote]:
    """Return the quotes that support a record, altered ones as well, in the order in which they came."""
    return [Quote(*row) for row in tx.all(SQL["quotes_of_record"], {"memory_id": memory_id})]


def list_on_same_words(tx: Tx, memory_id: str) -> list[str]:
    """Return the ids of records with a quote of the same turn that holds one of a record, or is a part of one.

    They are in the order in which these quotes were stored. Quotes from which an erase has removed words do not count.
    """
    beside = dict[str, None]()
    for other_id, *quotes in tx.all(SQL["quotes_of_same_turns"], {"memory_id": memory_id}):
        part, whole = sorted((fold_text(quote.decode("utf-8", "replace")) for quote in quotes), key=len)
        if part in whole and MARK not in part:
            beside[other_id] = None
    return list(beside)


def evidence_of_row(row: Row) -> dict[str, Any]:
    """Return the members of a piece of evidence, given its row."""
    return dict(zip(("quote", "thread_id", "turn_id", "item_id", "source_kind", "at"), row, strict=True))


def evidence_of_candidate(tx: Tx, candidate_id: str) -> list[Evidence]:
    """Return the unaltered evidence of a candidate, which was verified when it was stored."""
    rows = tx.all(SQL["evidence_of_candidate"], {"candidate_id": candidate_id})
    return [Evidence(**evidence_of_row(row)) for row in rows]
