"""Asks a model for the plan of a turn about which the local planner is unsure.

Rule 1: the model gets the message, names and sizes, not memory; it is asked once, and for so long as the settings say.
Rule 2: whatever is wrong with its plan or happens while it is asked, the local one stands, and the manifest says why.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import anyio
import msgspec
from msgspec import Struct

from agent.prompt.preflight import Preflight, to_manifest_plan
from agent.prompt.preflight_answer import PlanFault, UnusablePlanError, read_plan
from promt import load
from protocol.conversation.manifests import ManifestPreflight, TurnPolicy
from protocol.errors import GatewayError
from protocol.hooks import RecallPlan, TurnContext
from protocol.models import Message, Model, ModelRequest, ProviderFailed, ProviderFault
from protocol.seams.ports import Transact, Tx
from protocol.settings import PreflightSettings
from protocol.sizes import MeasureConversation, MeasureMemory
from protocol.tools import tool_spec

MAX_TEXT_CHARS = 4000  # of the message: what it hints at stands in its beginning or is not worth a call

FAULTS: Mapping[ProviderFault, PlanFault] = {"timeout": "timeout", "bad_json": "invalid_json"}
"""The fault of a plan for a provider's failure; every other failure means that there was no model to ask."""


class Advisor(Struct, frozen=True):
    """The model that may be asked, the tools that it may choose from, and how much there is to look up."""

    model: Model
    tools: Sequence[str]
    db: Transact
    memory: MeasureMemory
    conversation: MeasureConversation
    incident: Callable[[BaseException], str]


class Case(Struct, frozen=True):
    """A turn about which the local planner is unsure: its message, its place, and the memories recalled so far."""

    text: str
    context: TurnContext
    already_recalled: int


async def _question(case: Case, advisor: Advisor) -> dict[str, Any]:
    """Return the question to the model: the message, names and sizes."""
    context = case.context

    def measure(tx: Tx) -> dict[str, Any]:
        scopes = advisor.memory(tx, context)
        return {
            "memory": {"scopes": scopes, "already_recalled": case.already_recalled},
            "episodic": advisor.conversation(tx, context),
        }

    tools = [tool_spec(name) for name in advisor.tools]
    return {
        "text": case.text[:MAX_TEXT_CHARS],
        "mode": context.mode,
        "candidate_tools": [{"name": t.name, "domain": t.domain, "summary": t.description} for t in tools],
        **await advisor.db.read(measure),
        "now": context.now,
        "time_zone": context.time_zone,
    }


def _request(context: TurnContext, question: dict[str, Any]) -> ModelRequest:
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


async def _advice(case: Case, advisor: Advisor, timeout_ms: int) -> RecallPlan:
    """Return the model's plan. Raises `UnusablePlanError`, `GatewayError`, and whatever the model's adapter raises."""
    try:
        with anyio.fail_after(timeout_ms / 1000):
            reply = await advisor.model.complete(_request(case.context, await _question(case, advisor)))
    except TimeoutError:
        raise UnusablePlanError("timeout") from None
    except ProviderFailed as failed:
        raise UnusablePlanError(FAULTS.get(failed.fault, "unavailable")) from None
    return read_plan(reply.text, advisor.tools, case.context.now)


async def advise(
    local: Preflight, case: Case, policy: TurnPolicy, advisor: Advisor, settings: PreflightSettings
) -> Preflight:
    """Return the plan that is carried out: the local one, or a model's where that was needed and is valid."""
    is_asked = local.is_unsure and policy.recall.allowed and advisor.model.is_configured("preflight")
    if not is_asked:
        return local
    reason: PlanFault = "unavailable"
    try:
        plan = await _advice(case, advisor, settings.timeout_ms)
        return Preflight(plan, ManifestPreflight(source="model", reason="unsure", plan=to_manifest_plan(plan)))
    except UnusablePlanError as unusable:
        reason = unusable.reason
    except GatewayError:  # such as a store that is too busy for the sizes
        pass
    except Exception as failed:  # noqa: BLE001  # an adviser's failure changes nothing: an incident is logged
        advisor.incident(failed)
    return Preflight(local.plan, ManifestPreflight(source="fallback", reason=reason, plan=local.manifest.plan))
