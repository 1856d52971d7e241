"""`pioneer http`, and the same door beside a session over pipes.

Rule 1: a door that cannot open says why in one line, with its exit code; a session beside it then does not begin.
Rule 2: the run file is there while the door listens, and no longer.
"""

import contextlib
import gc
import os
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TextIO

import anyio
import anyio.to_thread

from gateway.base.exit_codes import OK
from gateway.base.process_signals import expect_signal
from gateway.doors.http.listening import DoorAddress, HttpOptions, address_of, listen_at
from gateway.home.owners import fact_of_home
from gateway.home.run_files import RunFile, write_run_file
from gateway.home.starting import Options, raising_unusable, run_process
from gateway.home.tokens import Token, token_path
from gateway.process import running
from gateway.wiring import App

if TYPE_CHECKING:
    from gateway.doors.http.page_routes import MakePages


class OpenDoor(NamedTuple):
    """A door that listens: its address, and `Door.is_idle`."""

    url: str
    is_idle: Callable[[float], bool]


@asynccontextmanager
async def open_door(
    app: App, asked: HttpOptions, out: TextIO | None, make_pages: "MakePages | None" = None
) -> AsyncGenerator[OpenDoor]:
    """Answer HTTP while the block runs, and write the address to `out` once the door listens. Raises `UnusableError`.

    `make_pages` makes the inspect page at its first request; without it this door has none.
    """
    wanted = address_of(asked, app.base.config.config.http)
    listener = await anyio.to_thread.run_sync(listen_at, wanted, app.base.home.run)
    from gateway.doors.http.app import Door  # noqa: PLC0415
    from gateway.doors.http.server import DoorServer  # noqa: PLC0415

    address = DoorAddress(bind=wanted.bind, port=listener.getsockname()[1])
    token = Token(token_path(app.base.home.root, "http"))
    with raising_unusable():
        token.current()
    await app.shell.welcome()
    door = Door(app, token, address.port, address.bind, make_pages)
    server = DoorServer(door, listener, door.end, lambda: app.base.config.config.http.request_seconds)
    run_file: Path | None = None
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.run_door)
            await server.listening.wait()
            run_file = await _write_run_file(app, address)
            if out is not None:
                out.write(f"pioneer http: {address.url} (token in {token_path(app.base.home.root, 'http')})\n")
                out.flush()
            try:
                yield OpenDoor(address.url, door.is_idle)
            finally:
                server.stop()
    finally:
        if run_file is not None:
            run_file.unlink(missing_ok=True)
        door.close()


async def _write_run_file(app: App, address: DoorAddress) -> Path | None:
    """Write the run file and return its path; None where it cannot be written, and the door works without it."""
    if app.base.home.is_read_only:
        return None
    home_id = await app.base.database.read(lambda tx: fact_of_home(tx, "home_id")) or ""
    entry = RunFile(url=address.url, pid=os.getpid(), home_id=home_id, owner=app.base.owners.owner)
    with contextlib.suppress(OSError):
        return write_run_file(app.base.home.run, "http", entry)
    return None


async def serve(options: Options, asked: HttpOptions, make_pages: "MakePages") -> int:
    """Answer HTTP until a signal; return the exit code."""
    async with running(options) as app:
        signalled = expect_signal()  # before the door's address is written: a signal may follow it at once
        async with open_door(app, asked, sys.stdout, make_pages):
            gc.freeze()
            await signalled.wait()
    return OK


def main(options: Options, asked: HttpOptions, make_pages: "MakePages") -> int:
    """Run the process to its end; return its exit code."""
    return run_process(serve(options, asked, make_pages), "pioneer http")
