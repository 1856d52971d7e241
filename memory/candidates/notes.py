"""Answers the methods for notes: an agent writes one, a person confirms it.

Rule 1: a note goes through the write path as every proposal does. It makes a record beside those of the user, and
changes none of them.
Rule 2: confirming a record of the user changes nothing, so that confirming twice is confirming once.
"""

from collections.abc import Sequence
from functools import partial

import msgspec
from anyio import to_thread

from memory.doorway import Doorway
from memory.ports import Collaborators
from memory.proposals.note_proposals import from_note
from memory.proposals.proposal import Proposed
from memory.proposals.proposal_sources import check_bounds
from memory.read.vectors import RecordVectors
from memory.rows.decisions import Decided, add_decision
from memory.rows.notices import build_changed_notice, note_change
from memory.rows.record_columns import ADOPTED, Stored
from memory.rows.store import Change
from memory.rows.withheld import require_active
from memory.rules.actors import APPROVER
from memory.rules.notes import is_note, may_note
from memory.write.adopting import adopt
from memory.write.answers import build_note_result, refusal
from memory.write.idempotency import notify_after_commit, write_once
from memory.write.writing import Outcome, RecordWriter
from protocol import methods as m
from protocol.base import Scope
from protocol.memory.values import Context, Decision, Factor
from protocol.memory.writes import ConfirmParams, ConfirmResult, NoteParams, NoteResult
from protocol.methods import Bound, bind
from protocol.record import Record
from protocol.seams.ports import Tx

_WHY = "a person confirmed what an agent had noted"
CONFIRMED = Decision(
    action="merge",
    score=1.0,
    bucket="high",
    reason_code="note_confirmed",
    factors=[Factor(name="confirmed", value=True, weight=0.0, contribution=0.0, why=_WHY)],
)


class Notes:
    """Answers `memory/note` and `memory/confirm`."""

    def __init__(self, means: Collaborators, writer: RecordWriter, vectors: RecordVectors, door: Doorway) -> None:
        self._means, self._writer, self._vectors, self._door = means, writer, vectors, door

    def bindings(self) -> list[Bound]:
        """Return the methods of the wire that are answered here."""
        return [
            bind(m.MEMORY_NOTE, self.note),
            bind(m.MEMORY_CONFIRM, self.confirm),
        ]

    async def note(self, params: NoteParams) -> NoteResult:
        """Write an agent's own note; a refusal is a result.

        Raises `Refused("write_refused")` where notes are switched off.
        """
        self._door.require_enabled()
        check_bounds(params.content, params.value, None, params.path)
        if not may_note(self._means.settings().agent_notes, is_door=True):
            raise refusal("agent_notes_disabled")
        agent_id = params.context.agent_id or params.agent_id
        context = msgspec.structs.replace(params.context, agent_id=agent_id)
        scopes, workspace_id, began = await self._door.place(context, writes=True)
        noted = await to_thread.run_sync(from_note, params, scopes, workspace_id)
        proposed = await self._vectors.add_vector(msgspec.structs.replace(noted, began=began))
        write = partial(self._write, proposed=proposed, context=context, scopes=scopes)
        request = ["note", msgspec.structs.replace(params, context=context)]
        outcome = await write_once(self._means, params.idempotency_key, request, workspace_id, write)
        return build_note_result(outcome.result)

    def _write(self, tx: Tx, *, proposed: Proposed, context: Context, scopes: Sequence[Scope]) -> Outcome:
        self._door.require_writable(tx, context, proposed.scope, scopes)
        return self._writer.write(tx, proposed, scopes)

    async def confirm(self, params: ConfirmParams) -> ConfirmResult:
        """Make an agent's note a record of the user, by a person's word; return it.

        Raises `CallerError("not_found")`, and `Refused("conflict")` where it is not active.
        """
        self._door.require_enabled()
        scopes = (await self._door.place(params.context)).scopes

        def confirm(tx: Tx) -> ConfirmResult:
            self._door.require_writable(tx, params.context, None, scopes)
            otherwise = "Only an active memory can be confirmed."
            found = require_active(tx, self._means, params.memory_id, scopes, otherwise)
            return ConfirmResult(record=self._confirm(tx, found) if is_note(found.record) else found.record)

        return await self._means.db.write(confirm)

    def _confirm(self, tx: Tx, note: Stored) -> Record:
        """Turn a note into a record of the user, with the decision, event and notice of it; return it."""
        old, now = note.record, self._means.clock.now()
        provenance = msgspec.structs.replace(old.provenance, source_kind="explicit_user_request", created_by=APPROVER)
        values = {name: getattr(old, name, None) for name in ADOPTED} | {
            "alias": note.alias,
            "is_single": note.is_single,
            "fingerprint": note.fingerprint,
            "provenance": provenance,
        }
        change = Change("confirmed", APPROVER, CONFIRMED.reason_code, "active", "active")
        record = adopt(tx, old.memory_id, values, change, now, self._means.lexicon).record
        add_decision(tx, Decided(note.scope_id, old.memory_id), CONFIRMED, now)
        note_change(tx, self._means, note.scope_id)
        notify_after_commit(tx, self._means, [build_changed_notice(record, "updated", CONFIRMED.reason_code)])
        return record
