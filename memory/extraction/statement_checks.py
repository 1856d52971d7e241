"""Checks that words in the form of a statement are meant as one, and for good.

Rule 1: precision before yield. Words that may be of the moment, about the work at hand, conditional, a role, a joke or
a question are not meant. A request to keep something passes checks that a mere statement does not.
Rule 2: it judges by form, mood and surroundings of the words; how a language expresses these is a row of `wordings.py`.
"""
# ruff: noqa: RUF001  # statements of many languages are the subject here

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from memory.extraction.wordings import Kind, Tongue, build_conjunction, find_tongues, list_no_names
from promt.language.reader import either, list_words
from promt.layout import MASK
from promt.patterns import compile_late

MAX_NAME_WORDS = 4
MIN_CONTENT_CHARS = 3
MAX_LEADS = 4  # greetings and the like before a statement: "Hi, thanks! Also please …"

_WISHES = frozenset[Kind](["nickname", "preference", "address", "instruction"])
_NAMES = frozenset[Kind](["name", "nickname"])
_ASKS = frozenset[Kind](["remember", "nickname", "address", "instruction"])
"""Statements that ask the assistant for something. "…, ok?" makes them polite, and turns others into a question."""
_MAY_DEPEND = frozenset[Kind](["remember", "instruction", "address"])
"""An order may hold under a condition; who somebody is does not."""
_ORDERS = frozenset[Kind](["instruction", "policy", "language"])
_KEPT = frozenset[Kind](["remember", "ours", "project", "decided"])
"""Statements that are asked for in so many words: the surroundings do not count."""

_YET = compile_late(
    lambda: (
        rf"\s*[,，]?\s*(?:(?:{either('extraction', 'but', spaced=True)})\b|{either('extraction', 'but', spaced=False)})"
    ),
    re.IGNORECASE,
)
_QUESTION = compile_late(r"[?？][\s\"”»')\]]*$")
_ASKED_POLITELY = compile_late(
    lambda: rf"[\w ,¿]{{0,20}}?(?:{either('extraction', 'asked_politely')}) ?", re.IGNORECASE
)
_OPENING = compile_late(r"[\s¡¿*•–—-]*")
_POLITE = compile_late(lambda: rf"(?:(?:{either('extraction', 'asks_for_work')})\s*)*", re.IGNORECASE)
_CLAUSE_END = compile_late(lambda: rf"[,.;:!?，。；：！？…—–]|\s{build_conjunction()}\b", re.IGNORECASE)
_TITLES = compile_late(
    lambda: rf"(?:(?:{either('extraction', 'titles')}) |(?:{either('extraction', 'titles_joined')}))*"
)
_FORMULA = compile_late(lambda: rf"\w{{1,2}}\s*(?:[=:+*/^-]|(?:{either('extraction', 'equals')}))\s*\d", re.IGNORECASE)
_TITLE = compile_late(r"(?:Always|Never|Only)(?: [A-Z]\w+){2,}")
"""The title of a work: nobody writes an order with capitals."""
_QUOTATION_MARKS = str.maketrans("", "", '"“”„«»‹›「」『』')
_CREDENTIAL = compile_late(
    lambda: (
        rf"(?:{either('extraction', 'credential')})(?![ -]?(?:{either('extraction', 'about_credentials')}))"
        rf"|(?:{either('extraction', 'code')})[^.;]{{0,30}}\d{{3}}"
    ),
    re.IGNORECASE,
)
"""Names of credentials: a sentence with one of them states no fact."""


class ClauseStatement(NamedTuple):
    """The statement of a clause."""

    kind: Kind
    value: str
    """The named part of its wording, else all its words."""
    begins: int
    ends: int
    """The half-open range of its words in the sentence."""
    about: str | None
    """The thing of which something is the favourite."""
    tongue: Tongue
    is_asked: bool = False
    """The user asked in so many words that it be kept."""
    is_weak: bool = False
    """Its request often only draws attention to something ("note that …")."""


def is_question(sentence: str) -> bool:
    """Return whether a question mark ends the sentence."""
    return _QUESTION.search(sentence) is not None


def find_beginnings(masked: str, lead: re.Pattern[str], start: int) -> list[int]:
    """Return the places at which the statement of a clause may begin: `start`, and after each greeting or the like."""
    opening = _OPENING.match(masked, start)
    places = [opening.end() if opening else start]
    while len(places) <= MAX_LEADS and (found := lead.match(masked, places[-1])):
        places.append(found.end())
    return places


def find_request_beginnings(masked: str, tongue: Tongue) -> Iterator[int]:
    """Yield the places at which a sentence that is a request may begin, past its greetings and polite words."""
    for begins in find_beginnings(masked, tongue.lead, 0):
        polite = _POLITE.match(masked, begins)
        yield polite.end() if polite else begins


def _is_cased_like_a_name(value: str, sentence: str, *, strict: bool) -> bool:
    """Return whether a value is capitalised behind its titles; unless `strict`, a sentence without capitals will do."""
    first = _TITLES.sub("", value)[:1]
    return first == first.upper() or (not strict and sentence == sentence.lower())


@cache
def _particles() -> frozenset[str]:
    """Return the small words within names."""
    return frozenset(list_words("extraction", "name_particles"))


def _is_name(value: str) -> bool:
    """Return whether the words can be a person's name.

    They are capitalised where the script has capitals, or are one lower-case word.
    """
    parts = value.split()
    if not 1 <= len(parts) <= MAX_NAME_WORDS or any(word.casefold() in list_no_names() for word in parts):
        return False
    if not all(any(letter.isalpha() for letter in word) for word in parts) or any(c.isdigit() for c in value):
        return False
    if value[0] != value[0].upper():
        return len(parts) == 1 and len(value) > 1
    return all(word[0] == word[0].upper() or word in _particles() for word in parts)


def _is_passing(found: ClauseStatement, sentence: str, masked: str) -> bool:
    """Return whether the words hold for the moment or for one thing only, or are a proverb or a title."""
    tongue = found.tongue
    end = _CLAUSE_END.search(masked, found.ends)
    clause = masked[found.begins : end.start() if end else len(masked)]
    words = masked[found.begins :] if found.kind in _WISHES else clause
    if tongue.passing.search(words):
        return True
    if found.kind in {"remember", "no_longer"} and tongue.hurry.search(words):
        return True
    if found.is_weak and tongue.done.search(words):
        return True
    if found.kind != "instruction":
        return False
    plain = sentence[found.begins :].translate(_QUOTATION_MARKS)
    return tongue.saying.search(plain) is not None or _TITLE.match(plain) is not None


def _is_of_the_work_at_hand(found: ClauseStatement, masked: str) -> bool:
    """Return whether the words choose among things at hand, or state what a piece of work has to be like."""
    kind, value, tongue = found.kind, found.value, found.tongue
    if kind == "preference":
        if tongue.choice.match(value):
            return True
        is_general = tongue.habit.search(masked) or tongue.answers.search(value)
        if tongue.particular.match(value) and not is_general:
            return True
        return tongue.work.search(value) is not None and not is_general
    if kind == "instruction":
        return tongue.pick.search(masked, found.begins) is not None
    if kind == "no_longer":
        return tongue.work.search(masked, found.begins, found.ends) is not None
    return False


def _is_meant_of_user(found: ClauseStatement, sentence: str, masked: str) -> bool:
    """Return whether the words are of the kind that they have the form of."""
    kind, value, tongue = found.kind, found.value, found.tongue
    if kind in _NAMES:
        is_joke = kind == "nickname" and _YET.match(masked, found.ends) is not None
        return not is_joke and _is_name(value) and _is_cased_like_a_name(value, sentence, strict=kind == "nickname")
    if kind in {"home", "person"}:
        is_whole = value == sentence[found.begins : found.ends]
        return is_whole or _is_cased_like_a_name(value, sentence, strict=kind == "person")
    words = masked[found.begins : found.ends]
    is_own = any(whose.search(words) for whose in (tongue.own, tongue.ours, tongue.project))
    if kind == "remember":
        is_bare = not is_own and (found.is_weak or tongue.brief.match(value))
        if is_bare or tongue.you.match(value) or _FORMULA.match(value):
            return False
    return any(letter.isalnum() for letter in words.replace(MASK, ""))


def is_stated(found: ClauseStatement, sentence: str, masked: str) -> bool:
    """Return whether the words, taken by themselves, are meant as a lasting statement."""
    if found.ends - found.begins < MIN_CONTENT_CHARS or _CREDENTIAL.search(sentence):
        return False
    if _is_passing(found, sentence, masked) or _is_of_the_work_at_hand(found, masked):
        return False
    if found.kind not in _MAY_DEPEND and found.tongue.provided.search(masked, found.ends):
        return False
    if is_question(sentence):
        tag = found.tongue.tag if found.kind in _ASKS else found.tongue.assent
        if not tag.search(sentence):
            return found.kind == "remember" and _ASKED_POLITELY.match(sentence) is not None
    return _is_meant_of_user(found, sentence, masked)


def fits_message(found: ClauseStatement, own: str, others: Iterable[str]) -> bool:
    """Return whether the rest of the message lets a statement be the user's own, and a lasting one.

    `own` is its masked sentence, `others` are the other masked sentences of the message.
    """
    if found.is_asked or found.kind in _KEPT:
        return True
    is_order = found.kind in _ORDERS and not found.tongue.lasting.search(own)
    if found.kind not in _ORDERS and found.tongue.fiction.search(own):
        return False
    is_choice = found.kind in {"preference", "style"}
    for masked in others:
        for tongue in find_tongues(masked):
            if tongue.fiction.search(masked) or (is_choice and tongue.pointing.search(masked)):
                return False
            if (is_order or found.kind == "preference") and any(
                tongue.made.match(masked, place) for place in find_request_beginnings(masked, tongue)
            ):
                return False
    return True
