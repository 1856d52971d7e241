"""Find the records that a proposal names: the one that it supersedes, and the one that it restates.

Rule 1: a record outside the active scopes, or one that is not active, is not found.
Rule 2: records that a person merged stay merged: the words of the one restate the other.
Rule 3: an extractor's claim that a record says the same counts only where the user's words support it; a person's
claim always counts.
"""

from collections.abc import Sequence

from msgspec import Struct

from memory.proposals.proposal import Proposed
from memory.proposals.same_matter import restates
from memory.rows.record_columns import Stored
from memory.rows.records import find_merged
from memory.rows.store import get_record
from memory.rules.notes import is_note
from protocol.base import Scope
from protocol.errors import CallerError, Refused
from protocol.seams.ports import Lexicon, Tx


class Meeting(Struct, frozen=True):
    """The scope of a proposal, and the rows in it that it meets."""

    scope_id: int
    same_key: Stored | None
    """The active record of its key."""
    text_hash: bytes | None
    """The hash of its words; None where no record, active or not, has these."""


def find_superseded(tx: Tx, proposed: Proposed, scope: Scope, active: Sequence[Scope]) -> Stored | None:
    """Return the record to supersede; None where none is named.

    Raises `CallerError("not_found")`, or `Refused("conflict")` where it is in another scope than the proposal.
    """
    if proposed.supersedes is None:
        return None
    found = get_record(tx, proposed.supersedes)
    if found is None or found.record.scope not in active or found.record.status != "active":
        raise CallerError.missing("record to supersede")
    if found.record.scope != scope:
        raise Refused("conflict", "A memory is replaced only within its scope.")
    return found


def find_restated(tx: Tx, lexicon: Lexicon, proposed: Proposed, meeting: Meeting) -> Stored | None:
    """Return the active record of the scope that the proposal restates; None where none is named, or rule 3 fails."""
    memory_id = proposed.same_as
    if memory_id is None and meeting.text_hash is not None and meeting.same_key is None:
        memory_id = find_merged(tx, meeting.scope_id, meeting.text_hash)
    found = get_record(tx, memory_id) if memory_id is not None else None
    if found is None or found.scope_id != meeting.scope_id or found.record.status != "active" or is_note(found.record):
        return None
    if proposed.supersedes is not None:  # a person merges two records
        return found
    if proposed.same_as is None:  # a person has merged a record of these words before
        return found if proposed.value in (None, found.record.value) else None
    is_other = meeting.same_key is not None and meeting.same_key.row != found.row
    return None if is_other or not restates(proposed, found.record, lexicon) else found
