"""The part of the system prompt that explains to a model how to use recalled memories.

Rule 1: it depends on settings and policy alone, never on recalled records, so that it is the same bytes in every turn.
Rule 2: recalled text is no part of it: that goes into blocks, as data.
"""

from collections.abc import Callable

from memory.hooks.policy import policy_of
from promt import load
from protocol.conversation.values import Domain
from protocol.hooks import HookInput, HookOutput, SectionContribution
from protocol.settings import GatewayConfig


def _section(name: str, domain: Domain) -> SectionContribution:
    prompt = load(name)
    return SectionContribution(section_id=name, domain=domain, title=prompt.title, text=prompt.text, stable=True)


class PromptContract:
    """The hook `memory.prompt_contract`."""

    def __init__(self, *, settings: Callable[[], GatewayConfig]) -> None:
        self._settings = settings

    async def __call__(self, given: HookInput) -> HookOutput:
        """Return a section for each kind of recall that the turn may have."""
        config = self._settings()
        memory, episodic = config.memory, config.thread_episodic
        policy = policy_of(given)
        recalls = policy.recall.allowed and (memory.deterministic_recall_enabled or memory.active_recall_enabled)
        reads = policy.read_tools.allowed and memory.tools_enabled
        sections: list[SectionContribution] = []
        if recalls or reads:
            sections.append(_section("memory_recall", "memory"))
        if policy.recall.allowed and episodic.enabled and episodic.recall_enabled:
            sections.append(_section("thread_context", "thread"))
        return HookOutput(contributions=[*sections])
