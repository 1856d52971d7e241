"""Tools refuse arguments in the same words in which methods refuse parameters.

Rule 1: the caller of a tool (a model, a host or an assistant) reads no pattern and no type name.
Rule 2: a model that chose a wrong name or value reads the right ones: it sees its answer, and seldom the schema again.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from gateway.wire.rpc import refusal_of
from promt.patterns import compile_late
from protocol.conversation.host_turns import ToolReply
from protocol.hooks import ToolCall, ToolContext
from protocol.tools import tool_spec

_TAKEN = {
    "Invalid enum value": "enum",
    "Object contains unknown field": "properties",
    "Expected `object": "properties",
}
"""The keyword of a schema that holds what is taken, by the beginning of the check's complaint."""
_PLACE = compile_late(r" - at `\$(?P<path>[^`]*)`\Z")
_STEP = compile_late(r"\.(?P<member>[^.\[]+)|\[[^\]]*\]")


def word_complaints(tools: Mapping[str, ToolCall]) -> dict[str, ToolCall]:
    """Return the tools by name, each with the message of `invalid_params` put in words."""
    return {name: _wrap(call) for name, call in tools.items()}


def _wrap(call: ToolCall) -> ToolCall:
    async def call_and_explain(context: ToolContext, name: str, arguments: dict[str, Any]) -> ToolReply:
        reply = await call(context, name, arguments)
        if reply.error is None or reply.error.code != "invalid_params":
            return reply
        message = refusal_of(reply.error.message).message + _choices(name, reply.error.message)
        return msgspec.structs.replace(reply, error=msgspec.structs.replace(reply.error, message=message))

    return call_and_explain


def _choices(tool: str, complaint: str) -> str:
    """Return the names or values that a tool takes where another one was given, as a sentence; else an empty text."""
    asked = next((keyword for start, keyword in _TAKEN.items() if complaint.startswith(start)), None)
    if asked is None:
        return ""
    found = _PLACE.search(complaint)
    nodes = _nodes(tool_spec(tool).parameters, found["path"] if found is not None else "")
    taken = [str(one) for node in nodes for one in node.get(asked, ())]
    return f". It takes: {', '.join(taken)}" if taken else ""


def _nodes(schema: Mapping[str, Any], path: str) -> Iterator[Mapping[str, Any]]:
    """Yield the schemas at a path such as `.scopes[0].kind`, one for each alternative."""
    if "anyOf" in schema:
        for one in schema["anyOf"]:
            yield from _nodes(one, path)
        return
    step = _STEP.match(path)
    if step is None:
        yield schema
        return
    member = step["member"]
    inner = schema.get("items") if member is None else schema.get("properties", {}).get(member)
    if inner is not None:
        yield from _nodes(inner, path[step.end() :])
