"""One request and its answer over ASGI: the body is read within its bounds, the answer sent whole.

Rule 1: an answer that leaves bytes of the request unread closes the connection, but reads on for `LINGER_SECONDS`
first: a peer that is still sending would lose the answer otherwise.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from email.utils import formatdate
from typing import Any, NamedTuple, TypeAlias

import anyio

from gateway.doors.http.rules import TOO_LONG, TOO_SLOW, Headers, Refusal

Receive: TypeAlias = Callable[[], Awaitable[Mapping[str, Any]]]
Send: TypeAlias = Callable[[dict[str, Any]], Awaitable[None]]

LINGER_SECONDS = 1.0
JSON_TYPE = "application/json"
NO_CONTENT = 204


class Answer(NamedTuple):
    """An answer: its code, its body, and headers beyond those of every answer."""

    status: int
    body: bytes = b""
    headers: Sequence[tuple[str, str]] = ()
    content_type: str = JSON_TYPE


class Gone(Exception):
    """The client closed its connection."""


def answer_of(refusal: Refusal) -> Answer:
    """Return a refusal as an answer."""
    return Answer(refusal.status, refusal.body(), refusal.headers)


def headers_of(scope: Mapping[str, Any]) -> Headers:
    """Return the request's headers, each with all its values."""
    found: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        found.setdefault(name.decode("latin-1"), []).append(value.decode("latin-1"))
    return found


def has_body(headers: Headers) -> bool:
    """Return whether a request has a body."""
    return "transfer-encoding" in headers or any(value != "0" for value in headers.get("content-length", ()))


def encode_head(status: int, headers: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return the ASGI event that begins an answer: its code, `headers`, and those of every answer."""
    shared = (
        ("date", formatdate(usegmt=True)),
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
    )
    encoded = [(name.encode(), value.encode("latin-1")) for name, value in (*headers, *shared)]
    return {"type": "http.response.start", "status": status, "headers": encoded}


class Exchange:
    """A request that is being answered."""

    def __init__(self, receive: Receive, send: Send, *, has_body: bool) -> None:
        self._receive, self._send = receive, send
        self._is_read = not has_body
        self.shared: Sequence[tuple[str, str]] = ()
        """Headers that are sent with any answer to this request."""
        self.status = 0
        """The code that was sent; 0 before."""
        self.taken = self.sent = 0
        """Bytes of bodies that were read and sent."""
        self.is_gone = False
        """True once the client has closed its connection while it was watched."""

    @property
    def has_more(self) -> bool:
        """Return whether bytes of the body are still to be read."""
        return not self._is_read

    def note_read(self) -> None:
        """Note that the caller has read the body to its end by itself."""
        self._is_read = True

    async def read(self, max_bytes: int, seconds: float) -> bytes | Refusal:
        """Return the body, or the refusal of one that is too long or does not arrive in time. Raises `Gone`."""
        parts: list[bytes] = []
        size = 0
        with anyio.move_on_after(seconds):
            while not self._is_read:
                message = await self._next()
                parts.append(message["body"])
                size = self.taken = size + len(message["body"])
                self._is_read = not message["more_body"]
                if size > max_bytes:
                    return TOO_LONG
        return b"".join(parts) if self._is_read else TOO_SLOW

    async def _next(self) -> Mapping[str, Any]:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise Gone
        return message

    def watch(self, act: Callable[[], None]) -> "asyncio.Task[None]":
        """Return a task that calls `act` when the client closes its connection; begun after the body was read."""

        async def wait() -> None:
            while (await self._receive())["type"] != "http.disconnect":
                pass
            self.is_gone = True
            act()

        return asyncio.create_task(wait())

    async def send(self, answer: Answer) -> None:
        """Send an answer, whole."""
        headers = [*answer.headers, *self.shared]
        if answer.status != NO_CONTENT:
            headers += [("content-length", str(len(answer.body))), ("content-type", answer.content_type)]
        if not self._is_read:
            headers.append(("connection", "close"))
        self.status, self.sent = answer.status, len(answer.body)
        await self._send(encode_head(answer.status, headers))
        await self._send({"type": "http.response.body", "body": answer.body, "more_body": not self._is_read})
        if not self._is_read:
            await self._linger()
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _linger(self) -> None:
        with anyio.move_on_after(LINGER_SECONDS):
            while not self._is_read:
                message = await self._receive()
                self._is_read = message["type"] == "http.disconnect" or not message["more_body"]

    async def begin(self, kind: str) -> None:
        """Send the head, with code 200, of an answer whose length is not known."""
        self.status = 200
        await self._send(encode_head(200, [("content-type", kind), *self.shared]))

    @property
    def sizes(self) -> Mapping[str, int]:
        """Return the bytes of the bodies, as fields of the log's line."""
        return {"bytes_in": self.taken, "bytes_out": self.sent}

    async def send_part(self, part: bytes) -> None:
        """Send a part of the body that `begin` began; wait while the reader is slow."""
        await self._send({"type": "http.response.body", "body": part, "more_body": True})
        self.sent += len(part)

    async def finish(self) -> None:
        """Send the end of the body that `begin` began."""
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})
