"""The hub sends the gateway's notifications to the sessions that each of them concerns.

Rule 1: a notification that a request causes goes to the session that asked, after its reply.
Rule 2: a notification that other work about a thread causes goes to the sessions that use the thread.
Rule 3: a notification without such a cause goes to all. Beyond that, a session gets what its own filter takes.
Rule 4: this is the only place that knows whether code runs inside a request.
"""

from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from typing import Protocol

import msgspec
from msgspec import Struct

from protocol.base import Scope, encode
from protocol.envelope import NotificationMessage
from protocol.memory.values import Candidate
from protocol.notifications import NOTIFICATIONS, CandidateCreated, MemoryChanged, MemoryInvalidated

USED_THREADS = 10_000
"""Threads whose sessions are known: a few megabytes. Notifications about a thread beyond them go to all sessions."""


class Deferred:
    """The actions that wait for the reply to one request of a session."""

    def __init__(self, session: int = 0) -> None:
        self.session = session
        self._actions: list[Callable[[], None]] = []
        self._is_released = False

    def add(self, action: Callable[[], None]) -> None:
        """Run the action after the reply; at once when it is out already."""
        if self._is_released:
            action()
        else:
            self._actions.append(action)

    def release(self) -> None:
        """Run the actions that waited: the reply is queued."""
        self._is_released = True
        for action in self._actions:
            action()
        self._actions.clear()


CURRENT: ContextVar[Deferred | None] = ContextVar("current_request", default=None)
"""The request that caused the running code, if any: in the request's own task, and in the work that it started."""

_THREAD: ContextVar[str | None] = ContextVar("current_thread", default=None)


@contextmanager
def about_thread(thread_id: str | None) -> Generator[None]:
    """Attribute the notifications that are sent meanwhile to work about a thread."""
    token = _THREAD.set(thread_id)
    try:
        yield
    finally:
        _THREAD.reset(token)


class Announcement(Struct, frozen=True):
    """A notification on its way: its line, and the key under which a slow reader may miss it."""

    method: str
    params: msgspec.Struct
    line: bytes
    key: str | None

    def scopes(self) -> Collection[Scope]:
        """Return the scopes of memory that it names; none where it is not about memory."""
        match self.params:
            case MemoryChanged(scope=scope) | CandidateCreated(candidate=Candidate(scope=scope)):
                return [scope]
            case MemoryInvalidated(scopes=scopes):
                return scopes
            case _:
                return []


def to_announcement(method: str, params: msgspec.Struct) -> Announcement:
    """Return a notification as it is sent."""
    key = method if NOTIFICATIONS[method].coalescable else None
    return Announcement(method, params, encode(NotificationMessage(method=method, params=params)), key)


class Listener(Protocol):
    """A subscriber: a session, or an event stream."""

    def takes(self, event: Announcement) -> bool:
        """Return whether the listener wants an event that it did not cause."""
        ...

    def receive(self, event: Announcement) -> None:
        """Take the event."""
        ...

    @property
    def is_reading(self) -> bool:
        """Return whether the listener keeps up."""
        ...


class Hub:
    """Notifies the subscribers. Satisfies `Notify` (`notify`)."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._listeners: dict[int, Listener] = {}
        self._users: dict[str, set[int]] = {}

    def subscribe(self, listener: Listener) -> int:
        """Add a subscriber; return the number that names it to every other function."""
        number = next(self._numbers)
        self._listeners[number] = listener
        return number

    def unsubscribe(self, number: int) -> None:
        """Remove a subscriber. Notifications that it caused go to no other subscriber because of that."""
        self._listeners.pop(number, None)

    @property
    def has_reader(self) -> bool:
        """Return whether some subscriber keeps up."""
        return any(listener.is_reading for listener in self._listeners.values())

    def use(self, number: int, thread_id: str) -> None:
        """Note that a subscriber works in a thread."""
        users = self._users.pop(thread_id, set[int]())
        users.add(number)
        self._users[thread_id] = users  # at the end again: the least lately used one is forgotten first
        if len(self._users) > USED_THREADS:
            del self._users[next(iter(self._users))]

    def threads_of_one(self, number: int) -> list[str]:
        """Return the ids of the threads that only this subscriber of those present works in."""
        others = self._listeners.keys() - {number}
        return [thread for thread, users in self._users.items() if number in users and not users & others]

    def notify(self, method: str, params: msgspec.Struct) -> None:
        """Send a notification: after the reply to the request that caused it, else at once."""
        current = CURRENT.get()
        causes = frozenset({current.session}) if current is not None else self._users_of(params)
        event = to_announcement(method, params)
        if current is None:
            self._send(event, causes)
        else:
            current.add(lambda: self._send(event, causes))

    def _users_of(self, params: msgspec.Struct) -> frozenset[int]:
        thread_id = getattr(params, "thread_id", None) or _THREAD.get()
        return frozenset(self._users.get(thread_id, ())) if thread_id is not None else frozenset()

    def _send(self, event: Announcement, causes: frozenset[int]) -> None:
        for number, listener in list(self._listeners.items()):
            if not causes or number in causes or listener.takes(event):
                listener.receive(event)
