"""A turn's manifest: what its prompt was made of, and what was left out."""

from typing import Any, Literal

from protocol.base import Diagnostic, Wire
from protocol.conversation.values import Domain, Phase, RecallStatus, RunStatus


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
