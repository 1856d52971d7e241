"""Tools refuse arguments in the same words in which methods refuse parameters.

Rule 1: the caller of a tool (a model, a host or an assistant) reads no pattern and no type name.
Rule 2: a model that chose a wrong name or value reads the right ones: it sees its answer, and seldom the schema again.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from gateway.wire.rpc import refusal_of
from gateway.wire.taken_values import name_taken
from protocol.conversation.host_turns import ToolReply
from protocol.hooks import ToolCall, ToolContext
from protocol.tools import tool_spec


def word_complaints(tools: Mapping[str, ToolCall]) -> dict[str, ToolCall]:
    """Return the tools by name, each with the message of `invalid_params` put in words."""
    return {name: _wrap(call) for name, call in tools.items()}


def _wrap(call: ToolCall) -> ToolCall:
    async def call_and_explain(context: ToolContext, name: str, arguments: dict[str, Any]) -> ToolReply:
        reply = await call(context, name, arguments)
        if reply.error is None or reply.error.code != "invalid_params":
            return reply
        message = refusal_of(reply.error.message).message + name_taken(
            reply.error.message, tool_spec(name).parameters, {}
        )
        return msgspec.structs.replace(reply, error=msgspec.structs.replace(reply.error, message=message))

    return call_and_explain
