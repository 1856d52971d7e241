"""The model's rounds: ask, run the tools that it wants side by side, ask again.

Rule 1: a bad tool call goes back to the model as a tool error; it never ends a turn.
Rule 2: results stand in the order of the calls, whatever finishes first.
Rule 3: the last round is there for the answer: it offers no tools, and what is called all the same is not run.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, repeat
from typing import Any

import msgspec
from msgspec import Struct

from agent.hooks.deadline import CallEnd, call_within
from agent.tools import REQUEST_TOOLS, Toolset, failure, result_text
from agent.turns.active import ActiveTurn
from protocol.base import encode
from protocol.conversation.host_turns import ToolReply
from protocol.conversation.items import ToolUse
from protocol.conversation.manifests import TurnPolicy
from protocol.conversation.turns import Usage
from protocol.errors import GatewayError
from protocol.hooks import ToolCall, ToolContext
from protocol.models import Message, Model, ModelRequest, Picture, ToolRequest

TOOL_SECONDS = 10.0
"""A tool reads or writes the home; one that takes longer is stuck."""

MAX_CALLS = 64
"""Tool calls that one round runs; a model that asks for more has lost its way."""

MAX_ROUNDS = "max_rounds"
TOO_MANY_CALLS = failure("too_many_calls", f"At most {MAX_CALLS} calls at once. Ask for the rest in the next round.")
NO_MORE_ROUNDS = failure(MAX_ROUNDS, "No more tools can be called in this turn.")


class Tools(Struct, frozen=True):
    """A turn's tools and what runs them."""

    toolset: Toolset
    calls: Mapping[str, ToolCall]
    policy: TurnPolicy
    incident: Callable[[BaseException], str]


async def run_tool(
    active: ActiveTurn, tools: Tools, request: ToolRequest, show: Callable[[Picture], None] | None = None
) -> ToolReply:
    """Run one tool call within its deadline and return its reply; `show` takes pictures, where the model does.

    Nothing that the model wrote makes it raise.
    """
    if request.name not in tools.toolset.visible_names():
        return failure(
            "unknown_tool", f"There is no tool of that name here. Visible: {', '.join(tools.toolset.visible_names())}"
        )
    if request.arguments is None:
        return failure("invalid_params", "The arguments are not a JSON object.")
    if request.name == REQUEST_TOOLS:
        return tools.toolset.reveal(request.arguments)
    call = tools.calls.get(request.name)
    if call is None:
        return failure("unknown_tool", "That tool is not available.")
    arguments = request.arguments
    context = ToolContext(
        turn=active.context, policy=tools.policy, user_text=active.text, call_id=request.call_id, show=show
    )
    ended = await call_within(lambda: call(context, request.name, arguments), TOOL_SECONDS)
    if ended.is_late:
        return failure("deadline_exceeded", "The tool took too long.")
    return _to_reply(ended, tools.incident)


def _to_reply(ended: CallEnd, incident: Callable[[BaseException], str]) -> ToolReply:
    """Return the reply that the model gets of a call: the tool's own, or a failure."""
    if isinstance(ended.error, GatewayError):
        return failure(ended.error.reason, ended.error.message)
    error = ended.error or _unsoundness(ended.result)
    if error is None:
        return ended.result
    incident(error)
    return failure("internal", "The tool failed.")


def _unsoundness(result: Any) -> Exception | None:
    """Return why a tool's result is no reply that a model can be sent; None where it is one."""
    if not isinstance(result, ToolReply):
        return TypeError("a tool answered with something that is no reply")
    try:
        encode(result)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        return error
    return None


async def run_rounds(active: ActiveTurn, tools: Tools, model: Model, request: ModelRequest, max_rounds: int) -> bool:
    """Ask until the model answers without tools, or the rounds are used up; return whether it answered.

    Raises `ProviderFailed`.
    """
    messages = list(request.messages)
    for number in range(1, max_rounds + 1):
        active.rounds = number
        is_last = number == max_rounds
        offered = tools.toolset.visible() if model.calls_tools("main", request.provider) and not is_last else []
        asked = msgspec.structs.replace(request, messages=messages, round=number, tools=offered)
        reply = await model.complete(asked, active)
        active.usage = _add_usage(active.usage, reply.usage)
        active.complete_answer(reply.text)
        if not reply.tool_calls:
            return True
        if is_last:
            _record_results(active, _record_calls(active, reply.tool_calls[:MAX_CALLS]), repeat(NO_MORE_ROUNDS))
            return bool(reply.text.strip())
        messages.append(Message(role="assistant", content=reply.text, tool_calls=reply.tool_calls))
        takes_pictures = model.takes_pictures("main", request.provider)
        for call, text, shown in await _run_calls(active, tools, reply.tool_calls, takes_pictures=takes_pictures):
            result = Message(role="tool", content=text, tool_call_id=call.call_id, name=call.name, pictures=shown)
            messages.append(result)
    return False


def _record_calls(active: ActiveTurn, calls: Sequence[ToolRequest]) -> Sequence[ToolRequest]:
    """Make an item of each call; return the calls."""
    for call in calls:
        use = ToolUse(call_id=call.call_id, name=call.name, arguments=call.arguments, is_error=False)
        item = active.new_item("tool_call", "assistant", tool=use)
        active.begin(item)
        active.complete(item)
    return calls


def _record_results(active: ActiveTurn, calls: Sequence[ToolRequest], replies: Iterable[ToolReply]) -> list[str]:
    """Make an item of each call's result; return the results as the model reads them."""
    texts: list[str] = []
    for call, reply in zip(calls, replies, strict=False):
        text = result_text(reply)
        use = ToolUse(call_id=call.call_id, name=call.name, arguments=call.arguments, is_error=not reply.ok)
        item = active.new_item("tool_result", "tool", text, tool=use)
        active.begin(item)
        active.complete(item)
        texts.append(text)
    return texts


async def _run_calls(
    active: ActiveTurn, tools: Tools, calls: Sequence[ToolRequest], *, takes_pictures: bool
) -> list[tuple[ToolRequest, str, list[Picture]]]:
    _record_calls(active, calls)
    shown: list[list[Picture]] = [[] for _ in calls]
    tasks = [
        asyncio.ensure_future(run_tool(active, tools, call, pictures.append if takes_pictures else None))
        for call, pictures in zip(calls[:MAX_CALLS], shown, strict=False)
    ]
    try:
        replies = await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
    texts = _record_results(active, calls, chain(replies, repeat(TOO_MANY_CALLS)))
    return list(zip(calls, texts, shown, strict=True))


def _add_usage(total: Usage | None, more: Usage | None) -> Usage | None:
    if total is None or more is None:
        return total or more
    return Usage(
        input_tokens=total.input_tokens + more.input_tokens, output_tokens=total.output_tokens + more.output_tokens
    )
