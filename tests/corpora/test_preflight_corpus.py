"""How often the local planner decides alone, and how often it is right, over messages that were written without it.

What is right: *history*: conversation is searched. *memory*: no writing tool of memory is made visible; deterministic
recall, which runs for every message, has looked already, so that nothing more has to be planned. *tool*: a tool is made
visible. *trivial*: nothing is looked up, neither in memory nor in conversation, and no model is asked. A message is
decided if no model would be asked about it. `blind.jsonl` was never read while phrases were written; only its rates
were looked at.
"""

import json
from pathlib import Path
from typing import Literal

import pytest

from agent.prompt.preflight import Planners, plan_turn
from gateway.base.written_dates import WrittenDates
from memory.rules.planning import propose_durable
from promt.intents import detect
from protocol.conversation.turns import TurnOptions
from protocol.hooks import TurnContext
from thread_episodic.search.planning import make_planner

CORPORA = Path(__file__).parent / "preflight"
NOW = 1_778_686_200_000  # Wednesday, 13 May 2026
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
BOUNDS = {"dev": (0.85, 0.95), "blind": (0.85, 0.95)}
"""Decided alone, and right of those."""


def rows(name: str) -> list[dict[str, str]]:
    lines = (CORPORA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def verdict(row: dict[str, str]) -> Literal["unsure", "right", "wrong"]:
    local = plan_turn(row["text"], TURN, PLANNERS, is_enabled=True)
    plan = local.plan
    assert plan is not None
    if local.is_unsure:
        return "unsure"
    tools = set(plan.visible_tools)
    is_right = {
        "history": plan.episodic.status == "recall",
        "memory": not tools & {"memory_remember", "memory_forget"},
        "tool": bool(tools),
        "trivial": plan.episodic.status == plan.durable.status == "skip",
    }
    return "right" if is_right[row["needs"]] else "wrong"


@pytest.mark.parametrize("name", ["dev", "blind"])
def test_local_planner_decides_alone_and_rightly(name: str) -> None:
    verdicts = [verdict(row) for row in rows(name)]
    decided = [one for one in verdicts if one != "unsure"]
    shares = len(decided) / len(verdicts), decided.count("right") / len(decided)
    assert tuple(share >= least for share, least in zip(shares, BOUNDS[name], strict=True)) == (True, True), shares


@pytest.mark.parametrize("name", ["dev", "blind"])
def test_no_model_is_asked_about_what_is_trivial(name: str) -> None:
    asked = [verdict(row) == "unsure" for row in rows(name) if row["needs"] == "trivial"]
    assert sum(asked) <= 0.02 * len(asked)


def test_corpora_have_every_need() -> None:
    for name, least in (("dev", 100), ("blind", 200)):
        assert len(rows(name)) >= least
        assert {row["needs"] for row in rows(name)} == {"history", "memory", "tool", "trivial"}
