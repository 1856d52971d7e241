"""Candidates: what is not asked for takes no place, frequent words cost no more than they tell, lost terms are made
again."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_home import HERE, MemoryHome

from memory.read import matching
from memory.read.matching import BY_WORDS
from memory.rows.search import match_of
from protocol.base import Scope, ScopeKind
from protocol.memory.reads import SearchParams
from retrieval.weights import by_weight, first_of

KINDS: tuple[ScopeKind, ...] = ("user", "workspace")


@pytest.fixture
def home(tmp_path: Path):
    made = MemoryHome(tmp_path)
    yield made
    made.close()


def test_a_match_names_scopes_and_quoted_terms_only() -> None:
    assert match_of([3, 9], ["jam", "vim"]) == '"s3·jam" AND "s3·vim" OR "s9·jam" AND "s9·vim"'


def test_rows_are_ordered_by_what_they_share_and_equal_ones_by_age() -> None:
    assert [*by_weight([(1.0, [5, 4, 2, 1]), (2.5, [3, 1]), (0.5, [])], 60)] == [1, 3, 5, 4, 2]
    assert [*by_weight([(1.0, [9, 8, 3, 2]), (2.0, [8, 4, 2]), (1.5, [7, 3])], 60)] == [8, 2, 3, 4, 7, 9]
    assert [*by_weight([(1.0, [2, 1])], 60)] == [2, 1]


LISTS = st.lists(st.tuples(st.sampled_from([0.25, 0.5, 1.0, 2.0]), st.sets(st.integers(1, 30))), min_size=1, max_size=6)


@given(LISTS, st.integers(1, 9))
def test_the_order_does_not_depend_on_when_light_words_are_looked_at(
    given_lists: list[tuple[float, set[int]]], enough: int
) -> None:
    sums: dict[int, float] = {}
    for weight, rows in given_lists:
        for row in rows:
            sums[row] = sums.get(row, 0.0) + weight
    ranked = [*by_weight([(weight, sorted(rows, reverse=True)) for weight, rows in given_lists], enough)]
    assert ranked == sorted(sums, key=lambda row: (-sums[row], -row))


def test_what_filters_leave_out_takes_no_place(home: MemoryHome) -> None:
    for number in range(BY_WORDS + 5):
        home.remember(f"Tea {number}")
    home.remember("Somebody in this house sometimes drinks tea in the evening", tags=["rare"])
    home.remember("Tea is what was drunk in that house on this very evening", kind="episodic")
    assert home.found("tea", tags=["rare"]) == ["Somebody in this house sometimes drinks tea in the evening"]
    assert home.found("tea", kinds=["episodic"]) == ["Tea is what was drunk in that house on this very evening"]


def test_words_too_frequent_to_be_looked_through_count_together(
    home: MemoryHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.remember("The garden by the river has a gate of iron")
    home.remember("A heron nests in the reeds")
    for number in range(10):
        home.remember(f"garden {number}")
        home.remember(f"river {number}")
        home.remember(f"gate {number}")
    monkeypatch.setattr(matching, "MATCH_BUDGET", 6)
    assert home.found("garden river gate")[0] == "The garden by the river has a gate of iron"
    assert set(home.found("garden river gate heron", min_score=0.0)) >= {
        "The garden by the river has a gate of iron",
        "A heron nests in the reeds",
    }
    newest = [f"river {number}" for number in range(9, 3, -1)]
    assert set(home.found("river")) == set(newest), "of one word in too many records, the newest of them"


@pytest.mark.parametrize(
    "damage",
    ["DELETE FROM record_terms", "UPDATE record_terms SET terms = x'00'", "UPDATE record_terms SET terms = x''"],
)
def test_lost_terms_are_made_again(home: MemoryHome, damage: str) -> None:
    home.remember("The heron nests in the reeds")
    before = home.do(home.service.questions.search(SearchParams(query="nests of herons", mode="lexical", context=HERE)))
    home.sql(lambda tx: tx.run(damage))
    after = home.do(home.service.questions.search(SearchParams(query="nests of herons", mode="lexical", context=HERE)))
    assert after.hits == before.hits != []


def test_pages_follow_one_another_over_equal_texts(home: MemoryHome) -> None:
    """What says the very same in two scopes is one hit, wherever the page ends."""
    for number in range(12):
        for scope in KINDS:
            home.remember(f"kettle {number}", scope=Scope(kind=scope, key="default" if scope == "user" else "ws_1"))
    seen: list[str] = []
    cursor = None
    while True:
        params = SearchParams(query="kettle", mode="lexical", context=HERE, limit=5, cursor=cursor)
        page = home.do(home.service.questions.search(params))
        seen += [hit.record.content for hit in page.hits]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert sorted(seen) == sorted(f"kettle {number}" for number in range(12))


def test_the_first_rows_that_are_asked_for_come_in_their_order_whatever_is_left_out_between() -> None:
    read: list[int] = []

    def every_tenth(rows: Sequence[int]) -> list[int]:
        read.extend(rows)
        return [row for row in rows if row % 10 == 0]

    assert first_of(iter(range(1, 1000)), 3, every_tenth) == [10, 20, 30]
    assert read == [*range(1, len(read) + 1)]
    assert len(read) < 300
    assert first_of(iter(range(1, 15)), 3, every_tenth) == [10]
    assert first_of(iter(range(1, 15)), 0, every_tenth) == []
