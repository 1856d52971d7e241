"""The process on the wire: handshake, status, drain, hooks, providers."""

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta

from pioneer_client.protocol.base import Cursor, Diagnostic, Id, Limit, Params, Wire
from pioneer_client.protocol.conversation.turns import Usage
from pioneer_client.protocol.conversation.values import Label, Phase, RunStatus
from pioneer_client.protocol.memory.values import SemanticState, SpaceKind
from pioneer_client.protocol.settings import ProviderKind

MAX_BATCH = 100


class ClientInfo(Params):
    """The program that spawned the gateway."""

    name: Label
    version: Label
    time_zone: Label | None = None


class InitializeParams(Params):
    """`initialize`."""

    protocol_version: Label
    client: ClientInfo
    workspace_id: Id | None = None
    capabilities: dict[str, Any] | None = None
    parent_pid: Annotated[int, Meta(ge=1)] | None = None


class ServerInfo(Wire):
    """The gateway's own name and version."""

    name: str
    version: str


class Capabilities(Wire):
    """Every request that is answered and every notification that is sent."""

    methods: list[str]
    notifications: list[str]


class MemoryState(Wire):
    """The present state of durable memory."""

    enabled: bool
    tools_enabled: bool
    deterministic_recall_enabled: bool
    active_recall_enabled: bool
    background_extraction_enabled: bool
    review_enabled: bool


class EpisodicState(Wire):
    """The present state of conversation search."""

    enabled: bool
    indexing_enabled: bool
    recall_enabled: bool


class SearchState(Wire):
    """The present state of search."""

    lexical: bool
    semantic: SemanticState
    model: str | None = None
    dim: int | None = None
    kind: SpaceKind | None = None


class WireLimits(Wire):
    """Limits that a client should know."""

    max_message_bytes: int
    max_in_flight: int
    max_batch: int


class InterruptedTurn(Wire):
    """A turn that a dead process left."""

    thread_id: str
    turn_id: str


class InitializeResult(Wire):
    """The handshake's answer."""

    protocol_version: str
    server: ServerInfo
    capabilities: Capabilities
    memory: MemoryState
    thread_episodic: EpisodicState
    search: SearchState
    home_id: str
    workspace_id: str
    limits: WireLimits
    interrupted_turns: list[InterruptedTurn]


class CancelParams(Params):
    """`$/cancelRequest`."""

    id: str | int


class Degraded(Wire):
    """A component that does not work at present."""

    component: str
    reason: str
    since: int
    key: str | None = None
    nearest: str | None = None
    """Of a key that does not exist: the one that it most likely means."""
    line: int | None = None
    """Of a key that does not exist: its line in the configuration."""


class QueueCounts(Wire):
    """Background work of one kind."""

    queued: int = 0
    leased: int = 0
    retry_wait: int = 0
    dead: int = 0


class LastError(Wire):
    """A recent failure, without its text."""

    at: int
    component: str
    reason: str
    incident_id: str | None


class StorageState(Wire):
    """Sizes of the database's files."""

    db_bytes: int
    wal_bytes: int


ProviderProblem: TypeAlias = Literal[
    "extra_missing", "key_missing", "model_missing", "base_url_invalid", "script_missing"
]
"""The problems that keep a provider from being asked at all."""


class ProviderState(Wire):
    """A configured provider. `problem` is None where it can be asked; `hint` is an advice in words."""

    name: str
    kind: ProviderKind
    model: str | None
    has_key: bool
    roles: list[str]
    last_error: str | None = None
    problem: ProviderProblem | None = None
    hint: str | None = None


class RepairState(Wire):
    """The rest of the repair; `damaged` records, whose checksum fails, cannot be mended and are hidden."""

    damaged: int = 0
    texts: int = 0
    erases: int = 0


class CaptureState(Wire):
    """A door that keeps conversations of programs without memory; `dark` where its memory does not answer."""

    kind: Literal["proxy"]
    pid: int
    url: str
    status: Literal["live", "dark", "off"]
    late: int
    """Requests that went on without memory, since it started."""
    spooled: int
    """Answers that wait to be kept."""
    last_turn_at: int | None
    usage: Usage


class StatusResult(Wire):
    """`gateway/status`."""

    version: str
    schema_version: int
    uptime_ms: int
    home_id: str
    processes: int
    queues: dict[str, QueueCounts]
    search: SearchState
    providers: list[ProviderState]
    degraded: list[Degraded]
    last_errors: list[LastError]
    storage: StorageState
    repair: RepairState | None = None
    capture: list[CaptureState] = []


class DrainParams(Params):
    """`gateway/drain`."""

    timeout_ms: Annotated[int, Meta(ge=0, le=3_600_000)] = 30_000


class Waiting(Wire):
    """Work that waits for its time."""

    kind: str
    count: int
    next_run_at: int


class DrainResult(Wire):
    """The result of a drain, with the jobs that wait for later.

    `idle` when no job is runnable and no reported change of files waits to be read.
    """

    idle: bool
    pending: int
    waiting: list[Waiting]


# -- hooks ---------------------------------------------------------------------------------------------------------

AwaitPolicy: TypeAlias = Literal["deadline", "background"]
FailurePolicy: TypeAlias = Literal["best_effort", "required", "skip"]


class SubscriptionView(Wire):
    """A hook as registered for a phase."""

    hook_id: str
    phase: Phase
    priority: int
    await_policy: AwaitPolicy
    timeout_ms: int
    failure_policy: FailurePolicy
    enabled: bool


class HooksListResult(Wire):
    """Subscriptions in dispatch order."""

    subscriptions: list[SubscriptionView]


class HooksRunsParams(Params):
    """`hooks/runs`."""

    turn_id: Id | None = None
    thread_id: Id | None = None
    phase: Phase | None = None
    status: RunStatus | None = None
    limit: Limit = 20
    cursor: Cursor | None = None


class RunError(Wire):
    """The code of a run's failure, never text."""

    code: str
    retryable: bool


class HookRun(Wire):
    """One run of a hook. Contribution hashes, never contents."""

    run_id: str
    hook_id: str
    phase: Phase
    thread_id: str
    turn_id: str
    status: RunStatus
    attempt_count: int
    queued_at: int
    started_at: int | None
    completed_at: int | None
    duration_ms: int | None
    contribution_count: int
    contribution_hashes: list[str]
    diagnostics: list[Diagnostic]
    error: RunError | None = None


class HooksRunsResult(Wire):
    """Runs, newest first."""

    runs: list[HookRun]
    next_cursor: str | None


# -- providers -----------------------------------------------------------------------------------------------------


class ProviderListResult(Wire):
    """`provider/list`."""

    providers: list[ProviderState]


class ProviderTestParams(Params):
    """`provider/test`."""

    name: Label


class ProviderTestResult(Wire):
    """The outcome of one try of a provider; `error` is its fault, `hint` an advice in words."""

    ok: bool
    latency_ms: int
    error: str | None = None
    hint: str | None = None
