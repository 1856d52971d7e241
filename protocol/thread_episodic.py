"""Conversation search on the wire: hits, index status, jobs."""

import re
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from protocol.base import (
    ID_TEXT,
    At,
    Cursor,
    Diagnostic,
    Elsewhere,
    Id,
    Limit,
    Millis,
    Params,
    Query,
    Reason,
    Unit,
    Wire,
)
from protocol.conversation.artifacts import ArtifactRef

SearchScope: TypeAlias = Literal["current_thread", "related_threads", "workspace_threads"]
SearchStatus: TypeAlias = Literal["completed", "empty", "skipped", "partial", "unavailable"]
JobStatus: TypeAlias = Literal["queued", "leased", "retry_wait", "dead", "cancelled", "done"]
IndexedRole: TypeAlias = Literal["user", "assistant", "tool"]
DiagnosticCode: TypeAlias = Literal[
    "disabled",
    "recall_disabled",
    "query_too_vague",
    "index_pending",
    "budget_too_small",
    "segments_limited",
    "semantic_off",
    "below_floor",
    "partial_item",
    "no_match",
]


_CHUNK_ID = re.compile(rf"thread:({ID_TEXT})/({ID_TEXT})/chunk_(\d{{1,6}})")


def chunk_id_of(turn_id: str, item_id: str, position: int) -> str:
    """Return the name of a chunk on the wire."""
    return f"thread:{turn_id}/{item_id}/chunk_{position}"


def parts_of_chunk(chunk_id: str) -> tuple[str, str, int] | None:
    """Return the turn, the item and the position in a chunk's name; None for a text that is no such name."""
    match = _CHUNK_ID.fullmatch(chunk_id)
    return (match[1], match[2], int(match[3])) if match else None


class ThreadSearchParams(Params):
    """`thread_episodic/search`."""

    workspace_id: Id
    query: Query
    thread_id: Id | None = None
    mode: SearchScope | None = None
    from_at: Millis | None = None
    to_at: Millis | None = None
    roles: list[IndexedRole] | None = None
    limit: Limit = 20
    max_prompt_chars: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    min_score: Unit | None = None
    exclude_turn_ids: Annotated[list[Id], Meta(max_length=1000)] = []
    count_elsewhere: bool = False
    time_zone: Annotated[
        Annotated[str, Meta(min_length=1, max_length=256)] | None,
        Meta(description='The IANA zone that "yesterday" is meant in; absent, as `initialize` said.'),
    ] = None


class ThreadHit(Wire):
    """A piece of conversation. `text` is the whole chunk, `snippet` what a prompt would show; secrets are masked."""

    chunk_id: str
    source_id: str
    thread_id: str
    turn_id: str
    item_id: str
    chunk_index: int
    role: IndexedRole
    at: int
    snippet: str
    text: str
    score: float
    breakdown: dict[str, float]
    artifacts: list[ArtifactRef]


class Understood(Wire):
    """The time that a query named: its first and last millisecond, and its words."""

    from_at: At
    to_at: At
    text: str


class ThreadSearchResult(Wire):
    """Hits, best first; `diagnostics` says why there are none or not all.

    `understood` is the time that was read from the query, if it was given none: what was said then comes before all
    else. Where a search of a whole workspace finds nothing, `elsewhere` says which others have hits, if
    `count_elsewhere` asks for it.
    """

    hits: list[ThreadHit]
    status: SearchStatus
    diagnostics: list[Diagnostic]
    understood: Understood | None = None
    elsewhere: list[Elsewhere] = []


class ThreadStatusParams(Params):
    """`thread_episodic/status`; `item_ids` asks which of these messages are excluded, within the same place."""

    workspace_id: Id | None = None
    thread_id: Id | None = None
    item_ids: Annotated[list[Id], Meta(max_length=100)] = []


class ChunkCounts(Wire):
    """Chunks by state."""

    pending: int = 0
    indexed: int = 0
    failed: int = 0
    retired: int = 0
    excluded: int = 0
    partial: int = 0


class JobCounts(Wire):
    """Jobs by state."""

    queued: int = 0
    leased: int = 0
    retry_wait: int = 0
    dead: int = 0
    cancelled: int = 0
    done: int = 0


class SegmentCounts(Wire):
    """Partitions of the workspace's index."""

    count: int
    open: int
    sealed: int
    utilization_percent: float


class PartialItem(Wire):
    """A message that is too long to be indexed whole, and the range that is not."""

    item_id: str
    turn_id: str
    from_char: int
    to_char: int


class PausedQueue(Wire):
    """A component that is down and holds its queue."""

    component: str
    reason: str
    since: int


RepairProgress: TypeAlias = Literal["ok", "pending", "running", "failed"]
RepairReason: TypeAlias = Literal[
    "orphans",
    "scopes",
    "source_rows",
    "lost_segments",
    "terms",
    "lexicon",
    "chunk_rows",
    "missing_sources",
    "jobs",
    "texts",
    "missing_texts",
    "segments",
    "vectors",
    "missing_vectors",
]
"""Damage of the index, in the order of the codes.

Chunks of no message, workspaces or threads without their number, messages' rows, partitions that are gone, kept terms,
terms of another lexicon, too few or too many chunks, messages that the index does not know, work without a job, the
full-text index, chunks that it lacks, sums of partitions, vectors, chunks without any.
"""


class IndexRepair(Wire):
    """The state of the index, the reasons of its damage, and the progress of its repair, in rows of all found."""

    state: RepairProgress = "ok"
    reasons: list[RepairReason] = []
    done: int = 0
    total: int = 0


class ThreadStatusResult(Wire):
    """The progress of the index. `excluded_items` are those of the messages asked about of which a part is excluded."""

    chunks: ChunkCounts
    jobs: JobCounts
    oldest_pending_age_ms: int | None
    segments: SegmentCounts
    partial_items: list[PartialItem]
    dead_jobs: int
    paused: PausedQueue | None
    repair: IndexRepair = IndexRepair()
    excluded_items: list[str] = []


class JobsParams(Params):
    """`thread_episodic/jobs`."""

    status: JobStatus | None = None
    limit: Limit = 20
    cursor: Cursor | None = None


class JobError(Wire):
    """The code of a job's last failure, never text."""

    code: str


class IndexJob(Wire):
    """A job of the index."""

    job_id: str
    kind: str
    thread_id: str | None
    turn_id: str | None
    chunk_ids: list[str]
    status: JobStatus
    attempt_count: int
    next_run_at: int
    last_error: JobError | None


class JobsResult(Wire):
    """Jobs, newest first."""

    jobs: list[IndexJob]
    next_cursor: str | None


class RetryParams(Params):
    """`thread_episodic/retry`: one dead job, or all."""

    job_id: Id | None = None
    all_dead: bool = False


class RetryResult(Wire):
    """The number of jobs that were made runnable again."""

    requeued: int


class ReindexParams(Params):
    """`thread_episodic/reindex`: a thread or a workspace."""

    thread_id: Id | None = None
    workspace_id: Id | None = None


class ReindexResult(Wire):
    """The number of jobs that were made."""

    jobs_created: int


class ExcludeParams(Params):
    """`thread_episodic/exclude` and `unexclude`: a chunk or a whole item."""

    chunk_id: Annotated[str, Meta(max_length=400)] | None = None
    item_id: Id | None = None
    reason: Reason | None = None


class ExcludeResult(Wire):
    """The number of chunks that changed."""

    excluded: int
