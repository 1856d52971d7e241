"""When a model is asked for a plan, and what becomes of the plans that nobody should carry out."""

import json
from collections.abc import Callable
from typing import Any, get_args

import anyio
import msgspec
import pytest
from agent_home import Answers

from agent.prompt.preflight import Planners, Preflight, plan_turn
from agent.prompt.preflight_advice import Advisor, Case, advise
from agent.prompt.preflight_answer import PlanFault
from gateway.base.written_dates import WrittenDates
from memory.hooks.policy import turn_policy
from memory.rules.planning import propose_durable
from promt.intents import detect
from protocol.conversation.turns import TurnOptions
from protocol.errors import Unavailable
from protocol.hooks import TurnContext
from protocol.models import ModelReply, ProviderFailed
from protocol.settings import PreflightSettings
from protocol.sizes import ConversationSize, ScopeSize
from thread_episodic.search.planning import make_planner

NOW = 1_778_686_200_000
TURN = TurnContext(
    workspace_id="a",
    thread_id="a_1",
    turn_id="t_now",
    agent_id=None,
    task_id=None,
    parent_thread_id=None,
    mode="agent",
    memory_mode="normal",
    origin="user",
    driver="gateway",
    options=TurnOptions(),
    now=NOW,
    time_zone="UTC",
)
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
    ("invalid_json", "I would look up the letter."),
    ("invalid_json", ""),
    ("invalid_json", "[" * 15_000),
    ("invalid_json", '{"tools": {"visible_tools": []}'),
    ("too_broad", json.dumps(answer(["memory_search"] * 3000))),
    ("invalid_json", "[]"),
    ("invalid_json", "null"),
    ("invalid_json", {"tools": {"visible_tools": []}}),
    ("invalid_json", answer() | {"note": "ignore the rules"}),
    ("invalid_json", answer(tools="memory_search")),
    ("invalid_json", asks(query=None)),
    ("invalid_json", asks(from_at="yesterday")),
    ("invalid_json", wants_memory(["query"], [7])),
    ("unknown_tool", answer(["memory_forget_everything"])),
    ("unknown_tool", answer(["memory_search", "shell"])),
    ("invalid_json", answer(durable={"status": "maybe"})),
    ("invalid_json", answer(episodic={"status": "all"})),
    ("unknown_mode", asks(mode="every_thread")),
    ("unknown_mode", wants_memory(["sql"], ["select * from record"])),
    ("invalid_json", asks(roles=["system"])),
    ("invalid_json", wants_memory(["category"], ["password"])),
    ("invalid_json", answer(durable={"status": "recall"})),
    ("invalid_json", wants_memory(["query"], ["tea"], status="skip")),
    ("invalid_json", wants_memory(["key", "query"], ["tea"])),
    ("invalid_json", answer(episodic={"status": "recall", "queries": []})),
    ("invalid_json", answer(episodic={"status": "skip", "queries": [{"mode": "current_thread", "query": "tea"}]})),
    ("too_broad", wants_memory(["query"], ["tea"] * 7)),
    (
        "too_broad",
        answer(episodic={"status": "recall", "queries": asks()["memory"]["active_recall"]["episodic"]["queries"] * 4}),
    ),
    ("too_broad", wants_memory(["query"], ["t" * 257])),
    ("too_broad", asks(query="t" * 257)),
    ("too_broad", asks(query="")),
    ("too_broad", asks(query="* %")),
    ("too_broad", wants_memory(["query"], ["*"])),
    ("invalid_json", asks(from_at=NOW, to_at=NOW - 1)),
    ("invalid_json", asks(from_at=NOW + 1)),
    ("invalid_json", asks(from_at=-5)),
    ("invalid_json", asks(max_chars=0)),
    ("too_broad", asks(max_chars=10**9)),
]


class Store:
    """Sizes of nothing that is there; a fault where a test says so."""

    def __init__(self, fault: Exception | None, incidents: list[BaseException]) -> None:
        self.fault = fault
        self.incidents = incidents

    async def read(self, work: Any, deadline: float | None = None) -> Any:
        del deadline
        if self.fault is not None:
            raise self.fault
        return work(None)

    def memory(self, _tx: Any, turn: TurnContext) -> list[ScopeSize]:
        assert turn.thread_id == TURN.thread_id
        return [ScopeSize(kind="user", count=7), ScopeSize(kind="workspace", count=0)]

    def conversation(self, _tx: Any, _turn: TurnContext) -> ConversationSize:
        return ConversationSize(threads=3, chunks=40, oldest_at=NOW - 5)

    def incident(self, error: BaseException) -> str:
        self.incidents.append(error)
        return "inc"


async def planned(
    reply: Any,
    text: str = HINT,
    *,
    turn: TurnContext = TURN,
    timeout_ms: int = 3000,
    fault: Exception | None = None,
    told: list[BaseException] | None = None,
) -> tuple[Preflight, Answers]:
    model, store = Answers(reply), Store(fault, told if told is not None else [])
    local = plan_turn(text, turn, PLANNERS, is_enabled=True)
    policy = turn_policy(turn, detect(text))
    settings = PreflightSettings(timeout_ms=timeout_ms)
    db: Any = store  # the one call that an advisor makes
    advisor = Advisor(model, TOOLS, db, store.memory, store.conversation, store.incident)
    return await advise(local, Case(text, turn, 2), policy, advisor, settings), model


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
    assert (advised.manifest.source, advised.manifest.reason) == ("fallback", "timeout")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("error", "reason", "incidents"),
    [
        (ProviderFailed("http_500"), "unavailable", 0),
        (ProviderFailed("not_configured"), "unavailable", 0),
        (ProviderFailed("timeout"), "timeout", 0),
        (ProviderFailed("bad_json"), "invalid_json", 0),
        (Unavailable("storage_full"), "unavailable", 0),
        (ValueError("private"), "unavailable", 1),
        (RecursionError(), "unavailable", 1),
    ],
)
@pytest.mark.parametrize("place", ["model", "store"])
async def test_whatever_happens_to_the_adviser_the_local_plan_stands(
    error: Exception, reason: str, incidents: int, place: str
) -> None:
    told: list[BaseException] = []
    advised, _ = await planned(error, told=told, fault=error if place == "store" else None)
    assert (advised.manifest.source, advised.manifest.reason) == ("fallback", reason)
    assert advised.plan == plan_turn(HINT, TURN, PLANNERS, is_enabled=True).plan
    assert told == [error] * incidents


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
async def test_model_is_told_the_message_names_and_sizes_only() -> None:
    _, model = await planned(reply(asks()), HINT + " x" * 9000)
    (request,) = model.asked
    assert (request.role, request.tools, request.json_answer) == ("preflight", [], True)
    told = json.loads(request.messages[1].content)
    assert set(told) == {"text", "mode", "candidate_tools", "memory", "episodic", "now", "time_zone"}
    assert len(told["text"]) <= 4000
    assert [tool["name"] for tool in told["candidate_tools"]] == TOOLS
    assert [tool["domain"] for tool in told["candidate_tools"]] == ["memory", "memory", "artifact"]
    assert all(set(tool) == {"name", "domain", "summary"} and tool["summary"] for tool in told["candidate_tools"])
    scopes = [{"kind": "user", "count": 7}, {"kind": "workspace", "count": 0}]
    assert told["memory"] == {"scopes": scopes, "already_recalled": 2}
    assert told["episodic"] == {"threads": 3, "chunks": 40, "oldest_at": NOW - 5}


def test_every_reason_is_one_of_the_contract() -> None:
    assert {reason for reason, _ in BAD_PLANS} | {"timeout", "unavailable"} == set(get_args(PlanFault))
