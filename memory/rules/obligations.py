"""Finds texts that ask something of their reader: an order, a rule, a wish about how to act, words to an assistant.

Rule 1: pure, and strict. It judges the notes of agents, of which a lost one costs little: in doubt a text asks.
Rule 2: every way to ask is one row, in any language; verbs of orders are those of `[statements]` of the languages.
"""
# ruff: noqa: RUF001  # words of many languages are the subject here

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final

from msgspec import Struct

from memory.extraction.rule_extraction import extract_statements
from memory.rules.categories import OBEYED
from memory.rules.claim_words import CLAUSE_MARK, OBLIGES
from memory.rules.hygiene import find_junk
from promt.handing_over import KEEPS
from promt.intents import detect
from promt.language.reader import either, whole
from promt.layout import sentences
from promt.patterns import compile_late
from promt.render import UNSEEN

MAX_READ_CHARS: Final = 4000
"""A longer text is refused unread: no note needs it."""


class Ask(Struct, frozen=True):
    """A way to ask, with a sentence for a person."""

    name: str
    why: str


TOO_LONG: Final = Ask("too_long", f"it is longer than {MAX_READ_CHARS} characters: nobody can tell what it asks")
STATED: Final = Ask("rule", "it states a rule or an order")
OF_MEMORY: Final = Ask("memory_order", "it tells what to remember or to forget")
ORDER: Final = Ask("order", "it begins as an order does")


def _begins(key: str) -> str:
    """Return the pattern of a word that a text begins with."""
    spaced, unspaced = (either("obligations", key, spaced=blanks) for blanks in (True, False))
    return rf"\A\W*(?:{spaced})\b|\A\W*(?:{unspaced})"


def _lasting() -> str:
    words = (whole("obligations", key) for key in ("lasting", "rule", "for_each"))
    return "|".join([*words, either("obligations", "lasting_anywhere"), _begins("all")])


def _of_models() -> str:
    speaker = either("obligations", "speaker")
    marks = r"(?<!\w)AI(?!\w)|<\|?\w+|\|>|#{2,}|\w+\.\w+\([^)]*\)|\[(?:system|inst|user|assistant)\]"
    return rf"{whole('obligations', 'of_models')}|{marks}|\A\s*(?:{speaker})\s*[:：]"


_ROWS: tuple[tuple[str, str, Callable[[], str]], ...] = (
    ("duty", "it says what has to be done, or what may be done without asking", lambda: whole("obligations", "duty")),
    ("lasting", "it says how things are done from now on", _lasting),
    ("wish", "it says what somebody wants to be done", lambda: either("obligations", "wish")),
    ("addressed", "it speaks to its reader", lambda: whole("obligations", "addressed")),
    ("of_models", "it speaks to or of an assistant, its instructions or its memory", _of_models),
    ("forgets", "it says that something holds no longer", lambda: whole("obligations", "forgets")),
)


@cache
def _rows() -> list[tuple[Ask, re.Pattern[str]]]:
    return [(Ask(name, why), re.compile(pattern(), re.IGNORECASE)) for name, why, pattern in _ROWS]


@cache
def _orders() -> re.Pattern[str]:
    """Return the pattern of an order's verb at the beginning of a clause, after a denial or words of politeness."""
    spaced, unspaced = (either("statements", "do", spaced=blanks) for blanks in (True, False))
    opening = rf"\A[\W_]*(?:(?:{either('obligations', 'before_order')})\s+)*"
    orders = f"{spaced}|{either('obligations', 'orders')}|{KEEPS.pattern}"
    return re.compile(rf"{opening}(?:{orders})(?!\w)|\A\W*(?:{unspaced})", re.IGNORECASE)


_SUBJECT: Final = compile_late(
    lambda: rf"\A\W*(?:\w+)(?:\s+\w+){{0,6}}?\s+(?:{either('obligations', 'tells_of')})\b", re.IGNORECASE
)
"""Begins a sentence whose first words look like an order and are its subject: "Test runs take an hour"."""
_BETWEEN_WORDS: Final = compile_late(r"[\W_]+")


def _clauses(text: str) -> Iterator[str]:
    """Yield each sentence of a text, then its clauses but the first, whose beginning is that of the sentence."""
    for start, end in sentences(text):
        sentence = text[start:end]
        yield sentence
        yield from CLAUSE_MARK.split(sentence)[1:]


def find_ask_of_name(name: str) -> Ask | None:
    """Return the way in which a key or a tag asks something of its reader, however its words are joined, or None."""
    return find_ask(name, "custom") or find_ask(_BETWEEN_WORDS.sub(" ", name), "custom")


def find_ask(text: str, category: str) -> Ask | None:
    """Return the way in which a note's text asks something of its reader, or None.

    Every text of a category that a model obeys does.
    """
    seen = UNSEEN.sub("", text).replace("’", "'")
    if category in OBEYED or OBLIGES.search(seen):
        return STATED
    if len(seen) > MAX_READ_CHARS:
        return TOO_LONG
    for ask, asks in _rows():
        if asks.search(seen):
            return ask
    if any(_orders().match(clause) and not _SUBJECT.match(clause) for clause in _clauses(seen)):
        return ORDER
    said = detect(seen)
    if said.remember or said.forget or said.no_save or said.no_recall:
        return OF_MEMORY
    junk = find_junk(seen)
    if junk is not None and junk.name == "order_to_model":
        return Ask(junk.name, junk.why)
    stated = extract_statements({"": seen})
    return STATED if any(fact.semantic.category in OBEYED for fact in stated) else None
