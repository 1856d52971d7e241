"""Whether new words are the old ones with a detail: pairs written by hand in ten languages, with no false one, and what
holds of any text."""

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory.rules.precision import detail_of, find_added_detail

PAIRS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "corpora" / "updates" / "pairs.jsonl").read_text("utf-8").splitlines()
]
MIN_FOUND = 0.95


def told(pair):
    return find_added_detail(pair["old"], pair["new"], is_one_slot=pair["one_slot"])


def test_the_pairs_are_many_and_of_many_languages():
    assert sum(pair["is_update"] for pair in PAIRS) >= 60
    assert sum(not pair["is_update"] for pair in PAIRS) >= 120
    assert len({pair["language"] for pair in PAIRS}) >= 10


def test_details_are_found():
    missed = [pair["id"] for pair in PAIRS if pair["is_update"] and told(pair) is None]
    assert len(missed) <= (1 - MIN_FOUND) * sum(pair["is_update"] for pair in PAIRS), missed


def test_nothing_else_is_a_detail():
    assert [(pair["id"], told(pair)) for pair in PAIRS if not pair["is_update"] and told(pair) is not None] == []


def test_a_detail_is_never_taken_back():
    updates = [pair for pair in PAIRS if pair["is_update"]]
    assert [one["id"] for one in updates if find_added_detail(one["new"], one["old"], is_one_slot=False)] == []


@given(st.text(max_size=60), st.booleans())
def test_the_same_words_add_nothing(text, is_one_slot):
    assert find_added_detail(text, text, is_one_slot=is_one_slot) is None


@given(st.sampled_from([pair["old"] for pair in PAIRS]), st.text(max_size=30), st.booleans())
@example("My birthday is on the 6th of May", "²", True)
def test_what_is_added_stands_in_the_new_words_and_the_old_words_too(old, tail, is_one_slot):
    new = f"{old} {tail}"
    added = find_added_detail(old, new, is_one_slot=is_one_slot)
    shown = "".join(unicodedata.normalize("NFKC", new).split())
    assert added is None or all(part in shown for part in added.split())


@pytest.mark.parametrize(
    ("known", "said", "detail"),
    [
        (("I was born on May 6", "05-06"), ("My birthday is May 6, 1990", "1990-05-06"), "1990-05-06"),
        (("I was born on May 6", "05-06"), ("I was born on May 6, 1990", "1990-06-05"), None),
        (("Lives in Porto", "Porto"), ("The user is at home in Porto, Rua X", "Porto, Rua X"), "Rua X"),
        (("Lives in Porto", "Porto"), ("Lives in Porto, Rua X", "Lisbon"), None),
        (("Lives in Porto", None), ("Lives in Porto, Rua X", "Porto, Rua X"), "Rua X"),
        (("Lives in Porto", "Porto"), ("Lives in Porto, Rua X", None), None),
        (("Five servers", 5), ("Five servers", 6), None),
        (("Five servers", 5), ("Five servers at 16:00", 5), "at 16:00"),
    ],
)
def test_values_are_compared_where_both_have_one(known, said, detail):
    assert detail_of(*known, *said, is_one_slot=True) == detail


def test_two_values_of_a_set_are_two_facts():
    assert detail_of("We meet", "Porto", "We meet at 16:00", "Porto, Rua X", is_one_slot=False) is None
