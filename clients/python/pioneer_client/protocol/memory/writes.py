"""Writes: what is remembered, noted, confirmed, updated, merged and restored."""

from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType, field

from pioneer_client.protocol.base import Id, Millis, Params, Scope, Unit, Wire
from pioneer_client.protocol.memory.values import (
    MAX_EVIDENCE,
    AgentKind,
    Candidate,
    Context,
    Decision,
    Disposition,
    Evidence,
    IdempotencyKey,
    Key,
    Name,
    NoteStatus,
    ReasonCode,
    Relation,
    SemanticFields,
)
from pioneer_client.protocol.record import (
    Category,
    Content,
    GivenDetails,
    Kind,
    Metadata,
    Provenance,
    Record,
    RecordPath,
    Sensitivity,
    Tags,
)


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
    """The result of a write: a new record, or the one that said the same already."""

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


class WriteResult(Wire):
    """The service's decision; a refusal is a result with no record."""

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
    """The fate of a note, in a word, with the decision; `how_to_confirm` is a command for a person."""

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
