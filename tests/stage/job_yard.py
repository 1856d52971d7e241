"""A home's queue with a clock that is turned by hand, for the tests of jobs."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.lowlevel
from clock import START, SetClock
from fresh import fresh_database

from gateway.base.ids import SortableIds
from gateway.home.owners import SQL
from gateway.jobs.queue import Bell, Jobs
from gateway.jobs.retry import RetryLimits
from gateway.jobs.runner import Handler, JobRunner, Work
from gateway.store.database import Database
from protocol.seams.ports import JobHandle, JobKind, JobState, Tx


class Yard:
    """A home's queue, its clock, and as many runners as a test starts."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.clock = SetClock()
        self.bells: list[Bell] = []
        self.jobs = Jobs(SortableIds(self.clock), self.clock, "own_test", cast("Bell", self))
        self.limits = RetryLimits(1_000, 8_000, 3)
        self.paused: list[tuple[str, str]] = []
        self.resumed: list[str] = []

    def ring(self) -> None:
        """Wake every runner, as each process wakes its own."""
        for bell in self.bells:
            bell.ring()

    def runner(self, owner: str = "own_a", **work: Handler | Work) -> JobRunner:
        """A runner with what it does about the jobs of each kind."""
        bell = Bell()
        self.bells.append(bell)
        return JobRunner(
            db=self.db,
            clock=self.clock,
            owner=owner,
            bell=bell,
            limits=lambda _kind: self.limits,
            work={cast("JobKind", kind): done if isinstance(done, Work) else Work(done) for kind, done in work.items()},
            on_paused=lambda component, reason: self.paused.append((component, reason)),
            on_resumed=self.resumed.append,
        )

    async def enqueue(self, subject: str, kind: JobKind = "index", **of: Any) -> str | None:
        return await self.db.write(lambda tx: self.jobs.enqueue(tx, kind, subject, **of))

    async def counts(self, kind: JobKind = "index") -> dict[JobState, int]:
        found = await self.db.read(lambda tx: self.jobs.counts(tx, kind=kind))
        return {state: count for state, count in found.items() if count}

    async def rows(self, kind: JobKind = "index") -> list[tuple[str, str, int]]:
        found = await self.db.read(lambda tx: self.jobs.jobs(tx, kind=kind, limit=100))
        return [(job.subject, job.state, job.attempt_count) for job in reversed(found)]

    async def lease(self, owner: str, kind: JobKind = "index") -> list[tuple[str, int]]:
        """Return the jobs that a runner of that owner claims now."""
        jobs = await self.db.note(lambda tx: self.runner(owner)._claim(tx, {kind: 100}))
        self.bells.pop()
        return [(job.subject, job.attempt_count) for job in jobs]

    async def settled(self, runner: JobRunner) -> None:
        """Return when the runner has nothing to do."""
        result = await runner.drain(10)
        assert result.idle


async def done(held: JobHandle) -> None:
    """A handler that has nothing to do."""


def play(scene: Callable[[Yard], Awaitable[None]], tmp_path: Path) -> None:
    async def main() -> None:
        db = Database(fresh_database(tmp_path))
        try:
            with anyio.fail_after(120):
                await scene(Yard(db))
        finally:
            db.close()

    anyio.run(main)


async def with_runner(runner: JobRunner, scene: Callable[[], Awaitable[None]]) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(runner.run)
        await scene()
        tasks.cancel_scope.cancel()


def dead(tx: Tx, subject: str, ids: list[str]) -> None:
    values = {
        "kind": "index",
        "subject": subject,
        "thread_id": None,
        "turn_id": None,
        "maker": "own_test",
        "now": START,
        "due": START,
    }
    ids.append(f"job_{subject}_{len(ids)}")
    tx.run(SQL["add_job"], values | {"job_id": ids[-1]})
    tx.run("UPDATE job SET state = 'dead', attempt_count = 3, last_error = 'x' WHERE job_id = ?", (ids[-1],))
