"""`pioneer mcp`: one process for one MCP client, on a home that others may serve at the same time.

Rule 1: standard output is claimed before anything heavy is imported; a library that prints prints to stderr.
Rule 2: the workspace is the one that is named, else the configuration's, else that of the launch folder's repository, else the default.
"""

import asyncio
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import anyio

from gateway import __version__
from gateway.foundations import EXIT_UNUSABLE, Foundations, Options, UnusableError, open_home
from gateway.introduction import Client
from gateway.process import Metronome, end, running, until_parent_is_gone, until_stopped
from gateway.repository import Project, workspace_of
from gateway.stdio import Pipes, Reader, Writer, claim
from gateway.wiring import App
from protocol import methods
from protocol.base import ID_TEXT, PROTOCOL_VERSION
from protocol.errors import CallerError, GatewayError, Refused
from protocol.gateway import ClientInfo, InitializeParams
from protocol.threads import WorkspaceCreateParams, WorkspaceParams
from thread_episodic.time_words import zone_of

EXIT_USAGE = 64
HINT = "its library `mcp` is missing: install pioneer anew from its clone, by `uv tool install --reinstall .` or `pipx install --force .`"
SDK = frozenset({"mcp", "mcp_types", "pydantic"})


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What the command line says of the workspace."""

    workspace_id: str | None = None
    folder: Path | None = None


class Unheard:
    """What the gateway tells an app goes nowhere here: MCP has no place for it."""

    is_within_budget = True

    def send(self, line: bytes, coalesce_key: str | None = None) -> None:
        """Take a line; nobody hears it."""


async def ensure(app: App, project: Project) -> None:
    """Make the workspace if it is not there; one that is keeps its name."""
    get, create = (app.bound[method.name].call for method in (methods.WORKSPACE_GET, methods.WORKSPACE_CREATE))
    try:
        await get(WorkspaceParams(workspace_id=project.workspace_id))
    except CallerError:
        try:
            await create(WorkspaceCreateParams(workspace_id=project.workspace_id, name=project.title or None))
        except Refused:  # another process made it this moment, under another name
            await get(WorkspaceParams(workspace_id=project.workspace_id))


async def serve(options: Options, wish: Wish, pipes: Pipes) -> int:
    """Serve one client over the claimed pipes; return the exit code. Raises `UnusableError`, `ModuleNotFoundError`."""
    from gateway.mcp_door.answers import View  # noqa: PLC0415  # the SDK is heavy, and may not be there
    from gateway.mcp_door.door import Door  # noqa: PLC0415
    from gateway.mcp_door.server import converse  # noqa: PLC0415
    from gateway.mcp_door.streams import Wire  # noqa: PLC0415

    base = await open_home(options)
    reader, writer, client, metronome = Reader(pipes.read), Writer(pipes.write), Client(), Metronome()
    limits = base.config.config.limits
    wire = Wire(reader, writer, max_message_bytes=limits.max_message_bytes, max_in_flight=limits.max_in_flight)
    try:
        async with running(base, Unheard(), client, metronome) as app:
            project = workspace_of(wish.folder, named=wish.workspace_id or base.config.config.mcp.workspace_id)
            try:
                await ensure(app, project)
            except GatewayError as error:
                return _told(EXIT_UNUSABLE, error.message)
            client.introduce(_as(project))
            app.outbox.spawn(app.embedding.warm, "warm")
            zone = client.time_zone()
            door = Door(app, project.workspace_id, zone, View(_marker(base), zone_of(zone)))
            async with anyio.create_task_group() as watchers:
                watchers.start_soon(until_stopped, writer, wire.stop)
                watchers.start_soon(until_parent_is_gone, client, metronome, wire.stop)
                await converse(door, lambda text: base.key.digest("mcp_call", text).hex(), wire)
                watchers.cancel_scope.cancel()
    finally:
        await end(base, writer)
    return 0


def _as(project: Project) -> InitializeParams:
    """What this process says of itself to the gateway that it is."""
    return InitializeParams(
        protocol_version=PROTOCOL_VERSION, client=ClientInfo(name="pioneer mcp", version=__version__),
        workspace_id=project.workspace_id,
    )  # fmt: skip


def _marker(base: Foundations) -> Callable[[str], str]:
    return lambda text: base.key.digest("mcp_block", text).hex()[:16]


def main(options: Options, wish: Wish) -> int:
    """Run the process to its end; return its exit code."""
    if wish.workspace_id is not None and not re.fullmatch(ID_TEXT, wish.workspace_id):
        return _told(EXIT_USAGE, "a workspace is named by 1 to 128 of A-Z, a-z, 0-9, _ . : -")
    if wish.folder is not None and not wish.folder.is_dir():  # perhaps a variable that the client did not fill in
        return _told(EXIT_USAGE, "the folder given by --folder does not exist")
    pipes = claim()
    try:
        return asyncio.run(serve(options, wish, pipes))
    except UnusableError as error:
        return _told(error.code, error.line)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in SDK:
            raise
        return _told(EXIT_UNUSABLE, HINT)
    except KeyboardInterrupt:
        return 0


def _told(code: int, line: str) -> int:
    sys.stderr.write(f"pioneer mcp: {line}\n")
    return code
