"""Tools refuse arguments in the same words in which methods refuse parameters.

Rule 1: the caller of a tool (a model, a host or an assistant) reads no pattern and no type name.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from gateway.wire.rpc import refusal_of
from protocol.hooks import ToolCall, ToolContext
from protocol.threads import ToolReply


def word_complaints(tools: Mapping[str, ToolCall]) -> dict[str, ToolCall]:
    """Return the tools by name, each with the message of `invalid_params` put in words."""
    return {name: _wrap(call) for name, call in tools.items()}


def _wrap(call: ToolCall) -> ToolCall:
    async def called(context: ToolContext, name: str, arguments: dict[str, Any]) -> ToolReply:
        reply = await call(context, name, arguments)
        if reply.error is None or reply.error.code != "invalid_params":
            return reply
        worded = msgspec.structs.replace(reply.error, message=refusal_of(reply.error.message).message)
        return msgspec.structs.replace(reply, error=worded)

    return called
