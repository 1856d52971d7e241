"""Searches, reads and lists of durable memory, and its statistics."""

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, field

from protocol.base import At, Cursor, Diagnostic, EdgeOrigin, Elsewhere, Id, Limit, Params, Query, Scope, Unit, Wire
from protocol.memory.values import Context, EntityType, Key, Order, SearchMode, SemanticState
from protocol.record import Category, Kind, Record, RecordPath, RouteKind, SourceKind, Status, Tags, Voice

SourceAgents: TypeAlias = Annotated[
    list[Id], Meta(description="What these agents noted or is in their scope; `user`: what is the user's word.")
]


class Filters(Params):
    """The filters that search and list share."""

    context: Context = field(default_factory=Context)
    scopes: list[Scope] | None = None
    categories: list[Category] | None = None
    kinds: list[Kind] | None = None
    tags: Tags | None = None
    statuses: list[Status] | None = None
    voices: list[Voice] | None = None
    source_agents: SourceAgents | None = None
    include_sensitive: bool = False
    limit: Limit = 20
    cursor: Cursor | None = None


class SearchParams(Filters):
    """`memory/search`."""

    query: Query
    mode: SearchMode = "hybrid"
    min_score: Unit | None = None
    include_provenance: bool = True
    count_elsewhere: bool = False
    time_zone: Annotated[
        Annotated[str, Meta(min_length=1, max_length=256)] | None,
        Meta(description='The IANA zone that "yesterday" is meant in; absent, as `initialize` said.'),
    ] = None


class Hit(Wire):
    """A record found, with its score from 0 to 1 and the parts of it."""

    record: Record
    score: float
    breakdown: dict[str, float]
    snippet: str
    matched_terms: list[str]


class SearchRoute(Wire):
    """The kind of memory that a query asks for, which moves records up or down, and the time that it names.

    `kinds` of the query switches this off.
    """

    kind: RouteKind = "any"
    from_at: int | None = None
    to_at: int | None = None


class SearchResult(Wire):
    """Hits, best first.

    Where there is none and `count_elsewhere` asks for it, `elsewhere` counts those of other workspaces.
    """

    hits: list[Hit]
    next_cursor: str | None
    semantic: SemanticState
    diagnostics: list[Diagnostic] = []
    elsewhere: list[Elsewhere] = []
    route: SearchRoute = SearchRoute()


class GetParams(Params):
    """`memory/get`: by `memory_id`, by `path`, or by `scope` and `key`.

    A read keeps a record from fading, unless `is_read` is false: for a client that only shows what is there.
    """

    memory_id: Id | None = None
    path: RecordPath | None = None
    scope: Scope | None = None
    key: Key | None = None
    include_deleted: bool = False
    include_enrichment: bool = False
    include_evidence: bool = False
    is_read: bool = True
    context: Context = field(default_factory=Context)


class SimilarTo(Wire):
    """A record that looks like another one; a hint for a person, who may merge the two."""

    memory_id: str


class EnrichedEntity(Wire):
    """A name in a record's text, and the type of thing that a model takes it for."""

    name: str
    type: EntityType


class EnrichedEdge(Wire):
    """A link between two names, as a record states it. `strength`: 0 to 1."""

    from_: str = field(name="from")
    kind: str
    to: str
    strength: float
    origin: EdgeOrigin


class Enrichment(Wire):
    """A model's reading of a record's text, and its time. It is nobody's word."""

    entities: list[EnrichedEntity]
    topics: list[str]
    summary: str | None
    edges: list[EnrichedEdge]
    model: str
    at: At


class KeptEvidence(Wire):
    """Words that a record rests on, and where they were said."""

    quote: str
    source_kind: SourceKind
    thread_id: str | None
    turn_id: str | None
    item_id: str | None
    at: int


class ShownIn(Wire):
    """A turn in whose prompt a record stood."""

    thread_id: str
    turn_id: str
    at: int


class GetResult(Wire):
    """The record, or null if it does not exist or is outside the context, with up to five similar active ones.

    `enrichment` is null where it was not asked for, and where no model has looked at the record's present text.
    `evidence` and `shown_in`, the newest first and at most fifty of each, are empty where they were not asked for, and
    of a record that is forgotten.
    """

    record: Record | None
    similar_to: list[SimilarTo] = []
    enrichment: Enrichment | None = None
    evidence: list[KeptEvidence] = []
    shown_in: list[ShownIn] = []


class LinksParams(Params):
    """`memory/links`."""

    memory_id: Id
    depth: Annotated[int, Meta(ge=1, le=2)] = 1
    context: Context = field(default_factory=Context)


class MemoryLink(Wire):
    """A record that is linked to another one: `out` is where the other's link leads, `in` where one comes from."""

    memory_id: str
    kind: str
    origin: EdgeOrigin
    direction: Literal["in", "out"]


class LinksResult(Wire):
    """The records that are linked to a record, the nearest first; at most a hundred."""

    links: list[MemoryLink]


class ListParams(Filters):
    """`memory/list`."""

    order: Order = "updated_at"


class ListResult(Wire):
    """Records in the order asked for, newest or greatest first."""

    records: list[Record]
    next_cursor: str | None


class SimilarParams(Params):
    """`memory/similar`."""

    scopes: list[Scope] | None = None
    include_sensitive: bool = False
    context: Context = field(default_factory=Context)
    limit: Limit = 20
    cursor: Cursor | None = None


class SimilarPair(Wire):
    """Two similar active records of one scope; `cosine` is null where only their words are known to be the same."""

    record: Record
    other: Record
    cosine: float | None


class SimilarResult(Wire):
    """A page of pairs, each once, those of the newest records first. An empty page may have a next one."""

    pairs: list[SimilarPair]
    next_cursor: str | None


class StatsParams(Params):
    """`memory/stats`."""

    context: Context = field(default_factory=Context)


class ScopeCount(Wire):
    """The number of records that a scope holds."""

    scope: Scope
    count: int


class RecordCounts(Wire):
    """Records of the active scopes, counted three ways."""

    by_scope: list[ScopeCount]
    by_category: dict[str, int]
    by_status: dict[str, int]


class DecisionCounts(Wire):
    """Decisions of the active scopes; those that left neither record nor candidate for half a year."""

    by_reason_code: dict[str, int]


class IndexCounts(Wire):
    """Records by the state of their derived data."""

    pending: int = 0
    indexed: int = 0
    repair_needed: int = 0


class StatsResult(Wire):
    """Counts for the active scopes."""

    records: RecordCounts
    candidates: dict[str, int]
    decisions: DecisionCounts
    index: IndexCounts
