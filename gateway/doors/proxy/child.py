"""The spawned `pioneer serve` that keeps what passes through: asked within a deadline, begun anew when it ends.

Rule 1: whatever becomes of it, no request waits longer than its deadline; after three misses hardly at all, until an
answer comes in time again.
Rule 2: a child that cannot begin, or has ended, is begun again after half a second, doubling up to half a minute.
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
WARNING_SECONDS = 60.0
BEGIN_SECONDS = 60.0

REFUSED = frozenset({"storage_full", "storage_read_only", "unavailable", "home_locked"})
"""Reasons for which a home takes nothing in."""

FIRST_QUESTION = "What was said before?"
"""Asked once, for what a first recall loads: a model and the words of languages take longer than a deadline."""
HELLO = {"protocol_version": PROTOCOL_VERSION, "client": {"name": "pioneer-proxy", "version": __version__}}

ChildState: TypeAlias = Literal["live", "dark"]

log = Log("proxy")


class Late(Exception):
    """No answer came in time."""


class Down(Exception):
    """There is no child that could answer."""


class Child:
    """The gateway that a proxy has spawned."""

    def __init__(self, command: Sequence[str], changed: Callable[[], None]) -> None:
        self._command, self._changed = command, changed
        self._client: GatewayClient | None = None
        self._begun: GatewayClient | None = None
        """The process, from its beginning on."""
        self._misses = 0
        self._refuses = False
        """The home takes nothing in: its disk is full, or it may only be read."""
        self._warned_at = -WARNING_SECONDS
        self._unwarned = 0
        self.begun = asyncio.Event()
        """The first attempt to begin has succeeded or failed."""
        self.live = asyncio.Event()
        self.home_id = ""
        self.late = 0
        """Requests that went on without an answer."""

    @property
    def state(self) -> ChildState:
        """Return whether it answers: one that let three requests wait in vain, or that refuses, counts as dark."""
        return "live" if self._client is not None and self._misses < MISSES and not self._refuses else "dark"

    async def run(self) -> None:
        """Keep a child until cancelled."""
        pause = FIRST_PAUSE
        try:
            while True:
                began = time.monotonic()
                await self._live_once()
                pause = FIRST_PAUSE if time.monotonic() - began > LONGEST_PAUSE else min(2 * pause, LONGEST_PAUSE)
                self.warn("child_ended")
                await asyncio.sleep(pause / 2)
        finally:
            client, self._client = self._begun, None
            if client is not None:
                with contextlib.suppress(ConnectionClosed, ProcessLookupError):
                    await client.close()

    async def _live_once(self) -> None:
        """Begin a child and return when it has ended; one that is cancelled stays to be closed."""
        try:
            client = self._begun = await GatewayClient.start(self._command)
        except OSError:
            self.begun.set()
            return
        try:
            async with asyncio.timeout(BEGIN_SECONDS):
                said = await client.request("initialize", HELLO)
            self.home_id = said["home_id"]
            self._client, self._misses = client, 0
            self.live.set()
            self._changed()
            self.begun.set()
            with contextlib.suppress(CallFailed):  # memory may be switched off
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
        """Return an answer within a deadline, in which `first` is waited for, too.

        Raises `Late`, `Down`, and `CallFailed` for an error.
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
            if not sent.is_set():  # told later than the answer, it would be another message
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
        return await client.request(method, params)

    def _mark_answered(self, call: "asyncio.Future[Any]") -> None:
        """Note an answer, in time or late: whoever answers is not hung."""
        if call.cancelled() or isinstance(call.exception(), ConnectionClosed):
            return
        self._hear(call.exception())

    def _hear(self, error: BaseException | None) -> None:
        """Note an answer: whoever answers is not hung, and says whether the home takes in what it is given."""
        before, self._misses = self.state, 0
        self._refuses = isinstance(error, CallFailed) and error.reason in REFUSED
        if self.state != before:
            self._changed()

    async def deliver(self, method: str, params: Any) -> Any:
        """Return an answer, however long it takes. Raises `Down`, and `CallFailed` for an error."""
        client = self._client
        if client is None:
            raise Down
        try:
            found = await client.request(method, params)
        except ConnectionClosed:
            if client is self._client:
                self.live.clear()  # the task that notices its end waits for who asks again at once
            raise Down from None
        except CallFailed as failed:
            self._hear(failed)
            raise
        self._hear(None)
        return found

    def _miss(self) -> None:
        self.late += 1
        self.warn("memory_missed")

    def warn(self, event: str) -> None:
        """Log at most one warning a minute, with the count of what it stands for."""
        self._unwarned += 1
        now = time.monotonic()
        if now - self._warned_at >= WARNING_SECONDS:
            log.warning(event, count=self._unwarned)
            self._warned_at, self._unwarned = now, 0
