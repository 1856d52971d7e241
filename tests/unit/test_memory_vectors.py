"""Vectors of records: made when they are missing, searched within scopes, gone with what is forgotten."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from memory_home import ELSEWHERE, HERE, WS1, WS2, MemoryHome
from worded_meaning import POISON

from gateway.embedding.spaces import SpaceIdentity, adopt
from gateway.embedding.vector_houses import Houses
from memory.read.matching import BY_MEANING
from memory.read.pages import KEPT_RANKINGS
from memory.read.vectors import SUBJECT
from protocol.memory.reads import GetParams, SearchParams, SearchResult
from protocol.memory.values import SearchMode
from protocol.seams.ports import ModelChanged, PauseQueue, Space, Tx


@pytest.fixture
def home(tmp_path: Path):
    home = MemoryHome(tmp_path)
    yield home
    home.close()


def space_of(home: MemoryHome, name: str, *, keeps_current: bool = True) -> Space:
    identity = SpaceIdentity(name, 64, f"digest of {name}")

    def take(tx: Tx) -> Space:
        known = adopt(tx, identity, home.clock.now(), keeps_current=keeps_current)
        home.service.vectors.enlist(tx, known.space)
        return known.space

    return home.sql(take)


def switch_on(home: MemoryHome) -> None:
    home.meaning.space = space_of(home, "one")


def fill(home: MemoryHome) -> None:
    home.do(home.service.vectors.fill(None))


def search(home: MemoryHome, query: str, mode: SearchMode = "hybrid", **given: Any) -> SearchResult:
    return home.do(home.service.questions.search(SearchParams(query=query, mode=mode, context=HERE, **given)))


def found(home: MemoryHome, query: str, mode: SearchMode = "hybrid", **given: Any) -> list[str]:
    return [hit.record.content for hit in search(home, query, mode, **given).hits]


def state_of(home: MemoryHome, memory_id: str) -> str:
    record = home.do(home.service.questions.get(GetParams(memory_id=memory_id, context=HERE))).record
    assert record is not None
    return record.index_state


def vectors(home: MemoryHome) -> int:
    row = home.sql(lambda tx: tx.one("SELECT count(*) FROM memory_vec"))
    return row[0] if row else -1


def queued(home: MemoryHome) -> int:
    jobs = home.sql(lambda tx: home.jobs.jobs(tx, kind="embed", states=["queued"]))
    assert {job.subject for job in jobs} <= {SUBJECT}
    return len(jobs)


def test_without_a_model_a_record_is_whole_and_search_says_off(home: MemoryHome) -> None:
    memory_id = home.remember("I drive a car").record.memory_id
    assert state_of(home, memory_id) == "indexed"
    assert queued(home) == 0
    answer = search(home, "car")
    assert (answer.semantic, [d.code for d in answer.diagnostics]) == ("off", ["semantic_off"])
    assert len(answer.hits) == 1
    assert found(home, "automobile") == []
    assert search(home, "car", "lexical").diagnostics == []


def test_meaning_finds_what_no_word_does(home: MemoryHome) -> None:
    switch_on(home)
    memory_id = home.remember("I drive a car").record.memory_id
    fill(home)
    assert state_of(home, memory_id) == "indexed"
    answer = search(home, "drive an automobile")
    assert [hit.record.memory_id for hit in answer.hits] == [memory_id]
    assert answer.semantic == "ready"
    assert answer.hits[0].breakdown["semantic"] > 0.5
    assert found(home, "I drive a vehicle", "semantic") == ["I drive a car"]
    assert found(home, "automobile vehicle", "lexical") == []


def test_what_was_written_before_the_model_came_is_filled(home: MemoryHome) -> None:
    ids = [home.remember(f"The dog number {n} sleeps").record.memory_id for n in range(150)]
    switch_on(home)
    assert {state_of(home, memory_id) for memory_id in ids} == {"pending"}
    assert search(home, "dog").semantic == "pending"
    assert queued(home) == 1
    fill(home)
    assert {state_of(home, memory_id) for memory_id in ids} == {"indexed"}
    assert vectors(home) == 150
    assert search(home, "hound").semantic == "ready"
    assert len(found(home, "the hound sleeps", limit=100)) == 100


def test_switching_meaning_off_leaves_nothing_waiting(home: MemoryHome) -> None:
    switch_on(home)
    memory_id = home.remember("The dog sleeps").record.memory_id
    home.sql(lambda tx: tx.run("DELETE FROM memory_vec"))
    home.sql(lambda tx: tx.run("UPDATE record SET index_state = 'pending'"))
    home.meaning.space = None
    home.sql(lambda tx: home.service.vectors.settle(tx, None))
    assert state_of(home, memory_id) == "indexed"


def test_forgetting_takes_the_vector_and_restoring_asks_for_it_again(home: MemoryHome) -> None:
    switch_on(home)
    memory_id = home.remember("The dog sleeps").record.memory_id
    fill(home)
    assert vectors(home) == 1
    home.forget(memory_id)
    assert vectors(home) == 0
    assert found(home, "hound", "semantic") == []
    home.restore(memory_id)
    assert state_of(home, memory_id) == "pending"
    assert found(home, "dog") == ["The dog sleeps"]
    fill(home)
    assert found(home, "hound sleeps", "semantic") == ["The dog sleeps"]


def test_another_scope_is_never_near(home: MemoryHome) -> None:
    switch_on(home)
    home.remember("The dog sleeps here", scope=WS1, context=HERE)
    home.remember("The dog sleeps there", scope=WS2, context=ELSEWHERE)
    fill(home)
    assert found(home, "the hound sleeps", "semantic") == ["The dog sleeps here"]


def test_a_text_of_which_no_vector_can_be_made_holds_nobody_up(home: MemoryHome) -> None:
    ids = [home.remember(f"The dog {n} {POISON if n == 3 else 'bone'}").record.memory_id for n in range(9)]
    switch_on(home)
    fill(home)
    states = [state_of(home, memory_id) for memory_id in ids]
    assert states[3] == "repair_needed"
    assert set(states[:3] + states[4:]) == {"indexed"}
    assert not lacks(home, space_of_current(home))


def lacks(home: MemoryHome, space: Space) -> bool:
    return home.sql(lambda tx: home.service.vectors.look(tx, space, 0))[0]


def space_of_current(home: MemoryHome) -> Space:
    assert home.meaning.space is not None
    return home.meaning.space


def test_a_model_that_is_down_pauses_the_queue_and_loses_nothing(home: MemoryHome) -> None:
    home.remember("The dog sleeps")
    switch_on(home)
    home.meaning.is_down = True
    with pytest.raises(PauseQueue):
        fill(home)
    assert found(home, "dog") == ["The dog sleeps"]
    home.meaning.is_down = False
    fill(home)
    assert vectors(home) == 1


def test_a_second_space_is_filled_beside_the_first(home: MemoryHome) -> None:
    switch_on(home)
    for n in range(5):
        home.remember(f"The dog number {n}")
    fill(home)
    home.meaning.building = space_of(home, "two")
    assert lacks(home, space_two(home))
    assert len(found(home, "the hound number")) == 5  # the first goes on answering
    fill(home)
    assert not lacks(home, space_two(home))
    assert vectors(home) == 10
    assert home.meaning.fills == 2
    assert home.sql(lambda tx: home.service.vectors.drop(tx, space_of_current(home), 3)) == 3
    assert vectors(home) == 7


def space_two(home: MemoryHome) -> Space:
    assert home.meaning.building is not None
    return home.meaning.building


def test_what_is_hidden_takes_no_place_among_the_nearest(home: MemoryHome) -> None:
    switch_on(home)
    for n in range(130):
        home.remember(f"A hound is mine {n}", category="todo")
    last = home.remember("A dog is mine", category="preference").record.memory_id
    fill(home)
    answer = search(home, "a hound is mine", "semantic", categories=["preference"])
    assert [hit.record.memory_id for hit in answer.hits] == [last]


@pytest.mark.loop("check")
@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
@pytest.mark.parametrize(("limit", "kept"), [(20, KEPT_RANKINGS), (100, 0)])
def test_paging_by_meaning_goes_on_past_what_is_compared_at_once(
    home: MemoryHome, mode: SearchMode, limit: int, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the ranking that the pages began with is gone."""
    monkeypatch.setattr("memory.read.pages.KEPT_RANKINGS", kept)
    switch_on(home)
    for number in range(2 * BY_MEANING):
        home.remember(f"automobile vehicle {number}")
    fill(home)
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = search(home, "automobile vehicle car", mode, limit=limit, cursor=cursor)
        seen += [hit.record.memory_id for hit in page.hits]
        if (cursor := page.next_cursor) is None:
            break
    assert len(seen) == len(set(seen)) == 2 * BY_MEANING


def test_what_was_written_after_the_look_still_waits(home: MemoryHome) -> None:
    switch_on(home)
    home.meaning.is_down = True
    memory_id = home.remember("I drive a car").record.memory_id
    assert state_of(home, memory_id) == "pending"
    houses, space = Houses(home.db, [home.service.vectors]), home.meaning.space
    assert space is not None
    home.sql(lambda tx: houses.enlist(tx, space, lacking=[]))  # a look before that found nothing
    assert state_of(home, memory_id) == "pending"
    home.meaning.is_down = False
    fill(home)
    home.sql(lambda tx: houses.enlist(tx, space, lacking=[]))
    assert (state_of(home, memory_id), vectors(home)) == ("indexed", 1)


def test_a_repair_leaves_what_waits_for_a_model_that_is_on_its_way(
    home: MemoryHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    switch_on(home)
    home.meaning.is_down = True
    memory_id = home.remember("I drive a car").record.memory_id
    monkeypatch.setattr(home.meaning, "to_fill", lambda _tx: [])  # it is not in memory yet
    home.do(home.service.repairer.run("quick"))
    assert state_of(home, memory_id) == "pending"


def test_who_fills_begins_again_when_another_model_took_over(home: MemoryHome, monkeypatch: pytest.MonkeyPatch) -> None:
    switch_on(home)
    home.meaning.is_down = True
    memory_id = home.remember("I drive a car").record.memory_id
    home.meaning.is_down = False
    made, other = home.meaning.of_texts, space_of(home, "two", keeps_current=False)

    async def changed(space: Space, texts: Sequence[str]) -> list[bytes]:
        monkeypatch.setattr(home.meaning, "of_texts", made)
        home.meaning.space = other
        raise ModelChanged("embedding", "model_changed")

    monkeypatch.setattr(home.meaning, "of_texts", changed)
    fill(home)
    assert state_of(home, memory_id) == "indexed"
    row = home.sql(lambda tx: tx.one("SELECT space_id FROM memory_vec"))
    assert row == (other.id,)
