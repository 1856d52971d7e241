"""Where a text says a phrase, whatever its letters, and what is left of it."""

import unicodedata
from typing import Literal

import pytest
from cases import each
from hypothesis import given
from hypothesis import strategies as st

from protocol.saying import MARK, Saying, fold_text

ZORBLAX = Saying(["My vault is called Zorblax.", "zorblax"])


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Well, MY  vault\nis called zorblax! It stuck.", f"Well, {MARK}! It stuck."),
        ("zorblax's door, and (Zorblax).", f"{MARK}'s door, and ({MARK})."),
        ("thr_zorblax-plan.pdf", f"thr_{MARK}-plan.pdf"),
        ("zorblaxes are no zorblax2", "zorblaxes are no zorblax2"),
        (
            "\uff3a\uff4f\uff52\uff42\uff4c\uff41\uff58\u3067\u3059",
            f"{MARK}\u3067\u3059",
        ),  # full width, before a script without blanks
        ("", ""),
    ],
)
def test_a_phrase_is_found_by_its_letters_and_as_words_of_its_own(text: str, left: str) -> None:
    assert ZORBLAX.take_out(text) == left
    assert bool(ZORBLAX.find_phrases(text)) == (left != text)


@pytest.mark.parametrize(
    "phrase",
    [
        "Caf\u00e9 M\u00fcller",
        "\ud55c\uad6d\uc5b4 \uc218\uc5c5",
        "\u0995\u09cb\u09a5\u09be\u09af\u09bc",
        "\u6771\u4eac\u306e\u5bb6",
        "c++ 17",
    ],
)
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_it_is_found_however_its_letters_are_composed(phrase: str, form: Literal["NFC", "NFD"]) -> None:
    text = f"a {unicodedata.normalize(form, phrase)} b"
    assert Saying([phrase]).take_out(text) == f"a {MARK} b"


@each(
    ("text", "left"),
    [
        ("So **my vault is called Zorblax**!", f"So **{MARK}**!"),
        ("My *vault* is called __Zorblax__, see?", f"{MARK}__, see?"),
        ("> My vault\n> is called\n> > Zorblax.\nYes.", f"> {MARK}.\nYes."),
        ("my vault is called `Zorblax`", f"{MARK}`"),
        ("my vault is called Zor\u200bblax", MARK),
        ("my vau\u00adlt is called Zorblax", MARK),
        ("my vault is called \u202eZorblax\u202c", f"{MARK}\u202c"),
        ("my vault\ufe0f is called Zorblax", MARK),
    ],
)
def test_what_says_nothing_hides_no_phrase(text: str, left: str) -> None:
    assert ZORBLAX.take_out(text) == left


@given(st.text(), st.text(min_size=1), st.text())
def test_what_was_taken_out_is_not_found_again(before: str, phrase: str, after: str) -> None:
    saying = Saying([phrase])
    left = saying.take_out(f"{before} {phrase} {after}")
    assert not saying.find_phrases(left) or fold_text(phrase) in fold_text(MARK)


def test_of_json_only_what_is_text_is_changed_and_its_names_and_numbers_too() -> None:
    saying = Saying(["memory", "4711"])
    text = '{"name":"memory","arguments":{"memory":["the memory of \\"memory\\"",4711,true]}}'
    changed = saying.take_out_of_json(text, ("arguments",))
    assert changed == f'{{"name":"memory","arguments":{{"{MARK}":["the {MARK} of \\"{MARK}\\"","{MARK}",true]}}}}'
    assert saying.find_phrases_in_json(text, ("arguments",)) == {"memory", "4711"}
    assert not saying.find_phrases_in_json(changed, ("arguments",))
    assert saying.take_out_of_json("memory, cut", ("arguments",)) == f"{MARK}, cut"


def test_many_phrases_cost_what_few_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text is compared with the phrases alone whose longest word it has."""
    compared: list[str] = []
    monkeypatch.setattr("protocol.saying._places", lambda _flat, phrase: iter(compared.append(phrase) or ()))
    Saying(f"the word{n} of the day" for n in range(5000)).find_phrases("Which is the word17 of the day?")
    assert compared == ["the word17 of the day"]
