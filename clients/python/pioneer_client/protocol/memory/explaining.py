"""Explanations: why something was or was not remembered or recalled."""

from typing import Literal, TypeAlias

from msgspec import field

from pioneer_client.protocol.base import Diagnostic, Id, Params, Query, Wire
from pioneer_client.protocol.memory.values import Context, Decision


class ExplainTarget(Params):
    """The thing to explain, with `id` for every kind; `memory/forget` names it by kind (`memory_id`, `turn_id` ...).

    A `turn` may be a call outside of any turn: the `call_…` of a refused proposal over MCP.
    """

    kind: Literal["memory", "candidate", "turn", "hook_run"]
    id: Id


class ExplainParams(Params):
    """`memory/explain`: a `target`, or a `query` as it would be recalled in `context`."""

    target: ExplainTarget | None = None
    query: Query | None = None
    context: Context = field(default_factory=Context)


GateName: TypeAlias = Literal[
    "memory_enabled",
    "extraction_enabled",
    "turn_succeeded",
    "policy",
    "eligibility",
    "extractor",
    "fact_valid",
    "quote",
    "own_words",
    "instruction",
    "secret",
    "scope",
    "duplicate",
    "admission",
    "recall_enabled",
    "scope_active",
    "status",
    "expiry",
    "voice",
    "sensitivity",
    "integrity",
    "excluded",
    "candidate",
    "floor",
    "budget",
    "already_shown",
]


class Gate(Wire):
    """One question that a write or a recall had to pass."""

    gate: GateName
    passed: bool
    reason_code: str | None
    detail: str | None = None


class RankedCandidate(Wire):
    """Something that a recall considered. Never its text."""

    rank: int
    score: float
    factors: dict[str, float]
    cut_by: str | None
    memory_id: str | None = None
    chunk_id: str | None = None
    lexical_rank: int | None = None
    semantic_rank: int | None = None


class BudgetUse(Wire):
    """The use of a budget, and what it cut."""

    name: str
    limit: int
    used: int
    cut: int = 0


class Missing(Wire):
    """Something that an explanation would need and that is not there."""

    kind: str
    reason: str


class ExplainRun(Wire):
    """A hook run that had to do with it."""

    run_id: str
    hook_id: str
    status: str
    diagnostics: list[Diagnostic]


class FileSource(Wire):
    """A place in a file that a memory was taken from, and what became of it."""

    collection_id: str
    path: str
    from_line: int | None
    to_line: int | None
    state: Literal["same", "moved", "changed", "gone"]


class ExplainResult(Wire):
    """The reason why something was or was not saved or recalled."""

    outcome: Literal["saved", "merged", "superseded", "candidate", "rejected", "recalled", "not_recalled", "unknown"]
    summary: str
    gates: list[Gate]
    decision: Decision | None
    candidates: list[RankedCandidate]
    hook_runs: list[ExplainRun]
    budgets: list[BudgetUse]
    missing: list[Missing]
    decisions: list[Decision] = []
    files: list[FileSource] = []
    """The places in files that a memory rests on."""
