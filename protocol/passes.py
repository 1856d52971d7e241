"""Passes on the wire: scheduled maintenance over a home, its runs, what they changed, and how it is undone."""

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, field

from protocol.base import At, Cursor, Id, Limit, Params, Wire
from protocol.memory.values import Context
from protocol.record import Record

PassName: TypeAlias = Literal["consolidate", "dream"]
RunState: TypeAlias = Literal["queued", "running", "completed", "partial", "skipped", "failed", "cancelled", "undone"]
Trigger: TypeAlias = Literal["schedule", "catch_up", "event", "manual"]
StageState: TypeAlias = Literal["waiting", "running", "completed", "partial", "skipped", "failed"]
WaitingFor: TypeAlias = Literal["idle", "activity", "model", "budget"]
UndoSkip: TypeAlias = Literal["changed_since", "erased", "forgotten"]


class RunStage(Wire):
    """A step of a run: how many rows it looked at and changed; `counts` says more, by name."""

    name: str
    state: StageState
    reason: str | None = None
    seen: int = 0
    changed: int = 0
    counts: dict[str, int] = {}
    duration_ms: int = 0


class ModelUse(Wire):
    """The number of times that a run asked a model, and the provider of that model."""

    provider: str
    calls: int
    fell_back_from: str | None = None
    reason: str | None = None


class Run(Wire):
    """One run of a pass: counts and ids, never text. `reversible_until` is null where nothing was changed."""

    run_id: str
    pass_: PassName = field(name="pass")
    trigger: Trigger
    dry_run: bool
    state: RunState
    reason: str | None
    started_at: At | None
    ended_at: At | None
    stages: list[RunStage]
    llm_enriched: int
    model: ModelUse | None
    changes: int
    reversible_until: At | None


class Pass(Wire):
    """A pass: when it runs next, what a run that is due waits for, and how the last one ended."""

    name: PassName
    enabled: bool
    uses_model: bool
    interval_ms: int | None
    next_run_at: At | None
    waiting_for: WaitingFor | None
    last_run: Run | None


class ModelBudget(Wire):
    """Requests to a model that passes may make in a day, and have made today."""

    daily_model_calls: int
    used: int


class PassesListResult(Wire):
    """Every pass."""

    passes: list[Pass]
    budget: ModelBudget


class PassesRunParams(Params):
    """`passes/run`. A run of the pass that is in progress is joined."""

    pass_: PassName = field(name="pass")
    dry_run: bool = False
    workspace_id: Id | None = None
    timeout_ms: Annotated[int, Meta(ge=0, le=3_600_000)] = 60_000


class RunResult(Wire):
    """A run as it stands."""

    run: Run


class PassesRunsParams(Params):
    """`passes/runs`."""

    pass_: PassName | None = field(default=None, name="pass")
    states: list[RunState] | None = None
    limit: Limit = 20
    cursor: Cursor | None = None


class PassesRunsResult(Wire):
    """Runs, newest first."""

    runs: list[Run]
    next_cursor: str | None


class PassesGetParams(Params):
    """`passes/get`."""

    run_id: Id
    limit: Limit = 20
    cursor: Cursor | None = None


class RunChange(Wire):
    """A change of a run to one thing: the members that differ, before and after."""

    id: str
    what: str
    from_: dict[str, Any] = field(name="from")
    to: dict[str, Any]


class PassesGetResult(Wire):
    """A run, and its changes in the order in which they were made."""

    run: Run
    changes: list[RunChange]
    next_cursor: str | None


class PassesUndoParams(Params):
    """`passes/undo`."""

    run_id: Id
    dry_run: bool = False


class SkippedChange(Wire):
    """A change that was not undone, and why."""

    id: str
    reason: UndoSkip


class PassesUndoResult(Wire):
    """The undoing, which is a run itself, with how many changes it took back."""

    run: Run
    undone: int
    skipped: list[SkippedChange]


class PassesReviewParams(Params):
    """`passes/review`."""

    context: Context = field(default_factory=Context)
    limit: Limit = 20
    cursor: Cursor | None = None


class PassesReviewResult(Wire):
    """Faded records of the user's own voice, the one that faded first before the others."""

    records: list[Record]
    next_cursor: str | None
