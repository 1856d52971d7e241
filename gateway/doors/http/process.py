"""`pioneer http`, and the same door beside a session over pipes.

Rule 1: a door that cannot open says why in one line, with its exit code; a session beside it then does not begin.
Rule 2: the run file is there while the door listens, and no longer.
"""

import asyncio
import contextlib
import errno
import gc
import json
import os
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from ipaddress import ip_address
from pathlib import Path
from typing import TextIO

import anyio
import anyio.to_thread

from gateway.base import logs
from gateway.base.exit_codes import CONFIG, OK, UNAVAILABLE
from gateway.foundations import Options, UnusableError, raising_unusable
from gateway.home.owners import fact_of_home
from gateway.home.run_files import RunFile, find_run_files, write_run_file
from gateway.home.tokens import Token, token_path
from gateway.process import run_guarded, running, wait_for_signal
from gateway.wiring import App
from protocol.settings import HttpSettings

ASK_SECONDS = 2.0
TAKEN = frozenset({errno.EADDRINUSE, 10048})
"""The error numbers of a taken port; Windows has one of its own."""


@dataclass(frozen=True, kw_only=True)
class HttpOptions:
    """The command line's options for the door; None leaves it to the configuration."""

    port: int | None = None
    bind: str | None = None


@dataclass(frozen=True, kw_only=True)
class DoorAddress:
    """The address that the door listens at."""

    bind: str
    port: int

    @property
    def url(self) -> str:
        """Return the address of the door."""
        return f"http://{f'[{self.bind}]' if ':' in self.bind else self.bind}:{self.port}"


def place_of(wish: HttpOptions, settings: HttpSettings) -> DoorAddress:
    """Return where the door is to listen. Raises `UnusableError` for an address that is not allowed."""
    bind = wish.bind or settings.bind
    bind = "127.0.0.1" if bind == "localhost" else bind.strip("[]")
    try:
        address = ip_address(bind)
    except ValueError:
        raise UnusableError(CONFIG, "gateway.http.bind: must be an address of this machine, as 127.0.0.1") from None
    if not address.is_loopback and not (settings.allow_remote and settings.allowed_hosts):
        raise UnusableError(
            CONFIG,
            "an address that others reach needs gateway.http.allow_remote = true and gateway.http.allowed_hosts",
        )
    return DoorAddress(bind=bind, port=settings.port if wish.port is None else wish.port)


def _listen(place: DoorAddress, home_run: Path) -> socket.socket:
    from gateway.doors.http.server import listen  # noqa: PLC0415  # uvicorn is imported when a door opens

    try:
        return listen(place.bind, place.port)
    except PermissionError:
        raise UnusableError(UNAVAILABLE, f"port {place.port} is not open to this user") from None
    except OSError as error:
        if error.errno not in TAKEN:
            raise UnusableError(UNAVAILABLE, f"{place.bind} is no address of this machine") from None
        raise UnusableError(UNAVAILABLE, f"port {place.port} is taken by {_holder(place, home_run)}") from None


def _holder(place: DoorAddress, home_run: Path) -> str:
    """Return who listens at a place already, in words."""
    connection = HTTPConnection(place.bind, place.port, timeout=ASK_SECONDS)
    try:
        connection.request("GET", "/health")
        found = json.loads(connection.getresponse().read(4096))
        version = found["version"] if found["service"] == "pioneer" else None
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return "another program"
    finally:
        connection.close()
    if not isinstance(version, str):
        return "another program"
    mine = [entry for _, entry in find_run_files(home_run) if entry is not None and entry.url == place.url]
    shown = "".join(c for c in version[:40] if c.isprintable())
    return f"pioneer {shown} " + (f"of this home (pid {mine[0].pid})" if mine else "of another home")


@asynccontextmanager
async def open_door(app: App, wish: HttpOptions, out: TextIO) -> AsyncGenerator[None]:
    """Answer HTTP while the block runs, and write its address once it listens. Raises `UnusableError`."""
    wanted = place_of(wish, app.base.config.config.http)
    listener = await anyio.to_thread.run_sync(_listen, wanted, app.base.home.run)
    from gateway.doors.http.app import Door  # noqa: PLC0415
    from gateway.doors.http.server import DoorServer  # noqa: PLC0415

    place = DoorAddress(bind=wanted.bind, port=listener.getsockname()[1])
    token = Token(token_path(app.base.home.root, "http"))
    with raising_unusable():
        token.current()
    await app.shell.welcome()
    door = Door(app, token, place.port, place.bind)
    server = DoorServer(door, listener, door.end)
    run_file: Path | None = None
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.run_door)
            await server.listening.wait()
            run_file = await _write_run_file(app, place)
            out.write(f"pioneer http: {place.url} (token in {token_path(app.base.home.root, 'http')})\n")
            out.flush()
            try:
                yield
            finally:
                server.stop()
    finally:
        if run_file is not None:
            run_file.unlink(missing_ok=True)
        door.close()


async def _write_run_file(app: App, place: DoorAddress) -> Path | None:
    """Write the run file, where the home can be written; without one the door works as well."""
    if app.base.home.is_read_only:
        return None
    home_id = await app.base.database.read(lambda tx: fact_of_home(tx, "home_id")) or ""
    entry = RunFile(url=place.url, pid=os.getpid(), home_id=home_id, owner=app.base.owners.owner)
    with contextlib.suppress(OSError):
        return write_run_file(app.base.home.run, "http", entry)
    return None


async def serve(options: Options, wish: HttpOptions) -> int:
    """Answer HTTP until a signal; return the exit code."""
    async with running(options) as app, open_door(app, wish, sys.stdout):
        gc.freeze()
        await wait_for_signal()
    return OK


def main(options: Options, wish: HttpOptions) -> int:
    """Run the process to its end; return its exit code."""
    try:
        return asyncio.run(run_guarded(serve(options, wish)))
    except UnusableError as error:
        sys.stderr.write(f"pioneer http: {error.line}\n")
        return error.code
    except KeyboardInterrupt:
        return OK
    finally:
        logs.close()
