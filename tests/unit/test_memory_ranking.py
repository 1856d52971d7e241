"""Scores mean the same for any size of memory."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from memory.read.ranking import (
    DAY_MS,
    GAINS_BY_MEANING,
    MOST_RECALLED,
    NEED_GAIN,
    RECALL_FLOOR,
    RECALL_ODDS,
    SEARCH_FLOOR,
    QueryTerms,
    Score,
    Scored,
    count_recallable,
    cut_snippet,
    rarity,
    score_all,
)
from retrieval.weights import logistic

WORDS = ["tea", "jam", "vim", "paris", "deploy", "friday", "dog", "blue"]
bodies = st.lists(st.sampled_from(WORDS), max_size=8)
queries = st.lists(st.sampled_from([*WORDS, "unknown"]), min_size=1, max_size=6, unique=True)
questions = st.builds(
    QueryTerms, terms=queries, has_vector=st.booleans(), is_about_user=st.booleans(), need=st.none() | st.floats(-4, 4)
)
NOW = 1_000 * DAY_MS


def score(asked: QueryTerms, record: Scored, weights: dict[str, float], now: int) -> Score:
    return score_all(asked, [record], weights, now)[0]


def scored(terms: list[str], **changes: object) -> Scored:
    return structs.replace(Scored(terms, list(dict.fromkeys(terms)), 1.0, NOW, 0.9, 1.0, 1), **changes)


records = st.builds(
    Scored,
    terms=bodies,
    gist=bodies,
    nearness=st.sampled_from([1.0, 1.02, 1.04]),
    updated_at=st.integers(0, 2 * NOW),
    standing=st.floats(0, 3),
    confidence=st.floats(0, 1),
    evidence_count=st.integers(0, 10_000),
    cosine=st.none() | st.floats(-1, 1),
    crowding=st.none() | st.floats(-1, 1),
    commonness=st.none() | st.floats(-1, 1),
    is_about_user=st.booleans(),
    is_machine=st.booleans(),
    is_faded=st.booleans(),
    kind_factor=st.sampled_from([0.8, 1.0, 1.25, 1.875]),
)


@given(questions, st.lists(records, min_size=1, max_size=6), st.integers(0, 1000))
def test_a_score_is_between_0_and_1_and_the_same_again(asked: QueryTerms, found: list[Scored], population: int) -> None:
    weights = rarity(asked.terms, [record.terms for record in found], population)
    assert all(weight > 0 for weight in weights.values())
    for record in found:
        got = score(asked, record, weights, NOW)
        assert 0 <= got.total <= 1
        assert got == score(asked, record, weights, NOW)
        assert got.shared == [term for term in asked.terms if term in record.terms]


@given(questions, bodies, st.lists(bodies, max_size=5))
def test_one_more_shared_term_never_lowers_a_score(
    asked: QueryTerms, terms: list[str], others: list[list[str]]
) -> None:
    weights = rarity(asked.terms, [terms, asked.terms, *others], 10)
    before = score(asked, scored(terms), weights, NOW).log_odds
    for term in asked.terms:
        assert score(asked, scored([*terms, term]), weights, NOW).log_odds >= before


BETTER = {
    "standing": 3.0,
    "confidence": 1.0,
    "evidence_count": 20_000,
    "nearness": 1.05,
    "updated_at": NOW,
    "cosine": 1.0,
    "crowding": -1.0,
    "commonness": -1.0,
    "is_about_user": True,
    "is_machine": False,
    "is_faded": False,
    "kind_factor": 1.875,
}


@given(questions, records, st.sampled_from(sorted(BETTER)))
def test_a_better_property_never_lowers_a_score(asked: QueryTerms, record: Scored, name: str) -> None:
    value = getattr(record, name)
    if value is None or (name in {"standing", "confidence", "nearness", "updated_at"} and value > BETTER[name]):
        return
    weights = rarity(asked.terms, [record.terms], 5)
    low = score(asked, record, weights, NOW).log_odds
    assert score(asked, structs.replace(record, **{name: BETTER[name]}), weights, NOW).log_odds >= low - 1e-9


@given(queries, bodies, st.integers(1, 50), st.permutations(range(4)))
def test_the_order_of_records_does_not_matter(
    query: list[str], terms: list[str], population: int, order: list[int]
) -> None:
    others = [["tea"], ["jam", "vim"], ["dog"], ["blue", "tea"]]
    first = rarity(query, [terms, *others], population)
    second = rarity(query, [*(others[n] for n in order), terms], population)
    assert first == second


@given(questions, bodies)
def test_boosts_move_a_score_by_little(asked: QueryTerms, terms: list[str]) -> None:
    weights = rarity(asked.terms, [terms], 5)
    worst = scored(terms, updated_at=0, standing=0.0, confidence=0.0, evidence_count=0)
    best = scored(terms, nearness=1.04, standing=1.0, evidence_count=10_000)
    low, high = score(asked, worst, weights, NOW), score(asked, best, weights, NOW)
    assert low.log_odds <= high.log_odds <= low.log_odds + math.log(1.5)


def test_everything_asked_for_is_a_whole_hit_and_a_rare_word_counts_more() -> None:
    weights = rarity(["deploy", "friday"], [["deploy"]] * 9 + [["friday"]], 50)
    asked = QueryTerms(["deploy", "friday"])
    both = score(asked, scored(["deploy", "friday"]), weights, NOW)
    rare = score(asked, scored(["friday"]), weights, NOW)
    common = score(asked, scored(["deploy"]), weights, NOW)
    assert both.parts["lexical"] == 1.0
    assert both.total > rare.total > common.total


def test_a_short_record_inside_a_long_question_is_a_hit_but_one_word_is_chance() -> None:
    query = ["deploy", "friday", "tea", "jam", "vim", "paris", "dog", "blue"]
    weights = rarity(query, [query], 20)
    assert score(QueryTerms(query), scored(["deploy", "friday"]), weights, NOW).total > RECALL_FLOOR
    assert score(QueryTerms(query), scored(["deploy"]), weights, NOW).total < RECALL_FLOOR
    assert 0 < SEARCH_FLOOR < RECALL_FLOOR < 1


@given(st.floats(-0.2, 1), st.floats(-0.2, 1), st.booleans())
def test_a_crowded_place_counts_less(cosine: float, crowding: float, is_about_user: bool) -> None:  # noqa: FBT001
    asked = QueryTerms([], has_vector=True, is_about_user=is_about_user)
    alone = score(asked, scored([], cosine=cosine, crowding=crowding), {}, NOW)
    crowded = score(asked, scored([], cosine=cosine, crowding=crowding + 0.1), {}, NOW)
    assert crowded.log_odds < alone.log_odds


def test_who_asks_about_themselves_is_answered_sooner() -> None:
    near = scored([], cosine=0.4, crowding=0.35)
    assert score(QueryTerms([], has_vector=True), near, {}, NOW).total < RECALL_FLOOR
    assert score(QueryTerms([], has_vector=True, is_about_user=True), near, {}, NOW).total > RECALL_FLOOR


def test_commonness_orders_and_crowding_decides_how_likely_the_best_is() -> None:
    asked = QueryTerms([], has_vector=True)
    rare = scored([], cosine=0.4, crowding=0.3, commonness=0.1)
    common = scored([], cosine=0.41, crowding=0.3, commonness=0.3)
    first, second = score_all(asked, [rare, common], {}, NOW)
    assert first.log_odds > second.log_odds
    crowded = [structs.replace(one, crowding=0.4) for one in (rare, common)]
    lower = score_all(asked, crowded, {}, NOW)
    assert lower[0].log_odds < first.log_odds
    assert lower[0].log_odds - lower[1].log_odds == pytest.approx(first.log_odds - second.log_odds)


def test_a_damaged_vector_leaves_the_scores_of_others_whole() -> None:
    asked = QueryTerms([], has_vector=True)
    whole = scored([], cosine=0.5, crowding=0.2, commonness=0.1)
    alone = score_all(asked, [whole], {}, NOW)[0]
    beside = score_all(asked, [whole, scored([], cosine=math.nan, crowding=math.nan)], {}, NOW)[0]
    assert beside.log_odds == pytest.approx(alone.log_odds)


def test_what_has_no_vector_yet_is_judged_by_its_words() -> None:
    weights = rarity(["deploy"], [["deploy"]], 50)
    whole = score(QueryTerms(["deploy"], has_vector=True), scored(["deploy"]), weights, NOW)
    nothing = score(QueryTerms(["deploy"], has_vector=True), scored([]), weights, NOW)
    assert whole.total > RECALL_FLOOR > nothing.total


@given(st.lists(st.floats(-12, 12), max_size=12))
def test_what_is_recalled_is_near_the_best_and_nothing_is_where_that_is_weak(odds: list[float]) -> None:
    ranked = sorted(odds, reverse=True)
    count = count_recallable(ranked)
    if not ranked or 1 / (1 + math.exp(-ranked[0])) < RECALL_FLOOR:
        assert count == 0
    else:
        assert count >= 1
        assert 1 <= count <= MOST_RECALLED
        behind = [(ranked[0] - value) * math.sqrt(rank) for rank, value in enumerate(ranked, 1)]
        assert all(value <= math.log(RECALL_ODDS) + 1e-9 for value in behind[:count])
        following = behind[count:MOST_RECALLED][:1]
        assert all(value > math.log(RECALL_ODDS) - 1e-9 for value in following)


def test_a_prompt_that_needs_the_person_recalls_sooner_in_the_same_order() -> None:
    weights = rarity(["deploy", "friday"], [["deploy"], ["friday"]] * 5, 50)
    found = [scored(["deploy"]), scored(["friday", "deploy"]), scored([])]
    plain = score_all(QueryTerms(["deploy", "friday"], need=0.0), found, weights, NOW)
    needed = score_all(QueryTerms(["deploy", "friday"], need=1.5), found, weights, NOW)
    gained = [one.log_odds - other.log_odds for one, other in zip(needed, plain, strict=True)]
    assert gained == pytest.approx([1.5 * NEED_GAIN] * 3)
    assert [one.parts for one in needed] == [one.parts for one in plain]


def test_a_prompt_by_meaning_has_a_level_of_its_own_that_a_search_lacks() -> None:
    found, weights = [scored(["deploy"]), scored([])], rarity(["deploy"], [["deploy"], []], 50)
    searched, shown = (score_all(QueryTerms(["deploy"], True, need=need), found, weights, NOW) for need in (None, 0.0))
    gained = [one.log_odds - other.log_odds for one, other in zip(shown, searched, strict=True)]
    assert gained == pytest.approx([GAINS_BY_MEANING.in_prompt] * 2)
    assert min(gained) > 0


def test_no_query_and_no_words_have_no_share() -> None:
    assert score(QueryTerms([]), scored(["tea"]), {}, NOW).lexical == 0
    assert score(QueryTerms(["tea"]), scored([]), rarity(["tea"], [], 0), NOW).lexical == 0


def test_a_word_that_only_one_record_has_tells_more_than_one_that_all_have() -> None:
    alone, others = scored(["tea"]), [scored(["jam"])] * 9
    weights = rarity(["tea"], [["tea"]], 100)
    distinct = score_all(QueryTerms(["tea"]), [alone, *others], weights, NOW)[0]
    usual = score_all(QueryTerms(["tea"]), [alone] * 10, weights, NOW)[0]
    assert distinct.log_odds > usual.log_odds


@given(st.text(max_size=400), st.integers(10, 80))
def test_a_snippet_is_short_and_from_the_content(content: str, max_chars: int) -> None:
    piece = cut_snippet(content, ["a", "ß"], max_chars)
    assert len(piece) <= max_chars
    assert piece.strip("…") in content
    assert piece == content or len(content) > max_chars


@pytest.mark.parametrize("filler", ["x ", "ß", "İ"])
def test_a_snippet_shows_the_word_that_matched(filler: str) -> None:
    content = filler * 300 + " needle is here " + "y " * 300
    piece = cut_snippet(content, ["needle"], 60)
    assert len(piece) <= 60
    assert "needle" in piece


@pytest.mark.parametrize(
    ("log_odds", "expected"),
    [(0.0, 0.5), (-1e9, 0.0), (1e9, 1.0), (float("-inf"), 0.0), (float("nan"), 0.0), (-2.0, 0.1192)],
)
def test_the_score_of_a_damaged_vector_is_a_score(log_odds: float, expected: float) -> None:
    assert round(logistic(log_odds), 4) == expected
