"""The tool `artifact_read`: a part of a text file that an earlier message of the workspace carried.

Rule 1: nothing outside the thread's workspace is read; what is elsewhere answers like what does not exist.
"""

from collections.abc import Callable
from typing import Any

import anyio
import msgspec

from agent.store import SQL
from agent.tools import failure
from protocol.hooks import HookInput, HookOutput, Subscription, ToolBundle, ToolCall, ToolContext
from protocol.ports import Transact
from protocol.threads import ToolReply
from protocol.tools import ArtifactReadArgs, tool_spec

ARTIFACT_READ = "artifact_read"

ReadBytes = Callable[[str], bytes | None]
"""The bytes of a SHA-256, or None where they are not kept."""


async def _offer(_given: HookInput) -> HookOutput:
    return HookOutput(contributions=[ToolBundle(domain="artifact", tools=[tool_spec(ARTIFACT_READ)])])


class ArtifactTool:
    """Runs `artifact_read`."""

    def __init__(self, *, db: Transact, read: ReadBytes) -> None:
        self._db = db
        self._read = read

    async def __call__(self, context: ToolContext, _name: str, arguments: dict[str, Any]) -> ToolReply:
        """A page of a text file, in characters."""
        try:
            wanted = msgspec.convert(arguments, ArtifactReadArgs)
        except msgspec.ValidationError as error:
            return failure("invalid_params", str(error))
        values = {
            "artifact_id": wanted.artifact_id, "version_id": wanted.version_id, "workspace_id": context.turn.workspace_id,
        }  # fmt: skip
        row = await self._db.read(lambda tx: tx.one(SQL["find_artifact"], values))
        if row is None:
            return failure("not_found", "There is no such artifact here.")
        data = await anyio.to_thread.run_sync(self._read, row[7]) if row[7] is not None else None
        if data is None:
            return failure("unavailable", "The bytes of that artifact are not kept here.")
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return failure("unsupported", f"A file of type {row[4]} cannot be read as text.")
        page = text[wanted.offset : wanted.offset + wanted.limit]
        end = wanted.offset + len(page)
        data_ = {"artifact_id": row[0], "version_id": row[1], "name": row[2], "mime": row[4], "offset": wanted.offset}
        return ToolReply(ok=True, data={**data_, "text": page, "next_offset": end if end < len(text) else None})


def artifact_hooks(tool: ArtifactTool) -> tuple[list[Subscription], dict[str, ToolCall]]:
    """The bundle's hook, which is always there, and its tool."""
    hook = Subscription(hook_id="artifact.tool_bundle", phase="TurnPreToolMaterialization", call=_offer)
    return [hook], {ARTIFACT_READ: tool}
