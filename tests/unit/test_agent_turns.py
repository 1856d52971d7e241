"""Turns that the gateway runs: their story, their two commits, their tools."""

import asyncio
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from agent_home import BUNDLE, RECALL, SECTION, TOOLS, AgentHome, echoes, play, wants

from protocol.conversation.host_turns import ToolReply
from protocol.conversation.threads import ThreadHistoryParams, ThreadStartParams
from protocol.conversation.turns import ArtifactInput, TextInput, TurnStartParams
from protocol.errors import CallerError, Refused, Unavailable
from protocol.hooks import (
    PHASES,
    ToolContext,
)
from protocol.models import ModelReply

# -- the story of a turn ---------------------------------------------------------------------------------------------


def test_a_turn_tells_its_story_and_commits_twice(tmp_path: Path) -> None:
    def streams(_request: Any, deltas: Any) -> ModelReply:
        for piece in ("Hel", "lo", "!"):
            deltas.delta(piece)
        return ModelReply(text="Hello!")

    async def scene(home: AgentHome) -> None:
        before = home.db.durable_commits
        lived = await home.live("  hi\r\n")
        assert home.db.durable_commits - before == 2
        turn_id = lived.turn.turn_id
        home.check_story(turn_id)
        assert home.methods(turn_id) == [
            "turn/started",
            *["item/started", "item/completed"],
            "item/started",
            *["item/agent_message/delta"] * 3,
            "item/completed",
            "turn/completed",
            "turn/post_completed",
        ]
        assert "".join(one.params.delta for one in home.of(turn_id)[4:7]) == "Hello!"
        assert [(item.role, item.text, item.status) for item in lived.items] == [
            ("user", "  hi\r\n", "completed"),
            ("assistant", "Hello!", "completed"),
        ]
        assert (lived.turn.status, lived.turn.rounds, lived.turn.error) == ("completed", 1, None)
        manifest = lived.turn.prompt_manifest
        assert manifest is not None
        assert [phase.phase for phase in manifest.phases] == list(PHASES[:-1])
        assert (manifest.recall.status, manifest.tools.visible) == ("off", ["request_tools"])
        assert [fact.text for fact in home.facts] == ["  hi\r\n", "Hello!"]

    play(tmp_path, scene, streams)


def test_ten_turns_commit_twice_each_and_history_goes_along(tmp_path: Path) -> None:
    async def scene(home: AgentHome) -> None:
        before = home.db.durable_commits
        for n in range(10):
            home.check_story((await home.live(f"message {n}")).turn.turn_id)
        assert home.db.durable_commits - before == 20
        asked = [(m.role, m.content) for m in home.model.asked[-1].messages]
        assert asked[0][0] == "system"
        assert asked[1:5] == [("user", "message 0"), ("assistant", "OK."), ("user", "message 1"), ("assistant", "OK.")]
        assert asked[-1] == ("user", "message 9")
        await home.live("x" * 1990)
        assert [m.role for m in home.model.asked[-1].messages] == ["system", "user"]
        history = await home.threads.thread_history(ThreadHistoryParams(thread_id="thr_1", limit=100))
        assert [item.text for item in history.items][:3] == ["message 0", "OK.", "message 1"]

    play(tmp_path, scene)


def test_what_is_injected_stands_before_the_users_words_and_in_the_ledger(tmp_path: Path) -> None:
    async def scene(home: AgentHome) -> None:
        first = await home.live("What do I like?")
        second = await home.live("And now?")
        for request in home.model.asked:
            assert request.messages[0].content.endswith("## Memory\n\nHow to use it.")
            assert "Likes tea" in request.messages[-2].content
            assert sum("Likes tea" in message.content for message in request.messages) == 1
        assert home.model.asked[0].messages[0] == home.model.asked[1].messages[0]
        line = next(line for line in home.model.asked[0].messages[-2].content.splitlines() if "Likes tea" in line)
        spans = await home.db.read(lambda tx: home.ledger.echo_spans(tx, "ws_1", line))
        assert spans == [(0, len(line))]
        for lived in (first, second):
            assert lived.turn.prompt_manifest is not None
            assert lived.turn.prompt_manifest.recall.memory_ids == ["mem_1"]
            assert all("tea" not in item.text for item in lived.items)

    play(tmp_path, scene, hooks=[RECALL, SECTION])


def test_input_of_several_parts(tmp_path: Path) -> None:
    async def scene(home: AgentHome) -> None:
        file = ArtifactInput(name="a.txt", mime="text/plain", data_base64="aGk=")
        params = TurnStartParams(thread_id="thr_1", input=[TextInput(text="one"), file, TextInput(text="two")])
        turn_id = (await home.turns.turn_start(params)).turn.turn_id
        lived = await home.end_of(turn_id)
        assert lived.items[0].text == "one\n\ntwo"
        assert [(ref.name, ref.size_bytes) for ref in lived.items[0].artifacts] == [("a.txt", 2)]

    play(tmp_path, scene)


# -- who may begin ---------------------------------------------------------------------------------------------------


def test_a_known_turn_id_is_that_turn_and_never_another(tmp_path: Path) -> None:
    async def scene(home: AgentHome) -> None:
        lived = await home.live("hi", turn_id="trn_mine")
        again = await home.turns.turn_start(home.start("hi", turn_id="trn_mine"))
        assert again.turn == lived.turn
        assert len(home.model.asked) == 1
        await home.open(thread_id="thr_2")
        for changes in ({"text": "ho"}, {"text": "hi", "thread_id": "thr_2"}):
            with pytest.raises(Refused) as caught:
                await home.begin(turn_id="trn_mine", **changes)
            assert caught.value.reason == "conflict"

    play(tmp_path, scene)


def test_one_turn_at_a_time_in_a_thread(tmp_path: Path) -> None:
    gate = asyncio.Event()

    async def waits(_request: Any, _deltas: Any) -> ModelReply:
        await gate.wait()
        return ModelReply(text="done")

    async def scene(home: AgentHome) -> None:
        turn_id = await home.begin(turn_id="trn_1")
        assert home.turns.thread_of(turn_id) == "thr_1"
        with pytest.raises(Refused) as caught:
            await home.begin("again")
        assert caught.value.reason == "turn_in_progress"
        assert (await home.turns.turn_start(home.start(turn_id="trn_1"))).turn.status == "in_progress"
        await home.open(thread_id="thr_2")
        other = await home.begin("elsewhere", thread_id="thr_2")
        gate.set()
        await home.end_of(turn_id)
        await home.end_of(other)
        assert home.turns.thread_of(turn_id) is None
        assert (await home.live("again")).turn.status == "completed"

    play(tmp_path, scene, waits)


def test_a_turn_that_cannot_begin_leaves_nothing(tmp_path: Path) -> None:
    async def scene(home: AgentHome) -> None:
        with pytest.raises(CallerError) as missing:
            await home.begin(thread_id="thr_none")
        assert missing.value.reason == "not_found"
        home.model.configured = False
        with pytest.raises(Unavailable) as caught:
            await home.begin()
        assert caught.value.reason == "provider_not_configured"
        assert await home.rows("SELECT 1 FROM turn") == []
        assert home.told == []
        await home.threads.thread_start(ThreadStartParams(workspace_id="ws_1", thread_id="thr_own", provider="own"))
        lived = await home.live(thread_id="thr_own")
        assert (lived.turn.status, home.model.asked[-1].provider) == ("completed", "own")

    play(tmp_path, scene)


def test_a_request_that_is_cancelled_while_it_begins_leaves_no_orphan(tmp_path: Path) -> None:
    async def scene(home: AgentHome) -> None:
        inside = asyncio.Event()
        write = home.db.write

        async def slow(work: Any, **how: Any) -> Any:
            inside.set()
            return await write(work, **how)

        home.db.write = slow
        async with anyio.create_task_group() as group:
            group.start_soon(home.turns.turn_start, home.start(turn_id="trn_1"))
            await inside.wait()
            group.cancel_scope.cancel()  # as the session cancels a request
        assert await home.rows("SELECT turn_id FROM turn") == [("trn_1",)]
        assert (await home.end_of("trn_1")).turn.status == "completed"
        assert (await home.live("next")).turn.status == "completed"

    play(tmp_path, scene)


# -- rounds and tools ------------------------------------------------------------------------------------------------


def test_bad_calls_go_back_to_the_model_and_good_ones_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.turns.rounds.TOOL_SECONDS", 0.5)
    first_done = asyncio.Event()

    async def slow(context: ToolContext, name: str, arguments: dict[str, Any]) -> ToolReply:
        if arguments.get("waits"):
            await first_done.wait()
        first_done.set()
        if arguments.get("hangs"):
            await asyncio.Event().wait()
        return await echoes(context, name, arguments)

    async def refuses(*_given: Any) -> ToolReply:
        raise Unavailable("memory_disabled")

    async def crashes(*_given: Any) -> ToolReply:
        raise ValueError("private text")

    calls = wants(
        ("memory_search", {"waits": 1}),
        ("memory_search", {"n": 2}),
        ("nope", {}),
        ("memory_search", None),
        ("memory_get", {}),
        ("memory_list", {}),
        ("memory_search", {"hangs": 1}),
        text="Let me look",
    )

    async def scene(home: AgentHome) -> None:
        lived = await home.live()
        home.check_story(lived.turn.turn_id)
        assert (lived.turn.status, lived.turn.rounds) == ("completed", 2)
        told = [msgspec.json.decode(item.text) for item in lived.items if item.kind == "tool_result"]
        assert told[0] == {"ok": True, "data": {"name": "memory_search", "waits": 1}}
        assert told[1]["data"]["n"] == 2
        codes = [one["error"]["code"] for one in told[2:]]
        assert codes == ["unknown_tool", "invalid_params", "memory_disabled", "internal", "deadline_exceeded"]
        assert [item.tool.call_id for item in lived.items if item.kind == "tool_result" and item.tool] == [
            f"call_{n}" for n in range(1, 8)
        ]
        assert home.incidents == [ValueError]
        assert "private" not in str(lived)
        second = home.model.asked[1]
        assert [m.role for m in second.messages[-9:]] == ["user", "assistant", *["tool"] * 7]
        assert second.messages[-8].content == "Let me look"
        assert [m.tool_call_id for m in second.messages[-7:]] == [f"call_{n}" for n in range(1, 8)]
        assert second.round == 2

    play(
        tmp_path,
        scene,
        calls,
        hooks=[BUNDLE],
        plan=TOOLS,
        tools={"memory_search": slow, "memory_get": refuses, "memory_list": crashes},
    )


def test_rounds_are_bounded(tmp_path: Path) -> None:
    async def scene(home: AgentHome) -> None:
        lived = await home.live()
        assert (lived.turn.status, lived.turn.rounds, len(home.model.asked)) == ("failed", 3, 3)
        assert [request.round for request in home.model.asked] == [1, 2, 3]
        home.check_story(lived.turn.turn_id)

    play(tmp_path, scene, *[wants(("request_tools", {})) for _ in range(9)], max_rounds=3)


def test_tools_are_revealed_on_request_in_the_same_turn(tmp_path: Path) -> None:
    ask = {"domains": ["memory"], "reason": "to look"}

    async def scene(home: AgentHome) -> None:
        lived = await home.live()
        offered = [[tool.name for tool in request.tools] for request in home.model.asked]
        assert [sorted(names) for names in offered[:2]] == [
            ["memory_get", "request_tools"],
            sorted([*TOOLS, "request_tools"]),
        ]
        results = [msgspec.json.decode(item.text) for item in lived.items if item.kind == "tool_result"]
        assert results[0]["error"]["code"] == "unknown_tool"
        assert sorted(results[1]["data"]["revealed"]) == ["memory_list", "memory_search"]
        assert results[2]["ok"]
        assert results[3]["error"]["code"] == "invalid_params"
        manifest = lived.turn.prompt_manifest
        assert manifest is not None
        assert (sorted(manifest.tools.visible), manifest.tools.hidden_domains) == (
            sorted([*TOOLS, "request_tools"]),
            ["agent"],
        )

    answers = [
        wants(("memory_search", {}), ("request_tools", ask)),
        wants(("memory_search", {}), ("request_tools", {"domains": 5})),
    ]
    play(tmp_path, scene, *answers, hooks=[BUNDLE], plan=["memory_get"], tools=dict.fromkeys(TOOLS, echoes))
