"""One gateway process: opens the home, serves a client, ends in order.

Rule 1: each stage that can fail before the first message has its exit code and one clear line on stderr.
Rule 2: whatever ends the session, running turns are interrupted, leases are given back, the owner's lock goes last.
"""

import asyncio
import gc
import os
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import partial
from typing import TypeAlias

import anyio

from gateway.base import logs
from gateway.base.hub import Hub
from gateway.base.process_signals import on_signals
from gateway.foundations import open_home
from gateway.home.starting import Options, raising_unusable, run_process
from gateway.memory_core import build_core
from gateway.pulse import Metronome
from gateway.wire.client_session import SessionClient
from gateway.wire.rpc import Dispatcher
from gateway.wire.session import Output, Session, Transport
from gateway.wire.stdio import PipeReader, Pipes, PipeWriter, claim, parent_is_alive
from gateway.wiring import App, build

FLUSH_SECONDS = 2.0

log = logs.Log("process")

Stop: TypeAlias = Callable[[], None]
"""Ends a session in order."""
Beside: TypeAlias = Callable[[App], AbstractAsyncContextManager[object]]
"""Opens another door of a running gateway for as long as the block runs."""


@asynccontextmanager
async def running(options: Options) -> AsyncGenerator[App]:
    """Open a home and yield a gateway that runs on it until the block ends. Raises `UnusableError`."""
    base = await open_home(options)
    try:
        app = build(build_core(base, Hub()))
        if base.key.is_lost:
            app.health.degrade("keys", "key_lost")
        if base.lost_frames:
            log.error("wal_damaged", frames=base.lost_frames)
            app.health.degrade("storage", "wal_damaged", str(base.lost_frames))
        with raising_unusable():
            await app.watch.beyond_damage(app.pulse.begin)
        app.pulse.apply_settings()
        try:
            async with app.spawner.open() as tasks:
                works = [app.embedding.read_ahead, app.pulse.metronome.run, app.pulse.notify_changes]
                if not base.home.is_read_only:
                    works += [app.runner.run, app.embedding.run, app.pulse.run]
                for work in works:
                    tasks.start_soon(work)
                if base.home.is_read_only:
                    tasks.start_soon(app.embedding.attach)  # no space can be made: the current one has to do
                await app.left.begin(app.spawner.spawn)
                try:
                    yield app
                finally:
                    with anyio.CancelScope(shield=True):
                        await app.turns.end_all()
                    tasks.cancel_scope.cancel()
        finally:
            app.embedding.close()
            await app.pulse.leave()
    finally:
        base.owners.release()
        base.database.close()


async def serve(app: App, transport: Transport, *endings: Callable[[Stop], Coroutine[None, None, None]]) -> int:
    """Serve one client of a running gateway to its end; return the exit code that it asked for.

    Any number of clients are served at once. Each of `endings` may stop the session. What the client began ends with
    it: its requests, and the turns that run in threads which no other client works in.
    """
    limits = app.base.config.config.limits
    session = Session(
        transport=transport,
        hub=app.hub,
        dispatcher=Dispatcher(app.bound, log.incident),
        max_message_bytes=limits.max_message_bytes,
        max_in_flight=limits.max_in_flight,
        thread_of_turn=app.turns.thread_of,
        news=app.health.news(),
    )
    try:
        async with anyio.create_task_group() as watchers:
            watchers.start_soon(until_parent_is_gone, session.client, app.pulse.metronome, session.stop)
            for until in endings:
                watchers.start_soon(until, session.stop)
            await session.run()
            watchers.cancel_scope.cancel()
        return session.exit_code
    finally:
        with anyio.CancelScope(shield=True):
            await app.turns.end_in(session.threads())
            session.close()
        await flush(transport.sink)


async def flush(sink: Output) -> None:
    """Write queued lines, for at most `FLUSH_SECONDS`, also under cancellation."""
    with anyio.CancelScope(shield=True), anyio.move_on_after(FLUSH_SECONDS):
        await sink.flush()


async def until_parent_is_gone(client: SessionClient, metronome: Metronome, stop: Callable[[], None]) -> None:
    """Stop when the parent process has ended."""
    parent = os.getppid()

    def is_gone() -> bool:
        is_orphan = sys.platform != "win32" and os.getppid() != parent
        return is_orphan or (client.parent_pid is not None and not parent_is_alive(client.parent_pid))

    await metronome.until(is_gone)
    stop()


async def until_stopped(writer: PipeWriter, stop: Callable[[], None]) -> None:
    """Stop on SIGTERM, on SIGINT, or when the client reads no more."""
    asked = asyncio.Event()
    on_signals(asked.set)
    done, waiting = await asyncio.wait(
        {asyncio.ensure_future(asked.wait()), asyncio.ensure_future(writer.broken.wait())},
        return_when=asyncio.FIRST_COMPLETED,
    )
    for task in (*done, *waiting):
        task.cancel()
    stop()


async def serve_pipes(options: Options, pipes: Pipes, beside: Beside) -> int:
    """Serve one client over the claimed pipes; return the exit code."""
    async with running(options) as app, beside(app):
        writer = PipeWriter(pipes.write)
        # objects of the start stay: each collection of them would stop every thread for 50 ms
        gc.freeze()
        return await serve(app, Transport(PipeReader(pipes.read), writer), partial(until_stopped, writer))


def main(options: Options, beside: Beside = lambda _app: nullcontext()) -> int:
    """Run the process to its end, with another door `beside` the session; return its exit code."""
    return run_process(serve_pipes(options, claim(), beside), "pioneer")
