"""A recording upstream in three dialects, spawned chat proxies, and programs that go through them."""

import asyncio
import contextlib
import json
import re
import signal
import zlib
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from listening import listening
from spawned import Den

from gateway.wire.client import GatewayClient, console_script

LINE = re.compile(r"pioneer proxy: http://([0-9.:\[\]]+):(\d+), capture: (live|dark)")
PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
JSON = (("content-type", "application/json"),)
SSE = (("content-type", "text/event-stream"),)
CUT = object()
"""In a script: the connection breaks here."""


# -- what upstreams say ------------------------------------------------------------------------------------------------


def event(data: Any, name: str | None = None) -> bytes:
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + json.dumps(data).encode() + b"\n\n"


def named(data: dict[str, Any]) -> bytes:
    return event(data, data["type"])


def said(dialect: str, text: str, call: tuple[str, dict[str, Any]] | None = None) -> list[bytes]:
    """The chunks of a streamed answer, which may end in a call of a tool."""
    if dialect == "chat":
        chunks = [
            event({"choices": [{"index": 0, "delta": {"role": "assistant", "content": part}}]}) for part in parts(text)
        ]
        if call:
            function = {"name": call[0], "arguments": json.dumps(call[1])}
            chunks.append(
                event(
                    {
                        "choices": [
                            {
                                "index": 0,
                                "delta": {
                                    "tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]
                                },
                            }
                        ]
                    }
                )
            )
        chunks.append(
            event({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls" if call else "stop"}]})
        )
        usage = {"prompt_tokens": 11, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 5}}
        return [*chunks, event({"choices": [], "usage": usage}), b"data: [DONE]\n\n"]
    name = f"m{zlib.crc32((text + str(call)).encode()):08x}"  # programs take two messages of one id for one
    if dialect == "responses":
        return said_by_responses(name, text, call)
    usage = {"input_tokens": 6, "cache_read_input_tokens": 5, "output_tokens": 1}
    chunks = [
        named(
            {
                "type": "message_start",
                "message": {
                    "id": name,
                    "type": "message",
                    "role": "assistant",
                    "model": "m",
                    "content": [],
                    "usage": usage,
                },
            }
        )
    ]
    place = 0
    if text:
        chunks.append(named({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}))
        chunks += [
            named({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": part}})
            for part in parts(text)
        ]
        chunks.append(named({"type": "content_block_stop", "index": 0}))
        place = 1
    if call:
        block = {"type": "tool_use", "id": "c1", "name": call[0], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
        chunks += [
            named({"type": "content_block_start", "index": place, "content_block": block}),
            named({"type": "content_block_delta", "index": place, "delta": delta}),
            named({"type": "content_block_stop", "index": place}),
        ]
    end = {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use" if call else "end_turn"},
        "usage": {"output_tokens": 3},
    }
    return [*chunks, named(end), named({"type": "message_stop"})]


def said_by_responses(name: str, text: str, call: tuple[str, dict[str, Any]] | None) -> list[bytes]:
    """The chunks of a streamed answer with every event that the vendor's SDK and Codex ask for."""
    output: list[dict[str, Any]] = []
    if text:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        output.append({"type": "message", "id": name, "role": "assistant", "status": "completed", "content": content})
    if call:
        wish = {"name": call[0], "arguments": json.dumps(call[1])}
        output.append({"type": "function_call", "id": f"f{name}", "call_id": "c1", "status": "completed", **wish})
    usage = {"input_tokens": 11, "output_tokens": 3, "total_tokens": 14}
    usage |= {"input_tokens_details": {"cached_tokens": 5}, "output_tokens_details": {"reasoning_tokens": 0}}
    head = {"id": f"r{name}", "object": "response", "created_at": 1, "model": "m", "parallel_tool_calls": False}
    head |= {"tool_choice": "auto", "tools": []}
    told: list[dict[str, Any]] = [{"type": "response.created", "response": {**head, "output": []}}]
    for place, item in enumerate(output):
        told.append({"type": "response.output_item.added", "output_index": place, "item": {**item, "content": []}})
        if item["type"] == "message":
            where = {"item_id": name, "output_index": place, "content_index": 0}
            told += [{"type": "response.output_text.delta", **where, "delta": part} for part in parts(text)]
        told.append({"type": "response.output_item.done", "output_index": place, "item": item})
    told.append({"type": "response.completed", "response": {**head, "output": output, "usage": usage}})
    return [named({**one, "sequence_number": number}) for number, one in enumerate(told)]


def parts(text: str) -> list[str]:
    return re.findall(r"\S+\s*", text)


class Reply(NamedTuple):
    """A scripted answer: chunks; events that are waited for between them; or a break."""

    script: Sequence[Any]
    status: int = 200
    headers: Sequence[tuple[str, str]] = SSE


class Seen(NamedTuple):
    """A request as the upstream saw it."""

    verb: str
    path: str
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name), None)


class FakeModel:
    """The recording upstream."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.replies: deque[Reply] = deque()
        self.echo = False
        """Answer with the whole prompt."""
        self.gone = asyncio.Event()
        """A connection was closed before its answer was over."""
        self.port = 0
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def bodies(self) -> list[Any]:
        return [one.json for one in self.seen]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while await self._one(reader, writer):
                pass
        self._writers.discard(writer)
        writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")[:-2]
        headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
        named = {name.lower(): value for name, value in headers}
        if named.get("transfer-encoding") == "chunked":
            body = b""
            while size := int((await reader.readuntil(b"\r\n")), 16):
                body += (await reader.readexactly(size + 2))[:-2]
            await reader.readexactly(2)
        else:
            body = await reader.readexactly(int(named.get("content-length", "0")))
        verb, path, _ = first.split()
        self.seen.append(Seen(verb, path, headers, body))
        reply = self.replies.popleft() if self.replies else self._usual(path, body)
        has_length = "content-length" in dict(reply.headers)
        headers = [*reply.headers, *([] if has_length else [("transfer-encoding", "chunked")])]
        lines = [f"HTTP/1.1 {reply.status} X", *(f"{name}: {value}" for name, value in headers)]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        watch = asyncio.ensure_future(reader.read(1))
        try:
            for step in reply.script:
                if step is CUT:
                    writer.transport.abort()
                    return False
                if isinstance(step, asyncio.Event):
                    waits = asyncio.ensure_future(step.wait())
                    done, _ = await asyncio.wait({waits, watch}, return_when=asyncio.FIRST_COMPLETED)
                    if waits not in done:
                        self.gone.set()
                        return False
                    continue
                writer.write(step if has_length else b"%x\r\n%s\r\n" % (len(step), step))
                await writer.drain()
            writer.write(b"" if has_length else b"0\r\n\r\n")
            await writer.drain()
        finally:
            if not watch.done():
                watch.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await watch
        return True

    def _usual(self, path: str, body: bytes) -> Reply:
        dialect = next((name for name, one in PATHS.items() if path.split("?", maxsplit=1)[0] == one), None)
        if dialect is None:
            return Reply([b'{"object": "list"}'], headers=JSON)
        texts = re.findall(r'"text": ?"((?:[^"\\\\]|\\\\.)*)"', body.decode())
        echoed = body.decode() if len(self.seen) % 2 else "\n".join(json.loads(f'"{one}"') for one in texts)
        text = echoed if self.echo else f"Answer {len(self.seen)}."
        return Reply(said(dialect, text))

    def upstream_of(self, dialect: str) -> str:
        """The name under which `config` has it for a dialect."""
        return "claude" if dialect == "messages" else "vendor"

    def config(self, port: int | None = None) -> str:
        """The upstreams of a proxy."""
        at = self.port if port is None else port
        return (
            f'[gateway.proxy.upstreams.vendor]\ndialect = "openai"\nbase_url = "http://127.0.0.1:{at}/v1"\n'
            f'[gateway.proxy.upstreams.claude]\ndialect = "anthropic"\nbase_url = "http://127.0.0.1:{at}"\n'
        )


@asynccontextmanager
async def fake_model() -> AsyncIterator[FakeModel]:
    model = FakeModel()
    async with listening(model.serve) as model.port:
        try:
            yield model
        finally:
            for writer in list(model._writers):
                writer.transport.abort()


# -- proxies -----------------------------------------------------------------------------------------------------------


class ProxyDen(Den):
    """A den whose home has a chat proxy."""

    port: int
    process: asyncio.subprocess.Process
    state: str

    def proxy_command(self, *more: str) -> list[str]:
        port = () if "--port" in more else ("--port", "0")
        return [
            *console_script(),
            "proxy",
            "--home",
            str(self.home),
            "--config",
            str(self.config),
            "--log-level",
            "info",
            *port,
            *more,
        ]

    async def start(self, *more: str, **how: Any) -> None:
        pipe = asyncio.subprocess.PIPE
        self.process = await asyncio.create_subprocess_exec(*self.proxy_command(*more), stdout=pipe, stderr=pipe, **how)
        assert self.process.stdout is not None
        line = (await self.process.stdout.readline()).decode().strip()
        found = LINE.fullmatch(line)
        if found is None:
            assert self.process.stderr is not None
            raise AssertionError((line, (await self.process.stderr.read()).decode()))
        self.port, self.state = int(found[2]), found[3]

    async def stop(self) -> int:
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGTERM)
        return await self.process.wait()

    @asynccontextmanager
    async def proxy(self, *more: str, **how: Any) -> AsyncIterator["ProxyDen"]:
        await self.start(*more, **how)
        try:
            yield self
        finally:
            if self.process.returncode is None:
                assert await self.stop() == 0

    @property
    def token(self) -> str:
        return (self.home / "http" / "proxy_token").read_text(encoding="utf-8").strip()

    def child(self) -> int:
        """The process id of the gateway that the proxy spawned."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        # the newest: a process that forks for this one may be there from its beginning (forked.py)
        return int(children[-1])

    async def health(self) -> str:
        return (await fetch(self.port, "GET", "/health")).json["status"]

    async def wait_for_health(self, status: str) -> None:
        """Wait for the health to be so: each answer of the door is an event of it."""

        async def is_so() -> bool:
            return await self.health() == status

        await until(is_so)


T = TypeVar("T")


async def until(look: Callable[[], Awaitable[T | None]]) -> T:
    """Return what a look finds, once it finds something: another process sends this one no event."""
    while not (found := await look()):  # noqa: ASYNC110
        await asyncio.sleep(0.02)
    return found


class Came(NamedTuple):
    """An answer as a program got it."""

    status: int
    headers: dict[str, str]
    body: bytes
    is_whole: bool = True

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def memory(self) -> str:
        """Return the header's word for what memory did."""
        return self.headers.get("x-pioneer-memory", "").partition(";")[0]


class Line:
    """A connection of a program to the proxy, read chunk by chunk."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self.writer = reader, writer
        self.status = 0
        self.headers: dict[str, str] = {}

    @classmethod
    async def open(
        cls, port: int, verb: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> "Line":
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**26)
        lines = [
            f"{verb} {path} HTTP/1.1",
            f"Host: 127.0.0.1:{port}",
            *(f"{n}: {v}" for n, v in (headers or {}).items()),
        ]
        if body or verb == "POST":
            lines.append(f"Content-Length: {len(body)}")
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        await writer.drain()
        return cls(reader, writer)

    async def head(self) -> None:
        text = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = text.split("\r\n")[:-2]
        self.status = int(first.split()[1])
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}

    async def chunk(self) -> bytes:
        """The next chunk; empty at the end."""
        size = int(await self._reader.readuntil(b"\r\n"), 16)
        return (await self._reader.readexactly(size + 2))[:-2]

    async def rest(self) -> Came:
        """All that follows."""
        parts: list[bytes] = []
        try:
            if "content-length" in self.headers:
                return Came(
                    self.status, self.headers, await self._reader.readexactly(int(self.headers["content-length"]))
                )
            while chunk := await self.chunk():
                parts.append(chunk)
        except (asyncio.IncompleteReadError, ConnectionError):
            return Came(self.status, self.headers, b"".join(parts), is_whole=False)
        return Came(self.status, self.headers, b"".join(parts))

    def close(self) -> None:
        self.writer.transport.abort()


async def fetch(port: int, verb: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Came:
    line = await Line.open(port, verb, path, body, headers)
    try:
        await line.head()
        return await line.rest()
    finally:
        line.close()


def user(dialect: str, text: str) -> dict[str, Any]:
    kind = "input_text" if dialect == "responses" else "text"
    return {"role": "user", "content": [{"type": kind, "text": text}]}


class Program:
    """A chat program: it keeps what was said and sends all of it each time."""

    def __init__(
        self, den: ProxyDen, dialect: str = "chat", *, system: str | None = "You are a helper.", **headers: str
    ) -> None:
        self.den, self.dialect, self.system = den, dialect, system
        self.headers = {
            "Content-Type": "application/json",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        if dialect == "messages":
            self.headers |= {"anthropic-version": "2023-06-01"}
        self.said: list[dict[str, Any]] = []
        self.place = ""

    def path(self) -> str:
        return f"/t/{self.den.token}{self.place}{PATHS[self.dialect]}"

    def body(self, **more: Any) -> dict[str, Any]:
        if self.dialect == "responses":
            return {"model": "m", "stream": True, "instructions": self.system, "input": self.said, **more}
        if self.dialect == "messages":
            return {"model": "m", "stream": True, "max_tokens": 9, "system": self.system, "messages": self.said, **more}
        system = [{"role": "system", "content": self.system}] if self.system is not None else []
        return {"model": "m", "stream": True, "messages": [*system, *self.said], **more}

    async def open(self, text: str) -> Line:
        """Say something; the answer as it comes, from behind its head."""
        self.said.append({"role": "user", "content": text})
        line = await Line.open(self.den.port, "POST", self.path(), json.dumps(self.body()).encode(), self.headers)
        await line.head()
        return line

    async def send(self, **more: Any) -> Came:
        came = await fetch(self.den.port, "POST", self.path(), json.dumps(self.body(**more)).encode(), self.headers)
        self.answered(came)
        return came

    def answered(self, came: Came) -> None:
        """Keep an answer as a program of that dialect does."""
        if came.status != 200 or not came.is_whole:
            return
        events = [json.loads(line[6:]) for line in came.body.decode().split("\n") if line.startswith("data: {")]
        if self.dialect == "responses":
            self.said += [
                {key: value for key, value in item.items() if key != "id"}
                for one in events
                if one.get("type") == "response.completed"
                for item in one["response"]["output"]
            ]
        elif self.dialect == "messages":
            text = "".join(one["delta"].get("text", "") for one in events if one["type"] == "content_block_delta")
            content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
            for one in events:
                if one["type"] == "content_block_start" and one["content_block"]["type"] == "tool_use":
                    given = "".join(
                        e["delta"].get("partial_json", "") for e in events if e["type"] == "content_block_delta"
                    )
                    content.append({**one["content_block"], "input": json.loads(given)})
            self.said.append({"role": "assistant", "content": content})
        else:
            choices = [choice for one in events for choice in one["choices"]]
            text = "".join(choice["delta"].get("content") or "" for choice in choices)
            calls = [call for choice in choices for call in choice["delta"].get("tool_calls", [])]
            calls = [{key: value for key, value in call.items() if key != "index"} for call in calls]
            self.said.append({"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})})

    async def ask(self, text: str, **more: Any) -> Came:
        self.said.append(user(self.dialect, text))
        return await self.send(**more)

    def give_result(self, text: str) -> None:
        """The result of the call of a tool."""
        if self.dialect == "responses":
            self.said.append({"type": "function_call_output", "call_id": "c1", "output": text})
        elif self.dialect == "messages":
            self.said.append(
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": text}]}
            )
        else:
            self.said.append({"role": "tool", "tool_call_id": "c1", "content": text})


async def kept(client: GatewayClient, count: int) -> list[list[str]]:
    """Return the texts of each conversation, the oldest first, once so many turns have ended."""

    async def look() -> list[list[str]] | None:
        threads = (await client.request("thread/list", {"limit": 100}))["threads"][::-1]
        pages = [
            await client.request("thread/history", {"thread_id": one["thread_id"], "limit": 100}) for one in threads
        ]
        found = [[item["text"] for item in page["items"]] for page in pages]
        ended = sum(1 for page in pages for item in page["items"] if item["kind"] == "agent_message")
        return found if ended >= count else None

    return await until(look)


async def ended(client: GatewayClient, turn_id: str) -> dict[str, Any]:
    """A turn, once it has ended."""

    async def look() -> dict[str, Any] | None:
        turn = (await client.request("turn/get", {"turn_id": turn_id}))["turn"]
        return turn if turn["completed_at"] is not None else None

    return await until(look)
