"""The pure decisions of a search: scores, order, floor, snippets, the gate."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from msgspec.structs import replace

from protocol.seams.house_facts import ItemFact
from protocol.seams.ports import SecretSpan
from protocol.settings import ThreadEpisodicSettings
from protocol.thread_episodic import chunk_id_of, parts_of_chunk
from retrieval.budget import Floor, cut_at_word, floor_of, most_hits, room_of, snippet_of
from retrieval.terms import SnowballLexicon
from thread_episodic.search.finding import RAREST, rarest, telling_terms
from thread_episodic.search.ranking import (
    NOBODY_NAMED,
    USUAL_COSINE,
    Passage,
    Statistics,
    WeightedQuery,
    qualities_of,
    rank,
    sessions,
)
from thread_episodic.search.text_scan import match_of
from thread_episodic.values import ChunkCandidate, Filter, IndexSource, Places
from thread_episodic.visibility import is_visible, mask_range

CHUNK = ChunkCandidate(
    id=1,
    position=0,
    start=0,
    end=5,
    status="indexed",
    terms=None,
    asks=0,
    is_dated=0,
    item_id="i",
    turn_id="t",
    thread_id="th",
    role="user",
    at=100,
    turn_seq=5,
    item_seq=0,
    speaker="user",
    source_hash=b"h",
    is_partial=0,
)
ITEM = ItemFact(
    item_id="i",
    turn_id="t",
    thread_id="th",
    workspace_id="w",
    role="user",
    name=None,
    text="valve",
    at=100,
    turn_seq=5,
    item_seq=0,
    indexable=True,
)
WANTED = Filter(workspace_id="w", mode="workspace_threads", thread_id=None)
QUESTION = WeightedQuery({"valve": 2.0, "gasket": 3.0, "melanie": 3.0}, asks_when=False)
HOUR = 3_600_000


def passage(row: int, own: str = "", **more: Any) -> Passage:
    """A chunk in a thread of its own that holds some of the question's terms."""
    held = frozenset(own.split())
    nothing = frozenset[str]()
    members: dict[str, Any] = {
        "thread_id": f"th{row}",
        "at": 100,
        "own": held,
        "around": held,
        "answered": nothing,
        "speaker": nothing,
        "asks": False,
        "is_dated": False,
        "length": 200,
        "is_named": True,
        "is_reply": False,
    }
    return Passage(row=row, **(members | more))


def order(*passages: Passage, question: WeightedQuery = QUESTION, has_meaning: bool = False) -> list[int]:
    return [one.row for one in rank(question, passages, has_meaning=has_meaning)]


def test_more_of_the_query_scores_more_and_the_rare_word_most() -> None:
    assert order(passage(0, "valve"), passage(1, "gasket"), passage(2, "valve gasket")) == [2, 1, 0]


@pytest.mark.parametrize(
    "better",
    [
        {"around": frozenset({"valve", "gasket"})},
        {"answered": frozenset({"gasket"})},
        {"speaker": frozenset({"melanie"})},
    ],
)
def test_what_stands_around_an_answer_and_who_gives_it_counts(better: dict[str, Any]) -> None:
    assert order(passage(1, "valve"), passage(2, "valve", **better)) == [2, 1]


def test_an_answer_gains_by_what_it_says() -> None:
    """Of "OK." nothing is known but what was asked; the question itself says more."""
    held = frozenset(QUESTION.weights)
    asked = passage(1, " ".join(held), asks=True)
    nod, telling = (
        passage(row, around=held, answered=held, length=length, thread_id="th1", at=101)
        for row, length in ((2, 3), (3, 120))
    )
    for has_meaning in (False, True):
        assert order(asked, nod, has_meaning=has_meaning) == [1, 2]
        assert order(nod, telling, has_meaning=has_meaning) == [3, 2]


@pytest.mark.parametrize("has_meaning", [False, True])
def test_who_has_no_name_stands_alone_and_a_reply_of_theirs_weighs_less(*, has_meaning: bool) -> None:
    said = passage(1, "valve gasket", is_named=False, cosine=0.5)
    reply = passage(2, "valve gasket", is_named=False, is_reply=True, cosine=0.5)
    lent = frozenset(QUESTION.weights)
    assert order(reply, said, has_meaning=has_meaning) == [1, 2]
    ranked = rank(QUESTION, [said, structs.replace(said, row=3, around=lent, answered=lent)], has_meaning=has_meaning)
    assert ranked[0].score == ranked[1].score


def test_the_longer_of_two_holds_words_by_chance() -> None:
    long, short = (passage(row, "valve", is_named=False, length=length) for row, length in ((1, 1500), (2, 400)))
    assert order(long, short) == [2, 1]


def test_one_word_of_many_is_chance_where_a_message_stands_alone() -> None:
    """What means the question, without a word of it, comes before what has a word by chance."""
    chance = passage(1, "valve", is_named=False, cosine=0.25)
    meant = passage(2, is_named=False, cosine=0.55)
    assert order(chance, meant, has_meaning=True) == [2, 1]


def test_a_question_holds_no_answer() -> None:
    assert order(passage(1, "valve", asks=True), passage(2, "valve")) == [2, 1]


def test_a_time_counts_where_a_time_is_asked_for() -> None:
    dated, other = passage(1, "valve", is_dated=True), passage(2, "valve")
    assert order(other, dated, question=structs.replace(QUESTION, asks_when=True)) == [1, 2]
    first, second = rank(QUESTION, [other, dated], has_meaning=False)
    assert first.score == second.score
    (named, *_) = rank(structs.replace(QUESTION, names_time=True), [other], has_meaning=False)
    assert named.score > first.score


def test_who_all_of_them_are_by_tells_none_from_another() -> None:
    named = [passage(row, "valve", speaker=frozenset({"melanie"})) for row in (1, 2)]
    assert all(part["speaker"] == NOBODY_NAMED for part in qualities_of(QUESTION, named, has_meaning=False))


def test_a_session_about_the_question_lifts_what_is_said_in_it() -> None:
    lone = passage(1, "valve", thread_id="a")
    alike = [passage(row, "valve gasket melanie", thread_id="b", at=100 + row) for row in (2, 3)]
    lifted = passage(4, "valve", thread_id="b", at=110)
    assert order(lone, *alike, lifted)[2:] == [4, 1]


def test_a_night_ends_a_session_and_a_meal_does_not() -> None:
    said = [passage(row, thread_id="a", at=at * HOUR) for row, at in enumerate((0, 5, 10, 17, 18))]
    elsewhere = passage(9, thread_id="b", at=10 * HOUR)
    assert sessions([*said, elsewhere]) == [0, 0, 0, 1, 1, 2]


def test_meaning_counts_where_there_is_one_and_its_lack_is_neither_good_nor_bad() -> None:
    near, unmade, far = passage(1, "valve", cosine=0.6), passage(2, "valve"), passage(3, "valve", cosine=0.0)
    assert order(far, unmade, near, has_meaning=True) == [1, 2, 3]
    parts = qualities_of(QUESTION, [unmade, passage(4, cosine=USUAL_COSINE)], has_meaning=True)
    assert [part["meaning"] for part in parts] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("change", "is_about"),
    [
        ({"own": "valve"}, True),
        ({"answered": frozenset({"valve"})}, True),
        ({"cosine": 0.4}, True),
        ({"cosine": 0.1}, False),
        ({"around": frozenset({"valve"})}, False),
        ({}, False),
    ],
)
def test_what_only_stands_beside_an_answer_is_none(change: dict[str, Any], *, is_about: bool) -> None:
    assert passage(1, **change).is_about is is_about


def test_equal_scores_are_newest_first_then_by_row() -> None:
    said = [passage(row, "valve", at=at) for row, at in ((3, 5), (1, 5), (2, 9))]
    assert order(*said) == order(*reversed(said)) == [2, 1, 3]


HELD = st.frozensets(st.sampled_from(sorted(QUESTION.weights)))


@given(
    drawn=st.lists(st.tuples(HELD, HELD, st.booleans(), st.none() | st.floats(-1, 1)), min_size=1, max_size=8),
    has_meaning=st.booleans(),
)
def test_a_score_is_between_0_and_1_and_grows_with_what_is_held(
    drawn: list[tuple[frozenset[str], frozenset[str], bool, float | None]], *, has_meaning: bool
) -> None:
    said = [
        passage(row, around=own | around, own=" ".join(own), asks=asks, cosine=cosine)
        for row, (own, around, asks, cosine) in enumerate(drawn)
    ]
    ranked = rank(QUESTION, said, has_meaning=has_meaning)
    assert all(0 < one.score < 1 for one in ranked)
    assert [one.score for one in ranked] == sorted((one.score for one in ranked), reverse=True)
    whole = frozenset(QUESTION.weights)
    better = rank(QUESTION, [structs.replace(said[0], own=whole, around=whole), *said[1:]], has_meaning=has_meaning)
    of_first = {one.row: one.score for one in ranked}[0]
    assert {one.row: one.score for one in better}[0] >= of_first


@given(st.dictionaries(st.sampled_from("abcd"), st.integers(0, 10**6)), st.integers(0, 10**6))
def test_a_weight_is_positive_and_the_rarer_term_weighs_no_less(frequencies: dict[str, int], chunks: int) -> None:
    known = Statistics(chunks=chunks, frequencies=frequencies)
    weights = [known.weight(term) for term in sorted("abcd", key=lambda term: frequencies.get(term, 0))]
    assert all(weight > 0 for weight in weights)
    if all(frequency <= chunks for frequency in frequencies.values()):
        assert weights == sorted(weights, reverse=True)


def test_the_expression_says_where_and_quotes_every_term() -> None:
    assert match_of(Places(1), "a") == '"w1·a"'
    assert match_of(Places(1, thread=2), "a") == '"t2" AND "w1·a"'
    assert match_of(Places(1, other_than=2), "a") == '"w1·a" NOT "t2"'


@given(st.text(max_size=200), st.integers(1, 999), st.integers(1, 999))
def test_a_chunk_is_indexed_with_its_thread_and_each_term_with_its_workspace(
    text: str, workspace: int, thread: int
) -> None:
    """Whatever is said, no word of it is a thread's term or another workspace's."""
    terms = SnowballLexicon().index_terms(f"{text} t{thread}")
    held = IndexSource(id=1, workspace=workspace, thread=thread).entry(" ".join(terms)).split(" ")
    assert held == [f"t{thread}", *(f"w{workspace}·{term}" for term in terms)]


def test_the_rarest_terms_choose_while_the_work_is_bounded() -> None:
    frequencies = {"rare": 2, "usual": 15_000, "common": 19_999, "absent": 0}
    assert telling_terms(list(frequencies), frequencies) == ["rare", "usual"]
    assert telling_terms(["common"], frequencies) == ["common"]
    assert telling_terms(["absent"], frequencies) == []


def test_of_too_many_terms_the_rarest_that_occur_are_kept_in_their_order() -> None:
    terms = [f"t{number}" for number in range(3 * RAREST)]
    frequencies = {term: number % 3 * (len(terms) - number) for number, term in enumerate(terms)}
    kept = rarest(terms, frequencies)
    assert kept == [term for term in terms if term in kept]
    assert len(kept) == RAREST
    assert all(frequencies.values()) is False
    least = min(frequencies[term] for term in kept)
    most = max(frequencies[term] for term in kept)
    assert least > 0
    assert all(not 0 < frequencies[term] < most for term in terms if term not in kept)
    assert rarest(terms[:RAREST], frequencies) == terms[:RAREST]


def test_who_said_it_has_a_name_unless_the_role_stands_for_it() -> None:
    assert not CHUNK.is_named
    assert not CHUNK._replace(role="assistant", speaker="assist").is_named
    assert CHUNK._replace(speaker="melani").is_named


def test_the_floors_and_numbers_in_force() -> None:
    settings = ThreadEpisodicSettings()
    assert floor_of(settings, None) == Floor(0.25, 1)
    assert floor_of(settings, 0.7) == Floor(0.7, 0)
    assert (most_hits(settings, 100), most_hits(settings, 20)) == (100, 20)
    assert most_hits(msgspec.structs.replace(settings, default_max_candidates=3), 20) == 3
    assert (room_of(settings, None), room_of(settings, 5000), room_of(settings, 99_999)) == (2400, 5000, 12_000)


@given(st.text(max_size=600), st.integers(1, 200))
def test_a_snippet_is_a_part_of_the_text_within_its_size(text: str, size: int) -> None:
    snippet = snippet_of(text, size, lambda part: part.count("e"))
    assert len(snippet.text) <= size
    assert snippet.text in text
    assert snippet.is_whole == (snippet.text == text.strip() and len(text.strip()) <= size)


def test_a_sentence_too_long_for_a_snippet_is_shown_where_it_matters() -> None:
    text = "word " * 100 + "needle " + "word " * 100
    assert "needle" in snippet_of(text, 60, lambda part: part.count("needle")).text


def test_a_cut_is_between_words_where_there_is_a_blank() -> None:
    assert cut_at_word("alpha beta gamma", 12) == "alpha beta"
    assert cut_at_word("alpha beta gamma", 10) == "alpha beta"
    assert cut_at_word("x" * 20, 10) == "x" * 10


@pytest.mark.parametrize(
    "change",
    [
        {"status": "excluded"},
        {"status": "retired"},
        {"source_hash": b"other"},
        {"end": 6},
        {"thread_id": "x"},
        {"turn_id": "x"},
    ],
)
def test_a_chunk_that_is_not_what_is_stored_is_hidden(change: dict[str, Any]) -> None:
    assert is_visible(CHUNK, ITEM, b"h", WANTED)
    assert not is_visible(CHUNK._replace(**change), ITEM, b"h", WANTED)


@pytest.mark.parametrize("change", [{"indexable": False}, {"workspace_id": "x"}, {"thread_id": "x"}, {"turn_id": "x"}])
def test_a_message_that_may_not_be_shown_is_hidden(change: dict[str, object]) -> None:
    assert not is_visible(CHUNK, msgspec.structs.replace(ITEM, **change), b"h", WANTED)
    assert not is_visible(CHUNK, None, None, WANTED)


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        ({"mode": "current_thread", "thread_id": "th"}, True),
        ({"mode": "current_thread", "thread_id": "x"}, False),
        ({"mode": "related_threads", "thread_id": "x"}, True),
        ({"mode": "related_threads", "thread_id": "th"}, False),
        ({"mode": "related_threads"}, False),
        ({"from_at": 100, "to_at": 100}, True),
        ({"from_at": 101}, False),
        ({"to_at": 99}, False),
        ({"roles": ("user",)}, True),
        ({"roles": ("assistant",)}, False),
        ({"excluded_turns": ("t",)}, False),
        ({"workspace_id": "x"}, False),
    ],
)
def test_the_gate_applies_every_filter(change: dict[str, object], *, shown: bool) -> None:
    assert is_visible(CHUNK, ITEM, b"h", replace(WANTED, **change)) is shown


def test_a_secret_is_masked_also_where_a_chunk_cuts_it() -> None:
    text = "key=ABCDEFGH end"
    spans = [SecretSpan(kind="token", start=4, end=12)]
    assert mask_range(text, spans, 0, 16) == "key=[secret:token] end"
    assert mask_range(text, spans, 0, 8) == "key=[secret:token]"
    assert mask_range(text, spans, 8, 16) == "[secret:token] end"
    assert mask_range(text, spans, 12, 16) == " end"
    assert mask_range(text, [], 0, 3) == "key"


@given(st.integers(0, 999_999))
def test_a_chunk_is_named_both_ways(position: int) -> None:
    assert parts_of_chunk(chunk_id_of("t.1:x", "i-2", position)) == ("t.1:x", "i-2", position)


@pytest.mark.parametrize(
    "name",
    ["", "thread:a/b/chunk_", "thread:a/chunk_1", "x:a/b/chunk_1", "thread:a/b/chunk_1 ", "thread:a/b/c/chunk_1"],
)
def test_what_is_no_chunk_name(name: str) -> None:
    assert parts_of_chunk(name) is None
