"""A model in the role `preflight`, over the wire: asked only when the message leaves open what it points at, obeyed
only when sound."""

import asyncio
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from spawned import Den, journey, remember, take_turn

HINT = "Can you write it again in French?"
PLAN = {
    "tools": {"visible_tools": ["memory_search"]},
    "memory": {
        "active_recall": {
            "durable": {"status": "skip", "modes": [], "targets": []},
            "episodic": {
                "status": "recall",
                "queries": [{"mode": "workspace_threads", "query": "letter to the landlord"}],
            },
        }
    },
}
LETTER = "The letter to the landlord says that the boiler leaks."
PLAN_MS = 30_000  # the model would take twice as long; how soon a turn ends is measured where the machine is not shared


def plan(tools: Sequence[str] = (), mode: str = "current_thread", times: int = 1) -> dict[str, Any]:
    """A plan that wants something else than `PLAN`."""
    recall = {"episodic": {"status": "recall", "queries": [{"mode": mode, "query": "the letter"}] * times}}
    return {"tools": {"visible_tools": list(tools)}, "memory": {"active_recall": recall}}


async def begin(client: Any, den: Den, *rules: dict[str, Any]) -> None:
    den.write_script([*rules, {"role": "main", "respond": {"text": "Certainly."}}])
    await client.request("settings/update", {"update": {"roles": {"preflight": "scripted"}}})
    await client.request("thread/start", {"thread_id": "thr_now"})


def asked(den: Den, role: str = "preflight") -> list[dict[str, Any]]:
    lines = den.record.read_text(encoding="utf-8").splitlines() if den.record.exists() else []
    return [one for one in map(json.loads, lines) if one["role"] == role]


def told(call: dict[str, Any]) -> str:
    return "\n".join(message["content"] for message in call["messages"])


@journey
async def test_its_plan_is_carried_out_and_trivial_messages_never_reach_it(tmp_path: Path) -> None:
    den = Den(tmp_path, scripted=True)
    async with den.client() as client:
        await begin(client, den, {"role": "preflight", "respond": {"json": PLAN}})
        await client.request("thread/start", {"thread_id": "thr_old"})
        await take_turn(client, "thr_old", LETTER, "trn_old")
        await client.request("gateway/drain", {"timeout_ms": 30_000})
        await remember(client, "The user's landlord is called Brandt.")
        for number, text in enumerate(("hello", "thanks!", "What is 12 times 7?", "ok")):
            turn = await take_turn(client, "thr_now", text, f"trn_{number}")
            assert turn["prompt_manifest"]["preflight"]["source"] == "local"
        assert asked(den) == []
        await client.request("gateway/drain", {"timeout_ms": 30_000})
        turn = await take_turn(client, "thr_now", HINT, "trn_hint")
        manifest = turn["prompt_manifest"]
        assert manifest["preflight"]["source"] == "model"
        [query] = manifest["preflight"]["plan"]["memory"]["active_recall"]["episodic"]["queries"]
        assert (query["mode"], query["query"]) == ("workspace_threads", "")  # a manifest is kept, and holds no words
        assert "memory_search" in manifest["tools"]["visible"]
        [call] = asked(den)
        question = json.loads(call["messages"][-1]["content"])
        assert set(question) == {"text", "mode", "candidate_tools", "memory", "episodic", "now", "time_zone"}
        assert {"name": "memory_get", "domain": "memory"}.items() <= question["candidate_tools"][2].items()
        assert all(tool["summary"] for tool in question["candidate_tools"])
        sizes = {scope["kind"]: scope["count"] for scope in question["memory"]["scopes"]}
        assert sizes == {"user": 1, "workspace": 0, "thread": 0}
        assert question["memory"]["already_recalled"] == len(manifest["recall"]["memory_ids"])
        assert (question["episodic"]["threads"], question["episodic"]["chunks"]) == (2, 10)
        assert 0 < question["episodic"]["oldest_at"] <= question["now"]
        assert "landlord" not in told(call), "the model that plans is told no memory"
        assert "the boiler leaks" in told(asked(den, "main")[-1])


@journey
async def test_an_unsound_or_late_plan_gives_way_and_the_manifest_says_why(tmp_path: Path) -> None:
    den = Den(tmp_path, scripted=True)
    async with den.client() as client:
        rules = [
            {"role": "preflight", "input_contains": "walnut one", "respond": {"json": {"tools": 3}}},
            {"role": "preflight", "input_contains": "maple one", "respond": {"text": "I would look it up."}},
            {"role": "preflight", "input_contains": "cedar one", "respond": {"json": PLAN}, "delay_ms": 60_000},
            {"role": "preflight", "input_contains": "birch one", "respond": {"error": "bad_json"}},
            {"role": "preflight", "input_contains": "aspen one", "respond": {"json": plan(tools=["shell"])}},
            {"role": "preflight", "input_contains": "hazel one", "respond": {"json": plan(mode="every_thread")}},
            {"role": "preflight", "input_contains": "olive one", "respond": {"json": plan(times=4)}},
        ]
        await begin(client, den, *rules)
        await client.request("settings/update", {"update": {"preflight": {"timeout_ms": 200}}})
        reasons = []
        for name in ("walnut", "maple", "cedar", "birch", "aspen", "hazel", "olive"):
            turn = await take_turn(client, "thr_now", f"{HINT} The {name} one.", f"trn_{name}")
            assert turn["status"] == "completed"
            preflight = turn["prompt_manifest"]["preflight"]
            reasons.append((preflight["source"], preflight["reason"]))
        assert reasons == [
            ("fallback", reason)
            for reason in (
                "invalid_json",
                "invalid_json",
                "timeout",
                "invalid_json",
                "unknown_tool",
                "unknown_mode",
                "too_broad",
            )
        ]


@pytest.mark.parametrize("driver", ["turn/start", "turn/prepare"])
@journey
async def test_a_turn_is_cancelled_while_a_plan_is_awaited(tmp_path: Path, driver: str) -> None:
    den = Den(tmp_path, scripted=True)
    async with den.client() as client:
        await begin(client, den, {"role": "preflight", "respond": {"json": PLAN}, "delay_ms": 60_000})
        await client.request("settings/update", {"update": {"preflight": {"timeout_ms": PLAN_MS}}})
        said = {"thread_id": "thr_now", "turn_id": "trn_1", "input": [{"type": "text", "text": HINT}]}
        begun = asyncio.create_task(client.request(driver, said))
        while not asked(den):
            await client.request("ping", {})
        began = time.monotonic()
        await client.request("turn/cancel", {"turn_id": "trn_1"})
        turn = (await client.request("turn/get", {"turn_id": "trn_1"}))["turn"]
        assert turn["status"] in {"cancelled", "interrupted"}
        assert time.monotonic() - began < PLAN_MS / 2000
        await asyncio.gather(begun, return_exceptions=True)
