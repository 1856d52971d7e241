"""How much of a conversation goes into a request, and how that is told."""

from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import msgspec
import pytest
from agent_home import AgentHome, play
from hypothesis import given
from hypothesis import strategies as st

from agent.prompt.history import PICTURE_TOKENS, Size, fit_history, read_history, rewrite_history, room_of, size_of_all
from agent.values import NOTHING_SAID, History, SaidTurn
from protocol.conversation.host_turns import ToolSpec
from protocol.conversation.turns import Turn
from protocol.hooks import HookInput, HookOutput, Subscription
from protocol.models import Deltas, Message, Picture
from protocol.settings import AgentSettings


def conversation(*sizes: int, sure: int | None = None) -> History:
    """Turns with a question of a character and an answer of a size each; all of them stay for sure unless it is said."""
    turns = [
        SaidTurn(
            f"trn_{n}",
            [Message(role="user", content="x"), Message(role="assistant", content="x" * (size - 1))],
        )
        for n, size in enumerate(sizes)
    ]
    return History(turns, len(sizes) if sure is None else sure, len(sizes) + 3)


def system(size: int) -> Message:
    return Message(role="system", content="s" * size)


def fitted(
    history: History, *rest: Message, chars: int = 10**6, tokens: int | None = None, least: int = 0, **more: Any
) -> tuple[list[str], dict[str, tuple[int, int]]]:
    kept, budgets = fit_history(history, rest, [], room=room_of(chars, tokens), min_turns=least, **more)
    assert kept.turns == history.turns[len(history.turns) - len(kept.turns) :]
    return [turn.turn_id for turn in kept.turns], {budget.name: (budget.limit, budget.used) for budget in budgets}


def test_what_fits_stays_as_it_is() -> None:
    turns, budgets = fitted(conversation(10, 10, 10), system(5), chars=35)
    assert turns == ["trn_0", "trn_1", "trn_2"]
    assert budgets == {"history_chars": (30, 30), "history_turns": (6, 3)}


def test_the_oldest_go_first_and_whole() -> None:
    turns, budgets = fitted(conversation(10, 20, 10), system(5), chars=34)
    assert turns == ["trn_2"]
    assert budgets == {"history_chars": (29, 10), "history_turns": (6, 1)}


@pytest.mark.parametrize(("chars", "tokens"), [(1, None), (10**6, 1), (1, 1)])
def test_the_last_turns_stay_whatever_they_take(chars: int, tokens: int | None) -> None:
    turns, budgets = fitted(conversation(*[50] * 9), system(100), chars=chars, tokens=tokens, least=6)
    assert turns == [f"trn_{n}" for n in range(3, 9)]
    assert budgets["history_turns"] == (12, 6)
    assert budgets["history_chars"][0] == max(0, chars - 100)


def test_a_models_window_counts_tokens_of_everything() -> None:
    turns, budgets = fitted(conversation(300, 300, 300), system(300), tokens=310)
    assert turns == ["trn_1", "trn_2"]
    assert budgets["request_tokens"] == (310, 300)
    turns, _ = fitted(conversation(300, 300, 300), system(300), Message(role="user", content="я" * 150), tokens=310)
    assert turns == ["trn_2"]


def test_tools_and_pictures_take_room() -> None:
    tool = ToolSpec(name="t" * 10, domain="memory", description="d" * 10, parameters={})
    kept, _ = fit_history(conversation(10, 10), [], [tool], room=room_of(40, None), min_turns=0)
    assert [turn.turn_id for turn in kept.turns] == ["trn_1"]
    shown = Message(role="user", content="", pictures=[Picture(mime="image/png", data=b"")])
    assert size_of_all([shown, system(30)]).tokens == PICTURE_TOKENS + 10


def test_where_a_turn_that_could_have_gone_was_recalled_it_goes_and_what_is_older() -> None:
    long = conversation(*[10] * 8, sure=3)
    assert fitted(long, recalled={"trn_2"})[0] == ["trn_3", "trn_4", "trn_5", "trn_6", "trn_7"]
    assert fitted(long, recalled={"trn_1", "trn_4"})[0] == ["trn_5", "trn_6", "trn_7"]
    assert (
        len(fitted(long, recalled={"trn_6", "trn_elsewhere"})[0]) == 8
    )  # it stays for sure: nobody recalled it from here


def test_a_message_that_becomes_empty_leaves_its_turn_and_no_other() -> None:
    """What a model repeated of its context is not said again; the turns are still cut where they begin."""
    said = [("q0", ""), ("q1", "a1"), ("q2", "a2")]
    turns = [
        SaidTurn(f"trn_{n}", [Message(role="user", content=q * 50), Message(role="assistant", content=(a or "e") * 50)])
        for n, (q, a) in enumerate(said)
    ]
    history = rewrite_history(History(turns, 3, 3), lambda text: "" if text.startswith("e") else text)
    assert [len(turn.messages) for turn in history.turns] == [1, 2, 2]
    kept, _ = fit_history(history, [], [], room=room_of(400, None), min_turns=2)
    assert [message.content[:2] for message in kept.messages] == ["q1", "a1", "q2", "a2"]
    assert kept.sure_turn_ids == ["trn_1", "trn_2"]


@given(
    st.lists(st.integers(1, 60), max_size=12), st.integers(0, 400), st.none() | st.integers(1, 200), st.integers(0, 8)
)
def test_it_fits_or_nothing_more_may_go(sizes: list[int], chars: int, tokens: int | None, least: int) -> None:
    turns, budgets = fitted(conversation(*sizes), system(20), chars=chars, tokens=tokens, least=least)
    fits = budgets["history_chars"][1] <= max(0, chars - 20)
    fits = fits and (tokens is None or budgets["request_tokens"][1] <= budgets["request_tokens"][0])
    assert fits or len(turns) <= least or (chars < 20 and not turns)
    assert len(turns) >= min(least, len(sizes))


def read(home: AgentHome, room: Size, reserved: Size, least: int) -> Coroutine[Any, Any, History]:
    return home.db.read(lambda tx: read_history(tx, "thr_1", 99, room=room, reserved=reserved, min_turns=least))


def test_what_may_still_be_left_out_is_not_said_to_stay(tmp_path: Path) -> None:
    async def scene(home: AgentHome) -> None:
        ids = [(await home.live("x" * 97)).turn.turn_id for _ in range(8)]  # answered with three characters
        for room in (room_of(600, None), room_of(10**6, 200)):
            told = await read(home, room, Size(), 0)
            assert ([turn.turn_id for turn in told.turns], told.sure_turn_ids) == (ids[2:], ids[2:])
            told = await read(home, room, Size(250, 250), 0)
            assert ([turn.turn_id for turn in told.turns], told.sure_turn_ids) == (ids[2:], ids[5:])
            told = await read(home, room, Size(10**6, 10**6), 4)
            assert (len(told.turns), told.sure_turn_ids, told.available) == (6, ids[4:], 8)
            told = await read(home, Size(), Size(), 4)
            assert told.sure_turn_ids == [turn.turn_id for turn in told.turns] == ids[4:]

    play(tmp_path, scene)


def test_hooks_are_told_only_what_stays_whatever_the_window(tmp_path: Path) -> None:
    told: list[list[str]] = []

    async def looks(given: HookInput) -> HookOutput:
        told.append(given.history_turn_ids)
        return HookOutput()

    hook = Subscription(hook_id="t.looks", phase="TurnPostPreflightPromptContext", call=looks)

    async def scene(home: AgentHome) -> None:
        home.settings = msgspec.structs.replace(home.settings, agent=AgentSettings(history_turns_min=1))
        for _ in range(9):
            await home.live("x" * 297)
        home.model.tokens = 3333 + 3 * 100 + 10
        ended = [(await home.live("now")).turn for _ in range(2)]
        assert [len(ids) for ids in told] == [*range(9), 3, 4]
        assert [budgets_of(turn)["history_turns"][1] for turn in ended] == [9, 10]  # and more where there is room

    play(tmp_path, scene, hooks=[hook])


def budgets_of(turn: Turn) -> dict[str, tuple[int, int]]:
    assert turn.prompt_manifest is not None
    return {budget.name: (budget.limit, budget.used) for budget in turn.prompt_manifest.budgets}


def test_the_cut_of_a_long_conversation_is_seen_in_the_manifest(tmp_path: Path) -> None:
    async def scene(home: AgentHome) -> None:
        home.settings = msgspec.structs.replace(home.settings, agent=AgentSettings())
        for _ in range(8):
            await home.live("x" * 300)
        whole = await home.live("now")
        assert budgets_of(whole.turn)["history_turns"] == (8, 8)
        assert "request_tokens" not in budgets_of(whole.turn)
        home.model.tokens = 500
        cut = await home.live("and now")
        limit, used = budgets_of(cut.turn)["history_turns"]
        assert (limit, used) == (9, 6)  # the last six stay, whatever the window
        home.settings = msgspec.structs.replace(home.settings, agent=AgentSettings(history_turns_min=1))
        home.model.tokens = 500
        cut = await home.live("and then")
        limit, used = budgets_of(cut.turn)["request_tokens"]
        assert used <= limit == 500
        kept = budgets_of(cut.turn)["history_turns"][1]
        assert 1 < kept < 10
        asked = home.model.asked[-1].messages
        assert [message.content for message in asked if message.role == "user"][-3:] == ["now", "and now", "and then"]
        assert sum(message.role == "user" for message in asked) == kept + 1

    play(tmp_path, scene)


def test_a_broken_answer_is_kept_as_far_as_it_came(tmp_path: Path) -> None:
    async def says(_request: object, deltas: Deltas) -> None:
        for piece in ("one ", "two"):
            deltas.delta(piece)
        deltas.reset()
        for piece in ("three ", "four"):
            deltas.delta(piece)
        raise ValueError

    async def scene(home: AgentHome) -> None:
        lived = await home.live()
        assert [item.text for item in lived.items] == ["hello", "three four"]
        assert lived.items[1].status == "failed"

    play(tmp_path, scene, says)


def test_nothing_said() -> None:
    assert fitted(NOTHING_SAID, system(10), chars=5) == ([], {"history_chars": (0, 0), "history_turns": (0, 0)})
