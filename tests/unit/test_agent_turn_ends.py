"""Every way in which a turn can end."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from agent_home import BUNDLE, RECALL, TERMINAL, AgentHome, play, wants

from agent.forget import deletion
from protocol.conversation.host_turns import TurnFinishParams
from protocol.conversation.threads import ThreadParams, ThreadStartParams
from protocol.conversation.turns import TurnParams
from protocol.conversation.workspaces import WorkspaceParams
from protocol.errors import CallerError, Refused, Unavailable
from protocol.hooks import (
    HookInput,
    HookOutput,
    Subscription,
)
from protocol.models import ModelReply, ProviderFailed

# -- cancelling ------------------------------------------------------------------------------------------------------


def cancelled_in(tmp_path: Path, place: str) -> None:
    inside = asyncio.Event()

    async def hangs(*_given: Any) -> Any:
        inside.set()
        await asyncio.Event().wait()

    def speaks(_request: Any, deltas: Any) -> Any:
        deltas.delta("Half an ans")
        return hangs()

    answers = {"hook": [], "model": [speaks], "tool": [wants(("memory_get", {}))]}.get(place, [])
    hooks = [
        BUNDLE,
        *(
            [Subscription(hook_id="t.slow", phase="TurnPrePromptContext", call=hangs, timeout_ms=60_000)]
            if place == "hook"
            else []
        ),
    ]

    async def scene(home: AgentHome) -> None:
        turn_id = await home.begin(turn_id="trn_1")
        if place != "at once":
            async with asyncio.timeout(10):
                await inside.wait()
        async with asyncio.timeout(10):  # what hangs does so for ever
            result, twin = await asyncio.gather(
                *[home.turns.turn_cancel(TurnParams(turn_id=turn_id)) for _ in range(2)]
            )
        assert result.turn.status == twin.turn.status == "cancelled"
        lived = await home.end_of(turn_id)
        home.check_story(turn_id)
        assert [m for m in home.methods(turn_id) if m in TERMINAL] == ["turn/cancelled"]
        assert home.incidents == []
        if place == "model":
            assert [(item.text, item.status) for item in lived.items][1:] == [("Half an ans", "interrupted")]
        assert [fact.text for fact in home.facts] == ["hello"]
        again = await home.turns.turn_cancel(TurnParams(turn_id=turn_id))
        assert again.turn == lived.turn

    play(tmp_path, scene, *answers, hooks=hooks, tools={"memory_get": hangs}, plan=["memory_get"])


@pytest.mark.parametrize("place", ["at once", "hook", "model", "tool"])
def test_a_turn_can_be_cancelled_anywhere(tmp_path: Path, place: str) -> None:
    cancelled_in(tmp_path, place)


def test_cancelling_what_has_ended_or_never_was(tmp_path: Path) -> None:
    async def scene(home: AgentHome) -> None:
        lived = await home.live()
        assert (await home.turns.turn_cancel(TurnParams(turn_id=lived.turn.turn_id))).turn == lived.turn
        with pytest.raises(CallerError) as caught:
            await home.turns.turn_cancel(TurnParams(turn_id="trn_none"))
        assert caught.value.reason == "not_found"

    play(tmp_path, scene)


def test_the_end_of_the_process_interrupts(tmp_path: Path) -> None:
    async def hangs(*_given: Any) -> Any:
        await asyncio.Event().wait()

    async def scene(home: AgentHome) -> None:
        turn_id = await home.begin()
        await home.open(thread_id="thr_2")
        await home.turns.turn_prepare(home.start(thread_id="thr_2", turn_id="trn_host"))
        await home.turns.end_all()
        for one in (turn_id, "trn_host"):
            assert (await home.end_of(one)).turn.status == "interrupted"
            assert [m for m in home.methods(one) if m in TERMINAL] == ["turn/cancelled"]

    play(tmp_path, scene, hangs)


# -- failing ---------------------------------------------------------------------------------------------------------


def test_a_provider_that_fails_leaves_what_was_said(tmp_path: Path) -> None:
    def breaks(_request: Any, deltas: Any) -> ModelReply:
        deltas.delta("Once upon")
        deltas.reset()
        deltas.delta("Twice")
        raise ProviderFailed("disconnect")

    async def scene(home: AgentHome) -> None:
        lived = await home.live()
        home.check_story(lived.turn.turn_id)
        assert lived.turn.error is not None
        assert (lived.turn.status, lived.turn.error.reason, lived.turn.error.retryable) == (
            "failed",
            "provider_unavailable",
            True,
        )
        assert [(item.text, item.status) for item in lived.items] == [("hello", "completed"), ("Twice", "failed")]
        assert "item/agent_message/reset" in home.methods(lived.turn.turn_id)
        end = next(one for one in home.of(lived.turn.turn_id) if one.method == "turn/failed")
        assert end.params.error == lived.turn.error
        assert (await home.live("again")).turn.status == "completed"
        assert [m.content for m in home.model.asked[-1].messages[1:]] == ["again"]

    play(tmp_path, scene, breaks)


@pytest.mark.parametrize(
    ("error", "reason", "told"),
    [
        (ProviderFailed("not_configured"), "provider_not_configured", 0),
        (ValueError("x"), "internal", 1),
        (Refused("conflict"), "conflict", 0),
    ],
)
def test_whatever_happens_a_turn_ends(tmp_path: Path, error: Exception, reason: str, told: int) -> None:
    async def scene(home: AgentHome) -> None:
        lived = await home.live()
        home.check_story(lived.turn.turn_id)
        assert lived.turn.error is not None
        assert (lived.turn.status, lived.turn.error.reason, len(home.incidents)) == ("failed", reason, told)
        assert (await home.live("again")).turn.status == "completed"

    play(tmp_path, scene, error)


@pytest.mark.parametrize("way", ["ends", "cancelled"])
def test_what_cannot_be_told_fails_the_turn_and_holds_nobody(tmp_path: Path, way: str) -> None:
    """A piece of an answer that is no text: whoever let it through, the turn ends, its thread goes on."""
    inside = asyncio.Event()

    async def speaks(_request: Any, deltas: Any) -> ModelReply:
        deltas.delta("Half")
        with pytest.raises(UnicodeEncodeError):
            deltas.delta("\ud83d")
        inside.set()
        if way == "cancelled":
            await asyncio.Event().wait()
        deltas.delta("\ud83d")
        raise AssertionError

    async def scene(home: AgentHome) -> None:
        home.tell = lambda _method, params: msgspec.json.encode(params)
        turn_id = await home.begin()
        await inside.wait()
        async with asyncio.timeout(10):
            assert (await home.turns.turn_cancel(TurnParams(turn_id=turn_id))).turn.completed_at is not None
        lived = await home.end_of(turn_id)
        home.check_story(turn_id)
        status = "interrupted" if way == "cancelled" else "failed"
        assert [(item.text, item.status) for item in lived.items] == [("hello", "completed"), ("Half", status)]
        assert (await home.live("again")).turn.status == "completed"

    play(tmp_path, scene, speaks)


@pytest.mark.parametrize("driver", ["gateway", "host"])
def test_an_end_that_our_own_defect_keeps_from_being_stored_is_told_all_the_same(tmp_path: Path, driver: str) -> None:
    """It leaves an interrupted turn, and its thread goes on."""

    async def scene(home: AgentHome) -> None:
        if driver == "host":
            await home.turns.turn_prepare(home.start(turn_id="trn_1"))
            finish = TurnFinishParams(turn_id="trn_1", status="succeeded", assistant_text="\ud83d")
            assert (await home.turns.turn_finish(finish)).turn.status == "failed"
        else:
            await home.begin(turn_id="trn_1")
        await home.until(lambda: TERMINAL & set(home.methods("trn_1")))
        home.check_story("trn_1")
        *_, end, after = home.of("trn_1")
        assert (end.method, end.params.error.reason, len(home.incidents)) == ("turn/failed", "internal", 1)
        assert (after.method, after.params.hook_runs) == ("turn/post_completed", [])
        async with asyncio.timeout(10):
            await home.turns.turn_cancel(TurnParams(turn_id="trn_1"))
        assert (await home.lived("trn_1")).turn.status == "interrupted"
        assert (await home.live("again")).turn.status == "completed"

    play(tmp_path, scene, *([ModelReply(text="\ud83d")] if driver == "gateway" else []))


def test_a_hook_without_which_the_turn_may_not_go_on(tmp_path: Path) -> None:
    async def crashes(_given: HookInput) -> HookOutput:
        raise ValueError

    needed = Subscription(
        hook_id="t.needed", phase="TurnPreToolMaterialization", call=crashes, failure_policy="required"
    )

    async def scene(home: AgentHome) -> None:
        lived = await home.live()
        assert lived.turn.error is not None
        assert (lived.turn.status, lived.turn.error.reason) == ("failed", "hook_failed:t.needed")
        assert home.model.asked == []
        runs = await home.rows("SELECT hook_id, status FROM hook_run ORDER BY id")
        assert runs == [("t.recall", "succeeded"), ("agent.request_tools", "succeeded"), ("t.needed", "failed")]

    play(tmp_path, scene, hooks=[RECALL, needed])


async def end_on_a_full_disk(home: AgentHome) -> str:
    """A turn whose end could not be stored; there is room again."""
    write = home.db.write

    async def full(*_: Any, **__: Any) -> Any:
        raise Unavailable("storage_full")

    def fills_the_disk(_request: Any, _deltas: Any) -> ModelReply:
        home.db.write = full
        return ModelReply(text="said")

    home.model.answers = [fills_the_disk]
    turn_id = await home.begin()
    await home.until(lambda: TERMINAL & set(home.methods(turn_id)))
    home.db.write = write
    *_, end, after = home.of(turn_id)
    assert (end.method, end.params.error.reason) == ("turn/failed", "storage_full")
    assert (after.method, after.params.hook_runs) == ("turn/post_completed", [])
    assert (await home.lived(turn_id)).turn.status == "in_progress"
    return turn_id


@pytest.mark.parametrize("way", ["next turn", "same turn again", "cancel", "storage is back"])
def test_an_end_that_cannot_be_stored_is_told_and_stored_later(tmp_path: Path, way: str) -> None:
    async def scene(home: AgentHome) -> None:
        turn_id = await end_on_a_full_disk(home)
        if way == "next turn":
            assert (await home.live("next")).turn.status == "completed"
        elif way == "same turn again":
            assert (await home.turns.turn_start(home.start(turn_id=turn_id))).turn.completed_at is not None
        elif way == "cancel":
            assert (await home.turns.turn_cancel(TurnParams(turn_id=turn_id))).turn.completed_at is not None
        else:
            await asyncio.gather(home.turns.settle(), home.turns.settle())
        lived = await home.lived(turn_id)
        told = next(one.params.turn for one in home.of(turn_id) if one.method == "turn/failed")
        assert msgspec.json.encode(lived.turn) == msgspec.json.encode(told)
        assert [item.text for item in lived.items] == ["hello", "said"]
        await home.until(lambda: "turn/post_completed" in home.methods(turn_id))
        assert [one.params.seq for one in home.of(turn_id)] == list(range(1, len(home.of(turn_id)) + 1))
        assert (await home.live("and on")).turn.status == "completed"

    play(tmp_path, scene)


@pytest.mark.parametrize("what", ["thread", "workspace"])
def test_what_holds_a_turn_whose_end_could_not_be_stored_can_be_deleted(tmp_path: Path, what: str) -> None:
    async def scene(home: AgentHome) -> None:
        await end_on_a_full_disk(home)
        if what == "thread":
            deleted = await home.deletions.thread_delete(ThreadParams(thread_id="thr_1"))
        else:
            deleted = await home.deletions.workspace_delete(WorkspaceParams(workspace_id="ws_1"))
        assert (deleted.removed["turns"], deleted.removed["items"]) == (1, 2)
        await home.turns.settle()
        assert await home.rows("SELECT 1 FROM turn") == []

    play(tmp_path, scene)


def test_a_finish_that_could_not_be_stored_can_be_asked_for_again(tmp_path: Path) -> None:
    async def scene(home: AgentHome) -> None:
        await home.turns.turn_prepare(home.start(turn_id="trn_1"))
        write = home.db.write

        async def full(*_: Any, **__: Any) -> Any:
            raise Unavailable("storage_full")

        home.db.write = full
        finish = TurnFinishParams(turn_id="trn_1", status="succeeded", assistant_text="done")
        failed = (await home.turns.turn_finish(finish)).turn
        assert failed.error is not None
        assert (failed.status, failed.error.reason) == ("failed", "storage_full")
        home.db.write = write
        again = (await home.turns.turn_finish(finish)).turn
        assert msgspec.json.encode(again) == msgspec.json.encode(failed)
        assert [item.text for item in (await home.lived("trn_1")).items] == ["hello", "done"]

    play(tmp_path, scene)


def test_a_turn_that_is_stored_as_ours_and_that_nobody_runs_is_interrupted(tmp_path: Path) -> None:
    """Its beginning was stored though the store said that it failed, or its end broke off for a reason of our own."""

    async def scene(home: AgentHome) -> None:
        write = home.db.write

        async def forgets(work: Any, **how: Any) -> Any:
            await write(work, **how)
            raise Unavailable

        for turn_id in ("trn_1", "trn_2"):
            home.db.write = forgets
            with pytest.raises(Unavailable):
                await home.turns.turn_start(home.start(turn_id=turn_id))
            home.db.write = write
        assert (await home.turns.turn_start(home.start(turn_id="trn_1"))).turn.status == "interrupted"
        assert (await home.turns.turn_cancel(TurnParams(turn_id="trn_2"))).turn.status == "interrupted"
        assert (await home.live("next")).turn.status == "completed"

    play(tmp_path, scene)


def test_a_large_workspace_goes_in_parts_that_let_other_writers_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletion, "TURNS_AT_ONCE", 1)

    async def scene(home: AgentHome) -> None:
        await home.live("one")
        for name in ("thr_2", "thr_3"):
            await home.threads.thread_start(ThreadStartParams(thread_id=name, workspace_id="ws_1"))
            await home.turns.turn_prepare(home.start(thread_id=name, turn_id=f"trn_{name}"))
            await home.turns.turn_finish(
                TurnFinishParams(turn_id=f"trn_{name}", status="succeeded", assistant_text="x")
            )
        counts: list[int] = []
        write = home.db.write

        async def counted(work: Any, **how: Any) -> Any:
            done = await write(work, **how)
            counts.append(len(await home.rows("SELECT 1 FROM thread")))
            return done

        home.db.write = counted
        deleted = await home.deletions.workspace_delete(WorkspaceParams(workspace_id="ws_1"))
        assert counts[-3:] == [2, 1, 0]
        assert (deleted.removed["threads"], deleted.removed["turns"], deleted.removed["workspaces"]) == (3, 3, 1)

    play(tmp_path, scene)
