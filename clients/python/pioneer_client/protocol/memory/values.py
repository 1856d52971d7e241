"""The parts of records, decisions and candidates."""

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, field

from pioneer_client.protocol.base import Id, Millis, Params, Scope, Unit, Wire
from pioneer_client.protocol.record import (
    MAX_QUOTE_CHARS,
    Category,
    GivenDetails,
    Metadata,
    Provenance,
    Record,
    Sensitivity,
    SourceKind,
    StoredKey,
)

MAX_VALUE_BYTES = 1024
MAX_METADATA_BYTES = 8 * 1024
MAX_EVIDENCE = 8

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
    "active_created",
    "duplicate_active",
    "duplicate_candidate",
    "near_duplicate",
    "superseded_by_correction",
    "made_more_precise",
    "contradiction_candidate",
    "contradiction_resolved",
    "candidate_created",
    "proactive_writes_disabled",
    "review_disabled_middle_confidence",
    "low_score",
    "transient",
    "session_only",
    "secret_detected",
    "own_context_block",
    "regulated_needs_request",
    "assistant_inference",
    "tool_or_web_source",
    "generated_summary",
    "system_source",
    "task_owned",
    "thread_owned",
    "missing_evidence",
    "quote_not_found",
    "malformed_fact",
    "suppressed_by_rejection",
    "no_memory_requested",
    "memory_write_disabled",
    "invalid_scope",
    "too_many_facts",
    "not_own_words",
    "quote_too_short",
    "beyond_quote",
    "stored_as_said",
    "agent_note_created",
    "agent_notes_disabled",
    "note_would_instruct",
    "note_confirmed",
    "source_forgotten",
]
SearchMode: TypeAlias = Literal["hybrid", "lexical", "semantic"]
SemanticState: TypeAlias = Literal["ready", "pending", "off"]
SpaceKind: TypeAlias = Literal["static", "model"]
"""A vector of a static model is the mean of one vector a token; a model's is made by a network that reads the text."""
EntityType: TypeAlias = Literal["person", "organization", "project", "place", "system", "thing"]
Order: TypeAlias = Literal["updated_at", "created_at", "importance", "strength"]
EventName: TypeAlias = Literal[
    "created",
    "evidence_added",
    "contested",
    "uncontested",
    "superseded",
    "updated",
    "expired",
    "archived",
    "deleted",
    "restored",
    "erased",
    "imported",
    "confirmed",
    "reinforced",
    "promoted",
]
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
    """The place of a memory call, which yields the active scopes. Absent members fall back to `initialize`.

    Where that named no workspace, it is the thread's, else `ws_default`.
    """

    workspace_id: Id | None = None
    thread_id: Id | None = None
    agent_id: Id | None = None
    task_id: Id | None = None
    include_user: bool = False


class SemanticFields(Params):
    """A proposer's claims about a fact. An absent member takes the value that lets less through."""

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

    quote: Annotated[str, Meta(min_length=1, max_length=MAX_QUOTE_CHARS)]
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
    """The service's decision about a proposal, and its reason."""

    action: Action
    score: float
    bucket: Bucket
    reason_code: ReasonCode
    factors: list[Factor]


class Origin(Wire):
    """The cause of a change."""

    turn_id: str | None
    source_kind: SourceKind | None
    reason_code: str | None


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


class MemoryIdParams(Params):
    """`memory/reinforce` and `memory/archive`."""

    memory_id: Id
    context: Context = field(default_factory=Context)


class RecordResult(Wire):
    """The record as it is now."""

    record: Record
