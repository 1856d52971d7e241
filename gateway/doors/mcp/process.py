"""`pioneer mcp`: one process for one MCP client, on a home that other processes may serve at the same time.

Rule 1: standard output is claimed before anything heavy is imported; what a library prints goes to stderr.
Rule 2: the workspace is the one that is named, else the configuration's, else that of the launch folder's repository,
else the default.
"""

import asyncio
import re
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
from msgspec import Struct

from agent.threads.unstored import refusal_of
from gateway.base import logs
from gateway.base.exit_codes import UNAVAILABLE, USAGE
from gateway.base.time_zone import system_zone
from gateway.home.keys import HomeKey
from gateway.home.repository import Project, workspace_of
from gateway.home.starting import Options, UnusableError
from gateway.process import flush, running, until_parent_is_gone, until_stopped
from gateway.wire.client_session import SessionClient
from gateway.wire.stdio import PipeReader, Pipes, PipeWriter, claim
from gateway.wiring import App
from promt.time_words import zone_of
from protocol import methods
from protocol.base import ID_TEXT
from protocol.conversation.workspaces import WorkspaceCreateParams, WorkspaceParams
from protocol.errors import CallerError, GatewayError, Refused, Unavailable

HINT = (
    "its library `mcp` is missing: install pioneer anew from its clone, "
    "by `uv tool install --reinstall .` or `pipx install --force .`"
)
SDK = frozenset({"mcp", "mcp_types", "pydantic"})
"""Packages whose absence means that the SDK is missing; that of any other one is a defect."""


class McpOptions(Struct, frozen=True, kw_only=True):
    """The command line's options for this door."""

    workspace_id: str | None = None
    folder: Path | None = None
    is_admin: bool = False


async def ensure_workspace(app: App, project: Project) -> None:
    """Create the workspace unless it exists, or the home can only be read. Raises `GatewayError`."""
    get, create = (app.bound[method.name].call for method in (methods.WORKSPACE_GET, methods.WORKSPACE_CREATE))
    try:
        await get(WorkspaceParams(workspace_id=project.workspace_id))
    except CallerError:
        try:
            await create(WorkspaceCreateParams(workspace_id=project.workspace_id, name=project.title or None))
        except Refused:  # another process made it this moment, under another name
            await get(WorkspaceParams(workspace_id=project.workspace_id))
        except Unavailable as failure:
            if refusal_of(failure) is None:  # a home that takes nothing in can be read all the same
                raise


async def serve(options: Options, asked: McpOptions, pipes: Pipes) -> int:
    """Serve one client over the claimed pipes; return the exit code. Raises `UnusableError`, `ModuleNotFoundError`."""
    from gateway.doors.mcp.answers import ClientView  # noqa: PLC0415  # the SDK is heavy, and may not be there
    from gateway.doors.mcp.door import McpDoor  # noqa: PLC0415
    from gateway.doors.mcp.server import converse  # noqa: PLC0415
    from gateway.doors.mcp.streams import McpTransport  # noqa: PLC0415

    async with running(options) as app:
        config, key, zone = app.base.config.config, app.base.key, system_zone()
        project = workspace_of(asked.folder, named=asked.workspace_id or config.mcp.workspace_id)
        try:
            await ensure_workspace(app, project)
        except GatewayError as error:
            return _write_line(UNAVAILABLE, error.message)
        app.spawner.spawn(app.embedding.warm, "warm")
        view = ClientView(_nonce_maker(key), zone_of(zone))
        door = McpDoor(app, project.workspace_id, zone, view, is_admin=asked.is_admin)
        reader, writer, limits = PipeReader(pipes.read), PipeWriter(pipes.write), config.limits
        wire = McpTransport(
            reader, writer, max_message_bytes=limits.max_message_bytes, max_in_flight=limits.max_in_flight
        )
        try:
            async with anyio.create_task_group() as watchers:
                watchers.start_soon(until_stopped, writer, wire.stop)
                watchers.start_soon(until_parent_is_gone, SessionClient(), app.pulse.metronome, wire.stop)
                await converse(door, lambda text: key.digest("mcp_call", text).hex(), wire)
                watchers.cancel_scope.cancel()
        finally:
            await flush(writer)
    return 0


def _nonce_maker(key: HomeKey) -> Callable[[str], str]:
    return lambda text: key.digest("mcp_block", text).hex()[:16]


def main(options: Options, asked: McpOptions) -> int:
    """Run the process to its end; return its exit code."""
    if asked.workspace_id is not None and not re.fullmatch(ID_TEXT, asked.workspace_id):
        return _write_line(USAGE, "a workspace is named by 1 to 128 of A-Z, a-z, 0-9, _ . : -")
    if asked.folder is not None and not asked.folder.is_dir():  # perhaps a variable that the client did not fill in
        return _write_line(USAGE, "the folder given by --folder does not exist")
    pipes = claim()
    try:
        return asyncio.run(serve(options, asked, pipes))
    except UnusableError as error:
        return _write_line(error.code, error.line)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in SDK:
            raise
        return _write_line(UNAVAILABLE, HINT)
    except KeyboardInterrupt:
        return 0
    finally:
        logs.close()


def _write_line(code: int, line: str) -> int:
    sys.stderr.write(f"pioneer mcp: {line}\n")
    return code
