"""Memories: a list and a search, one memory with its reasons and history, and the form that makes a new one."""

from typing import Any, NamedTuple
from urllib.parse import urlencode

from gateway.doors.inspect.places import (
    PlacesRead,
    context_of,
    list_places,
    name_of,
    other_record,
    plan_reads,
    reach_memory,
    scope_of,
)
from gateway.doors.inspect.rendering import SHOWN_CHARS, path_part
from gateway.doors.inspect.visit import CATEGORIES, FilledTemplate, Moved, Outcome, PageNotice, Visit
from gateway.doors.inspect.wording import GATES, STEPS, reason_of
from protocol import methods as m
from protocol.base import Scope
from protocol.errors import CallerError
from protocol.memory.changes import Event, MemoryChange
from protocol.memory.explaining import ExplainResult
from protocol.memory.reads import Hit
from protocol.record import Kind, Record

PAGE = 20
MAX_FORGOTTEN = 40
"""The most forgotten memories on a page; those of one millisecond more."""
MAX_CHANGE_PAGES = 5
"""Pages of changes that are read in each place for one page of forgotten memories."""
STATUSES: tuple[str, ...] = ("active", "superseded", "archived", "expired", "deleted")
STATUS_WORDS = {"active": "believed", "superseded": "replaced", "archived": "put aside", "deleted": "forgotten"}
KINDS: tuple[str, ...] = Kind.__args__
FILTERS = ("q", "scope", "category", "kind", "status")


class Listed(NamedTuple):
    """A memory in a list; score and snippet are those of a search."""

    record: Record
    place: str
    score: float | None = None
    snippet: str | None = None


async def memories(visit: Visit) -> Outcome:
    """List memories, or find them by words and meaning."""
    chosen = {name: visit.query[name].strip() for name in FILTERS if visit.query.get(name, "").strip()}
    places = await list_places(visit)
    calls = await plan_reads(visit, places, chosen.get("scope", ""))
    values: dict[str, Any] = {
        "places": places,
        "chosen": chosen,
        "categories": CATEGORIES,
        "kinds": KINDS,
        "statuses": STATUSES,
        "status_words": STATUS_WORDS,
        "once": visit.make_idempotency_key(),
        "next": None,
        "forgotten": None,
        "more": False,
    }
    if chosen.get("status") == "deleted":
        values |= {"listed": [], **await _forgotten(visit, calls)}
    else:
        values |= await _find_memories(visit, calls, chosen)
    return FilledTemplate("memories.html", "Memories", values)


async def _find_memories(visit: Visit, calls: list[PlacesRead], chosen: dict[str, str]) -> dict[str, Any]:
    """Return the template's values for memories that are not forgotten: `listed`, `next` (a query) and `more`."""
    asked: dict[str, Any] = {"limit": PAGE, "include_sensitive": True}
    asked |= {many: [chosen[one]] for one, many in (("category", "categories"), ("kind", "kinds")) if one in chosen}
    asked["statuses"] = [chosen.get("status", "active")]
    is_search = "q" in chosen
    if is_search:
        asked["query"] = chosen["q"]
    if len(calls) == 1 and visit.query.get("cursor"):
        asked["cursor"] = visit.query["cursor"]
    listed: list[Listed] = []
    following = None
    for call in calls:
        if is_search:
            found = await visit.ask(m.MEMORY_SEARCH, asked | call.params())
            listed += [_of_hit(hit) for hit in found.hits]
        else:
            found = await visit.ask(m.MEMORY_LIST, asked | call.params())
            listed += [Listed(record, name_of(record.scope)) for record in found.records]
        following = following or found.next_cursor
    if len(calls) > 1:
        listed.sort(key=lambda one: -(one.score or 0) if is_search else -one.record.updated_at)
        listed = listed[:PAGE]
    query = urlencode({**chosen, "cursor": following}) if following is not None and len(calls) == 1 else None
    return {"listed": listed, "next": query, "more": following is not None and len(calls) > 1}


def _of_hit(hit: Hit) -> Listed:
    return Listed(hit.record, name_of(hit.record.scope), hit.score, hit.snippet)


async def _forgotten(visit: Visit, calls: list[PlacesRead]) -> dict[str, Any]:
    """Return the template's values for forgotten memories that can be restored: `forgotten`, newest first, and `next`.

    Places have no common cursor, so the next page begins at a time: this page shows none older than the time up to
    which every place was read.
    """
    until = visit.whole_number("until")
    found: dict[str | None, MemoryChange] = {}
    reached = 0
    for call in calls:
        asked: dict[str, Any] = {"since_at": 0, "limit": 100} | call.params()
        asked |= {"until_at": until} if until is not None else {}
        oldest = 0
        for _ in range(MAX_CHANGE_PAGES):
            page = await visit.ask(m.MEMORY_CHANGES, asked)
            oldest = min((one.at for one in page.changes), default=0)
            for one in page.changes:
                if one.event == "forgotten" and one.undo is not None:
                    found.setdefault(one.memory_id, one)
            asked["cursor"] = page.next_cursor
            if page.next_cursor is None:
                break
        else:
            reached = max(reached, oldest)
    newest = sorted(found.values(), key=lambda one: -one.at)
    if len(newest) > MAX_FORGOTTEN:
        reached = max(reached, newest[MAX_FORGOTTEN - 1].at)
    shown = [(one, name_of(one.scope)) for one in newest if one.at >= reached]
    older = urlencode({"status": "deleted", "scope": visit.query.get("scope", ""), "until": reached})
    return {"forgotten": shown, "next": older if reached else None}


async def remember(visit: Visit) -> Outcome:
    """Make a memory of the person's words."""
    scope = scope_of(visit.fields.get("scope") or "user")
    result = await visit.ask(
        m.MEMORY_REMEMBER,
        {
            "content": visit.require_field("content"),
            "category": visit.fields.get("category") or "custom",
            "scope": {"kind": scope.kind, "key": scope.key},
            "context": await context_of(visit, scope),
            "idempotency_key": visit.require_field("once"),
        },
    )
    memory_id = result.record.memory_id
    text = "Remembered." if result.created else "This was known already."
    undo = f"memories/{path_part(memory_id)}/forget" if result.created else None
    visit.show_next(PageNotice(text, undo, {"scope": name_of(scope)}))
    return Moved(address_of(memory_id, scope))


def address_of(memory_id: str, scope: Scope) -> str:
    """Return the address of a memory's page, below the session's."""
    return f"memories/{path_part(memory_id)}?{urlencode({'scope': name_of(scope)})}"


# -- one memory --------------------------------------------------------------------------------------------------------


async def memory(visit: Visit, memory_id: str) -> Outcome:
    """Show a memory with its reason, its quotes, its versions, its history, and the turns that it was shown in."""
    reached = await reach_memory(visit, memory_id)
    record, context = reached.record, reached.context
    is_hidden = record.status == "deleted" or record.sensitivity == "regulated"
    why: ExplainResult = await visit.ask(
        m.MEMORY_EXPLAIN, {"target": {"kind": "memory", "id": memory_id}, "context": context}
    )
    history = (await visit.ask(m.MEMORY_HISTORY, {"memory_id": memory_id, "context": context})).events
    start = visit.whole_number("from") or 0
    return FilledTemplate(
        "memory.html",
        "A forgotten memory" if record.status == "deleted" else "Memory",
        {
            "record": record,
            "place": name_of(record.scope),
            "is_hidden": is_hidden,
            "why": why,
            "decision": why.decisions[0] if why.decisions else why.decision,
            "gates": [(GATES.get(gate.gate, gate.gate), gate) for gate in why.gates if not is_hidden or gate.passed],
            "reason": reason_of(why.decisions[0].reason_code if why.decisions else None, record.provenance.source_kind),
            "history": history,
            "steps": STEPS,
            "names": _names(history, memory_id),
            "status": STATUS_WORDS.get(record.status, record.status),
            "found": reached.found,
            "former": None if is_hidden else await other_record(visit, record.supersedes, context),
            "later": None if is_hidden else await other_record(visit, record.superseded_by, context),
            "similar": []
            if is_hidden
            else [
                one
                for like in reached.found.similar_to[:3]
                if (one := await other_record(visit, like.memory_id, context))
            ],
            "start": start,
            "part": record.content[start : start + SHOWN_CHARS],
            "following": start + SHOWN_CHARS,
        },
    )


def _names(history: list[Event], memory_id: str) -> dict[str, str]:
    """Return a label for each record of a history: the shown one is `this one`, others are numbered versions."""
    others = dict.fromkeys(one.memory_id for one in history if one.memory_id != memory_id)
    return {memory_id: "this one"} | {other: f"version {number}" for number, other in enumerate(others, 1)}


def number_of(text: str, member: str) -> float:
    """Return the number in a member of a form. Raises `CallerError` for another text."""
    try:
        return float(text)
    except ValueError:
        raise CallerError.at(f"$.{member}", "It is a number") from None
