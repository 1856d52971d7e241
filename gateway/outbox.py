"""What the gateway sends without being asked, and when: a notification that a request caused comes after its reply.

Rule 1: this is the only place that knows whether code runs inside a request.
Rule 2: nothing is sent before `initialize` was answered.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import msgspec
from anyio.abc import TaskGroup

from gateway.logs import Log
from protocol.envelope import NotificationMessage
from protocol.errors import GatewayError
from protocol.notifications import NOTIFICATIONS

EARLY_LIMIT = 100
"""Notifications kept until `initialize` is answered; only component states occur that early."""

log = Log("outbox")

_encoder = msgspec.json.Encoder()


class Deferred:
    """The actions that wait for one request's reply."""

    def __init__(self) -> None:
        self._actions: list[Callable[[], None]] = []
        self._is_released = False

    def add(self, action: Callable[[], None]) -> None:
        """Run the action after the reply; at once when it is out already."""
        if self._is_released:
            action()
        else:
            self._actions.append(action)

    def release(self) -> None:
        """The reply is queued: run what waited for it."""
        self._is_released = True
        for action in self._actions:
            action()
        self._actions.clear()


CURRENT: ContextVar[Deferred | None] = ContextVar("current_request", default=None)
"""The request that caused what the code does, if any: in its own task, and in the work that it started."""


class Outbox:
    """Satisfies `Notify` (`notify`) and `Spawn` (`spawn`)."""

    def __init__(self, send: Callable[[bytes, str | None], None]) -> None:
        self._send = send
        self._early: list[tuple[bytes, str | None]] | None = []
        self.tasks: TaskGroup | None = None

    def open(self) -> None:
        """`initialize` is answered: send what waited, and from now on at once."""
        early, self._early = self._early, None
        for line, key in early or []:
            self._send(line, key)

    def notify(self, method: str, params: msgspec.Struct) -> None:
        """Send a notification: after the reply of the request that caused it, else at once."""
        line = _encoder.encode(NotificationMessage(method=method, params=params))
        key = method if NOTIFICATIONS[method].coalescable else None
        current = CURRENT.get()
        if current is None:
            self._emit(line, key)
        else:
            current.add(lambda: self._emit(line, key))

    def _emit(self, line: bytes, key: str | None) -> None:
        if self._early is None:
            self._send(line, key)
        elif len(self._early) < EARLY_LIMIT:
            self._early.append((line, key))

    def spawn(self, work: Callable[[], Any], name: str) -> None:
        """Start background work at once: another request of the batch may wait for it. What it tells comes after the reply."""
        if self.tasks is None:
            raise RuntimeError("the process is not running yet")
        self.tasks.start_soon(self._guarded, work, name=name)

    async def _guarded(self, work: Callable[[], Any]) -> None:
        try:
            await work()
        except GatewayError as error:
            log.warning("background_failed", reason=error.reason)
        except Exception as error:  # noqa: BLE001  # the boundary of background work: one failure must not end the process
            log.incident(error)
