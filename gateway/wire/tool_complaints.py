"""What tools say of arguments that they cannot take, in the words in which callers of methods are told.

Rule 1: whoever calls a tool, a model of a turn, a host or an assistant, reads no pattern and no type name.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from gateway.wire.rpc import refusal_of
from protocol.hooks import ToolCall, ToolContext
from protocol.threads import ToolReply


def in_words(tools: Mapping[str, ToolCall]) -> dict[str, ToolCall]:
    """Return the tools, with `invalid_params` put in words."""
    return {name: _worded(call) for name, call in tools.items()}


def _worded(call: ToolCall) -> ToolCall:
    async def called(context: ToolContext, name: str, arguments: dict[str, Any]) -> ToolReply:
        reply = await call(context, name, arguments)
        if reply.error is None or reply.error.code != "invalid_params":
            return reply
        told = msgspec.structs.replace(reply.error, message=refusal_of(reply.error.message).message)
        return msgspec.structs.replace(reply, error=told)

    return called
