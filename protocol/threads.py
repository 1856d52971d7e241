"""Conversation on the wire: workspaces, threads, turns, items, artifacts, and a turn's manifest."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias, cast

from msgspec import UNSET, Meta, UnsetType

from protocol.base import WITHOUT_NUL, Cancelled, Cursor, Diagnostic, Id, Limit, Millis, Params, Wire, matching
from protocol.errors import REASONS, ErrorReason

Mode: TypeAlias = Literal["agent", "chat"]
MemoryMode: TypeAlias = Literal["normal", "read_only", "ignored"]
ThreadOrigin: TypeAlias = Literal["user", "task", "system"]
Driver: TypeAlias = Literal["gateway", "host"]
TurnStatus: TypeAlias = Literal["in_progress", "awaiting_host", "completed", "failed", "cancelled", "interrupted"]
FinishStatus: TypeAlias = Literal["succeeded", "failed", "provider_failure", "interrupted"]
ItemKind: TypeAlias = Literal["user_message", "agent_message", "tool_call", "tool_result", "system_event"]
Role: TypeAlias = Literal["user", "assistant", "tool", "system"]
ItemStatus: TypeAlias = Literal["in_progress", "completed", "failed", "interrupted"]
ArtifactKind: TypeAlias = Literal["image", "document", "data", "audio", "video", "other"]
RecallStatus: TypeAlias = Literal["recalled", "empty", "skipped", "failed", "partial", "off"]
Phase: TypeAlias = Literal[
    "TurnPrePolicy",
    "TurnPrePromptContext",
    "TurnPostPreflightPromptContext",
    "TurnPreToolMaterialization",
    "TurnPrePromptCompile",
    "TurnPostTurn",
]
RunStatus: TypeAlias = Literal["queued", "running", "succeeded", "failed", "timed_out", "skipped"]
Domain: TypeAlias = Literal["memory", "thread", "artifact", "agent", "knowledge"]
InstructionFiles: TypeAlias = Literal["auto", "off"]
InstructionProfile: TypeAlias = Literal["default", "claude", "codex", "gemini", "qwen"]
AgentLayer: TypeAlias = Literal["built_in", "vault"]

MAX_TEXT_CHARS = 4_000_000  # a message of up to half a message line; longer input is a file
Text: TypeAlias = Annotated[str, matching(WITHOUT_NUL), Meta(max_length=MAX_TEXT_CHARS)]
Label: TypeAlias = Annotated[str, matching(WITHOUT_NUL), Meta(max_length=256)]
Path: TypeAlias = Annotated[str, matching(WITHOUT_NUL), Meta(min_length=1, max_length=4096)]

WorkPath: TypeAlias = Annotated[
    str, matching(WITHOUT_NUL, "The folder that is worked in: an absolute path."), Meta(min_length=1, max_length=4096)
]


# -- workspaces and threads ----------------------------------------------------------------------------------------


class Workspace(Wire):
    """A project: threads, their index and workspace-scoped memory live and die with it."""

    workspace_id: str
    name: str | None
    root_path: str | None
    created_at: int
    updated_at: int
    state: Literal["active", "deleting"] = "active"
    """`deleting`: a deletion has begun, and goes on in the background after an interruption; no turn begins there."""


class WorkspaceResult(Wire):
    """One workspace."""

    workspace: Workspace


class WorkspaceCreateParams(Params):
    """`workspace/create`."""

    workspace_id: Id | None = None
    name: Label | None = None
    root_path: Path | None = None


class WorkspaceParams(Params):
    """A workspace by id."""

    workspace_id: Id


class WorkspaceListParams(Params):
    """`workspace/list`."""

    limit: Limit = 20
    cursor: Cursor | None = None


class WorkspaceListResult(Wire):
    """Workspaces, oldest first."""

    workspaces: list[Workspace]
    next_cursor: str | None


NotStored: TypeAlias = Literal["storage_full", "storage_read_only"]
"""The reasons for which the store takes nothing at all."""


class AgentRef(Wire):
    """The agent definition that a thread acts by: its folder's name, its layer, and a digest of its files."""

    slug: str
    layer: AgentLayer
    sha256: str


class ThreadFork(Wire):
    """The fork of a conversation from another one: after that turn of it."""

    thread_id: str
    turn_id: str | None


class Thread(Wire):
    """A conversation."""

    thread_id: str
    workspace_id: str
    agent_id: str | None
    parent_thread_id: str | None
    name: str | None
    mode: Mode
    memory_mode: MemoryMode
    origin: ThreadOrigin
    task_id: str | None
    archived: bool
    turn_count: int
    created_at: int
    updated_at: int
    not_stored: NotStored | None = None
    """The reason why the thread is known to this process alone; null for one that is stored."""
    agent: AgentRef | None = None
    """The definition that acts in the thread, as its last turn read it; null for a thread without one."""
    forked_from: ThreadFork | None = None


class ThreadStartParams(Params):
    """`thread/start`: opens a thread, or returns the one with that id."""

    thread_id: Id | None = None
    workspace_id: Id | None = None
    default_workspace_id: Annotated[
        Id | None,
        Meta(
            description="Where a new thread lies that names no workspace and no parent; absent, as `initialize` said."
        ),
    ] = None
    agent_id: Id | None = None
    parent_thread_id: Id | None = None
    name: Label | None = None
    mode: Mode = "agent"
    memory_mode: MemoryMode = "normal"
    model: Label | None = None
    provider: Label | None = None
    origin: ThreadOrigin = "user"
    task_id: Id | None = None
    instructions: Text | None = None
    agent: Annotated[bool, Meta(description="Whether the agent definition that `agent_id` names acts here.")] = False
    cwd: WorkPath | None = None
    instruction_files: Annotated[
        InstructionFiles | None,
        Meta(description="Whether instruction files are added; absent, where a `cwd` is given."),
    ] = None
    instruction_profile: InstructionProfile = "default"


class ThreadResult(Wire):
    """One thread."""

    thread: Thread


class ThreadParams(Params):
    """A thread by id."""

    thread_id: Id


class ThreadListParams(Params):
    """`thread/list`: newest first."""

    workspace_id: Id | None = None
    archived: bool | None = None
    limit: Limit = 20
    cursor: Cursor | None = None


class ThreadListResult(Wire):
    """Threads, newest first."""

    threads: list[Thread]
    next_cursor: str | None


class ThreadUpdateParams(Params):
    """`thread/update`: only the members given change."""

    thread_id: Id
    name: Label | None | UnsetType = UNSET
    memory_mode: MemoryMode | UnsetType = UNSET
    archived: bool | UnsetType = UNSET


class DeleteResult(Wire):
    """The counts of a deletion, and the cancelled learning; `complete` once no file of the home holds the bytes."""

    deleted: bool
    removed: dict[str, int]
    cancelled: list[Cancelled] = []
    complete: bool = True


class ThreadHistoryParams(Params):
    """`thread/history`."""

    thread_id: Id
    order: Literal["asc", "desc"] = "asc"
    kinds: list[ItemKind] | None = None
    limit: Limit = 20
    cursor: Cursor | None = None


# -- artifacts -----------------------------------------------------------------------------------------------------


class ArtifactRef(Wire):
    """A file that a message carried; its bytes are elsewhere."""

    artifact_id: str
    version_id: str
    name: str
    kind: ArtifactKind
    mime: str
    size_bytes: int
    role: Role
    sha256: str | None


class ArtifactRefInput(Params):
    """A reference to a file of an imported turn."""

    artifact_id: Id
    version_id: Id | None = None
    name: Label = "file"
    kind: ArtifactKind = "other"
    mime: Label = "application/octet-stream"
    size_bytes: Annotated[int, Meta(ge=0)] = 0
    role: Role = "user"
    sha256: Annotated[str, matching("[0-9a-f]{64}")] | None = None


class ArtifactListParams(Params):
    """`artifact/list`."""

    thread_id: Id
    limit: Limit = 20
    cursor: Cursor | None = None


class ArtifactListResult(Wire):
    """Artifacts of a thread, newest first."""

    artifacts: list[ArtifactRef]
    next_cursor: str | None


class ArtifactGetParams(Params):
    """`artifact/get`."""

    artifact_id: Id
    version_id: Id | None = None
    offset: Annotated[int, Meta(ge=0)] = 0
    limit: Annotated[int, Meta(ge=1, le=5 * 1024 * 1024)] = 65536


class ArtifactGetResult(Wire):
    """A part of a file, as text where it is text; `offset` counts characters there, else bytes."""

    artifact: ArtifactRef
    offset: int
    next_offset: int | None
    text: str | None = None
    data_base64: str | None = None
    diagnostics: list[Diagnostic] = []


class ArtifactDeleteParams(Params):
    """`artifact/delete`."""

    artifact_id: Id


# -- items and turns -----------------------------------------------------------------------------------------------


class ToolUse(Wire):
    """The tool side of an item."""

    call_id: str
    name: str
    arguments: Any
    is_error: bool


class Item(Wire):
    """One thing said or done in a turn. `text` is byte for byte what was given."""

    item_id: str
    turn_id: str
    thread_id: str
    kind: ItemKind
    role: Role
    status: ItemStatus
    text: str
    at: int
    name: str | None
    artifacts: list[ArtifactRef]
    tool: ToolUse | None


class ItemsResult(Wire):
    """Items in order."""

    items: list[Item]
    next_cursor: str | None


class ImportItem(Params):
    """One message of an imported turn."""

    role: Literal["user", "assistant"]
    text: Text
    item_id: Id | None = None
    name: Label | None = None
    artifacts: Annotated[list[ArtifactRefInput], Meta(max_length=64)] = []


class ImportTurn(Params):
    """One imported turn with the time at which it was said."""

    at: Millis
    items: Annotated[list[ImportItem], Meta(min_length=1, max_length=1000)]
    turn_id: Id | None = None


class ImportSource(Params):
    """The origin of imported turns; ids are made from it, so that a second import changes nothing."""

    kind: Annotated[str, Meta(min_length=1, max_length=64)]
    id: Annotated[str, Meta(min_length=1, max_length=512)]


class ThreadImportParams(Params):
    """`thread/import`.

    A source that does not fit one request comes in parts, the first one first: each says its `offset`, and all but the
    last one `has_more`.
    """

    workspace_id: Id
    source: ImportSource
    turns: Annotated[list[ImportTurn], Meta(max_length=10_000)]
    thread_id: Id | None = None
    mode: Literal["replace", "append"] = "replace"
    dry_run: bool = False
    name: Label | None = None
    generation: Annotated[int, Meta(ge=0)] | None = None
    """That of an earlier answer about the same conversation: turns that were forgotten or deleted since stay away."""
    offset: Annotated[int, Meta(ge=0, le=10_000_000)] | None = None
    """The number of turns of the source before these; a turn without an id is then known by its place."""
    has_more: bool = False
    """Other parts follow: later turns of the source that are there stay until their part comes."""


class ThreadImportResult(Wire):
    """The thread, and counts of turns."""

    thread: Thread
    imported: int
    skipped: int
    replaced: int
    removed: int
    """Turns of this source that it has no longer."""
    generation: int = 0
    """The home's generation of forgetting when it was asked."""


class TextInput(Params, tag_field="type", tag="text"):
    """Words of the user."""

    text: Text


class ArtifactInput(Params, tag_field="type", tag="artifact"):
    """A file of the user: a `path` that is read once, inline `data_base64`, or a known `artifact_id` alone."""

    name: Label
    mime: Label
    artifact_id: Id | None = None
    kind: ArtifactKind | None = None
    path: Path | None = None
    data_base64: str | None = None


UserInput: TypeAlias = TextInput | ArtifactInput


Placement: TypeAlias = Literal["system_suffix", "before_user"]


class TurnOptions(Params):
    """Options of a host for one turn: switches, the place of recalled blocks, and the time zone.

    Recalled blocks stand as data before the user's words unless the host asks for another place.
    """

    skip_retention: bool = False
    skip_recall: bool = False
    skip_files: bool = False
    """Nothing of the user's files is recalled."""
    context_placement: Placement = "before_user"
    unknown_client: bool = False
    """The turn comes through a program that nobody named: it is searchable, and no facts are taken from it."""
    time_zone: Annotated[
        Label | None, Meta(description='The IANA zone that "yesterday" is meant in; absent, as `initialize` said.')
    ] = None


class TurnStartParams(Params):
    """`turn/start` and `turn/prepare`."""

    thread_id: Id
    input: Annotated[list[UserInput], Meta(min_length=1, max_length=64)]
    turn_id: Id | None = None
    model: Label | None = None
    provider: Label | None = None
    mode: Mode | None = None
    options: TurnOptions = TurnOptions()
    cwd: WorkPath | None = None
    """Absent, the thread's."""


TURN_MESSAGES: Mapping[str, str] = {
    "host_failed": "The host reports that the turn failed.",
    "hook_failed": "A step without which the turn may not go on has failed.",
    "max_rounds": "The model called tools until no more rounds were left, and gave no answer.",
}
"""Sentences of the reasons that only turns have."""


class TurnError(Wire):
    """The failure of a turn: a reason for programs, and a sentence for the person who asked."""

    reason: str
    retryable: bool
    message: str

    @classmethod
    def of(cls, reason: str, *, retryable: bool) -> "TurnError":
        """Return the error with the sentence of its reason; what follows a colon in a reason names a hook."""
        kind = reason.partition(":")[0]
        info = REASONS.get(cast("ErrorReason", kind))
        message = info.message if info is not None else TURN_MESSAGES.get(kind, "The turn failed.")
        return cls(reason=reason, retryable=retryable, message=message)


class Usage(Wire):
    """Tokens as the provider counted them; of the input, those that it had kept."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


class ManifestRun(Wire):
    """A hook run of a turn. Never contents."""

    run_id: str
    hook_id: str
    status: RunStatus
    duration_ms: int
    contribution_count: int
    diagnostics: list[Diagnostic]


class ManifestPhase(Wire):
    """A dispatched phase, also without hooks."""

    phase: Phase
    hook_runs: list[ManifestRun]


class Permission(Wire):
    """A permission of this turn, with the code of its reason."""

    allowed: bool
    reason_code: str


class TurnPolicy(Wire):
    """The policy of this turn: its permissions concerning memory."""

    recall: Permission
    read_tools: Permission
    remember: Permission
    forget: Permission
    extraction: Permission


class SourceRef(Wire, omit_defaults=True):
    """A source of a text; of a file also the digest of its bytes."""

    kind: Literal["memory", "chunk", "artifact", "thread", "workspace", "instruction", "agent", "file"]
    id: str
    sha256: str | None = None


class ManifestSection(Wire):
    """A part of the prompt that a hook contributed."""

    section_id: str
    hook_id: str
    domain: Domain
    chars: int
    truncated: bool
    source_refs: list[SourceRef]


class ManifestTools(Wire):
    """Tools that the model saw, and domains that it could ask for."""

    visible: list[str]
    hidden_domains: list[str]


class ManifestBudget(Wire):
    """A budget of the prompt, in characters unless its name says otherwise."""

    name: str
    limit: int
    used: int


class ManifestRecall(Wire):
    """The recall of a prompt, with the reason why there is no more."""

    status: RecallStatus
    reason: str
    memory_ids: list[str]
    chunk_ids: list[str]
    knowledge_ids: list[str] = []
    """The addresses of pieces of files."""


class ManifestPreflight(Wire):
    """The planner of the turn's recall and tools."""

    source: Literal["local", "model", "fallback", "none"]
    reason: str
    plan: Any


class PromptManifest(Wire):
    """The parts of a turn's prompt with their reasons. It never holds contents."""

    phases: list[ManifestPhase]
    policy: TurnPolicy
    preflight: ManifestPreflight
    sections: list[ManifestSection]
    tools: ManifestTools
    budgets: list[ManifestBudget]
    recall: ManifestRecall


class Turn(Wire):
    """One question and all that was done to answer it."""

    turn_id: str
    thread_id: str
    workspace_id: str
    driver: Driver
    mode: Mode
    status: TurnStatus
    started_at: int
    completed_at: int | None
    error: TurnError | None
    rounds: int
    usage: Usage | None
    prompt_manifest: PromptManifest | None
    not_stored: NotStored | None = None
    """The reason for which nothing of the turn is stored; null for a stored one."""
    superseded_by: str | None = None
    """The turn in which the same question was asked again; what was answered first is found no more."""


class TurnResult(Wire):
    """One turn."""

    turn: Turn


class TurnParams(Params):
    """A turn by id."""

    turn_id: Id


class TurnItemsParams(Params):
    """`turn/items`."""

    turn_id: Id
    limit: Limit = 100
    cursor: Cursor | None = None


class ToolSpec(Wire):
    """A tool as a model sees it; `parameters` is a JSON Schema."""

    name: str
    domain: Domain
    description: str
    parameters: dict[str, Any]


class PromptSection(Wire):
    """A part of the system prompt; a stable one is byte-identical from turn to turn."""

    section_id: str
    title: str
    text: str
    stable: bool


class ContextBlock(Wire):
    """Recalled data, rendered so that it cannot close its own block."""

    block_id: str
    domain: Literal["memory", "thread", "knowledge"]
    text: str
    placement: Placement
    source_refs: list[SourceRef]


class PrepareResult(Wire):
    """All that a host needs to call its own model."""

    turn: Turn
    context_blocks: list[ContextBlock]
    prompt_sections: list[PromptSection]
    tools: list[ToolSpec]
    policy: TurnPolicy
    prompt_manifest: PromptManifest
    recall_status: RecallStatus


class ToolCallParams(Params):
    """`turn/tool_call`; `call_id` is idempotent within the turn."""

    turn_id: Id
    call_id: Id
    name: Label
    arguments: dict[str, Any] = {}


class ToolFailure(Wire):
    """The error of a tool."""

    code: str
    message: str
    retryable: bool = False


class ToolReply(Wire):
    """The answer of a tool."""

    ok: bool
    data: Any = None
    error: ToolFailure | None = None


class ToolCallResult(Wire):
    """The answer, and the tools that are visible now."""

    result: ToolReply
    visible_tools: list[str]


class ToolEvent(Params):
    """A host's own tool call of the turn, in a sentence."""

    name: Label
    summary: Annotated[str, matching(WITHOUT_NUL), Meta(max_length=2000)] | None = None
    status: Label | None = None
    call_id: Id | None = None


class TurnFinishParams(Params):
    """`turn/finish`; idempotent."""

    turn_id: Id
    status: FinishStatus
    assistant_text: Text | None = None
    tool_events: Annotated[list[ToolEvent], Meta(max_length=256)] = []
    artifacts: Annotated[list[ArtifactRefInput], Meta(max_length=64)] = []
