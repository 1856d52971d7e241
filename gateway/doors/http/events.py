"""Event streams: the gateway's notifications as Server-Sent Events.

Rule 1: the newest events are kept once, for all streams; a stream holds the number of the last event that it sent. So a
slow reader costs no memory, and a reader who comes back goes on after the last event that they had.
Rule 2: a reader who missed events gets a `pioneer/gap` in their place, with their number where it is known.
Rule 3: a record that is forgotten, or that another process changed, leaves the kept events; an erase also removes the
events of turns and candidates, which may hold its words.
"""

import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable
from typing import NamedTuple

import anyio
from msgspec import Struct
from msgspec.structs import replace

from gateway.base.hub import Announcement, to_announcement
from protocol.base import Scope, encode
from protocol.errors import CallerError
from protocol.notifications import (
    NOTIFICATIONS,
    CandidateCreated,
    GatewayDegraded,
    GatewayRecovered,
    InstructionsChanged,
    KnowledgeChanged,
    KnowledgeIndexed,
    MemoryChanged,
    MemoryErased,
    MemoryForgotten,
    MemoryInvalidated,
    Progress,
    TurnEvent,
)

KEPT_EVENTS = 1000
COMMENT_SECONDS = 15.0
"""The silence after which a stream sends a comment, so that nothing on the way closes it."""
MAX_ID_CHARS = 64
GAP = "pioneer/gap"
FILES = "knowledge:"
"""The beginning of a component, or of the token of a progress, that is a collection's; its id follows."""
BYE = b"event: bye\ndata: {}\n\n"
COMMENT = b":\n\n"
_KEPT_BYTES = 16 * 1024 * 1024
"""The most bytes of events kept; beyond them the oldest go, as a thousand messages may be many megabytes."""


class OwnerLookups(Struct, frozen=True):
    """Two functions that return whose something is; both None where there is no such thing."""

    workspace_of: Callable[[str], Awaitable[str | None]]
    """The workspace of a thread."""
    scope_of: Callable[[str], Awaitable[Scope | None]]
    """The scope of a collection: its workspace, or the user."""


class KeptEvent(NamedTuple):
    """A notification with its number: the events of a process are counted from 1."""

    number: int
    news: Announcement


class Gap(NamedTuple):
    """Events that a reader missed: how many, None where that is unknown, and the number of the last one."""

    missed: int | None
    number: int


class WantedEvents(NamedTuple):
    """The filter of a stream: the names of notifications, a workspace, a thread."""

    names: Collection[str]
    workspace_id: str | None = None
    thread_id: str | None = None


def names_of(types: str | None) -> Collection[str]:
    """Return the names of notifications for a comma-separated list of names and `group/*`; all of them for None.

    Raises `CallerError` for a part of the list that names none.
    """
    if types is None:
        return NOTIFICATIONS.keys()
    found: set[str] = set()
    for one in types.split(","):
        name = one.strip()
        group = name.removesuffix("*")
        is_group = name.endswith("/*")
        named = {known for known in NOTIFICATIONS if known == name or (is_group and known.startswith(group))}
        if not named:
            raise CallerError.at("$.types", "It names a notification, or a group as in memory/*")
        found |= named
    return found


async def concerns(news: Announcement, wanted: WantedEvents, owners: OwnerLookups) -> bool:
    """Return whether a stream gets a notification; changes of what is the user's own concern every workspace."""
    if news.method not in wanted.names:
        return False
    thread_id: str | None = getattr(news.params, "thread_id", None)
    if thread_id is not None:
        return await _is_thread_wanted(thread_id, wanted, owners)
    if wanted.workspace_id is None and wanted.thread_id is None:
        return True
    scopes = await _scopes_of(news, owners)
    return scopes is None or any([await _is_wanted(scope, wanted, owners) for scope in scopes])


async def _scopes_of(news: Announcement, owners: OwnerLookups) -> Collection[Scope] | None:
    """Return the scopes that a notification is about, without those that are gone; None where it is about no scope."""
    collection_id: str | None = None
    match news.params:
        case InstructionsChanged(workspace_id=workspace_id):
            return [Scope(kind="workspace", key=workspace_id)]
        case KnowledgeChanged() | KnowledgeIndexed():
            collection_id = news.params.collection_id
        case GatewayDegraded(component=component) | GatewayRecovered(component=component) | Progress(token=component):
            collection_id = component.removeprefix(FILES) if component.startswith(FILES) else None
        case _:
            return news.scopes() or None
    if collection_id is None:
        return None
    scope = await owners.scope_of(collection_id)
    return [scope] if scope is not None else []


async def _is_wanted(scope: Scope, wanted: WantedEvents, owners: OwnerLookups) -> bool:
    if scope.kind == "thread":
        return await _is_thread_wanted(scope.key, wanted, owners)
    if scope.kind == "workspace":
        if wanted.thread_id is not None and await owners.workspace_of(wanted.thread_id) != scope.key:
            return False
        return wanted.workspace_id in {None, scope.key}
    return scope.kind == "user" or wanted.workspace_id is None


async def _is_thread_wanted(thread_id: str, wanted: WantedEvents, owners: OwnerLookups) -> bool:
    if wanted.thread_id not in {None, thread_id}:
        return False
    return wanted.workspace_id is None or await owners.workspace_of(thread_id) == wanted.workspace_id


class EventLog:
    """The last notifications of this process. Satisfies `Listener`."""

    def __init__(self) -> None:
        self._run = secrets.token_hex(4)
        self._kept: deque[KeptEvent] = deque()
        self._bytes = 0
        self._last = 0
        self._news = anyio.Event()

    @property
    def is_reading(self) -> bool:
        """Return True: streams that open later may ask for earlier events."""
        return True

    def takes(self, event: Announcement) -> bool:  # noqa: ARG002  # each stream has a filter of its own
        """Return True."""
        return True

    def receive(self, event: Announcement) -> None:
        """Keep an event, and wake the streams."""
        match event.params:
            case MemoryForgotten(memory_ids=ids):
                self._replace([_without_words(one, lambda _, memory_id: memory_id in ids) for one in self._kept])
            case MemoryErased(memory_ids=ids):
                rest = [one for one in self._kept if not isinstance(one.news.params, (TurnEvent, CandidateCreated))]
                self._replace([_without_words(one, lambda _, memory_id: memory_id in ids) for one in rest])
            case MemoryInvalidated(scopes=scopes):
                self._replace([_without_words(one, lambda scope, _: scope in scopes) for one in self._kept])
            case _:
                pass
        self._last += 1
        self._kept.append(KeptEvent(self._last, event))
        self._bytes += len(event.line)
        while len(self._kept) > KEPT_EVENTS or (self._bytes > _KEPT_BYTES and len(self._kept) > 1):
            self._bytes -= len(self._kept.popleft().news.line)
        self.wake()

    def _replace(self, events: Iterable[KeptEvent]) -> None:
        """Put these in the place of the kept events."""
        self._kept = deque(events)
        self._bytes = sum(len(one.news.line) for one in self._kept)

    def wake(self) -> None:
        """Wake the streams."""
        news, self._news = self._news, anyio.Event()
        news.set()

    async def wait(self) -> None:
        """Wait for the next event."""
        await self._news.wait()

    @property
    def last(self) -> int:
        """Return the number of the newest event."""
        return self._last

    def id_of(self, number: int) -> str:
        """Return the id of an event on the wire."""
        return f"{self._run}-{number}"

    def number_of(self, event_id: str) -> int | None:
        """Return the number of an event id; None for one that this process did not give."""
        run, _, digits = event_id[:MAX_ID_CHARS].partition("-")
        is_known = run == self._run and digits.isascii() and digits.isdigit() and int(digits) <= self._last
        return int(digits) if is_known else None

    def next_after(self, number: int) -> KeptEvent | Gap | None:
        """Return the first event after a number, or the gap where that one is no longer kept; None if there is none."""
        following: KeptEvent | None = None
        for event in reversed(self._kept):  # a reader who keeps up is at the end
            if event.number <= number:
                break
            following = event
        if following is None:
            return Gap(self._last - number, self._last) if number < self._last else None
        missed = following.number - number - 1
        return Gap(missed, following.number - 1) if missed else following


def _without_words(event: KeptEvent, is_gone: Callable[[Scope, str], bool]) -> KeptEvent:
    """Return the event; without its record where `is_gone(scope, memory_id)`."""
    match event.news.params:
        case MemoryChanged(memory_id=memory_id, scope=scope) as params if is_gone(scope, memory_id):
            return KeptEvent(event.number, to_announcement(event.news.method, replace(params, record=None)))
        case _:
            return event


def encode_event(event_id: str, name: str, data: bytes) -> bytes:
    """Return an event in the format of Server-Sent Events; `data` is JSON, which has no line breaks."""
    return b"id: %s\nevent: %s\ndata: %s\n\n" % (event_id.encode(), name.encode(), data)


class EventStream:
    """One reader of the log."""

    def __init__(self, log: EventLog, wanted: WantedEvents, owners: OwnerLookups, last_id: str | None) -> None:
        self._log, self._wanted, self._owners = log, wanted, owners
        number = log.number_of(last_id) if last_id else log.last
        self._is_lost = number is None
        self._number = log.last if number is None else number
        """The number of the last event that was sent or passed over."""
        self._is_over = False

    def end(self) -> None:
        """Make `run` send the last event, `bye`, and return."""
        self._is_over = True
        self._log.wake()

    async def run(self, send: Callable[[bytes], Awaitable[None]]) -> None:
        """Send the wanted events until `end`; `send` waits while the reader is slow."""
        await send(COMMENT)
        if self._is_lost:
            await send(self._gap(Gap(None, self._number)))
        while not self._is_over:
            found = self._log.next_after(self._number)
            if found is None:
                with anyio.move_on_after(COMMENT_SECONDS) as waited:
                    await self._log.wait()
                if waited.cancelled_caught:
                    await send(COMMENT)
                continue
            self._number = found.number
            if isinstance(found, Gap):
                await send(self._gap(found))
            elif await concerns(found.news, self._wanted, self._owners):
                await send(encode_event(self._log.id_of(found.number), found.news.method, encode(found.news.params)))
        await send(BYE)

    def _gap(self, gap: Gap) -> bytes:
        return encode_event(self._log.id_of(gap.number), GAP, encode({"missed": gap.missed}))
