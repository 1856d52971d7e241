"""One gateway process: opens the home, serves a client, ends in order.

Rule 1: each stage that can fail before the first message has its exit code and one clear line on stderr.
Rule 2: whatever ends the session, running turns are interrupted, leases are given back, the owner's lock goes last.
"""

import asyncio
import gc
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from types import FrameType
from typing import Protocol

import anyio

from gateway import logs
from gateway.foundations import Foundations, Options, UnusableError, open_home, told_to_a_person
from gateway.introduction import Client
from gateway.job_runner import free_jobs_of, free_jobs_of_dead
from gateway.memory_core import build_core
from gateway.rpc import Dispatcher
from gateway.session import Session
from gateway.stdio import Pipes, Reader, Writer, claim, parent_is_alive
from gateway.wiring import App, build
from protocol.errors import GatewayError
from protocol.notifications import MemoryInvalidated
from protocol.ports import Tx

EXIT_DEFECT = 70

PULSE_SECONDS = 0.5
"""How often the process looks for what nobody tells it: other processes' changes, the clock, dead owners."""
LONE_PULSE_SECONDS = 0.8
"""The same while it is alone in its home: a process that comes, and what it writes, is still told of within a second."""
TIDY_MS = 86_400_000
"""How often old bookkeeping is dropped where nothing else is due; at first when the process starts."""
FLUSH_SECONDS = 2.0
LEAVE_SECONDS = 2.0

log = logs.Log("process")


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

    def __init__(self, app: App, is_reading: Callable[[], bool], metronome: Metronome) -> None:
        self._app = app
        self._metronome = metronome
        self._is_reading = is_reading
        self._version = -1
        self._seen: tuple[int, int | None] = (0, None)
        self._seen_change = 0
        self._due_at: int | None = None
        self._tidy_at = 0
        self._has_neighbours = True
        self._looking = anyio.Lock()
        self._has_looked = False
        self.is_unclean = False

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
            await self._metronome.next()

    async def begin(self) -> None:
        """What was changed before the client spoke to us is no news to it; whatever comes later is."""
        app = self._app
        self._seen_change = (await app.base.database.read(lambda tx: app.memory.changes_since(tx, 2**62)))[1]

    async def look(self) -> None:
        """Have a repair queued where there is reason for one; once, and never before the first message is read.

        Whoever asks while another looks waits for it: what a crash left is queued when this returns.
        """
        if self._has_looked:
            return
        async with self._looking:
            if not self._has_looked:
                await self._app.watch.beyond_damage(
                    lambda: self._app.memory.look_for_damage(is_unclean=self.is_unclean)
                )
                if self.is_unclean:
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
        if app.base.config.refresh():
            self.apply_settings()
        await self.look()
        seen = (db.commits, app.base.owners.alone_since())
        self._metronome.seconds = PULSE_SECONDS if seen[1] is None else LONE_PULSE_SECONDS
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
            await self._metronome.next()
            alone = app.base.owners.alone_since()
            if alone is not None and alone == told_alone:
                continue  # nobody has come since
            if not self._is_reading():
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
                app.outbox.notify("memory/invalidated", MemoryInvalidated(scopes=scopes))

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


class Listener(Protocol):
    """Who hears what the gateway says of itself: a `Writer`, or somebody at another door."""

    @property
    def is_within_budget(self) -> bool:
        """Whether the listener keeps up."""
        ...

    def send(self, line: bytes, coalesce_key: str | None = None) -> None:
        """Take a line."""
        ...


@asynccontextmanager
async def running(base: Foundations, listener: Listener, client: Client, metronome: Metronome) -> AsyncGenerator[App]:
    """A built gateway with its background work; on leaving, everything is ended in order."""
    app = build(build_core(base, listener.send, client))
    if base.key.is_lost:
        app.health.degrade("keys", "key_lost")
    if base.lost_frames:
        log.error("wal_damaged", frames=base.lost_frames)
        app.health.degrade("storage", "wal_damaged", str(base.lost_frames))
    pulse = Pulse(app, lambda: listener.is_within_budget, metronome)
    app.shell.reclaim = pulse.reclaim
    app.shell.on_settings = pulse.apply_settings
    app.shell.look = pulse.look_at_all
    app.shell.is_mending = lambda: app.watch.is_at_work
    with told_to_a_person():
        pulse.is_unclean = await pulse.reclaim()
        await pulse.begin()
    pulse.apply_settings()
    try:
        async with anyio.create_task_group() as tasks:
            app.outbox.tasks = tasks
            tasks.start_soon(app.runner.run)
            tasks.start_soon(app.embedding.run)
            tasks.start_soon(app.embedding.read_ahead)
            tasks.start_soon(metronome.run)
            tasks.start_soon(pulse.run)
            tasks.start_soon(pulse.tell_changes)
            try:
                yield app
            finally:
                with anyio.CancelScope(shield=True):
                    await app.turns.end_all()
                tasks.cancel_scope.cancel()
    finally:
        await pulse.leave()


async def until_parent_is_gone(client: Client, metronome: Metronome, stop: Callable[[], None]) -> None:
    """Stop when the process that spawned us is no more."""
    parent = os.getppid()
    while True:
        await metronome.next()
        is_orphan = sys.platform != "win32" and os.getppid() != parent
        if is_orphan or (client.parent_pid is not None and not parent_is_alive(client.parent_pid)):
            stop()
            return


def _setter(loop: asyncio.AbstractEventLoop, asked: asyncio.Event) -> Callable[[int, FrameType | None], None]:
    """A signal handler for platforms whose event loop takes none."""

    def handle(_number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(asked.set)

    return handle


async def until_stopped(writer: Writer, stop: Callable[[], None]) -> None:
    """Stop on SIGTERM, on SIGINT, or when nobody reads us any more."""
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()
    if sys.platform == "win32":
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _setter(loop, asked))
    else:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, asked.set)
    done, waiting = await asyncio.wait(
        {asyncio.ensure_future(asked.wait()), asyncio.ensure_future(writer.broken.wait())},
        return_when=asyncio.FIRST_COMPLETED,
    )
    for task in (*done, *waiting):
        task.cancel()
    stop()


async def end(base: Foundations, writer: Writer) -> None:
    """Write what is queued and close the home."""
    with anyio.CancelScope(shield=True), anyio.move_on_after(FLUSH_SECONDS):
        await writer.flush()
    base.owners.release()
    base.database.close()
    logs.close()


async def serve(options: Options, pipes: Pipes) -> int:
    """Serve one client over the claimed pipes; return the exit code."""
    base = await open_home(options)
    reader, writer, client, metronome = Reader(pipes.read), Writer(pipes.write), Client(), Metronome()
    code = EXIT_DEFECT
    try:
        async with running(base, writer, client, metronome) as app:
            limits = base.config.config.limits
            session = Session(
                source=reader,
                sink=writer,
                outbox=app.outbox,
                dispatcher=Dispatcher(app.bound, log.incident),
                max_message_bytes=limits.max_message_bytes,
                max_in_flight=limits.max_in_flight,
                thread_of_turn=app.turns.thread_of,
            )
            async with anyio.create_task_group() as watchers:
                watchers.start_soon(until_stopped, writer, session.stop)
                watchers.start_soon(until_parent_is_gone, client, metronome, session.stop)
                gc.freeze()  # what the start made stays: looking through it again and again would stop every thread for 50 ms
                code = await session.run()
                watchers.cancel_scope.cancel()
    except UnusableError:
        raise
    except Exception as failure:  # noqa: BLE001  # the last place that can tell of it, by its id and not by its text
        sys.stderr.write(
            f"pioneer: a defect ended the process ({log.incident(failure)}); the log of the home says where\n"
        )
    finally:
        await end(base, writer)
    return code


def main(options: Options) -> int:
    """Run the process to its end; return its exit code."""
    pipes = claim()
    try:
        return asyncio.run(serve(options, pipes))
    except UnusableError as error:
        sys.stderr.write(f"pioneer: {error.line}\n")
        return error.code
    except KeyboardInterrupt:
        return 0
