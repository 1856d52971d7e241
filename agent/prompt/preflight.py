"""Decides, before the model, what a turn should look up and which tools it may need.

Rule 1: the local planner decides first, from the message alone; its memory, conversation
and files parts come from the houses that own these.
Rule 2: pure. The local planner is unsure where a message hints at the past and names nothing of it: only then may a
model be asked (`preflight_advice`).
"""

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from promt.intents import says
from protocol.conversation.manifests import ManifestPreflight
from protocol.hooks import DurablePlan, EpisodicPlan, FilesPlan, RecallPlan, TurnContext
from protocol.seams.house_facts import ProposeDurable, ProposeEpisodic, ProposeFiles

ARTIFACT_TOOL = "artifact_read"


class Preflight(Struct, frozen=True):
    """The plan, and what the manifest says of it."""

    plan: RecallPlan | None
    manifest: ManifestPreflight
    is_unsure: bool = False


def plan_no_files(_text: str, _context: TurnContext) -> tuple[FilesPlan, list[str]]:
    """Return the files part of the plan where there are no files to search."""
    return FilesPlan(), []


class Planners(Struct, frozen=True):
    """The parts of the local plan, each from the house that owns what is looked up."""

    durable: ProposeDurable
    episodic: ProposeEpisodic
    files: ProposeFiles = plan_no_files


def to_manifest_plan(plan: RecallPlan) -> dict[str, Any]:
    """Return a plan as the manifest shows it, without words: of what it looks for it names categories alone.

    A manifest is stored, and an erase would not recognise every wording in it.
    """
    queries = [replace(query, query="") for query in plan.episodic.queries]
    durable = plan.durable if plan.durable.modes == ["category"] else replace(plan.durable, targets=[])
    episodic = replace(plan.episodic, queries=queries)
    of_files: dict[str, Any] = {"status": plan.knowledge.status, "queries": len(plan.knowledge.queries)}
    return {
        "tools": {"visible_tools": plan.visible_tools},
        "memory": {"active_recall": {"durable": durable, "episodic": episodic}},
        **({"knowledge": of_files} if plan.knowledge.queries else {}),
    }


def plan_turn(text: str, context: TurnContext, planners: Planners, *, is_enabled: bool) -> Preflight:
    """Return the local plan of a turn. Chat mode has none."""
    if context.mode == "chat" or not is_enabled:
        reason = "chat_mode" if context.mode == "chat" else "preflight_disabled"
        return Preflight(None, ManifestPreflight(source="none", reason=reason, plan=None))
    durable, tools = planners.durable(text, context)
    episodic = planners.episodic(text, context)
    if says(text, "artifact"):
        tools = [*tools, ARTIFACT_TOOL]
    of_files, file_tools = planners.files(text, context)
    tools = [*tools, *file_tools]
    plan = RecallPlan(visible_tools=tools, durable=durable, episodic=episodic, knowledge=of_files)
    says_nothing = durable == DurablePlan() and episodic == EpisodicPlan() and not tools
    is_unsure = says_nothing and context.memory_mode != "ignored" and says(text, "hints")
    reason = ("unsure" if is_unsure else "trivial") if says_nothing else "phrases"
    return Preflight(plan, ManifestPreflight(source="local", reason=reason, plan=to_manifest_plan(plan)), is_unsure)
