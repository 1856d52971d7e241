"""Search, list, explain and statistics over a real database file, and that scopes are walls."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_home import DAY, ELSEWHERE, HERE, USER, WS1, WS2, MemoryHome

from memory.read.matching import BY_WORDS
from protocol.errors import CallerError, Unavailable
from protocol.memory.explaining import ExplainParams, ExplainTarget
from protocol.memory.reads import GetParams, ListParams, SearchParams
from protocol.memory.values import Context

ONLY_2 = Context(workspace_id="ws_2")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[MemoryHome]:
    made = MemoryHome(tmp_path)
    yield made
    made.close()


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryHome]:
    """Records that differ in everything a filter knows; tests only read it."""
    made = MemoryHome(tmp_path_factory.mktemp("full"))
    for n in range(27):
        made.remember(
            f"Tea number {n} of the collection",
            scope=[USER, WS1][n % 2],
            importance=(n % 5) / 4,
            tags=[f"t{n % 3}", "all"],
            category=["custom", "preference", "project_fact"][n % 3],
            kind=["semantic", "procedural"][n % 2],
        )
        made.later(n % 3)
    made.remember("Tea of another house", scope=WS2, context=ELSEWHERE)
    yield made
    made.close()


# -- search and list -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 2, 5, 13, 26, 27, 100])
@pytest.mark.parametrize("order", ["updated_at", "created_at", "importance"])
def test_paging_a_list_yields_each_once(full: MemoryHome, limit: int, order: Any) -> None:
    seen: list[Any] = []
    cursor = None
    while True:
        page = full.do(
            full.service.questions.list_records(ListParams(context=HERE, limit=limit, order=order, cursor=cursor))
        )
        assert len(page.records) <= limit
        seen += page.records
        cursor = page.next_cursor
        if cursor is None:
            break
    assert len({record.memory_id for record in seen}) == len(seen) == 27
    values = [getattr(record, order) for record in seen]
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("limit", [1, 4, 26, 27, 100])
def test_paging_a_search_yields_each_once(full: MemoryHome, limit: int) -> None:
    seen: list[Any] = []
    cursor = None
    while True:
        params = SearchParams(query="tea collection", context=HERE, limit=limit, cursor=cursor)
        page = full.do(full.service.questions.search(params))
        seen += page.hits
        cursor = page.next_cursor
        if cursor is None:
            break
    assert len({hit.record.memory_id for hit in seen}) == len(seen) == 27
    assert [hit.score for hit in seen] == sorted((hit.score for hit in seen), reverse=True)
    assert all(0 < hit.score <= 1 for hit in seen)


@pytest.mark.parametrize("limit", [7, 20, 100])
def test_paging_goes_on_past_what_is_scored_at_once(home: MemoryHome, limit: int) -> None:
    for n in range(2 * BY_WORDS + 10):
        home.remember(f"Jar {n} holds tea")
    home.remember("A jar of honey")
    seen: list[str] = []
    cursor = None
    while True:
        params = SearchParams(query="tea", context=HERE, limit=limit, cursor=cursor, mode="lexical")
        page = home.do(home.service.questions.search(params))
        seen += [hit.record.memory_id for hit in page.hits]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert len(set(seen)) == len(seen) == 2 * BY_WORDS + 10


def test_cursors_belong_to_their_query(full: MemoryHome) -> None:
    first = full.do(full.service.questions.search(SearchParams(query="tea", context=HERE, limit=1)))
    for params in (
        SearchParams(query="collection", context=HERE, cursor=first.next_cursor),
        SearchParams(query="tea", context=HERE, cursor="bm9uc2Vuc2U"),
    ):
        with pytest.raises(CallerError):
            full.do(full.service.questions.search(params))
    with pytest.raises(CallerError):
        full.do(full.service.questions.list_records(ListParams(context=HERE, cursor="x")))


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        ({}, 27),
        ({"scopes": [USER]}, 14),
        ({"scopes": [WS1]}, 13),
        ({"scopes": []}, 0),
        ({"categories": ["preference"]}, 9),
        ({"categories": []}, 0),
        ({"categories": ["custom", "preference"]}, 18),
        ({"kinds": ["procedural"]}, 13),
        ({"tags": ["t0", "all"]}, 9),
        ({"tags": ["t0", "t1"]}, 0),
        ({"statuses": ["superseded"]}, 0),
        ({"statuses": []}, 0),
        ({"scopes": [WS1], "categories": ["custom"], "tags": ["t0"], "kinds": ["procedural"]}, 4),
    ],
)
def test_filters(full: MemoryHome, filters: dict[str, Any], count: int) -> None:
    assert len(full.found("tea", limit=100, **filters)) == len(full.listed(limit=100, **filters)) == count


def test_what_cannot_be_shown_takes_no_place(home: MemoryHome) -> None:
    for n in range(230):
        home.remember(f"The deploy counter is {n}", key="counter")
    assert home.found("deploy counter") == ["The deploy counter is 229"]


def test_what_another_category_holds_takes_no_place(home: MemoryHome) -> None:
    for n in range(210):
        home.remember(f"Tea number {n}")
    home.remember("Tea is the one, of all the many kinds of hot drinks that there are", category="preference")
    assert len(home.found("tea", categories=["preference"])) == 1


def test_hits_tell_why(home: MemoryHome) -> None:
    home.remember("Likes green tea in the morning", tags=["drink"])
    (hit,) = home.do(home.service.questions.search(SearchParams(query="What TEA, in the mornings?", context=HERE))).hits
    assert hit.matched_terms == ["tea", "mornings"]
    assert hit.breakdown["lexical"] > 0
    assert "tea" in hit.snippet
    assert home.found("tea", min_score=1.0) in ([], ["Likes green tea in the morning"])
    bare = home.do(
        home.service.questions.search(SearchParams(query="tea", context=HERE, include_provenance=False))
    ).hits[0]
    assert bare.record.provenance.created_by is None
    off = home.do(home.service.questions.search(SearchParams(query="tea", context=HERE, mode="semantic")))
    assert (off.hits, off.semantic, [one.code for one in off.diagnostics]) == ([], "off", ["semantic_off"])


def test_equal_words_of_two_scopes_are_shown_once(home: MemoryHome) -> None:
    home.remember("Uses tabs", scope=USER)
    home.remember("uses  TABS", scope=WS1)
    assert home.found("tabs") == ["uses  TABS"]
    assert len(home.listed()) == 2
    assert home.remember("Uses tabs", scope=WS1, key="style").created
    assert sorted(home.found("tabs")) == ["Uses tabs", "uses  TABS"]


HOSTILE = [
    "",
    " ",
    "\x00",
    "a\x00b",
    '"',
    '""" OR 1=1',
    'tea"; DROP TABLE record; --',
    "scope:s1",
    'scope:("s1") AND body:"tea"',
    "NEAR(tea)",
    "tea*",
    "^tea",
    "-tea",
    "tea AND NOT tea",
    "(((((",
    "{tea}:",
    "'",
    "tea OR",
    "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
    "%_%",
    "\u202etea\u202c",
    "a" * 4096,
    "tea " * 1024,
    "ß" * 4096,
    "茶" * 4096,
    "\n\t\r",
    "body : x",
    "ｔｅａ＊",
    "\u0300" * 4096,
]


@pytest.mark.parametrize("query", HOSTILE, ids=range(len(HOSTILE)))
def test_a_query_is_never_syntax(full: MemoryHome, query: str) -> None:
    hits = full.do(full.service.questions.search(SearchParams(query=query, context=HERE, limit=100))).hits
    assert all("another house" not in hit.record.content for hit in hits)
    full.do(full.service.turns.recall(full.turn(), query, limit=5))
    full.do(full.service.questions.explain(ExplainParams(query=query, context=HERE)))


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=80))
def test_any_text_may_be_asked(full: MemoryHome, query: str) -> None:
    hits = full.do(full.service.questions.search(SearchParams(query=query, context=HERE, limit=100))).hits
    assert len({hit.record.memory_id for hit in hits}) == len(hits) <= 27
    assert all(hit.record.scope in {USER, WS1} for hit in hits)


def test_reading_counts_as_access_and_changes_nothing_else(home: MemoryHome) -> None:
    made = home.remember("Likes tea").record
    home.later()
    home.get(made.memory_id)
    again = home.get(made.memory_id)
    assert again is not None
    assert (again.access_count, again.last_accessed_at, again.updated_at) == (2, home.clock.at, made.updated_at)
    assert home.get("mem_x") is None
    with pytest.raises(CallerError):
        home.do(home.service.questions.get(GetParams(context=HERE)))


def test_a_damaged_row_is_hidden_and_explained(home: MemoryHome) -> None:
    made = home.remember("Likes tea").record
    home.sql(lambda tx: tx.run("UPDATE record SET content = 'Likes rum'"))
    assert home.found("tea") == home.listed() == []
    assert home.get(made.memory_id) is None
    told = home.do(
        home.service.questions.explain(
            ExplainParams(target=ExplainTarget(kind="memory", id=made.memory_id), context=HERE)
        )
    )
    assert [(gate.gate, gate.reason_code) for gate in told.gates if not gate.passed] == [("integrity", "damaged")]
    assert home.forget(made.memory_id, mode="erase").forgotten_memory_ids == [made.memory_id]


# -- recall ----------------------------------------------------------------------------------------------------------


def test_recall_gives_what_is_relevant_or_nothing(full: MemoryHome) -> None:
    recall = full.do(full.service.turns.recall(full.turn(), "Which tea is number 7 of my collection?", limit=5))
    assert len(recall.hits) == 5
    assert recall.hits[0].record.content == "Tea number 7 of the collection"
    assert recall.reason == "recalled"
    assert all(hit.score >= recall.floor for hit in recall.hits)
    shown = [hit.record.memory_id for hit in recall.hits]
    rest = full.do(full.service.turns.recall(full.turn(), "the tea collection number 7", limit=5, exclude=shown))
    assert not {hit.record.memory_id for hit in rest.hits} & set(shown)
    nothing = full.do(full.service.turns.recall(full.turn(), "What is the weather in Oslo?", limit=5))
    assert (nothing.hits, nothing.reason) == ([], "no_match")


def test_a_recall_is_the_same_again_and_other_scopes_do_not_move_it(home: MemoryHome) -> None:
    for n in range(5):
        home.remember(f"Tea number {n}", scope=WS1)

    def search() -> list[tuple[str, float]]:
        found = home.do(home.service.questions.search(SearchParams(query="tea number", context=HERE)))
        return [(hit.record.memory_id, hit.score) for hit in found.hits]

    before = search()
    for n in range(40):
        home.remember(f"Tea number tea number {n}", scope=WS2, context=ELSEWHERE)
    assert search() == before


# -- the index and other processes -----------------------------------------------------------------------------------


def test_the_index_is_filled_anew_for_another_lexicon(home: MemoryHome) -> None:
    made = home.remember("Likes tea").record
    home.forget(home.remember("Likes rum").record.memory_id)
    run = lambda: home.do(home.service.repairer.run("quick")).mended  # noqa: E731
    assert run() == {}

    class Reversed:
        version = "reversed"

        def index_terms(self, text: str) -> list[str]:
            return [word[::-1] for word in text.casefold().split()]

        def query_terms(self, text: str) -> list[str]:
            return list(dict.fromkeys(self.index_terms(text)))

    home.lexicon = Reversed()
    home.service = home.make_service()
    assert home.found("tea") == []
    assert run() == {"stale_texts": 1}
    assert home.found("tea") == ["Likes tea"]
    assert home.vocabulary() & {"aet", "tea", "mur", "rum"} == {"aet"}
    home.forget(made.memory_id)
    assert "aet" not in home.vocabulary()


def test_other_processes_learn_which_scopes_changed(home: MemoryHome) -> None:
    changes = lambda seq: home.do(home.db.read(lambda tx: home.service.changes_since(tx, seq)))  # noqa: E731
    home.remember("Likes tea")
    assert changes(0)[0] == []  # our own
    other = home.make_service(owner="own_2")
    mark = changes(0)[1]
    own, home.service = home.service, other
    home.remember("Uses tabs", scope=WS1)
    home.service = own
    assert changes(mark)[0] == [WS1]
    assert changes(changes(mark)[1])[0] == []
    home.later(2 * DAY)
    home.do(home.service.sweep())
    assert home.rows("SELECT 1 FROM memory_change") == []


def test_a_slow_read_is_told_and_not_waited_for(home: MemoryHome, monkeypatch: pytest.MonkeyPatch) -> None:
    home.remember("Likes tea")
    monkeypatch.setattr("memory.read.searching.QUERY_SECONDS", -1.0)
    monkeypatch.setattr("gateway.store.threads.PROGRESS_STEPS", 1)
    with pytest.raises(Unavailable):
        home.found("tea")
