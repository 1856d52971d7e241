"""The gateway's notifications, and which sessions get each of them.

Rule 1: what a request causes goes to the session that asked, after its reply.
Rule 2: what other work about a thread causes goes to the sessions that use the thread.
Rule 3: what has no such cause goes to all. Beyond that, a session gets what its own filter takes.
Rule 4: this is the only place that knows whether code runs inside a request.
"""

from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from typing import NamedTuple, Protocol

import msgspec

from protocol.base import Scope
from protocol.envelope import NotificationMessage
from protocol.memory import Candidate
from protocol.notifications import NOTIFICATIONS, CandidateCreated, MemoryChanged, MemoryInvalidated

USED_THREADS = 10_000
"""Threads whose sessions are known: a few megabytes. What happens in one that is forgotten goes to all sessions."""

_encode = msgspec.json.Encoder().encode


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
        """Run what waited: the reply is queued."""
        self._is_released = True
        for action in self._actions:
            action()
        self._actions.clear()


CURRENT: ContextVar[Deferred | None] = ContextVar("current_request", default=None)
"""The request that caused what the code does, if any: in its own task, and in the work that it started."""

_THREAD: ContextVar[str | None] = ContextVar("current_thread", default=None)


@contextmanager
def about_thread(thread_id: str | None) -> Generator[None]:
    """Have what is notified meanwhile count as caused by work about a thread."""
    token = _THREAD.set(thread_id)
    try:
        yield
    finally:
        _THREAD.reset(token)


class Announcement(NamedTuple):
    """A notification on its way: its line, and the key under which a slow reader may miss it."""

    method: str
    params: msgspec.Struct
    line: bytes
    key: str | None

    def scopes(self) -> Collection[Scope]:
        """Return the scopes of memory that it names; none for what is not about memory."""
        match self.params:
            case MemoryChanged(scope=scope) | CandidateCreated(candidate=Candidate(scope=scope)):
                return [scope]
            case MemoryInvalidated(scopes=scopes):
                return scopes
            case _:
                return []


def announcement_of(method: str, params: msgspec.Struct) -> Announcement:
    """Return a notification as it is sent."""
    key = method if NOTIFICATIONS[method].coalescable else None
    return Announcement(method, params, _encode(NotificationMessage(method=method, params=params)), key)


class Listener(Protocol):
    """A subscriber: a session, or an event stream."""

    def takes(self, event: Announcement) -> bool:
        """Return whether it wants an event that it did not cause."""
        ...

    def hear(self, event: Announcement) -> None:
        """Take the event."""
        ...

    @property
    def is_reading(self) -> bool:
        """Whether it keeps up."""
        ...


class Hub:
    """Notifies the subscribers. Satisfies `Notify` (`notify`)."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._listeners: dict[int, Listener] = {}
        self._users: dict[str, set[int]] = {}

    def subscribe(self, listener: Listener) -> int:
        """Add a subscriber; return the number under which it causes, uses and leaves."""
        number = next(self._numbers)
        self._listeners[number] = listener
        return number

    def unsubscribe(self, number: int) -> None:
        """Remove a subscriber. What it caused or what happens in its threads goes to no other one because of that."""
        self._listeners.pop(number, None)

    @property
    def is_heard(self) -> bool:
        """Whether a subscriber keeps up."""
        return any(listener.is_reading for listener in self._listeners.values())

    def use(self, number: int, thread_id: str) -> None:
        """Note that a subscriber works in a thread."""
        users = self._users.pop(thread_id, set[int]())
        users.add(number)
        self._users[thread_id] = users  # at the end again: the least lately used one is forgotten first
        if len(self._users) > USED_THREADS:
            del self._users[next(iter(self._users))]

    def used_alone(self, number: int) -> list[str]:
        """Return the threads that a subscriber works in and no other present one does."""
        others = self._listeners.keys() - {number}
        return [thread for thread, users in self._users.items() if number in users and not users & others]

    def notify(self, method: str, params: msgspec.Struct) -> None:
        """Send a notification: after the reply to the request that caused it, else at once."""
        current = CURRENT.get()
        causes = frozenset({current.session}) if current is not None else self._users_of(params)
        event = announcement_of(method, params)
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
                listener.hear(event)
