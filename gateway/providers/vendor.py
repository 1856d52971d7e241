"""One try of a provider that is reached by its vendor's SDK: load, ask, read the stream, close the connection.

Rule 1: an SDK is imported and its client made in a thread, at the first call; the event loop never waits for either.
Rule 2: a stream that is left, for whatever reason, is closed at once: a cancelled turn costs nothing more.
Rule 3: an answer counts only when the server said that it is whole.
Rule 4: what leaves this module is text that can be stored and sent: a server in JavaScript may cut a character in two.
"""

import time
import uuid
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Protocol, TypeAlias, cast

import anyio
import msgspec
from anyio import to_thread

from gateway.providers.connection import Connection, connection_of
from gateway.providers.faults import failure_of
from gateway.wire.rpc import is_too_deep
from promt.patterns import compile_late
from protocol.conversation.turns import Usage
from protocol.models import Deltas, Message, ModelReply, ModelRequest, ProviderFailed, ToolRequest
from protocol.settings import ProviderConfig

OWN_SECONDS, OTHERS_SECONDS = 0.01, 0.001
"""A stream that never pauses is read for the first time, then the loop rests for the second.

Threads that read requests and write answers get the interpreter for certain only while the loop waits. The rest costs a
tenth of such a stream's speed.
"""
CLOSE_SECONDS = 0.05
"""A TLS connection ends with an exchange; a cancelled turn must end within 100 ms."""

MAX_ANSWER_CHARS = 4_000_000
"""More than any model writes in one answer; a server that sends more has lost its way."""

MAX_ANSWER_CALLS = 1024
"""The same of tool calls."""

THOUGHTS_KEPT = 64
"""Answers that ask for tools and whose thoughts wait for the results: more turns do not run at a time."""


_HALF = compile_late("[\ud800-\udfff]")
_FIRST_HALF = compile_late("[\ud800-\udbff]")


def join_surrogates(text: str) -> str:
    """Return the text with the two halves of a character made one, and U+FFFD for a half that stands alone."""
    if _HALF.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class IncomingAnswer:
    """An answer as it comes in."""

    def __init__(self, deltas: Deltas | None) -> None:
        self._deltas = deltas
        self._text: list[str] = []
        self._half = ""  # of a character: the other half may come with the next piece
        self._calls: dict[object, _Call] = {}
        self._chars = 0
        self.input_tokens = 0
        self.output_tokens = 0
        self.is_whole = False
        self.blocks: list[dict[str, str]] = []
        """The answer in its vendor's own parts, for a vendor that wants them back with the results of tools."""

    def add_text(self, text: str) -> None:
        """Add the next piece of the text."""
        if text:
            self.count(text)
            text = self._half + text
            self._half = text[-1] if _FIRST_HALF.match(text[-1]) else ""
            self._send(text.removesuffix(self._half))

    def _send(self, text: str) -> None:
        if text:
            text = join_surrogates(text)
            self._text.append(text)
            if self._deltas is not None:
                self._deltas.delta(text)

    def add_call(self, place: int, call_id: str | None, name: str | None, arguments: str) -> None:
        """Add the next piece of a tool call. Some servers give all calls one place: another id is another call."""
        self.count(arguments)
        call_id = join_surrogates(call_id) if call_id else None
        known = self._calls.get(place)
        if known is not None and name and call_id and known.call_id not in {None, call_id}:
            self._calls[object()] = self._calls.pop(place)
            known = None
        if known is None:
            if len(self._calls) == MAX_ANSWER_CALLS:
                raise ProviderFailed("bad_json")
            known = self._calls[place] = _Call()
        known.call_id = known.call_id or call_id
        known.name = known.name or join_surrogates(name or "")
        known.arguments.append(arguments)

    def first_call(self) -> str | None:
        """Return the id of the answer's first tool call, by which the answer is recognised; None without calls."""
        return next((call.call_id for call in self._calls.values()), None)

    def reply(self, *, as_json: bool) -> ModelReply:
        """Return the whole answer. Raises `ProviderFailed`."""
        if not self.is_whole:
            raise ProviderFailed("disconnect")
        self._send(self._half)
        self._half = ""
        text = "".join(self._text)
        return ModelReply(
            text=json_in(text) if as_json else text,
            tool_calls=[call.request() for call in self._calls.values()],
            usage=Usage(input_tokens=self.input_tokens, output_tokens=self.output_tokens)
            if self.input_tokens or self.output_tokens
            else None,
        )

    def count(self, text: str) -> None:
        """Count the characters that came. Raises `ProviderFailed` where they are too many for one answer."""
        self._chars += len(text)
        if self._chars > MAX_ANSWER_CHARS:
            raise ProviderFailed("bad_json")


class Thoughts:
    """The thoughts of models before they asked for tools: some go on only when they get them back.

    Kept in memory only, for as long as the results of the tools may be on their way.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[str, list[dict[str, str]]] = OrderedDict()

    def keep(self, answer: IncomingAnswer) -> None:
        """Remember the parts of a whole answer by its first tool call."""
        call_id = answer.first_call()
        if call_id is not None:
            self._kept[call_id] = [
                {name: join_surrogates(text) for name, text in block.items()} for block in answer.blocks
            ]
            while len(self._kept) > THOUGHTS_KEPT:
                self._kept.popitem(last=False)

    def of(self, message: Message) -> list[dict[str, str]] | None:
        """Return the parts of the answer that a message came from; None where none were kept."""
        return self._kept.get(message.tool_calls[0].call_id) if message.tool_calls else None


class _Call:
    """A tool call whose arguments are still coming."""

    def __init__(self) -> None:
        self.call_id: str | None = None
        self.name = ""
        self.arguments: list[str] = []

    def request(self) -> ToolRequest:
        text = join_surrogates("".join(self.arguments)).strip()
        value = _decode_json(text or "{}")
        arguments = cast("dict[str, Any]", value) if isinstance(value, dict) else None  # the model gets a tool error
        return ToolRequest(call_id=self.call_id or f"call_{uuid.uuid4().hex}", name=self.name, arguments=arguments)


def json_in(text: str) -> str:
    """Return the JSON object of an answer, also where a model thought aloud before it or put it into a fence.

    Raises `ProviderFailed` where there is none.
    """
    bare = text.strip()
    starts = [0, bare.rfind("</think>") + len("</think>") if "</think>" in bare else 0]
    for start in starts:
        begin, end = bare.find("{", start), bare.rfind("}") + 1
        if 0 <= begin < end and _decode_json(bare[begin:end]) is not None:
            return bare[begin:end]
    raise ProviderFailed("bad_json")


def _decode_json(text: str) -> Any:
    """Return the value of a JSON text; None where it is none, or nested deeper than any message may be."""
    try:
        value = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return None
    return None if is_too_deep(value) else value


class Stream(Protocol):
    """A vendor's stream of events."""

    def __aiter__(self) -> AsyncIterator[Any]: ...

    async def close(self) -> None:
        """Close the connection."""
        ...


class VendorClient(Protocol):
    """A vendor's client behind its dialect: the one thing that an adapter makes."""

    sdk: Any
    """The library's module: `failure_of` distinguishes its errors."""

    def extras(self, request: ModelRequest) -> frozenset[str]:
        """Return the names of the members that are sent where the server knows them: not every server does."""
        ...

    async def ask(self, request: ModelRequest, model: str, extras: frozenset[str]) -> Stream:
        """Return the stream of the answer."""
        ...

    def read(self, event: Any, answer: IncomingAnswer) -> None:
        """Take one event over into the answer."""
        ...


Connect: TypeAlias = Callable[[ProviderConfig, Connection], VendorClient]
"""Imports an SDK and makes its client; slow, so it is called in a thread."""


class VendorModel:
    """A provider of a vendor's dialect. `mark` is the file of the mark that requests to this machine have."""

    def __init__(self, config: ProviderConfig, connect: Connect, mark: Path | None) -> None:
        self._config = config
        self._connect = connect
        self._client: VendorClient | None = None
        self._refused: frozenset[str] = frozenset()
        self._mark = mark

    async def attempt(self, request: ModelRequest, attempt: int, deltas: Deltas | None) -> ModelReply:
        """Return the answer of one try, built alike for every try. Raises `ProviderFailed`."""
        del attempt
        model = request.model or self._config.model
        if model is None:
            raise ProviderFailed("not_configured")
        connection = connection_of(self._config, self._mark)
        client = self._client
        if client is None:
            client = self._client = await to_thread.run_sync(
                self._connect, self._config, connection, abandon_on_cancel=True
            )
        answer = IncomingAnswer(deltas)
        try:
            stream = await self._begin(client, request, model, connection.seconds)
            try:
                await _read(client, stream, answer, connection.seconds)
            finally:
                with anyio.move_on_after(CLOSE_SECONDS, shield=True):
                    await stream.close()
        except ProviderFailed:
            raise
        except Exception as error:
            failure = failure_of(error, client.sdk)
            if failure is None:
                raise
            raise failure from None
        return answer.reply(as_json=request.json_answer)

    async def _begin(self, client: VendorClient, request: ModelRequest, model: str, seconds: float) -> Stream:
        """Send the request and return its stream; members that the server does not know are left out from then on."""
        extras = client.extras(request) - self._refused
        try:
            with anyio.fail_after(seconds):
                return await client.ask(request, model, extras)
        except Exception as error:
            failure = failure_of(error, client.sdk)
            if failure is None or failure.fault != "rejected" or not extras:
                raise
        with anyio.fail_after(seconds):
            stream = await client.ask(request, model, frozenset())
        self._refused |= extras
        return stream


async def _read(client: VendorClient, stream: Stream, answer: IncomingAnswer, seconds: float) -> None:
    """Read to the end. A server that only keeps the connection alive is not waited for longer than a silent one."""
    events = aiter(stream)
    end = object()
    has_begun = False
    others_at = time.monotonic() + OWN_SECONDS
    while True:
        with anyio.fail_after(seconds):
            event = await anext(events, end)
        if event is end:
            break
        client.read(event, answer)
        has_begun = True
        if time.monotonic() < others_at:  # a fast server fills its buffer again and again: other tasks get their turn
            await anyio.lowlevel.checkpoint()
        else:
            await anyio.sleep(OTHERS_SECONDS)
            others_at = time.monotonic() + OWN_SECONDS
    if not has_begun:  # a web page, perhaps: not a word of this dialect
        raise ProviderFailed("bad_json")
