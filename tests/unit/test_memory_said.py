"""Which words are a memory's own, and what becomes of the places that say them."""

from typing import Any

import pytest

from memory.forget.own_terms import (
    COMMON_ROWS,
    ForgottenPhrases,
    KeptRecords,
    MemoryWords,
    collect_phrases,
    plan_redaction,
)
from memory.rules.same_words import is_telling
from protocol.seams.shelves import SayingRow
from retrieval.terms import SnowballLexicon

LEXICON = SnowballLexicon()
NOBODY = KeptRecords((), (), ())


def telling(word: str) -> bool:
    return is_telling(word, LEXICON)


def said(content: str, value: Any = None, *quotes: str) -> ForgottenPhrases:
    return collect_phrases([MemoryWords(content, [value], quotes)], telling)


def found(place: Any, name: str, *phrases: str, row: int = 1) -> SayingRow:
    return SayingRow(place, row, name, frozenset(phrases))


@pytest.mark.parametrize(
    ("content", "value", "own"),
    [
        (
            "The user's vault is called blue barn.",
            None,
            {"the user's vault is called blue barn", "vault is called blue barn"},
        ),
        ("The team meets in Lisbon.", None, {"the team meets in lisbon", "team meets in lisbon", "lisbon"}),
        ("The code is xq-4711.", None, {"the code is xq-4711", "code is xq-4711", "xq-4711"}),
        (
            "Der Nutzer mag Kaffee ohne Zucker.",
            None,
            {"der nutzer mag kaffee ohne zucker", "nutzer mag kaffee ohne zucker"},
        ),
        ("Runs 100km on the 20th of May 2026 at 10:30am.", None, {"runs 100km on the 20th of may 2026 at 10:30am"}),
        ("Likes it.", {"colour": "teal", "of": ["the", True, 7, 20260417]}, {"likes it", "teal", "20260417"}),
    ],
)
def test_the_words_of_a_memory_are_its_wording_its_value_names_and_codes(
    content: str, value: Any, own: set[str]
) -> None:
    assert said(content, value).all.phrases == own


def test_without_sources_nothing_is_taken_and_everything_is_named() -> None:
    places = [found("message", "itm_1", "teal"), found("memory", "mem_1", "teal"), found("memory", "mem_2", "teal")]
    plan = plan_redaction(
        places, said("Likes it.", "teal"), KeptRecords({"mem_2"}, (), {"mem_1"}), include_sources=False
    )
    assert plan.taken == []
    assert [(one.id, one.reason) for one in plan.left] == [("itm_1", "sources_kept"), ("mem_2", "another_memory")]


def test_what_a_kept_memory_says_stays_and_what_a_restorable_one_says_goes() -> None:
    places = [
        found("message", "itm_1", "teal", "likes it"),
        found("message", "itm_2", "teal"),
        found("memory", "mem_2", "teal"),
    ]
    mine = said("Likes it.", "teal")
    plan = plan_redaction(places, mine, KeptRecords({"mem_2"}, (), ()), include_sources=True)
    assert [one.id for one in plan.taken] == ["itm_1"]
    assert "teal" not in plan.saying.phrases
    assert {(one.id, one.reason) for one in plan.left} == {
        (name, "another_memory") for name in ("itm_1", "itm_2", "mem_2")
    }
    plan = plan_redaction(places, mine, KeptRecords((), {"mem_2"}, ()), include_sources=True)
    assert [one.id for one in plan.taken] == ["itm_1", "itm_2"]
    assert [(one.id, one.reason) for one in plan.left] == [("mem_2", "restorable")]


def test_a_quote_that_a_kept_memory_rests_upon_stays() -> None:
    mine = said("Has a dog.", None, "I live here with my dog")
    quote = "i live here with my dog"
    places = [found("evidence", "mem_2", quote), found("message", "itm_1", quote)]
    assert plan_redaction(places, mine, KeptRecords({"mem_2"}, (), ()), include_sources=True).taken == []


def test_a_single_word_that_many_places_say_is_nobodys_own() -> None:
    places = [found("message", f"itm_{n}", "teal", row=n) for n in range(COMMON_ROWS + 1)]
    mine = said("Likes it.", "teal")
    plan = plan_redaction(places, mine, NOBODY, include_sources=True)
    assert (plan.taken, {one.reason for one in plan.left}) == ([], {"common_word"})
    assert len(plan_redaction(places[1:], mine, NOBODY, include_sources=True).taken) == COMMON_ROWS


def test_a_name_that_others_refer_to_stays() -> None:
    place = SayingRow("thread", 1, "thr_teal", frozenset(), frozenset({"teal"}))
    plan = plan_redaction([place], said("Likes it.", "teal"), NOBODY, include_sources=True)
    assert [(one.id, one.reason) for one in plan.left] == [("thr_teal", "identifier")]
