"""Durable memory's part in a turn: seven hooks and five tools.

Rule 1: a hook is here because a row of the table below says so, with its phase, its switch and its deadline.
Rule 2: `agent/` is met only through the hook contract; the memory service only through `MemoryForTurns`.
"""

from collections.abc import Callable

from memory.hooks.active_recall import ActiveRecall
from memory.hooks.extraction import Extraction
from memory.hooks.policy import decide
from memory.hooks.prompt_contract import PromptContract
from memory.hooks.recall import DeterministicRecall
from memory.hooks.standing import StandingBlock
from memory.hooks.tools import PERMISSION, MemoryTools
from memory.ports_hooks import EXTRACTOR_HOOK, MemoryForTurns
from protocol.hooks import Retry, Subscription, ToolCall
from protocol.models import Model
from protocol.settings import GatewayConfig

POLICY_TIMEOUT_MS = 10_000
"""The hook only reads the message, so that only an overloaded machine delays it; a turn without it learns nothing."""
RECALL_TIMEOUT_MS = 61_000
"""Recall ends by itself at `gateway.recall.deadline_ms.turn`, a minute at most, with the records that it has then."""
ACTIVE_RECALL_TIMEOUT_MS = 800
EXTRACTION_TIMEOUT_MS = 60_000
EXTRACTION_RETRY = Retry(attempts=3)


def build(
    service: MemoryForTurns, settings: Callable[[], GatewayConfig], model: Model
) -> tuple[list[Subscription], dict[str, ToolCall]]:
    """Return the hooks of durable memory in dispatch order, and the callable of each of its tools by name."""

    def while_on(*switches: str) -> Callable[[], bool]:
        """Return a test that memory is on, and one of these switches of its settings, if any are given."""

        def is_on() -> bool:
            memory = settings().memory
            return memory.enabled and (not switches or any(getattr(memory, name) for name in switches))

        return is_on

    def has_contract() -> bool:
        config = settings()
        any_on = while_on(
            "deterministic_recall_enabled",
            "active_recall_enabled",
            "tools_enabled",
            "background_extraction_enabled",
        )
        return any_on() or (config.memory.enabled and config.thread_episodic.recall_enabled)

    standing = Subscription(
        hook_id="memory.standing",
        phase="TurnPrePromptContext",
        call=StandingBlock(service=service),
        enabled=while_on("standing_chars"),
    )
    tools = MemoryTools(service=service, settings=settings)
    subscriptions = [
        Subscription(
            hook_id="memory.policy",
            phase="TurnPrePolicy",
            call=decide,
            enabled=while_on(),
            timeout_ms=POLICY_TIMEOUT_MS,
        ),
        standing,
        Subscription(
            hook_id="memory.deterministic_recall",
            phase="TurnPrePromptContext",
            call=DeterministicRecall(service=service),
            after=(standing.hook_id,),
            enabled=while_on("deterministic_recall_enabled"),
            timeout_ms=RECALL_TIMEOUT_MS,
        ),
        Subscription(
            hook_id="memory.active_recall",
            phase="TurnPostPreflightPromptContext",
            call=ActiveRecall(service=service),
            enabled=while_on("active_recall_enabled"),
            timeout_ms=ACTIVE_RECALL_TIMEOUT_MS,
        ),
        Subscription(
            hook_id="memory.tool_bundle",
            phase="TurnPreToolMaterialization",
            call=tools.offer,
            enabled=while_on("tools_enabled"),
        ),
        Subscription(
            hook_id="memory.prompt_contract",
            phase="TurnPrePromptCompile",
            call=PromptContract(settings=settings),
            enabled=has_contract,
        ),
        Subscription(
            hook_id=EXTRACTOR_HOOK,
            phase="TurnPostTurn",
            call=Extraction(service=service, settings=settings, model=model),
            enabled=while_on("background_extraction_enabled"),
            await_policy="background",
            timeout_ms=EXTRACTION_TIMEOUT_MS,
            retry=EXTRACTION_RETRY,
        ),
    ]
    return subscriptions, dict.fromkeys(PERMISSION, tools)
