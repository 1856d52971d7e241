"""Queues the runs that are due, once per home whichever of its processes lives.

Rule 1: what is due is decided again in the transaction that queues it: of several processes one queues a run.
Rule 2: a look costs nothing while nothing is due; where the plan lies is remembered between two looks.
"""

import math
import time
from collections.abc import Callable
from datetime import UTC

from msgspec import Struct

from gateway.passes import rows
from gateway.passes.rows import NewRun
from gateway.passes.schedule import Activity, jitter_of, may_begin, next_night, next_run, outlook, trigger_of
from gateway.passes.table import PASSES
from protocol.base import DAY_MS
from protocol.passes import PassName, WaitingFor
from protocol.seams.ports import Clock, Ids, JobQueue, Transact, Tx
from protocol.settings import PassSettings
from protocol.zones import find_zone

SWEEP = "sweep"
"""The plan of the daily sweep, which is no pass: it runs whether passes do or not."""
SWEEP_SUBJECT = "derived"
JOB_SUBJECT = "home"
"""The subject of every job of a pass: of one kind and subject one is leased at a time, so one run goes on in a home."""


class ScheduleMeans(Struct, frozen=True):
    """Collaborators of the scheduler."""

    db: Transact
    clock: Clock
    ids: Ids
    jobs: JobQueue
    settings: Callable[[], PassSettings]
    is_memory_on: Callable[[], bool]
    home_id: Callable[[Tx], str]
    has_turn: Callable[[], bool]
    stages: Callable[[PassName], list[str]]
    zone: Callable[[], str]
    """The IANA name of the zone of clients that name none."""


class Scheduler:
    """Plans passes and queues their runs."""

    def __init__(self, means: ScheduleMeans) -> None:
        self._means = means
        self._started_at = means.clock.now()
        self._began = self._asked = time.monotonic()
        self._next_look: float = -math.inf
        self._looked_at = -math.inf
        self._zone: str | None = None

    def note_request(self) -> None:
        """Note that a client asked something now."""
        self._asked = time.monotonic()

    def live_in(self, zone: str) -> None:
        """Note the IANA name of a client's time zone: nights are those of the last client that named one."""
        self._zone = zone

    def forget_plan(self) -> None:
        """Read the plan again at the next look: settings changed."""
        self._next_look = -math.inf

    def is_due(self, now: int) -> bool:
        """Return whether a look may find a run that is due."""
        return self._means.is_memory_on() and not self._looked_at <= now < self._next_look

    async def look(self, *, waits_for_idle: bool) -> None:
        """Queue what is due. A run that is due waits for an idle moment where `waits_for_idle` says so."""
        now = self._means.clock.now()
        if not self.is_due(now):
            return
        activity = self._activity() if waits_for_idle else None
        names: list[PassName] = [name for name, row in PASSES.items() if row.is_enabled(self._means.settings())]
        planned = await self._means.db.read(lambda tx: [rows.find_planned_time(tx, name) for name in (*names, SWEEP)])
        intervals = [*(PASSES[name].interval_ms(self._means.settings()) for name in names), DAY_MS]
        if any(self._is_ready(one, now, at, activity) for one, at in zip(intervals, planned, strict=True)):
            planned = await self._means.db.note(
                lambda tx: [self._queue(tx, name, now, activity) for name in names] + [self._sweep(tx, now, activity)]
            )
        self._looked_at = now
        self._next_look = min((at for at in planned if at is not None), default=math.inf)

    def waiting_for(self, name: PassName, planned: int | None) -> WaitingFor | None:
        """Return the condition that a run which is due waits for."""
        now, row = self._means.clock.now(), PASSES[name]
        is_due = planned is not None and outlook(now, planned, row.interval_ms(self._means.settings())) == "due"
        return "idle" if is_due and row.is_enabled(self._means.settings()) else None

    def plan_next(self, tx: Tx, name: PassName, end: int) -> None:
        """Plan the run that follows one that ended then."""
        rows.plan(tx, name, self._after(tx, name, end))

    def queue_run(self, tx: Tx, new: NewRun) -> None:
        """Queue a run, and the job that works on it."""
        rows.add_run(tx, new, self._means.clock.now())
        self._means.jobs.enqueue(tx, "pass", JOB_SUBJECT)

    def _activity(self) -> Activity:
        now = time.monotonic()
        return Activity(now - self._began, now - self._asked, self._means.has_turn())

    @staticmethod
    def _is_ready(interval: int, now: int, planned: int | None, activity: Activity | None) -> bool:
        seen = outlook(now, planned, interval)
        return seen == "plan" or (seen == "due" and (activity is None or may_begin(now, planned or now, activity)))

    def _queue(self, tx: Tx, name: PassName, now: int, activity: Activity | None) -> int:
        """Plan the pass or queue its run, where there is reason for it still; return when it is looked at next."""
        interval, planned = PASSES[name].interval_ms(self._means.settings()), rows.find_planned_time(tx, name)
        if planned is not None and not self._is_ready(interval, now, planned, activity):
            return planned
        following = self._after(tx, name, self._started_at if planned is None else now)
        if (
            planned is not None
            and outlook(now, planned, interval) == "due"
            and rows.find_unfinished_run(tx, name) is None
        ):
            trigger = trigger_of(now, planned, interval)
            self.queue_run(tx, NewRun(self._means.ids.new("run"), name, trigger, self._means.stages(name)))
        rows.plan(tx, name, following)
        return max(now, following)

    def _sweep(self, tx: Tx, now: int, activity: Activity | None) -> int:
        """Plan the daily sweep or queue its job, where there is reason for it still; return when it is next."""
        planned = rows.find_planned_time(tx, SWEEP)
        if planned is not None and not self._is_ready(DAY_MS, now, planned, activity):
            return planned
        if planned is not None and outlook(now, planned, DAY_MS) == "due":
            self._means.jobs.enqueue(tx, "sweep", SWEEP_SUBJECT)
        following = next_run(now, DAY_MS, jitter_of(self._means.home_id(tx), SWEEP))
        rows.plan(tx, SWEEP, following)
        return following

    def _after(self, tx: Tx, name: PassName, end: int) -> int:
        row, settings = PASSES[name], self._means.settings()
        if row.is_nightly:
            return next_night(end, settings.night_hour, find_zone(self._zone or self._means.zone()) or UTC)
        return next_run(end, row.interval_ms(settings), jitter_of(self._means.home_id(tx), name))
