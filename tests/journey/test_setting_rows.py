"""Every setting of memory, agent and preflight has an effect: live where it is changed, and in another process before
its next turn."""

import itertools
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

from guidance_stage import agent, put
from spawned import Den, drain, every, fact, journey, refusal, remember
from test_hostile_process import command

from gateway.wire.client import CallFailed, GatewayClient
from protocol.settings import AgentFileSettings, AgentSettings, InstructionSettings, MemorySettings, PreflightSettings

AWAITED = {
    "memory.capsules_dir": "no capsule is published yet; an unsafe folder is refused",
}
"""Settings whose effect is not built; a row belongs here as soon as it is."""

DAY_MS = 86_400_000
NOTHING_TO_RECALL = {
    "tools": {"visible_tools": []},
    "memory": {
        "active_recall": {
            "durable": {"status": "skip", "modes": [], "targets": []},
            "episodic": {"status": "skip", "queries": []},
        }
    },
}

numbers = itertools.count(1)


class Turn(NamedTuple):
    """A turn as it was lived."""

    turn: dict[str, Any]
    asked: list[dict[str, Any]]
    runs: list[dict[str, Any]]

    @property
    def manifest(self) -> dict[str, Any]:
        """What went into its prompt."""
        return self.turn["prompt_manifest"]

    @property
    def system(self) -> str:
        """The system prompt."""
        return self.asked[0]["messages"][0]["content"]

    @property
    def prompt(self) -> str:
        """All that the model was told first."""
        return "\n".join(message["content"] for message in self.asked[0]["messages"])

    def ran(self, hook_id: str) -> bool:
        """Whether the hook was there."""
        return any(run["hook_id"] == hook_id for run in self.runs)


class Seen:
    """One process, asked what a setting makes of it."""

    def __init__(self, client: GatewayClient, den: Den, clock: Path) -> None:
        self.client = client
        self.clock = clock
        self._den = den
        self.project = put(
            den.folder / "project",
            {".git/": "", "AGENTS.md": "A rule.\n\n" * 90 + "@deep.md", "deep.md": "the included rule"},
        )

    async def live(self, text: str, **thread: Any) -> Turn:
        """A turn in a thread of its own, or in the one named."""
        number = next(numbers)
        thread = {"thread_id": f"thr_{number}"} | thread
        turn_id = f"trn_{number}"
        await self.client.request("thread/start", thread)
        said = [{"type": "text", "text": text}]
        await self.client.request("turn/start", {"thread_id": thread["thread_id"], "turn_id": turn_id, "input": said})
        await self.client.wait_for("turn/post_completed", lambda told: told["turn_id"] == turn_id)
        turn = (await self.client.request("turn/get", {"turn_id": turn_id}))["turn"]
        lines = self._den.record.read_text(encoding="utf-8").splitlines() if self._den.record.exists() else []
        asked = [one for one in map(json.loads, lines) if one["turn_id"] == turn_id and one["role"] == "main"]
        return Turn(turn, asked, await every(self.client, "hooks/runs", "runs", turn_id=turn_id))


async def is_enabled(seen: Seen) -> bool:
    return (await seen.live("Which tea is my favourite?")).ran("memory.policy")


async def recalls_the_user(seen: Seen) -> bool:
    return "tea is sencha" in (await seen.live("Which tea is my favourite?")).prompt


async def recalls_the_agent(seen: Seen) -> bool:
    return "agent brews oolong" in (await seen.live("What tea does the agent brew, oolong?", agent_id="agent_1")).prompt


async def recalls_by_the_words(seen: Seen) -> bool:
    return (await seen.live("Which tea is my favourite?")).ran("memory.deterministic_recall")


async def recalls_by_the_plan(seen: Seen) -> bool:
    return (await seen.live("Which tea is my favourite?")).ran("memory.active_recall")


async def offers_tools(seen: Seen) -> bool:
    tools = (await seen.live("Which tea is my favourite?")).manifest["tools"]
    return "memory" in tools["hidden_domains"] or any(name.startswith("memory_") for name in tools["visible"])


async def writes_what_it_infers(seen: Seen) -> str:
    number = next(numbers)
    learnt = fact(f"The user prefers tea number {number}", f"tea number {number}", f"tea_{number}")
    evidence = [{"quote": f"tea number {number}", "source_kind": "user_statement"}]
    given = {"semantic": learnt["semantic"], "content": learnt["content"], "evidence": evidence}
    return (await seen.client.request("memory/write", given))["decision"]["reason_code"]


async def extracts(seen: Seen) -> bool:
    return (await seen.live("Which tea is my favourite?")).ran("memory.post_turn_extractor")


async def traces(seen: Seen) -> bool:
    turn = (await seen.live("Which tea is my favourite?")).turn
    told = await seen.client.request("memory/explain", {"target": {"kind": "turn", "id": turn["turn_id"]}})
    return not any(one["kind"] == "ranking" for one in told["missing"])


async def is_strict(seen: Seen) -> list[str]:
    runs = (await seen.live("Which tea is my favourite?")).runs
    return [run["status"] for run in runs if run["hook_id"] == "t.fills_its_phase"]


async def reviews(seen: Seen) -> str:
    number = next(numbers)
    unsure = {
        **fact("", "", "tea")["semantic"],
        "attribute": f"tea_{number}",
        "explicitness": "implicit",
        "certainty": "medium",
    }
    evidence = [{"quote": f"perhaps tea {number}", "source_kind": "user_statement"}]
    given = {"semantic": unsure, "content": f"The user might like tea {number}", "evidence": evidence}
    return (await seen.client.request("memory/write", given))["decision"]["reason_code"]


async def restores_until(seen: Seen) -> bool:
    """Whether what was forgotten a week of the clock ago can be restored."""
    kept = await remember(seen.client, f"The user drank tea number {next(numbers)}")
    await seen.client.request("memory/forget", {"target": {"kind": "id", "memory_id": kept}})
    seen.clock.write_text(str(int(seen.clock.read_text(encoding="utf-8")) + 7 * DAY_MS), encoding="utf-8")
    await drain(seen.client)
    found = await seen.client.request("memory/get", {"memory_id": kept, "include_deleted": True})
    return found["record"] is not None


async def rounds(seen: Seen) -> int:
    return (await seen.live("LOOP please")).turn["rounds"]


async def history(seen: Seen) -> int:
    """How many earlier messages the model is given of a thread that has three long turns."""
    thread_id = f"thr_history_{next(numbers)}"
    for _ in range(3):
        await seen.live("long " * 300, thread_id=thread_id)
    asked = (await seen.live("And now?", thread_id=thread_id)).asked[0]["messages"]
    return sum(message["content"].startswith("long") for message in asked)


async def says_its_prompt(seen: Seen) -> bool:
    return "Be a pirate." in (await seen.live("hello there")).prompt


async def plans(seen: Seen) -> str:
    preflight = (await seen.live("What did we decide yesterday?")).manifest["preflight"]
    return preflight["reason"] if preflight["source"] == "none" else "planned"


async def waits_for_a_plan(seen: Seen) -> str:
    """The reason of a plan that takes its model 400 ms."""
    return (await seen.live("Can you write it again in French?")).manifest["preflight"]["reason"]


async def stands(seen: Seen) -> bool:
    await remember(seen.client, "Always greet with ahoy.", category="recurring_instruction")
    return "Always greet with ahoy." in (await seen.live("hello there")).prompt


async def keeps_notes(seen: Seen) -> bool:
    note = {"content": f"The pier has {next(numbers)} lamps.", "agent_id": "agt_row"}
    try:
        return (await seen.client.request("memory/note", note))["status"] == "noted"
    except CallFailed as failed:
        assert failed.reason == "write_refused"
        return False


async def note(seen: Seen, **more: Any) -> str:
    """Keep an agent's note; return its id."""
    given = {"content": f"The pier has {next(numbers)} benches.", "agent_id": "agt_row", **more}
    return (await seen.client.request("memory/note", given))["memory_id"]


async def consolidate(seen: Seen, days: int = 0) -> None:
    """Run a consolidation so many days later."""
    seen.clock.write_text(str(int(seen.clock.read_text(encoding="utf-8")) + days * DAY_MS), encoding="utf-8")
    await seen.client.request("passes/run", {"pass": "consolidate"})


async def status_of(seen: Seen, memory_id: str) -> str | None:
    """Return the status of a record as a list shows it, which is no read of it; None where there is none."""
    listed = await every(seen.client, "memory/list", "records", statuses=["active", "archived"])
    return next((one["status"] for one in listed if one["memory_id"] == memory_id), None)


async def archives_a_faded_note(seen: Seen) -> str | None:
    memory_id = await note(seen, importance=0.05)
    await consolidate(seen, 8)
    return await status_of(seen, memory_id)


async def keeps_the_archive(seen: Seen) -> str | None:
    memory_id = await note(seen)
    await seen.client.request("memory/archive", {"memory_id": memory_id})
    await consolidate(seen, 91)
    return await status_of(seen, memory_id)


def caps(kind: str) -> Callable[[Seen], Awaitable[str | None]]:
    async def look(seen: Seen) -> str | None:
        memory_id = await note(seen, kind=kind)
        await consolidate(seen)
        return await status_of(seen, memory_id)

    return look


async def caps_the_inbox(seen: Seen) -> str:
    said = f"I am fond of pear number {next(numbers)}."
    turn = (await seen.live(said)).turn
    (item, *_) = (await seen.client.request("turn/items", {"turn_id": turn["turn_id"]}))["items"]
    proposed = {
        "semantic": {
            "intent": "implicit_candidate",
            "explicitness": "explicit",
            "category": "preference",
            "attribute": said[-6:-1],
            "durability": "long_lived",
            "sensitivity": "none",
            "certainty": "high",
        },
        "content": said,
        "evidence": [{"quote": said, "item_id": item["item_id"]}],
        "disposition": "create_pending_candidate",
    }
    candidate = (await seen.client.request("memory/write", proposed))["candidate"]
    await consolidate(seen)
    found = await seen.client.request("memory/candidates/get", {"candidate_id": candidate["candidate_id"]})
    return found["candidate"]["status"]


async def is_instructed(seen: Seen) -> bool:
    return "A rule." in (await seen.live("hello there", cwd=str(seen.project))).system


async def cuts_instructions(seen: Seen) -> bool:
    return "left out" in (await seen.live("hello there", cwd=str(seen.project))).system


async def includes(seen: Seen) -> bool:
    return "the included rule" in (await seen.live("hello there", cwd=str(seen.project))).system


async def names_an_agent(seen: Seen) -> list[str]:
    return [one["name"] for one in (await seen.client.request("agents/list", {}))["agents"]]


def cuts(file: str) -> Callable[[Seen], Awaitable[bool]]:
    async def look(seen: Seen) -> bool:
        return f"[{file}: lines" in (await seen.live("hello there", agent_id="clerk", agent=True)).system

    return look


class Row(NamedTuple):
    """A value, what shows it, and what that is before and after."""

    value: Any
    look: Callable[[Seen], Awaitable[Any]]
    before: Any
    after: Any


ROWS: dict[str, Row] = {
    "memory.enabled": Row(False, is_enabled, True, False),
    "memory.allow_global_user_by_default": Row(False, recalls_the_user, True, False),
    "memory.allow_global_agent_by_default": Row(True, recalls_the_agent, False, True),
    "memory.deterministic_recall_enabled": Row(False, recalls_by_the_words, True, False),
    "memory.active_recall_enabled": Row(False, recalls_by_the_plan, True, False),
    "memory.tools_enabled": Row(False, offers_tools, True, False),
    "memory.agent_notes": Row("off", keeps_notes, True, False),
    "memory.proactive_writes_enabled": Row(False, writes_what_it_infers, "active_created", "proactive_writes_disabled"),
    "memory.background_extraction_enabled": Row(False, extracts, True, False),
    "memory.debug_trace_enabled": Row(True, traces, False, True),
    "memory.strict_diagnostics_enabled": Row(True, is_strict, ["succeeded"], ["failed"]),
    "memory.review_enabled": Row(True, reviews, "review_disabled_middle_confidence", "candidate_created"),
    "memory.retention_days": Row(1, restores_until, True, False),
    "memory.standing_chars": Row(0, stands, True, False),
    "memory.aging": Row("off", archives_a_faded_note, "archived", "active"),
    "memory.archive_days": Row(180, keeps_the_archive, None, "archived"),
    "memory.cap_knowledge": Row(0, caps("semantic"), "active", "archived"),
    "memory.cap_events": Row(0, caps("episodic"), "active", "archived"),
    "memory.cap_procedures": Row(0, caps("procedural"), "active", "archived"),
    "memory.cap_inbox": Row(0, caps_the_inbox, "pending", "expired"),
    "agent.max_rounds": Row(2, rounds, 8, 2),
    "agent.history_turns_min": Row(2, history, 0, 2),
    "agent.context_chars": Row(24_000, history, 0, 3),
    "agent.system_prompt": Row("Be a pirate.", says_its_prompt, False, True),
    "instructions.enabled": Row(False, is_instructed, True, False),
    "instructions.max_chars": Row(600, cuts_instructions, False, True),
    "instructions.include_depth": Row(0, includes, True, False),
    "agents.folder": Row("others", names_an_agent, ["Clerk"], []),
    "agents.agents_chars": Row(200, cuts("AGENTS.md"), False, True),
    "agents.soul_chars": Row(200, cuts("SOUL.md"), False, True),
    "agents.memory_chars": Row(200, cuts("MEMORY.md"), False, True),
    "preflight.timeout_ms": Row(100, waits_for_a_plan, "unsure", "timeout"),
    "preflight.enabled": Row(False, plans, "planned", "preflight_disabled"),
}
RESET = {"agent.context_chars": 1000, "agent.history_turns_min": 0}
"""What the test starts with, where that is not the default."""


def test_every_setting_has_a_row() -> None:
    groups = {
        "memory": MemorySettings,
        "agent": AgentSettings,
        "preflight": PreflightSettings,
        "instructions": InstructionSettings,
        "agents": AgentFileSettings,
    }
    keys = {f"{name}.{key}" for name, group in groups.items() for key in group.__struct_fields__}
    assert keys == {*ROWS, *AWAITED}


@journey
async def test_every_setting_does_something_here_and_in_another_process(tmp_path: Path) -> None:
    den = Den(tmp_path, scripted=True, config="[gateway.agent]\ncontext_chars = 1000\nhistory_turns_min = 0\n")
    long = "A line of it.\n\n" * 60
    put(den.home / "agents", agent("clerk", text=long, soul=long, memory=long))
    reveal = {"name": "request_tools", "arguments": {"domains": ["memory"], "reason": "again"}}
    den.write_script(
        [
            {"role": "main", "input_contains": "LOOP", "respond": {"tool_calls": [reveal]}},
            {"role": "extractor", "respond": {"json": {"facts": []}}},
            {"role": "preflight", "respond": {"json": NOTHING_TO_RECALL}, "delay_ms": 400},
        ]
    )
    clock = tmp_path / "clock"
    clock.write_text("1800000000000", encoding="utf-8")
    start = [*command(den, only="fills_its_phase", phases="['TurnPrePolicy']"), "--clock-file", str(clock)]
    here, there = [await GatewayClient.start(start) for _ in range(2)]
    async with here, there:
        both = []
        for client in (here, there):
            await client.request(
                "initialize",
                {
                    "protocol_version": "2026-11",
                    "client": {"name": "journey", "version": "1"},
                    "workspace_id": "ws_here",
                },
            )
            both.append(Seen(client, den, clock))
        await here.request("settings/update", {"update": {"roles": {"preflight": "scripted"}}})
        await remember(here, "The user's favourite tea is sencha")
        of_agent = {"scope": {"kind": "agent", "key": "agent_1"}, "context": {"agent_id": "agent_1"}}
        await remember(here, "The agent brews oolong tea", **of_agent)
        found: dict[str, list[Any]] = {}
        for key, row in ROWS.items():
            group, name = key.split(".")
            found[key] = [await row.look(both[1])]
            await here.request("settings/update", {"update": {group: {name: row.value}}})
            found[key] += [await row.look(seen) for seen in both]
            await here.request("settings/update", {"update": {group: {name: RESET.get(key)}}})
        assert found == {key: [row.before, row.after, row.after] for key, row in ROWS.items()}
        unsafe = {"update": {"memory": {"capsules_dir": "../out"}}}
        assert (await refusal(here, "settings/update", unsafe)).reason == "invalid_params"
