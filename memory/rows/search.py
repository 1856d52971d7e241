"""Queries of the full-text index, and the columns of a record that scores and comparisons need.

Rule 1: user text is never query syntax: it becomes quoted terms.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from memory.rows.record_columns import SQL, to_column
from memory.rows.record_terms import prefix_terms
from memory.rules.notes import read_note_author
from memory.rules.strength import Lifetime
from memory.rules.visibility import Seen
from protocol.record import Category, Kind
from protocol.seams.ports import Row, Tx

_decode_rows = msgspec.json.Decoder(list[int]).decode


class ScopedCategory(NamedTuple):
    """The set in which records are compared: one scope, by row, and one category."""

    scope_id: int
    category: Category


class RecordCandidate(Struct, frozen=True):
    """The columns of a record that its score and the gate need."""

    row: int
    memory_id: str
    seen: Seen
    tags: str
    kind: Kind
    life: Lifetime
    confidence: float
    evidence_count: int
    updated_at: int
    created_at: int
    valid_from: int | None
    terms: bytes | None
    head: str
    """The beginning of its content."""

    @property
    def standing(self) -> float:
        """Return the record's strength free of time."""
        return self.life.standing


class ComparableRecord(Struct, frozen=True):
    """The columns of a record that a statement is compared with; the record may be damaged."""

    row: int
    key: str
    is_single: bool
    content: str
    value: str | None
    """JSON."""


def match_of(scope_ids: Sequence[int], together: Sequence[str]) -> str:
    """Return the MATCH for records in any of the scopes that have all of the terms; it has only quoted strings."""
    scopes = [f"s{scope_id}" for scope_id in scope_ids]
    return " OR ".join(" AND ".join(f'"{prefix_terms(scope, term)}"' for term in together) for scope in scopes)


def rows_with(tx: Tx, scope_ids: Sequence[int], together: Sequence[str], limit: int) -> list[int]:
    """Return the rows of the newest records in the scopes that have all of the terms."""
    found = tx.one(SQL["matches"], {"match": match_of(scope_ids, together), "limit": limit})
    return _decode_rows(found[0]) if found else []


def count_with(tx: Tx, scope_ids: Sequence[int], together: Sequence[str], limit: int) -> int:
    """Return how many records in the scopes have all of the terms, up to a number."""
    found = tx.one(SQL["count_matches"], {"match": match_of(scope_ids, together), "limit": limit})
    return found[0] if found else 0


def newest_with(tx: Tx, shelf: ScopedCategory, term: str, *, budget: int, limit: int) -> list[int]:
    """Return the rows of the newest active records of a category with a term, without a caller's name.

    They are among the `budget` newest records of the scope with the term.
    """
    match = match_of([shelf.scope_id], [term])
    rows = tx.all(SQL["newest_with_term"], {"match": match, **shelf._asdict(), "budget": budget, "limit": limit})
    return [row for (row,) in rows]


def comparable_records(tx: Tx, shelf: ScopedCategory, rows: Sequence[int]) -> dict[int, ComparableRecord]:
    """Return by row those of some records that are active, of the category, and without a caller's name."""
    found = tx.all(SQL["comparable_records"], {"rows": to_column(list(rows)), **shelf._asdict()})
    return {
        row: ComparableRecord(row, _text(key), bool(is_single), _text(content), value and _text(value))
        for row, key, is_single, content, value in found
    }


def _text(column: bytes) -> str:
    return column.decode("utf-8", "replace")


def read_candidates(tx: Tx, rows: Sequence[int], asked: Mapping[str, Any]) -> dict[int, RecordCandidate]:
    """Return by row those of some records that pass a filter."""
    found = tx.all(SQL["candidates_by_row"], {"rows": to_column(list(rows)), **asked})
    return {row[0]: _candidate_of(row) for row in found}


def _candidate_of(row: Row) -> RecordCandidate:
    """Return a row of `candidates_by_row`. It counts as intact: the gate sees the whole record before it is shown."""
    texts: Any = [value.decode("utf-8", "replace") for value in (*row[2:7], row[-1])]
    memory_id, status, sensitivity, tags, kind, head = texts
    author = read_note_author(row[-2]) if row[-2] is not None else None
    expires_at, standing, reinforced_at, fades_at, confidence, evidence_count, updated_at, *rest = row[7:-2]
    seen = Seen(row[1], status, sensitivity, expires_at, is_intact=True, noted_by=author)
    life = Lifetime(standing, reinforced_at, updated_at, fades_at)
    return RecordCandidate(
        row[0], memory_id, seen, tags, kind, life, confidence, evidence_count, updated_at, *rest, head=head
    )
