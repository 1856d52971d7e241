"""The pure decisions of a search: scores, order, floor, snippets, the gate."""

from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.hooks import ItemFact
from protocol.ports import SecretSpan
from protocol.settings import ThreadEpisodicSettings
from thread_episodic.budget import Floor, cut_at_word, floor_of, most_hits, room_of, snippet_of
from thread_episodic.model import Candidate, Filter, Places, chunk_id_of, parts_of
from thread_episodic.ranking import NEIGHBOUR_SHARE, Statistics, lexical_score, rank
from thread_episodic.search import match_of, telling_terms
from thread_episodic.visibility import is_visible, mask_range

CHUNK = Candidate(
    id=1, position=0, start=0, end=5, status="indexed", body="valve", term_count=10, item_id="i", turn_id="t",
    thread_id="th", role="user", at=100, turn_seq=5, item_seq=0, source_hash=b"h", is_partial=False,
)  # fmt: skip
ITEM = ItemFact(
    item_id="i", turn_id="t", thread_id="th", workspace_id="w", role="user", name=None, text="valve", at=100,
    turn_seq=5, item_seq=0, indexable=True,
)  # fmt: skip
WANTED = Filter(workspace_id="w", mode="workspace_threads", thread_id=None)
WEIGHTS = {"valve": 2.0, "gasket": 3.0}


def order(*chunks: Candidate) -> list[int]:
    return [item.candidate.id for item in rank(chunks, WEIGHTS, 10)]


def test_more_of_the_query_scores_more_and_the_rare_word_most() -> None:
    chunks = [
        replace(CHUNK, id=n, thread_id=f"th{n}", body=body)
        for n, body in enumerate(("valve", "gasket", "valve gasket"))
    ]
    assert order(*chunks) == [2, 1, 0]


def test_a_neighbour_of_a_good_chunk_comes_before_a_stranger() -> None:
    good = replace(CHUNK, id=1, body="valve gasket")
    beside = replace(CHUNK, id=2, turn_seq=6)
    same_turn = replace(CHUNK, id=3, item_seq=1)
    far = replace(CHUNK, id=4, turn_seq=9, at=999)
    assert order(far, same_turn, beside, good) == [1, 2, 3, 4]
    (first, second, *_) = rank([good, beside], WEIGHTS, 10)
    assert second.breakdown["neighbour"] == pytest.approx(min(1.0, first.breakdown["lexical"]))
    assert second.score == pytest.approx(second.breakdown["lexical"] + NEIGHBOUR_SHARE * first.breakdown["lexical"])


def test_equal_scores_are_newest_first_then_by_id() -> None:
    chunks = [replace(CHUNK, id=n, at=at, thread_id=f"th{n}") for n, at in ((3, 5), (1, 5), (2, 9))]
    assert order(*chunks) == order(*reversed(chunks)) == [2, 1, 3]


@given(st.dictionaries(st.sampled_from("abcd"), st.integers(1, 50)), st.integers(1, 500), st.integers(0, 10**6))
def test_a_score_is_between_0_and_a_bound_and_falls_with_length(
    counts: dict[str, int], length: int, chunks: int
) -> None:
    known = Statistics(chunks=chunks, average_terms=20, frequencies={"a": min(3, chunks), "b": chunks})
    weights = {term: known.weight(term) for term in "abcd"}
    assert all(weight > 0 for weight in weights.values())
    score = lexical_score(counts, length, weights, 20)
    assert 0 <= score <= 1.91
    assert lexical_score(counts, length + 50, weights, 20) <= score


def test_the_expression_says_where_and_quotes_every_term() -> None:
    assert match_of(Places(1), ["a", "b"]) == 'scope : ("w1") AND body : ("a" OR "b")'
    assert match_of(Places(1, thread=2), ["a"]) == 'scope : ("w1" AND "t2") AND body : ("a")'
    assert match_of(Places(1, other_than=2), ["a"]) == '(scope : ("w1") AND body : ("a")) NOT scope : "t2"'


def test_the_rarest_terms_choose_while_the_work_is_bounded() -> None:
    frequencies = {"rare": 2, "usual": 15_000, "common": 19_999, "absent": 0}
    assert telling_terms(list(frequencies), frequencies) == ["rare", "usual"]
    assert telling_terms(["common"], frequencies) == ["common"]
    assert telling_terms(["absent"], frequencies) == []


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
def test_a_chunk_that_is_not_what_is_stored_is_hidden(change: dict[str, object]) -> None:
    assert is_visible(CHUNK, ITEM, b"h", WANTED)
    assert not is_visible(replace(CHUNK, **change), ITEM, b"h", WANTED)


@pytest.mark.parametrize("change", [{"indexable": False}, {"workspace_id": "x"}, {"thread_id": "x"}, {"turn_id": "x"}])
def test_a_message_that_may_not_be_shown_is_hidden(change: dict[str, object]) -> None:
    assert not is_visible(CHUNK, msgspec.structs.replace(ITEM, **change), b"h", WANTED)
    assert not is_visible(CHUNK, None, None, WANTED)


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        ({"mode": "current_thread", "thread_id": "th"}, True), ({"mode": "current_thread", "thread_id": "x"}, False),
        ({"mode": "related_threads", "thread_id": "x"}, True), ({"mode": "related_threads", "thread_id": "th"}, False),
        ({"mode": "related_threads"}, False), ({"from_at": 100, "to_at": 100}, True), ({"from_at": 101}, False),
        ({"to_at": 99}, False), ({"roles": ("user",)}, True), ({"roles": ("assistant",)}, False),
        ({"excluded_turns": ("t",)}, False), ({"workspace_id": "x"}, False),
    ],
)  # fmt: skip
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
    assert parts_of(chunk_id_of("t.1:x", "i-2", position)) == ("t.1:x", "i-2", position)


@pytest.mark.parametrize(
    "name",
    ["", "thread:a/b/chunk_", "thread:a/chunk_1", "x:a/b/chunk_1", "thread:a/b/chunk_1 ", "thread:a/b/c/chunk_1"],
)
def test_what_is_no_chunk_name(name: str) -> None:
    assert parts_of(name) is None
