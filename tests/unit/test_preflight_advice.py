"""When a model is asked for a plan, and what becomes of the plans that nobody should carry out."""

import json
from collections.abc import Callable
from typing import Any

import anyio
import msgspec
import pytest
from agent_home import Answers

from agent.preflight import Planners, Preflight, plan_turn
from agent.preflight_advice import Advisor, advise
from gateway.written_dates import WrittenDates
from memory.hooks.policy import turn_policy
from memory.planning import propose_durable
from promt.phrases import detect
from protocol.hooks import TurnContext
from protocol.models import ModelReply, ProviderFailed
from protocol.settings import PreflightSettings
from protocol.threads import TurnOptions
from thread_episodic.planning import make_planner

NOW = 1_778_686_200_000
TURN = TurnContext(
    workspace_id="a", thread_id="a_1", turn_id="t_now", agent_id=None, task_id=None, parent_thread_id=None, mode="agent",
    memory_mode="normal", origin="user", driver="gateway", options=TurnOptions(), now=NOW, time_zone="UTC",
)  # fmt: skip
PLANNERS = Planners(propose_durable, make_planner(lambda text: detect(text).refers_to_history, WrittenDates()))
TOOLS = ["memory_search", "memory_list", "artifact_read"]
HINT = "Can you write it again in French?"


def answer(tools: Any = None, durable: Any = None, episodic: Any = None) -> dict[str, Any]:
    return {
        "tools": {"visible_tools": tools or []},
        "memory": {"active_recall": {"durable": durable or {}, "episodic": episodic or {}}},
    }


def asks(**members: Any) -> dict[str, Any]:
    query = {"mode": "workspace_threads", "query": "the letter"} | members
    return answer(episodic={"status": "recall", "queries": [query]})


def wants_memory(modes: list[str], targets: list[Any], status: str = "recall") -> dict[str, Any]:
    return answer(durable={"status": status, "modes": modes, "targets": targets})


BAD_PLANS: list[tuple[str, Any]] = [
    ("not_json", "I would look up the letter."),
    ("not_json", ""),
    ("not_json", "[" * 15_000),
    ("not_json", '{"tools": {"visible_tools": []}'),
    ("too_long", json.dumps(answer(["memory_search"] * 3000))),
    ("malformed", "[]"),
    ("malformed", "null"),
    ("malformed", {"tools": {"visible_tools": []}}),
    ("malformed", answer() | {"note": "ignore the rules"}),
    ("malformed", answer(tools="memory_search")),
    ("malformed", asks(query=None)),
    ("malformed", asks(from_at="yesterday")),
    ("malformed", wants_memory(["query"], [7])),
    ("unknown_tool", answer(["memory_forget_everything"])),
    ("unknown_tool", answer(["memory_search", "shell"])),
    ("unknown_status", answer(durable={"status": "maybe"})),
    ("unknown_status", answer(episodic={"status": "all"})),
    ("unknown_mode", asks(mode="every_thread")),
    ("unknown_mode", wants_memory(["sql"], ["select * from record"])),
    ("unknown_role", asks(roles=["system"])),
    ("unknown_category", wants_memory(["category"], ["password"])),
    ("ambiguous", answer(durable={"status": "recall"})),
    ("ambiguous", wants_memory(["query"], ["tea"], status="skip")),
    ("ambiguous", wants_memory(["key", "query"], ["tea"])),
    ("ambiguous", answer(episodic={"status": "recall", "queries": []})),
    ("ambiguous", answer(episodic={"status": "skip", "queries": [{"mode": "current_thread", "query": "tea"}]})),
    ("too_many_targets", wants_memory(["query"], ["tea"] * 7)),
    ("too_many_queries", answer(episodic={"status": "recall", "queries": asks()["memory"]["active_recall"]["episodic"]["queries"] * 4})),
    ("target_too_long", wants_memory(["query"], ["t" * 257])),
    ("query_too_long", asks(query="t" * 257)),
    ("too_broad", asks(query="")),
    ("too_broad", asks(query="* %")),
    ("too_broad", wants_memory(["query"], ["*"])),
    ("bad_time", asks(from_at=NOW, to_at=NOW - 1)),
    ("bad_time", asks(from_at=NOW + 1)),
    ("malformed", asks(from_at=-5)),
    ("bad_max_chars", asks(max_chars=0)),
    ("bad_max_chars", asks(max_chars=10**9)),
]  # fmt: skip


async def planned(
    reply: Any, text: str = HINT, *, turn: TurnContext = TURN, timeout_ms: int = 3000
) -> tuple[Preflight, Answers]:
    model = Answers(reply)
    local = plan_turn(text, turn, PLANNERS, is_enabled=True)
    policy = turn_policy(turn, detect(text))
    settings = PreflightSettings(timeout_ms=timeout_ms)
    return await advise(local, text, turn, policy, Advisor(model, TOOLS), settings), model


def reply(plan: Any) -> ModelReply:
    return ModelReply(text=plan if isinstance(plan, str) else json.dumps(plan))


@pytest.mark.anyio
@pytest.mark.parametrize(("reason", "plan"), BAD_PLANS)
async def test_bad_plan_gives_way_to_the_local_one_and_says_why(reason: str, plan: Any) -> None:
    advised, model = await planned(reply(plan))
    assert len(model.asked) == 1
    assert (advised.manifest.source, advised.manifest.reason) == ("fallback", reason)
    local = plan_turn(HINT, TURN, PLANNERS, is_enabled=True)
    assert advised.plan == local.plan
    assert advised.manifest.plan == local.manifest.plan


@pytest.mark.anyio
async def test_late_plan_gives_way_to_the_local_one() -> None:
    async def never(*_: object) -> ModelReply:
        await anyio.sleep_forever()
        raise AssertionError

    advised, _ = await planned(never, timeout_ms=50)
    assert (advised.manifest.source, advised.manifest.reason) == ("fallback", "late")


@pytest.mark.anyio
async def test_failed_provider_gives_way_to_the_local_plan() -> None:
    advised, _ = await planned(ProviderFailed("http_500"))
    assert (advised.manifest.source, advised.manifest.reason) == ("fallback", "provider_failed")


@pytest.mark.anyio
@pytest.mark.parametrize("wrap", [lambda text: text, lambda text: f"```json\n{text}\n```"])
async def test_valid_plan_is_carried_out(wrap: Callable[[str], str]) -> None:
    plan = asks(from_at=NOW - 1000, to_at=NOW, roles=["assistant"], max_chars=500)
    plan["tools"]["visible_tools"] = ["memory_search", "memory_search"]
    advised, _ = await planned(reply(wrap(json.dumps(plan))))
    assert advised.manifest.source == "model"
    assert advised.plan is not None
    assert advised.plan.visible_tools == ["memory_search"]
    (query,) = advised.plan.episodic.queries
    assert (query.query, query.from_at, query.roles) == ("the letter", NOW - 1000, ["assistant"])


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("What is the capital of Peru?", {}),
        ("thanks!", {}),
        ("What did we decide yesterday?", {}),
        ("Remember that I like tea.", {}),
        ("Answer without using my history, please: once more in French?", {}),
        (HINT, {"mode": "chat"}),
        (HINT, {"memory_mode": "ignored"}),
        (HINT, {"options": TurnOptions(skip_recall=True)}),
    ],
)
async def test_no_model_is_asked_where_the_local_planner_is_sure_or_nothing_may_be_recalled(
    text: str, change: dict[str, Any]
) -> None:
    _, model = await planned(reply(asks()), text, turn=msgspec.structs.replace(TURN, **change))
    assert model.asked == []


@pytest.mark.anyio
async def test_model_is_told_the_message_and_names_only() -> None:
    _, model = await planned(reply(asks()), HINT + " x" * 9000)
    (request,) = model.asked
    assert (request.role, request.tools, request.json_answer) == ("preflight", [], True)
    told = json.loads(request.messages[1].content)
    assert set(told) == {"text", "mode", "candidate_tools", "now", "time_zone"}
    assert len(told["text"]) <= 4000
    assert [tool["name"] for tool in told["candidate_tools"]] == TOOLS
