"""Takes back what a run changed, where all still is as the run left it.

Rule 1: an undoing goes backwards, a slice at a time; it is a run itself, and logs what it changes.
Rule 2: a change that was looked at is marked in the same transaction; an undoing that was cut off is asked for again.
"""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from gateway.passes import rows
from gateway.passes.rows import NewRun, StoredRun
from gateway.passes.runs import SLICE_ROWS
from protocol.errors import CallerError, Refused
from protocol.passes import PassesUndoResult, Run, SkippedChange
from protocol.seams.passes import StageChange, UndoChange
from protocol.seams.ports import Clock, Ids, Transact, Tx
from protocol.seams.rehearsal import rehearse

STAGE = "undo"


class UndoMeans(Struct, frozen=True):
    """Collaborators of undoing; `undo` is keyed by what was changed."""

    db: Transact
    clock: Clock
    ids: Ids
    undo: Mapping[str, UndoChange]


class _Part(Struct, frozen=True):
    """The changes that a slice undid, the run after it, and whether none is left."""

    run: Run
    undone: int
    skipped: list[SkippedChange]
    is_last: bool


class Undoing:
    """Undoes runs."""

    def __init__(self, means: UndoMeans) -> None:
        self._means = means

    async def undo(self, run_id: str, *, is_dry: bool) -> PassesUndoResult:
        """Undo a run; return the undoing's own run, with what it undid and skipped.

        Raises `CallerError("not_found")`, and `Refused("conflict")` where nothing can be undone.
        """
        own_id, db = self._means.ids.new("run"), self._means.db
        if is_dry:
            result = _join_parts(await rehearse(db, lambda tx: self._all_parts(tx, run_id, own_id)))
            return msgspec.structs.replace(result, run=msgspec.structs.replace(result.run, dry_run=True))
        parts = [await db.write(lambda tx: self._part(tx, run_id, own_id))]
        while not parts[-1].is_last:
            await db.calm()
            parts.append(await db.write(lambda tx: self._part(tx, run_id, own_id)))
        return _join_parts(parts)

    def _all_parts(self, tx: Tx, run_id: str, own_id: str) -> list[_Part]:
        parts = [self._part(tx, run_id, own_id)]
        while not parts[-1].is_last:
            parts.append(self._part(tx, run_id, own_id))
        return parts

    def _part(self, tx: Tx, run_id: str, own_id: str) -> _Part:
        """Take the next changes back and return that part.

        The undoing's own run is stored as ended with each part, so that no process goes on with it after a crash.
        """
        now = self._means.clock.now()
        stored = rows.find_run(tx, run_id)
        if rows.find_run(tx, own_id) is None:
            stored = _reversible(stored, now)
            rows.add_run(tx, NewRun(own_id, stored.run.pass_, "manual", [STAGE]), now)
        undone, skipped = list[StageChange](), list[SkippedChange]()
        changes = rows.changes_to_undo(tx, run_id, SLICE_ROWS)
        for number, change in changes:
            reason = self._means.undo[change.what](tx, change)
            if reason is None:
                undone.append(StageChange(change.subject, change.what, change.after, change.before))
            else:
                skipped.append(SkippedChange(id=change.subject, reason=reason))
            rows.mark_seen(tx, number)
        rows.add_changes(tx, own_id, undone)
        is_last = len(changes) < SLICE_ROWS
        if is_last and stored is not None:  # else a census has dropped its log meanwhile
            rows.put_run(tx, stored._replace(run=msgspec.structs.replace(stored.run, state="undone")))
        run = self._grow(tx, own_id, len(undone), len(skipped), now)
        return _Part(run, len(undone), skipped, is_last)

    @staticmethod
    def _grow(tx: Tx, own_id: str, undone: int, skipped: int, now: int) -> Run:
        """Add a part to the undoing's own run and return it.

        That run cannot be undone: a pass may take again what it brought back.
        """
        own = rows.find_run(tx, own_id)
        assert own is not None  # noqa: S101  # a row of this transaction
        stage = own.run.stages[0]
        known = stage.counts
        counts = {"undone": known.get("undone", 0) + undone, "skipped": known.get("skipped", 0) + skipped}
        stage = msgspec.structs.replace(
            stage, state="completed", seen=sum(counts.values()), changed=counts["undone"], counts=counts
        )
        run = msgspec.structs.replace(
            own.run,
            state="completed",
            started_at=own.run.started_at or now,
            ended_at=now,
            stages=[stage],
            changes=counts["undone"],
        )
        rows.put_run(tx, own._replace(run=run, stage=1))
        return run


def _join_parts(parts: Sequence[_Part]) -> PassesUndoResult:
    return PassesUndoResult(
        run=parts[-1].run,
        undone=sum(part.undone for part in parts),
        skipped=[one for part in parts for one in part.skipped],
    )


def _reversible(stored: StoredRun | None, now: int) -> StoredRun:
    """Return a run that an undoing may begin with. Raises as `Undoing.undo` does."""
    if stored is None:
        raise CallerError.missing("run")
    run = stored.run
    if run.state == "undone":
        raise Refused("conflict", "That run is undone already.")
    if run.state in {"queued", "running"}:
        raise Refused("conflict", "That run is in progress.")
    if run.reversible_until is None:
        raise Refused("conflict", "That run changed nothing that could be undone.")
    if now > run.reversible_until:
        raise Refused("conflict", "Runs can be undone for 90 days, and this one is older.")
    return stored
