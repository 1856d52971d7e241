"""Decides, before the model, what a turn should look up and which tools it may need.

Rule 1: the local planner decides first, from the message alone; its memory and conversation parts come from their owners.
Rule 2: a model is asked only where the local planner is unsure: the message hints at the past and names nothing of it.
Rule 3: whatever is wrong with a model's plan, the local one stands, and the manifest says why.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import anyio
import msgspec

from agent.preflight_answer import UnusablePlanError, read_plan
from promt.phrases import says
from promt import load
from protocol.hooks import DurablePlan, EpisodicPlan, ProposeDurable, ProposeEpisodic, RecallPlan, TurnContext
from protocol.models import Message, Model, ModelRequest, ProviderFailed
from protocol.settings import PreflightSettings
from protocol.threads import ManifestPreflight, TurnPolicy

MAX_TEXT_CHARS = 4000  # of the message, for the model: what it hints at stands in its beginning or is not worth a call
ARTIFACT_TOOL = "artifact_read"


class Preflight(NamedTuple):
    """The plan, and what the manifest says of it."""

    plan: RecallPlan | None
    manifest: ManifestPreflight
    is_unsure: bool = False


class Planners(NamedTuple):
    """The owners' parts of the local plan."""

    durable: ProposeDurable
    episodic: ProposeEpisodic


class Advisor(NamedTuple):
    """The model that may be asked, and the tools that it may choose from."""

    model: Model
    tools: Sequence[str]


def _shown(plan: RecallPlan) -> dict[str, Any]:
    return {
        "tools": {"visible_tools": plan.visible_tools},
        "memory": {"active_recall": {"durable": plan.durable, "episodic": plan.episodic}},
    }


def plan_turn(text: str, context: TurnContext, planners: Planners, *, is_enabled: bool) -> Preflight:
    """The local plan of a turn. Chat mode has none."""
    if context.mode == "chat" or not is_enabled:
        reason = "chat_mode" if context.mode == "chat" else "preflight_disabled"
        return Preflight(None, ManifestPreflight(source="none", reason=reason, plan=None))
    durable, tools = planners.durable(text, context)
    episodic = planners.episodic(text, context)
    if says(text, "artifact"):
        tools = [*tools, ARTIFACT_TOOL]
    plan = RecallPlan(visible_tools=tools, durable=durable, episodic=episodic)
    says_nothing = durable == DurablePlan() and episodic == EpisodicPlan() and not tools
    is_unsure = says_nothing and context.memory_mode != "ignored" and says(text, "hints")
    reason = ("unsure" if is_unsure else "trivial") if says_nothing else "phrases"
    return Preflight(plan, ManifestPreflight(source="local", reason=reason, plan=_shown(plan)), is_unsure)


def _request(text: str, context: TurnContext, tools: Sequence[str]) -> ModelRequest:
    question = {
        "text": text[:MAX_TEXT_CHARS],
        "mode": context.mode,
        "candidate_tools": [{"name": name, "domain": name.partition("_")[0]} for name in tools],
        "now": context.now,
        "time_zone": context.time_zone,
    }
    return ModelRequest(
        role="preflight",
        thread_id=context.thread_id,
        turn_id=context.turn_id,
        messages=[
            Message(role="system", content=load("preflight").text),
            Message(role="user", content=msgspec.json.encode(question).decode()),
        ],
        json_answer=True,
    )


async def _advice(text: str, context: TurnContext, advisor: Advisor, timeout_ms: int) -> RecallPlan:
    """The model's plan. Raises `UnusablePlanError`."""
    try:
        with anyio.fail_after(timeout_ms / 1000):
            reply = await advisor.model.complete(_request(text, context, advisor.tools))
    except TimeoutError:
        raise UnusablePlanError("late") from None
    except ProviderFailed as failed:
        raise UnusablePlanError(failed.reason) from None
    return read_plan(reply.text, advisor.tools, context.now)


async def advise(
    local: Preflight, text: str, context: TurnContext, policy: TurnPolicy, advisor: Advisor, settings: PreflightSettings
) -> Preflight:
    """The plan that is carried out: the local one, or a model's where that was needed and is valid."""
    is_asked = local.is_unsure and policy.recall.allowed and advisor.model.is_configured("preflight")
    if not is_asked:
        return local
    try:
        plan = await _advice(text, context, advisor, settings.timeout_ms)
    except UnusablePlanError as unusable:
        return Preflight(
            local.plan, ManifestPreflight(source="fallback", reason=unusable.reason, plan=local.manifest.plan)
        )
    return Preflight(plan, ManifestPreflight(source="model", reason="unsure", plan=_shown(plan)))
