"""The requests of the HTTP door that are no methods: Sanctum's routes, health, event streams, and its errors.

Rule 1: every other route is a method of `protocol.methods`, whose types it takes and answers with.
"""

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta

from protocol.base import Cursor, Id, Limit, Millis, Params, Query, Scope, Unit, Wire
from protocol.conversation.values import Text
from protocol.errors import ErrorReason
from protocol.memory.forgetting import Receipt
from protocol.memory.values import Action, AgentKind, ReasonCode, Relation
from protocol.record import Content, Kind, RecordPath, Tags

HttpReason: TypeAlias = (
    ErrorReason
    | Literal["unauthorized", "misdirected", "wrong_verb", "wrong_type", "too_slow", "head_too_large", "not_supported"]
)
"""The reason of an error: one of the methods, or one of HTTP itself."""
MAX_TTL_DAYS = 36_500


class HttpErrorData(Wire):
    """The `data` member of every error."""

    reason: HttpReason
    retryable: bool
    details: dict[str, Any] | None = None
    incident_id: str | None = None


class HttpErrorObject(Wire):
    """An error; `code` is that of JSON-RPC."""

    code: int
    message: str
    data: HttpErrorData


class HttpError(Wire):
    """The body of every answer that is not a success."""

    error: HttpErrorObject


class HealthResult(Wire):
    """`GET /health`: degraded where something does not work; `gateway/status` says what."""

    status: Literal["ok", "degraded"]
    service: str
    version: str


class InspectCodeResult(Wire):
    """`POST /inspect`: a code that opens one session of the inspect page, and the address to open."""

    code: str
    url: str
    expires_in_ms: int


class Memory(Wire):
    """A memory as Sanctum's clients know it; `type` is the record's kind, `source_agent` is `user` or who noted it."""

    memory_id: str
    path: str | None
    """The place where its writer filed it."""
    type: str
    content: str
    tags: list[str]
    importance: float
    confidence: float
    source_agent: str
    scope: Scope
    score: float | None
    """The score of a search, 0 to 1; null where nothing was searched."""
    created_at: int
    """The time when it was written; of a path, when something was first written there."""
    updated_at: int
    access_count: int


class MemoryHit(Memory):
    """A memory that was found, with the words around the match."""

    snippet: str


class RecallQuery(Params):
    """`GET /v1/recall`: a search with `q`, else the strongest memories. `agent` is context and filters nothing."""

    agent: Id | None = None
    limit: Limit = 20
    q: Query | None = None
    type: Kind | None = None
    workspace_id: Id | None = None
    cursor: Cursor | None = None


class RecallAnswer(Wire):
    """Memories, best first."""

    memories: list[Memory]
    query: str | None
    agent: str | None
    next_cursor: str | None


class SearchQuery(Params):
    """`GET /v1/search`: with `agent`, only what that agent wrote or what is in its scope."""

    q: Query
    agent: Id | None = None
    limit: Limit = 20
    cursor: Cursor | None = None


class FoundAnswer(Wire):
    """Hits, best first."""

    hits: list[MemoryHit]
    next_cursor: str | None


class WriteBody(Params):
    """`POST /v1/write`: without an agent, or by `user`, the user's own wish; by another agent, a note of its own."""

    content: Content
    path: RecordPath | None = None
    type: Kind | None = None
    tags: Tags = []
    agent: Id | None = None
    agent_kind: AgentKind = "assistant"
    importance: Unit = 0.5
    ttl_days: Annotated[float, Meta(gt=0, le=MAX_TTL_DAYS)] | None = None
    scope: Scope | None = None


class WriteDecision(Wire):
    """The decision about a write, and its reason."""

    action: Action
    reason_code: ReasonCode


class WriteAnswer(Memory):
    """The memory, how it relates to what was there, and the decision."""

    relation: Relation
    decision: WriteDecision


class ReadQuery(Params):
    """`GET /v1/read`."""

    path: RecordPath


class ReadAnswer(Memory):
    """The memory, and its details as a note's front matter names them."""

    frontmatter: dict[str, Any]


class ForgetQuery(Params):
    """`DELETE /v1/note`."""

    path: RecordPath
    mode: Literal["tombstone", "erase"] = "tombstone"


class ForgottenAnswer(Wire):
    """The ids of forgotten memories; with `mode=erase` the receipt."""

    forgotten_memory_ids: list[str]
    receipt: Receipt | None = None


class IngestMessage(Params):
    """A message of a transcript; only what users and assistants said is kept."""

    role: Literal["user", "assistant", "system", "tool"]
    content: Text
    at: Millis | None = None


class IngestBody(Params):
    """`POST /v1/ingest`: a transcript from its beginning, of an agent's session; facts are taken where it is live."""

    agent: Id
    messages: Annotated[list[IngestMessage], Meta(min_length=1, max_length=10_000)]
    session_id: Annotated[str, Meta(min_length=1, max_length=512)] | None = None
    workspace_id: Id | None = None
    live: bool = False


class ConsolidateQuery(Params):
    """`POST /v1/consolidate`."""

    dry_run: bool = False


class EventsQuery(Params):
    """`GET /events`: notifications by name or as `group/*`, comma separated; all without `types`."""

    types: Annotated[str, Meta(max_length=4096)] | None = None
    workspace_id: Id | None = None
    thread_id: Id | None = None
