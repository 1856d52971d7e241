"""Vectors of chunks: made when they are missing, searched within a filter, gone with what is hidden; and what stands
beside an answer."""

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from episodic_home import DAY, NOON, Handle, Home
from worded_meaning import POISON

from gateway.embedding.spaces import SpaceIdentity, adopt
from gateway.secrets.scanner import RuleScanner
from protocol.conversation.turns import TurnOptions
from protocol.hooks import EpisodicQuery, TurnContext
from protocol.seams.ports import PauseQueue, Space, Tx
from protocol.thread_episodic import ExcludeParams, ReindexParams
from retrieval.budget import Floor
from retrieval.filling import BATCH
from thread_episodic.search.vectors import SUBJECT
from thread_episodic.values import Shown, TurnSearch

SECRET = "AKIAZ7QWERTY2345UIOP"  # noqa: S105  # looks like one, opens nothing
HOUR = 3_600_000


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path)
    yield home
    home.close()


def run(story: Callable[[], Awaitable[Any]]) -> Any:
    return anyio.run(story)


async def space_of(home: Home, name: str, *, keeps_current: bool = True) -> Space:
    def take(tx: Tx) -> Space:
        known = adopt(tx, SpaceIdentity(name, 64, f"digest of {name}"), home.clock.now(), keeps_current=keeps_current)
        home.service.vectors.enlist(tx, known.space)
        return known.space

    return await home.db.write(take)


async def switch_on(home: Home) -> None:
    home.meaning.space = await space_of(home, "one")


async def embed(home: Home) -> int:
    """Run the waiting embed jobs; how many there were."""
    jobs = await home.db.read(lambda tx: home.jobs.jobs(tx, kind="embed", states=["queued"]))
    assert {job.subject for job in jobs} <= {SUBJECT}
    for job in jobs:
        await home.service.vectors.fill(Handle(job))
        await home.db.write(Handle(job).finish)
    return len(jobs)


async def vectors(home: Home) -> list[str]:
    """The items that have a vector, in order."""
    statement = "SELECT s.item_id FROM chunk_vec JOIN chunk AS c ON c.id = chunk JOIN chunk_source AS s ON s.id = c.source ORDER BY s.item_id"
    return [item_id for (item_id,) in await home.rows(statement)]


async def states(home: Home) -> list[str]:
    return [state for (state,) in await home.rows("SELECT index_state FROM chunk ORDER BY id")]


def codes(result: Any) -> list[str]:
    return [diagnostic.code for diagnostic in result.diagnostics]


def test_a_long_message_is_looked_through_once_for_all_of_its_pieces(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []

    async def story() -> None:
        await switch_on(home)
        await home.say(
            "page", "\n\n".join(f"The pier of harbour {number} is repainted before winter." for number in range(400))
        )
        await home.index()
        find = RuleScanner.find

        def counted(scanner: RuleScanner, text: str) -> Any:
            looked.append(len(text))
            return find(scanner, text)

        monkeypatch.setattr(RuleScanner, "find", counted)
        await embed(home)
        assert 8 < len(await vectors(home)) <= BATCH

    run(story)
    assert len(looked) == 1


async def pets(home: Home) -> None:
    """Messages of which some say the same in other words."""
    await home.say("i1", "The hound sleeps in the kitchen.")
    await home.say("i2", "An old automobile stands outside.", thread="a_2", role="assistant")
    await home.say("i3", "Oolong in the afternoon.", thread="a_3", at=NOON - 9 * DAY)
    await home.say("b1", "The hound of others.", thread="b_1")
    await home.index()
    await embed(home)


# -- making them ---------------------------------------------------------------------------------------------------


def test_without_a_model_nothing_waits_and_search_says_so(home: Home) -> None:
    async def story() -> None:
        await pets(home)
        assert await states(home) == ["indexed"] * 4
        assert await embed(home) == 0
        result = await home.search("puppy")
        assert (result.hits, codes(result)) == ([], ["no_match", "semantic_off"])

    run(story)


def test_what_shares_no_word_is_found_by_what_it_means(home: Home) -> None:
    async def story() -> None:
        await switch_on(home)
        await pets(home)
        assert await vectors(home) == ["b1", "i1", "i2", "i3"]
        assert await states(home) == ["indexed"] * 4
        result = await home.search("the puppy sleeps in kitchen")
        assert (result.hits[0].item_id, codes(result)) == ("i1", [])
        assert result.hits[0].breakdown["meaning"] > 0.3
        assert (await home.found("vehicle outside", min_score=0))[0] == "i2"

    run(story)


def test_a_model_that_comes_later_fills_what_is_missing_and_one_that_goes_leaves_nothing_waiting(home: Home) -> None:
    async def story() -> None:
        await pets(home)
        await switch_on(home)
        assert await states(home) == ["pending"] * 4
        assert await embed(home) == 1
        assert len(await vectors(home)) == 4
        assert home.meaning.fills == 1
        await home.say("i9", "A new kitchen.")
        await home.index()
        assert (await states(home))[-1] == "pending"
        await home.db.write(lambda tx: home.service.vectors.settle(tx, None))
        assert (await states(home))[-1] == "indexed"

    run(story)


def test_while_the_model_is_down_the_queue_pauses_and_words_still_find(home: Home) -> None:
    async def story() -> None:
        await switch_on(home)
        home.meaning.is_down = True
        await home.say("i1", "The hound sleeps.")
        await home.index()
        with pytest.raises(PauseQueue):
            await embed(home)
        result = await home.search("hound")
        assert ([hit.item_id for hit in result.hits], codes(result)) == (["i1"], [])
        home.meaning.is_down = False
        await embed(home)
        assert await vectors(home) == ["i1"]

    run(story)


def test_a_chunk_of_which_no_vector_can_be_made_holds_nobody_up(home: Home) -> None:
    async def story() -> None:
        await switch_on(home)
        for n in range(9):
            await home.say(f"i{n}", f"Message {n} {POISON if n == 4 else 'of many'}.")
        await home.index()
        await embed(home)
        assert await vectors(home) == [f"i{n}" for n in range(9) if n != 4]
        assert (await states(home)).count("repair_needed") == 1
        assert home.meaning.space is not None
        space = home.meaning.space
        assert (await home.db.read(lambda tx: home.service.vectors.look(tx, space, 0)))[0] is False
        assert (await home.found(POISON))[0] == "i4"

    run(story)


def test_another_space_is_filled_beside_and_the_old_one_dropped(home: Home) -> None:
    async def story() -> None:
        await switch_on(home)
        await pets(home)
        home.meaning.building = building = await space_of(home, "two")
        assert (await home.db.read(lambda tx: home.service.vectors.look(tx, building, 0)))[0]
        assert await embed(home) == 1
        assert (await home.db.read(lambda tx: home.service.vectors.look(tx, building, 0)))[0] is False
        assert len(await vectors(home)) == 8
        space = home.meaning.space
        assert space is not None
        assert await home.db.write(lambda tx: home.service.vectors.drop(tx, space, 3)) == 3
        assert await home.db.write(lambda tx: home.service.vectors.drop(tx, space, 3)) == 1
        assert await home.db.write(lambda tx: home.service.vectors.drop(tx, space, 3)) == 0

    run(story)


def test_a_model_is_given_who_says_it_without_secrets_and_our_own_lines(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        await switch_on(home)
        home.echoes = ["- [mem_1]: The user keeps llamas."]
        given: list[str] = []
        of_texts = home.meaning.of_texts

        async def listening(space: Space, texts: list[str]) -> list[bytes]:
            given.extend(texts)
            return await of_texts(space, texts)

        monkeypatch.setattr(home.meaning, "of_texts", listening)
        await home.say("i1", f"The supplier gave me {SECRET} for orders.", name="Melanie")
        await home.say("i2", "- [mem_1]: The user keeps llamas.\nThat is all.", role="assistant")
        await home.say("i3", "- [mem_1]: The user keeps llamas.", role="assistant")
        await home.index()
        await embed(home)
        assert given == ["Melanie: The supplier gave me   for orders.", "assistant:  \nThat is all."]

    run(story)


def test_what_changed_while_its_vector_was_made_gets_none(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        await switch_on(home)
        await home.say("i1", "The hound sleeps.")
        await home.index()
        of_texts = home.meaning.of_texts

        async def slow(space: Space, texts: list[str]) -> list[bytes]:
            made = await of_texts(space, texts)
            monkeypatch.undo()
            await home.say("i1", "The cat sleeps.")
            return made

        monkeypatch.setattr(home.meaning, "of_texts", slow)
        await embed(home)
        assert await vectors(home) == []
        await home.index()
        await embed(home)
        assert await vectors(home) == ["i1"]

    run(story)


# -- losing them ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["edit", "exclude", "remove", "mute", "thread", "workspace"])
def test_what_is_hidden_has_no_vector_from_that_moment(home: Home, end: str) -> None:
    async def story() -> None:
        await switch_on(home)
        await pets(home)
        service = home.service
        match end:
            case "edit":
                await home.say("i1", "Nothing of the kind.")
            case "exclude":
                await service.exclude(ExcludeParams(item_id="i1"))
            case "remove":
                await home.db.write(lambda tx: service.on_items_removed(tx, ["i1"]))
            case "mute":
                await home.say("i1", "The hound sleeps in the kitchen.", indexable=False)
            case "thread":
                await home.db.write(lambda tx: service.on_thread_deleted(tx, "a_1"))
            case _:
                await home.db.write(lambda tx: service.on_workspace_deleted(tx, "a"))
        left = [] if end == "workspace" else ["i2", "i3"]
        assert await vectors(home) == ["b1", *left]
        assert "i1" not in await home.found("puppy sleeps kitchen", min_score=0)

    run(story)


def test_what_is_shown_again_gets_its_vector_again(home: Home) -> None:
    async def story() -> None:
        await switch_on(home)
        await pets(home)
        await home.service.exclude(ExcludeParams(item_id="i1"))
        await home.service.unexclude(ExcludeParams(item_id="i1"))
        assert await embed(home) == 1
        assert (await home.found("puppy sleeps in kitchen"))[0] == "i1"
        await home.service.reindex(ReindexParams(workspace_id="a"))
        await home.index()
        assert await vectors(home) == ["b1"]  # the others are made anew
        assert await embed(home) == 1
        assert len(await vectors(home)) == 4

    run(story)


# -- searching -----------------------------------------------------------------------------------------------------


def test_filters_come_before_nearness(home: Home) -> None:
    async def story() -> None:
        await switch_on(home)
        await pets(home)
        for n in range(40):
            await home.say(f"x{n}", f"The hound sleeps in kitchen {n}.", thread="a_4")
        await home.index()
        await embed(home)
        asked = "puppy sleeps kitchen"
        assert "i1" in await home.found(asked, thread_id="a_1", min_score=0)
        assert set(await home.found(asked, thread_id="a_1", min_score=0)) == {"i1"}
        assert await home.found("vehicle outside", roles=["assistant"], min_score=0) == ["i2"]
        assert await home.found("oolong afternoon", to_at=NOON - 8 * DAY, min_score=0) == ["i3"]
        excluded = [f"t_x{n}" for n in range(40)]
        assert (await home.found(asked, exclude_turn_ids=excluded, min_score=0))[0] == "i1"
        assert await home.found("puppy", workspace_id="b", min_score=0) == ["b1"]

    run(story)


def test_only_so_many_segments_are_compared_and_the_answer_says_so(home: Home) -> None:
    async def story() -> None:
        await switch_on(home)
        home.change(segment_capacity_chunks=16, near_capacity_percent=50.0, max_segments=1)
        for n in range(20):
            await home.say(f"i{n}", f"The hound number {n}.", thread=f"a_{n}", at=NOON - n * DAY)
        await home.index()
        await embed(home)
        result = await home.search("puppy", min_score=0)
        assert "segments_limited" in codes(result)
        assert {hit.item_id for hit in result.hits} <= {f"i{n}" for n in range(16, 20)}
        in_thread = await home.search("puppy", thread_id="a_0", min_score=0)
        assert [hit.item_id for hit in in_thread.hits] == ["i0"]
        in_time = await home.search("puppy", from_at=NOON - 2 * DAY, to_at=NOON - DAY, min_score=0)
        assert {hit.item_id for hit in in_time.hits} == {"i1", "i2"}
        home.change(max_segments=16)
        assert "segments_limited" not in codes(await home.search("puppy"))

    run(story)


def test_a_search_without_the_model_of_its_words_asks_it_once_and_goes_on(home: Home) -> None:
    async def story() -> None:
        await switch_on(home)
        await pets(home)
        turn = TurnContext(
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
        query = EpisodicQuery(mode="workspace_threads", query="puppy sleeps in kitchen")
        found = await home.service.searching.recall(
            turn, TurnSearch(query, Floor(0.25, 0), 8), Shown([], set(), []), room=2000
        )
        assert [hit.item_id for hit in found.hits] == ["i1"]
        home.meaning.is_down = True
        silent = await home.service.searching.recall(
            turn, TurnSearch(query, Floor(0.25, 0), 8), Shown([], set(), []), room=2000
        )
        assert [hit.item_id for hit in silent.hits] == ["i1"]
        assert "meaning" not in silent.hits[0].breakdown

    run(story)


# -- what stands beside --------------------------------------------------------------------------------------------


async def dialogue(home: Home, *, gap: int = 60_000, names: tuple[str | None, str | None] = ("Ada", "Ben")) -> None:
    await home.say("q", "Which zirconium crucible did you buy?", at=NOON, name=names[0])
    await home.say("r", "The small one from Bremen.", at=NOON + gap, role="assistant", name=names[1])
    await home.say("s", "Thank you, that helps.", at=NOON + 2 * gap, name=names[0])
    await home.index()


def test_the_answer_to_a_question_is_found_by_the_question(home: Home) -> None:
    async def story() -> None:
        await dialogue(home)
        assert await home.found("zirconium crucible", min_score=0) == ["r", "q"]

    run(story)


def test_the_reply_of_an_assistant_without_a_name_is_not_lent_what_it_was_asked(home: Home) -> None:
    async def story() -> None:
        await dialogue(home, names=(None, None))
        assert await home.found("zirconium crucible", min_score=0) == ["q"]

    run(story)


def test_what_was_said_after_a_long_silence_answers_nothing(home: Home) -> None:
    async def story() -> None:
        await dialogue(home, gap=7 * HOUR)
        assert await home.found("zirconium crucible", min_score=0) == ["q"]

    run(story)


@pytest.mark.parametrize("end", ["edit", "exclude", "remove", "mute"])
def test_a_neighbour_that_is_hidden_is_not_found_through_what_stands_beside_it(home: Home, end: str) -> None:
    async def story() -> None:
        await dialogue(home)
        match end:
            case "edit":
                await home.say("q", "Which one did you buy?", at=NOON, name="Ada")
            case "exclude":
                await home.service.exclude(ExcludeParams(item_id="q"))
            case "remove":
                await home.db.write(lambda tx: home.service.on_items_removed(tx, ["q"]))
            case _:
                await home.say("q", "Which zirconium crucible did you buy?", at=NOON, name="Ada", indexable=False)
        assert await home.found("zirconium crucible", min_score=0) == []
        assert not {"zirconium", "crucibl"} & set(await home.fts_terms())

    run(story)


def test_neighbours_lift_each_other_within_a_message_too(home: Home) -> None:
    async def story() -> None:
        home.change(chunk_target_min_chars=100, chunk_target_max_chars=150, chunk_max_chars=200, max_hit_chars=500)
        text = "".join(
            f"The zirconium crucible of furnace {n} cracked when it cooled down overnight again. " for n in range(9)
        )
        await home.say("i1", text)
        await home.index()
        rows = await home.rows("SELECT from_char, to_char FROM chunk ORDER BY position")
        assert len(rows) > 3
        hits = (await home.search("zirconium crucible", max_prompt_chars=12_000)).hits
        assert all(len(hit.text) <= 500 for hit in hits)
        assert len(hits) < len(rows)
        assert sorted(hit.text for hit in hits) == sorted({hit.text for hit in hits})
        assert sum(len(hit.text) for hit in hits) == len(text)
        home.change(max_hit_chars=200, snippet_chars=200)
        assert len((await home.search("zirconium crucible", max_prompt_chars=12_000)).hits) == len(rows)

    run(story)


def test_a_question_for_a_time_prefers_what_tells_one(home: Home) -> None:
    async def story() -> None:
        await home.say("i1", "The crucible cracked badly.", at=NOON)
        await home.say("i2", "The crucible cracked yesterday.", thread="a_2", at=NOON - DAY)
        await home.index()
        assert (await home.found("when was it that the crucible cracked"))[0] == "i2"
        assert (await home.found("how was it that the crucible cracked"))[0] == "i1"

    run(story)


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("Did it crack?", 1),
        ("Did it crack? [shares a photo of a crucible]", 1),
        ("Really?! :)", 1),
        ("割れましたか？", 1),
        ("هل انكسر؟", 1),
        ("It cracked. Did you see? It did.", 0),
        ("Is it? Yes", 0),
        ("https://a.example/?q=1", 0),
        ("So", 0),
    ],
)
def test_which_chunks_ask(home: Home, text: str, asks: int) -> None:
    async def story() -> None:
        await home.say("i1", text)
        await home.index()
        assert await home.rows("SELECT asks FROM chunk") == [(asks,)]

    run(story)
