"""A client of a gateway in the test's own process: a pair of streams in memory, and what a test does with them."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

from gateway.process import serve
from gateway.wire.session import Transport
from gateway.wiring import App


class Pair:
    """One client's two streams. Its requests are numbered from 1, as any other client's are."""

    is_within_budget = True

    def __init__(self) -> None:
        self._inbox: asyncio.Queue[bytes] = asyncio.Queue()
        self._numbers = count(1)
        self._changed = asyncio.Event()
        self.answers: dict[Any, Any] = {}
        self.news: list[tuple[str, Any]] = []
        """Notifications in their order: method and parameters."""
        self.said = ""
        """Every line that came, for a look whether something is in none of them."""

    # the gateway's side

    async def receive(self) -> bytes:
        return await self._inbox.get()

    def send(self, line: bytes, coalesce_key: str | None = None) -> None:  # noqa: ARG002  # nothing is dropped here
        message = json.loads(line)
        self.said += line.decode()
        if "method" in message:
            self.news.append((message["method"], message["params"]))
        else:
            assert message["id"] not in self.answers  # no request is answered twice
            self.answers[message["id"]] = message
        self._changed.set()

    async def wait_writable(self) -> None:
        """There is always room."""

    async def flush(self) -> None:
        """Nothing is ever waiting here."""

    # the client's side

    def write(self, method: str, /, request_id: int | None = None, **params: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        self._inbox.put_nowait(
            json.dumps(message | ({} if request_id is None else {"id": request_id})).encode() + b"\n"
        )

    def ask(self, method: str, /, **params: Any) -> int:
        """Send a request; its number."""
        number = next(self._numbers)
        self.write(method, number, **params)
        return number

    async def call(self, method: str, /, **params: Any) -> Any:
        """The result of a request."""
        number = self.ask(method, **params)
        await self.until(lambda: number in self.answers)
        assert "result" in self.answers[number], self.answers[number]
        return self.answers[number]["result"]

    async def until(self, is_so: Callable[[], object]) -> None:
        async with asyncio.timeout(60):
            while not is_so():
                self._changed.clear()
                await self._changed.wait()

    async def heard(self, method: str, is_meant: Callable[[Any], object] = lambda _params: True) -> None:
        """Wait for a notification."""
        await self.until(lambda: any(name == method and is_meant(params) for name, params in self.news))

    def methods(self) -> list[str]:
        """Return the methods of the notifications that came."""
        return [name for name, _ in self.news]

    async def hello(self, workspace_id: str, time_zone: str = "UTC") -> Any:
        client = {"name": "pair", "version": "1", "time_zone": time_zone}
        return await self.call("initialize", protocol_version="2026-11", client=client, workspace_id=workspace_id)

    def end(self) -> None:
        """End the input, as a client does that is gone."""
        self._inbox.put_nowait(b"")


class Served:
    """A pair with the task that serves it."""

    def __init__(self, app: App) -> None:
        self.pair = Pair()
        self.task = asyncio.create_task(serve(app, Transport(self.pair, self.pair)))

    async def cut(self) -> None:
        """End the session without a word, at once."""
        self.task.cancel()
        await asyncio.wait([self.task])


@asynccontextmanager
async def two_sessions(app: App) -> AsyncIterator[tuple[Served, Served]]:
    """Two clients that have said hello, each from its own workspace and zone; both end."""
    one, other = Served(app), Served(app)
    try:
        await one.pair.hello("ws_one", "Pacific/Auckland")
        await other.pair.hello("ws_other", "America/Los_Angeles")
        yield one, other
    finally:
        for served in (one, other):
            served.pair.end()
        await asyncio.wait([one.task, other.task])
