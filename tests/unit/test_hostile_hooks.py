"""A turn goes on beside hooks that do what no hook should."""

import asyncio
import time
from pathlib import Path

import pytest
from agent_home import RECALL, SECTION, AgentHome, play
from hostile_hooks import HELD_SECONDS, KIT, QUICK, SECRET_TEXT, TIMEOUT_MS, Hostile, gives_too_much, subscribed
from sizes import size

from protocol.hooks import PHASES
from protocol.models import ModelReply

BEFORE = PHASES[:-1]
TURNS = size("hostile_turns")
SLACK_SECONDS = 0.1
"""What a turn may take beyond the deadlines of its phases."""
LOADED_SECONDS = 3.0
"""What a machine that has much else to do may add."""


@pytest.mark.parametrize("hostile", KIT, ids=[one.name for one in KIT])
def test_a_turn_goes_on_and_the_run_tells_what_was_wrong(tmp_path: Path, hostile: Hostile) -> None:
    async def scene(home: AgentHome) -> None:
        lived = await home.live("What do I like?")
        home.check_story(lived.turn.turn_id)
        assert lived.turn.status == "completed"
        assert "Likes tea" in home.model.asked[-1].messages[-2].content
        manifest = lived.turn.prompt_manifest
        assert manifest is not None
        runs = [run for phase in manifest.phases for run in phase.hook_runs if run.hook_id == f"t.{hostile.name}"]
        assert [run.status for run in runs] == [hostile.status] * len(BEFORE)
        for run in runs:
            told = {one.code for one in run.diagnostics}
            if hostile.codes == ("contribution_not_allowed", "output_too_large"):
                assert len(told & {*hostile.codes}) == 1
            else:
                assert told >= {*hostile.codes}
        for statement in ("SELECT * FROM hook_run", "SELECT * FROM turn", "SELECT * FROM injection"):
            assert SECRET_TEXT not in str(await home.rows(statement))
        await home.drain()
        after = await home.rows("SELECT status FROM hook_run WHERE phase = 'TurnPostTurn'")
        assert len(after) == 1
        assert after[0][0] == ("failed" if hostile.call is gives_too_much else hostile.status)

    play(tmp_path, scene, hooks=[RECALL, SECTION, *subscribed(hostile, *PHASES)])


@pytest.mark.loop("check", "campaign")
def test_all_of_them_together_cost_a_turn_little_beyond_its_deadlines(tmp_path: Path) -> None:
    """Its CPU time is the part that a loaded machine does not change; `benchmarks hooks` has the 99th percentile."""
    quiet = [hostile for hostile in QUICK if hostile.name != "spins"]
    hooks = [subscription for hostile in quiet for subscription in subscribed(hostile, *BEFORE)]

    async def scene(home: AgentHome) -> None:
        took: list[float] = []
        costs: list[float] = []
        for number in range(TURNS):
            begun, cost = time.monotonic(), time.process_time()
            turn_id = await home.begin(f"message {number}")
            assert (await home.end_of(turn_id)).turn.status == "completed"
            took.append(time.monotonic() - begun)
            costs.append(time.process_time() - cost)
        assert min(costs) < 2 * SLACK_SECONDS
        assert min(took) < len(BEFORE) * TIMEOUT_MS / 1000 + LOADED_SECONDS

    play(tmp_path, scene, hooks=[RECALL, *hooks])


def test_others_are_served_while_hooks_misbehave(tmp_path: Path) -> None:
    hooks = [subscription for hostile in QUICK for subscription in subscribed(hostile, *BEFORE)]

    async def scene(home: AgentHome) -> None:
        turn_id = await home.begin()
        gaps: list[float] = []
        while "turn/completed" not in home.methods(turn_id):
            begun = time.monotonic()
            await asyncio.sleep(0.001)
            gaps.append(time.monotonic() - begun)
        assert sorted(gaps)[len(gaps) // 2] < sum(gaps) / 10  # others had their turn again and again

    play(tmp_path, scene, hooks=hooks)


def test_a_hook_that_holds_the_loop_costs_what_it_holds_and_is_named(tmp_path: Path) -> None:
    holds = next(hostile for hostile in KIT if hostile.name == "holds_the_loop")

    async def scene(home: AgentHome) -> None:
        took: list[float] = []
        for _ in range(3):
            begun = time.monotonic()
            lived = await home.live()
            took.append(time.monotonic() - begun)
            manifest = lived.turn.prompt_manifest
            assert manifest is not None
            blamed = {
                run.hook_id
                for phase in manifest.phases
                for run in phase.hook_runs
                if "hook_unresponsive" in [one.code for one in run.diagnostics]
            }
            assert blamed == {"t.holds_the_loop"}
            assert manifest.recall.status == "partial"
        assert min(took) < HELD_SECONDS + LOADED_SECONDS

    play(tmp_path, scene, hooks=[RECALL, *subscribed(holds, "TurnPrePromptContext")])


def test_what_swallows_its_cancellation_is_closed_by_force(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.hooks.deadline.FORCE_SECONDS", 0.05)
    stubborn = [hostile for hostile in KIT if "swallows" in hostile.name or hostile.name == "spins"]
    hooks = [subscription for hostile in stubborn for subscription in subscribed(hostile, "TurnPrePolicy")]

    async def scene(home: AgentHome) -> None:
        def left() -> set[asyncio.Task[object]]:
            return {task for task in asyncio.all_tasks() if "watched" in str(task.get_coro())}

        manifest = (await home.live()).turn.prompt_manifest
        assert manifest is not None
        told = [{one.code for one in run.diagnostics} for run in manifest.phases[0].hook_runs]
        assert told == [{"deadline_exceeded", "hook_unresponsive"}] * len(stubborn)
        async with asyncio.timeout(10):
            while left():
                await asyncio.wait(left())

    play(tmp_path, scene, ModelReply(text="OK."), hooks=hooks)
