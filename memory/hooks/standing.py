"""The standing block: the user's instructions, style and identity, in every turn that may recall.

Rule 1: a turn that may not recall has no such block, nor has a subagent; the run is skipped with the reason.
Rule 2: the block depends on memory and settings alone, never on the message, so that a provider's prompt cache holds.
"""

from memory.hooks.policy import policy_of
from memory.ports_hooks import MemoryForTurns
from promt.brief import STANDING, Brief
from protocol.conversation.manifests import ManifestBudget
from protocol.hooks import Contribution, DiagnosticContribution, HookInput, HookOutput, SectionContribution, SkipRun

SECTION_ID = "memory_standing"
BUDGET = "standing"
MAX_NAMED = 100
"""The most ids that the diagnostic names; its count is of all."""


def reason_to_skip(given: HookInput) -> str | None:
    """Return the code of the reason for which a turn has no standing block, or None."""
    if given.context.parent_thread_id is not None:
        return "subagent"
    recall = policy_of(given).recall
    return None if recall.allowed else recall.reason_code


class StandingBlock:
    """The hook `memory.standing`."""

    def __init__(self, *, service: MemoryForTurns) -> None:
        self._service = service

    async def __call__(self, given: HookInput) -> HookOutput:
        """Return the block as a section, with a diagnostic of records that did not fit.

        Raises `SkipRun` where there may be none.
        """
        reason = reason_to_skip(given)
        if reason is not None:
            raise SkipRun(reason)
        brief = await self._service.standing(given.context)
        contributions: list[Contribution] = [_section(brief)]
        if brief.left_out:
            data = {"count": len(brief.left_out), "memory_ids": list(brief.left_out[:MAX_NAMED])}
            contributions.append(DiagnosticContribution(code="standing_cut", data=data))
        return HookOutput(contributions=contributions)


def _section(brief: Brief) -> SectionContribution:
    return SectionContribution(
        section_id=SECTION_ID,
        domain="memory",
        title=STANDING.title,
        text=brief.text,
        lines=list(brief.lines),
        truncated=brief.is_cut,
        budget=ManifestBudget(name=BUDGET, limit=brief.max_chars, used=len(brief.text)),
    )
