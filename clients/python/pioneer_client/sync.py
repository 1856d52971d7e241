"""The client for programs without an event loop: one thread of its own has it.

Rule 1: it has no option of its own: it is given the coroutine that makes the client.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from typing import Any, Self, TypeVar

import msgspec

from pioneer_client.client import Client, Listener, Notice
from pioneer_client.errors import GatewayDied
from pioneer_client.protocol.conversation.turns import TurnStartParams
from pioneer_client.protocol.gateway import InitializeResult
from pioneer_client.protocol.methods import Method

P = TypeVar("P", bound=msgspec.Struct)
R = TypeVar("R")


async def _next_of(notices: AsyncGenerator[Notice]) -> Notice | None:
    return await anext(notices, None)


class Sync:
    """A client whose calls block: `Sync(Client.start(...))` or `Sync(Client.connect(...))`.

    Any thread may use it but its own: a listener of `on` runs there, and must not call.
    """

    def __init__(self, opening: Coroutine[Any, Any, Client]) -> None:
        """Make the client, and wait for it. Raises what the coroutine raises."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="pioneer-client", daemon=True)
        self._thread.start()
        try:
            self._client = self._run(opening)
        except BaseException:
            self._stop()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def handshake(self) -> InitializeResult:
        """Return the gateway's newest answer to `initialize`."""
        return self._client.handshake

    @property
    def pid(self) -> int | None:
        """Return the id of the spawned process; None over HTTP, and while there is none."""
        return self._client.pid

    def call(self, method: Method[P, R], params: P, timeout: float | None = None) -> R:
        """Call a method, as `Client.call` does. Raises `GatewayError`, `GatewayDied`, `TimeoutError`."""
        return self._run(self._client.call(method, params, timeout))

    def on(self, name: str, listener: Listener) -> Callable[[], None]:
        """Call a function, on the client's thread, with each notification of a name; return what ends that."""
        return self._client.on(name, listener)

    def turn(self, params: TurnStartParams) -> Generator[Notice]:
        """Start a turn and yield its notifications, as `Client.turn` does. Raises `GatewayError`, `GatewayDied`."""
        notices = self._client.turn(params)
        try:
            while (notice := self._run(_next_of(notices))) is not None:
                yield notice
        finally:
            self._run(notices.aclose())

    def close(self) -> None:
        """End the session and the thread. A second time does nothing."""
        if self._thread.is_alive():
            try:
                self._run(self._client.close())
            finally:
                self._stop()

    def _run(self, work: Coroutine[Any, Any, R]) -> R:
        if threading.current_thread() is self._thread or not self._thread.is_alive():
            work.close()
            if self._thread.is_alive():
                raise RuntimeError("a listener must not call: it runs on the thread that would answer")
            raise GatewayDied("the client is closed")
        running = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return running.result()
        except BaseException:  # Ctrl-C, too, cancels the call
            running.cancel()
            raise

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
