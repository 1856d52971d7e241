"""The fields of a record of durable memory, once: params, rows, answers and bundles take them from here.

Rule 1: a new field is a member of `RecordDetails` with a default, and a column of the table and the view of
`memory/schema.sql`.
Params, proposals, columns, answers and bundles then have it (CONTRIBUTING.md, "How to add a field of a record").
Rule 2: the gateway keeps within the bounds of what it takes; so a record that it shows is described without them.
"""

from typing import Annotated, Any, Final, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from protocol.base import Fields, Id, Millis, Params, Scope, Unit, Wire, matching

MAX_CONTENT_BYTES = 16 * 1024
MAX_QUOTE_CHARS = 2000
"""The most that a piece of evidence quotes, on the wire, in a bundle and from a tool."""

Category: TypeAlias = Literal[
    "identity",
    "preference",
    "biography",
    "relationship",
    "recurring_instruction",
    "project_policy",
    "project_fact",
    "project_decision",
    "procedure",
    "todo",
    "constraint",
    "communication_style",
    "custom",
]
Kind: TypeAlias = Literal["semantic", "episodic", "procedural", "observation", "session_summary"]
RouteKind: TypeAlias = Literal["any", "temporal", "preference", "procedure"]
"""The kind of thing that a question asks for.

What happened, what somebody prefers, how something is done; `any` where it does not say.
"""
Status: TypeAlias = Literal["active", "superseded", "expired", "archived", "deleted"]
Sensitivity: TypeAlias = Literal["normal", "personal", "secret_like", "regulated"]
SourceKind: TypeAlias = Literal[
    "explicit_user_request",
    "user_statement",
    "user_correction",
    "assistant_inference",
    "background_extractor",
    "tool_observation",
    "import",
    "file",
    "system",
    "agent_note",
]
Voice: TypeAlias = Literal["user", "machine"]
"""The author of a record's words: the user, or an agent whose note no person has confirmed."""
IndexState: TypeAlias = Literal["pending", "indexed", "repair_needed"]
ActorKind: TypeAlias = Literal["user", "assistant", "extractor", "system", "tool", "import"]

Content: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=MAX_CONTENT_BYTES, description="One fact in plain words; at most 16 KiB.")
]
StoredKey: TypeAlias = Annotated[str, Meta(min_length=1, max_length=8192, description="As the record shows it.")]
Tag: TypeAlias = Annotated[str, Meta(min_length=1, max_length=64)]
Tags: TypeAlias = Annotated[list[Tag], Meta(max_length=32)]
Metadata: TypeAlias = Annotated[dict[str, Any], Meta(description="The host's own data; at most 8 KiB of JSON.")]
RecordPath: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=512, description="A relative path with `/`, such as projects/harbor/plan.md.")
]
Count: TypeAlias = Annotated[int, Meta(ge=0, le=2**53)]


class Actor(Params):
    """The doer of something."""

    kind: ActorKind
    id: Annotated[str, Meta(max_length=128)] | None = None


class Provenance(Params):
    """The source of a record; set at creation and never changed."""

    source_kind: SourceKind = "explicit_user_request"
    thread_id: Id | None = None
    turn_id: Id | None = None
    item_id: Id | None = None
    created_by: Actor | None = None
    collection_id: Annotated[str, Meta(min_length=1, max_length=128)] | UnsetType = UNSET
    """With `source_kind: file`: the file of a collection, whose lines hold the words that are kept."""
    path: Annotated[str, Meta(min_length=1, max_length=4096)] | UnsetType = UNSET
    from_line: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    to_line: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    sha256: Annotated[str, matching("[0-9a-f]{64}")] | UnsetType = UNSET


class RecordDetails(Fields):
    """The fields that a caller may give beside words, scope, category and key, and that go into a record as they are.

    A new field has a default: records, bundles and clients from before it do not name it.
    """

    kind: Kind
    tags: Tags
    importance: Unit
    valid_from: Millis | None
    expires_at: Millis | None
    pinned: bool = False
    path: RecordPath | None = None
    """The place where a writer files it: no two active records of the home have one path, whatever its case."""
    metadata: Metadata


class GivenDetails(RecordDetails):
    """The same, as a caller may leave them out."""

    kind: Kind = "semantic"
    tags: Tags = []
    importance: Unit = 0.5
    valid_from: Millis | None = None
    expires_at: Millis | None = None
    pinned: bool = False
    path: RecordPath | None = None
    metadata: Metadata = {}


class RecordFields(RecordDetails):
    """A record as it is stored, and as it goes to another home."""

    memory_id: Id
    scope: Scope
    category: Category
    key: StoredKey
    content: Content
    value: Any
    status: Status
    sensitivity: Sensitivity
    confidence: Unit
    provenance: Provenance
    created_at: Millis
    updated_at: Millis
    last_accessed_at: Millis | None
    access_count: Count
    supersedes: Id | None
    superseded_by: Id | None
    contested: bool


class _ShownFields(RecordFields):
    """The fields that a home adds to a record that it shows."""

    namespace: str | None
    evidence_count: int
    index_state: IndexState
    reinforced_at: int = 0
    """The last beginning of its lifetime: at its making, by new evidence, a read, a restore, or `memory/reinforce`."""
    standing: float = 0.0
    """Its strength without regard to time; above 0.8 it lasts for good."""
    fades_at: int | None = None
    """The end of its lifetime; null: never."""
    strength: float = 0.0
    """Its strength now, 0 to 1: its standing, less what time has taken."""
    faded: bool = False
    """Its lifetime has ended, and it is the user's word: it stays active."""
    derived_from: list[str] = []
    voice: Voice = "user"


class Record(_ShownFields, Wire, bounded=False):
    """One durable memory."""


DETAILS: Final = RecordDetails.__struct_fields__


def details_of(source: RecordDetails) -> dict[str, Any]:
    """Return the details that something has, by their names; a tag is named once."""
    return {name: getattr(source, name) for name in DETAILS} | {"tags": list(dict.fromkeys(source.tags))}
