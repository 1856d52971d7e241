"""Lists the changes of a span of time, each with the call that undoes it.

Rule 1: a record is shown as it is now, through the one visibility gate; a hidden one is named by the reason alone.
Rule 2: a call is offered only while it undoes the change; it is one that any client could make.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from memory.ports import Collaborators
from memory.read.gate import at_time
from memory.read.pages import LAST, mark_of, page_place
from memory.rows.changes import ChangeTime, PlacedCandidate, RecordEvent, candidates_between, events_between
from memory.rows.record_columns import Stored
from memory.rows.store import get_record, scope_ids_of
from memory.rows.withheld import are_numbers_marked, holds_number
from memory.rules.visibility import KEPT, View, hidden_by
from protocol import methods as m
from protocol.base import Scope
from protocol.cursors import cursor_of
from protocol.memory.changes import (
    ChangeEvent,
    ChangeOrigin,
    MemoryChange,
    MemoryChangesParams,
    MemoryChangesResult,
    UndoCall,
)
from protocol.memory.values import Candidate, EventName
from protocol.record import Provenance, Record
from protocol.seams.callers import RequestCaller
from protocol.seams.ports import Tx

NUMBER: Final = "secret_detected"
DAMAGED: Final = "damaged"

SHOWN_AS: Final[Mapping[EventName, ChangeEvent]] = {
    "created": "learned",
    "imported": "learned",
    "superseded": "replaced",
    "deleted": "forgotten",
    "restored": "restored",
    "archived": "archived",
    "expired": "expired",
    "updated": "changed",
    "erased": "erased",
    "confirmed": "changed",
}
"""The change that an event of a record is shown as."""

FORGET: Final = frozenset({"learned", "replaced", "restored"})
"""The changes that forgetting the record undoes while it is active."""
RESTORE: Final[Mapping[ChangeEvent, str]] = {"forgotten": "deleted", "archived": "archived", "replaced": "superseded"}
"""The changes that restoring the record undoes while it has this status."""


def undo_of_record(event: ChangeEvent, record: Record) -> UndoCall | None:
    """Return the call that undoes a change of a record; None where nothing is left to undo."""
    if event in FORGET and record.status == "active":
        target = {"kind": "id", "memory_id": record.memory_id}
        return UndoCall(method=m.MEMORY_FORGET.name, params={"target": target})
    if RESTORE.get(event) == record.status:
        return UndoCall(method=m.MEMORY_RESTORE.name, params={"memory_id": record.memory_id})
    return None


def undo_of_candidate(candidate: Candidate) -> UndoCall | None:
    """Return the call that rejects a candidate; None once it was decided."""
    if candidate.status != "pending":
        return None
    return UndoCall(method=m.CANDIDATES_REJECT.name, params={"candidate_id": candidate.candidate_id})


class ChangeReader:
    """Answers `memory/changes`."""

    def __init__(self, means: Collaborators) -> None:
        self._means = means

    async def list_changes(self, params: MemoryChangesParams, scopes: Sequence[Scope]) -> MemoryChangesResult:
        """Return a page of changes, newest first."""
        until = LAST if params.until_at is None else params.until_at
        *places, _ = page_place(params.cursor, (until, 0, until, 0, mark_of(params)))
        return await self._means.db.read(lambda tx: self._build_page(tx, params, scopes, places))

    def _build_page(
        self, tx: Tx, params: MemoryChangesParams, scopes: Sequence[Scope], places: Sequence[int]
    ) -> MemoryChangesResult:
        """Merge events and candidates after their places into one page; its cursor holds a place of each."""
        ids, limit = scope_ids_of(tx, scopes), params.limit + 1
        event_at, event_row, candidate_at, candidate_row = places
        events = events_between(tx, ids, ChangeTime(params.since_at, event_at, event_row), limit)
        candidates = candidates_between(tx, ids, ChangeTime(params.since_at, candidate_at, candidate_row), limit)
        found = sorted([*events, *candidates], key=lambda one: (one.at, one.row), reverse=True)
        view = View(frozenset(ids), KEPT, self._means.clock.now(), params.include_sensitive)
        changes: list[MemoryChange] = []
        for one in found[: params.limit]:
            if isinstance(one, RecordEvent):
                changes.append(self._of_event(tx, one, view))
                event_at, event_row = one.at, one.row
            else:
                changes += self._of_candidate(tx, one)
                candidate_at, candidate_row = one.at, one.row
        place = (event_at, event_row, candidate_at, candidate_row)
        following = cursor_of(*place, mark_of(params)) if len(found) > params.limit else None
        return MemoryChangesResult(changes=changes, next_cursor=following)

    def _of_event(self, tx: Tx, event: RecordEvent, view: View) -> MemoryChange:
        """Return the change of a record's event, with the record as it is now where a view shows it."""
        stored = get_record(tx, event.memory_id)
        shown = SHOWN_AS[event.event]
        if shown == "learned" and stored is not None and stored.record.supersedes is not None:
            shown = "replaced"
        record = at_time(stored.record, view.now, self._means.settings().aging) if stored is not None else None
        withheld = "erased" if stored is None else self._withheld(tx, stored, view)
        category = record.category if record is not None and withheld != DAMAGED else None
        return MemoryChange(
            at=event.at,
            event=shown,
            memory_id=event.memory_id,
            candidate_id=None,
            scope=event.scope,
            category=category,
            record=record if withheld is None else None,
            candidate=None,
            withheld=withheld,
            origin=self._origin(
                tx, event.caller, record.provenance if record and event.event == "created" else None, event.reason_code
            ),
            undo=undo_of_record(shown, record) if record is not None else None,
        )

    def _withheld(self, tx: Tx, stored: Stored, view: View) -> str | None:
        """Return the reason for which a record is not shown, or None."""
        hidden = hidden_by(stored.seen, view)
        if hidden is not None:
            return hidden[1]
        is_number = not are_numbers_marked(tx) and holds_number(stored.record, self._means.scanner)
        return NUMBER if is_number else None

    def _of_candidate(self, tx: Tx, placed: PlacedCandidate) -> list[MemoryChange]:
        """Return the change of a proposed candidate; none where it holds a number of a kind that is never kept."""
        candidate, turn_id = placed.found.candidate, placed.found.turn_id
        if holds_number(candidate, self._means.scanner):
            return []
        cause = Provenance(thread_id=_thread_of(placed.found.proposal), turn_id=turn_id)
        return [
            MemoryChange(
                at=placed.at,
                event="proposed",
                memory_id=None,
                candidate_id=candidate.candidate_id,
                scope=candidate.scope,
                category=candidate.category,
                record=None,
                candidate=candidate,
                withheld=None,
                origin=self._origin(tx, None, cause, candidate.reason_code),
                undo=undo_of_candidate(candidate),
            )
        ]

    def _origin(
        self, tx: Tx, caller: RequestCaller | None, cause: Provenance | None, reason_code: str | None
    ) -> ChangeOrigin:
        """Return the origin of a change: the client of the turn in which it was said, else that of the request."""
        turn_id = cause.turn_id if cause is not None else None
        of_turn = self._means.caller_of_turn(tx, turn_id) if turn_id is not None else None
        found = of_turn or caller
        return ChangeOrigin(
            door=found.door if found is not None else None,
            client=found.client if found is not None else None,
            thread_id=cause.thread_id if cause is not None else None,
            turn_id=turn_id,
            reason_code=reason_code,
        )


class _KeptProvenance(msgspec.Struct):
    """The part of a kept proposal that names its thread."""

    provenance: dict[str, Any] = {}


_PROPOSAL: Final = msgspec.json.Decoder(_KeptProvenance)


def _thread_of(proposal: str) -> str | None:
    """Return the thread of a kept proposal, or None."""
    found = _PROPOSAL.decode(proposal).provenance.get("thread_id")
    return found if isinstance(found, str) else None
