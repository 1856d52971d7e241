"""The tools of `pioneer mcp --admin`: upkeep of memory. Without that flag they are neither listed nor callable.

Rule 1: each calls one method of the contract, in the door's workspace, and answers with that method's result.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from protocol import methods as m
from protocol.base import Wire
from protocol.conversation.host_turns import ToolFailure, ToolReply
from protocol.errors import GatewayError
from protocol.hooks import ToolCall, ToolContext
from protocol.memory.reads import LinksParams, LinksResult
from protocol.memory.values import Context
from protocol.methods import Bound
from protocol.passes import PassesListResult, PassesRunParams, RunResult
from protocol.tools import ADMIN_TOOLS, MemoryConsolidateArgs, MemoryLinksArgs

ADMIN_ANSWERS: Mapping[str, type[Wire]] = {
    "memory_consolidate": RunResult,
    "memory_passes": PassesListResult,
    "memory_links": LinksResult,
}
"""The type of each tool's answer; tools are listed in this order."""


def admin_tools(bound: Mapping[str, Bound]) -> dict[str, ToolCall]:
    """Return the tools by name; `bound` has the methods that they call."""

    async def call(context: ToolContext, name: str, arguments: dict[str, Any]) -> ToolReply:
        try:
            args = msgspec.convert(arguments, ADMIN_TOOLS[name][1])
            if isinstance(args, MemoryConsolidateArgs):
                params = PassesRunParams(pass_="consolidate", dry_run=args.dry_run)  # noqa: S106  # a pass, no password
                result = await bound[m.PASSES_RUN.name].call(params)
            elif isinstance(args, MemoryLinksArgs):
                place = Context(workspace_id=context.turn.workspace_id)
                params = LinksParams(memory_id=args.memory_id, depth=args.depth, context=place)
                result = await bound[m.MEMORY_LINKS.name].call(params)
            else:
                result = await bound[m.PASSES_LIST.name].call(m.PASSES_LIST.params())
        except msgspec.ValidationError as error:
            return ToolReply(ok=False, error=ToolFailure(code="invalid_params", message=str(error)))
        except GatewayError as error:
            return ToolReply(ok=False, error=ToolFailure(code=error.reason, message=error.message))
        return ToolReply(ok=True, data=msgspec.to_builtins(result))

    return dict.fromkeys(ADMIN_ANSWERS, call)


def admin_text(name: str, data: Mapping[str, Any]) -> str:
    """Return a tool's answer as a short text: ids, states and counts alone."""
    if name == "memory_consolidate":
        run = data["run"]
        did = "would change" if run["dry_run"] else "changed"
        stages = "\n".join(_stage(stage) for stage in run["stages"])
        return f"{run['run_id']}: {run['state']}, {did} {run['changes']}\n{stages}"
    if name == "memory_passes":
        return "\n".join(
            f"{one['name']}: {'on' if one['enabled'] else 'off'}, next {one['next_run_at']}, last "
            f"{one['last_run']['state'] if one['last_run'] else 'never'}"
            for one in data["passes"]
        )
    lines = [f"{one['memory_id']} {one['kind']} {one['direction']} ({one['origin']})" for one in data["links"]]
    return "\n".join(lines) or "It is linked to nothing."


def _stage(stage: Mapping[str, Any]) -> str:
    counts = ", ".join(f"{name} {count}" for name, count in stage["counts"].items())
    why = f" ({stage['reason']})" if stage["reason"] else ""
    return f"- {stage['name']}: {stage['state']}{why}{f': {counts}' if counts else ''}"
