"""The `anthropic` kind: servers of the messages dialect, by the official SDK.

Rule 1: only this module knows the SDK `anthropic`; it is imported when a call is made, never before.
"""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from gateway.providers.connection import NO_KEY, Connection
from gateway.providers.vendor import IncomingAnswer, Stream, Thoughts
from protocol.conversation.host_turns import ToolSpec
from protocol.models import Message, ModelRequest, Picture
from protocol.settings import ProviderConfig

DEFAULT_OUTPUT_TOKENS = 8192
"""The dialect wants a bound; every model that is still served writes this much."""

SILENCE = "…"
"""A conversation begins with the user here; one that was imported may not."""

KEPT = {"type": "ephemeral"}
"""The mark of the cache: the part before it is equal in the next request, and is not paid in full again."""


BLOCKS: Mapping[str, tuple[str, ...]] = {
    "text": ("text",),
    "thinking": ("thinking", "signature"),
    "redacted_thinking": ("data",),
}
"""The members of an answer's blocks that go back as they came; a call's own come from the conversation."""

THOUGHTS = frozenset({"thinking", "redacted_thinking"})


class _Block(msgspec.Struct):
    type: str | None = None
    id: str | None = None
    name: str | None = None
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None


class _Delta(msgspec.Struct):
    text: str | None = None
    partial_json: str | None = None
    thinking: str | None = None
    signature: str | None = None


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None


class _Message(msgspec.Struct):
    usage: _Usage | None = None


class _Event(msgspec.Struct):
    """The members that are read of any event."""

    type: str
    index: int | None = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    message: _Message | None = None
    usage: _Usage | None = None


def connect(config: ProviderConfig, connection: Connection) -> "AnthropicMessages":
    """Import the SDK, make a client and return it."""
    import anthropic  # noqa: PLC0415  # a second of work that a gateway without such a provider never does

    client = anthropic.AsyncAnthropic(
        api_key=connection.key or NO_KEY,
        base_url=connection.base_url or "https://api.anthropic.com",
        max_retries=0,
        timeout=connection.seconds,
        http_client=anthropic.DefaultAsyncHttpxClient(**connection.http_options()),
    )
    return AnthropicMessages(anthropic, client.messages, config)


class AnthropicMessages:
    """Requests and events of the dialect."""

    def __init__(self, sdk: Any, messages: Any, config: ProviderConfig) -> None:
        self.sdk = sdk
        self._messages = messages
        self._config = config
        self._thoughts = Thoughts()

    def extras(self, request: ModelRequest) -> frozenset[str]:
        """Return no extras: JSON is asked for in words, and the count of tokens comes by itself."""
        del request
        return frozenset()

    async def ask(self, request: ModelRequest, model: str, extras: frozenset[str]) -> Stream:
        """Return the stream of the answer."""
        del extras
        asked: dict[str, Any] = {
            "model": model,
            "max_tokens": self._config.max_output_tokens or DEFAULT_OUTPUT_TOKENS,
            "messages": messages_of(request.messages, self._thoughts),
            "stream": True,
        }
        system = "\n\n".join(message.content for message in request.messages if message.role == "system")
        if system.strip():
            asked["system"] = [{"type": "text", "text": system, "cache_control": KEPT}]
        if request.tools:
            asked["tools"] = [_tool(tool) for tool in request.tools]
        elif called := {call.name: None for message in request.messages for call in message.tool_calls}:
            asked["tools"] = [{"name": name, "input_schema": {"type": "object"}} for name in called]
            # called tools must be offered, also where no more calls are allowed
            asked["tool_choice"] = {"type": "none"}
        return await self._messages.create(**asked)

    def read(self, event: Any, answer: IncomingAnswer) -> None:
        """Take one event over into the answer."""
        read = msgspec.convert(event, _Event, from_attributes=True)
        if read.type == "content_block_start":
            self._start(read.content_block or _Block(), read.index or 0, answer)
        elif read.type == "content_block_delta":
            self._go_on(read.delta or _Delta(), read.index or 0, answer)
        elif read.type == "message_stop":
            answer.is_whole = True
            if any(block["type"] in THOUGHTS for block in answer.blocks):
                self._thoughts.keep(answer)
        self._count(read.usage or (read.message.usage if read.message is not None else None), answer)

    def _start(self, block: _Block, index: int, answer: IncomingAnswer) -> None:
        parts = {"text": block.text, "thinking": block.thinking, "signature": block.signature, "data": block.data}
        names = BLOCKS.get(block.type or "", ())
        answer.blocks.append({"type": block.type or "", "id": block.id or ""} | {n: parts[n] or "" for n in names})
        if block.type == "text":
            answer.add_text(block.text or "")
        elif block.type == "tool_use":
            answer.add_call(index, block.id, block.name, "")

    def _go_on(self, delta: _Delta, index: int, answer: IncomingAnswer) -> None:
        answer.add_text(delta.text or "")
        answer.count(delta.thinking or "")
        if delta.partial_json:
            answer.add_call(index, None, None, delta.partial_json)
        if answer.blocks:
            block = answer.blocks[-1]
            for name, more in (("text", delta.text), ("thinking", delta.thinking), ("signature", delta.signature)):
                if more and name in block:
                    block[name] += more

    def _count(self, usage: _Usage | None, answer: IncomingAnswer) -> None:
        """Store the counts of tokens: later ones replace earlier ones; tokens of a cache count as read."""
        if usage is None:
            return
        read = (usage.input_tokens, usage.cache_creation_input_tokens, usage.cache_read_input_tokens)
        answer.input_tokens = sum(count or 0 for count in read) or answer.input_tokens
        answer.output_tokens = usage.output_tokens or answer.output_tokens


def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def messages_of(messages: Sequence[Message], thoughts: Thoughts) -> list[dict[str, Any]]:
    """Return the messages as this dialect has them: two speakers in turn, beginning with the user, nothing empty."""
    sent: list[dict[str, Any]] = []
    for message in messages:
        blocks = _blocks(message, thoughts)
        role = "assistant" if message.role == "assistant" else "user"
        if message.role == "system" or not blocks:
            continue
        if not sent and role == "assistant":
            sent.append({"role": "user", "content": [_text(SILENCE)]})
        if sent and sent[-1]["role"] == role:
            sent[-1]["content"] += blocks
        else:
            sent.append({"role": role, "content": blocks})
    return sent


def _blocks(message: Message, thoughts: Thoughts) -> list[dict[str, Any]]:
    said = [_text(message.content)] if message.content.strip() else []
    shown = [_picture(picture) for picture in message.pictures]
    if message.role == "tool":
        return [{"type": "tool_result", "tool_use_id": message.tool_call_id, "content": [*said, *shown]}]
    calls = {
        call.call_id: {"type": "tool_use", "id": call.call_id, "name": call.name, "input": call.arguments or {}}
        for call in message.tool_calls
    }
    thought = thoughts.of(message)
    if thought is None:
        return [*shown, *said, *calls.values()]
    return [block for one in thought if (block := calls.get(one["id"]) or _build_returned_block(one)) is not None]


def _build_returned_block(block: Mapping[str, str]) -> dict[str, Any] | None:
    """Return a block of an earlier answer; None for an empty text, and for a block that may not be sent back."""
    names = BLOCKS.get(block["type"], ())
    if not names or (block["type"] == "text" and not block["text"].strip()):
        return None
    return {"type": block["type"], **{name: block[name] for name in names}}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _picture(picture: Picture) -> dict[str, Any]:
    data = b64encode(picture.data).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": picture.mime, "data": data}}
