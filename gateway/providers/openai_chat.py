"""The `openai` kind: any server of the chat-completions dialect, by the official SDK.

Rule 1: only this module knows the SDK `openai`; it is imported when a call is made, never before.
"""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from gateway.providers.connection import NO_KEY, Connection
from gateway.providers.vendor import IncomingAnswer, Stream, Thoughts
from protocol.models import Message, ModelRequest, Picture
from protocol.settings import ProviderConfig

JSON_MODE = "response_format"
USAGE = "stream_options"
REASONING = "reasoning_content"

PICTURES_OF_TOOLS = "The pictures that the tools above have shown:"
"""A tool's answer is text in this dialect; its pictures come in a message behind the answers."""


SPEAKERS = frozenset({"user", "assistant"})


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class _Call(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Delta(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct):
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Chunk(msgspec.Struct):
    """The members that are read of a chunk: servers differ in the rest."""

    choices: list[_Choice] | None = None
    usage: _Usage | None = None


def connect(config: ProviderConfig, connection: Connection) -> "OpenAIChat":
    """Import the SDK, make a client and return it."""
    import openai  # noqa: PLC0415  # a second of work that a gateway without such a provider never does

    client = openai.AsyncOpenAI(
        api_key=connection.key or NO_KEY,
        base_url=connection.base_url or "https://api.openai.com/v1",
        max_retries=0,
        timeout=connection.seconds,
        http_client=openai.DefaultAsyncHttpxClient(**connection.http_options()),
    )
    return OpenAIChat(openai, client.chat.completions, config)


class OpenAIChat:
    """Requests and events of the dialect."""

    def __init__(self, sdk: Any, completions: Any, config: ProviderConfig) -> None:
        self.sdk = sdk
        self._completions = completions
        self._config = config
        self._thoughts = Thoughts()

    def extras(self, request: ModelRequest) -> frozenset[str]:
        """Return the names of the extras: JSON mode where JSON is wanted, and the count of tokens."""
        return frozenset({JSON_MODE, USAGE} if request.json_answer else {USAGE})

    async def ask(self, request: ModelRequest, model: str, extras: frozenset[str]) -> Stream:
        """Return the stream of the answer."""
        asked: dict[str, Any] = {
            "model": model,
            "messages": messages_of(request.messages, self._thoughts),
            "stream": True,
        }
        if request.tools:
            asked["tools"] = [
                {
                    "type": "function",
                    "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
                }
                for tool in request.tools
            ]
        if self._config.max_output_tokens is not None:
            # the vendor's newer models know only the one name, other servers only the other
            name = "max_completion_tokens" if self._config.base_url is None else "max_tokens"
            asked[name] = self._config.max_output_tokens
        if JSON_MODE in extras:
            asked[JSON_MODE] = {"type": "json_object"}
        if USAGE in extras:
            asked[USAGE] = {"include_usage": True}
        return await self._completions.create(**asked)

    def read(self, event: Any, answer: IncomingAnswer) -> None:
        """Take one chunk over into the answer."""
        chunk = msgspec.convert(event, _Chunk, from_attributes=True)
        for choice in chunk.choices or []:
            delta = choice.delta or _Delta()
            answer.add_text(delta.content or delta.refusal or "")
            self._think(delta.reasoning_content or "", answer)
            for place, call in enumerate(delta.tool_calls or []):
                function = call.function or _Function()
                index = call.index if call.index is not None else place
                answer.add_call(index, call.id, function.name, function.arguments or "")
            if choice.finish_reason is not None:
                answer.is_whole = True
                if answer.blocks:
                    answer.blocks = [{REASONING: "".join(block[REASONING] for block in answer.blocks)}]
                    self._thoughts.keep(answer)
        if chunk.usage is not None:
            answer.input_tokens = chunk.usage.prompt_tokens or 0
            answer.output_tokens = chunk.usage.completion_tokens or 0

    def _think(self, text: str, answer: IncomingAnswer) -> None:
        """Keep a model's thoughts: some servers send them beside the words and want them back with tools' results."""
        if text:
            answer.count(text)
            answer.blocks.append({REASONING: text})


def messages_of(messages: Sequence[Message], thoughts: Thoughts) -> list[dict[str, Any]]:
    """Return the messages as this dialect has them.

    Neighbours of one speaker are one: some servers insist that two take turns.
    """
    joined: list[Message] = []
    for message in _move_pictures(messages):
        last = joined[-1] if joined else None
        if last is not None and last.role == message.role and message.role in SPEAKERS and not last.tool_calls:
            joined[-1] = _join_messages(last, message)
        else:
            joined.append(message)
    return [_message(message, thoughts) for message in joined]


def _join_messages(first: Message, second: Message) -> Message:
    content = "\n\n".join(message.content for message in (first, second) if message.content.strip())
    return msgspec.structs.replace(second, content=content, pictures=[*first.pictures, *second.pictures])


def _move_pictures(messages: Sequence[Message]) -> Iterator[Message]:
    """Yield the messages, with the pictures of tools in a user's message behind the tools' answers."""
    shown: list[Picture] = []
    for message in messages:
        if message.role == "tool":
            shown += message.pictures
        elif shown:
            yield Message(role="user", content=PICTURES_OF_TOOLS, pictures=shown)
            shown = []
        yield message
    if shown:
        yield Message(role="user", content=PICTURES_OF_TOOLS, pictures=shown)


def _message(message: Message, thoughts: Thoughts) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": message.content}
    sent: dict[str, Any] = {"role": message.role, "content": _parts(message.content, message.pictures)}
    if message.tool_calls:
        sent["content"] = message.content or None
        sent["tool_calls"] = [
            {
                "id": call.call_id,
                "type": "function",
                "function": {"name": call.name, "arguments": msgspec.json.encode(call.arguments or {}).decode()},
            }
            for call in message.tool_calls
        ]
    if (thought := thoughts.of(message)) is not None:
        sent[REASONING] = "".join(piece[REASONING] for piece in thought)
    return sent


def _parts(text: str, pictures: Sequence[Picture]) -> str | list[dict[str, Any]]:
    """Return plain text where there are no pictures: not every server knows parts."""
    if not pictures:
        return text
    parts: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    for picture in pictures:
        url = f"data:{picture.mime};base64,{b64encode(picture.data).decode()}"
        parts.append({"type": "image_url", "image_url": {"url": url}})
    return parts
