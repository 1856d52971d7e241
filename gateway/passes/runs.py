"""Advances a run: stage by stage, a slice at a time, each with its changes and its place in one transaction.

Rule 1: all that a run is stands in its row, so that another process goes on with it where one has died.
Rule 2: a stage that fails is logged with its reason, and the next one runs.
Rule 3: a dry run does the work of a real one in one transaction that is rolled back.
Rule 4: a run that meets reads or writes rests between its slices, so that most searches meet none of it.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import anyio
import msgspec
from msgspec import Struct

from gateway.base.logs import Log
from gateway.passes import rows
from gateway.passes.rows import NewRun, StoredRun
from gateway.passes.table import REVERSIBLE_MS
from protocol.errors import GatewayError
from protocol.notifications import PassCompleted, PassStarted
from protocol.passes import PassName, Run, RunStage
from protocol.seams.passes import PassStage, StageRun, StageSlice
from protocol.seams.ports import Clock, JobHandle, Notify, Transact, Tx
from protocol.seams.rehearsal import rehearse

SLICE_ROWS = 100
"""Rows of one slice: a writer that waits for it waits milliseconds."""
RESTS = 9
"""The rest of a run after a slice beside reads and writes, as times of the slice: it goes on at a tenth of its pace."""
MOST_REST_SECONDS = 0.2

log = Log("passes")


class RunMeans(Struct, frozen=True):
    """Collaborators of runs."""

    db: Transact
    clock: Clock
    notify: Notify
    stages: Mapping[PassName, Sequence[PassStage]]
    plan_next: Callable[[Tx, PassName, int], None]
    """(tx, pass, end of its run): plan the next run."""
    is_memory_on: Callable[[], bool]


class Runs:
    """Works on runs."""

    def __init__(self, means: RunMeans) -> None:
        self._means = means

    async def work(self, handle: JobHandle) -> None:  # noqa: ARG002  # a handler's signature
        """Work on every run of the home that is queued or was left: the handler of `pass` jobs."""
        while (stored := await self._means.db.read(rows.find_unfinished_run)) is not None:
            await self._go_on(stored.run.run_id)

    async def rehearse(self, new: NewRun) -> Run:
        """Do a dry run; return it as it was stored. Nothing but its own row stays."""

        def all_slices(tx: Tx) -> StoredRun:
            now = self._means.clock.now()
            rows.add_run(tx, new, now)
            stored = _begin_run(_get_run(tx, new.run_id), now)
            while stored.stage < len(stored.run.stages):
                stored = self._run_slice(tx, stored)
            ended = _end_run(stored, self._means.clock.now())
            return ended._replace(run=msgspec.structs.replace(ended.run, reversible_until=None))

        def keep(tx: Tx) -> None:
            rows.add_run(tx, new, done.run.started_at or 0)
            rows.put_run(tx, done)

        done = await rehearse(self._means.db, all_slices)
        await self._means.db.note(keep)
        return done.run

    async def _go_on(self, run_id: str) -> None:
        db, notify = self._means.db, self._means.notify
        stored = await db.write(lambda tx: self._begin(tx, run_id))
        run, rest, outcome = stored.run, 0.0, dict[str, Any]()
        while stored.stage < len(run.stages) and run.state == "running":
            await anyio.sleep(rest)
            is_busy, began = await db.calm(), time.monotonic()
            if not self._means.is_memory_on():
                outcome = {"state": "cancelled", "reason": "memory_disabled"}
                break
            try:
                stored = await db.write(lambda tx: self._slice(tx, run_id))
            except GatewayError as failure:
                if failure.reason in {"storage_full", "storage_read_only"}:
                    raise  # the queue of the job pauses, and the run goes on later
                stored = await self._fail(run_id, failure.reason)
            except Exception as failure:  # noqa: BLE001  # the boundary of a stage: logged by its id, the next one runs
                log.incident(failure)
                stored = await self._fail(run_id, "internal")
            run, rest = stored.run, rest_after(time.monotonic() - began, is_busy=is_busy)
        ended = await db.write(lambda tx: self._close(tx, run_id, **outcome))
        notify("passes/completed", PassCompleted(run=ended))

    def _begin(self, tx: Tx, run_id: str) -> StoredRun:
        stored = _get_run(tx, run_id)
        if stored.run.state == "running":  # a process died in it
            return stored
        stored = _begin_run(stored, self._means.clock.now())
        rows.put_run(tx, stored)
        run = stored.run
        started = PassStarted(run_id=run.run_id, pass_=run.pass_, trigger=run.trigger)
        tx.after_commit(lambda: self._means.notify("passes/started", started))
        return stored

    def _slice(self, tx: Tx, run_id: str) -> StoredRun:
        stored = self._run_slice(tx, _get_run(tx, run_id))
        rows.put_run(tx, stored)
        return stored

    def _run_slice(self, tx: Tx, stored: StoredRun) -> StoredRun:
        """Do a slice of the stage that a run is at; return the run with what came of it."""
        began, run = time.perf_counter(), stored.run
        stage, shown = self._means.stages[run.pass_][stored.stage], run.stages[stored.stage]
        given = StageRun(
            now=self._means.clock.now(),
            place=stored.place,
            limit=SLICE_ROWS,
            changes=run.changes,
            workspace_id=stored.workspace_id,
        )
        done = stage.work(tx, given)
        if done.changes:
            rows.add_changes(tx, run.run_id, done.changes)
        return _move_stage(
            stored, _add_slice(shown, done, time.perf_counter() - began), done.place, run.changes + len(done.changes)
        )

    async def _fail(self, run_id: str, reason: str) -> StoredRun:
        def fail(tx: Tx) -> StoredRun:
            stored = _get_run(tx, run_id)
            failed = msgspec.structs.replace(stored.run.stages[stored.stage], state="failed", reason=reason)
            stored = _move_stage(stored, failed, None, stored.run.changes)
            rows.put_run(tx, stored)
            return stored

        return await self._means.db.write(fail)

    def _close(self, tx: Tx, run_id: str, **outcome: Any) -> Run:
        """Store the end of a run, plan the next one, and return the run.

        `outcome` are members in place of those that its stages give.
        """
        now = self._means.clock.now()
        stored = _end_run(_get_run(tx, run_id), now)
        stored = stored._replace(run=msgspec.structs.replace(stored.run, **outcome))
        rows.put_run(tx, stored)
        self._means.plan_next(tx, stored.run.pass_, now)
        return stored.run


def rest_after(seconds: float, *, is_busy: bool) -> float:
    """Return the seconds of rest after a slice that took so long, where others read and write beside it."""
    return min(RESTS * seconds, MOST_REST_SECONDS) if is_busy else 0.0


def _get_run(tx: Tx, run_id: str) -> StoredRun:
    stored = rows.find_run(tx, run_id)
    assert stored is not None  # noqa: S101  # a run that has not ended is dropped by nothing
    return stored


def _begin_run(stored: StoredRun, now: int) -> StoredRun:
    return stored._replace(run=msgspec.structs.replace(stored.run, state="running", started_at=now))


def _move_stage(stored: StoredRun, shown: RunStage, place: str | None, changes: int) -> StoredRun:
    """Return a run whose stage is at another place, or over where there is none, with the stage as it is shown."""
    stages = [shown if number == stored.stage else one for number, one in enumerate(stored.run.stages)]
    run = msgspec.structs.replace(stored.run, stages=stages, changes=changes)
    return stored._replace(run=run, stage=stored.stage + (place is None), place=place)


def _add_slice(shown: RunStage, done: StageSlice, seconds: float) -> RunStage:
    """Return a stage with the counts and the time of a further slice."""
    counts = dict(shown.counts)
    for name, count in done.counts.items():
        counts[name] = counts.get(name, 0) + count
    state = "running" if done.place is not None else "completed" if done.skipped is None else "skipped"
    return msgspec.structs.replace(
        shown,
        state=state,
        reason=done.skipped,
        seen=shown.seen + done.seen,
        changed=shown.changed + len(done.changes) + done.moved,
        counts=counts,
        duration_ms=shown.duration_ms + round(seconds * 1000),
    )


def _end_run(stored: StoredRun, now: int) -> StoredRun:
    """Return a run whose stages have all ended: partial where one of them failed."""
    run = stored.run
    state = "partial" if any(stage.state == "failed" for stage in run.stages) else "completed"
    until = now + REVERSIBLE_MS if run.changes else None
    return stored._replace(run=msgspec.structs.replace(run, state=state, ended_at=now, reversible_until=until))
