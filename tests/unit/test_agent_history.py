"""How much of a conversation goes into a request, and how that is told."""

from pathlib import Path

import msgspec
import pytest
from agent_home import AgentHome, Answers, play
from hypothesis import given
from hypothesis import strategies as st

from agent.history import PICTURE_TOKENS, estimated_tokens, fit_history, room_for_history
from agent.model import NOTHING_SAID, History
from protocol.models import Message, Picture
from protocol.settings import AgentSettings
from protocol.threads import ToolSpec, Turn


def conversation(*sizes: int) -> History:
    """Turns with a question of a character and an answer of a size each."""
    said = [Message(role=role, content="x" * n) for size in sizes for role, n in (("user", 1), ("assistant", size - 1))]
    return History(said, [f"trn_{n}" for n in range(len(sizes))], sum(sizes), "x", [2] * len(sizes), len(sizes) + 3)


def system(size: int) -> Message:
    return Message(role="system", content="s" * size)


def fitted(history: History, *rest: Message, chars: int = 10**6, tokens: int | None = None, least: int = 0) -> tuple[list[str], dict[str, tuple[int, int]]]:  # fmt: skip
    kept, budgets = fit_history(history, rest, [], max_chars=chars, max_tokens=tokens, min_turns=least)
    assert kept.messages == history.messages[len(history.messages) - len(kept.messages) :]
    assert len(kept.messages) == sum(kept.counts)
    assert kept.chars == sum(len(message.content) for message in kept.messages)
    return kept.turn_ids, {budget.name: (budget.limit, budget.used) for budget in budgets}


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
    kept, _ = fit_history(conversation(10, 10), [], [tool], max_chars=40, max_tokens=None, min_turns=0)
    assert kept.turn_ids == ["trn_1"]
    shown = Message(role="user", content="", pictures=[Picture(mime="image/png", data=b"")])
    assert estimated_tokens([shown, system(30)]) == PICTURE_TOKENS + 10


@given(
    st.lists(st.integers(1, 60), max_size=12), st.integers(0, 400), st.none() | st.integers(1, 200), st.integers(0, 8)
)
def test_it_fits_or_nothing_more_may_go(sizes: list[int], chars: int, tokens: int | None, least: int) -> None:
    turns, budgets = fitted(conversation(*sizes), system(20), chars=chars, tokens=tokens, least=least)
    fits = budgets["history_chars"][1] <= max(0, chars - 20)
    fits = fits and (tokens is None or budgets["request_tokens"][1] <= budgets["request_tokens"][0])
    assert fits or len(turns) <= least or (chars < 20 and not turns)
    assert len(turns) >= min(least, len(sizes))


def test_room_before_the_rest_is_known() -> None:
    assert room_for_history(24_000, "hello") == 24_000 - 6000 - 5
    assert room_for_history(100_000, "") == 92_000


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
    async def says(_request: object, deltas: Answers) -> None:
        for piece in ("one ", "two"):
            deltas.delta(piece)  # type: ignore[attr-defined]
        deltas.reset()  # type: ignore[attr-defined]
        for piece in ("three ", "four"):
            deltas.delta(piece)  # type: ignore[attr-defined]
        raise ValueError

    async def scene(home: AgentHome) -> None:
        lived = await home.live()
        assert [item.text for item in lived.items] == ["hello", "three four"]
        assert lived.items[1].status == "failed"

    play(tmp_path, scene, says)


def test_nothing_said() -> None:
    assert fitted(NOTHING_SAID, system(10), chars=5) == ([], {"history_chars": (0, 0), "history_turns": (0, 0)})
