"""The pulse of a process: it looks for other processes' changes, dead owners, due work and damage.

Rule 1: an idle process wakes once for all of it.
Rule 2: the pulse begins with the running process; a command that only asks a question has none.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio
from msgspec import Struct

from agent.capture.captures import Captures
from agent.files.artifacts import Artifacts
from agent.turns.background import Background
from gateway.base.health import Health
from gateway.base.hub import Hub
from gateway.base.logs import Log
from gateway.care.index_watch import IndexWatch
from gateway.embedding.meaning import Embedding
from gateway.foundations import Foundations
from gateway.jobs.runner import JobRunner, free_jobs_of, free_jobs_of_dead
from gateway.passes.scheduler import Scheduler
from knowledge.service import KnowledgeService
from memory.service import MemoryService
from protocol.base import DAY_MS
from protocol.errors import GatewayError
from protocol.notifications import MemoryInvalidated
from protocol.seams.ports import Tx
from thread_episodic.service import EpisodicService

PULSE_SECONDS = 0.5
"""The time between two looks for changes without a notice: other processes' writes, the clock, dead owners."""
LONE_PULSE_SECONDS = 0.8
"""The same while it is alone in its home: a new process and its writes are still noticed within a second."""
TIDY_MS = DAY_MS
"""The time between two removals of old bookkeeping where no other work is due; the first is at the start."""
TIDY_AGAIN_MS = 5 * 60 * 1000
"""The time until a removal that failed is tried again: at each beat it would hold up the looks behind it."""
KNOWLEDGE_MS = 2000
"""The least time between two looks for due scans, files that wait for another try, and collections without a watcher.

Where nothing changed, nothing is due and each collection has its watch, no look is taken.
"""
BEATS_TO_FILES = 4
"""Files are looked at first by this beat: the first messages wait for no part that reads them."""
LEAVE_SECONDS = 2.0  # the longest that the last transaction of a process may take

log = Log("process")


class Tended(Struct, frozen=True, kw_only=True):
    """The parts of the process that a pulse looks after."""

    base: Foundations
    hub: Hub
    health: Health
    embedding: Embedding
    runner: JobRunner
    memory: MemoryService
    episodic: EpisodicService
    knowledge: KnowledgeService
    background: Background
    artifacts: Artifacts
    watch: IndexWatch
    scheduler: Scheduler
    captures: Captures


class Metronome:
    """One timer for all periodic looks: an idle process wakes once for all of them.

    At rest a wake-up costs by the code that it touches, more than by the time that this takes when it is warm. So the
    timer itself asks those who wait whether they have a reason, and wakes no task that has none.
    """

    def __init__(self) -> None:
        self.seconds = PULSE_SECONDS
        self._waiting: list[tuple[Callable[[], bool], anyio.Event]] = []

    async def run(self) -> None:
        """Beat until cancelled."""
        self._wait()
        try:
            await anyio.sleep_forever()
        finally:
            self._timer.cancel()

    def _wait(self) -> None:
        """Set a timer of the loop, which costs less than a task that sleeps."""
        self._timer = asyncio.get_running_loop().call_later(self.seconds, self._beat)

    def _beat(self) -> None:
        self._wait()
        for has_reason, woken in self._waiting:
            if not woken.is_set() and has_reason():
                woken.set()

    async def until(self, has_reason: Callable[[], bool]) -> None:
        """Return at the first beat after the call at which there is a reason; asking for it must cost next to nothing.

        It must not raise either.
        """
        waiting = (has_reason, anyio.Event())
        self._waiting.append(waiting)
        try:
            await waiting[1].wait()
        finally:
            self._waiting.remove(waiting)


class Pulse:
    """The looks, once or twice a second, for changes that reach this process without a notice."""

    def __init__(self, app: Tended) -> None:
        self._app = app
        self.metronome = Metronome()
        self._version = -1
        """The database's version at the last look; -1 has the next beat look in any case."""
        self._seen: tuple[int, int | None] = (0, None)
        """This process's commits, and since when it is alone, at the last look."""
        self._seen_change = 0
        """The last change of memory that clients know of."""
        self._due_at: int | None = None
        """The time of memory's next due work; None where none is planned."""
        self._tidy_at = 0
        self._has_neighbours = True
        self._looking = anyio.Lock()
        self._has_looked = False
        self._is_unclean = False
        """A process that was found dead at the start: its last writes may be half done."""
        self._knowledge_at = 0
        self._beats = 0

    async def run(self) -> None:
        """Beat until cancelled."""
        while True:
            try:
                await self._app.base.database.mend()
                if not self._app.base.database.takes_writes:
                    await self._app.background.notify_held()
                await self.beat()
            except GatewayError as error:
                log.warning("pulse_failed", reason=error.reason)
            except OSError as error:  # locks and settings are files too, and their disk may be full or gone
                log.warning("pulse_failed", reason=type(error).__name__)
            await self.metronome.until(self._has_reason)

    def _has_reason(self) -> bool:
        """Return whether a beat has anything to do."""
        app, now = self._app, self._app.base.clock.now()
        return (
            app.base.database.needs_mending
            or not app.base.database.takes_writes
            or app.base.config.has_changed
            or not (self._has_looked or app.base.home.is_read_only)
            or self._has_neighbours
            or self._may_be_behind(app.base.owners.alone_since())
            or self._is_work_due(now)
            or app.scheduler.is_due(now)
            or self._may_look_at_files(now)
        )

    async def begin(self) -> None:
        """Take over the work of dead processes, and note the last change: only later ones are news to a client."""
        app = self._app
        self._is_unclean = await self.reclaim()
        self._seen_change = (await app.base.database.read(lambda tx: app.memory.changes_since(tx, 2**62)))[1]
        await app.knowledge.begin()

    async def beyond_damage(self, work: Callable[[], Awaitable[object]]) -> None:
        """Do work that the first message needs; where a damaged page hinders it, the page is mended first."""
        await self._app.watch.beyond_damage(work)

    async def look(self) -> None:
        """Queue a repair where there is reason for one and the home can be written; once, after the first message.

        A second caller waits for the first: repairs after a crash are queued when this returns.
        """
        if self._has_looked or self._app.base.home.is_read_only:
            return
        async with self._looking:
            if not self._has_looked:
                await self._app.watch.beyond_damage(
                    lambda: self._app.memory.look_for_damage(is_unclean=self._is_unclean)
                )
                if self._is_unclean:
                    await self._app.artifacts.look_for_orphans()
                self._app.watch.begin()
                self._has_looked = True

    async def look_at_all(self) -> None:
        """Look, and wait until derived parts were checked as well, and jobs know of the files that changed."""
        await self.look()
        await self._app.watch.wait_ended()
        if not self._app.base.home.is_read_only:
            await self._app.knowledge.look()
            await self._app.knowledge.settle()

    async def beat(self) -> None:
        """Look once at everything that may have changed or fallen due."""
        app = self._app
        self.refresh_settings()
        await self.look()
        await self._follow_writes()
        if self._has_neighbours:
            await self.reclaim()
        now = app.base.clock.now()
        await self._do_due_work(now)
        await app.scheduler.look(waits_for_idle=True)
        self._beats += 1
        if self._beats >= BEATS_TO_FILES and self._may_look_at_files(now):
            self._knowledge_at = now + KNOWLEDGE_MS
            await app.knowledge.look()

    def _may_look_at_files(self, now: int) -> bool:
        may_look = now >= self._knowledge_at and not self._app.base.home.is_read_only
        return may_look and self._app.knowledge.needs_look(now)

    def _may_be_behind(self, alone: int | None) -> bool:
        """Return whether something was written since the last look, given since when this process is alone."""
        return alone is None or (self._app.base.database.commits, alone) != self._seen or self._version < 0

    async def _follow_writes(self) -> None:
        """Take over what other processes wrote since the last look."""
        app, db = self._app, self._app.base.database
        alone = app.base.owners.alone_since()
        self.metronome.seconds = PULSE_SECONDS if alone is None else LONE_PULSE_SECONDS
        if self._may_be_behind(alone):
            seen = (db.commits, alone)
            version = await db.data_version()
            self._seen = seen
        else:
            version = self._version  # no process was there that could have changed it
        if version != self._version:
            self._version = version
            try:
                await app.embedding.refresh()
                await app.episodic.repair.follow()
                await app.knowledge.note_change()
                self._due_at = await app.memory.due_at()
                self._has_neighbours = bool(await db.read(app.base.owners.others))
            except BaseException:
                self._version = -1  # a look that failed is repeated
                raise
            app.runner.wake()

    def _is_work_due(self, now: int) -> bool:
        return self._tidy_at <= now or (self._due_at is not None and self._due_at <= now)

    async def _do_due_work(self, now: int) -> None:
        """Remove old bookkeeping once a day, and do memory's work whose time has come."""
        app = self._app
        is_tidying = self._tidy_at <= now
        if is_tidying:
            self._tidy_at = now + TIDY_AGAIN_MS  # whatever fails below
            await app.runner.forget_finished()
            await app.captures.tidy()
        if is_tidying or self._is_work_due(now):
            while await app.memory.sweep():
                pass  # a sweep does a bounded part, so that writers get their turn
            self._due_at = await app.memory.due_at()
        if is_tidying:
            self._tidy_at = now + TIDY_MS

    def is_looking(self, *, at_files: bool) -> bool:
        """Return whether work is about to be queued: for damage that a job met, or, if asked, files that changed."""
        return self._app.watch.is_at_work or (at_files and self._app.knowledge.has_unseen)

    def refresh_settings(self) -> None:
        """Apply settings that another process of the home changed; the next beat would do so, a little later."""
        if self._app.base.config.refresh():
            self.apply_settings()

    def apply_settings(self) -> None:
        """Apply changed settings: report their problems, and resume the work that waits for them."""
        self._version = -1  # the time of due work depends on them
        self._app.scheduler.forget_plan()
        store = self._app.base.config
        if store.problem is not None:
            self._report_config("unreadable")
        elif store.is_missing:
            self._report_config("missing")
        else:
            self._app.health.recover("config")
        for wrong in store.wrong_values:
            self._report_config("invalid_value", wrong.variable)
        for one in store.unknown_keys:
            self._report_config("unknown_key", one.key, nearest=one.nearest, line=one.line)
        self._app.embedding.apply()
        for kind in ("index", "embed", "scan", "read"):
            self._app.runner.resume(kind)

    def _report_config(self, reason: str, key: str | None = None, **more: Any) -> None:
        """Report a problem of the configuration: to clients, and in the log, which is all that users of MCP see."""
        if self._app.health.degrade("config", reason, key, **more):
            log.warning("config_degraded", reason=reason, key=key, **more)

    async def notify_changes(self) -> None:
        """Notify clients, until cancelled, of other processes' changes; no other part of the pulse delays it."""
        app = self._app
        alone: int | None = None
        notified_alone: int | None = None

        def may_have_changed() -> bool:
            nonlocal alone
            if not app.hub.has_reader:
                return False  # a client that does not read is notified once, of everything, when it reads again
            alone = app.base.owners.alone_since()
            return alone is None or alone != notified_alone  # else no process has come since

        while True:
            await self.metronome.until(may_have_changed)
            seen = self._seen_change
            try:
                (scopes, self._seen_change), files = await app.base.database.glance(
                    lambda tx, seen=seen: (app.memory.changes_since(tx, seen), app.knowledge.notices.find(tx))
                )
            except GatewayError as error:
                log.warning("pulse_failed", reason=error.reason)
                continue
            notified_alone = alone
            app.knowledge.notices.tell(files)
            if scopes and app.base.config.config.memory.enabled:
                app.hub.notify("memory/invalidated", MemoryInvalidated(scopes=scopes))

    async def reclaim(self) -> bool:
        """Make the jobs of dead processes runnable and interrupt their turns; return whether there were any."""
        app, db = self._app, self._app.base.database
        others = await db.read(app.base.owners.others)
        dead = [owner for owner in others if app.base.owners.is_dead(owner)]
        if not dead:
            return False

        def bury(tx: Tx) -> None:
            self._settle(tx, dead, free_jobs_of_dead)
            for owner in dead:
                app.base.owners.remove_dead(tx, owner)
            tx.after_commit(app.runner.wake)

        await db.write(bury)
        return True

    async def leave(self) -> None:
        """Leave the home; work that did not end is settled as that of a dead process."""
        base = self._app.base
        with anyio.CancelScope(shield=True), anyio.move_on_after(LEAVE_SECONDS):
            try:
                await base.owners.leave(base.database, lambda tx: self._settle(tx, [base.owners.owner], free_jobs_of))
            except GatewayError as error:
                log.warning("leave_failed", reason=error.reason)

    def _settle(self, tx: Tx, owners: Sequence[str], free_jobs: Callable[[Tx, str], object]) -> None:
        """Make the jobs of ended processes runnable, and interrupt their turns."""
        for owner in owners:
            free_jobs(tx, owner)
        self._app.background.interrupt_turns_of(tx, owners)
