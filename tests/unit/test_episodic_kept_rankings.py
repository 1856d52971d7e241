"""The recall cache of conversation: a repeated question is not ranked anew, and nothing shows that a new search hides."""

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from episodic_home import NOON, Home

from protocol.conversation.turns import TurnOptions
from protocol.hooks import EpisodicQuery, TurnContext
from protocol.thread_episodic import ExcludeParams
from retrieval.budget import Floor
from thread_episodic.search import search
from thread_episodic.search.display import Display
from thread_episodic.values import Shown, TurnSearch

TURN = TurnContext(
    workspace_id="a",
    thread_id="a_1",
    turn_id="t_now",
    agent_id=None,
    task_id=None,
    parent_thread_id=None,
    mode="agent",
    memory_mode="normal",
    origin="user",
    driver="gateway",
    options=TurnOptions(),
    now=NOON,
    time_zone="UTC",
)
ANY = Floor(0.0, 0)
ASKED = "Which valve is leaking?"


class Story:
    """Turns that ask the same, and how often their question was ranked."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.ranked = 0
        self.history: list[str] = []

    async def ask(
        self, words: str = ASKED, *, hits: int = 8, turn: TurnContext = TURN, floor: Floor = ANY
    ) -> list[str]:
        wish = TurnSearch(EpisodicQuery(mode="workspace_threads", query=words), floor, hits)
        found = await self.home.service.searching.recall(
            turn, wish, Shown((*self.history, turn.turn_id), set(), ()), room=2000
        )
        return [hit.item_id for hit in found.hits]


@pytest.fixture
def story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Story]:
    home = Home(tmp_path)
    home.cache_seconds = 60
    told, rank = Story(home), search.rank

    def counting(*given: Any, **more: Any) -> Any:
        told.ranked += 1
        return rank(*given, **more)

    monkeypatch.setattr(search, "rank", counting)
    yield told
    home.close()


def play(story: Story, steps: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        await story.home.say("i1", "The leaking valve was mended.", thread="a_2")
        await story.home.say("i2", "Another valve is leaking now.", thread="a_3")
        await story.home.index()
        await steps()

    anyio.run(whole)


def test_a_repeated_question_is_ranked_once_though_its_own_message_was_indexed_meanwhile(story: Story) -> None:
    async def steps() -> None:
        first = await story.ask()
        assert (sorted(first), story.ranked) == (["i1", "i2"], 1)
        for number in range(3):
            await story.home.say(f"own{number}", ASKED, thread="a_1")
            await story.home.index()
            story.history.append(f"t_own{number}")
            assert await story.ask() == first
        assert story.ranked == 1
        assert await story.ask("Who mended the leaking valve?") == first
        assert story.ranked == 2

    play(story, steps)


def test_what_others_say_is_found_at_once(story: Story) -> None:
    async def steps() -> None:
        await story.ask()
        await story.home.say("i3", "A third valve is leaking, in the cellar.", thread="a_3")
        await story.home.index()
        assert (sorted(await story.ask()), story.ranked) == (["i1", "i2", "i3"], 2)

    play(story, steps)


def test_another_thread_that_sees_the_message_asks_anew(story: Story) -> None:
    async def steps() -> None:
        await story.ask()
        await story.home.say("own", ASKED, thread="a_1")
        await story.home.index()
        other = msgspec.structs.replace(TURN, thread_id="a_4", turn_id="t_other")
        assert (sorted(await story.ask(turn=other)), story.ranked) == (["i1", "i2", "own"], 2)

    play(story, steps)


def test_what_is_hidden_does_not_come_from_the_cache_and_comes_back_with_its_end(story: Story) -> None:
    async def steps() -> None:
        await story.ask()
        await story.home.service.exclude(ExcludeParams(item_id="i1"))
        assert await story.ask() == ["i2"]
        await story.home.service.unexclude(ExcludeParams(item_id="i1"))
        assert sorted(await story.ask()) == ["i1", "i2"]
        story.home.items["i2"] = msgspec.structs.replace(story.home.items["i2"], indexable=False)
        before = story.ranked
        assert (await story.ask(), story.ranked) == (["i1"], before)  # the gate alone hides it

    play(story, steps)


def test_edited_and_removed_messages_are_not_shown_as_they_were(story: Story) -> None:
    async def steps() -> None:
        await story.ask()
        await story.home.say("i1", "The pump was mended.", thread="a_2")
        assert await story.ask() == ["i2"]  # the gate, before the index knows
        await story.home.index()
        assert await story.ask() == ["i2"]
        del story.home.items["i2"]
        await story.home.db.write(lambda tx: story.home.service.on_items_removed(tx, ["i2"]))
        assert await story.ask() == []

    play(story, steps)


def test_a_ranking_is_kept_for_its_time_alone(story: Story) -> None:
    async def steps() -> None:
        for seconds, ranked in ((0, 1), (60, 1), (60.5, 2)):
            story.home.clock.seconds = seconds
            await story.ask()
            assert story.ranked == ranked
        story.home.cache_seconds = 0
        await story.ask()
        assert story.ranked == 3

    play(story, steps)


def test_where_all_that_was_kept_is_hidden_it_is_ranked_anew(story: Story) -> None:
    async def steps() -> None:
        for number in range(20):
            await story.home.say(f"more{number}", f"A valve is leaking in room {number}.", thread="a_5")
        await story.home.index()
        left = set(story.home.items)
        while left:
            (best,) = await story.ask(hits=1, floor=Floor(1.1, 1))
            left.remove(best)
            story.home.items[best] = msgspec.structs.replace(story.home.items[best], indexable=False)
        assert await story.ask(hits=1, floor=Floor(1.1, 1)) == []
        assert story.ranked > 1

    play(story, steps)


def test_a_message_that_was_sent_often_is_read_once(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    hits: list[str] = []
    made, build = list[str](), Display._hit

    def counting(self: Display, one: Any, chunk: Any, joined: Any, fact: Any) -> Any:
        made.append(fact.text)
        return build(self, one, chunk, joined, fact)

    async def ask_again() -> None:
        for n in range(9):
            await story.home.say(f"again{n}", ASKED, thread="a_2")
        await story.home.index()
        monkeypatch.setattr(Display, "_hit", counting)
        wish = TurnSearch(EpisodicQuery(mode="workspace_threads", query=ASKED), ANY, 8, adds_words=True)
        found = await story.home.service.searching.recall(TURN, wish, Shown(("t_now",), set(), ()), room=2000)
        hits.extend(hit.item_id for hit in found.hits)

    play(story, ask_again)
    assert (sorted(hits), made.count(ASKED)) == (["i1", "i2"], 1)
