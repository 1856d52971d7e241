"""Finds the words that are a forgotten memory's own, and decides on each place that holds them.

Rule 1: pure. What a record that the user keeps says as well is not taken from anywhere: it is that one's, too.
Rule 2: what stays is named with the reason; nothing is left out silently.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

from msgspec import Struct

from promt.language.reader import list_words
from promt.patterns import compile_late
from protocol.memory.forgetting import LeftPlace, LeftReason, SourcePlace
from protocol.saying import FIRST_UNSPACED, Saying, fold_text, texts_in
from protocol.seams.shelves import SayingRow

LEAST_WORD = 3
LEAST_DIGITS = 4
YEAR = compile_late(r"(?:19|20)\d\d")
LEAST_MIXED = 6
"""Letters with figures: "20th" and "100km" are words of the language."""
LEAST_UNSPACED = 2
COMMON_ROWS = 20
"""A single word that more places say is a word of the language, or of all the user's life, and not the memory's own."""
LEAST_NAME = 4
AROUND = ".,;:!?\"'()[]{}\u201c\u201d\u2018\u2019\u00ab\u00bb\u2026"
SENTENCE_END = compile_late(r"[.!?:]\Z")
NO_VOWEL = compile_late(r"[b-df-hj-np-tv-xz]{5,}")
PERSONS = frozenset({"user", "user's", "users"})


class ForgottenPhrases(Struct, frozen=True):
    """The phrases of forgotten memories: what they state, and what was said from which they were learnt."""

    stated: Saying
    quoted: Saying
    words: frozenset[str]
    """Those of the stated ones that are a single word: a value, a name, a code."""

    @property
    def all(self) -> Saying:
        """Every phrase."""
        return Saying(self.stated.phrases | self.quoted.phrases)


class MemoryWords(Struct, frozen=True):
    """The words of one memory."""

    content: str
    values: Sequence[Any]
    """Its value, and those that were changed in place."""
    quotes: Sequence[str]


def collect_phrases(memories: Sequence[MemoryWords], is_telling: Callable[[str], bool]) -> ForgottenPhrases:
    """Return the phrases of some memories; `is_telling` knows a function word."""
    values = [told for one in memories for value in one.values for told in _values(value, is_telling)]
    values += [name for one in memories for name in _names(one.content, is_telling)]
    stated = [text for one in memories for text in _wordings(one.content, is_telling)]
    quoted = [text for one in memories for quote in one.quotes for text in _wordings(quote, is_telling)]
    words = Saying(value for value in values if " " not in value.strip())
    return ForgottenPhrases(Saying([*stated, *values]), Saying(quoted), words.phrases)


def _wordings(text: str, is_telling: Callable[[str], bool]) -> Iterator[str]:
    """A statement as it stands, and without who it is about: an echo says "your" where the user said "my"."""
    yield text
    words = fold_text(text).split()
    place = next((n for n, word in enumerate(words) if word not in PERSONS and is_telling(word)), len(words))
    if place and sum(map(is_telling, words[place:])) > 1:
        yield " ".join(words[place:])


def _values(value: Any, is_telling: Callable[[str], bool]) -> Iterator[str]:
    """The texts of a value that say something by themselves."""
    for text in texts_in(list(value.values()) if isinstance(value, dict) else value):  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]
        flat = fold_text(text)
        figures = flat.replace(".", "").replace("-", "")
        least = LEAST_UNSPACED if flat[:1] >= FIRST_UNSPACED else LEAST_WORD
        is_own = _is_own_number(figures) if figures.isdigit() else len(flat) >= least
        if is_own and is_telling(flat):
            yield text


def _names(content: str, is_telling: Callable[[str], bool]) -> Iterator[str]:
    """The words of a statement that name one thing alone.

    Codes, and names in a language that writes other words small.
    """
    words = content.split()
    has_names = _beside_nouns().isdisjoint(map(str.casefold, words))
    for before, told in pairwise(["", *words]):
        word = told.strip(AROUND)
        is_name = has_names and before and word[:1].isupper() and not SENTENCE_END.search(before)
        if len(word) >= LEAST_NAME and (is_name or _is_code(word)) and is_telling(fold_text(word)):
            yield word


@cache
def _beside_nouns() -> frozenset[str]:
    """Return the words of languages in which every noun is written like a name: beside one of them no name is known."""
    return frozenset(list_words("forgetting", "nouns_look_like_names"))


def _is_code(word: str) -> bool:
    """Return whether no language has such a word: a number, letters with figures, letters that cannot be pronounced."""
    if word.isdigit():
        return _is_own_number(word)
    is_mixed = len(word) >= LEAST_MIXED and ":" not in word and any(map(str.isdigit, word))
    return (is_mixed and any(map(str.isalpha, word))) or NO_VOWEL.fullmatch(word.casefold()) is not None


def _is_own_number(digits: str) -> bool:
    return len(digits) >= LEAST_DIGITS and not YEAR.fullmatch(digits)


class RedactionPlan(NamedTuple):
    """The places out of which words are taken, those words, and the places that stay."""

    taken: list[SayingRow]
    saying: Saying
    left: list[LeftPlace]

    @property
    def sources(self) -> list[SourcePlace]:
        """The places out of which the words are taken."""
        return list(dict.fromkeys(SourcePlace(place=one.place, id=one.id) for one in self.taken))


class KeptRecords(Struct, frozen=True):
    """Records by id, as far as a forgetting has to know them.

    Some are active, some can be restored, and some are forgotten now.
    """

    active: Collection[str]
    restorable: Collection[str]
    forgotten: Collection[str]


OF_MEMORY = frozenset({"evidence", "earlier_value", "decision", "answer"})
"""Places that hang on a record, and are named with it."""


def plan_of(
    found: Sequence[SayingRow], said: ForgottenPhrases, kept: KeptRecords, *, include_sources: bool
) -> RedactionPlan:
    """Return the action for each place that was found."""
    others = [one for one in found if not (one.place in {"memory", *OF_MEMORY} and one.id in kept.forgotten)]
    theirs = _find_kept_phrases(others, said, kept)
    common = _common_phrases(others, said) - theirs
    saying = said.all.without(theirs | common)
    taken: list[SayingRow] = []
    left: dict[LeftPlace, None] = {}
    named = {one.id for one in others if one.place == "memory"}

    def leave(one: SayingRow, reason: LeftReason) -> None:
        if one.place not in OF_MEMORY or one.id not in named:
            left[LeftPlace(place=one.place, id=one.id, reason=reason)] = None

    for one in others:
        if one.place == "memory":
            leave(one, "restorable" if one.id in kept.restorable else "another_memory")
        elif not include_sources:
            leave(one, "sources_kept")
        else:
            if one.in_texts & saying.phrases:
                taken.append(one)
            if held := one.in_texts - saying.phrases:
                leave(one, "another_memory" if held & theirs else "common_word")
            if one.in_names:
                leave(one, "identifier")
    return RedactionPlan(taken, saying, list(left))


def _find_kept_phrases(found: Sequence[SayingRow], said: ForgottenPhrases, kept: KeptRecords) -> frozenset[str]:
    """Return the words of kept records, and the quotes that they rest upon."""
    stated = (one.in_texts for one in found if one.place == "memory" and one.id in kept.active)
    quoted = (
        (one.in_texts & said.quoted.phrases) - said.stated.phrases
        for one in found
        if one.place == "evidence" and one.id in kept.active
    )
    return frozenset[str]().union(*stated, *quoted)


def _common_phrases(found: Sequence[SayingRow], said: ForgottenPhrases) -> frozenset[str]:
    rows = Counter(word for one in found if one.place != "memory" for word in one.in_texts & said.words)
    return frozenset(word for word, count in rows.items() if count > COMMON_ROWS)
