"""A server that speaks what model vendors speak, on a real socket of this machine; what it answers is queued by a test."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

from listening import listening

SAMPLES = Path(__file__).resolve().parents[1] / "samples" / "providers"
PATHS = {"openai": "/v1/chat/completions", "anthropic": "/v1/messages"}
BASES = {"openai": "/v1", "anthropic": ""}


class Asked(NamedTuple):
    """A request as it came over the wire."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def key(self) -> str | None:
        return self.headers.get("authorization") or self.headers.get("x-api-key")


class Said(NamedTuple):
    """An answer: its pieces each in a chunk of its own, and what comes after them."""

    pieces: tuple[bytes, ...] = ()
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("content-type", "text/event-stream"),)
    then: Literal["end", "hang", "cut"] = "end"
    is_silent: bool = False


def recorded(name: str, *, pieces: int | None = None, then: Literal["end", "hang", "cut"] = "end") -> Said:
    """A recording of `tests/samples/providers`, whole or as far as the first events go."""
    events = (SAMPLES / f"{name}.sse").read_bytes().replace(b"\r\n", b"\n").split(b"\n\n")
    return Said(tuple(event + b"\n\n" for event in events[:pieces] if event), then=then)


def refused(status: int, body: Any, **headers: str) -> Said:
    """An error as a status."""
    named = {"content-type": "application/json"} | {name.replace("_", "-"): value for name, value in headers.items()}
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Said((raw,), status, tuple(named.items()))


def silent() -> Said:
    """A server that takes the request and says nothing."""
    return Said(is_silent=True)


class Vendor:
    """The server's side of the story."""

    def __init__(self) -> None:
        self.answers: deque[Said] = deque()
        self.asked: list[Asked] = []
        self.left = asyncio.Event()
        """The client hung up before the answer was over."""
        self.begun = asyncio.Event()
        """The last answer has sent its pieces, or said nothing."""
        self.port = 0
        self._open: set[asyncio.StreamWriter] = set()
        self._over = asyncio.Event()
        self._over.set()

    def url(self, kind: str) -> str:
        return f"http://127.0.0.1:{self.port}{BASES[kind]}"

    def config(self, kind: str, name: str = "vendor", **more: Any) -> str:
        """The provider's table of config.toml."""
        members = {"kind": kind, "model": "m-1", "base_url": self.url(kind), **more}
        lines = [f"{key} = {json.dumps(value)}" for key, value in members.items()]
        return "\n".join([f"[gateway.providers.{name}]", *lines, ""])

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        self._over.clear()
        try:
            while await self._answer(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            self.left.set()
        finally:
            writer.close()
            self._open.discard(writer)
            if not self._open:
                self._over.set()

    async def close(self) -> None:
        """Hang up on everybody."""
        for writer in self._open:
            writer.transport.abort()
        await self._over.wait()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
        except asyncio.IncompleteReadError:  # a connection that is kept alive ends between two requests
            self.left.set()
            return False
        first, *lines = head.split("\r\n")[:-2]
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = json.loads(await reader.readexactly(int(headers["content-length"])))
        self.asked.append(Asked(first.split()[1], headers, body))
        said = self.answers.popleft() if self.answers else refused(500, {"error": {"message": "nothing is queued"}})
        if not said.is_silent:
            named = "".join(f"{name}: {value}\r\n" for name, value in said.headers)
            writer.write(f"HTTP/1.1 {said.status} X\r\n{named}transfer-encoding: chunked\r\n\r\n".encode())
            for piece in filter(None, said.pieces):
                writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                await writer.drain()
        self.begun.set()
        if said.is_silent or said.then == "hang":
            await reader.read()
            self.left.set()
            return False
        if said.then == "cut":
            return False
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True


@asynccontextmanager
async def vendor(*answers: Said) -> AsyncIterator[Vendor]:
    """A server that runs as long as the block."""
    fake = Vendor()
    fake.answers.extend(answers)
    async with listening(fake.serve) as fake.port:
        try:
            yield fake
        finally:
            await fake.close()
