"""What follows a turn: in the order of its dependencies, once in effect, whatever ends under it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from agent_home import AgentHome, Answers, play
from clock import SetClock
from fresh import fresh_database
from hostile_hooks import KIT, Hostile, subscribed

from agent.turns.background import MAX_LOST_ATTEMPTS
from gateway.jobs.runner import free_jobs_of
from protocol.hooks import AuditContribution, HookFailure, HookInput, HookOutput, Retry, Subscription


class Noted:
    """Hooks that note when they ran, and fail as they are told."""

    def __init__(self, **failing: list[Exception]) -> None:
        self.ran: list[str] = []
        self._failing = failing

    def hook(self, name: str, *after: str, **changes: Any) -> Subscription:
        """A hook of that name."""

        async def call(_given: HookInput) -> HookOutput:
            self.ran.append(name)
            for _ in range(5):
                await asyncio.sleep(0)
            if self._failing.get(name):
                raise self._failing[name].pop(0)
            return HookOutput(contributions=[AuditContribution(event="done")])

        return Subscription(
            hook_id=name, phase="TurnPostTurn", call=call, after=after, await_policy="background", **changes
        )


async def aftermath(home: AgentHome, turn_id: str) -> dict[str, str]:
    """How each run ended, when all have."""
    await home.until(lambda: "turn/post_completed" in home.methods(turn_id))
    (told,) = [one for one in home.of(turn_id) if one.method == "turn/post_completed"]
    return {run.hook_id: run.status for run in told.params.hook_runs}


def test_a_hook_runs_when_those_that_it_depends_on_have_ended(tmp_path: Path) -> None:
    noted = Noted(b=[ValueError("x")])
    hooks = [
        noted.hook("d", "b", "c"),
        noted.hook("c", "a"),
        noted.hook("b", "a", "off"),
        noted.hook("a"),
        noted.hook("off", enabled=lambda: False),
        noted.hook("e"),
    ]

    async def scene(home: AgentHome) -> None:
        turn_id = (await home.live()).turn.turn_id
        await home.drain()
        assert await aftermath(home, turn_id) == {
            "a": "succeeded",
            "b": "failed",
            "c": "succeeded",
            "d": "succeeded",
            "e": "succeeded",
        }
        order = [name for name in noted.ran if name != "e"]
        assert (order[0], {*order[1:3]}, order[3:]) == ("a", {"b", "c"}, ["d"])

    play(tmp_path, scene, hooks=hooks)


def test_a_hook_that_waits_for_a_retry_holds_back_those_behind_it(tmp_path: Path) -> None:
    noted = Noted(a=[HookFailure("busy", retryable=True)])

    async def scene(home: AgentHome) -> None:
        turn_id = (await home.live()).turn.turn_id
        await home.drain()
        assert noted.ran == ["a"]
        assert await home.rows("SELECT status FROM hook_run WHERE phase = 'TurnPostTurn'") == [("queued",), ("queued",)]
        home.clock.at += 5000
        await home.drain()
        assert noted.ran == ["a", "a", "b"]
        assert await aftermath(home, turn_id) == {"a": "succeeded", "b": "succeeded"}

    play(tmp_path, scene, hooks=[noted.hook("a", retry=Retry(attempts=2)), noted.hook("b", "a")])


def test_the_failure_of_a_hook_that_may_be_skipped_counts_only_when_it_is_not_tried_again(tmp_path: Path) -> None:
    noted = Noted(a=[HookFailure("busy", retryable=True)] * 2)

    async def scene(home: AgentHome) -> None:
        turn_id = (await home.live()).turn.turn_id
        await home.drain()
        home.clock.at += 5000
        await home.drain()
        assert noted.ran == ["a", "a"]
        assert await aftermath(home, turn_id) == {"a": "skipped"}

    play(tmp_path, scene, hooks=[noted.hook("a", retry=Retry(attempts=2), failure_policy="skip")])


def test_a_run_is_told_as_running_while_it_runs(tmp_path: Path) -> None:
    inside, gate = asyncio.Event(), asyncio.Event()

    async def waits(_given: HookInput) -> HookOutput:
        inside.set()
        await gate.wait()
        return HookOutput()

    hook = Subscription(hook_id="a", phase="TurnPostTurn", call=waits, timeout_ms=60_000)

    async def scene(home: AgentHome) -> None:
        turn_id = (await home.live()).turn.turn_id
        await inside.wait()
        told = "SELECT status, attempt_count, started_at IS NOT NULL, completed_at IS NOT NULL FROM hook_run WHERE hook_id = 'a'"
        assert await home.rows(told) == [("running", 1, 1, 0)]
        gate.set()
        assert await aftermath(home, turn_id) == {"a": "succeeded"}
        assert await home.rows(told) == [("succeeded", 1, 1, 1)]

    play(tmp_path, scene, hooks=[hook])


class Hanging:
    """A hook that ends only when it is let."""

    def __init__(self) -> None:
        self.inside, self.gate = asyncio.Event(), asyncio.Event()
        self.effects: list[str] = []
        self.hook = Subscription(hook_id="a", phase="TurnPostTurn", call=self, timeout_ms=60_000)

    async def __call__(self, given: HookInput) -> HookOutput:
        self.inside.set()
        await self.gate.wait()
        self.effects.append(given.run_id)
        return HookOutput()


def outlive(tmp_path: Path, hanging: Hanging, deaths: int, *, in_order: bool) -> list[tuple[Any, ...]]:
    """Let so many processes end while the hook runs, and one more do the work: the run as it is in the end."""
    path, clock = fresh_database(tmp_path), SetClock()

    async def scene() -> list[tuple[Any, ...]]:
        for number in range(deaths):
            owner = f"own_{number}"
            home = AgentHome(path, model=Answers(), hooks=[hanging.hook], owner=owner, clock=clock)
            await home.open()
            async with home.running():
                if number == 0:
                    await home.live()
                await hanging.inside.wait()
                hanging.inside.clear()
                home.db._is_closed = not in_order  # as if killed: nothing is written any more
            home.db._is_closed = False
            await home.db.write(lambda tx, owner=owner: free_jobs_of(tx, owner))
            await home.close()
        hanging.gate.set()
        home = AgentHome(path, model=Answers(), hooks=[hanging.hook], owner="own_last", clock=clock)
        try:
            async with home.running():
                await home.drain()
            return await home.rows("SELECT status, attempt_count, error_code FROM hook_run WHERE hook_id = 'a'")
        finally:
            await home.close()

    return asyncio.run(scene())


def test_a_run_survives_the_death_of_its_process(tmp_path: Path) -> None:
    hanging = Hanging()
    assert outlive(tmp_path, hanging, 2, in_order=False) == [("succeeded", 3, None)]
    assert len(hanging.effects) == 1


def test_a_hook_that_takes_its_process_down_is_not_run_forever(tmp_path: Path) -> None:
    hanging, deaths = Hanging(), MAX_LOST_ATTEMPTS + 1
    assert outlive(tmp_path, hanging, deaths, in_order=False) == [("failed", deaths + 1, "process_lost")]
    assert hanging.effects == []


def test_an_orderly_end_is_no_attempt(tmp_path: Path) -> None:
    hanging = Hanging()
    assert outlive(tmp_path, hanging, MAX_LOST_ATTEMPTS + 2, in_order=True) == [("succeeded", 1, None)]
    assert len(hanging.effects) == 1


def test_a_run_of_another_version_of_the_contract_is_skipped(tmp_path: Path) -> None:
    noted = Noted()

    async def scene(home: AgentHome) -> None:
        queue = home.background.queue

        def older(tx: Any, thread_id: str, turn_id: str) -> None:
            queue(tx, thread_id, turn_id)
            tx.run("UPDATE hook_run SET contract_version = 0 WHERE turn_id = :turn_id", {"turn_id": turn_id})

        home.background.queue = older
        turn_id = (await home.live()).turn.turn_id
        assert await aftermath(home, turn_id) == {"a": "skipped"}
        assert noted.ran == []

    play(tmp_path, scene, hooks=[noted.hook("a")])


@pytest.mark.parametrize("hostile", [one for one in KIT if one.status == "timed_out"], ids=lambda one: one.name)
def test_a_hook_that_is_late_is_tried_again_and_then_told(tmp_path: Path, hostile: Hostile) -> None:
    (one,) = subscribed(hostile, "TurnPostTurn")
    hook = Subscription(
        hook_id=one.hook_id,
        phase=one.phase,
        call=one.call,
        timeout_ms=20,
        await_policy="background",
        retry=Retry(attempts=2),
    )

    async def scene(home: AgentHome) -> None:
        turn_id = (await home.live()).turn.turn_id
        await home.drain()
        home.clock.at += 5000
        await home.drain()
        assert await aftermath(home, turn_id) == {hook.hook_id: "timed_out"}
        assert await home.rows("SELECT attempt_count FROM hook_run WHERE phase = 'TurnPostTurn'") == [(2,)]

    play(tmp_path, scene, hooks=[hook])
