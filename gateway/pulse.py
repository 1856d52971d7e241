"""What a process looks after by itself: other processes' changes, dead owners, the clock, damage.

Rule 1: an idle process wakes once for all of it.
Rule 2: nothing here is done before the process runs; a question that a command asks does none of it.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import anyio

from agent.files.artifacts import Artifacts
from agent.turns.background import Background
from gateway.base.health import Health
from gateway.base.hub import Hub
from gateway.base.logs import Log
from gateway.care.index_watch import IndexWatch
from gateway.embedding.meaning import Embedding
from gateway.foundations import Foundations
from gateway.jobs.runner import JobRunner, free_jobs_of, free_jobs_of_dead
from memory.service import MemoryService
from protocol.errors import GatewayError
from protocol.notifications import MemoryInvalidated
from protocol.seams.ports import Tx
from thread_episodic.service import EpisodicService

PULSE_SECONDS = 0.5
"""How often the process looks for what nobody tells it: other processes' changes, the clock, dead owners."""
LONE_PULSE_SECONDS = 0.8
"""The same while it is alone in its home: a process that comes, and what it writes, is still told of within a second."""
TIDY_MS = 86_400_000
"""How often old bookkeeping is dropped where nothing else is due; at first when the process starts."""
LEAVE_SECONDS = 2.0

log = Log("process")


@dataclass(frozen=True, kw_only=True)
class Tended:
    """What a pulse looks after."""

    base: Foundations
    hub: Hub
    health: Health
    embedding: Embedding
    runner: JobRunner
    memory: MemoryService
    episodic: EpisodicService
    background: Background
    artifacts: Artifacts
    watch: IndexWatch


class Metronome:
    """One timer for all who look again and again: an idle process wakes once for all of them."""

    def __init__(self) -> None:
        self.seconds = PULSE_SECONDS
        self._next = anyio.Event()

    async def run(self) -> None:
        """Beat until cancelled."""
        self._wait()
        try:
            await anyio.sleep_forever()
        finally:
            self._timer.cancel()

    def _wait(self) -> None:
        """A timer of the loop, not a task that sleeps: waking for nothing is what an idle process costs."""
        self._timer = asyncio.get_running_loop().call_later(self.seconds, self._beat)

    def _beat(self) -> None:
        self._wait()
        now, self._next = self._next, anyio.Event()
        now.set()

    async def next(self) -> None:
        """Wait for the next beat; who is late for one takes the one after it."""
        await self._next.wait()


class Pulse:
    """Looks, once or twice a second, for what nobody tells this process."""

    def __init__(self, app: Tended) -> None:
        self._app = app
        self.metronome = Metronome()
        self._version = -1
        self._seen: tuple[int, int | None] = (0, None)
        self._seen_change = 0
        self._due_at: int | None = None
        self._tidy_at = 0
        self._has_neighbours = True
        self._looking = anyio.Lock()
        self._has_looked = False
        self._is_unclean = False

    async def run(self) -> None:
        """Beat until cancelled."""
        while True:
            try:
                await self._app.base.database.mend()
                await self.beat()
            except GatewayError as error:
                log.warning("pulse_failed", reason=error.reason)
            except OSError as error:  # locks and settings are files too, and their disk may be full or gone
                log.warning("pulse_failed", reason=type(error).__name__)
            await self.metronome.next()

    async def begin(self) -> None:
        """Take over what dead processes left, and note which change was the last: only later ones are news to a client."""
        app = self._app
        self._is_unclean = await self.reclaim()
        self._seen_change = (await app.base.database.read(lambda tx: app.memory.changes_since(tx, 2**62)))[1]

    async def look(self) -> None:
        """Have a repair queued where there is reason for one, and a home that takes it; once, after the first message is read.

        Whoever asks while another looks waits for it: what a crash left is queued when this returns.
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
        """Look, and wait until what is derived was looked at as well."""
        await self.look()
        await self._app.watch.ended()

    async def beat(self) -> None:
        """One look."""
        app, db = self._app, self._app.base.database
        self.refresh_settings()
        await self.look()
        seen = (db.commits, app.base.owners.alone_since())
        self.metronome.seconds = PULSE_SECONDS if seen[1] is None else LONE_PULSE_SECONDS
        if seen[1] is None or seen != self._seen or self._version < 0:
            version = await db.data_version()
            self._seen = seen
        else:
            version = self._version  # nobody was there who could have changed it, nor have we
        if version != self._version:
            self._version = version
            try:
                await app.embedding.refresh()
                await app.episodic.repair.follow()
                self._due_at = await app.memory.due_at()
                self._has_neighbours = bool(await db.read(app.base.owners.others))
            except BaseException:
                self._version = -1  # what could not be looked at now is looked at again
                raise
            app.runner.wake()
        if self._has_neighbours:
            await self.reclaim()
        now = app.base.clock.now()
        is_due = self._due_at is not None and self._due_at <= now
        if self._tidy_at <= now:
            self._tidy_at, is_due = now + TIDY_MS, True
            await app.runner.forget_finished()
        if is_due:
            while await app.memory.sweep():
                pass  # a sweep does a bounded part, so that writers get their turn
            self._due_at = await app.memory.due_at()

    @property
    def is_mending(self) -> bool:
        """Whether damage that a job came upon is being seen to."""
        return self._app.watch.is_at_work

    def refresh_settings(self) -> None:
        """Apply what another process of the home changed; otherwise the next beat does, a little later."""
        if self._app.base.config.refresh():
            self.apply_settings()

    def apply_settings(self) -> None:
        """Settings changed, here or in the file: what waits for them may go on."""
        self._version = -1  # what is due depends on them
        store, health = self._app.base.config, self._app.health
        if store.problem is not None:
            health.degrade("config", "unreadable")
        elif store.is_missing:
            health.degrade("config", "missing")
        else:
            health.recover("config")
        for wrong in store.wrong_values:
            health.degrade("config", "invalid_value", wrong.variable)
        for one in store.unknown_keys:
            health.degrade("config", "unknown_key", one.key, nearest=one.nearest, line=one.line)
        self._app.embedding.apply()
        for kind in ("index", "embed"):
            self._app.runner.resume(kind)

    async def tell_changes(self) -> None:
        """Tell, until cancelled, what other processes changed; nothing else that is looked after holds it up."""
        app = self._app
        told_alone: int | None = None
        while True:
            await self.metronome.next()
            alone = app.base.owners.alone_since()
            if alone is not None and alone == told_alone:
                continue  # nobody has come since
            if not app.hub.is_heard:
                continue  # a client that does not read is told once, of everything, when it reads again
            seen = self._seen_change
            try:
                scopes, self._seen_change = await app.base.database.glance(
                    lambda tx, seen=seen: app.memory.changes_since(tx, seen)
                )
            except GatewayError as error:
                log.warning("pulse_failed", reason=error.reason)
                continue
            told_alone = alone
            if scopes and app.base.config.config.memory.enabled:
                app.hub.notify("memory/invalidated", MemoryInvalidated(scopes=scopes))

    async def reclaim(self) -> bool:
        """Take over what dead processes left: their jobs are runnable, their turns interrupted. Whether any left something."""
        app, db = self._app, self._app.base.database
        others = await db.read(app.base.owners.others)
        dead = [owner for owner in others if app.base.owners.is_dead(owner)]
        if not dead:
            return False

        def bury(tx: Tx) -> None:
            self._settle(tx, dead, free_jobs_of_dead)
            for owner in dead:
                app.base.owners.bury(tx, owner)
            tx.after_commit(app.runner.wake)

        await db.write(bury)
        return True

    async def leave(self) -> None:
        """End this process's life in the home; whatever it did not end itself is settled as if it had died."""
        base = self._app.base
        with anyio.CancelScope(shield=True), anyio.move_on_after(LEAVE_SECONDS):
            try:
                await base.owners.leave(base.database, lambda tx: self._settle(tx, [base.owners.owner], free_jobs_of))
            except GatewayError as error:
                log.warning("leave_failed", reason=error.reason)

    def _settle(self, tx: Tx, owners: Sequence[str], free_jobs: Callable[[Tx, str], object]) -> None:
        """Jobs of processes that are no more are runnable, their turns interrupted."""
        for owner in owners:
            free_jobs(tx, owner)
        self._app.background.interrupt_turns_of(tx, owners)
