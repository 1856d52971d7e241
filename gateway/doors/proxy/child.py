"""The spawned `pioneer serve` that has the memory: it is asked within a deadline, and started again when it ends.

Rule 1: no request waits longer than its deadline for it; after `MISSES` late answers only `SHORT_SECONDS`, until an
answer comes again.
Rule 2: a child that cannot start, or has ended, is started again after `FIRST_PAUSE`, which doubles up to
`LONGEST_PAUSE`.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, TypeAlias

from gateway import __version__
from gateway.base.logs import Log
from gateway.wire.client import CallFailed, ConnectionClosed, GatewayClient
from protocol.base import PROTOCOL_VERSION

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
MISSES = 3
SHORT_SECONDS = 0.025
"""Too short to be noticed in a chat, long enough for an answer that shows that the child works again."""
WARNING_SECONDS = 60.0
"""The time between two warnings in the log."""
BEGIN_SECONDS = 60.0
"""The time that a child has for its first answer."""

REFUSED = frozenset({"storage_full", "storage_read_only", "unavailable", "home_locked"})
"""Reasons for which a home stores nothing."""

FIRST_QUESTION = "What was said before?"
"""A question asked once, so that the child loads what recall needs, which takes longer than a deadline."""
HELLO = {"protocol_version": PROTOCOL_VERSION, "client": {"name": "pioneer-proxy", "version": __version__}}

ChildState: TypeAlias = Literal["live", "dark"]

log = Log("proxy")


def pause_after(pause: float, lived: float) -> float:
    """Return the seconds before the next start, by the pause before (0 at first) and the seconds that the child ran."""
    return FIRST_PAUSE if not pause or lived > LONGEST_PAUSE else min(2 * pause, LONGEST_PAUSE)


class Late(Exception):
    """No answer came in time."""


class Down(Exception):
    """No child runs that could answer."""


class Child:
    """The gateway that a proxy has spawned."""

    def __init__(self, command: Sequence[str], changed: Callable[[], None]) -> None:
        self._command, self._changed = command, changed
        self._client: GatewayClient | None = None
        self._begun: GatewayClient | None = None
        """The child's process from its start on, also before it has answered."""
        self._misses = 0
        self._refuses = False
        """The home stores nothing: its disk is full, or it may only be read."""
        self._warned_at = -WARNING_SECONDS
        self._unwarned = 0
        self.begun = asyncio.Event()
        """The first attempt to start a child has succeeded or failed."""
        self.live = asyncio.Event()
        """A child runs that has answered."""
        self.home_id = ""
        self.late = 0
        """The number of requests that got no answer in time, or an error."""

    @property
    def state(self) -> ChildState:
        """Return `dark` where no child runs, the last `MISSES` answers were late, or the home stores nothing."""
        return "live" if self._client is not None and self._misses < MISSES and not self._refuses else "dark"

    async def run(self) -> None:
        """Keep a child running until cancelled."""
        pause = 0.0
        try:
            while True:
                began = time.monotonic()
                await self._live_once()
                pause = pause_after(pause, time.monotonic() - began)
                self.warn("child_ended")
                await asyncio.sleep(pause)
        finally:
            client, self._client = self._begun, None
            if client is not None:
                with contextlib.suppress(ConnectionClosed, ProcessLookupError):
                    await client.close()

    async def _live_once(self) -> None:
        """Start a child and return when it has ended; after a cancellation the caller closes it."""
        try:
            client = self._begun = await GatewayClient.start(self._command)
        except OSError:
            self.begun.set()
            return
        try:
            async with asyncio.timeout(BEGIN_SECONDS):
                hello = await client.request("initialize", HELLO)
            self.home_id = hello["home_id"]
            self._client, self._misses = client, 0
            self.live.set()
            self._changed()
            self.begun.set()
            with contextlib.suppress(CallFailed):  # refused where memory is switched off
                await client.request("memory/explain", {"query": FIRST_QUESTION})
            await client.wait()
        except (CallFailed, ConnectionClosed, TimeoutError):
            self.begun.set()
        self._client = self._begun = None
        self.live.clear()
        client.kill()
        await client.wait()
        self._changed()

    async def ask(
        self, method: str, params: Any, seconds: float, first: Callable[[], Awaitable[None]] | None = None
    ) -> Any:
        """Return an answer within `seconds`, in which `first` is awaited before the request is sent.

        Raises `Late`, `Down`, and `CallFailed` for an error of the method.
        """
        client = self._client
        if client is None:
            self._miss()
            raise Down
        sent = asyncio.Event()
        call = asyncio.ensure_future(self._send_request(client, method, params, first, sent))
        call.add_done_callback(self._mark_answered)
        done, _ = await asyncio.wait({call}, timeout=seconds if self._misses < MISSES else min(seconds, SHORT_SECONDS))
        if not done:
            if not sent.is_set():  # sent after its answer was kept, it would count as another message
                call.cancel()
            self._misses += 1
            self._miss()
            if self._misses == MISSES:
                self._changed()
            raise Late
        try:
            return call.result()
        except ConnectionClosed:
            self._miss()
            raise Down from None
        except CallFailed:
            self._miss()
            raise

    async def _send_request(
        self,
        client: GatewayClient,
        method: str,
        params: Any,
        first: Callable[[], Awaitable[None]] | None,
        sent: asyncio.Event,
    ) -> Any:
        if first is not None:
            await first()
        sent.set()
        return await _request(client, method, params)

    def _mark_answered(self, call: "asyncio.Future[Any]") -> None:
        """Note that a call was answered, in time or late."""
        if call.cancelled() or isinstance(call.exception(), ConnectionClosed):
            return
        self._note_answer(call.exception())

    def _note_answer(self, error: BaseException | None) -> None:
        """Note an answer: the child is not hung, and its error says whether the home stores anything."""
        before, self._misses = self.state, 0
        self._refuses = isinstance(error, CallFailed) and error.reason in REFUSED
        if self.state != before:
            self._changed()

    async def deliver(self, method: str, params: Any) -> Any:
        """Return an answer, without a deadline. Raises `Down`, and `CallFailed` for an error of the method."""
        client = self._client
        if client is None:
            raise Down
        try:
            found = await _request(client, method, params)
        except ConnectionClosed:
            if client is self._client:
                self.live.clear()  # at once, or a caller that tries again would keep `_live_once` from running
            raise Down from None
        except CallFailed as failed:
            self._note_answer(failed)
            raise
        self._note_answer(None)
        return found

    def _miss(self) -> None:
        """Count a request without an answer."""
        self.late += 1
        self.warn("memory_missed")

    def warn(self, event: str) -> None:
        """Log at most one warning within `WARNING_SECONDS`, with the number of events that it stands for."""
        self._unwarned += 1
        now = time.monotonic()
        if now - self._warned_at >= WARNING_SECONDS:
            log.warning(event, count=self._unwarned)
            self._warned_at, self._unwarned = now, 0


async def _request(client: GatewayClient, method: str, params: Any) -> Any:
    """Return an answer. The client keeps every notification, which the proxy never reads: they are dropped here."""
    try:
        return await client.request(method, params)
    finally:
        client.received.clear()
