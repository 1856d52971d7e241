"""A turn stops within a tenth of a second wherever it is, also where somebody swallows the cancellation."""

import asyncio
import time
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from agent_home import BUNDLE, TERMINAL, TOOLS, AgentHome, play, wants

from protocol.conversation.host_turns import ToolReply, TurnFinishParams
from protocol.conversation.threads import ThreadParams
from protocol.conversation.turns import TurnParams
from protocol.hooks import PHASES, HookInput, Subscription
from protocol.models import ModelReply

CANCEL_SECONDS = 0.1
TRIES = 3
BEFORE = PHASES[:-1]


class Held:
    """Something that goes on until the turn is cancelled, and longer where it is stubborn."""

    def __init__(self, *, stubborn: bool) -> None:
        self.inside = asyncio.Event()
        self._stubborn = stubborn

    async def __call__(self, *_given: Any) -> Any:
        self.inside.set()
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                if not self._stubborn:
                    raise

    def speaks(self, _request: Any, deltas: Any) -> Any:
        """As a model that has begun to answer."""
        deltas.delta("Half an ans")
        return self()


async def _cancelled(home: AgentHome, held: Held) -> float:
    held.inside.clear()
    turn_id = await home.begin()
    async with asyncio.timeout(10):
        await held.inside.wait()
        begun = time.monotonic()
        turn = (await home.turns.turn_cancel(TurnParams(turn_id=turn_id))).turn
        took = time.monotonic() - begun
    assert turn.status == "cancelled"
    home.check_story(turn_id)
    assert [method for method in home.methods(turn_id) if method in TERMINAL] == ["turn/cancelled"]
    return took


def measure(folder: Path, held: Held, *answers: Any, **given: Any) -> None:
    async def scene(home: AgentHome) -> None:
        took = [await _cancelled(home, held) for _ in range(TRIES)]
        assert min(took) < CANCEL_SECONDS
        assert home.incidents == []
        assert all(fact.text == "hello" for fact in home.facts)

    play(folder, scene, *answers, **given)


@pytest.mark.parametrize("stubborn", [False, True], ids=["", "stubborn"])
@pytest.mark.parametrize("phase", BEFORE)
def test_in_a_hook(tmp_path: Path, phase: Any, stubborn: bool) -> None:  # noqa: FBT001
    held = Held(stubborn=stubborn)
    measure(tmp_path, held, hooks=[Subscription(hook_id="t.held", phase=phase, call=held, timeout_ms=60_000)])


@pytest.mark.parametrize("stubborn", [False, True], ids=["", "stubborn"])
def test_in_a_tool_call(tmp_path: Path, stubborn: bool) -> None:  # noqa: FBT001
    held = Held(stubborn=stubborn)

    async def answers(*_given: Any) -> ToolReply:
        return ToolReply(ok=True)

    calls = [wants(("memory_list", {}), ("memory_get", {}), ("memory_list", {}))] * TRIES
    measure(tmp_path, held, *calls, hooks=[BUNDLE], plan=TOOLS, tools={"memory_get": held, "memory_list": answers})


@pytest.mark.parametrize("speaks", [False, True], ids=["before the first word", "in mid-stream"])
def test_in_a_model_call(tmp_path: Path, speaks: bool) -> None:  # noqa: FBT001
    held = Held(stubborn=False)
    measure(tmp_path, held, *[held.speaks if speaks else held] * TRIES)


def test_while_what_follows_the_turn_waits(tmp_path: Path) -> None:
    """A turn that has ended is returned as it is; what follows it goes on."""
    inside, gate = asyncio.Event(), asyncio.Event()

    async def waits(_given: HookInput) -> Any:
        inside.set()
        await gate.wait()
        raise ValueError

    async def scene(home: AgentHome) -> None:
        turn_id = (await home.live()).turn.turn_id
        await inside.wait()
        async with asyncio.timeout(10):
            turn = (await home.turns.turn_cancel(TurnParams(turn_id=turn_id))).turn
        assert turn.status == "completed"
        gate.set()
        await home.until(lambda: "turn/post_completed" in home.methods(turn_id))

    after = Subscription(hook_id="t.after", phase="TurnPostTurn", call=waits, timeout_ms=60_000)
    play(tmp_path, scene, ModelReply(text="OK."), hooks=[after])


@pytest.mark.parametrize("wish", ["turn_finish", "turn_cancel"])
def test_an_end_that_was_asked_for_is_stored_though_the_request_is_cancelled(tmp_path: Path, wish: str) -> None:
    async def scene(home: AgentHome) -> None:
        await home.turns.turn_prepare(home.start(turn_id="trn_1"))
        write, asked, gate = home.db.write, asyncio.Event(), asyncio.Event()

        async def waits(work: Any, **how: Any) -> Any:
            asked.set()
            await gate.wait()
            return await write(work, **how)

        home.db.write = waits
        finish = TurnFinishParams(turn_id="trn_1", status="succeeded", assistant_text="done")
        calls = {"turn_finish": lambda: home.turns.turn_finish(finish), "turn_cancel": cancels(home, "trn_1")}
        with anyio.CancelScope() as request:
            async with anyio.create_task_group() as requests:
                requests.start_soon(calls[wish])
                await asked.wait()
                request.cancel()
                gate.set()
        lived = await home.end_of("trn_1")
        assert lived.turn.status == {"turn_finish": "completed", "turn_cancel": "cancelled"}[wish]
        assert [item.text for item in lived.items] == (["hello", "done"] if wish == "turn_finish" else ["hello"])
        home.check_story("trn_1")
        again = msgspec.structs.replace(finish, status="succeeded" if wish == "turn_finish" else "interrupted")
        assert (await home.turns.turn_finish(again)).turn == lived.turn
        assert (await home.deletions.thread_delete(ThreadParams(thread_id="thr_1"))).deleted

    play(tmp_path, scene)


def cancels(home: AgentHome, turn_id: str) -> Any:
    return lambda: home.turns.turn_cancel(TurnParams(turn_id=turn_id))


def test_tool_calls_of_a_round_run_side_by_side_and_answer_in_their_order(tmp_path: Path) -> None:
    """None of them ends before all have begun, and the last begun ends first."""
    begun: list[int] = []
    ended: list[int] = []
    gates = [asyncio.Event() for _ in range(4)]

    async def waits(_context: Any, _name: str, arguments: dict[str, Any]) -> ToolReply:
        number: int = arguments["n"]
        begun.append(number)
        if number == 3:
            gates[3].set()
        await gates[number].wait()
        ended.append(number)
        gates[number - 1].set()
        return ToolReply(ok=True, data=number)

    async def scene(home: AgentHome) -> None:
        lived = await home.live()
        assert (begun, ended) == ([0, 1, 2, 3], [3, 2, 1, 0])
        results = [item.text for item in lived.items if item.kind == "tool_result"]
        assert results == [f'{{"ok":true,"data":{n}}}' for n in range(4)]

    calls = wants(*[("memory_get", {"n": n}) for n in range(4)])
    play(tmp_path, scene, calls, hooks=[BUNDLE], plan=TOOLS, tools={"memory_get": waits})


async def _garbage(*_given: Any) -> Any:
    return {"ok": True}


async def _what_no_json_holds(*_given: Any) -> Any:
    return ToolReply(ok=True, data={"o": object()})


async def _exits(*_given: Any) -> Any:
    raise SystemExit


async def _too_much(*_given: Any) -> Any:
    return ToolReply(ok=True, data="x" * 20_000)


@pytest.mark.parametrize(
    ("tool", "code"),
    [(_garbage, "internal"), (_what_no_json_holds, "internal"), (_exits, "internal"), (_too_much, "result_too_large")],
)
def test_a_hostile_tool_is_an_answer_to_the_model(tmp_path: Path, tool: Any, code: str) -> None:
    async def scene(home: AgentHome) -> None:
        lived = await home.live()
        (result,) = [item.text for item in lived.items if item.kind == "tool_result"]
        assert (lived.turn.status, f'"code":"{code}"' in result) == ("completed", True)

    play(tmp_path, scene, wants(("memory_get", {})), hooks=[BUNDLE], plan=TOOLS, tools={"memory_get": tool})
