"""Turns whose model the host runs, and the work after a turn."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from agent_home import BUNDLE, RECALL, RECALL_TWO, SECTION, TERMINAL, TOOLS, AgentHome, Answers, echoes, play
from clock import SetClock
from fresh import fresh_database

from protocol.conversation.host_turns import ToolCallParams, ToolReply, TurnFinishParams
from protocol.conversation.manifests import PromptManifest
from protocol.conversation.turns import ToolEvent, TurnParams, TurnStartParams
from protocol.errors import CallerError, Refused, Unavailable
from protocol.hooks import (
    AuditContribution,
    HookFailure,
    HookInput,
    HookOutput,
    Retry,
    SkipRun,
    Subscription,
    ToolContext,
)
from protocol.models import ModelReply

encode = msgspec.json.Encoder(order="sorted").encode


def call(name: str, call_id: str = "c1", **arguments: Any) -> ToolCallParams:
    return ToolCallParams(turn_id="trn_1", call_id=call_id, name=name, arguments=arguments)


def finish(status: Any = "succeeded", **given: Any) -> TurnFinishParams:
    return TurnFinishParams(turn_id="trn_1", status=status, **given)


# -- the host calls the model ----------------------------------------------------------------------------------------


def test_prepare_call_finish(tmp_path: Path) -> None:
    calls: list[str] = []

    async def counted(context: ToolContext, name: str, arguments: dict[str, Any]) -> ToolReply:
        calls.append(context.call_id)
        return await echoes(context, name, arguments)

    async def scene(home: AgentHome) -> None:
        before = home.db.durable_commits
        prepared = await home.turns.turn_prepare(home.start("What do I like?", turn_id="trn_1"))
        assert prepared.turn.status == "awaiting_host"
        assert [block.source_refs[0].id for block in prepared.context_blocks] == ["mem_1"]
        assert [section.section_id for section in prepared.prompt_sections] == ["memory_recall"]
        assert [tool.name for tool in prepared.tools] == ["request_tools", "memory_get"]
        assert prepared.recall_status == prepared.prompt_manifest.recall.status == "recalled"
        again = await home.turns.turn_prepare(home.start("What do I like?", turn_id="trn_1"))
        assert again == prepared
        with pytest.raises(Refused) as busy:
            await home.turns.turn_prepare(home.start("other"))
        assert busy.value.reason == "turn_in_progress"
        first = await home.turns.turn_tool_call(call("memory_get", n=1))
        assert first.result.data == {"name": "memory_get", "n": 1}
        assert await home.turns.turn_tool_call(call("memory_get", n=1)) == first
        assert calls == ["c1"]
        with pytest.raises(Refused):
            await home.turns.turn_tool_call(call("memory_get", n=2))
        hidden = await home.turns.turn_tool_call(call("memory_list", "c2"))
        assert hidden.result.error is not None
        assert hidden.result.error.code == "unknown_tool"
        revealed = await home.turns.turn_tool_call(call("request_tools", "c3", domains=["memory"], reason="x"))
        assert set(revealed.visible_tools) == {*TOOLS, "request_tools"}
        assert (await home.turns.turn_tool_call(call("memory_list", "c4"))).result.ok
        done = finish(assistant_text="Tea.", tool_events=[ToolEvent(name="web", call_id="w", status="ok")])
        ended = await home.turns.turn_finish(done)
        assert ended.turn.status == "completed"
        assert encode(await home.turns.turn_finish(done)) == encode(ended)
        lived = await home.end_of("trn_1")
        assert [(item.role, item.text) for item in lived.items] == [("user", "What do I like?"), ("assistant", "Tea.")]
        home.check_story("trn_1")
        assert home.methods("trn_1")[-2:] == ["turn/completed", "turn/post_completed"]
        assert len(await home.rows("SELECT 1 FROM injection")) == 1
        assert len(await home.rows("SELECT run_id FROM hook_run")) == 4
        assert (
            home.db.durable_commits - before == 4 + 4
        )  # begin, prepared, asked again, end; and one for each answered call

    play(tmp_path, scene, hooks=[BUNDLE, RECALL, SECTION], plan=["memory_get"], tools=dict.fromkeys(TOOLS, counted))


def test_what_was_forgotten_is_not_told_again(tmp_path: Path) -> None:
    async def finds(_context: ToolContext, _name: str, _arguments: dict[str, Any]) -> ToolReply:
        return ToolReply(ok=True, data={"hits": [{"memory_id": f"mem_{n}", "content": f"fact {n}"} for n in (1, 2)]})

    def found(reply: ToolReply) -> list[str | None]:
        return [hit.get("content") for hit in reply.data["hits"]]

    async def scene(home: AgentHome) -> None:
        asked = home.start("What do I like?", turn_id="trn_1")
        home.marks = {"mem_1": b"1", "mem_2": b"2"}
        first = await home.turns.turn_prepare(asked)
        answer = await home.turns.turn_tool_call(call("memory_get"))
        texts = {"mem_1": "Likes tea", "mem_2": "Likes rye"}
        for marks, left in (
            ({"mem_1": b"1", "mem_2": b"2"}, ["mem_1", "mem_2"]),
            ({"mem_1": b"1"}, ["mem_1"]),
            ({"mem_1": b"another", "mem_2": b"2"}, ["mem_2"]),
            ({}, []),
            ({"mem_1": b"1", "mem_2": b"2"}, ["mem_1", "mem_2"]),  # restored
        ):
            home.marks = marks
            again = await home.turns.turn_prepare(asked)
            assert [ref.id for block in again.context_blocks for ref in block.source_refs] == left
            said = "".join(block.text for block in again.context_blocks)
            assert [name for name, text in texts.items() if text in said] == left
            assert (again == first) == (left == ["mem_1", "mem_2"])
            assert (again.prompt_manifest, again.turn) == (first.prompt_manifest, first.turn)
            shown = found((await home.turns.turn_tool_call(call("memory_get"))).result)
            assert shown == ["fact 1" if "mem_1" in marks else None, "fact 2" if "mem_2" in marks else None]
        assert (await home.turns.turn_tool_call(call("memory_get"))) == answer

    play(tmp_path, scene, hooks=[BUNDLE, RECALL_TWO], plan=["memory_get"], tools={"memory_get": finds})


@pytest.mark.parametrize(
    ("status", "ends_as", "reason", "method"),
    [
        ("succeeded", "completed", None, "turn/completed"),
        ("failed", "failed", "host_failed", "turn/failed"),
        ("provider_failure", "failed", "provider_failed", "turn/failed"),
        ("interrupted", "interrupted", None, "turn/cancelled"),
    ],
)
def test_how_a_host_ends_a_turn(tmp_path: Path, status: Any, ends_as: str, reason: str | None, method: str) -> None:
    async def scene(home: AgentHome) -> None:
        await home.turns.turn_prepare(home.start(turn_id="trn_1"))
        await home.turns.turn_finish(finish(status, assistant_text="half"))
        lived = await home.end_of("trn_1")
        assert lived.turn.status == ends_as
        assert (lived.turn.error.reason if lived.turn.error else None) == reason
        assert [m for m in home.methods("trn_1") if m in TERMINAL] == [method]
        assert lived.items[1].status == ("completed" if status == "succeeded" else "failed")
        home.check_story("trn_1")
        assert (await home.live("next")).turn.status == "completed"

    play(tmp_path, scene)


def test_what_is_not_waiting_for_its_host(tmp_path: Path) -> None:
    async def scene(home: AgentHome) -> None:
        attempts: list[Callable[[], Any]] = [
            lambda: home.turns.turn_tool_call(call("memory_get")),
            lambda: home.turns.turn_finish(finish()),
        ]
        for attempt in attempts:
            with pytest.raises(CallerError) as missing:
                await attempt()
            assert missing.value.reason == "not_found"
        await home.live(turn_id="trn_1")
        for attempt in attempts:
            with pytest.raises(Refused) as caught:
                await attempt()
            assert caught.value.reason == "conflict"
        with pytest.raises(Refused):
            await home.turns.turn_prepare(home.start(turn_id="trn_1"))

    play(tmp_path, scene)


def test_a_prepared_turn_can_be_cancelled(tmp_path: Path) -> None:
    async def scene(home: AgentHome) -> None:
        await home.turns.turn_prepare(home.start(turn_id="trn_1"))
        assert (await home.turns.turn_cancel(TurnParams(turn_id="trn_1"))).turn.status == "cancelled"
        home.check_story("trn_1")
        assert (await home.turns.turn_finish(finish("interrupted"))).turn.status == "cancelled"
        with pytest.raises(Refused, match="ended otherwise"):
            await home.turns.turn_finish(finish())
        assert (await home.live("next")).turn.status == "completed"

    play(tmp_path, scene)


def test_a_tool_does_not_go_on_when_its_turn_is_cancelled(tmp_path: Path) -> None:
    inside, stopped = asyncio.Event(), asyncio.Event()

    async def hangs(_context: ToolContext, _name: str, _arguments: dict[str, Any]) -> ToolReply:
        inside.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        raise AssertionError

    async def scene(home: AgentHome) -> None:
        await home.turns.turn_prepare(home.start("x", turn_id="trn_1"))
        calling = asyncio.ensure_future(home.turns.turn_tool_call(call("memory_get")))
        await inside.wait()
        assert (await home.turns.turn_cancel(TurnParams(turn_id="trn_1"))).turn.status == "cancelled"
        async with asyncio.timeout(5):  # half of what a tool may take
            await stopped.wait()
            with pytest.raises(Refused) as caught:
                await calling
        assert caught.value.reason == "conflict"
        assert await home.rows("SELECT call_id FROM tool_reply") == []
        home.check_story("trn_1")

    play(tmp_path, scene, hooks=[BUNDLE], plan=["memory_get"], tools={"memory_get": hangs})


@pytest.mark.parametrize("way", ["turn/cancel", "request", "end of the process"])
def test_a_turn_can_be_cancelled_while_it_is_prepared(tmp_path: Path, way: str) -> None:
    inside = asyncio.Event()

    async def hangs(_given: HookInput) -> HookOutput:
        inside.set()
        await asyncio.Event().wait()
        raise AssertionError

    slow = Subscription(hook_id="t.slow", phase="TurnPrePolicy", call=hangs, timeout_ms=60_000)

    async def scene(home: AgentHome) -> None:
        preparing = asyncio.ensure_future(home.turns.turn_prepare(home.start(turn_id="trn_1")))
        async with asyncio.timeout(5):
            await inside.wait()
            if way == "turn/cancel":
                assert (await home.turns.turn_cancel(TurnParams(turn_id="trn_1"))).turn.status == "cancelled"
            elif way == "request":
                preparing.cancel()
            else:
                await home.turns.end_all()
            (outcome,) = await asyncio.gather(preparing, return_exceptions=True)
        assert isinstance(outcome, (Refused, asyncio.CancelledError))
        lived = await home.end_of("trn_1")
        assert lived.turn.status == ("interrupted" if way == "end of the process" else "cancelled")
        home.check_story("trn_1")

    play(tmp_path, scene, hooks=[slow])


def test_a_needed_hook_that_fails_while_preparing(tmp_path: Path) -> None:
    async def crashes(_given: HookInput) -> HookOutput:
        raise ValueError

    needed = Subscription(hook_id="t.needed", phase="TurnPrePromptCompile", call=crashes, failure_policy="required")

    async def scene(home: AgentHome) -> None:
        with pytest.raises(Unavailable):
            await home.turns.turn_prepare(home.start(turn_id="trn_1"))
        lived = await home.end_of("trn_1")
        assert lived.turn.error is not None
        assert (lived.turn.status, lived.turn.error.reason) == ("failed", "hook_failed:t.needed")
        assert len(await home.rows("SELECT 1 FROM hook_run WHERE hook_id = 't.needed'")) == 1

    play(tmp_path, scene, hooks=[needed])


def test_both_drivers_get_the_same_contributions(tmp_path: Path) -> None:
    async def scene(home: AgentHome) -> None:
        hosted = await home.turns.turn_prepare(home.start("What do I like?", turn_id="trn_1"))
        await home.turns.turn_finish(finish(assistant_text="OK."))
        await home.open(thread_id="thr_2")
        driven = (await home.live("What do I like?", thread_id="thr_2")).turn.prompt_manifest
        assert driven is not None

        def plain(manifest: PromptManifest) -> list[Any]:
            return [
                (phase.phase, [(run.hook_id, run.status, run.contribution_count) for run in phase.hook_runs])
                for phase in manifest.phases
            ]

        assert plain(driven) == plain(hosted.prompt_manifest)
        assert (driven.sections, driven.tools, driven.recall, driven.policy) == (
            hosted.prompt_manifest.sections,
            hosted.prompt_manifest.tools,
            hosted.prompt_manifest.recall,
            hosted.prompt_manifest.policy,
        )
        hashes = await home.rows(
            "SELECT hook_id, contribution_hashes FROM hook_run ORDER BY turn_id = 'trn_1', phase, hook_id"
        )
        assert hashes[: len(hashes) // 2] == hashes[len(hashes) // 2 :]
        request = home.model.asked[0]
        nonce = hosted.context_blocks[0].block_id.rsplit("_", 1)[1]
        shown = request.messages[-2].content
        assert len(shown) == len(hosted.context_blocks[0].text)
        assert nonce not in shown

    play(tmp_path, scene, hooks=[BUNDLE, RECALL, SECTION])


# -- after the turn --------------------------------------------------------------------------------------------------


class After:
    """A TurnPostTurn hook that does what a list says, once a call: an error to raise, or nothing."""

    def __init__(self, *deeds: Exception | None, attempts: int = 1, hook_id: str = "t.after") -> None:
        self.deeds = list(deeds)
        self.given: list[HookInput] = []
        self.subscription = Subscription(
            hook_id=hook_id, phase="TurnPostTurn", call=self, await_policy="background", retry=Retry(attempts=attempts)
        )

    async def __call__(self, given: HookInput) -> HookOutput:
        self.given.append(given)
        deed = self.deeds.pop(0) if self.deeds else None
        if deed is not None:
            raise deed
        return HookOutput(contributions=[AuditContribution(event="done")])


async def post(home: AgentHome, turn_id: str) -> dict[str, str]:
    await home.until(lambda: "turn/post_completed" in home.methods(turn_id))
    (told,) = [one for one in home.of(turn_id) if one.method == "turn/post_completed"]
    return {run.hook_id: run.status for run in told.params.hook_runs}


def test_post_completed_comes_once_when_all_have_ended(tmp_path: Path) -> None:
    one, two, skips = After(), After(ValueError("x"), hook_id="t.bad"), After(SkipRun("not_now"), hook_id="t.skip")
    off = Subscription(hook_id="t.off", phase="TurnPostTurn", call=one, enabled=lambda: False)

    async def scene(home: AgentHome) -> None:
        lived = await home.live("hi")
        await home.drain()
        turn_id = lived.turn.turn_id
        assert await post(home, turn_id) == {"t.after": "succeeded", "t.bad": "failed", "t.skip": "skipped"}
        home.check_story(turn_id)
        (given,) = one.given
        assert (given.status, given.phase, given.context.turn_id) == ("succeeded", "TurnPostTurn", turn_id)
        assert [(item.role, item.text) for item in given.transcript] == [("user", "hi"), ("assistant", "OK.")]
        await home.drain()
        assert [len(hook.given) for hook in (one, two, skips)] == [1, 1, 1]

    play(tmp_path, scene, hooks=[one.subscription, two.subscription, skips.subscription, off])


def test_a_retry_holds_it_back_and_runs_under_the_same_id(tmp_path: Path) -> None:
    after = After(HookFailure("busy", retryable=True), HookFailure("busy", retryable=True), attempts=3)

    async def scene(home: AgentHome) -> None:
        turn_id = (await home.live()).turn.turn_id
        for expected in (1, 2):
            await home.drain()
            assert len(after.given) == expected
            assert "turn/post_completed" not in home.methods(turn_id)
            home.clock.at += 5000
        await home.drain()
        assert await post(home, turn_id) == {"t.after": "succeeded"}
        assert len({given.run_id for given in after.given}) == 1
        assert await home.rows("SELECT status, attempt_count FROM hook_run WHERE hook_id = 't.after'") == [
            ("succeeded", 3)
        ]

    play(tmp_path, scene, hooks=[after.subscription])


@pytest.mark.parametrize(
    ("deeds", "attempts", "calls"),
    [([HookFailure("busy", retryable=True)] * 9, 2, 2), ([HookFailure("never")], 5, 1), ([ValueError("x")], 5, 1)],
)
def test_a_run_that_fails_for_good(tmp_path: Path, deeds: list[Exception], attempts: int, calls: int) -> None:
    after = After(*deeds, attempts=attempts)

    async def scene(home: AgentHome) -> None:
        turn_id = (await home.live()).turn.turn_id
        for _ in range(attempts):
            await home.drain()
            home.clock.at += 5000
        assert await post(home, turn_id) == {"t.after": "failed"}
        assert len(after.given) == calls

    play(tmp_path, scene, hooks=[after.subscription])


def test_a_failed_and_a_cancelled_turn_have_their_aftermath_too(tmp_path: Path) -> None:
    after = After()
    inside = asyncio.Event()

    async def hangs(*_given: Any) -> ModelReply:
        inside.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def scene(home: AgentHome) -> None:
        failed = (await home.live()).turn.turn_id
        cancelled = await home.begin("again")
        await inside.wait()
        await home.turns.turn_cancel(TurnParams(turn_id=cancelled))
        await home.drain()
        assert [await post(home, one) for one in (failed, cancelled)] == [{"t.after": "succeeded"}] * 2
        assert [given.status for given in after.given] == ["failed", "cancelled"]

    play(tmp_path, scene, ValueError("x"), hangs, hooks=[after.subscription])


def test_a_hook_that_is_switched_off_meanwhile_is_skipped(tmp_path: Path) -> None:
    is_on = [True]
    after = After()
    hook = Subscription(hook_id="t.after", phase="TurnPostTurn", call=after, enabled=lambda: is_on[0])

    def switches_off(_request: Any, _deltas: Any) -> ModelReply:
        return ModelReply(text="OK.")

    async def scene(home: AgentHome) -> None:
        notify = home.background.queue

        def queue(tx: Any, thread_id: str, turn_id: str) -> None:
            notify(tx, thread_id, turn_id)
            is_on[0] = False

        home.background.queue = queue
        turn_id = (await home.live()).turn.turn_id
        await home.drain()
        assert await post(home, turn_id) == {"t.after": "skipped"}
        assert after.given == []

    play(tmp_path, scene, switches_off, hooks=[hook])


# -- another process ended -------------------------------------------------------------------------------------------


def test_what_a_dead_process_left(tmp_path: Path) -> None:
    path = fresh_database(tmp_path)
    clock = SetClock()
    first_after, second_after = After(), After()
    inside = asyncio.Event()

    async def hangs(*_given: Any) -> ModelReply:
        inside.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def scene() -> None:
        dead = AgentHome(
            path,
            model=Answers(ModelReply(text="before"), hangs),
            hooks=[first_after.subscription],
            owner="own_dead",
            clock=clock,
        )
        await dead.open()
        ended = (await dead.live()).turn.turn_id  # its aftermath is queued and never runs there
        running = await dead.begin("and then")
        await inside.wait()
        for task in dead.tasks:  # as if the process were killed: nothing is written any more
            dead.db._is_closed = True
            task.cancel()
        await asyncio.gather(*dead.tasks, return_exceptions=True)
        dead.db.close()

        home = AgentHome(path, model=Answers(), hooks=[second_after.subscription], owner="own_new", clock=clock)
        try:
            await home.db.write(lambda tx: home.background.interrupt_turns_of(tx, ["own_dead"]))
            assert [one.turn_id for one in await home.background.take_interrupted()] == [running]
            assert await home.background.take_interrupted() == []
            assert (await home.lived(running)).turn.status == "interrupted"
            assert "turn/post_completed" in home.methods(running)
            async with home.running():
                await home.drain()
                assert await post(home, ended) == {"t.after": "succeeded"}
                assert (len(first_after.given), len(second_after.given)) == (0, 1)
                assert (await home.live("go on")).turn.status == "completed"
                known = await home.turns.turn_start(
                    TurnStartParams(thread_id="thr_1", turn_id=running, input=home.start("and then").input)
                )
                assert known.turn.status == "interrupted"
        finally:
            await home.close()

    asyncio.run(scene())
