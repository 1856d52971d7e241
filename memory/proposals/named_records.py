"""Find the records that a proposal names: the one that it takes the place of, and the one that it restates.

Rule 1: what is outside the active scopes, or no longer active, does not exist.
Rule 2: what a person merged stays merged: words of a record that was merged are those of the one that stayed.
Rule 3: an extractor's word that a record says the same counts only where the user's words bear it out; a person's word
always does.
"""

from collections.abc import Sequence

from msgspec import Struct

from memory.proposals.proposal import Proposed
from memory.proposals.same_matter import restates
from memory.rows.records import find_merged
from memory.rows.store import Stored, get_record
from memory.rules.notes import is_note
from protocol.base import Scope
from protocol.errors import CallerError, Refused
from protocol.seams.ports import Lexicon, Tx


class Meeting(Struct, frozen=True):
    """The scope of a proposal, the record of its key, and the hash of its words if a record has or had them."""

    scope_id: int
    same_key: Stored | None
    text_hash: bytes | None


def find_superseded(tx: Tx, proposed: Proposed, scope: Scope, active: Sequence[Scope]) -> Stored | None:
    """Return the record to supersede, None where none is named.

    Raises `CallerError("not_found")`, `Refused("conflict")`.
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
    """Return the record of the scope that says the same; None where none is named, or the words say otherwise."""
    memory_id = proposed.same_as
    if memory_id is None and meeting.text_hash is not None and meeting.same_key is None:
        memory_id = find_merged(tx, meeting.scope_id, meeting.text_hash)
    found = get_record(tx, memory_id) if memory_id is not None else None
    if found is None or found.scope_id != meeting.scope_id or found.record.status != "active" or is_note(found.record):
        return None
    if proposed.supersedes is not None:  # a person merges
        return found
    if proposed.same_as is None:  # a person has merged a record of just these words
        return found if proposed.value in (None, found.record.value) else None
    is_other = meeting.same_key is not None and meeting.same_key.row != found.row
    return None if is_other or not restates(proposed, found.record, lexicon) else found
