"""Asks a model for the plan of a turn about which the local planner is unsure.

Rule 1: the model gets the message and names of tools, not memory; it is asked once, and for so long as the settings say.
Rule 2: whatever is wrong with its plan, the local one stands, and the manifest says why.
"""

from collections.abc import Sequence
from typing import NamedTuple

import anyio
import msgspec

from agent.preflight import Preflight, shown
from agent.preflight_answer import UnusablePlanError, read_plan
from promt import load
from protocol.hooks import RecallPlan, TurnContext
from protocol.models import Message, Model, ModelRequest, ProviderFailed
from protocol.settings import PreflightSettings
from protocol.threads import ManifestPreflight, TurnPolicy

MAX_TEXT_CHARS = 4000  # of the message: what it hints at stands in its beginning or is not worth a call


class Advisor(NamedTuple):
    """The model that may be asked, and the tools that it may choose from."""

    model: Model
    tools: Sequence[str]


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
    return Preflight(plan, ManifestPreflight(source="model", reason="unsure", plan=shown(plan)))
