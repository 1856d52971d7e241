"""The conversation index as its callers see it: search, what is kept out of it, edits and deletions, jobs, status."""

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from episodic_home import DAY, NOON, Handle, Home

from protocol.errors import CallerError, Unavailable
from protocol.seams.ports import PauseQueue
from protocol.thread_episodic import (
    ExcludeParams,
    JobsParams,
    ReindexParams,
    RetryParams,
    ThreadSearchResult,
    ThreadStatusParams,
)
from thread_episodic.index import indexing
from thread_episodic.search import finding

SECRET = "AKIAZ7QWERTY2345UIOP"  # noqa: S105  # looks like one, opens nothing
LONG = "\n\n".join(f"Paragraph {n} tells of the harbour crane. " + "It lifts crates of tea. " * 25 for n in range(8))


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path)
    yield home
    home.close()


def run(story: Callable[[], Awaitable[Any]]) -> Any:
    return anyio.run(story)


def codes(result: ThreadSearchResult) -> list[str]:
    return [diagnostic.code for diagnostic in result.diagnostics]


async def valves(home: Home) -> None:
    """Three messages about valves in two threads, one in another workspace."""
    await home.say("i1", "The brass valve leaks at the joint.", at=NOON - 2 * DAY)
    await home.say("i2", "Replace the valve gasket.", at=NOON - DAY, role="assistant")
    await home.say("i3", "The other thread has a valve too.", thread="a_2")
    await home.say("b1", "A valve that belongs to others.", thread="b_1")
    await home.index()


# -- finding -------------------------------------------------------------------------------------------------------


def test_what_was_said_long_ago_is_found_in_its_time_however_often_it_was_said_since(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding, "TERM_CAP", 3)

    async def story() -> None:
        for number in range(9):
            role = "assistant" if number == 1 else "user"
            await home.say(
                f"i{number}", f"The valve of house {number} is new.", at=NOON - (9 - number) * DAY, role=role
            )
        await home.index()
        assert await home.found("valve", to_at=NOON - 9 * DAY) == ["i0"]
        assert await home.found("valve", roles=["assistant"]) == ["i1"]

    run(story)


def test_what_others_say_chooses_nothing_here(home: Home) -> None:
    """A word that is rare here weighs as a rare one, however often it is said in another workspace."""

    async def story() -> None:
        for number in range(30):
            await home.say(f"i{number}", f"The {'quoin' if number % 5 == 0 else 'valve'} of house {number} is new.")
        await home.index()
        home.change(max_candidate_work=8, default_max_candidates=8)
        before = (await home.search("valve quoin")).hits
        for number in range(80):
            await home.say(f"b{number}", f"A quoin for house {number}.", thread="b_1")
        await home.index()
        after = (await home.search("valve quoin")).hits
        assert [(hit.item_id, hit.score) for hit in after] == [(hit.item_id, hit.score) for hit in before]
        assert {f"i{number}" for number in range(0, 30, 5)} <= {hit.item_id for hit in after}

    run(story)


def test_finds_what_was_said_with_all_that_names_it(home: Home) -> None:
    async def story() -> None:
        await valves(home)
        result = await home.search("brass joint")
        (hit,) = result.hits
        assert (result.status, codes(result)) == ("completed", ["semantic_off"])
        assert hit.chunk_id == hit.source_id == "thread:t_i1/i1/chunk_0"
        assert (hit.thread_id, hit.turn_id, hit.item_id, hit.chunk_index) == ("a_1", "t_i1", "i1", 0)
        assert (hit.role, hit.at, hit.text) == ("user", NOON - 2 * DAY, "The brass valve leaks at the joint.")
        assert hit.snippet == hit.text
        assert 0.5 < hit.score <= 1

    run(story)


def test_each_mode_sees_its_threads_and_never_another_workspace(home: Home) -> None:
    async def story() -> None:
        await valves(home)
        assert set(await home.found("valve")) == {"i1", "i2", "i3"}
        assert set(await home.found("valve", thread_id="a_1")) == {"i1", "i2"}
        assert await home.found("valve", thread_id="a_1", mode="related_threads") == ["i3"]
        assert set(await home.found("valve", thread_id="a_1", mode="workspace_threads")) == {"i1", "i2", "i3"}
        assert await home.found("valve", workspace_id="b") == ["b1"]
        assert await home.found("valve", thread_id="b_1") == []
        assert await home.found("valve", thread_id="a_none") == []
        assert await home.found("valve", thread_id="a_none", mode="related_threads") == []
        assert (await home.search("valve", workspace_id="nowhere")).status == "empty"
        for mode in ("current_thread", "related_threads"):
            with pytest.raises(CallerError):
                await home.search("valve", mode=mode)

    run(story)


def test_filters_come_before_the_number(home: Home) -> None:
    async def story() -> None:
        await valves(home)
        assert await home.found("valve", roles=["assistant"], limit=1) == ["i2"]
        assert await home.found("valve", from_at=NOON - 2 * DAY, to_at=NOON - 2 * DAY, limit=1) == ["i1"]
        assert await home.found("valve", exclude_turn_ids=["t_i1", "t_i2"], limit=1) == ["i3"]
        home.change(max_candidate_work=1, default_max_candidates=1)
        assert await home.found("valve", exclude_turn_ids=["t_i1", "t_i2"]) == ["i3"]
        assert len(await home.found("valve")) == 1

    run(story)


def test_speaker_date_and_thread_name_are_searchable_but_not_shown(home: Home) -> None:
    async def story() -> None:
        home.names["a_1"] = "Garden plans"
        await home.say("i1", "Nice weather.", name="Melanie")
        await home.say("i2", "Nice weather.", thread="a_2", at=NOON - 60 * DAY)
        await home.index()
        for words in ("Melanie", "garden", "March 2026"):
            (hit, *_) = (await home.search(words)).hits
            assert (hit.item_id, hit.text) == ("i1", "Nice weather.")

    run(story)


def test_scores_mean_the_same_in_a_small_and_in_a_large_index(home: Home) -> None:
    async def story() -> None:
        await home.say("i1", "The zirconium crucible cracked.")
        await home.index()
        (alone,) = (await home.search("zirconium crucible")).hits
        for n in range(60):
            await home.say(f"x{n}", f"Talk number {n} about bread and {'tea' if n % 2 else 'jam'}.", thread="a_2")
        await home.index()
        (hit,) = (await home.search("zirconium crucible")).hits
        assert abs(hit.score - alone.score) < 0.1

    run(story)


@pytest.mark.parametrize("query", ["", "   ", "what was it that we did", "?!", "\x00"])
def test_a_query_that_says_nothing_is_not_searched(home: Home, query: str) -> None:
    async def story() -> None:
        await valves(home)
        result = await home.search(query)
        assert (result.hits, result.status, codes(result)) == ([], "skipped", ["query_too_vague"])

    run(story)


@pytest.mark.parametrize(
    "query", ['valve" OR body:"x', "valve* AND (", "scope:w2 valve", "NOT valve", "valve ' \" ) -- ;"]
)
def test_words_are_never_query_syntax(home: Home, query: str) -> None:
    async def story() -> None:
        await valves(home)
        assert set(await home.found(query, min_score=0)) == {"i1", "i2", "i3"}

    run(story)


def test_switched_off_it_says_so(home: Home) -> None:
    async def story() -> None:
        await valves(home)
        home.change(enabled=False)
        result = await home.search("valve")
        assert (result.hits, result.status, codes(result)) == ([], "skipped", ["disabled"])
        home.change(enabled=True, recall_enabled=False)
        assert len(await home.found("valve")) == 3

    run(story)


def test_a_search_that_takes_too_long_is_unavailable_not_an_error(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        await valves(home)

        async def too_long(*_: Any) -> None:
            raise Unavailable

        monkeypatch.setattr(home.db, "read", too_long)
        assert (await home.search("valve")).status == "unavailable"

    run(story)


# -- floor, number, room -------------------------------------------------------------------------------------------


def test_the_floor_of_the_caller_is_strict_and_that_of_the_settings_leaves_a_few(home: Home) -> None:
    async def story() -> None:
        await valves(home)
        weak = "valve turbine compressor manifold piston"
        assert len(await home.found(weak)) == 1
        home.change(min_results=2)
        assert len(await home.found(weak)) == 2
        home.change(min_results=0)
        result = await home.search(weak)
        assert (result.hits, result.status) == ([], "empty")
        assert "below_floor" in codes(result)
        home.change(min_results=1, min_relevancy=0.0)
        assert len(await home.found(weak)) == 3
        assert await home.found(weak, min_score=0.9) == []

    run(story)


def test_what_does_not_fit_is_skipped_and_the_next_one_taken(home: Home) -> None:
    async def story() -> None:
        await home.say("long", "Copper kettle copper kettle " + "and so on " * 30)
        await home.say("short", "A copper kettle.", thread="a_2")
        await home.index()
        assert set(await home.found("copper kettle")) == {"long", "short"}
        result = await home.search("copper kettle", max_prompt_chars=50)
        assert [hit.item_id for hit in result.hits] == ["short"]
        assert "budget_too_small" in codes(result)
        nothing = await home.search("copper kettle", max_prompt_chars=5)
        assert (nothing.hits, nothing.status, "budget_too_small" in codes(nothing)) == ([], "empty", True)
        home.change(max_prompt_chars=100, default_prompt_chars=100)
        assert await home.found("copper kettle", max_prompt_chars=12_000) == ["short"]

    run(story)


def test_a_snippet_is_the_part_that_was_asked_for(home: Home) -> None:
    async def story() -> None:
        await home.say("i1", "Filler sentence here. " * 30 + "The zirconium crucible cracked. " + "More filler. " * 20)
        await home.index()
        (hit,) = (await home.search("zirconium crucible")).hits
        assert len(hit.snippet) <= home.settings.snippet_chars < len(hit.text)
        assert "The zirconium crucible cracked." in hit.snippet
        home.change(snippet_chars=40)
        (hit,) = (await home.search("zirconium crucible")).hits
        assert hit.snippet == "The zirconium crucible cracked."

    run(story)


# -- long messages -------------------------------------------------------------------------------------------------


def test_a_long_message_is_found_by_its_chunks_which_join_to_it(home: Home) -> None:
    async def story() -> None:
        await home.say("i1", LONG)
        await home.index()
        hits = (await home.search("harbour crane", limit=100, max_prompt_chars=12_000, min_score=0)).hits
        pieces = sorted((hit.chunk_index, hit.text) for hit in hits)
        assert len(pieces) > 2
        assert "".join(text for _, text in pieces) == LONG

    run(story)


def test_a_message_too_long_to_be_indexed_whole_says_which_part_is_not(home: Home) -> None:
    async def story() -> None:
        home.change(max_chunks_per_item=2)
        await home.say("i1", LONG + " The platypus is at the end.")
        await home.index()
        state = await home.service.status(ThreadStatusParams(workspace_id="a"))
        (part,) = state.partial_items
        assert (state.chunks.partial, state.chunks.indexed, part.item_id, part.turn_id) == (1, 2, "i1", "t_i1")
        assert part.to_char == len(home.items["i1"].text)
        missed = await home.search("platypus")
        assert (missed.hits, set(codes(missed))) == ([], {"no_match", "partial_item", "semantic_off"})
        assert "partial_item" in codes(await home.search("harbour crane"))

    run(story)


def test_segments_fill_and_seal(home: Home) -> None:
    async def story() -> None:
        home.change(segment_capacity_chunks=16, near_capacity_percent=50.0)
        for n in range(9):
            await home.say(f"i{n}", f"Message number {n}.")
        await home.index()
        segments = (await home.service.status(ThreadStatusParams(workspace_id="a"))).segments
        assert (segments.count, segments.open, segments.sealed, segments.utilization_percent) == (2, 1, 1, 6.25)

    run(story)


# -- what is kept out ----------------------------------------------------------------------------------------------


def test_a_secret_is_neither_searchable_nor_shown(home: Home) -> None:
    async def story() -> None:
        await home.say("i1", f"The supplier gave me {SECRET} for orders.")
        await home.index()
        (hit,) = (await home.search("supplier orders")).hits
        assert SECRET not in hit.text + hit.snippet
        assert "[secret:" in hit.text
        assert await home.found(SECRET, min_score=0) == []
        assert SECRET.lower() not in " ".join(await home.fts_terms())

    run(story)


def test_our_own_injected_lines_are_not_indexed(home: Home) -> None:
    async def story() -> None:
        home.echoes = ["- [mem_1]: The user keeps llamas."]
        await home.say("i1", "- [mem_1]: The user keeps llamas.\nThat is what I know of fences.", role="assistant")
        await home.say("i2", "- [mem_1]: The user keeps llamas.", role="assistant")
        await home.index()
        assert await home.found("llamas", min_score=0) == []
        assert await home.found("fences") == ["i1"]
        assert (await home.service.status(ThreadStatusParams())).chunks.pending == 0

    run(story)


def test_what_is_not_indexable_is_not_found_nor_stays_found(home: Home) -> None:
    async def story() -> None:
        await home.say("i1", "A valve in a tool result.", indexable=False)
        await home.say("i2", "A valve that was said.")
        await home.index()
        assert await home.found("valve") == ["i2"]
        home.items["i2"] = await home.say("i2", "A valve that was said.", indexable=False)
        assert await home.found("valve") == []
        assert await home.fts_terms() == {}

    run(story)


def test_a_message_that_is_gone_muted_or_other_is_not_shown_even_before_the_index_knows(home: Home) -> None:
    async def story() -> None:
        await valves(home)
        gone = home.items.pop("i1")
        assert set(await home.found("valve")) == {"i2", "i3"}
        home.items["i1"] = gone
        assert "i1" in await home.found("valve")
        for other in ({"text": "The brass valve leaks at the joint!"}, {"indexable": False}, {"workspace_id": "b"}):
            home.items["i1"] = msgspec.structs.replace(gone, **other)
            assert set(await home.found("valve")) == {"i2", "i3"}

    run(story)


def test_excluded_chunks_and_items_are_never_found_until_undone(home: Home) -> None:
    async def story() -> None:
        await valves(home)
        await home.say("long", LONG, thread="a_2")
        await home.index()
        service = home.service
        chunk = ExcludeParams(chunk_id="thread:t_long/long/chunk_1", reason="private")
        before = await home.fts_terms()
        assert (await service.exclude(chunk)).excluded == 1
        assert (await service.exclude(chunk)).excluded == 0
        hits = (await home.search("harbour crane", limit=100, max_prompt_chars=12_000)).hits
        assert 1 not in [hit.chunk_index for hit in hits]
        assert (await service.exclude(ExcludeParams(item_id="i1"))).excluded == 1
        assert set(await home.found("valve")) == {"i2", "i3"}
        assert (await service.status(ThreadStatusParams(workspace_id="a"))).chunks.excluded == 2
        asked = ThreadStatusParams(item_ids=["i2", "i1", "long"])
        assert (await service.status(asked)).excluded_items == ["i1", "long"]

        await service.reindex(ReindexParams(workspace_id="a"))
        await home.index()
        assert set(await home.found("valve")) == {"i2", "i3"}

        assert (await service.unexclude(ExcludeParams(item_id="i1"))).excluded == 1
        assert (await service.unexclude(chunk)).excluded == 1
        assert (await service.unexclude(chunk)).excluded == 0
        assert set(await home.found("valve")) == {"i1", "i2", "i3"}
        assert await home.fts_terms() == before

    run(story)


def test_a_chunk_of_an_excluded_item_does_not_come_back_alone(home: Home) -> None:
    async def story() -> None:
        await valves(home)
        await home.service.exclude(ExcludeParams(item_id="i1"))
        assert (await home.service.unexclude(ExcludeParams(chunk_id="thread:t_i1/i1/chunk_0"))).excluded == 0
        assert "i1" not in await home.found("valve")

    run(story)


async def still_hidden(home: Home, words: str) -> bool:
    """Whether nothing is found, now and when it is indexed anew."""
    before = await home.found(words, min_score=0)
    await home.service.reindex(ReindexParams(workspace_id="a"))
    await home.index()
    return [before, await home.found(words, min_score=0)] == [[], []]


@pytest.mark.parametrize("target", [{"item_id": "i1"}, {"chunk_id": "thread:t_i1/i1/chunk_1"}], ids=["item", "chunk"])
def test_what_was_excluded_does_not_come_back_with_an_edit_or_a_new_import(home: Home, target: dict[str, str]) -> None:
    async def story() -> None:
        await home.say("i1", LONG.replace("Paragraph 2", "Paragraph zirconium"))
        await home.index()
        (hit,) = (await home.search("zirconium")).hits
        assert hit.chunk_index == 1
        assert (await home.service.exclude(ExcludeParams(**target))).excluded > 0
        assert await still_hidden(home, "zirconium")
        await home.say("i1", "A new beginning. " * 90 + home.items["i1"].text)  # the excluded words stand elsewhere now
        await home.index()
        assert await still_hidden(home, "zirconium")
        gone = home.items.pop("i1")
        await home.db.write(lambda tx: home.service.on_items_removed(tx, ["i1"]))
        home.items["i1"] = gone
        await home.db.write(lambda tx: home.service.on_items(tx, [gone]))
        await home.index()
        assert await still_hidden(home, "zirconium")
        assert (await home.service.unexclude(ExcludeParams(item_id="i1"))).excluded > 0
        assert await home.found("zirconium") == ["i1"]

    run(story)


def test_an_exclusion_ends_with_its_thread_also_of_messages_that_are_not_indexed_now(home: Home) -> None:
    async def story() -> None:
        await valves(home)
        await home.service.exclude(ExcludeParams(item_id="i1", reason="private"))
        await home.service.exclude(ExcludeParams(item_id="i3"))
        await home.say("i1", "The brass valve leaks at the joint.", at=NOON - 2 * DAY, indexable=False)
        assert await home.rows("SELECT item_id FROM chunk_exclusion ORDER BY item_id") == [("i1",), ("i3",)]
        removed = await home.db.write(lambda tx: home.service.on_thread_deleted(tx, "a_1"))
        assert removed["exclusions"] == 1
        removed = await home.db.write(lambda tx: home.service.on_workspace_deleted(tx, "a"))
        assert removed["exclusions"] == 1
        assert await home.rows("SELECT * FROM chunk_exclusion") == []

    run(story)


def test_excluding_before_indexing_holds(home: Home) -> None:
    async def story() -> None:
        await home.say("i1", "The brass valve.")
        assert (await home.service.exclude(ExcludeParams(item_id="i1"))).excluded == 0
        await home.index()
        assert await home.found("valve") == []

    run(story)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"item_id": "i1", "chunk_id": "thread:t_i1/i1/chunk_0"},
        {"item_id": "none"},
        {"chunk_id": "nonsense"},
        {"chunk_id": "thread:t_i1/i1/chunk_7"},
        {"chunk_id": "thread:t_i2/i1/chunk_0"},
    ],
)
def test_excluding_what_is_not_there(home: Home, params: dict[str, str]) -> None:
    async def story() -> None:
        await valves(home)
        for method in (home.service.exclude, home.service.unexclude):
            with pytest.raises(CallerError):
                await method(ExcludeParams(**params))

    run(story)


# -- edits and deletions -------------------------------------------------------------------------------------------


def test_an_edited_message_is_not_found_by_its_old_words_from_that_moment(home: Home) -> None:
    async def story() -> None:
        await home.say("i1", "We meet at the lighthouse.")
        await home.index()
        await home.say("i1", "We meet at the aquarium.")
        assert await home.found("lighthouse", min_score=0) == []
        assert "lighthous" not in await home.fts_terms()
        waiting = await home.search("aquarium")
        assert (waiting.hits, waiting.status, "index_pending" in codes(waiting)) == ([], "partial", True)
        await home.index()
        assert await home.found("aquarium") == ["i1"]
        chunks = (await home.service.status(ThreadStatusParams())).chunks
        assert (chunks.indexed, chunks.retired, chunks.pending) == (1, 1, 0)

    run(story)


def test_the_same_message_again_changes_nothing(home: Home) -> None:
    async def story() -> None:
        await valves(home)
        rows = await home.rows("SELECT * FROM chunk")
        await home.say("i1", home.items["i1"].text, at=home.items["i1"].at)
        assert await home.waiting() == []
        assert await home.rows("SELECT * FROM chunk") == rows

    run(story)


def test_removed_items_leave_nothing(home: Home) -> None:
    async def story() -> None:
        await home.say("i1", LONG)
        await home.index()
        await home.service.exclude(ExcludeParams(chunk_id="thread:t_i1/i1/chunk_1"))
        await home.db.write(lambda tx: home.service.on_items_removed(tx, ["i1", "unknown"]))
        assert await home.fts_terms() == {}
        for table in ("chunk", "chunk_source"):
            assert await home.rows(f"SELECT * FROM {table}") == []  # noqa: S608  # the two names above
        assert await home.rows("SELECT chunk_count, term_count FROM segment") == [(0, 0)]

    run(story)


def test_a_deleted_thread_leaves_nothing_and_its_jobs_are_cancelled(home: Home) -> None:
    async def story() -> None:
        await valves(home)
        await home.found("valve", thread_id="a_1")
        await home.say("i4", "Not yet indexed.")
        removed = await home.db.write(lambda tx: home.service.on_thread_deleted(tx, "a_1"))
        assert removed == {"chunks": 2, "chunk_fts_rows": 2, "exclusions": 0, "index_jobs": 1, "recall_events": 1}
        assert await home.waiting() == []
        assert await home.found("valve") == ["i3"]
        assert await home.rows("SELECT key FROM chunk_scope WHERE kind = 'thread' ORDER BY key") == [("a_2",), ("b_1",)]
        assert not any((await home.db.write(lambda tx: home.service.on_thread_deleted(tx, "a_none"))).values())

    run(story)


def test_a_deleted_workspace_leaves_nothing(home: Home) -> None:
    async def story() -> None:
        await valves(home)
        removed = await home.db.write(lambda tx: home.service.on_workspace_deleted(tx, "a"))
        assert (removed["chunks"], removed["chunk_fts_rows"]) == (3, 3)
        assert await home.rows("SELECT key FROM chunk_scope ORDER BY key") == [("b",), ("b_1",)]
        assert await home.found("valve", workspace_id="b") == ["b1"]
        assert await home.found("valve") == []

    run(story)


# -- jobs ----------------------------------------------------------------------------------------------------------


def test_a_turn_is_indexed_by_one_job_and_told(home: Home) -> None:
    async def story() -> None:
        await home.say("i1", "A question.", turn="t")
        await home.say("i2", "An answer.", turn="t", role="assistant")
        assert await home.index() == 1
        ((method, notice),) = home.told
        assert (method, notice.thread_id, notice.turn_id, notice.chunk_count) == (
            "thread_episodic/indexed",
            "a_1",
            "t",
            2,
        )

    run(story)


def test_a_crash_between_any_two_steps_converges(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        home.change(index_batch_limit=1)
        await home.say("i1", LONG, turn="t")
        await home.say("i2", "Short.", turn="t")
        write = home.db.write
        crashes = 0
        for survived in range(20):
            left = survived

            async def dying(work: Any) -> Any:
                nonlocal left
                if left == 0:
                    raise Unavailable
                left -= 1
                return await write(work)

            monkeypatch.setattr(home.db, "write", dying)
            try:
                await home.index()
            except Unavailable:
                crashes += 1
            else:
                break
        monkeypatch.undo()
        assert crashes > 3
        assert await home.waiting() == []
        rows = await home.rows(
            "SELECT position, from_char, to_char FROM chunk WHERE status = 'indexed' ORDER BY source, position"
        )
        assert [end for _, _, end in rows[:-2]] == [start for _, start, _ in rows[1:-1]]
        assert (await home.service.status(ThreadStatusParams())).chunks.retired == 0
        terms = await home.fts_terms()
        assert terms["march"] == len(rows)  # the date is in the header of each chunk, once

    run(story)


CHUNKS = """SELECT s.item_id, c.position, c.from_char, c.to_char, c.status, c.terms, c.term_count FROM chunk AS c
JOIN chunk_source AS s ON s.id = c.source"""


@pytest.mark.parametrize("together", [1, 60, 10_000])
def test_several_turns_at_once_are_indexed_like_one_by_one(
    together: int, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "PLANNED_TOGETHER", together)

    async def story() -> None:
        home.change(index_batch_limit=3)
        for n in range(5):
            await home.say(f"i{n}", f"Number {n}: {LONG}" if n % 2 else f"The brass valve {n}.", turn=f"t{n}")
        await home.say("seen", "Nothing new.")
        await home.index()
        await home.service.reindex(ReindexParams(thread_id="a_1"))
        one_by_one = await home.rows(CHUNKS)
        await home.db.write(lambda tx: home.service.on_items_removed(tx, ["i2"]))  # the job takes it up again
        home.told.clear()
        jobs = await home.waiting()
        await home.service.index_together([Handle(job) for job in jobs])
        assert await home.waiting() == []
        assert sorted(notice.turn_id for _, notice in home.told) == sorted(job.turn_id or "" for job in jobs)
        assert sorted(await home.rows(CHUNKS)) == sorted(one_by_one)
        assert set(await home.found("brass valve", min_score=0)) == {"i0", "i2", "i4"}
        assert (await home.service.status(ThreadStatusParams())).chunks.indexed == len(one_by_one)

    run(story)


def test_an_edit_in_the_middle_of_indexing_wins(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        home.change(index_batch_limit=1)
        await home.say("i1", LONG)
        write = home.db.write
        (job,) = await home.waiting()
        edited = False

        async def editing(work: Any) -> Any:
            nonlocal edited
            result = await write(work)
            if not edited:
                edited = True
                await home.say("i1", "Only the aquarium remains.")
            return result

        monkeypatch.setattr(home.db, "write", editing)
        await home.service.index(Handle(job))
        monkeypatch.undo()
        await home.db.write(lambda tx: home.jobs.enqueue(tx, "index", "t_i1", thread_id="a_1", turn_id="t_i1"))
        await home.index()
        assert await home.found("harbour crane", min_score=0) == []
        assert await home.found("aquarium") == ["i1"]
        assert "harbour" not in await home.fts_terms()

    run(story)


def test_a_job_takes_up_messages_that_nobody_told_of_and_drops_muted_ones(home: Home) -> None:
    async def story() -> None:
        fact = await home.say("i1", "The brass valve.")
        await home.db.write(lambda tx: home.service.on_items_removed(tx, ["i1"]))
        await home.index()
        assert await home.found("valve") == ["i1"]
        home.items["i1"] = msgspec.structs.replace(fact, indexable=False)
        await home.service.reindex(ReindexParams(thread_id="a_1"))
        await home.index()
        assert await home.rows("SELECT * FROM chunk_source") == []

    run(story)


def test_indexing_switched_off_pauses_and_says_so(home: Home) -> None:
    async def story() -> None:
        home.change(indexing_enabled=False)
        await home.say("i1", "The brass valve.")
        with pytest.raises(PauseQueue) as paused:
            await home.index()
        assert (paused.value.component, paused.value.reason) == ("thread_episodic", "indexing_disabled")
        home.clock.at += 5000
        state = await home.service.status(ThreadStatusParams(workspace_id="a"))
        assert (state.chunks.pending, state.jobs.queued, state.oldest_pending_age_ms) == (1, 1, 5000)
        assert state.paused is not None
        assert (state.paused.reason, state.paused.since) == ("indexing_disabled", home.clock.at)
        home.clock.at += 1000
        again = await home.service.status(ThreadStatusParams(workspace_id="a"))
        assert again.paused is not None
        assert again.paused.since == home.clock.at - 1000
        home.change(indexing_enabled=True)
        await home.index()
        assert await home.found("valve") == ["i1"]
        assert (await home.service.status(ThreadStatusParams())).paused is None
        home.held = ("storage", "storage_full")
        held = (await home.service.status(ThreadStatusParams())).paused
        assert held is not None
        assert (held.component, held.reason) == ("storage", "storage_full")

    run(story)


def test_dead_jobs_are_counted_listed_and_tried_again(home: Home) -> None:
    async def story() -> None:
        await home.say("i1", "The brass valve.")
        (job,) = await home.waiting()
        await home.db.write(lambda tx: tx.run("UPDATE job SET state = 'dead', last_error = 'internal'"))
        state = await home.service.status(ThreadStatusParams(thread_id="a_1"))
        assert (state.dead_jobs, state.chunks.failed, state.chunks.pending, state.oldest_pending_age_ms) == (
            1,
            1,
            0,
            None,
        )
        (listed,) = (await home.service.list_jobs(JobsParams(status="dead"))).jobs
        assert listed.last_error is not None
        assert (listed.job_id, listed.last_error.code, listed.chunk_ids) == (job.job_id, "internal", [])
        with pytest.raises(CallerError):
            await home.service.retry(RetryParams(job_id="job_none"))
        with pytest.raises(CallerError):
            await home.service.retry(RetryParams())
        assert (await home.service.retry(RetryParams(job_id=job.job_id))).requeued == 1
        assert (await home.service.retry(RetryParams(job_id=job.job_id))).requeued == 0
        await home.index()
        (done,) = (await home.service.list_jobs(JobsParams())).jobs
        assert (done.status, done.chunk_ids) == ("done", ["thread:t_i1/i1/chunk_0"])
        await home.db.write(lambda tx: tx.run("UPDATE job SET state = 'dead'"))
        assert (await home.service.retry(RetryParams(all_dead=True))).requeued == 1

    run(story)


def test_jobs_are_listed_by_pages_each_once(home: Home) -> None:
    async def story() -> None:
        for n in range(5):
            await home.say(f"i{n}", "Words.")
        seen: list[str | None] = []
        cursor = None
        while True:
            page = await home.service.list_jobs(JobsParams(limit=2, cursor=cursor))
            seen += [job.turn_id for job in page.jobs]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert seen == [f"t_i{n}" for n in (4, 3, 2, 1, 0)]
        with pytest.raises(CallerError):
            await home.service.list_jobs(JobsParams(cursor="no cursor"))

    run(story)


def test_reindexing_applies_other_sizes_and_keeps_the_rest_findable(home: Home) -> None:
    async def story() -> None:
        await home.say("i1", LONG)
        await home.say("i2", "Short words.", thread="a_2")
        await home.index()
        before = (await home.service.status(ThreadStatusParams())).chunks.indexed
        home.change(chunk_target_min_chars=200, chunk_target_max_chars=300, chunk_max_chars=400)
        assert (await home.service.reindex(ReindexParams(thread_id="a_1"))).jobs_created == 1
        assert (await home.search("harbour crane")).status == "partial"
        assert await home.found("harbour crane") != []
        await home.index()
        assert (await home.service.status(ThreadStatusParams())).chunks.indexed > 2 * before
        assert (await home.service.reindex(ReindexParams(workspace_id="a"))).jobs_created == 2
        for params in (
            {"thread_id": "a_none"},
            {"workspace_id": "none"},
            {},
            {"thread_id": "a_1", "workspace_id": "b"},
        ):
            with pytest.raises(CallerError):
                await home.service.reindex(ReindexParams(**params))

    run(story)


def test_the_status_of_what_is_not_there_is_nothing(home: Home) -> None:
    async def story() -> None:
        await valves(home)
        for params in (ThreadStatusParams(thread_id="none"), ThreadStatusParams(workspace_id="none")):
            state = await home.service.status(params)
            assert (state.chunks.indexed, state.jobs.done, state.segments.count) == (0, 0, 0)
        thread = await home.service.status(ThreadStatusParams(thread_id="a_2"))
        assert (thread.chunks.indexed, thread.jobs.done, thread.segments.count) == (1, 1, 1)
        everything = await home.service.status(ThreadStatusParams())
        assert (everything.chunks.indexed, everything.jobs.done, everything.segments.count) == (4, 4, 2)

    run(story)


# -- events --------------------------------------------------------------------------------------------------------


def test_every_search_leaves_an_event_without_its_words(home: Home) -> None:
    async def story() -> None:
        await valves(home)
        await home.found("valve gasket", limit=1)
        await home.found("what was it")
        first, second = await home.rows(
            "SELECT query_hash, mode, candidates, returned, cut_reason FROM recall_event ORDER BY event_id"
        )
        assert len(first[0]) == 32
        assert first[1:] == ("workspace_threads", 3, 1, "limit")
        assert second[1:] == ("workspace_threads", 0, 0, "query_too_vague")
        home.clock.at += 31 * DAY
        await home.found("valve")
        assert len(await home.rows("SELECT 1 FROM recall_event")) == 1

    run(story)


def test_a_full_disk_does_not_take_searching_away(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        await valves(home)

        async def full(_: Any) -> None:
            raise Unavailable("storage_full")

        monkeypatch.setattr(home.db, "note", full)
        assert len(await home.found("valve")) == 3

    run(story)
