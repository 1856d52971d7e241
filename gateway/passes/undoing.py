"""Takes back what a run changed, where all still is as the run left it.

Rule 1: an undoing goes backwards, a slice at a time; it is a run itself, and logs what it changes.
Rule 2: a change that was looked at is marked in the same transaction; an undoing that was cut off is asked for again.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from gateway.passes import rows
from gateway.passes.rows import NewRun, StoredRun
from gateway.passes.runs import SLICE_ROWS
from gateway.passes.table import REVERSIBLE_MS
from protocol.errors import CallerError, Refused
from protocol.passes import PassesUndoResult, Run, SkippedChange
from protocol.seams.passes import StageChange, UndoChange
from protocol.seams.ports import Clock, Ids, Transact, Tx

STAGE = "undo"


class UndoMeans(NamedTuple):
    """What undoing works with; `undo` by what was changed."""

    db: Transact
    clock: Clock
    ids: Ids
    undo: Mapping[str, UndoChange]


class _Slice(NamedTuple):
    undone: Sequence[StageChange]
    skipped: Sequence[SkippedChange]

    @property
    def size(self) -> int:
        return len(self.undone) + len(self.skipped)


class _RolledBack(Exception):
    def __init__(self, result: PassesUndoResult) -> None:
        self.result = result
        super().__init__()


class Undoing:
    """Undoes runs."""

    def __init__(self, means: UndoMeans) -> None:
        self._means = means

    async def undo(self, run_id: str, *, is_dry: bool) -> PassesUndoResult:
        """Undo a run. Raises `CallerError("not_found")`, and `Refused("conflict")` where nothing can be undone."""
        own_id = self._means.ids.new("run")
        if is_dry:
            return await self._rehearse(run_id, own_id)
        undone, skipped = 0, list[SkippedChange]()
        while True:
            part = await self._means.db.write(lambda tx: self._slice(tx, run_id, own_id))
            undone, skipped = undone + len(part.undone), [*skipped, *part.skipped]
            if part.size < SLICE_ROWS:
                break
            await self._means.db.calm()
        run = await self._means.db.write(lambda tx: self._end(tx, run_id, own_id, undone, skipped))
        return PassesUndoResult(run=run, undone=undone, skipped=skipped)

    async def _rehearse(self, run_id: str, own_id: str) -> PassesUndoResult:
        def all_slices(tx: Tx) -> None:
            undone, skipped, size = 0, list[SkippedChange](), SLICE_ROWS
            while size == SLICE_ROWS:
                part = self._slice(tx, run_id, own_id)
                undone, skipped, size = undone + len(part.undone), [*skipped, *part.skipped], part.size
            run = self._end(tx, run_id, own_id, undone, skipped)
            run = msgspec.structs.replace(run, dry_run=True, reversible_until=None)
            raise _RolledBack(PassesUndoResult(run=run, undone=undone, skipped=skipped))

        try:
            await self._means.db.note(all_slices)
        except _RolledBack as rolled_back:
            return rolled_back.result
        raise AssertionError  # pragma: no cover  # the transaction above always ends with `_RolledBack`

    def _slice(self, tx: Tx, run_id: str, own_id: str) -> _Slice:
        now = self._means.clock.now()
        stored = _reversible(tx, run_id, now)
        if rows.find_run(tx, own_id) is None:
            rows.add_run(tx, NewRun(own_id, stored.run.pass_, "manual", [STAGE]), now)
        undone, skipped = list[StageChange](), list[SkippedChange]()
        for number, change in rows.changes_to_undo(tx, run_id, SLICE_ROWS):
            reason = self._means.undo[change.what](tx, change, now)
            if reason is None:
                undone.append(StageChange(change.subject, change.what, change.after, change.before))
            else:
                skipped.append(SkippedChange(id=change.subject, reason=reason))
            rows.mark_undone(tx, number)
        rows.add_changes(tx, own_id, undone)
        return _Slice(undone, skipped)

    def _end(self, tx: Tx, run_id: str, own_id: str, undone: int, skipped: Sequence[SkippedChange]) -> Run:
        now = self._means.clock.now()
        original, own = rows.find_run(tx, run_id), rows.find_run(tx, own_id)
        assert original is not None and own is not None  # noqa: S101, PT018  # both are rows of this transaction
        rows.put_run(tx, original._replace(run=msgspec.structs.replace(original.run, state="undone")))
        counts = {"undone": undone, "skipped": len(skipped)}
        stage = msgspec.structs.replace(
            own.run.stages[0], state="completed", seen=undone + len(skipped), changed=undone, counts=counts
        )
        run = msgspec.structs.replace(
            own.run, state="completed", started_at=own.run.started_at or now, ended_at=now, stages=[stage],
            changes=undone, reversible_until=now + REVERSIBLE_MS if undone else None,
        )  # fmt: skip
        rows.put_run(tx, own._replace(run=run, stage=1))
        return run


def _reversible(tx: Tx, run_id: str, now: int) -> StoredRun:
    stored = rows.find_run(tx, run_id)
    if stored is None:
        raise CallerError.missing("run")
    run = stored.run
    if run.state == "undone":
        raise Refused("conflict", "That run is undone already.")
    if run.reversible_until is None:
        raise Refused("conflict", "That run changed nothing that could be undone.")
    if now > run.reversible_until:
        raise Refused("conflict", "Runs can be undone for 90 days, and this one is older.")
    return stored
