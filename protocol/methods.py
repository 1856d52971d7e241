"""The method table: every request once, with all that routing, schemas, documentation and clients need.

Rule 1: schemas, the client, the capabilities and the reference are derived from here.
Rule 2: a method that is not bound to a service is in the table and not in the capabilities. Each service lists its own
bindings.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from protocol import gateway as g
from protocol import guidance as i
from protocol import passes as p
from protocol import settings as s
from protocol import thread_episodic as e
from protocol.base import Empty, Nothing
from protocol.capture import calls as a
from protocol.conversation import artifacts, host_turns, imports, items, threads, turns, workspaces
from protocol.errors import ErrorReason
from protocol.files import collections as c
from protocol.files import graph as links
from protocol.files import knowledge as k
from protocol.memory import bundles, candidates, changes, explaining, forgetting, reads, values, writes

P = TypeVar("P", bound=msgspec.Struct)
R = TypeVar("R")

Ordering: TypeAlias = Literal["free", "thread", "turn"]
"""`free` never waits; `thread` and `turn` are processed in arrival order within their thread."""

READING_VERBS = frozenset(
    {
        "changes",
        "edges",
        "entities",
        "explain",
        "export",
        "files",
        "get",
        "history",
        "items",
        "jobs",
        "links",
        "list",
        "ping",
        "preview",
        "read",
        "review",
        "runs",
        "search",
        "similar",
        "stats",
        "status",
        "versions",
    }
)
"""The last words of methods that change nothing but how often a record was read."""

Urgency: TypeAlias = Literal["normal", "first"]
"""A person waits for what goes `first`: indexing lets it pass, and its reads go before others."""

COMMON_ERRORS: tuple[ErrorReason, ...] = (
    "invalid_params",
    "not_initialized",
    "shutting_down",
    "overloaded",
    "unavailable",
    "storage_full",
    "storage_read_only",
    "cancelled",
    "internal",
)
"""Any request may end with one of these."""


class Method(NamedTuple, Generic[P, R]):
    """A request: its types, one sentence, its own errors beyond the common ones, its ordering, its urgency."""

    name: str
    params: type[P]
    result: type[R]
    summary: str
    errors: tuple[ErrorReason, ...] = ()
    ordering: Ordering = "free"
    urgency: Urgency = "normal"
    before_initialize: bool = False

    @property
    def is_safe_to_repeat(self) -> bool:
        """Return whether a client that got no answer may ask again by itself."""
        return self.name.rpartition("/")[2] in READING_VERBS


class Bound(Struct, frozen=True):
    """A method of the table and the service function that answers it."""

    method: Method[Any, Any]
    call: Callable[[Any], Awaitable[Any]]


def bind(method: Method[P, R], call: Callable[[P], Awaitable[R]]) -> Bound:
    """Join a method and a service function; the types must agree."""
    return Bound(method, call)


INITIALIZE = Method(
    "initialize",
    g.InitializeParams,
    g.InitializeResult,
    "Exchange versions, capabilities and limits.",
    ("already_initialized",),
    before_initialize=True,
)
PING = Method("ping", Empty, Nothing, "Answer at once.", before_initialize=True)
SHUTDOWN = Method("shutdown", Empty, type(None), "Finish what is in flight; then only `exit` is accepted.")
STATUS = Method("gateway/status", Empty, g.StatusResult, "What works, what waits, what failed.")
DRAIN = Method("gateway/drain", g.DrainParams, g.DrainResult, "Return when no background work is runnable.")
SETTINGS_GET = Method("settings/get", s.SettingsGetParams, s.SettingsResult, "The settings in force.")
SETTINGS_UPDATE = Method(
    "settings/update", s.SettingsUpdateParams, s.SettingsResult, "Change settings, in the file and live."
)

WORKSPACE_CREATE = Method(
    "workspace/create",
    workspaces.WorkspaceCreateParams,
    workspaces.WorkspaceResult,
    "Make a workspace, or confirm an equal one.",
    ("conflict",),
)
WORKSPACE_LIST = Method(
    "workspace/list", workspaces.WorkspaceListParams, workspaces.WorkspaceListResult, "Every workspace."
)
WORKSPACE_GET = Method(
    "workspace/get", workspaces.WorkspaceParams, workspaces.WorkspaceResult, "One workspace.", ("not_found",)
)
WORKSPACE_DELETE = Method(
    "workspace/delete",
    workspaces.WorkspaceParams,
    threads.DeleteResult,
    "Remove a workspace, its threads, their index and its memory.",
    ("not_found", "conflict"),
)
THREAD_START = Method(
    "thread/start",
    threads.ThreadStartParams,
    threads.ThreadResult,
    "Open a thread.",
    ("not_found", "conflict", "agent_invalid"),
    "thread",
)
THREAD_GET = Method("thread/get", threads.ThreadParams, threads.ThreadResult, "One thread.", ("not_found",))
THREAD_LIST = Method("thread/list", threads.ThreadListParams, threads.ThreadListResult, "Threads, newest first.")
THREAD_UPDATE = Method(
    "thread/update",
    threads.ThreadUpdateParams,
    threads.ThreadResult,
    "Rename, archive, or change how memory is used.",
    ("not_found",),
    "thread",
)
THREAD_DELETE = Method(
    "thread/delete",
    threads.ThreadParams,
    threads.DeleteResult,
    "Remove a thread, its items and its index.",
    ("not_found", "turn_in_progress"),
    "thread",
)
THREAD_HISTORY = Method(
    "thread/history", threads.ThreadHistoryParams, items.ItemsResult, "What was said, as it was said.", ("not_found",)
)
THREAD_IMPORT = Method(
    "thread/import",
    imports.ThreadImportParams,
    imports.ThreadImportResult,
    "Bring in turns of another program; repeatable.",
    ("not_found", "conflict"),
    "thread",
)
TURN_START = Method(
    "turn/start",
    turns.TurnStartParams,
    turns.TurnResult,
    "Begin a turn; the rest comes as notifications.",
    ("not_found", "turn_in_progress", "conflict", "provider_not_configured", "agent_invalid"),
    "thread",
)
TURN_PREPARE = Method(
    "turn/prepare",
    turns.TurnStartParams,
    host_turns.PrepareResult,
    "Everything before the model, for a host that calls its own.",
    ("not_found", "turn_in_progress", "conflict", "agent_invalid"),
    "thread",
    urgency="first",
)
TURN_TOOL_CALL = Method(
    "turn/tool_call",
    host_turns.ToolCallParams,
    host_turns.ToolCallResult,
    "Run one of the gateway's tools in a host-driven turn.",
    ("not_found", "conflict"),
    "turn",
)
TURN_FINISH = Method(
    "turn/finish",
    host_turns.TurnFinishParams,
    turns.TurnResult,
    "End a host-driven turn. The same end again changes nothing; another one is a `conflict`.",
    ("not_found", "conflict"),
    "turn",
)
TURN_CANCEL = Method("turn/cancel", turns.TurnParams, turns.TurnResult, "Stop a turn.", ("not_found",))
TURN_GET = Method("turn/get", turns.TurnParams, turns.TurnResult, "A turn with its manifest.", ("not_found",))
TURN_ITEMS = Method("turn/items", turns.TurnItemsParams, items.ItemsResult, "A turn's items.", ("not_found",))
CAPTURE_PREPARE = Method(
    "capture/prepare",
    a.CapturePrepareParams,
    a.CapturePrepareResult,
    "Find or make the turn of a message that a program without memory passes on, and what it is given.",
    ("not_found", "conflict", "scope_out_of_context"),
    urgency="first",
)
CAPTURE_FINISH = Method(
    "capture/finish",
    a.CaptureFinishParams,
    a.CaptureFinishResult,
    "Keep what was answered to such a message.",
    ("not_found", "conflict", "scope_out_of_context"),
)
CAPTURE_INGEST = Method(
    "capture/ingest",
    a.CaptureIngestParams,
    a.CaptureIngestResult,
    "Keep a transcript that grows; what is there already stays once.",
    ("not_found", "conflict", "scope_out_of_context"),
)
ARTIFACT_LIST = Method(
    "artifact/list", artifacts.ArtifactListParams, artifacts.ArtifactListResult, "Files of a thread.", ("not_found",)
)
ARTIFACT_GET = Method(
    "artifact/get", artifacts.ArtifactGetParams, artifacts.ArtifactGetResult, "A part of a file.", ("not_found",)
)
ARTIFACT_DELETE = Method(
    "artifact/delete", artifacts.ArtifactDeleteParams, threads.DeleteResult, "Remove a file's bytes.", ("not_found",)
)

INSTRUCTIONS_PREVIEW = Method(
    "instructions/preview",
    i.InstructionsPreviewParams,
    i.InstructionsPreviewResult,
    "The instruction files that a turn would be given, and what was cut or refused.",
    ("not_found",),
)
INSTRUCTIONS_SET = Method(
    "instructions/set",
    i.InstructionsSetParams,
    i.InstructionsSetResult,
    "Switch the instruction files of a workspace on or off.",
    ("not_found",),
)
INSTRUCTIONS_VERSIONS = Method(
    "instructions/versions",
    i.InstructionsVersionsParams,
    i.InstructionsVersionsResult,
    "The texts that an instruction file had in earlier turns.",
    ("not_found",),
)
AGENTS_LIST = Method(
    "agents/list", i.AgentsListParams, i.AgentsListResult, "Agent definitions, and those that are invalid."
)
AGENTS_GET = Method(
    "agents/get",
    i.AgentsGetParams,
    i.AgentsGetResult,
    "An agent definition with its texts.",
    ("not_found", "agent_invalid", "forbidden"),
)

_WRITE_ERRORS: tuple[ErrorReason, ...] = (
    "memory_disabled",
    "scope_out_of_context",
    "write_refused",
    "memory_write_disabled",
    "memory_ignored",
    "idempotency_mismatch",
    "not_found",
)
MEMORY_SEARCH = Method(
    "memory/search",
    reads.SearchParams,
    reads.SearchResult,
    "Find records by words and meaning.",
    ("memory_disabled", "scope_out_of_context"),
    urgency="first",
)
MEMORY_GET = Method("memory/get", reads.GetParams, reads.GetResult, "One record, or null.", ("scope_out_of_context",))
MEMORY_LIST = Method("memory/list", reads.ListParams, reads.ListResult, "Records in order.", ("scope_out_of_context",))
MEMORY_REMEMBER = Method(
    "memory/remember",
    writes.RememberParams,
    writes.RememberResult,
    "Keep something because the user wants it kept.",
    _WRITE_ERRORS,
    urgency="first",
)
MEMORY_WRITE = Method(
    "memory/write",
    writes.WriteParams,
    writes.WriteResult,
    "Propose a fact with its semantics and evidence.",
    _WRITE_ERRORS,
    urgency="first",
)
MEMORY_NOTE = Method(
    "memory/note",
    writes.NoteParams,
    writes.NoteResult,
    "Keep an agent's own note, which is no word of the user.",
    _WRITE_ERRORS,
)
MEMORY_CONFIRM = Method(
    "memory/confirm",
    writes.ConfirmParams,
    writes.ConfirmResult,
    "Take an agent's note for the user's word; for a person, never a tool.",
    ("not_found", "conflict", "memory_disabled", "memory_write_disabled", "memory_ignored"),
)
MEMORY_UPDATE = Method(
    "memory/update",
    writes.UpdateParams,
    writes.UpdateResult,
    "Correct or annotate a record.",
    (*_WRITE_ERRORS, "conflict"),
)
MEMORY_FORGET = Method(
    "memory/forget",
    forgetting.ForgetParams,
    forgetting.ForgetResult,
    "Forget; restorable, or erased with a receipt.",
    ("scope_out_of_context", "memory_write_disabled"),
)
MEMORY_RESTORE = Method(
    "memory/restore",
    writes.RestoreParams,
    writes.RestoreResult,
    "Undo a forgetting or a merge.",
    ("not_found", "scope_out_of_context", "conflict", "memory_disabled"),
)
MEMORY_SIMILAR = Method(
    "memory/similar",
    reads.SimilarParams,
    reads.SimilarResult,
    "Pairs of records that look alike.",
    ("scope_out_of_context", "memory_disabled"),
)
MEMORY_LINKS = Method(
    "memory/links",
    reads.LinksParams,
    reads.LinksResult,
    "The records that are linked to a record.",
    ("not_found", "scope_out_of_context", "memory_disabled"),
)
MEMORY_MERGE = Method(
    "memory/merge",
    writes.MergeParams,
    writes.MergeResult,
    "Merge a record into another one that says the same; for a person, never a tool.",
    (*_WRITE_ERRORS, "conflict"),
)
_LIFETIME_ERRORS: tuple[ErrorReason, ...] = (
    "not_found",
    "scope_out_of_context",
    "conflict",
    "memory_disabled",
    "memory_write_disabled",
    "memory_ignored",
)
MEMORY_REINFORCE = Method(
    "memory/reinforce",
    values.MemoryIdParams,
    values.RecordResult,
    "Let a record's lifetime begin anew.",
    _LIFETIME_ERRORS,
)
MEMORY_ARCHIVE = Method(
    "memory/archive",
    values.MemoryIdParams,
    values.RecordResult,
    "Put a record out of sight, until it is restored.",
    _LIFETIME_ERRORS,
)
MEMORY_HISTORY = Method(
    "memory/history",
    changes.HistoryParams,
    changes.HistoryResult,
    "What happened to a record and those it replaced.",
    ("not_found", "scope_out_of_context"),
)
MEMORY_CHANGES = Method(
    "memory/changes",
    changes.MemoryChangesParams,
    changes.MemoryChangesResult,
    "What was learned, replaced, forgotten and proposed in a time, and how to take it back.",
    ("scope_out_of_context",),
)
_DECISION_ERRORS: tuple[ErrorReason, ...] = (
    "not_found",
    "scope_out_of_context",
    "already_decided",
    "memory_disabled",
    "memory_write_disabled",
    "memory_ignored",
)
CANDIDATES_LIST = Method(
    "memory/candidates/list",
    candidates.CandidateListParams,
    candidates.CandidateListResult,
    "Proposals.",
    ("scope_out_of_context",),
)
CANDIDATES_GET = Method(
    "memory/candidates/get",
    candidates.CandidateParams,
    candidates.CandidateResult,
    "One proposal.",
    ("not_found", "scope_out_of_context"),
)
CANDIDATES_DECIDE = Method(
    "memory/candidates/decide",
    candidates.CandidateDecideParams,
    candidates.CandidateResult,
    "Approve, reject or expire a proposal.",
    (*_DECISION_ERRORS, "write_refused"),
)
CANDIDATES_APPROVE = Method(
    "memory/candidates/approve",
    candidates.CandidateReasonParams,
    candidates.CandidateResult,
    "Make a record of a proposal.",
    (*_DECISION_ERRORS, "write_refused"),
)
CANDIDATES_REJECT = Method(
    "memory/candidates/reject",
    candidates.CandidateReasonParams,
    candidates.CandidateResult,
    "Refuse a proposal.",
    _DECISION_ERRORS,
)
CANDIDATES_EDIT = Method(
    "memory/candidates/edit_and_approve",
    candidates.CandidateEditParams,
    candidates.CandidateResult,
    "Make a record of a proposal in better words.",
    (*_DECISION_ERRORS, "write_refused"),
)
CANDIDATES_MERGE = Method(
    "memory/candidates/merge",
    candidates.CandidateMergeParams,
    candidates.CandidateResult,
    "Fold a proposal into another or into a record.",
    (*_DECISION_ERRORS, "conflict"),
)
CANDIDATES_SUPPRESS = Method(
    "memory/candidates/suppress_similar",
    candidates.CandidateReasonParams,
    candidates.CandidateResult,
    "Refuse this and all that says the same.",
    _DECISION_ERRORS,
)
MEMORY_EXPLAIN = Method(
    "memory/explain",
    explaining.ExplainParams,
    explaining.ExplainResult,
    "Why something was or was not saved or recalled.",
    ("not_found", "scope_out_of_context"),
)
MEMORY_STATS = Method(
    "memory/stats", reads.StatsParams, reads.StatsResult, "Counts of the active scopes.", ("scope_out_of_context",)
)
MEMORY_EXPORT = Method(
    "memory/export", bundles.ExportParams, bundles.ExportResult, "A checksummed bundle.", ("scope_out_of_context",)
)
MEMORY_IMPORT = Method(
    "memory/import",
    bundles.ImportParams,
    bundles.ImportResult,
    "Take a bundle in; repeatable.",
    (
        "scope_out_of_context",
        "checksum_mismatch",
        "version_too_new",
        "memory_disabled",
        "memory_write_disabled",
        "memory_ignored",
        "not_found",
    ),
)

EPISODIC_SEARCH = Method(
    "thread_episodic/search", e.ThreadSearchParams, e.ThreadSearchResult, "Find what was said.", urgency="first"
)
EPISODIC_STATUS = Method("thread_episodic/status", e.ThreadStatusParams, e.ThreadStatusResult, "How far the index is.")
EPISODIC_JOBS = Method("thread_episodic/jobs", e.JobsParams, e.JobsResult, "Indexing jobs.")
EPISODIC_RETRY = Method(
    "thread_episodic/retry", e.RetryParams, e.RetryResult, "Make dead jobs runnable.", ("not_found",)
)
EPISODIC_REINDEX = Method(
    "thread_episodic/reindex",
    e.ReindexParams,
    e.ReindexResult,
    "Build the index again from the stored items.",
    ("not_found",),
)
EPISODIC_EXCLUDE = Method(
    "thread_episodic/exclude", e.ExcludeParams, e.ExcludeResult, "Never recall this again.", ("not_found",)
)
EPISODIC_UNEXCLUDE = Method(
    "thread_episodic/unexclude", e.ExcludeParams, e.ExcludeResult, "Undo an exclusion.", ("not_found",)
)

_COLLECTION_ERRORS: tuple[ErrorReason, ...] = (
    "unsafe_root",
    "overlapping_collection",
    "conflict",
    "not_found",
    "knowledge_disabled",
)
COLLECTIONS_ADD = Method(
    "knowledge/collections/add",
    c.CollectionAddParams,
    c.CollectionAddResult,
    "Have a folder's files indexed, or preview that.",
    _COLLECTION_ERRORS,
)
COLLECTIONS_LIST = Method(
    "knowledge/collections/list",
    c.CollectionListParams,
    c.CollectionListResult,
    "The collections that a workspace sees.",
)
COLLECTIONS_GET = Method(
    "knowledge/collections/get", c.CollectionParams, c.CollectionResult, "One collection.", ("not_found",)
)
COLLECTIONS_UPDATE = Method(
    "knowledge/collections/update",
    c.CollectionUpdateParams,
    c.CollectionResult,
    "Change what a collection holds, or where it lies.",
    _COLLECTION_ERRORS,
)
COLLECTIONS_REMOVE = Method(
    "knowledge/collections/remove",
    c.CollectionParams,
    c.CollectionRemoveResult,
    "Forget a collection to the last byte; its folder is untouched.",
    ("not_found",),
)
COLLECTIONS_SCAN = Method(
    "knowledge/collections/scan",
    c.CollectionScanParams,
    c.CollectionScanResult,
    "Compare a collection with its folder now.",
    ("not_found", "knowledge_disabled"),
)
KNOWLEDGE_SEARCH = Method(
    "knowledge/search",
    k.KnowledgeSearchParams,
    k.KnowledgeSearchResult,
    "Find what files, conversations and memory say.",
    ("knowledge_disabled",),
    urgency="first",
)
KNOWLEDGE_READ = Method(
    "knowledge/read",
    k.KnowledgeReadParams,
    k.KnowledgeReadResult,
    "Lines of an indexed file as they are now.",
    ("not_found", "knowledge_disabled"),
    urgency="first",
)
KNOWLEDGE_ENTITIES = Method(
    "knowledge/entities",
    links.EntitiesParams,
    links.EntitiesResult,
    "Pages, folders, tags and code by name.",
    ("not_found",),
)
KNOWLEDGE_EDGES = Method(
    "knowledge/edges", links.EdgesParams, links.EdgesResult, "The links at a page, a folder, a tag or a file of code."
)
KNOWLEDGE_FILES = Method(
    "knowledge/files", k.FilesParams, k.FilesResult, "The files of a collection and their states.", ("not_found",)
)
KNOWLEDGE_STATUS = Method(
    "knowledge/status", k.KnowledgeStatusParams, k.KnowledgeStatusResult, "How far the index of files is."
)
KNOWLEDGE_RETRY = Method(
    "knowledge/retry",
    k.KnowledgeRetryParams,
    k.KnowledgeRetryResult,
    "Read files again that failed.",
    ("not_found", "knowledge_disabled"),
)
KNOWLEDGE_EXPLAIN = Method(
    "knowledge/explain",
    k.KnowledgeExplainParams,
    k.KnowledgeExplainResult,
    "Why a file is or is not indexed, or a piece not shown.",
    ("not_found", "knowledge_disabled"),
)
KNOWLEDGE_CHANGES = Method(
    "knowledge/changes", k.ChangesParams, k.ChangesResult, "What happened to files, newest first."
)
KNOWLEDGE_VERSIONS = Method(
    "knowledge/versions",
    k.FileVersionsParams,
    k.FileVersionsResult,
    "The contents that a path had; a file that moved has its earlier ones under its path before.",
    ("not_found",),
)

HOOKS_LIST = Method("hooks/list", Empty, g.HooksListResult, "Registered hooks in dispatch order.")
HOOKS_RUNS = Method("hooks/runs", g.HooksRunsParams, g.HooksRunsResult, "What hooks did.")
PROVIDER_LIST = Method("provider/list", Empty, g.ProviderListResult, "Configured model providers.")
PROVIDER_TEST = Method(
    "provider/test",
    g.ProviderTestParams,
    g.ProviderTestResult,
    "Ask a provider for one word.",
    ("not_found", "provider_failed"),
)

PASSES_LIST = Method("passes/list", Empty, p.PassesListResult, "Every pass, its plan and its last run.")
PASSES_RUN = Method(
    "passes/run",
    p.PassesRunParams,
    p.RunResult,
    "Run a pass now, or rehearse it.",
    ("memory_disabled", "pass_running"),
)
PASSES_RUNS = Method("passes/runs", p.PassesRunsParams, p.PassesRunsResult, "Runs, newest first.")
PASSES_GET = Method("passes/get", p.PassesGetParams, p.PassesGetResult, "A run and what it changed.", ("not_found",))
PASSES_UNDO = Method(
    "passes/undo",
    p.PassesUndoParams,
    p.PassesUndoResult,
    "Take back what a run changed, for 90 days.",
    ("not_found", "conflict"),
)
PASSES_REVIEW = Method(
    "passes/review",
    p.PassesReviewParams,
    p.PassesReviewResult,
    "Records of the user's own voice that have faded.",
    ("scope_out_of_context", "memory_disabled"),
)

METHODS: dict[str, Method[msgspec.Struct, object]] = {
    value.name: value for value in list(globals().values()) if isinstance(value, Method)
}
"""Every method by its name on the wire, in the order of this file."""

CLIENT_NOTIFICATIONS: dict[str, tuple[type[msgspec.Struct], str]] = {
    "initialized": (Empty, "The client is ready; optional."),
    "$/cancelRequest": (g.CancelParams, "Cancel a request; it is still answered."),
    "exit": (Empty, "End the process."),
}
"""The notifications that a client may send. Any other one is ignored."""
