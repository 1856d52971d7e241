"""The lines of a bundle: durable memory as JSON Lines, for a backup, a move or another home.

Rule 1: a bundle is UTF-8 JSON Lines: a header, one object a line, and at last the SHA-256 of every byte before that
last line.
Rule 2: nothing in it depends on the home that wrote it, except the keyed hashes of a tombstone, which name their key.
Rule 3: input from anywhere: unknown members are refused, every text and list is bounded.
"""

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta

from protocol.base import Id, Millis, Params, Scope, matching
from protocol.memory.values import Action, Bucket, CandidateStatus, EventName, ProposalFields, ReasonCode
from protocol.record import (
    MAX_QUOTE_CHARS,
    Actor,
    Category,
    Content,
    Count,
    RecordFields,
    SourceKind,
    Status,
    StoredKey,
)

BUNDLE_VERSION = 1
BUNDLE_FORMAT: Literal["pioneer.memory"] = "pioneer.memory"

KeptStatus: TypeAlias = Literal["active", "superseded", "expired", "archived"]
Level: TypeAlias = Literal["normal", "personal", "regulated"]
Code: TypeAlias = Annotated[str, matching("[a-z0-9_]{1,64}")]
KeyedHex: TypeAlias = Annotated[str, matching("[0-9a-f]{64}", "HMAC-SHA-256 under the key `key_id`.")]
KeyId: TypeAlias = Annotated[str, matching("[0-9a-f]{32}", "Names the key of a home; tells nothing of it.")]


class BundleCounts(Params):
    """The number of lines of each kind that follow."""

    records: Count
    candidates: Count
    tombstones: Count


class BundleHeader(Params, tag_field="type", tag="header"):
    """The first line."""

    version: int
    created_at: Millis
    counts: BundleCounts
    format: Literal["pioneer.memory"] = BUNDLE_FORMAT


class BundledEvidence(Params):
    """Words that support a record or a candidate."""

    quote: Annotated[str, Meta(min_length=1, max_length=MAX_QUOTE_CHARS)]
    source_kind: SourceKind
    at: Millis
    thread_id: Id | None = None
    turn_id: Id | None = None
    item_id: Id | None = None


class BundledEvent(Params):
    """A step of a record's history."""

    at: Millis
    event: EventName
    actor: Actor
    reason_code: Code | None = None
    from_status: Status | None = None
    to_status: Status | None = None


class BundledFactor(Params):
    """One term of a decision's score."""

    name: Annotated[str, Meta(max_length=128)]
    value: Any
    weight: float
    contribution: float
    why: Annotated[str, Meta(max_length=512)]


class BundledDecision(Params):
    """A decision about a record or a candidate, and its reason."""

    at: Millis
    action: Action
    score: float
    bucket: Bucket
    reason_code: ReasonCode
    factors: Annotated[list[BundledFactor], Meta(max_length=64)] = []
    candidate_id: Id | None = None
    thread_id: Id | None = None
    turn_id: Id | None = None
    run_id: Id | None = None


class BundleRecord(RecordFields, Params, tag_field="type", tag="record"):
    """A record with its evidence, history and decisions.

    One that is too large for a line is on several, each with another part of the three lists.
    """

    alias: StoredKey | None
    is_single: bool
    status: KeptStatus
    sensitivity: Level
    events: list[BundledEvent] = []
    decisions: list[BundledDecision] = []
    evidence: list[BundledEvidence] = []


class BundledProposal(ProposalFields, Params):
    """The members of a candidate's record beside its text."""

    under_review: bool = False
    """It was made while a person reviews proposals: no pass decides on it."""


class BundleCandidate(Params, tag_field="type", tag="candidate"):
    """A candidate with its evidence and decisions; on several lines where one is too small."""

    candidate_id: Id
    scope: Scope
    category: Category
    key: StoredKey
    content: Content
    value: Any
    status: CandidateStatus
    score: float
    bucket: Bucket
    reason_code: ReasonCode
    evidence_count: Count
    contested_memory_id: Id | None
    promoted_memory_id: Id | None
    merged_into: Id | None
    created_at: Millis
    touched_at: Millis
    decided_at: Millis | None
    decided_by: Annotated[str, Meta(max_length=128)] | None
    turn_id: Id | None
    proposal: BundledProposal
    decisions: list[BundledDecision] = []
    evidence: list[BundledEvidence] = []


class BundleTombstone(Params, tag_field="type", tag="tombstone"):
    """Something was forgotten. It holds no content: an id, and hashes that only the home with that key can compare."""

    memory_id: Id
    scope: Scope
    forgotten_at: Millis
    key_id: KeyId
    fingerprint: KeyedHex
    text_hash: KeyedHex
    key_hash: KeyedHex


class BundleEnd(Params, tag_field="type", tag="end"):
    """The last line."""

    sha256: Annotated[str, matching("[0-9a-f]{64}")]


BundleEntry: TypeAlias = BundleRecord | BundleCandidate | BundleTombstone
