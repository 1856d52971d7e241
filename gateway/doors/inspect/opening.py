"""`pioneer inspect`: a one-time code for the page, from an open HTTP door, or from one that is opened for the page.

Rule 1: a door of this home that listens already is asked for a code, with the home's token; only without one a door is
opened.
Rule 2: a door that was opened for the page ends `LINGER_SECONDS` after its last request.
"""

import asyncio
import json
import sys
import webbrowser
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from functools import partial
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio

from gateway.base import logs
from gateway.base.exit_codes import NO_INPUT, OK
from gateway.base.process_signals import expect_signal
from gateway.doors.http.listening import HttpOptions
from gateway.doors.http.process import OpenDoor, open_door
from gateway.home.run_files import living_doors
from gateway.home.starting import Options, UnusableError, run_guarded
from gateway.home.tokens import read_token, token_path
from gateway.process import running

if TYPE_CHECKING:
    from gateway.doors.http.page_routes import MakePages

ASK_SECONDS = 5.0
LINGER_SECONDS = 60.0
ANYWHERE = frozenset({"0.0.0.0", "::"})  # noqa: S104  # such a door is reached at the loopback address, too
HINT = "The address opens one session, within a minute. `pioneer inspect` makes another one."
ENDS = "The page ends a minute after its last request; Ctrl-C ends it at once."


def _doors_of(run: Path) -> Iterator[str]:
    """Yield host and port of a home's living HTTP doors, as this machine reaches them: only they may get the token."""
    for entry in living_doors(run, "http"):
        parts = urlsplit(entry.url)
        host = "127.0.0.1" if parts.hostname in ANYWHERE else parts.netloc.rpartition(":")[0]
        yield f"{host}:{parts.port}"


def ask_for_code(address: str, token: str) -> str | None:
    """Return the address of the page with a new code of a door; None where the door gives no code."""
    connection = HTTPConnection(address, timeout=ASK_SECONDS)
    with closing(connection):
        try:
            connection.request("POST", "/inspect", b"", {"Authorization": f"Bearer {token}"})
            answer = connection.getresponse()
            made = json.loads(answer.read(65536))
            return f"http://{address}/inspect?code={made['code']}" if answer.status == 200 else None
        except (OSError, HTTPException, ValueError, KeyError, TypeError):
            return None


def _show(url: str, *, opens: bool) -> None:
    sys.stdout.write(f"pioneer inspect: {url}\n")
    sys.stdout.flush()
    if not opens or not webbrowser.open(url):
        sys.stderr.write(f"{HINT}\n")


async def _wait_until_idle(door: OpenDoor) -> None:
    while not door.is_idle(LINGER_SECONDS):  # noqa: ASYNC110  # there is no event to wait for: nothing happened
        await anyio.sleep(LINGER_SECONDS / 12)


async def _serve(options: Options, make_pages: "MakePages", *, opens: bool) -> int:
    """Open a door for the page, and the page; return the exit code after a signal, or once the page is idle."""
    address = HttpOptions(port=0, bind="127.0.0.1")
    async with running(options) as app, open_door(app, address, None, make_pages) as door:
        token = read_token(token_path(app.base.home.root, "http"))
        url = await anyio.to_thread.run_sync(ask_for_code, urlsplit(door.url).netloc, token)
        if url is None:
            raise UnusableError(NO_INPUT, "the door that was opened for the page gives no code")
        signalled = expect_signal()
        _show(url, opens=opens)
        sys.stderr.write(f"{ENDS}\n")
        async with anyio.create_task_group() as tasks:

            async def end_after(wait: Callable[[], Awaitable[object]]) -> None:
                await wait()
                tasks.cancel_scope.cancel()

            tasks.start_soon(end_after, signalled.wait)
            tasks.start_soon(end_after, partial(_wait_until_idle, door))
    return OK


def main(options: Options, make_pages: "MakePages", *, opens: bool) -> int:
    """Show the page's address and open it; return the exit code."""
    try:
        for address in _doors_of(options.home / "run"):
            token = read_token(token_path(options.home, "http"))
            if (url := ask_for_code(address, token)) is not None:
                _show(url, opens=opens)
                return OK
        return asyncio.run(run_guarded(_serve(options, make_pages, opens=opens)))
    except UnusableError as error:
        sys.stderr.write(f"pioneer inspect: {error.line}\n")
        return error.code
    except OSError as error:
        sys.stderr.write(f"pioneer inspect: the home cannot be used ({error.strerror})\n")
        return NO_INPUT
    except KeyboardInterrupt:
        return OK
    finally:
        logs.close()
