"""Turns an agent's note into a record of the user: the user said the same, or a person confirmed it.

Rule 1: the record keeps its id and its words; its voice, its key and path, and its end are written anew.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from memory.ports import Collaborators
from memory.proposals.proposal import Proposed
from memory.rows.evidence import take_evidence
from memory.rows.notices import Notice, build_changed_notice, note_change
from memory.rows.record_columns import ADOPTED, Stored, to_columns
from memory.rows.records import adopt_record, find_notes, set_status
from memory.rows.store import Change, add_event, add_text, get_record, scope_id_of
from memory.rules.actors import USER_ACTOR
from memory.rules.identity import FactIdentity, text_hash_of
from memory.rules.notes import is_note
from protocol.base import Scope
from protocol.errors import Defect
from protocol.seams.ports import Lexicon, Tx


def adopt(tx: Tx, memory_id: str, values: Mapping[str, Any], change: Change, now: int, lexicon: Lexicon) -> Stored:
    """Write the fields and columns of `ADOPTED` to a note; return the record as it is now, sealed and indexed.

    A field that `values` does not name becomes null.
    """
    adopt_record(tx, memory_id, to_columns({name: values.get(name) for name in ADOPTED}), now)
    found = get_record(tx, memory_id)
    if found is None:
        raise Defect
    add_event(tx, memory_id, now, change)
    add_text(tx, found, lexicon)
    return found


def replace_notes(
    tx: Tx, means: Collaborators, said: Stored, proposed: Proposed, active: Sequence[Scope]
) -> list[Notice]:
    """Replace notes of other active scopes by the user's record in the same words, which takes over their evidence.

    Return the notices of it. Only an explicit wish of the user replaces notes.
    """
    notices: list[Notice] = []
    for scope in active if proposed.is_explicit and not proposed.is_note else ():
        scope_id = scope_id_of(tx, scope)
        if scope_id is None or scope == said.record.scope:
            continue
        text_hash = text_hash_of(scope, proposed.content, means.keyed)
        for memory_id in find_notes(tx, scope_id, text_hash):
            note = get_record(tx, memory_id)
            if note is not None and note.is_intact:
                notices.append(_supersede_note(tx, means, note, said))
    return notices


def _supersede_note(tx: Tx, means: Collaborators, note: Stored, said: Stored) -> Notice:
    """Supersede a note by a record that takes over its evidence."""
    now = means.clock.now()
    taken_by, actor = said.record.memory_id, said.record.provenance.created_by or USER_ACTOR
    set_status(tx, note, "replace", actor, now, reason_code="note_confirmed", superseded_by=taken_by)
    take_evidence(tx, note.record.memory_id, taken_by, now)
    note_change(tx, means, note.scope_id)
    given = msgspec.structs.replace(note.record, status="superseded", superseded_by=taken_by, updated_at=now)
    return build_changed_notice(given, "superseded", "note_confirmed", said.record.provenance)


def may_adopt(found: Stored, proposed: Proposed, identity: FactIdentity, same_key: Stored | None) -> bool:
    """Return whether a proposal may be merged into the record that says the same.

    An agent's note takes it only if its words are the same and no other record has the key.
    """
    if not is_note(found.record):
        return True
    is_alone = same_key is None or same_key.row == found.row
    return is_alone and found.text_hash == identity.text_hash and proposed.disposition != "create_pending_candidate"
