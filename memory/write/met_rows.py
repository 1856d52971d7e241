"""The stored rows that a proposal meets, and the facts of them that its plan depends on; pure."""

from msgspec import Struct

from memory.rows.record_columns import Stored
from memory.rows.store import StoredCandidate
from memory.rules.notes import is_note
from memory.rules.write_plan import KnownCandidate, KnownRecord, Refined


class MetRows(Struct, frozen=True):
    """The stored rows that a proposal meets, each None where there is none."""

    duplicate: Stored | None
    """The active record that says the same."""
    same_key: Stored | None
    """The active record of its key."""
    pending: StoredCandidate | None
    """The candidate that it approves, else the one that says the same."""
    superseded: Stored | None
    """The record that it names to supersede."""
    restated: Stored | None
    """The record that says the same in other words."""
    refined: Refined | None
    """The record to which it adds a detail."""
    turns: set[str]
    """The turns in which the same was said before."""
    is_suppressed: bool
    """The same was forgotten, erased or rejected in its scope."""


def to_known_record(found: Stored | None, *, is_restated: bool = False) -> KnownRecord | None:
    """Return the facts of a record, or None for none; `is_restated`: it says the same in other words."""
    if found is None:
        return None
    return KnownRecord(found.record.memory_id, found.record.contested, is_restated, is_note(found.record))


def to_known_candidate(found: StoredCandidate | None) -> KnownCandidate | None:
    """Return the facts of a candidate, or None for none."""
    if found is None:
        return None
    return KnownCandidate(found.candidate.candidate_id, found.candidate.contested_memory_id)
