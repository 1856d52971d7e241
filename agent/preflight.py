"""Decides, before the model, what a turn should look up and which tools it may need.

Rule 1: the local planner decides first, from the message alone; its memory and conversation parts come from their owners.
Rule 2: asking a model when the local planner is unsure has its place in `plan_turn`, and nowhere else.
"""

from typing import Any, NamedTuple

from protocol.hooks import DurablePlan, EpisodicPlan, ProposeDurable, ProposeEpisodic, RecallPlan, TurnContext
from protocol.threads import ManifestPreflight


class Preflight(NamedTuple):
    """The plan, and what the manifest says of it."""

    plan: RecallPlan | None
    manifest: ManifestPreflight


class Planners(NamedTuple):
    """The owners' parts of the local plan."""

    durable: ProposeDurable
    episodic: ProposeEpisodic


def _shown(plan: RecallPlan) -> dict[str, Any]:
    return {
        "tools": {"visible_tools": plan.visible_tools},
        "memory": {"active_recall": {"durable": plan.durable, "episodic": plan.episodic}},
    }


def plan_turn(text: str, context: TurnContext, planners: Planners, *, is_enabled: bool) -> Preflight:
    """The plan of a turn. Chat mode has none."""
    if context.mode == "chat" or not is_enabled:
        reason = "chat_mode" if context.mode == "chat" else "preflight_disabled"
        return Preflight(None, ManifestPreflight(source="none", reason=reason, plan=None))
    durable, tools = planners.durable(text, context)
    episodic = planners.episodic(text, context)
    plan = RecallPlan(visible_tools=tools, durable=durable, episodic=episodic)
    is_trivial = durable == DurablePlan() and episodic == EpisodicPlan() and not tools
    reason = "trivial" if is_trivial else "phrases"
    return Preflight(plan, ManifestPreflight(source="local", reason=reason, plan=_shown(plan)))
