"""Sanctum's routes: each is a row that turns a request into calls of methods, and their results into its shapes.

Rule 1: a row takes checked members and returns an answer; what may be seen, kept or forgotten is decided behind it.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, cast

import msgspec

from gateway.doors.http.rpc import Caller, Methods
from gateway.wire.rpc import decode, refusal_of
from memory.write.answers import refusal
from protocol import http as h
from protocol import methods as m
from protocol.base import DAY_MS, Scope
from protocol.errors import CallerError
from protocol.memory import Hit, SearchResult
from protocol.record import Record
from protocol.seams.ports import Clock

T = TypeVar("T", bound=msgspec.Struct)

USER = "user"
"""The agent that is the user."""
SEARCHED_PAGES = 10
"""Pages that a search for an agent's memories reads until one of them holds any."""
Verb: TypeAlias = Literal["GET", "POST", "DELETE"]


class Means(NamedTuple):
    """What rows call."""

    methods: Methods
    clock: Clock


class Reply(NamedTuple):
    """A row's answer: its HTTP code and its result."""

    status: int
    result: msgspec.Struct


class Row(NamedTuple):
    """A route: its verb and path, the type of its query or body, its answers by code, and the work."""

    verb: Verb
    path: str
    takes: type[msgspec.Struct]
    in_body: bool
    answers: Mapping[int, type[msgspec.Struct]]
    summary: str
    work: Callable[[Means, Caller, Any], Awaitable[Reply]]


def convert(members: Any, kind: type[T], *, is_text: bool) -> T:
    """Return checked members of a query (`is_text`) or a body. Raises `CallerError`."""
    try:
        return msgspec.convert(members, kind, strict=not is_text)
    except msgspec.ValidationError as error:
        raise refusal_of(str(error)) from None


def body_of(data: bytes) -> Any:
    """Return a body's members. Raises `CallerError`."""
    members = decode(data)
    if not isinstance(members, dict):
        raise CallerError.at("$", "The body is an object")
    return cast("Any", members)


def agent_of(record: Record) -> str:
    """Return who a record's word is: `user`, or the agent that noted it."""
    author = record.provenance.created_by
    return (author.id if author is not None else None) or "unknown" if record.voice == "machine" else USER


def memory_of(record: Record, score: float | None = None) -> dict[str, Any]:
    """Return the members of a memory, as Sanctum's clients know them."""
    return {
        "memory_id": record.memory_id,
        "type": record.kind,
        "content": record.content,
        "tags": record.tags,
        "importance": record.importance,
        "confidence": record.confidence,
        "source_agent": agent_of(record),
        "scope": record.scope,
        "score": score,
        "created_at": record.created_at,
        "updated_at": record.updated_at,
        "access_count": record.access_count,
    }


def given(**members: Any) -> dict[str, Any]:
    """Return the members that were given."""
    return {name: value for name, value in members.items() if value is not None}


async def recall(means: Means, caller: Caller, query: h.RecallQuery) -> Reply:
    """Search with `q`; without it, list the strongest memories."""
    agent_id = query.agent if query.agent != USER else None
    members = given(kinds=[query.type] if query.type else None, limit=query.limit, cursor=query.cursor)
    members["context"] = given(agent_id=agent_id, workspace_id=query.workspace_id)
    if query.q:
        found = await means.methods.ask(caller, m.MEMORY_SEARCH, {**members, "query": query.q})
        memories = [h.Memory(**memory_of(hit.record, hit.score)) for hit in found.hits]
        cursor = found.next_cursor
    else:
        listed = await means.methods.ask(caller, m.MEMORY_LIST, {**members, "order": "strength"})
        memories = [h.Memory(**memory_of(record)) for record in listed.records]
        cursor = listed.next_cursor
    return Reply(200, h.RecallAnswer(memories=memories, query=query.q, agent=query.agent, next_cursor=cursor))


async def search(means: Means, caller: Caller, query: h.SearchQuery) -> Reply:
    """Search; with an agent, go on to the first page that holds something of it."""
    members = given(query=query.q, limit=query.limit, cursor=query.cursor)
    if query.agent not in {None, USER}:
        members["context"] = {"agent_id": query.agent}
    found, kept = await _page(means, caller, members, query.agent)
    for _ in range(SEARCHED_PAGES - 1):
        if kept or found.next_cursor is None:
            break
        members["cursor"] = found.next_cursor
        found, kept = await _page(means, caller, members, query.agent)
    hits = [h.MemoryHit(**memory_of(hit.record, hit.score), snippet=hit.snippet) for hit in kept]
    return Reply(200, h.SearchAnswer(hits=hits, next_cursor=found.next_cursor))


async def _page(
    means: Means, caller: Caller, members: Mapping[str, Any], agent_id: str | None
) -> tuple[SearchResult, list[Hit]]:
    """Return a page of a search, and its hits that are an agent's, or all."""
    found = await means.methods.ask(caller, m.MEMORY_SEARCH, members)
    return found, [hit for hit in found.hits if agent_id is None or is_of(hit.record, agent_id)]


def is_of(record: Record, agent_id: str) -> bool:
    """Return whether an agent wrote a record, or has it in its scope."""
    return agent_of(record) == agent_id or record.scope == Scope(kind="agent", key=agent_id)


async def write(means: Means, caller: Caller, body: h.WriteBody) -> Reply:
    """Keep the user's wish, or an agent's note; what is refused is an error."""
    expires_at = means.clock.now() + round(body.ttl_days * DAY_MS) if body.ttl_days is not None else None
    members = given(
        content=body.content,
        kind=body.type,
        tags=body.tags,
        importance=body.importance,
        expires_at=expires_at,
        scope=msgspec.to_builtins(body.scope),
    )
    if body.agent in {None, USER}:
        kept = await means.methods.ask(caller, m.MEMORY_REMEMBER, members)
        return _written(kept.record, kept.relation, kept.decision, is_new=kept.created)
    members |= {"agent_id": body.agent, "agent_kind": body.agent_kind}
    noted = await means.methods.ask(caller, m.MEMORY_NOTE, members)
    if noted.record is None:
        raise refusal(noted.reason_code, noted.decision.factors)
    return _written(noted.record, noted.relation, noted.decision, is_new=noted.status == "noted")


def _written(record: Record, relation: Any, decision: Any, *, is_new: bool) -> Reply:
    why = h.WriteDecision(action=decision.action, reason_code=decision.reason_code)
    return Reply(201 if is_new else 200, h.WriteAnswer(**memory_of(record), relation=relation, decision=why))


async def consolidate(means: Means, caller: Caller, query: h.ConsolidateQuery) -> Reply:
    """Run the pass, or rehearse it."""
    run = await means.methods.ask(caller, m.PASSES_RUN, {"pass": "consolidate", "dry_run": query.dry_run})
    return Reply(200, run)


ROWS: tuple[Row, ...] = (
    Row("GET", "/v1/recall", h.RecallQuery, False, {200: h.RecallAnswer}, "The memories that fit.", recall),
    Row(
        "GET", "/v1/search", h.SearchQuery, False, {200: h.SearchAnswer}, "Find memories by words and meaning.", search
    ),
    Row(
        "POST",
        "/v1/write",
        h.WriteBody,
        True,
        {201: h.WriteAnswer, 200: h.WriteAnswer},
        "Keep a memory; 200 where it was there already.",
        write,
    ),
    Row(
        "POST",
        "/v1/consolidate",
        h.ConsolidateQuery,
        False,
        {200: m.PASSES_RUN.result},
        "Tidy up what agents noted, or rehearse it.",
        consolidate,
    ),
)
"""Every route of Sanctum that is answered."""
