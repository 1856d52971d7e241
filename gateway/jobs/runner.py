"""The runner of queued work: it claims jobs, calls handlers, and decides about failures.

Rule 1: a job's effect and its mark `done` can share the handler's own transaction; a handler that may run twice after a
crash is idempotent.
Rule 2: a component that is down pauses its queue; it costs no job an attempt.
Rule 3: jobs without a suspicion are worked on together; where that fails, each is tried alone.
Rule 4: a job at which a process died is worked on alone, one such job at a time, so that a second death has one cause.
"""

import json
import math
import random
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup
from msgspec import Struct

from gateway.base.hub import about_thread
from gateway.base.logs import Log
from gateway.home.owners import SQL
from gateway.jobs.queue import Bell, job_of
from gateway.jobs.retry import MOST_DEATHS, GiveUp, RetryLimits, next_attempt
from gateway.jobs.states import TRANSITIONS, JobEvent
from protocol.base import DAY_MS
from protocol.errors import GatewayError, Unavailable
from protocol.gateway import DrainResult, Waiting
from protocol.seams.ports import Clock, GiveUpJob, Job, JobHandle, JobKind, PauseQueue, RetryJob, Transact, Tx
from protocol.seams.transitions import after

CONCURRENCY: Mapping[JobKind, int] = {"index": 64, "hook_run": 4, "erase_finish": 1}
"""Index jobs are worked on together and share commits, hook runs wait for models, an erase wants the WAL alone.

A queue is claimed from when half of its places are free, so that jobs keep coming in groups.
"""

STUCK_MS = 15 * 60 * 1000
"""A living process that holds a job for longer has lost it; the longest hook ends after a minute."""
PAUSE_SECONDS = 5.0  # how long a paused queue waits before it looks at its component again
KEEP_FINISHED_MS = 7 * DAY_MS  # long enough to explain last week's turn
POLL_SECONDS = 1.0  # while a retry waits for the clock, and the clock may be a file

log = Log("jobs")

Handler = Callable[[JobHandle], Awaitable[None]]
Together = Callable[[Sequence[JobHandle]], Awaitable[None]]
"""A handler of several jobs at once; each transaction finishes the jobs whose effect it stores."""
Gate = Callable[[], tuple[str, str] | None]
"""The component and reason that hold a queue, or None while it is open."""


class Work(Struct, frozen=True):
    """The handlers of a kind of jobs: one by one, or `together`; no job is handled while the gate is shut."""

    handler: Handler
    gate: Gate | None = None
    together: Together | None = None


class _Claimed:
    """A leased job in its handler's hands."""

    def __init__(self, job: Job, owner: str) -> None:
        self.job = job
        self._owner = owner
        self.is_finished = False

    def finish(self, tx: Tx) -> None:
        """Mark the job done in this transaction, unless its lease was lost meanwhile."""
        _move(tx, self.job, "finish", owner=self._owner)
        tx.after_commit(self._mark_finished)

    def _mark_finished(self) -> None:
        self.is_finished = True


def _move(
    tx: Tx,
    job: Job,
    event: JobEvent,
    *,
    owner: str,
    at: int | None = None,
    error: str | None = None,
    attempts: int | None = None,
) -> bool:
    """Make the step under the lease of `owner`; return False when that lease is lost."""
    lease = {"job_id": job.job_id, "owner": owner, "leased_attempt": job.attempt_count, "last_error": error}
    step = {
        "state": after(TRANSITIONS, job.state, event),
        "next_run_at": job.next_run_at if at is None else at,
        "attempt_count": job.attempt_count if attempts is None else attempts,
    }
    return tx.run(SQL["move_job"], lease | step) == 1 or tx.run(SQL["drop_leased_twin"], lease) == 1


class JobRunner:
    """The workers of this process."""

    def __init__(
        self,
        *,
        db: Transact,
        clock: Clock,
        owner: str,
        bell: Bell,
        work: Mapping[JobKind, Work],
        limits: Callable[[JobKind], RetryLimits],
        on_paused: Callable[[str, str], object],
        on_resumed: Callable[[str], None],
        let_pass: Callable[[], Awaitable[None]] = anyio.lowlevel.checkpoint,
    ) -> None:
        self._db = db
        self._clock = clock
        self._owner = owner
        self._limits = limits
        self._on_paused = on_paused
        self._on_resumed = on_resumed
        self._let_pass = let_pass
        self._bell = bell
        self._work_of: dict[JobKind, Work] = dict(work)
        self._has_suspect = False
        self._running: dict[JobKind, int] = dict.fromkeys(self._work_of, 0)
        self._paused: dict[JobKind, tuple[str, str, float]] = {}
        self._owed: list[Callable[[Tx], object]] = []
        self._idle_waiters: list[anyio.Event] = []

    def keep_to(self, kinds: Collection[JobKind]) -> None:
        """Leave every other kind to other processes; done once, before `run`."""
        self._work_of = {kind: work for kind, work in self._work_of.items() if kind in kinds}

    def wake(self) -> None:
        """Look for work now."""
        self._bell.ring()

    def resume(self, kind: JobKind) -> None:
        """Try a paused queue's component again now."""
        if kind in self._paused and self._paused[kind][2] != math.inf:
            component, reason, _ = self._paused[kind]
            self._paused[kind] = (component, reason, 0.0)
        self.wake()

    def resume_all(self, component: str) -> None:
        """Resume every queue that waits for a component, which works again."""
        waiting: list[JobKind] = [kind for kind, held in self._paused.items() if held[0] == component]
        for kind in waiting:
            self.resume(kind)

    def pause_of(self, kind: JobKind) -> tuple[str, str] | None:
        """Return the component and reason that hold a queue, or None."""
        held = self._paused.get(kind)
        return (held[0], held[1]) if held else None

    async def forget_finished(self) -> None:
        """Drop the rows of jobs that finished long ago."""
        await self._try_to_note(partial(_forget_finished, before=self._clock.now() - KEEP_FINISHED_MS))

    async def run(self) -> None:
        """Work until cancelled; leased jobs are queued again then."""
        try:
            async with anyio.create_task_group() as group:
                while True:
                    rung = self._bell.hush()
                    try:
                        seconds = await self._look(group)
                    except GatewayError as error:
                        log.warning("claim_failed", reason=error.reason)
                        seconds = POLL_SECONDS
                    with anyio.move_on_after(seconds):
                        await rung()
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(1):
                await self._try_to_note(partial(free_jobs_of, owner=self._owner))

    async def _look(self, group: TaskGroup) -> float | None:
        """Claim and start jobs that fit; return the seconds until the next look, or None to wait for a wake."""
        await self._pay()
        self._look_at_gates()
        open_kinds: dict[JobKind, int] = {
            kind: CONCURRENCY.get(kind, 1) - self._running[kind]
            for kind in self._work_of
            if not self._is_held(kind) and self._running[kind] < CONCURRENCY.get(kind, 1)
        }
        room: dict[JobKind, int] = {
            kind: free for kind, free in open_kinds.items() if 2 * free >= CONCURRENCY.get(kind, 1)
        }
        runnable, waits = await self._db.read(partial(_find_work, kinds=tuple(room), now=self._clock.now()))
        if runnable:
            claimed = await self._db.note(partial(self._claim, room={kind: room[kind] for kind in runnable}))
            self._start(group, claimed)
        return POLL_SECONDS if waits or self._paused else None

    def _start(self, group: TaskGroup, claimed: Sequence[Job]) -> None:
        """Begin the work: together for jobs without a suspicion, else alone."""
        fresh: dict[JobKind, list[_Claimed]] = {}
        for job in claimed:
            self._running[job.kind] += 1
            self._has_suspect |= _is_suspect(job)
            held = _Claimed(job, self._owner)
            if self._work_of[job.kind].together is not None and job.attempt_count == 1 and not _is_suspect(job):
                fresh.setdefault(job.kind, []).append(held)
            else:
                group.start_soon(self._work, held)
        for kind, jobs in fresh.items():
            group.start_soon(self._work_together, group, kind, jobs)

    def _look_at_gates(self) -> None:
        """Pause queues whose gate is shut, and resume those whose gate is open again."""
        for kind, work in self._work_of.items():
            if work.gate is None:
                continue
            held, known = work.gate(), self._paused.get(kind)
            if held is not None and known is None:
                self._on_paused(*held)
                self._paused[kind] = (*held, math.inf)
            elif held is None and known is not None and known[2] == math.inf:
                del self._paused[kind]
                self._on_resumed(known[0])

    def _is_held(self, kind: JobKind) -> bool:
        held = self._paused.get(kind)
        return held is not None and self._clock.monotonic() < held[2]

    def _claim(self, tx: Tx, room: Mapping[JobKind, int]) -> list[Job]:
        real_now = int(time.time() * 1000)
        for statement in ("free_stuck_jobs", "drop_stuck_twins"):
            tx.run(SQL[statement], {"before": real_now - STUCK_MS})
        claimed: list[Job] = []
        for kind, limit in room.items():
            values = {
                "owner": self._owner,
                "real_now": real_now,
                "kind": kind,
                "now": self._clock.now(),
                "limit": limit,
            }
            claimed += [job_of(row) for row in tx.all(SQL["claim_jobs"], values)]
            if not self._has_suspect and not any(map(_is_suspect, claimed)):
                claimed += [job_of(row) for row in tx.all(SQL["claim_suspect"], values)]
        return claimed

    async def _work_together(self, group: TaskGroup, kind: JobKind, jobs: Sequence[_Claimed]) -> None:
        """Work on several jobs at once; unfinished ones are tried alone afterwards."""
        await self._let_pass()
        together = self._work_of[kind].together
        assert together is not None  # noqa: S101  # else the jobs were begun one by one
        try:
            await together(jobs)
            self._note_works(kind)
        except Exception as failure:  # noqa: BLE001  # the job at fault is found and reported when each is tried alone
            log.warning("tried_alone", kind=kind, count=len(jobs), type=type(failure).__name__)
        self._end([held.job for held in jobs if held.is_finished])
        for held in jobs:
            if not held.is_finished:
                group.start_soon(self._work, held)

    def _note_works(self, kind: JobKind) -> None:
        """Resume a paused queue whose handler succeeded."""
        if kind in self._paused:
            component, _, _ = self._paused.pop(kind)
            self._on_resumed(component)

    async def _work(self, held: _Claimed) -> None:
        job = held.job
        try:
            with about_thread(job.thread_id):
                await self._work_of[job.kind].handler(held)
            if not held.is_finished:
                await self._db.note(held.finish)
            self._note_works(job.kind)
        except PauseQueue as pause:
            await self._pause(job, pause)
        except GiveUpJob as failure:
            await self._settle(job, "give_up", error=failure.code)
        except RetryJob as failure:
            await self._fail(job, failure.code)
        except Unavailable as failure:
            if failure.reason in {"storage_full", "storage_read_only"}:
                await self._pause(job, PauseQueue("storage", failure.reason))
            else:
                await self._fail(job, failure.reason)
        # the boundary of background work: reported by code, retried, in the end dead
        except Exception as failure:  # noqa: BLE001
            log.incident(failure)
            await self._fail(job, "internal")
        finally:
            self._end([job])

    def _end(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            self._running[job.kind] -= 1
            if _is_suspect(job):
                self._has_suspect = False
        self.wake()
        for waiter in self._idle_waiters:
            waiter.set()

    async def _fail(self, job: Job, code: str) -> None:
        decision = next_attempt(self._clock.now(), job.attempt_count, self._limits(job.kind), random.random())  # noqa: S311
        if isinstance(decision, GiveUp):
            log.warning("job_dead", kind=job.kind, code=code)
            await self._settle(job, "give_up", error=code)
        else:
            await self._settle(job, "fail", at=decision.at, error=code)

    async def _pause(self, job: Job, pause: PauseQueue) -> None:
        if job.kind not in self._paused:
            self._on_paused(pause.component, pause.reason)
        self._paused[job.kind] = (pause.component, pause.reason, self._clock.monotonic() + PAUSE_SECONDS)
        await self._settle(job, "release", attempts=job.attempt_count - 1)

    async def _settle(
        self, job: Job, event: JobEvent, *, at: int | None = None, error: str | None = None, attempts: int | None = None
    ) -> None:
        """Store the step; where that fails it is owed, and stored before any other job is claimed."""
        step = partial(_move, job=job, event=event, owner=self._owner, at=at, error=error, attempts=attempts)
        if not await self._try_to_note(step):
            self._owed.append(step)

    async def _pay(self) -> None:
        """Store owed steps; a lease without a worker would wait for the stuck timer."""
        if owed := self._owed[:]:

            def pay(tx: Tx) -> None:
                for step in owed:
                    step(tx)

            await self._db.note(pay)
            del self._owed[: len(owed)]

    async def _try_to_note(self, work: Callable[[Tx], object]) -> bool:
        """Store bookkeeping; return whether that worked. A full disk must not end the runner."""
        try:
            await self._db.note(work)
        except GatewayError as failure:
            log.warning("note_failed", reason=failure.reason)
            return False
        return True

    async def drain(self, seconds: float) -> DrainResult:
        """Wait until no job is queued, leased or due; return the counts. Later, paused and dead jobs do not count."""
        with anyio.move_on_after(seconds):
            while True:
                idle = None if self._is_working() else await self._db.read(self._when_idle)
                # a job that began meanwhile pauses its queue before it is freed
                if idle is not None and not self._is_working():
                    return idle
                waiter = anyio.Event()
                self._idle_waiters.append(waiter)
                self.wake()
                try:
                    with anyio.move_on_after(POLL_SECONDS / 4):  # another process's work ends without a notice
                        await waiter.wait()
                finally:
                    self._idle_waiters.remove(waiter)
        return await self._db.read(self._as_it_is)

    def _is_working(self) -> bool:
        return any(self._running.values())

    def _when_idle(self, tx: Tx) -> DrainResult | None:
        """Return the result of a drain that is over; None while there is work."""
        now = self._clock.now()
        runnable: list[JobKind] = [kind for kind in self._work_of if not self._is_held(kind)]
        if tx.all(SQL["leased_kinds"], {"kinds": json.dumps(runnable)}) or _runnable(tx, runnable, now):
            return None
        return DrainResult(idle=True, pending=0, waiting=_waiting(tx))

    def _as_it_is(self, tx: Tx) -> DrainResult:
        """Return the result of a drain whose time is over."""
        now = self._clock.now()
        runnable = {kind for kind in self._work_of if not self._is_held(kind)}
        active, waiting = tx.all(SQL["count_active_jobs"]), _waiting(tx)
        pending = sum(count for kind, state, count in active if kind in runnable and state in {"queued", "leased"})
        pending += sum(wait.count for wait in waiting if wait.kind in runnable and wait.next_run_at <= now)
        return DrainResult(idle=pending == 0, pending=pending, waiting=waiting)


def _waiting(tx: Tx) -> list[Waiting]:
    """Return, for each kind, the jobs that wait for a retry and the time of the next one."""
    return [Waiting(kind=kind, count=count, next_run_at=at) for kind, count, at in tx.all(SQL["next_retry"])]


def _is_suspect(job: Job) -> bool:
    return job.death_count > 0


def free_jobs_of(tx: Tx, owner: str) -> int:
    """Make every job that a process leased runnable again, when the process ends in order; return how many."""
    freed = tx.run(SQL["free_jobs_of"], {"owner": owner})
    return freed + tx.run(SQL["drop_leased_twins_of"], {"owner": owner})


def free_jobs_of_dead(tx: Tx, owner: str) -> int:
    """Make the jobs that a dead process leased runnable again, except those with too many deaths; return how many."""
    freed = tx.run(SQL["free_jobs_of_dead"], {"owner": owner, "most": json.dumps(MOST_DEATHS)})
    return freed + tx.run(SQL["drop_leased_twins_of"], {"owner": owner})


def _runnable(tx: Tx, kinds: Sequence[JobKind], now: int) -> list[JobKind]:
    """Return the kinds that have work for now."""
    return [kind for (kind,) in tx.all(SQL["runnable_kinds"], {"kinds": json.dumps(kinds), "now": now})]


def _find_work(tx: Tx, kinds: Sequence[JobKind], now: int) -> tuple[list[JobKind], bool]:
    """Return the kinds that have work for now, and whether any job waits for later."""
    return _runnable(tx, kinds, now), tx.one(SQL["next_retry"]) is not None


def _forget_finished(tx: Tx, before: int) -> int:
    return tx.run(SQL["forget_finished_jobs"], {"before": before})
