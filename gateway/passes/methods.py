"""The methods of passes: what there is, a run by hand, the log of runs, undoing."""

import time
from collections.abc import Callable

import anyio

from gateway.passes import rows
from gateway.passes.rows import NewRun, StoredRun
from gateway.passes.runs import Runs
from gateway.passes.scheduler import Scheduler
from gateway.passes.table import PASSES
from gateway.passes.undoing import Undoing
from protocol import methods as m
from protocol.base import DEFAULT_WORKSPACE, Empty
from protocol.cursors import cut_page, place_of
from protocol.errors import CallerError, Refused, Unavailable
from protocol.methods import Bound, bind
from protocol.passes import (
    ModelBudget,
    Pass,
    PassesGetParams,
    PassesGetResult,
    PassesListResult,
    PassesRunParams,
    PassesRunsParams,
    PassesRunsResult,
    PassesUndoParams,
    PassesUndoResult,
    PassName,
    Run,
    RunResult,
)
from protocol.seams.ports import Ids, Transact, Tx
from protocol.settings import GatewayConfig

LAST = 2**62
POLL_SECONDS = 0.05
"""The time between two looks for the end of a run: another process may be the one that works on it."""


class Passes:
    """Answers `passes/list`, `run`, `runs`, `get` and `undo`."""

    def __init__(
        self,
        *,
        db: Transact,
        ids: Ids,
        runs: Runs,
        scheduler: Scheduler,
        undoing: Undoing,
        stages: Callable[[PassName], list[str]],
        settings: Callable[[], GatewayConfig],
        workspace_exists: Callable[[Tx, str], bool],
    ) -> None:
        self._db, self._ids, self._runs, self._scheduler, self._undoing = db, ids, runs, scheduler, undoing
        self._stages, self._settings, self._workspace_exists = stages, settings, workspace_exists

    def bindings(self) -> list[Bound]:
        """Return the methods of the wire that are answered here."""
        return [
            bind(m.PASSES_LIST, self.list_passes),
            bind(m.PASSES_RUN, self.run),
            bind(m.PASSES_RUNS, self.list_runs),
            bind(m.PASSES_GET, self.get),
            bind(m.PASSES_UNDO, self.undo),
        ]

    async def list_passes(self, _params: Empty) -> PassesListResult:
        """Return every pass with its plan and its last run."""
        settings = self._settings().passes

        def read(tx: Tx) -> list[Pass]:
            return [
                Pass(
                    name=name,
                    enabled=row.is_enabled(settings),
                    uses_model=row.uses_model,
                    interval_ms=row.interval_ms(settings),
                    next_run_at=rows.find_planned_time(tx, name),
                    waiting_for=self._scheduler.waiting_for(name, rows.find_planned_time(tx, name)),
                    last_run=rows.last_run(tx, name),
                )
                for name, row in PASSES.items()
            ]

        return PassesListResult(passes=await self._db.read(read), budget=ModelBudget(daily_model_calls=0, used=0))

    async def run(self, params: PassesRunParams) -> RunResult:
        """Run a pass now, or join its present run; return it once it has ended, or as it is after `timeout_ms`.

        Raises `Unavailable("memory_disabled")`, `CallerError("not_found")` for an unknown workspace,
        `Refused("pass_running")`.
        """
        if not self._settings().memory.enabled:
            raise Unavailable("memory_disabled")
        new = NewRun(
            self._ids.new("run"),
            params.pass_,
            "manual",
            self._stages(params.pass_),
            params.dry_run,
            params.workspace_id,
        )

        def running(tx: Tx) -> StoredRun | None:
            workspace_id = params.workspace_id or DEFAULT_WORKSPACE
            if workspace_id != DEFAULT_WORKSPACE and not self._workspace_exists(tx, workspace_id):
                raise CallerError.missing("workspace")
            return rows.find_unfinished_run(tx, params.pass_)

        if params.dry_run:
            if await self._db.read(running) is not None:
                raise Refused("pass_running")
            return RunResult(run=await self._runs.rehearse(new))

        def queue(tx: Tx) -> str:
            if (joined := running(tx)) is not None:
                return joined.run.run_id
            self._scheduler.queue_run(tx, new)
            return new.run_id

        run_id = await self._db.write(queue)
        return RunResult(run=await self._wait_for_end(run_id, time.monotonic() + params.timeout_ms / 1000))

    async def _wait_for_end(self, run_id: str, until: float) -> Run:
        """Return the run once it has ended, or as it is at a time of the machine's clock."""
        while True:
            stored = await self._db.read(lambda tx: rows.find_run(tx, run_id))
            if stored is None:
                raise CallerError.missing("run")
            if stored.run.state not in {"queued", "running"} or time.monotonic() >= until:
                return stored.run
            await anyio.sleep(POLL_SECONDS)

    async def list_runs(self, params: PassesRunsParams) -> PassesRunsResult:
        """Return runs, newest first."""
        before = place_of(params.cursor, (LAST,))[0]
        limit = params.limit + 1
        found = await self._db.read(lambda tx: rows.list_runs(tx, params.pass_, params.states, before, limit))
        page, following = cut_page(found, params.limit, lambda one: (one[0],))
        return PassesRunsResult(runs=[run for _, run in page], next_cursor=following)

    async def get(self, params: PassesGetParams) -> PassesGetResult:
        """Return a run with a page of its changes. Raises `CallerError("not_found")`."""
        place = place_of(params.cursor, (0,))[0]

        def read(tx: Tx) -> PassesGetResult:
            stored = rows.find_run(tx, params.run_id)
            if stored is None:
                raise CallerError.missing("run")
            found = rows.changes_after(tx, params.run_id, place, params.limit + 1)
            page, following = cut_page(found, params.limit, lambda one: (one[0],))
            return PassesGetResult(run=stored.run, changes=[change for _, change in page], next_cursor=following)

        return await self._db.read(read)

    async def undo(self, params: PassesUndoParams) -> PassesUndoResult:
        """Take back what a run changed; return what was undone and what was skipped.

        Raises `CallerError("not_found")`, `Refused("conflict")`.
        """
        return await self._undoing.undo(params.run_id, is_dry=params.dry_run)
