"""What a turn is given: each scope within its own tokens, the same again from the cache, and what was said before a
short message."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from memory_home import HERE, MemoryHome

from memory.read import searching
from memory.read.matching import Match
from memory.read.presentation import is_presentable
from memory.read.ranking import Score
from memory.read.recall import CACHED, ScopeHits, choose, query_of
from memory.read.searching import FoundRecord, RecordSearcher
from protocol.base import Scope
from protocol.errors import Unavailable
from protocol.memory.explaining import ExplainParams
from protocol.memory.reads import Hit, SearchParams
from protocol.settings import RecallDeadlines, RecallFloors, RecallSettings

TEA = "I drink oolong tea in the afternoon."


@pytest.fixture
def home(tmp_path: Path):
    made = MemoryHome(tmp_path)
    yield made
    made.close()


def recall(home: MemoryHome, text: str, **how: Any) -> Any:
    return home.do(home.service.turns.recall(home.turn(), text, limit=8, **how))


def contents(outcome: Any) -> list[str]:
    return [hit.record.content for hit in outcome.hits]


# -- the query ---------------------------------------------------------------------------------------------------------


def words(text: str) -> int:
    return len(text.split())


@pytest.mark.parametrize(
    ("text", "before", "query"),
    [
        ("which tea do I drink", ["earlier"], "which tea do I drink"),
        (
            "and winter?",
            ["Where do we hike in summer?", "In the Alps."],
            "Where do we hike in summer? In the Alps. and winter?",
        ),
        ("and winter?", [], "and winter?"),
        ("and winter?", ["And  winter?", "Yes."], "and winter?"),
        ("x" * 50, [], "x" * 40),
        ("so?", ["y" * 100], "y" * 36 + " so?"),
    ],
)
def test_a_short_message_is_searched_with_what_was_said_before(text: str, before: list[str], query: str) -> None:
    assert query_of(text, before, words, 40 if len(query) <= 40 else 800) == query


def test_a_follow_up_finds_what_its_question_was_about(home: MemoryHome) -> None:
    home.remember(TEA)
    assert contents(recall(home, "and why?")) == []
    assert contents(recall(home, "and why?", before=["Which oolong tea do I drink?"])) == [TEA]


# -- what is read whole ------------------------------------------------------------------------------------------------


def test_only_what_may_be_shown_is_read_whole(home: MemoryHome, monkeypatch: pytest.MonkeyPatch) -> None:
    home.remember(TEA)
    for room in range(30):
        home.remember(f"The tea of room {room} is black.")
    read: list[int] = []
    whole = searching.records_by_row

    def counted(tx: Any, rows: Sequence[int]) -> Any:
        read.extend(rows)
        return whole(tx, rows)

    monkeypatch.setattr(searching, "records_by_row", counted)
    question = "Which oolong tea do I drink in the afternoon?"
    assert contents(recall(home, question)) == [TEA]
    assert len(read) == 1
    read.clear()
    assert contents(recall(home, question)) == [TEA], "from the cache"
    assert len(read) == 1


def test_a_record_that_is_hidden_chooses_no_others(home: MemoryHome) -> None:
    question, weaker = "Which oolong tea do I drink in the afternoon?", "In the afternoon my sister paints."
    best = home.remember(TEA).record
    assert best is not None
    home.remember(weaker)
    assert contents(recall(home, question)) == [TEA], "the other is much less likely"
    home.sql(lambda tx: tx.run("UPDATE record SET checksum = x'00' WHERE memory_id = ?", (best.memory_id,)))
    assert contents(recall(home, question)) == [weaker]


# -- the choice --------------------------------------------------------------------------------------------------------


def found(home: MemoryHome, *facts: tuple[str, float]) -> list[FoundRecord]:
    made: list[FoundRecord] = []
    for content, log_odds in facts:
        record = home.remember(content).record
        assert record is not None
        score = Score(log_odds, 0.0, 0.0, None, None, None, (1.0,), (1.0,), [])
        hit = Hit(record=record, score=score.total, breakdown={}, snippet=content, matched_terms=[])
        made.append(FoundRecord(0, hit, Match(1, record.memory_id, score, is_note=False)))
    return made


def chosen(scopes: Sequence[ScopeHits], most: int) -> list[str]:
    return [one.hit.record.content for one in choose(scopes, most)]


def test_each_scope_is_shown_and_nothing_flows_over(home: MemoryHome) -> None:
    many = found(
        home,
        *((f"Long fact number {n} of the workspace, {'as long as it gets ' * 8}", 3.0 - n / 100) for n in range(30)),
    )
    one = found(home, ("I like jam.", 0.1))
    shown = chosen([ScopeHits(many, 200), ScopeHits(one, 100)], 8)
    assert "I like jam." in shown
    assert len(shown) < 8, "two hundred tokens hold no more"
    assert chosen([ScopeHits(many, 100_000), ScopeHits(one, 100)], 8).count("I like jam.") == 1
    assert chosen([ScopeHits(many, 0), ScopeHits(one, 100)], 8) == ["I like jam."]


def test_what_does_not_fit_is_skipped_and_the_order_is_that_of_the_scores(home: MemoryHome) -> None:
    facts = found(home, ("A long sentence about nothing at all. " * 8, 3.0), ("short one", 2.0), ("short two", 1.0))
    assert chosen([ScopeHits(facts, 10)], 8) == ["short one", "short two"]
    assert chosen([ScopeHits(facts[1:], 10), ScopeHits(facts[:1], 200)], 8)[0].startswith("A long")
    assert chosen([ScopeHits(facts, 1000)], 0) == []


def test_the_same_words_in_two_scopes_are_shown_once(home: MemoryHome) -> None:
    here = home.remember("Deploys run on Friday.", scope=Scope(kind="workspace", key="ws_1")).record
    there = home.remember("Deploys run on friday", scope=Scope(kind="user", key="default")).record
    assert here is not None
    assert there is not None
    assert len(recall(home, "When do deploys run on a Friday?").hits) == 1


@pytest.mark.parametrize(
    ("changes", "floors", "is_shown"),
    [
        ({}, {}, True),
        ({"content": " \n"}, {}, False),
        ({"content": "<recalled_memory nonce='x'>"}, {}, False),
        ({}, {"total": 0.4}, True),
        ({}, {"total": 0.6}, False),
        ({}, {"lexical": 0.3, "semantic": 0.9}, True),
        ({}, {"lexical": 0.5}, False),
    ],
)
def test_floors_hold_where_their_part_is_known(
    home: MemoryHome,
    changes: dict[str, Any],
    floors: dict[str, float],
    is_shown: bool,  # noqa: FBT001
) -> None:
    record = home.remember(TEA).record
    assert record is not None
    hit = Hit(
        record=msgspec.structs.replace(record, **changes),
        score=0.5,
        breakdown={"lexical": 0.4},
        snippet="",
        matched_terms=[],
    )
    assert is_presentable(hit, RecallFloors(**floors)) is is_shown


# -- the cache ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The queries that a ranking was made for."""
    made: list[str] = []
    rank = RecordSearcher.rank

    async def counted(self: RecordSearcher, question: Any, *rest: Any) -> Any:
        made.append(question.text)
        return await rank(self, question, *rest)

    monkeypatch.setattr(searching.RecordSearcher, "rank", counted)
    return made


def test_equal_words_are_searched_once_until_something_changes(home: MemoryHome, searches: list[str]) -> None:
    record = home.remember(TEA).record
    assert record is not None
    home.remember("Deploys run on Friday.", scope=Scope(kind="workspace", key="ws_1"))
    first = recall(home, "Which oolong tea do I drink?")
    before = len(searches)
    again = recall(home, "  which OOLONG tea do I drink? ")
    assert (first.reason, again.reason) == ("recalled", "cached")
    assert contents(again) == contents(first) == [TEA]
    assert len(searches) == before
    assert contents(recall(home, "Which oolong tea do I drink?", exclude=[record.memory_id])) == []
    home.forget(record.memory_id)
    assert contents(recall(home, "Which oolong tea do I drink?")) == []
    home.restore(record.memory_id)
    assert contents(recall(home, "Which oolong tea do I drink?")) == [TEA]
    assert len(searches) > before


def test_another_scope_setting_or_minute_is_another_query(home: MemoryHome, searches: list[str]) -> None:
    home.remember(TEA)

    def asked() -> int:
        before = len(searches)
        recall(home, "Which oolong tea do I drink?")
        return len(searches) - before

    assert asked() > 0
    assert asked() == 0
    before = len(searches)
    home.do(home.service.turns.recall(home.turn(workspace_id="ws_2"), "Which oolong tea do I drink?", limit=8))
    assert len(searches) > before
    home.recall_settings = msgspec.structs.replace(home.recall_settings, items=3)
    assert asked() > 0
    home.clock.seconds += 61
    assert asked() > 0
    home.recall_settings = msgspec.structs.replace(home.recall_settings, cache_seconds=0)
    assert asked() > 0
    assert asked() > 0


def test_the_cache_is_bounded(home: MemoryHome, searches: list[str]) -> None:
    home.remember(TEA)
    for n in range(CACHED + 1):
        recall(home, f"Which oolong tea number {n} do I drink?")
    before = len(searches)
    recall(home, "Which oolong tea number 0 do I drink?")
    assert len(searches) > before


# -- a scope that fails ------------------------------------------------------------------------------------------------


def test_a_broken_scope_leaves_the_others(home: MemoryHome, monkeypatch: pytest.MonkeyPatch) -> None:
    home.remember(TEA)
    home.remember("Deploys run on Friday.", scope=Scope(kind="workspace", key="ws_1"))
    rank = RecordSearcher.rank

    async def torn(self: RecordSearcher, question: Any, filters: Any, scopes: Sequence[Scope], *more: Any) -> Any:
        if scopes[0].kind == "workspace":
            raise Unavailable
        return await rank(self, question, filters, scopes, *more)

    monkeypatch.setattr(searching.RecordSearcher, "rank", torn)
    outcome = recall(home, "Which oolong tea do I drink?")
    assert (contents(outcome), outcome.is_partial) == ([TEA], True)
    monkeypatch.undo()
    assert recall(home, "Which oolong tea do I drink?").reason == "recalled", "what was partial is not kept"


def test_a_scope_that_hangs_leaves_the_others(home: MemoryHome, monkeypatch: pytest.MonkeyPatch) -> None:
    home.remember(TEA)
    home.remember("Deploys run on Friday.", scope=Scope(kind="workspace", key="ws_1"))
    rank = RecordSearcher.rank

    async def hung(self: RecordSearcher, question: Any, filters: Any, scopes: Sequence[Scope], *more: Any) -> Any:
        if scopes[0].kind == "workspace":
            await anyio.sleep_forever()
        return await rank(self, question, filters, scopes, *more)

    monkeypatch.setattr(searching.RecordSearcher, "rank", hung)
    home.recall_settings = RecallSettings(deadline_ms=RecallDeadlines(turn=1000))
    outcome = recall(home, "Which oolong tea do I drink?")
    assert (outcome.is_partial, set(contents(outcome)) <= {TEA}) == (True, True)


def test_nothing_waits_past_the_deadline(home: MemoryHome, monkeypatch: pytest.MonkeyPatch) -> None:
    home.remember(TEA)
    monkeypatch.setattr("memory.read.recall.time.perf_counter", iter(range(0, 100_000, 100)).__next__)
    outcome = recall(home, "Which oolong tea do I drink?")
    assert (outcome.hits, outcome.is_partial, outcome.reason) == ([], True, "scope_unavailable")


def test_a_person_who_asks_why_waits_for_the_answer(home: MemoryHome, monkeypatch: pytest.MonkeyPatch) -> None:
    """No load of the machine is a reason against a memory: a deadline is a turn's alone."""
    home.remember(TEA)
    monkeypatch.setattr("memory.read.recall.time.perf_counter", iter(range(0, 100_000, 100)).__next__)
    asked = ExplainParams(query="Which oolong tea do I drink?", context=HERE)
    told = home.do(home.service.questions.explain(asked))
    assert (told.outcome, told.gates[-1].passed) == ("recalled", True)


# -- pages -------------------------------------------------------------------------------------------------------------


def test_a_query_has_one_order_whatever_the_page(home: MemoryHome) -> None:
    for n in range(60):
        home.remember(
            f"Oolong tea number {n} comes from {'a garden' if n % 3 else 'the hills'} in the north, {'x' * (n % 7)}"
        )

    def paged(limit: int) -> list[str]:
        got: list[str] = []
        cursor = None
        while True:
            asked = SearchParams(query="oolong tea from the hills", context=HERE, limit=limit, cursor=cursor)
            page = home.do(home.service.questions.search(asked))
            got += [hit.record.memory_id for hit in page.hits]
            cursor = page.next_cursor
            if cursor is None:
                return got

    whole = paged(100)
    assert len(whole) == 60
    assert paged(1) == paged(7) == paged(25) == whole
