"""A day: the changes of memory, grouped by client and conversation; and the undoing of all changes of one of these."""

from collections.abc import Sequence
from datetime import date, timedelta
from itertools import groupby
from typing import Any, NamedTuple
from urllib.parse import urlencode

from gateway.doors.inspect.places import (
    PlacesRead,
    context_of,
    get_memory,
    list_places,
    name_of,
    other_record,
    plan_reads,
)
from gateway.doors.inspect.rendering import path_part
from gateway.doors.inspect.visit import FilledTemplate, Moved, Outcome, PageNotice, Visit
from gateway.doors.inspect.wording import DOORS, EVENTS, reason_of
from protocol import methods as m
from protocol.conversation.threads import Thread
from protocol.errors import CallerError, GatewayError
from protocol.memory.changes import MemoryChange
from protocol.record import Record

PAGE = 20
MAX_UNDONE = 200
"""Changes of one conversation in a place after which no further page is read."""
MAX_CHANGE_PAGES = 10
"""Pages of changes that are read in each place for those of one conversation."""


class ShownChange(NamedTuple):
    """A change with the record that it replaced, the action that undoes it, and the reason in words."""

    change: MemoryChange
    label: str
    replaced: Record | None
    undo: str | None
    place: str
    reason: str


class ChangeGroup(NamedTuple):
    """The changes that came one after the other from one client and one conversation."""

    source: str
    thread: Thread | None
    thread_id: str | None
    changes: list[ShownChange]
    can_undo_all: bool


def undo_action(change: MemoryChange) -> str | None:
    """Return the action of the page that undoes a change; None where it cannot be undone."""
    if change.undo is None:
        return None
    if change.undo.method == m.MEMORY_FORGET.name:
        return f"memories/{path_part(change.memory_id)}/forget"
    if change.undo.method == m.MEMORY_RESTORE.name:
        return f"memories/{path_part(change.memory_id)}/restore"
    return f"candidates/{path_part(change.candidate_id)}/reject"


def source_of(change: MemoryChange) -> str:
    """Return the client of a change and its door, in words."""
    door, client = change.origin.door, change.origin.client
    if door is None:
        return client or "The gateway itself"
    if door == "stdio" and client:  # a program that spawns a gateway for itself: there is no more to say
        return client
    where = DOORS[door]
    return f"{client}, {where}" if client else where[0].upper() + where[1:]


async def today(visit: Visit) -> Outcome:
    """Show a day."""
    day = _day_of(visit, visit.query.get("day", ""))
    begin, end = visit.times.bounds(day)
    before = visit.whole_number("before")
    until = end if before is None else min(end, before)
    wanted = visit.query.get("scope", "")
    places = await list_places(visit)
    calls = await plan_reads(visit, places, wanted)
    read = await _newest_changes(visit, calls, until)
    found = [one for one in read if one.at >= begin]
    page = _page_of(found)
    groups = await _groups(visit, page)
    counts = [(EVENTS[event], sum(one.event == event for one in page)) for event in EVENTS]
    older = page[-1].at if len(found) > len(page) else None
    earlier = _day_before(visit, read[len(found) :]) if older is None else None
    return FilledTemplate(
        "today.html",
        "Today" if day == visit.times.today() else _format_day(day),
        {
            "day": day,
            "named": _format_day(day),
            "is_today": day == visit.times.today(),
            "groups": groups,
            "counts": [(name, count) for name, count in counts if count],
            "places": places,
            "wanted": wanted,
            "day_before": day - timedelta(days=1),
            "day_after": day + timedelta(days=1),
            "earlier": earlier,
            "earlier_named": _format_day(earlier) if earlier else None,
            "older": older,
            "back": "today?" + urlencode({"day": day.isoformat(), **({"scope": wanted} if wanted else {})}),
        },
    )


def _format_day(day: date) -> str:
    return f"{day.strftime('%A')}, {day.day} {day.strftime('%B %Y')}"


def _day_of(visit: Visit, wanted: str) -> date:
    """Return the day that an address or a form names, today without a name. Raises `CallerError`."""
    if not wanted:
        return visit.times.today()
    try:
        day = date.fromisoformat(wanted)
        visit.times.bounds(day + timedelta(days=1))
        visit.times.bounds(day - timedelta(days=1))
    except (ValueError, OverflowError, OSError):
        raise CallerError.at("$.day", "It is a day as in 2026-11-23") from None
    if day.year < 1970 or day.year > 9000:  # what the contract's times hold
        raise CallerError.at("$.day", "It is a day as in 2026-11-23")
    return day


async def _newest_changes(visit: Visit, calls: Sequence[PlacesRead], until: int) -> list[MemoryChange]:
    """Return the newest changes of the places before a moment, newest first, a few more than a page in each place.

    So the changes of a day come with the newest one of an earlier day, unless they fill the page.
    """
    asked = {"since_at": 0, "until_at": max(0, until), "limit": PAGE + 5}
    found: list[MemoryChange] = []
    for call in calls:
        found += (await visit.ask(m.MEMORY_CHANGES, asked | call.params())).changes
    return sorted(found, key=lambda one: -one.at)


def _page_of(found: Sequence[MemoryChange]) -> list[MemoryChange]:
    """Return the first page; changes of one millisecond stay together, as the next page begins before it."""
    page = list(found[:PAGE])
    return [*page, *(one for one in found[PAGE:] if page and one.at == page[-1].at)]


def _day_before(visit: Visit, earlier: Sequence[MemoryChange]) -> date | None:
    """Return the day of the newest of the changes before a day."""
    found = visit.times.local(earlier[0].at) if earlier else None
    return found.date() if found is not None else None


async def _groups(visit: Visit, changes: Sequence[MemoryChange]) -> list[ChangeGroup]:
    threads: dict[str, Thread | None] = {}
    groups: list[ChangeGroup] = []
    for (source, thread_id), members in groupby(changes, key=lambda one: (source_of(one), one.origin.thread_id)):
        if thread_id is not None and thread_id not in threads:
            threads[thread_id] = await _thread(visit, thread_id)
        shown = [await _build_shown_change(visit, change) for change in members]
        thread = threads.get(thread_id) if thread_id is not None else None
        can_undo = thread_id is not None and sum(one.undo is not None for one in shown) > 1
        groups.append(ChangeGroup(source, thread, thread_id, shown, can_undo))
    return groups


async def _thread(visit: Visit, thread_id: str) -> Thread | None:
    try:
        return (await visit.ask(m.THREAD_GET, {"thread_id": thread_id})).thread
    except GatewayError:  # an assistant's conversation that the gateway does not keep, or one that was deleted
        return None


async def _build_shown_change(visit: Visit, change: MemoryChange) -> ShownChange:
    replaced: Record | None = None
    record = change.record
    if change.event == "replaced" and record is not None:
        replaced = await other_record(visit, record.supersedes, await context_of(visit, change.scope))
    source = record.provenance.source_kind if record is not None else None
    reason = reason_of(change.withheld or change.origin.reason_code, source)
    return ShownChange(change, EVENTS[change.event], replaced, undo_action(change), name_of(change.scope), reason)


# -- all of a conversation ---------------------------------------------------------------------------------------------


async def ask_undo_all(visit: Visit) -> Outcome:
    """Show the changes that would be undone, and ask."""
    day, thread_id = _day_of(visit, visit.query.get("day", "")), visit.query.get("thread", "")
    found, is_cut = await _changes_of_thread(visit, day, thread_id)
    return FilledTemplate(
        "undo_all.html",
        "Undo all from this conversation",
        {
            "changes": [await _build_shown_change(visit, change) for change in found],
            "thread_id": thread_id,
            "day": day,
            "thread": await _thread(visit, thread_id),
            "named": _format_day(day),
            "back": f"today?day={day.isoformat()}",
            "is_cut": is_cut,
        },
    )


async def undo_all(visit: Visit) -> Outcome:
    """Undo the changes of a conversation in a day, the newest first."""
    day = _day_of(visit, visit.require_field("day"))
    found, _ = await _changes_of_thread(visit, day, visit.require_field("thread"))
    done, kept = 0, 0
    for change in found:
        try:
            done += await take_back(visit, change)
        except GatewayError:  # it was changed since, or is gone
            kept += 1
    text = f"{done} taken back." + (f" {kept} had changed meanwhile and stayed as they are." if kept else "")
    visit.show_next(PageNotice(text))
    return Moved(f"today?day={day.isoformat()}")


async def take_back(visit: Visit, change: MemoryChange) -> int:
    """Undo a change, and restore the record that it had replaced; return the number of undone changes, 0 or 1."""
    if change.undo is None:
        return 0
    context = await context_of(visit, change.scope)
    await visit.ask(m.METHODS[change.undo.method], {**change.undo.params, "context": context})
    if change.event == "replaced" and change.record is not None and change.record.supersedes is not None:
        await bring_back(visit, change.record.supersedes, context)
    return 1


async def bring_back(visit: Visit, memory_id: str, context: dict[str, Any]) -> Record | None:
    """Restore a record that had been replaced; return it, also where it is believed already, else None."""
    found = (await get_memory(visit, memory_id, context)).record
    if found is not None and found.status == "superseded":
        return (await visit.ask(m.MEMORY_RESTORE, {"memory_id": memory_id, "context": context})).record
    return found if found is not None and found.status == "active" else None


async def _changes_of_thread(visit: Visit, day: date, thread_id: str) -> tuple[list[MemoryChange], bool]:
    """Return the undoable changes of a conversation in a day, newest first, and whether some were not looked at."""
    begin, end = visit.times.bounds(day)
    found: list[MemoryChange] = []
    is_cut = False
    for call in await plan_reads(visit, await list_places(visit), ""):
        cursor = None
        for _ in range(MAX_CHANGE_PAGES):
            asked = {"since_at": max(0, begin), "until_at": max(0, end), "limit": 100, "cursor": cursor} | call.params()
            page = await visit.ask(m.MEMORY_CHANGES, asked)
            found += [one for one in page.changes if one.origin.thread_id == thread_id and one.undo is not None]
            cursor = page.next_cursor
            if cursor is None or len(found) >= MAX_UNDONE:
                break
        is_cut = is_cut or cursor is not None
    return sorted(found, key=lambda one: -one.at), is_cut
