"""Answers the methods by which a person reinforces a record, archives one, or reviews those that have faded.

Rule 1: only a person archives a record of the user's voice, and it stays archived until it is forgotten.
"""

from collections.abc import Sequence

from memory.doorway import Doorway
from memory.ports import Collaborators
from memory.read.gate import at_time
from memory.rows import aging as rows
from memory.rows.notices import archive, build_changed_notice, note_change
from memory.rows.record_columns import Stored
from memory.rows.records import current_record, reinforce
from memory.rows.store import Change, add_event, scope_ids_of
from memory.rows.withheld import is_shown, require_active
from memory.rules.actors import USER_ACTOR
from memory.rules.strength import has_faded
from memory.rules.visibility import ACTIVE, View
from memory.write.idempotency import notify_after_commit
from protocol import methods as m
from protocol.base import Scope
from protocol.cursors import cut_page, place_of
from protocol.memory.values import MemoryIdParams, RecordResult
from protocol.methods import Bound, bind
from protocol.passes import PassesReviewParams, PassesReviewResult
from protocol.record import Record
from protocol.seams.ports import Tx


class Aging:
    """Answers `memory/reinforce`, `memory/archive` and `passes/review`."""

    def __init__(self, means: Collaborators, door: Doorway) -> None:
        self._means = means
        self._door = door

    def bindings(self) -> list[Bound]:
        """Return the methods of the wire that are answered here."""
        return [
            bind(m.MEMORY_REINFORCE, self.reinforce),
            bind(m.MEMORY_ARCHIVE, self.archive),
            bind(m.PASSES_REVIEW, self.review),
        ]

    async def reinforce(self, params: MemoryIdParams) -> RecordResult:
        """Begin a record's lifetime anew; return the record.

        Raises `CallerError("not_found")`, and `Refused("conflict")` where it is not active.
        """
        self._door.require_enabled()
        scopes = (await self._door.place(params.context)).scopes

        def keep(tx: Tx) -> RecordResult:
            stored, now = self._require_active(tx, params, scopes), self._means.clock.now()
            reinforce(tx, params.memory_id, now)
            add_event(tx, params.memory_id, now, Change("reinforced", USER_ACTOR))
            note_change(tx, self._means, stored.scope_id)
            record = self._to_current_record(tx, stored, now)
            notify_after_commit(tx, self._means, [build_changed_notice(record, "updated", None)])
            return RecordResult(record=record)

        return await self._means.db.write(keep)

    async def archive(self, params: MemoryIdParams) -> RecordResult:
        """Archive a record; return it. Raises as `reinforce` does."""
        self._door.require_enabled()
        scopes = (await self._door.place(params.context)).scopes

        def put_away(tx: Tx) -> RecordResult:
            stored, now = self._require_active(tx, params, scopes), self._means.clock.now()
            notify_after_commit(tx, self._means, [archive(tx, self._means, stored, USER_ACTOR)])
            return RecordResult(record=self._to_current_record(tx, stored, now))

        return await self._means.db.write(put_away)

    def _require_active(self, tx: Tx, params: MemoryIdParams, scopes: Sequence[Scope]) -> Stored:
        """Return the active record of a call. Raises also where the call may not write."""
        self._door.require_writable(tx, params.context, None, scopes)
        return require_active(tx, self._means, params.memory_id, scopes, "Only an active memory ages.")

    def _to_current_record(self, tx: Tx, stored: Stored, now: int) -> Record:
        return at_time(current_record(tx, stored), now, self._means.settings().aging)

    async def review(self, params: PassesReviewParams) -> PassesReviewResult:
        """Return a page of records of the user's voice that have faded, in the order in which they did."""
        self._door.require_enabled()
        scopes = (await self._door.place(params.context)).scopes
        now, aging = self._means.clock.now(), self._means.settings().aging
        place = place_of(params.cursor, (0, 0))

        def is_faded(one: rows.Aged) -> bool:
            return has_faded(aging, one.life, now)

        def read(tx: Tx) -> PassesReviewResult:
            ids = scope_ids_of(tx, scopes)
            view = View(frozenset(ids), ACTIVE, now, shows_regulated=False)
            found = rows.list_faded_user_records(tx, list(ids), (place[0], place[1]), now, params.limit + 1, is_faded)
            page, following = cut_page(found, params.limit, lambda one: (one[0].life.fades_at or 0, one[0].row))
            shown = [at_time(one.record, now, aging) for _, one in page if is_shown(tx, one, view, self._means.scanner)]
            return PassesReviewResult(records=shown, next_cursor=following)

        return await self._means.db.read(read)
