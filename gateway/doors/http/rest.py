"""The routes below `/v1`: each is a row that turns a request into calls of methods, and their results into its shapes.

They are those of Sanctum, a memory service whose clients find their routes and shapes here; the search of files is
added to them.

Rule 1: a row takes checked members and returns an answer; the methods decide what may be seen, kept or forgotten.
"""

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, cast

import msgspec

from gateway.doors.http.rpc import HttpCaller, Methods
from gateway.wire.rpc import decode, refusal_of
from memory.rules.notes import USER_AGENT, source_agent_of
from memory.write.answers import refusal
from protocol import http as h
from protocol import methods as m
from protocol.base import DAY_MS
from protocol.errors import CallerError
from protocol.files.knowledge import KnowledgeFound, KnowledgeReadArgs, KnowledgeSearchArgs
from protocol.memory.values import Decision, Relation
from protocol.record import Record
from protocol.seams.ports import Clock

T = TypeVar("T", bound=msgspec.Struct)

KEPT_ROLES = frozenset({"user", "assistant"})
"""The roles of a transcript's messages that are kept."""
Verb: TypeAlias = Literal["GET", "POST", "DELETE"]


class Means(NamedTuple):
    """The collaborators of every row."""

    methods: Methods
    clock: Clock


class RestReply(NamedTuple):
    """A row's answer: its HTTP code and its result."""

    status: int
    result: msgspec.Struct


class RestRow(NamedTuple):
    """A route: its verb and path, the type of its query or body, its answers by code, and the work."""

    verb: Verb
    path: str
    takes: type[msgspec.Struct]
    in_body: bool
    answers: Mapping[int, type[msgspec.Struct]]
    summary: str
    work: Callable[[Means, HttpCaller, Any], Awaitable[RestReply]]


def convert(members: Any, kind: type[T], *, is_text: bool) -> T:
    """Return checked members of a query (`is_text`) or a body. Raises `CallerError`."""
    try:
        return msgspec.convert(members, kind, strict=not is_text)
    except msgspec.ValidationError as error:
        raise refusal_of(str(error)) from None


def lists_of(kind: type[msgspec.Struct]) -> frozenset[str]:
    """Return the members of a query that are lists: they may come several times."""
    return frozenset(one.encode_name for one in msgspec.structs.fields(kind) if one.default_factory is list)


def switches_of(kind: type[msgspec.Struct]) -> frozenset[str]:
    """Return the members of a query that are true or false: their name alone says true."""
    return frozenset(one.encode_name for one in msgspec.structs.fields(kind) if one.type is bool)


def body_of(data: bytes) -> Any:
    """Return a body's members. Raises `CallerError`."""
    members = decode(data)
    if not isinstance(members, dict):
        raise CallerError.at("$", "The body is an object")
    return cast("Any", members)


async def memory_of(means: Means, caller: HttpCaller, record: Record, score: float | None = None) -> dict[str, Any]:
    """Return the members of `protocol.http.Memory` for a record."""
    return {
        "memory_id": record.memory_id,
        "path": record.path,
        "type": record.kind,
        "content": record.content,
        "tags": record.tags,
        "importance": record.importance,
        "confidence": record.confidence,
        "source_agent": source_agent_of(record.provenance),
        "scope": record.scope,
        "score": score,
        "created_at": await _first_written(means, caller, record),
        "updated_at": record.updated_at,
        "access_count": record.access_count,
    }


async def _first_written(means: Means, caller: HttpCaller, record: Record) -> int:
    """Return the time at which the record's path was first written to; without a path, that of the record."""
    if record.path is None or record.supersedes is None:
        return record.created_at
    params = {"memory_id": record.memory_id, "context": _context_of(record)}
    events = (await means.methods.ask(caller, m.MEMORY_HISTORY, params)).events
    return min((event.at for event in events if event.event == "created"), default=record.created_at)


def _context_of(record: Record) -> dict[str, Any]:
    """Return the parameter `context` in which a record of that scope is visible."""
    return {f"{record.scope.kind}_id": record.scope.key} if record.scope.kind != "user" else {}


def pick_given(**members: Any) -> dict[str, Any]:
    """Return the members that are not None."""
    return {name: value for name, value in members.items() if value is not None}


async def recall(means: Means, caller: HttpCaller, query: h.RecallQuery) -> RestReply:
    """Search with `q`; without it, list the strongest memories."""
    agent_id = query.agent if query.agent != USER_AGENT else None
    members = pick_given(kinds=[query.type] if query.type else None, limit=query.limit, cursor=query.cursor)
    members["context"] = pick_given(agent_id=agent_id, workspace_id=query.workspace_id)
    if query.q:
        found = await means.methods.ask(caller, m.MEMORY_SEARCH, {**members, "query": query.q})
        memories = [h.Memory(**await memory_of(means, caller, hit.record, hit.score)) for hit in found.hits]
        cursor = found.next_cursor
    else:
        listed = await means.methods.ask(caller, m.MEMORY_LIST, {**members, "order": "strength"})
        memories = [h.Memory(**await memory_of(means, caller, record)) for record in listed.records]
        cursor = listed.next_cursor
    return RestReply(200, h.RecallAnswer(memories=memories, query=query.q, agent=query.agent, next_cursor=cursor))


async def search(means: Means, caller: HttpCaller, query: h.SearchQuery) -> RestReply:
    """Search; with an agent, among what it wrote and what is in its scope."""
    members = pick_given(query=query.q, limit=query.limit, cursor=query.cursor)
    if query.agent is not None:
        members["source_agents"] = [query.agent]
        members["context"] = {"agent_id": query.agent} if query.agent != USER_AGENT else {}
    found = await means.methods.ask(caller, m.MEMORY_SEARCH, members)
    hits = [
        h.MemoryHit(**await memory_of(means, caller, hit.record, hit.score), snippet=hit.snippet) for hit in found.hits
    ]
    return RestReply(200, h.FoundAnswer(hits=hits, next_cursor=found.next_cursor))


class Written(NamedTuple):
    """The outcome of a write."""

    record: Record
    relation: Relation
    decision: Decision
    was_there: bool
    """The path was written to before, or its content was known."""


async def write(means: Means, caller: HttpCaller, body: h.WriteBody) -> RestReply:
    """Keep what the user wants remembered, or an agent's note. Raises `GatewayError` for what is refused."""
    expires_at = means.clock.now() + round(body.ttl_days * DAY_MS) if body.ttl_days is not None else None
    members = pick_given(
        content=body.content,
        path=body.path,
        kind=body.type,
        tags=body.tags,
        importance=body.importance,
        expires_at=expires_at,
        scope=msgspec.to_builtins(body.scope),
    )
    agent_id = body.agent or caller.client.agent_id or USER_AGENT
    if agent_id == USER_AGENT:
        kept = await means.methods.ask(caller, m.MEMORY_REMEMBER, members)
        was_there = not kept.created or (body.path is not None and kept.superseded_memory_id is not None)
        written = Written(kept.record, kept.relation, kept.decision, was_there=was_there)
    else:
        members |= {"agent_id": agent_id, "agent_kind": body.agent_kind}
        noted = await means.methods.ask(caller, m.MEMORY_NOTE, members)
        if noted.record is None:
            raise refusal(noted.reason_code, noted.decision.factors)
        was_there = noted.status == "duplicate" or noted.superseded_memory_id is not None
        written = Written(noted.record, noted.relation, noted.decision, was_there=was_there)
    why = h.WriteDecision(action=written.decision.action, reason_code=written.decision.reason_code)
    members = await memory_of(means, caller, written.record)
    result = h.WriteAnswer(**members, relation=written.relation, decision=why)
    return RestReply(200 if written.was_there else 201, result)


async def read(means: Means, caller: HttpCaller, query: h.ReadQuery) -> RestReply:
    """Read what is filed under a path; it counts as a read."""
    record = (await means.methods.ask(caller, m.MEMORY_GET, {"path": query.path})).record
    if record is None:
        raise CallerError.missing("memory")
    members = await memory_of(means, caller, record)
    return RestReply(200, h.ReadAnswer(**members, frontmatter=front_matter(record)))


def front_matter(record: Record) -> dict[str, Any]:
    """Return the front matter of a record as a note of Sanctum has it; a member that is absent has its default."""
    agent_id = source_agent_of(record.provenance)
    return pick_given(
        id=record.memory_id,
        type=record.kind,
        category=record.category,
        source=USER_AGENT if agent_id == USER_AGENT else "agent",
        agent=agent_id if agent_id != USER_AGENT else None,
        created=_format_time(record.created_at),
        updated=_format_time(record.updated_at),
        expires=_format_time(record.expires_at),
        importance=record.importance,
        tags=record.tags or None,
    )


def _format_time(at: int | None) -> str | None:
    return datetime.fromtimestamp(at // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if at is not None else None


async def forget(means: Means, caller: HttpCaller, query: h.ForgetQuery) -> RestReply:
    """Forget what is filed under a path."""
    params = {"target": {"kind": "path", "path": query.path}, "mode": query.mode}
    found = await means.methods.ask(caller, m.MEMORY_FORGET, params)
    if not found.forgotten_memory_ids:
        raise CallerError.missing("memory")
    return RestReply(200, h.ForgottenAnswer(forgotten_memory_ids=found.forgotten_memory_ids, receipt=found.receipt))


async def search_files(means: Means, caller: HttpCaller, query: KnowledgeSearchArgs) -> RestReply:
    """Search files, conversation and memory: the method's own answer, without the whole texts."""
    found = await means.methods.ask(caller, m.KNOWLEDGE_SEARCH, msgspec.to_builtins(query))
    return RestReply(200, msgspec.convert(found, KnowledgeFound, from_attributes=True))


async def read_file(means: Means, caller: HttpCaller, query: KnowledgeReadArgs) -> RestReply:
    """Read around an address: the method's own answer."""
    return RestReply(200, await means.methods.ask(caller, m.KNOWLEDGE_READ, msgspec.to_builtins(query)))


async def consolidate(means: Means, caller: HttpCaller, query: h.ConsolidateQuery) -> RestReply:
    """Run the pass, or rehearse it."""
    run = await means.methods.ask(caller, m.PASSES_RUN, {"pass": "consolidate", "dry_run": query.dry_run})
    return RestReply(200, run)


async def ingest(means: Means, caller: HttpCaller, body: h.IngestBody) -> RestReply:
    """Keep a transcript; what is there already stays once."""
    turns: list[dict[str, Any]] = []
    for message in body.messages:
        if message.role not in KEPT_ROLES:
            continue
        if message.role == USER_AGENT or not turns:
            turns.append(pick_given(messages=[], at=message.at))
        turns[-1]["messages"].append({"role": message.role, "text": message.content})
    if not any(message["text"].strip() for turn in turns for message in turn["messages"]):
        raise CallerError.at("$.messages", "Nobody says anything in them")
    agent_id = body.agent if body.agent != USER_AGENT else None
    workspace_id = body.workspace_id or caller.client.workspace_id
    source = pick_given(agent_id=agent_id, session_id=body.session_id, workspace_id=workspace_id)
    params = {"source": {"door": "ingest", "client": body.agent[:64], **source}, "turns": turns, "live": body.live}
    return RestReply(202, await means.methods.ask(caller, m.CAPTURE_INGEST, params))


ROWS: tuple[RestRow, ...] = (
    RestRow("GET", "/v1/recall", h.RecallQuery, False, {200: h.RecallAnswer}, "The memories that fit.", recall),
    RestRow(
        "GET", "/v1/search", h.SearchQuery, False, {200: h.FoundAnswer}, "Find memories by words and meaning.", search
    ),
    RestRow(
        "POST",
        "/v1/write",
        h.WriteBody,
        True,
        {201: h.WriteAnswer, 200: h.WriteAnswer},
        "Keep a memory; 200 where it was there already.",
        write,
    ),
    RestRow("GET", "/v1/read", h.ReadQuery, False, {200: h.ReadAnswer}, "What is filed under a path.", read),
    RestRow(
        "DELETE", "/v1/note", h.ForgetQuery, False, {200: h.ForgottenAnswer}, "Forget what is filed there.", forget
    ),
    RestRow(
        "GET",
        "/v1/knowledge/search",
        KnowledgeSearchArgs,
        False,
        {200: KnowledgeFound},
        "Find what files, conversations and memory say.",
        search_files,
    ),
    RestRow(
        "GET",
        "/v1/knowledge/read",
        KnowledgeReadArgs,
        False,
        {200: m.KNOWLEDGE_READ.result},
        "Lines of a file around an address.",
        read_file,
    ),
    RestRow(
        "POST",
        "/v1/ingest",
        h.IngestBody,
        True,
        {202: m.CAPTURE_INGEST.result},
        "Keep a transcript that grows.",
        ingest,
    ),
    RestRow(
        "POST",
        "/v1/consolidate",
        h.ConsolidateQuery,
        False,
        {200: m.PASSES_RUN.result},
        "Tidy up what agents noted, or rehearse it.",
        consolidate,
    ),
)
"""Every route of this module."""
