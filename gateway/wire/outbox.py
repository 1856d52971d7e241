"""The outbox sends one session the notifications that concern it, from its handshake on.

Rule 1: nothing is sent before `initialize` was answered.
Rule 2: of another session's notifications, a session is sent changes to memory that it sees, and the process's own
state.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from gateway.base.hub import Announcement
from protocol.base import Scope

EARLY_LIMIT = 100
"""Notifications kept until `initialize` is answered; only component states occur that early."""


class Sink(Protocol):
    """The destination of lines."""

    def send(self, line: bytes, coalesce_key: str | None = None) -> None:
        """Queue a line."""
        ...

    @property
    def is_within_budget(self) -> bool:
        """Return whether there is room."""
        ...


class Outbox:
    """A session's subscription to the hub. Satisfies `Listener`."""

    def __init__(self, sink: Sink, sees: Callable[[Scope], bool], news: Sequence[Announcement] = ()) -> None:
        self._sink = sink
        self._sees = sees
        self._early: list[Announcement] | None = list(news)

    @property
    def is_reading(self) -> bool:
        """Return whether the client keeps up."""
        return self._sink.is_within_budget

    def takes(self, event: Announcement) -> bool:
        """Return whether the session wants an event that another one caused."""
        return event.method.startswith("gateway/") or any(map(self._sees, event.scopes()))

    def open(self) -> None:
        """Send what waited, and from now on send at once: `initialize` is answered."""
        early, self._early = self._early, None
        for event in early or []:
            self.receive(event)

    def receive(self, event: Announcement) -> None:
        """Send the event, or keep it until the session is open."""
        if self._early is None:
            self._sink.send(event.line, event.key)
        elif len(self._early) < EARLY_LIMIT:
            self._early.append(event)
