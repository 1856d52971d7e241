"""A gateway behind `pioneer http`: each call is a request of its own, notifications come by one event stream.

Rule 1: the connection is the event stream: it ends with the stream, and with a request that the door did not answer.
Rule 2: the id of the last event outlives a connection, so that the next one goes on there.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import NamedTuple
from urllib.parse import quote, urlsplit

import msgspec
from msgspec import Raw

from pioneer_client.connection import READ_BYTES, LineSplitter, Take, read_message
from pioneer_client.errors import GatewayDied

QUIET_SECONDS = 60.0
"""The door sends a comment every 15 seconds; a stream that is quiet for longer than this is dead."""

OK = 200
MIN_WORDS = 2
"""The words of a status line that are read: the version and the code."""
NO_GATEWAY = "what answers there is no gateway"


class Door:
    """The address of a door, what each request says, and the id of the last event that came."""

    def __init__(self, url: str, token: str, *, workspace_id: str | None, time_zone: str | None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or parts.hostname is None:
            raise ValueError(f"{url} is no http or https address")
        self.is_secure = parts.scheme == "https"
        self.hostname = parts.hostname
        self.port = parts.port or (443 if self.is_secure else 80)
        self.path = parts.path.rstrip("/")
        self.workspace_id = workspace_id
        self.last_event_id: str | None = None
        context = {"X-Pioneer-Workspace": workspace_id, "X-Pioneer-Time-Zone": time_zone}
        self._headers = {
            "Host": parts.netloc.rpartition("@")[2],
            "Authorization": f"Bearer {token}",
            "Connection": "close",
            **{name: value for name, value in context.items() if value is not None},
        }

    async def request(
        self, verb: str, path: str, body: bytes | None = None, more: Mapping[str, str] | None = None
    ) -> "Reply":
        """Send a request and return its reply once the head is there.

        Raises `OSError`, `EOFError`, and `GatewayDied` for what is no HTTP.
        """
        reader, writer = await asyncio.open_connection(self.hostname, self.port, ssl=True if self.is_secure else None)
        try:
            headers = {**self._headers, **(more or {})}
            if body is not None:
                headers |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
            lines = [f"{verb} {self.path}{path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
            writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + (body or b""))
            with contextlib.suppress(ConnectionError):  # what refuses a body answers before it has read it
                await writer.drain()
            status, fields = _parse_head(await reader.readuntil(b"\r\n\r\n"))
            return Reply(status, fields, reader, writer)
        except asyncio.LimitOverrunError as error:
            writer.close()
            raise GatewayDied(NO_GATEWAY) from error
        except BaseException:
            writer.close()
            raise


def _parse_head(head: bytes) -> tuple[int, dict[str, str]]:
    """Return a reply's code, and its headers with names in small letters. Raises `GatewayDied` for what is no HTTP."""
    first, *lines = head.decode("latin-1").split("\r\n")
    words = first.split()
    if len(words) < MIN_WORDS or not words[0].startswith("HTTP/") or not words[1].isdecimal():
        raise GatewayDied(NO_GATEWAY)
    pairs = [line.partition(":") for line in lines if line]
    return int(words[1]), {name.lower(): value.strip() for name, _, value in pairs}


class Reply(NamedTuple):
    """A reply whose head is read."""

    status: int
    headers: Mapping[str, str]
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def parts(self) -> AsyncIterator[bytes]:
        """Yield the body as it comes. Raises `OSError`, `EOFError` for one that breaks off."""
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            while size := int((await self.reader.readuntil(b"\r\n")).split(b";")[0], 16):
                yield (await self.reader.readexactly(size + 2))[:-2]
        elif "content-length" in self.headers:
            yield await self.reader.readexactly(int(self.headers["content-length"]))
        else:
            while data := await self.reader.read(READ_BYTES):
                yield data

    async def body(self) -> bytes:
        """Return the whole body, and close the connection."""
        try:
            return b"".join([part async for part in self.parts()])
        finally:
            self.writer.close()


class EventConnection:
    """An open event stream, beside which calls are made. Satisfies `Connection`."""

    def __init__(self, door: Door, stream: Reply, take: Take) -> None:
        self._door = door
        self._stream = stream
        self._take = take
        self._ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def open(cls, door: Door, take: Take) -> "EventConnection":
        """Open the stream where the last one ended. Raises `GatewayDied`, `GatewayError`."""
        where = f"/events?workspace_id={quote(door.workspace_id)}" if door.workspace_id is not None else "/events"
        more = {"Last-Event-ID": door.last_event_id} if door.last_event_id is not None else {}
        try:
            stream = await door.request("GET", where, more=more)
            if stream.status == OK:
                return cls(door, stream, take)
            refusal = await stream.body()
        except (OSError, EOFError) as error:
            raise GatewayDied(f"the door does not answer: {error}") from error
        _unwrap(refusal)
        raise GatewayDied(f"the door answers {stream.status} instead of events")

    @property
    def ended(self) -> asyncio.Future[str]:
        """Return the future of the reason why no more can come."""
        return self._ended

    async def ask(self, method: str, params: msgspec.Struct) -> Raw:
        """Return the result as JSON; a cancelled call closes its connection, which cancels the method.

        Raises `GatewayError`, `GatewayDied`.
        """
        body = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        try:
            reply = await self._door.request("POST", "/rpc", body)
            answer = await reply.body()
        except (OSError, EOFError) as error:
            reason = f"the door did not answer: {error}"
            self._finish(reason)
            raise GatewayDied(reason) from error
        return _unwrap(answer)

    async def close(self) -> None:
        """Close the stream; the door goes on for others."""
        self._finish("the client is closed")
        await asyncio.wait([self._reader])

    async def kill(self) -> None:
        """Close the stream."""
        await self.close()

    def _finish(self, reason: str) -> None:
        if not self._ended.done():
            self._ended.set_result(reason)
        self._reader.cancel()

    async def _read(self) -> None:
        reason = "the event stream ended"
        try:
            await self._read_events()
        except (OSError, EOFError, TimeoutError, ValueError) as error:
            reason = f"the event stream broke: {type(error).__name__}"
        finally:
            self._stream.writer.close()
            if not self._ended.done():
                self._ended.set_result(reason)

    async def _read_events(self) -> None:
        lines = LineSplitter()
        event: dict[bytes, bytes] = {}
        parts = self._stream.parts()
        while True:
            async with asyncio.timeout(QUIET_SECONDS):
                part = await anext(parts, None)
            if part is None:
                return
            for line in lines.feed(part):
                if line:
                    name, _, value = line.partition(b": ")
                    event[name] = value
                else:
                    self._receive(event)
                    event = {}

    def _receive(self, event: Mapping[bytes, bytes]) -> None:
        if b"id" not in event:  # a comment, or the farewell of a door that closes
            return
        self._door.last_event_id = event[b"id"].decode()
        self._take(event[b"event"].decode(), Raw(event[b"data"]))


def _unwrap(body: bytes) -> Raw:
    """Return the result of an answer, whatever its status. Raises `GatewayError`; `GatewayDied` for no answer."""
    try:
        message = read_message(body)
    except msgspec.DecodeError as error:
        raise GatewayDied(NO_GATEWAY) from error
    return message.unwrap()
