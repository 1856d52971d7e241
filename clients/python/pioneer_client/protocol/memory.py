"""Durable memory on the wire: records, semantic writes, decisions, candidates, explanations."""

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType, field

from pioneer_client.protocol.base import (
    At,
    Cancelled,
    Cursor,
    Diagnostic,
    DoorName,
    EdgeOrigin,
    Elsewhere,
    Id,
    Limit,
    Millis,
    Params,
    Query,
    Reason,
    Scope,
    Unit,
    Wire,
)  # fmt: skip
from pioneer_client.protocol.record import (
    Actor,
    Category,
    Content,
    GivenDetails,
    Kind,
    Metadata,
    Provenance,
    Record,
    RecordPath,
    RouteKind,
    Sensitivity,
    SourceKind,
    Status,
    StoredKey,
    Tags,
    Voice,
)

MAX_VALUE_BYTES = 1024
MAX_METADATA_BYTES = 8 * 1024
MAX_EVIDENCE = 8
MAX_BUNDLE_BYTES = 4 * 1024 * 1024

Relation: TypeAlias = Literal["duplicate", "compatible_update", "contradiction", "novel", "suppressed_by_rejection"]
Intent: TypeAlias = Literal["explicit_store", "implicit_candidate", "explicit_forget", "explicit_no_memory"]
Explicitness: TypeAlias = Literal["explicit", "implicit", "unclear"]
Subject: TypeAlias = Literal[
    "current_user", "current_agent", "workspace", "project", "person", "organization", "artifact", "custom"
]
ScopeHint: TypeAlias = Literal["user_global", "agent_global", "agent_workspace", "project_workspace", "unknown"]
Durability: TypeAlias = Literal["long_lived", "project_lifetime", "session_only", "transient", "unknown"]
SensitivityHint: TypeAlias = Literal["none", "personal", "regulated", "secret", "unknown"]
Certainty: TypeAlias = Literal["high", "medium", "low"]
Cardinality: TypeAlias = Literal["single", "set"]
Disposition: TypeAlias = Literal[
    "route_to_candidate_policy", "accept_active", "create_pending_candidate", "reject_suppressed"
]
Action: TypeAlias = Literal["activate", "merge", "supersede", "candidate", "reject", "suppress"]
Bucket: TypeAlias = Literal["low", "middle", "high"]
ReasonCode: TypeAlias = Literal[
    "active_created", "duplicate_active", "duplicate_candidate", "near_duplicate", "superseded_by_correction",
    "made_more_precise", "contradiction_candidate", "contradiction_resolved", "candidate_created",
    "proactive_writes_disabled", "review_disabled_middle_confidence", "low_score", "transient", "session_only",
    "secret_detected", "own_context_block", "regulated_needs_request", "assistant_inference", "tool_or_web_source",
    "generated_summary", "system_source", "task_owned", "thread_owned", "missing_evidence", "quote_not_found",
    "malformed_fact", "suppressed_by_rejection", "no_memory_requested", "memory_write_disabled", "invalid_scope",
    "too_many_facts", "not_own_words", "quote_too_short", "beyond_quote", "stored_as_said", "agent_note_created",
    "agent_notes_disabled", "note_would_instruct", "note_confirmed", "source_forgotten",
]  # fmt: skip
SearchMode: TypeAlias = Literal["hybrid", "lexical", "semantic"]
SemanticState: TypeAlias = Literal["ready", "pending", "off"]
SpaceKind: TypeAlias = Literal["static", "model"]
"""A vector of a static model is the mean of one vector a token; a model's is made by a network that reads the text."""
EntityType: TypeAlias = Literal["person", "organization", "project", "place", "system", "thing"]
Order: TypeAlias = Literal["updated_at", "created_at", "importance", "strength"]
EventName: TypeAlias = Literal[
    "created", "evidence_added", "contested", "uncontested", "superseded", "updated", "expired", "archived", "deleted",
    "restored", "erased", "imported", "confirmed", "reinforced", "promoted",
]  # fmt: skip
ChangeKind: TypeAlias = Literal["created", "updated", "superseded", "deleted", "restored", "expired", "archived"]
AgentKind: TypeAlias = Literal["assistant", "tool", "system"]
NoteStatus: TypeAlias = Literal["noted", "duplicate", "rejected"]

Key: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=256, description="The caller's own name for the fact, or a canonical key.")
]
IdempotencyKey: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=128, description="A repeat of the same request answers the same; 30 days.")
]
Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=128)]


class Context(Params):
    """Where a memory call comes from, which yields the active scopes. Absent members fall back to `initialize`."""

    workspace_id: Id | None = None
    thread_id: Id | None = None
    agent_id: Id | None = None
    task_id: Id | None = None
    include_user: bool = False


class SemanticFields(Params):
    """What a proposer claims about a fact. An absent member takes the value that lets less through."""

    intent: Intent = "implicit_candidate"
    explicitness: Explicitness = "unclear"
    category: Category = "custom"
    subject: Subject = "current_user"
    subject_key: Name | None = None
    attribute: Name = "custom"
    custom_attribute: Name | None = None
    scope_hint: ScopeHint = "unknown"
    durability: Durability = "unknown"
    sensitivity: SensitivityHint = "unknown"
    certainty: Certainty = "low"
    cardinality: Cardinality | None = None


class ProposalFields(GivenDetails):
    """A proposal without its words; a candidate keeps it for the day on which it becomes a record."""

    semantic: SemanticFields = SemanticFields()
    alias: StoredKey | None = None
    confidence: Unit | None = None
    metadata: Metadata | None = None  # pyright: ignore[reportIncompatibleVariableOverride]  # null came with older bundles
    provenance: Provenance = Provenance(source_kind="user_statement")
    declared: Sensitivity | None = None


class Evidence(Params):
    """Words that support a fact. With `item_id` they must occur in that item, whose role then says who spoke."""

    quote: Annotated[str, Meta(min_length=1, max_length=2000)]
    thread_id: Id | None = None
    turn_id: Id | None = None
    item_id: Id | None = None
    source_kind: SourceKind | None = None
    at: Millis | None = None


class Factor(Wire):
    """One term of an admission score, or the fact that decided without a score."""

    name: str
    value: Any
    weight: float
    contribution: float
    why: str


class Decision(Wire):
    """What the service decided about a proposal, and why."""

    action: Action
    score: float
    bucket: Bucket
    reason_code: ReasonCode
    factors: list[Factor]


class Origin(Wire):
    """What caused a change."""

    turn_id: str | None
    source_kind: SourceKind | None
    reason_code: str | None


# -- reads ---------------------------------------------------------------------------------------------------------


class Filters(Params):
    """What search and list share."""

    context: Context = field(default_factory=Context)
    scopes: list[Scope] | None = None
    categories: list[Category] | None = None
    kinds: list[Kind] | None = None
    tags: Tags | None = None
    statuses: list[Status] | None = None
    voices: list[Voice] | None = None
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
    """What a model made of a record's text, and when. It is nobody's word."""

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


# -- writes --------------------------------------------------------------------------------------------------------


class RememberParams(GivenDetails, Params):
    """`memory/remember`: an explicit wish to keep something."""

    content: Content
    category: Category = "custom"
    attribute: Name | None = None
    """The attribute of its subject that it states, such as `home` or `favourite colour`.

    There is one at a time, so a later one replaces it.
    """
    scope: Scope | None = None
    key: Key | None = None
    value: Any = None
    sensitivity: Sensitivity | None = None
    confidence: Unit = 1.0
    supersedes: Id | None = None
    idempotency_key: IdempotencyKey | None = None
    provenance: Provenance | None = None
    context: Context = field(default_factory=Context)


class RememberResult(Wire):
    """What became of it: a new record, or the one that said the same already."""

    record: Record
    created: bool
    relation: Relation
    decision: Decision
    superseded_memory_id: str | None = None


class WriteParams(GivenDetails, Params):
    """`memory/write`: a proposal with its semantics and evidence."""

    semantic: SemanticFields
    content: Content
    scope: Scope | None = None
    key: Key | None = None
    value: Any = None
    evidence: Annotated[list[Evidence], Meta(max_length=MAX_EVIDENCE)] = []
    disposition: Disposition = "route_to_candidate_policy"
    confidence: Unit | None = None
    idempotency_key: IdempotencyKey | None = None
    provenance: Provenance | None = None
    context: Context = field(default_factory=Context)


CandidateStatus: TypeAlias = Literal["pending", "approved", "rejected", "expired", "merged", "suppressed"]


class Candidate(Wire):
    """A proposal that waits for a person, for repetition, or for nothing any more."""

    candidate_id: str
    scope: Scope
    category: Category
    key: str
    content: str
    value: Any
    status: CandidateStatus
    score: float
    bucket: Bucket
    reason_code: ReasonCode
    evidence_count: int
    contested_memory_id: str | None
    promoted_memory_id: str | None
    merged_into: str | None
    created_at: int
    decided_at: int | None
    decided_by: str | None


class WriteResult(Wire):
    """What the service decided; a refusal is a result with no record."""

    relation: Relation
    canonical_key: str
    semantic_fingerprint: str
    decision: Decision
    record: Record | None
    candidate: Candidate | None
    superseded_memory_id: str | None
    evidence_merged: bool


class NoteParams(Params):
    """`memory/note`: what an agent noted on its own account. It is no word of the user until a person confirms it.

    A note has the scope of a workspace or an agent. One that has faded goes to the archive.
    """

    content: Content
    agent_id: Id
    agent_kind: AgentKind = "assistant"
    kind: Kind = "observation"
    category: Category = "custom"
    scope: Scope | None = None
    value: Any = None
    tags: Tags = []
    importance: Unit = 0.5
    path: RecordPath | None = None
    expires_at: Millis | None = None
    idempotency_key: IdempotencyKey | None = None
    context: Context = field(default_factory=Context)


class NoteResult(WriteResult):
    """What became of a note, in a word, with the decision; `how_to_confirm` is a command for a person."""

    status: NoteStatus
    reason_code: ReasonCode
    memory_id: str | None = None
    how_to_confirm: str | None = None


class ConfirmParams(Params):
    """`memory/confirm`: a person takes an agent's note for their own word."""

    memory_id: Id
    context: Context = field(default_factory=Context)


class ConfirmResult(Wire):
    """The record, which is the user's word from now on."""

    record: Record


class UpdateParams(Params):
    """`memory/update`: new content is an explicit correction, everything else changes in place."""

    memory_id: Id
    content: Content | UnsetType = UNSET
    value: Any = UNSET
    tags: Tags | UnsetType = UNSET
    category: Category | UnsetType = UNSET
    importance: Unit | UnsetType = UNSET
    pinned: bool | UnsetType = UNSET
    expires_at: Millis | None | UnsetType = UNSET
    metadata: Metadata | UnsetType = UNSET
    expected_updated_at: Millis | None = None
    context: Context = field(default_factory=Context)


class UpdateResult(Wire):
    """The record as it is now."""

    record: Record
    superseded_memory_id: str | None = None


class ForgetById(Params, tag_field="kind", tag="id"):
    """One record."""

    memory_id: Id


class ForgetByKey(Params, tag_field="kind", tag="scoped_key"):
    """The active record of a key, canonical or the caller's own."""

    scope: Scope
    key: Key


class ForgetByPath(Params, tag_field="kind", tag="path"):
    """The active record that a writer filed under a path."""

    path: RecordPath


class ForgetByTurn(Params, tag_field="kind", tag="turn"):
    """Everything learnt from a turn."""

    turn_id: Id


class ForgetByThread(Params, tag_field="kind", tag="thread"):
    """Everything learnt from a thread."""

    thread_id: Id


class ForgetByScope(Params, tag_field="kind", tag="scope"):
    """Everything in a scope."""

    scope: Scope


ForgetTarget: TypeAlias = ForgetById | ForgetByKey | ForgetByPath | ForgetByTurn | ForgetByThread | ForgetByScope


class ForgetParams(Params):
    """`memory/forget`."""

    target: ForgetTarget
    mode: Literal["tombstone", "erase"] = "tombstone"
    reason: Reason | None = None
    dry_run: bool = False
    include_sources: bool = False
    restore_superseded: bool = True
    context: Context = field(default_factory=Context)


class RemovedCounts(Wire):
    """Rows that an erase removed, per store."""

    records: int = 0
    evidence: int = 0
    candidates: int = 0
    fts_rows: int = 0
    vectors: int = 0
    jobs: int = 0
    snapshots: int = 0
    graphs: int = 0
    sources: int = 0


class SourceItem(Wire):
    """A message that a forgotten memory came from."""

    thread_id: str
    turn_id: str | None
    item_id: str | None


ForgottenPlace: TypeAlias = Literal[
    "message", "turn", "tool_reply", "hook_run", "thread", "workspace", "artifact", "memory", "candidate", "evidence",
    "decision", "answer", "exclusion", "config", "log", "backup", "instruction", "agent",
    "shown_line",
]  # fmt: skip
LeftReason: TypeAlias = Literal[
    "sources_kept", "another_memory", "restorable", "common_word", "identifier", "file_content", "own_file", "log_line",
    "may_hold_it", "unreadable", "still_written",
]  # fmt: skip


class SourcePlace(Wire):
    """A place that said the words of what was forgotten."""

    place: ForgottenPlace
    id: str


class LeftPlace(Wire):
    """A place that still says the words of what was forgotten, and why."""

    place: ForgottenPlace
    id: str
    reason: LeftReason


class LeftFile(Wire):
    """A file of a collection."""

    collection_id: str
    path: str


class Remaining(Wire):
    """What an erase left: the messages it came from, backups in `HOME/backups`, and each place that holds its words."""

    items: list[SourceItem]
    backups: list[str]
    places: list[LeftPlace] = []
    more: int = 0
    """How many places are not named."""
    files: list[LeftFile] = []
    """Files of the user that it was taken from and that still say it: nothing of them is changed."""


class Receipt(Wire):
    """Proof of an erase; `complete` once no file of the home holds the bytes any more, but for what `remaining` names.

    With `include_sources` it is complete only if a search for the words finds nothing. `sources` are the places out of
    which the words were, or would be, taken.
    """

    memory_ids: list[str]
    removed: RemovedCounts
    remaining: Remaining
    wal: Literal["truncated", "pending"]
    complete: bool
    sources: list[SourcePlace] = []


class ForgetResult(Wire):
    """What was (or, in a dry run, would be) forgotten."""

    forgotten_memory_ids: list[str]
    dry_run: bool
    receipt: Receipt | None = None
    cancelled: list[Cancelled] = []


class MergeParams(Params):
    """`memory/merge`: a person says that one record is the other one in other words."""

    memory_id: Id
    into_memory_id: Id
    idempotency_key: IdempotencyKey | None = None
    context: Context = field(default_factory=Context)


class MergeResult(Wire):
    """The record that stays. The merged one is superseded by it; `memory/restore` brings it back."""

    record: Record
    merged_memory_id: str


class RestoreParams(Params):
    """`memory/restore`."""

    memory_id: Id
    context: Context = field(default_factory=Context)


class RestoreResult(Wire):
    """The record, active again."""

    record: Record


class MemoryIdParams(Params):
    """`memory/reinforce` and `memory/archive`."""

    memory_id: Id
    context: Context = field(default_factory=Context)


class RecordResult(Wire):
    """The record as it is now."""

    record: Record


class HistoryParams(Params):
    """`memory/history`."""

    memory_id: Id
    context: Context = field(default_factory=Context)


class Event(Wire):
    """One thing that happened to a record."""

    at: int
    event: EventName
    actor: Actor
    reason_code: str | None
    from_status: Status | None
    to_status: Status | None
    memory_id: str


class HistoryResult(Wire):
    """The whole supersession chain's events, oldest first."""

    events: list[Event]


ChangeEvent: TypeAlias = Literal[
    "learned", "replaced", "forgotten", "restored", "archived", "expired", "changed", "erased", "proposed"
]
"""A change of durable memory as a person sees it.

`replaced`: the record stands in the place of another one, which `record.supersedes` names. Where `record` is the one
that is replaced itself, it was merged into the other one. `changed`: in place, as an importance or a tag.
"""


class MemoryChangesParams(Params):
    """`memory/changes`: from `since_at` on, and before `until_at`."""

    since_at: Millis
    until_at: Millis | None = None
    scopes: list[Scope] | None = None
    include_sensitive: bool = False
    context: Context = field(default_factory=Context)
    limit: Limit = 20
    cursor: Cursor | None = None


class ChangeOrigin(Wire):
    """Where a change comes from: the door and the client that asked for it, the conversation, and the reason's code.

    `client` is the name by which a program introduced itself. Members that nothing is known of are null.
    """

    door: DoorName | None
    client: str | None
    thread_id: str | None
    turn_id: str | None
    reason_code: str | None


class UndoCall(Wire):
    """The call that takes a change back; the context is the caller's."""

    method: str
    params: dict[str, Any]


class MemoryChange(Wire):
    """One change, with the record or the candidate as it is now.

    `record` is null where its words may not be shown: `withheld` says why, as `deleted`, `regulated` or `erased`.
    `undo` is null where there is nothing that could be taken back any more.
    """

    at: int
    event: ChangeEvent
    memory_id: str | None
    candidate_id: str | None
    scope: Scope
    category: Category | None
    record: Record | None
    candidate: Candidate | None
    withheld: str | None
    origin: ChangeOrigin
    undo: UndoCall | None


class MemoryChangesResult(Wire):
    """Changes, newest first."""

    changes: list[MemoryChange]
    next_cursor: str | None


# -- candidates ----------------------------------------------------------------------------------------------------


class CandidateListParams(Params):
    """`memory/candidates/list`."""

    statuses: list[CandidateStatus] = field(default_factory=lambda: ["pending"])
    scopes: list[Scope] | None = None
    categories: list[Category] | None = None
    context: Context = field(default_factory=Context)
    limit: Limit = 20
    cursor: Cursor | None = None


class CandidateListResult(Wire):
    """Candidates, newest first."""

    candidates: list[Candidate]
    next_cursor: str | None


class CandidateParams(Params):
    """A candidate by id."""

    candidate_id: Id
    context: Context = field(default_factory=Context)


class CandidateReasonParams(CandidateParams):
    """A candidate by id, with the decider's words."""

    reason: Reason | None = None


class CandidateDecideParams(CandidateReasonParams):
    """`memory/candidates/decide`."""

    decision: Literal["approve", "reject", "expire"]


class CandidateEditParams(CandidateReasonParams):
    """`memory/candidates/edit_and_approve`."""

    content: Content
    value: Any = None


class CandidateMergeParams(CandidateReasonParams):
    """`memory/candidates/merge`: into another candidate or into a record."""

    target_candidate_id: Id | None = None
    target_memory_id: Id | None = None


class CandidateResult(Wire):
    """The candidate as it is now, and the record that came of it."""

    candidate: Candidate
    record: Record | None = None


# -- explaining ----------------------------------------------------------------------------------------------------


class ExplainTarget(Params):
    """What to explain. A `turn` may be a call outside of any turn: the `call_…` of a refused proposal over MCP."""

    kind: Literal["memory", "candidate", "turn", "hook_run"]
    id: Id


class ExplainParams(Params):
    """`memory/explain`: a `target`, or a `query` as it would be recalled in `context`."""

    target: ExplainTarget | None = None
    query: Query | None = None
    context: Context = field(default_factory=Context)


GateName: TypeAlias = Literal[
    "memory_enabled", "extraction_enabled", "turn_succeeded", "policy", "eligibility", "extractor", "fact_valid",
    "quote", "own_words", "instruction", "secret", "scope", "duplicate", "admission", "recall_enabled", "scope_active",
    "status", "expiry", "voice", "sensitivity", "integrity", "excluded", "candidate", "floor", "budget",
    "already_shown",
]  # fmt: skip


class Gate(Wire):
    """One question that a write or a recall had to pass."""

    gate: GateName
    passed: bool
    reason_code: str | None
    detail: str | None = None


class RankedCandidate(Wire):
    """Something that a recall considered. Never its text."""

    rank: int
    score: float
    factors: dict[str, float]
    cut_by: str | None
    memory_id: str | None = None
    chunk_id: str | None = None
    lexical_rank: int | None = None
    semantic_rank: int | None = None


class BudgetUse(Wire):
    """How much of a budget was used and what it cut."""

    name: str
    limit: int
    used: int
    cut: int = 0


class Missing(Wire):
    """Something that an explanation would need and that is not there."""

    kind: str
    reason: str


class ExplainRun(Wire):
    """A hook run that had to do with it."""

    run_id: str
    hook_id: str
    status: str
    diagnostics: list[Diagnostic]


class FileSource(Wire):
    """A place in a file that a memory was taken from, and what became of it."""

    collection_id: str
    path: str
    from_line: int | None
    to_line: int | None
    state: Literal["same", "moved", "changed", "gone"]


class ExplainResult(Wire):
    """Why something was or was not saved or recalled."""

    outcome: Literal["saved", "merged", "superseded", "candidate", "rejected", "recalled", "not_recalled", "unknown"]
    summary: str
    gates: list[Gate]
    decision: Decision | None
    candidates: list[RankedCandidate]
    hook_runs: list[ExplainRun]
    budgets: list[BudgetUse]
    missing: list[Missing]
    decisions: list[Decision] = []
    files: list[FileSource] = []
    """The places in files that a memory rests on."""


# -- statistics and bundles ----------------------------------------------------------------------------------------


class StatsParams(Params):
    """`memory/stats`."""

    context: Context = field(default_factory=Context)


class ScopeCount(Wire):
    """How many records a scope holds."""

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


class ExportParams(Params):
    """`memory/export`."""

    scopes: list[Scope] | None = None
    cursor: Cursor | None = None
    context: Context = field(default_factory=Context)


class ExportResult(Wire):
    """A page of JSON Lines (the shapes `Bundle…`), whole in itself: it can be imported alone and in any order.

    Each page is made when it is asked for. Damaged records, and those that hold a number which is not kept any more,
    are left out and named in `diagnostics`. A forgotten one is a tombstone without content. A regulated one is in it:
    a backup that loses it is none.
    """

    bundle: str
    next_cursor: str | None
    diagnostics: list[Diagnostic] = []


class ImportParams(Params):
    """`memory/import`: a bundle of at most 4 MiB of UTF-8. A dry run answers the same and changes nothing."""

    bundle: Annotated[str, Meta(max_length=MAX_BUNDLE_BYTES)]
    dry_run: bool = False
    context: Context = field(default_factory=Context)


ConflictReason: TypeAlias = Literal[
    "scope_out_of_context", "secret_detected", "own_context_block", "different_record", "newer_there", "key_taken",
    "path_taken", "forgotten_there",
]  # fmt: skip


class Conflict(Wire):
    """An entry of the bundle that was not taken in and that the user may want to look at; this home's stayed as it is.

    `memory_id` is the entry's id (a candidate's id for a candidate). `different_record`: the id is taken by something
    else; `newer_there`: the same record, changed there since; `key_taken`, `path_taken`: another active record has its
    key or its path; `forgotten_there`: forgotten in the home that wrote the bundle, and kept here.
    """

    memory_id: str
    existing_memory_id: str | None
    reason: ConflictReason


class ImportResult(Wire):
    """What an import did. Every line of the bundle but the first and the last is counted once.

    `imported`: records and candidates that are new here. `skipped`: entries that were here already, or state the same
    as an active record. `tombstoned`: tombstones that are new here, and entries kept out because they were forgotten
    here.
    """

    imported: int
    skipped: int
    conflicts: list[Conflict]
    tombstoned: int


# -- the extractor's answer ----------------------------------------------------------------------------------------

MAX_FACTS = 8


class FactEvidence(Params):
    """The user's own words that a fact rests on.

    A wrong `item_id` does no harm where one message alone holds the quote.
    """

    quote: Annotated[str, Meta(min_length=1, max_length=500)]
    item_id: str | int | None = None


class Fact(Params):
    """One fact of the extractor's answer; validated alone."""

    content: Annotated[str, Meta(min_length=1, max_length=800)]
    evidence: FactEvidence
    semantic: SemanticFields = field(default_factory=SemanticFields)
    value: Any = None
    same_as: str | None = None
    """The record of the manifest that states the same.

    It counts only if the quote's figures, names and denials stand in it.
    """
