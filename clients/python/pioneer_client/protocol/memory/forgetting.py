"""Forgetting: what is meant, what was removed, and what is left elsewhere."""

from typing import Literal, TypeAlias

from msgspec import field

from pioneer_client.protocol.base import Cancelled, Id, Params, Reason, Scope, Wire
from pioneer_client.protocol.memory.values import Context, Key
from pioneer_client.protocol.record import RecordPath


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
    """`memory/forget`.

    Each kind of target has a member of its own (`memory_id`, `turn_id` ...); that of `memory/explain` has `id`.
    """

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
    "message",
    "turn",
    "tool_reply",
    "hook_run",
    "thread",
    "workspace",
    "artifact",
    "memory",
    "candidate",
    "evidence",
    "earlier_value",
    "decision",
    "answer",
    "exclusion",
    "config",
    "log",
    "backup",
    "instruction",
    "agent",
    "shown_line",
]
LeftReason: TypeAlias = Literal[
    "sources_kept",
    "another_memory",
    "restorable",
    "common_word",
    "identifier",
    "file_content",
    "own_file",
    "log_line",
    "may_hold_it",
    "unreadable",
    "still_written",
]


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
    """A file of a collection that says the words of what was forgotten: it is the user's own, and never changed."""

    collection_id: str
    path: str
    reason: LeftReason = "own_file"


class Remaining(Wire):
    """The rest after an erase: messages it came from, backups in `HOME/backups`, each place that holds its words."""

    items: list[SourceItem]
    backups: list[str]
    places: list[LeftPlace] = []
    more: int = 0
    """The number of places and files that are not named: files of other workspaces never are."""
    files: list[LeftFile] = []
    """Files in the caller's collections that say it, and those that it was taken from."""


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
    """The memories that were (or, in a dry run, would be) forgotten."""

    forgotten_memory_ids: list[str]
    dry_run: bool
    receipt: Receipt | None = None
    cancelled: list[Cancelled] = []
    same_sentence: list[str] = []
    """The active memories that stay and rest on the same words of a turn as the one that was named."""
