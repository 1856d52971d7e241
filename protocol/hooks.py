"""The hook contract: a hook's input in each phase, its output, and its registration.

Rule 1: `agent/` runs hooks by this shape and knows no memory; `memory/` and `thread_episodic/` satisfy it and know no
turn loop; `gateway/wiring.py` joins them.
Rule 2: which phase allows which contribution stands only here.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from protocol.base import Diagnostic, Wire
from protocol.conversation.host_turns import ToolReply, ToolSpec
from protocol.conversation.manifests import ManifestBudget, SourceRef, TurnPolicy
from protocol.conversation.turns import ToolEvent, TurnOptions
from protocol.conversation.values import (
    Domain,
    Driver,
    MemoryMode,
    Mode,
    NotStored,
    Phase,
    RecallStatus,
    Role,
    ThreadOrigin,
)
from protocol.gateway import AwaitPolicy, FailurePolicy
from protocol.models import Picture
from protocol.shown import ContextItem, Recalled, ShownLine

PHASES: tuple[Phase, ...] = (
    "TurnPrePolicy",
    "TurnPrePromptContext",
    "TurnPostPreflightPromptContext",
    "TurnPreToolMaterialization",
    "TurnPrePromptCompile",
    "TurnPostTurn",
)
"""In dispatch order."""

HOOK_CONTRACT_VERSION = 1
DEFAULT_TIMEOUT_MS = 1000
HAND_OVER_MS = 50
"""The end of a hook's time, in which one that searches hands over what it has: one that is cut off gives nothing."""

CALL_PREFIX = "call"
"""The prefix of the id that stands for a turn where a tool is called outside of any."""


# -- input of a hook ------------------------------------------------------------------------------------------


class TurnContext(Wire):
    """The place and the time of a turn."""

    workspace_id: str
    thread_id: str
    turn_id: str
    agent_id: str | None
    task_id: str | None
    parent_thread_id: str | None
    mode: Mode
    memory_mode: MemoryMode
    origin: ThreadOrigin
    driver: Driver
    options: TurnOptions
    now: int
    time_zone: str
    not_stored: NotStored | None = None
    """The reason for which nothing of the turn is stored."""
    said_at: int | None = None
    """The time at which a turn was said that was brought in with its conversation; None for a live one."""


class DurablePlan(Wire):
    """A turn's request for durable memory beyond deterministic recall."""

    status: Literal["recall", "skip"] = "skip"
    modes: list[Literal["key", "category", "query"]] = []
    targets: list[str] = []


class EpisodicQuery(Wire):
    """One search of the conversation."""

    mode: Literal["current_thread", "related_threads", "workspace_threads"]
    query: str
    from_at: int | None = None
    to_at: int | None = None
    max_chars: int | None = None
    roles: list[Literal["user", "assistant"]] | None = None
    newest: bool = False
    """The newest is wanted: the words are then what comes first, and what is shown need not have them."""


class EpisodicPlan(Wire):
    """A turn's request for conversation."""

    status: Literal["recall", "skip"] = "skip"
    queries: list[EpisodicQuery] = []
    is_asked: bool = False
    """The user clearly asks for what was said: then the best that there is is shown, though it fits badly."""


class FileQuery(Wire):
    """One search of the user's files."""

    query: str
    entity: str | None = None
    source: str | None = None
    max_chars: int | None = None


class FilesPlan(Wire):
    """A turn's request for what files say, beyond what its words find."""

    status: Literal["recall", "skip"] = "skip"
    queries: list[FileQuery] = []


class RecallPlan(Wire):
    """A validated plan of the preflight planner."""

    visible_tools: list[str] = []
    durable: DurablePlan = field(default_factory=DurablePlan)
    episodic: EpisodicPlan = field(default_factory=EpisodicPlan)
    knowledge: FilesPlan = field(default_factory=FilesPlan)


class TranscriptItem(Wire):
    """A message of the turn, without injected spans."""

    item_id: str
    role: Role
    text: str


# -- output of a hook -----------------------------------------------------------------------------------------


class PolicyContribution(Wire, tag_field="kind", tag="policy"):
    """The turn's policy."""

    policy: TurnPolicy


class PromptContext(Wire, tag_field="kind", tag="prompt_context"):
    """Recalled items of one domain, best first. `status` and `reason` go to the manifest's recall, also when empty."""

    context_id: str
    domain: Literal["memory", "thread", "knowledge"]
    items: list[ContextItem]
    max_chars: int
    max_item_chars: int
    status: RecallStatus
    reason: str


class ToolBundle(Wire, tag_field="kind", tag="tool_bundle"):
    """All tools of a domain. Which of them the model sees is decided by the plan and `request_tools`."""

    domain: Domain
    tools: list[ToolSpec]


class SectionContribution(Wire, tag_field="kind", tag="prompt_section"):
    """A part of the system prompt.

    One without text is left out; the manifest has its budget all the same.

    `lines` are whole lines of `text`, each with what it shows; `truncated` says that something did not fit.
    A `verbatim` section has kept to its own budget: it stands first, is not cut again, and takes no room of the others.
    """

    section_id: str
    domain: Domain
    title: str
    text: str
    stable: bool = True
    lines: list[ShownLine] = []
    truncated: bool = False
    budget: ManifestBudget | None = None
    verbatim: bool = False
    source_refs: list[SourceRef] = []
    """The files that the text was read from."""


class DiagnosticContribution(Wire, tag_field="kind", tag="diagnostic"):
    """A note; allowed in every phase."""

    code: str
    message: str | None = None
    data: dict[str, Any] | None = None


class AuditContribution(Wire, tag_field="kind", tag="audit"):
    """A background effect, described by its kind and counts."""

    event: str
    data: dict[str, Any] = {}


Contribution: TypeAlias = (
    PolicyContribution | PromptContext | ToolBundle | SectionContribution | DiagnosticContribution | AuditContribution
)

ALLOWED: Mapping[Phase, tuple[type[Any], ...]] = {
    "TurnPrePolicy": (PolicyContribution, DiagnosticContribution),
    "TurnPrePromptContext": (PromptContext, SectionContribution, DiagnosticContribution),
    "TurnPostPreflightPromptContext": (PromptContext, DiagnosticContribution),
    "TurnPreToolMaterialization": (ToolBundle, DiagnosticContribution),
    "TurnPrePromptCompile": (SectionContribution, DiagnosticContribution),
    "TurnPostTurn": (AuditContribution, DiagnosticContribution),
}
"""A contribution of another kind fails that hook run."""

DIAGNOSTIC_CODES: frozenset[str] = frozenset(
    {
        "agent_cut",
        "collection_unavailable",
        "cwd_missing",
        "extraction_stats",
        "hidden_characters",
        "include_refused",
        "instructions_cut",
        "instructions_off",
        "instructions_unreadable",
        "malformed_fact",
        "model_role_unset",
        "secret_in_instructions",
        "stale_dropped",
        "standing_cut",
        "too_many_facts",
    }
)
"""The codes that hooks report of their own work.

Of any other code nothing but the code is kept; with strict diagnostics its run fails.
"""

MAX_CONTRIBUTIONS = 64
"""The contributions of one run. A prompt holds 16 contexts and 16 sections; more would flood it."""

MAX_OUTPUT_BYTES = 2 * 1024 * 1024
"""Of all that one run gives, as JSON: more than the largest budget that any setting allows."""


class HookInput(Wire):
    """The input of a hook. Members that a phase does not have are empty."""

    phase: Phase
    run_id: str
    context: TurnContext
    text: str = ""
    previous: list[str] = []
    """The last message of the user before this one, and what was answered to it."""
    policy: TurnPolicy | None = None
    plan: RecallPlan | None = None
    recalled: Recalled = field(default_factory=Recalled)
    history_turn_ids: list[str] = []
    contributions: list[Contribution] = []
    existing_tools: list[str] = []
    provider_calls_tools: bool = False
    status: Literal["succeeded", "failed", "provider_failure", "interrupted", "cancelled"] | None = None
    transcript: list[TranscriptItem] = []
    tool_events: list[ToolEvent] = []


class HookOutput(Wire):
    """The output of a hook."""

    contributions: list[Contribution] = []


HookCall: TypeAlias = Callable[[HookInput], Awaitable[HookOutput]]


class SkipRun(Exception):
    """Raised by a background hook whose work does not apply; the run ends `skipped` with this code."""

    def __init__(self, code: str) -> None:
        self.code = code
        super().__init__(code)


class HookFailure(Exception):
    """Raised by a hook that failed for a known cause; a retryable one is tried again as its subscription says."""

    def __init__(self, code: str, *, retryable: bool = False) -> None:
        self.code = code
        self.retryable = retryable
        super().__init__(code)


def always() -> bool:
    """Return True: the `enabled` of a hook that no setting switches off."""
    return True


class Retry(Struct, frozen=True, kw_only=True):
    """The number of a background hook's tries in all; the pauses between are the job queue's."""

    attempts: int = 1


class Subscription(Struct, frozen=True, kw_only=True):
    """A hook registered for a phase. `enabled` is asked at every dispatch, so that settings apply live.

    Failure policies: a failed `required` hook fails the turn; the run of a `best_effort` one is `failed`, that of a
    `skip` one `skipped`, and the turn goes on. Only hooks of TurnPostTurn run in the background, and only they are
    tried again.
    """

    hook_id: str
    phase: Phase
    call: HookCall
    priority: int = 0
    after: tuple[str, ...] = ()
    enabled: Callable[[], bool] = always
    await_policy: AwaitPolicy = "deadline"
    timeout_ms: int = DEFAULT_TIMEOUT_MS
    failure_policy: FailurePolicy = "best_effort"
    retry: Retry = field(default_factory=Retry)
    contract_version: int = HOOK_CONTRACT_VERSION


# -- tools ---------------------------------------------------------------------------------------------------------


class ToolContext(Wire):
    """The caller of a tool: its turn and the policy of that."""

    turn: TurnContext
    policy: TurnPolicy
    user_text: str
    call_id: str
    show: Callable[[Picture], None] | None = None
    """Shows the model a picture beside the answer; None where it takes none."""
    agreed: bool = False  # the user was shown this very call whole, and said yes
    may_note: bool = False  # at a door whose user cannot be asked, what is not their wish becomes the agent's note


ToolCall: TypeAlias = Callable[[ToolContext, str, dict[str, Any]], Awaitable[ToolReply]]
"""(context, tool name, arguments) → reply. Bad arguments are a reply with `error`, never an exception."""


def collect_recalled(contributions: Sequence[Contribution]) -> Recalled:
    """Return the items and sections that contributions put into the prompt."""
    items = [item for c in contributions if isinstance(c, PromptContext) for item in c.items]
    lines = [line for c in contributions if isinstance(c, SectionContribution) for line in c.lines]
    return Recalled(
        memory_ids=[item.ref.id for item in items if item.ref.kind == "memory"],
        chunk_ids=[item.ref.id for item in items if item.ref.kind == "chunk"],
        knowledge_ids=[item.ref.id for item in items if item.ref.kind == "file"],
        standing_ids=[line.ref.id for line in lines if line.ref.kind == "memory"],
        facts=[shown.text for shown in (*items, *lines) if shown.ref.kind == "memory"],
    )


def diagnostics_of(contributions: Sequence[Contribution]) -> list[Diagnostic]:
    """Return the diagnostics among contributions."""
    return [
        Diagnostic(code=c.code, message=c.message, data=c.data)
        for c in contributions
        if isinstance(c, DiagnosticContribution)
    ]
