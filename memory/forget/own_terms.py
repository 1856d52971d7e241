"""Finds the words that are a forgotten memory's own, and plans their removal from each place that holds them.

Rule 1: pure. Words that a kept record holds, too, are removed from no place.
Rule 2: a place that still holds words is named with the reason; none is left out silently.
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
"""The fewest characters of a value that is searched for by itself."""
LEAST_DIGITS = 4
"""The fewest digits of a number that is; a year never is."""
YEAR = compile_late(r"(?:19|20)\d\d")
LEAST_MIXED = 6
"""The fewest characters of a code of letters and figures: "20th" and "100km" are words of the language."""
LEAST_UNSPACED = 2
"""The fewest characters of a value in a script without blanks."""
LEAST_NAME = 4
"""The fewest characters of a name or a code."""
COMMON_ROWS = 20
"""A single word in more places than this is common, and not the memory's own."""
AROUND = ".,;:!?\"'()[]{}\u201c\u201d\u2018\u2019\u00ab\u00bb\u2026"
SENTENCE_END = compile_late(r"[.!?:]\Z")
NO_VOWEL = compile_late(r"[b-df-hj-np-tv-xz]{5,}")
PERSONS = frozenset({"user", "user's", "users"})


class ForgottenPhrases(Struct, frozen=True):
    """The phrases of forgotten memories."""

    stated: Saying
    """Their contents, values and names."""
    quoted: Saying
    """The quotes from which they were learnt."""
    words: frozenset[str]
    """Stated phrases of a single word: a value, a name, a code."""

    @property
    def all(self) -> Saying:
        """Every phrase."""
        return Saying(self.stated.phrases | self.quoted.phrases)


class MemoryWords(Struct, frozen=True):
    """The words of one memory."""

    content: str
    values: Sequence[Any]
    """Its value, and earlier ones that were changed in place."""
    quotes: Sequence[str]


def collect_phrases(memories: Sequence[MemoryWords], is_telling: Callable[[str], bool]) -> ForgottenPhrases:
    """Return the phrases of some memories; `is_telling` returns False for a function word."""
    values = [told for one in memories for value in one.values for told in _list_values(value, is_telling)]
    values += [name for one in memories for name in _list_names(one.content, is_telling)]
    stated = [text for one in memories for text in _list_wordings(one.content, is_telling)]
    quoted = [text for one in memories for quote in one.quotes for text in _list_wordings(quote, is_telling)]
    words = Saying(value for value in values if " " not in value.strip())
    return ForgottenPhrases(Saying([*stated, *values]), Saying(quoted), words.phrases)


def _list_wordings(text: str, is_telling: Callable[[str], bool]) -> Iterator[str]:
    """Yield a statement as it stands, and without the words for its person: an echo has "your" for the user's "my"."""
    yield text
    words = fold_text(text).split()
    place = next((n for n, word in enumerate(words) if word not in PERSONS and is_telling(word)), len(words))
    if place and sum(map(is_telling, words[place:])) > 1:
        yield " ".join(words[place:])


def _list_values(value: Any, is_telling: Callable[[str], bool]) -> Iterator[str]:
    """Yield the texts of a value that can be searched for by themselves."""
    for text in texts_in(list(value.values()) if isinstance(value, dict) else value):  # pyright: ignore[reportUnknownArgumentType]
        flat = fold_text(text)
        figures = flat.replace(".", "").replace("-", "")
        least = LEAST_UNSPACED if flat[:1] >= FIRST_UNSPACED else LEAST_WORD
        is_own = _is_own_number(figures) if figures.isdigit() else len(flat) >= least
        if is_own and is_telling(flat):
            yield text


def _list_names(content: str, is_telling: Callable[[str], bool]) -> Iterator[str]:
    """Yield the words of a statement that can be searched for by themselves: codes, and capitalised names.

    Names are known only in languages that write other nouns small.
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
    """Return words of languages in which every noun is capitalised: beside one of them no name can be told apart."""
    return frozenset(list_words("forgetting", "nouns_look_like_names"))


def _is_code(word: str) -> bool:
    """Return whether a word is a number, letters with figures, or consonants that no language has in a row."""
    if word.isdigit():
        return _is_own_number(word)
    is_mixed = len(word) >= LEAST_MIXED and ":" not in word and any(map(str.isdigit, word))
    return (is_mixed and any(map(str.isalpha, word))) or NO_VOWEL.fullmatch(word.casefold()) is not None


def _is_own_number(digits: str) -> bool:
    """Return whether a number is long enough to be the memory's own, and no year."""
    return len(digits) >= LEAST_DIGITS and not YEAR.fullmatch(digits)


class RedactionPlan(NamedTuple):
    """The places from which words are removed, those words, and the places that still hold some."""

    taken: list[SayingRow]
    saying: Saying
    left: list[LeftPlace]

    @property
    def sources(self) -> list[SourcePlace]:
        """The places from which words are removed, each once."""
        return list(dict.fromkeys(SourcePlace(place=one.place, id=one.id) for one in self.taken))


class KeptRecords(Struct, frozen=True):
    """The ids of the records that hold some of the words."""

    active: Collection[str]
    restorable: Collection[str]
    """Those that were forgotten before and can be restored."""
    forgotten: Collection[str]
    """Those that are forgotten now."""


OF_MEMORY = frozenset({"evidence", "earlier_value", "decision", "answer"})
"""The kinds of places that belong to a record: where that is named, they are not."""


def plan_redaction(
    found: Sequence[SayingRow], said: ForgottenPhrases, kept: KeptRecords, *, include_sources: bool
) -> RedactionPlan:
    """Return the plan for the places that were found; without `include_sources` every place stays and is named."""
    others = [one for one in found if not (one.place in {"memory", *OF_MEMORY} and one.id in kept.forgotten)]
    theirs = _find_kept_phrases(others, said, kept)
    common = _find_common_words(others, said) - theirs
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
    """Return the phrases that kept records hold, and the quotes that they rest on."""
    stated = (one.in_texts for one in found if one.place == "memory" and one.id in kept.active)
    quoted = (
        (one.in_texts & said.quoted.phrases) - said.stated.phrases
        for one in found
        if one.place == "evidence" and one.id in kept.active
    )
    return frozenset[str]().union(*stated, *quoted)


def _find_common_words(found: Sequence[SayingRow], said: ForgottenPhrases) -> frozenset[str]:
    """Return the single words that are in more than `COMMON_ROWS` places."""
    rows = Counter(word for one in found if one.place != "memory" for word in one.in_texts & said.words)
    return frozenset(word for word, count in rows.items() if count > COMMON_ROWS)
