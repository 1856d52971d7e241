"""Scores mean the same for any size of memory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.ranking import DAY_MS, INJECTION_FLOOR, SEARCH_FLOOR, Scored, rarity, relevance_of, score, snippet

WORDS = ["tea", "jam", "vim", "paris", "deploy", "friday", "dog", "blue"]
bodies = st.lists(st.sampled_from(WORDS), max_size=8)
queries = st.lists(st.sampled_from([*WORDS, "unknown"]), min_size=1, max_size=6, unique=True)
NOW = 1_000 * DAY_MS


def scored(terms: list[str], **changes: object) -> Scored:
    return Scored(terms, list(dict.fromkeys(terms)), 1.0, NOW, 0.5, 1.0, 1)._replace(**changes)


records = st.builds(
    Scored,
    terms=bodies,
    gist=bodies,
    nearness=st.sampled_from([1.0, 1.02, 1.04]),
    updated_at=st.integers(0, 2 * NOW),
    importance=st.floats(0, 1),
    confidence=st.floats(0, 1),
    evidence_count=st.integers(0, 10_000),
    cosine=st.none() | st.floats(-1, 1),
)


@given(queries, st.lists(records, min_size=1, max_size=6), st.integers(0, 1000))
def test_a_score_is_between_0_and_1_and_the_same_again(query: list[str], found: list[Scored], population: int) -> None:
    weights = rarity(query, [record.terms for record in found], population)
    assert all(weight > 0 for weight in weights.values())
    for record in found:
        got = score(query, record, weights, NOW)
        assert 0 <= got.total <= 1
        assert got.total == pytest.approx(min(1.0, got.place), abs=1e-4)
        assert got == score(query, record, weights, NOW)
        assert got.shared == [term for term in query if term in record.terms]
        if record.cosine is None:
            assert (got.total > 0) == bool(got.shared)


@given(queries, bodies, st.lists(bodies, max_size=5))
def test_one_more_shared_term_never_lowers_a_score(query: list[str], terms: list[str], others: list[list[str]]) -> None:
    weights = rarity(query, [terms, query, *others], 10)
    before = score(query, scored(terms), weights, NOW).total
    for term in query:
        assert score(query, scored([*terms, term]), weights, NOW).total >= before


@given(queries, records, st.sampled_from(["importance", "confidence", "evidence_count", "nearness", "updated_at"]))
def test_a_better_property_never_lowers_a_score(query: list[str], record: Scored, name: str) -> None:
    better = {"importance": 1.0, "confidence": 1.0, "evidence_count": 20_000, "nearness": 1.05, "updated_at": NOW}
    if getattr(record, name) > better[name]:
        return
    weights = rarity(query, [record.terms], 5)
    low = score(query, record, weights, NOW).total
    assert score(query, record._replace(**{name: better[name]}), weights, NOW).total >= low


@given(queries, bodies, st.integers(1, 50), st.permutations(range(4)))
def test_the_order_of_records_does_not_matter(
    query: list[str], terms: list[str], population: int, order: list[int]
) -> None:
    others = [["tea"], ["jam", "vim"], ["dog"], ["blue", "tea"]]
    first = rarity(query, [terms, *others], population)
    second = rarity(query, [*(others[n] for n in order), terms], population)
    assert first == second


@given(queries, bodies)
def test_boosts_move_a_score_by_little(query: list[str], terms: list[str]) -> None:
    weights = rarity(query, [terms], 5)
    worst = scored(terms, updated_at=0, importance=0.0, confidence=0.0, evidence_count=0)
    best = scored(terms, nearness=1.04, importance=1.0, evidence_count=10_000)
    low, high = score(query, worst, weights, NOW).total, score(query, best, weights, NOW).total
    assert low <= high
    assert high <= low * 1.25 + 1e-3


def test_everything_asked_for_is_a_whole_hit_and_a_rare_word_counts_more() -> None:
    weights = rarity(["deploy", "friday"], [["deploy"]] * 9 + [["friday"]], 50)
    both = score(["deploy", "friday"], scored(["deploy", "friday"]), weights, NOW)
    rare = score(["deploy", "friday"], scored(["friday"]), weights, NOW)
    common = score(["deploy", "friday"], scored(["deploy"]), weights, NOW)
    assert both.parts["lexical"] == 1.0
    assert both.total > rare.total > common.total


def test_a_short_record_inside_a_long_question_is_a_hit_but_one_word_is_chance() -> None:
    query = ["deploy", "friday", "tea", "jam", "vim", "paris", "dog", "blue"]
    weights = rarity(query, [query], 20)
    assert score(query, scored(["deploy", "friday"]), weights, NOW).total > INJECTION_FLOOR
    assert score(query, scored(["deploy"]), weights, NOW).total < INJECTION_FLOOR
    assert 0 < SEARCH_FLOOR < INJECTION_FLOOR < 1


def test_no_query_and_no_words_score_nothing() -> None:
    assert score([], scored(["tea"]), rarity([], [["tea"]], 1), NOW).total == 0
    assert score(["tea"], scored([]), rarity(["tea"], [], 0), NOW).total == 0


@given(st.text(max_size=400), st.integers(10, 80))
def test_a_snippet_is_short_and_from_the_content(content: str, max_chars: int) -> None:
    piece = snippet(content, ["a", "ß"], max_chars)
    assert len(piece) <= max_chars
    assert piece.strip("…") in content
    assert piece == content or len(content) > max_chars


@pytest.mark.parametrize("filler", ["x ", "ß", "İ"])
def test_a_snippet_shows_the_word_that_matched(filler: str) -> None:
    content = filler * 300 + " needle is here " + "y " * 300
    piece = snippet(content, ["needle"], 60)
    assert len(piece) <= 60
    assert "needle" in piece


@given(st.floats(0, 1), st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1))
def test_more_words_or_more_meaning_never_lowers_relevance(
    lexical: float, cosine: float, more: float, nearer: float
) -> None:
    base = relevance_of(lexical, cosine)
    assert relevance_of(lexical + more, cosine) >= base
    assert relevance_of(lexical, cosine + nearer) >= base
    assert relevance_of(None, cosine + nearer) >= relevance_of(None, cosine) >= 0


def test_what_shares_every_word_is_found_whatever_a_model_makes_of_it() -> None:
    assert relevance_of(1.0, -0.2) >= INJECTION_FLOOR


def test_a_record_whose_vector_is_not_there_yet_is_judged_by_its_words() -> None:
    assert relevance_of(0.4, None) == 0.4
