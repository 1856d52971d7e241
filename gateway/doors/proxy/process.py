"""`pioneer proxy`: the process, its child, its run file.

Rule 1: the proxy also starts where the child cannot open the home: requests go on without memory until it can.
Rule 2: the run file holds the proxy's address and whether memory answers; it is removed at the end.
"""

import asyncio
import contextlib
import os
import secrets
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread

from gateway.base import logs
from gateway.base.addresses import OWN, find_own_upstream
from gateway.base.exit_codes import CONFIG, OK
from gateway.base.process_signals import wait_for_signal
from gateway.doors.http.listening import DoorAddress, HttpOptions, address_of, listen_at
from gateway.doors.http.server import DoorServer
from gateway.doors.proxy.app import ProxyDoor, ProxyMeans
from gateway.doors.proxy.capturing import Capturing
from gateway.doors.proxy.child import Child
from gateway.doors.proxy.spool import Spool
from gateway.home.config import ConfigStore
from gateway.home.folder import Home
from gateway.home.owners import hold_lock
from gateway.home.run_files import RunFile, write_run_file
from gateway.home.starting import Options, UnusableError, raising_unusable, run_process
from gateway.home.tokens import FOLDER, INTERNAL, Token, token_path
from gateway.wire.client import console_script
from protocol.settings import ProxySettings

log = logs.Log("proxy")

BEGIN_SECONDS = 15.0
"""The longest wait for memory: for its first answer at the start, for the delivery of the spool at the end."""
WRITE_SECONDS = 1.0
"""The time between two writes of the run file, unless the child's state changes."""


def child_command(options: Options, home: Path) -> list[str]:
    """Return the command of the spawned gateway."""
    command = [*console_script(), "serve", "--home", str(home), "--log-level", "warning"]
    if options.config is not None:
        command += ["--config", str(options.config)]
    if options.clock_file is not None:
        command += ["--clock-file", str(options.clock_file)]
    return command


def refuse_own_address(settings: ProxySettings, place: DoorAddress) -> None:
    """Raise `UnusableError` where an upstream is the proxy itself."""
    name = find_own_upstream(settings, place.port)
    if name is not None:
        raise UnusableError(CONFIG, f"gateway.proxy.upstreams.{name}.base_url: {OWN}")


class _Proxy:
    """The parts of a running proxy."""

    def __init__(self, options: Options, home: Home, config: ConfigStore, owner: str) -> None:
        self.home, self.config, self.owner = home, config, owner
        self.child = Child(child_command(options, home.root), self.note_child)
        self.spool = Spool(home.root, owner, self.child)
        self.capturing = Capturing(self.child, self.spool, self.settings)
        self.place = DoorAddress(bind="127.0.0.1", port=0)
        self._changed, self._child_changed = asyncio.Event(), asyncio.Event()
        self._writing = asyncio.Lock()

    def settings(self) -> ProxySettings:
        """Return the settings in force."""
        return self.config.config.proxy

    def note_change(self) -> None:
        """Have the run file written within `WRITE_SECONDS`."""
        self._changed.set()

    def note_child(self) -> None:
        """Have the run file written at once, as the child's state changed."""
        self._child_changed.set()
        self._changed.set()

    def entry(self) -> RunFile:
        """Return the contents of the run file."""
        return RunFile(
            url=self.place.url,
            pid=os.getpid(),
            home_id=self.child.home_id,
            owner=self.owner,
            capture=self.child.state,
            late=self.child.late,
            spooled=self.spool.count,
            last_turn_at=self.capturing.last_turn_at,
            usage=self.capturing.usage,
        )

    async def keep_run_file(self) -> None:
        """Write the run file after changes, until cancelled."""
        while True:
            await self._changed.wait()
            await self.write()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(WRITE_SECONDS):
                    await self._child_changed.wait()

    async def write(self) -> None:
        """Write the run file with the present state."""
        self._changed.clear()
        self._child_changed.clear()
        async with self._writing:
            with contextlib.suppress(OSError):
                await anyio.to_thread.run_sync(write_run_file, self.home.run, "proxy", self.entry())


@asynccontextmanager
async def _open_proxy(options: Options, asked: HttpOptions) -> AsyncGenerator[tuple[_Proxy, DoorServer, ProxyDoor]]:
    """Yield a proxy that listens but does not run yet. Raises `UnusableError`."""
    os.umask(0o077)
    with raising_unusable():
        home = Home(options.home)
        config = ConfigStore(options.config or home.root / "config.toml", is_named=options.config is not None)
        logs.configure(home.logs, options.log_level, lambda text: text, uses_stderr=options.uses_stderr)
        for one in config.unknown_keys:  # the child reports them as the home's state, the proxy in its own log
            more = {"key": one.key, "nearest": one.nearest, "line": one.line}
            log.warning("config_degraded", reason="unknown_key", **more)
        token, internal = Token(token_path(home.root, "proxy")), Token(home.root / FOLDER / INTERNAL)
        token.current()
        internal.current()
    wanted = address_of(asked, config.config.proxy, "proxy")
    refuse_own_address(config.config.proxy, wanted)
    listener = await anyio.to_thread.run_sync(listen_at, wanted, home.run)
    owner = f"prx_{secrets.token_hex(12)}"
    lock = home.run / f"{owner}.lock"
    run_file = home.run / f"proxy-{os.getpid()}.json"
    with hold_lock(lock):
        proxy = _Proxy(options, home, config, owner)
        proxy.place = DoorAddress(bind=wanted.bind, port=listener.getsockname()[1])
        refuse_own_address(config.config.proxy, proxy.place)
        means = ProxyMeans(
            settings=proxy.settings,
            refresh=config.refresh,
            token=token,
            internal=internal,
            capturing=proxy.capturing,
            home_id=lambda: proxy.child.home_id or owner,
            is_dark=lambda: proxy.child.state == "dark",
            changed=proxy.note_change,
        )
        door = ProxyDoor(means, proxy.place.port, proxy.place.bind)
        try:
            yield proxy, DoorServer(door, listener, door.end, lambda: proxy.settings().request_seconds), door
        finally:
            run_file.unlink(missing_ok=True)
    lock.unlink(missing_ok=True)


async def serve(options: Options, asked: HttpOptions) -> int:
    """Pass requests on until a signal; return the exit code."""
    async with _open_proxy(options, asked) as (proxy, server, door):
        signalled = asyncio.create_task(wait_for_signal())
        async with asyncio.TaskGroup() as tasks:
            works = [tasks.create_task(work()) for work in (proxy.child.run, proxy.spool.run, proxy.keep_run_file)]
            serving = tasks.create_task(server.run_door())
            await server.listening.wait()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(BEGIN_SECONDS):
                    await proxy.child.begun.wait()
            await proxy.write()  # before the line, so that a program that reads the line finds the file
            sys.stdout.write(f"pioneer proxy: {proxy.place.url}, capture: {proxy.child.state}\n")
            sys.stdout.flush()
            await signalled
            server.stop()
            await serving
            await door.close()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(BEGIN_SECONDS if proxy.child.state == "live" else 0):
                    await proxy.spool.wait_until_delivered()
            for work in works:
                work.cancel()
    return OK


def main(options: Options, asked: HttpOptions) -> int:
    """Run the process to its end; return its exit code."""
    return run_process(serve(options, asked), "pioneer proxy")
