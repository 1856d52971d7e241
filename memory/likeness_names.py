"""Which words of two statements are names: they are compared as they are written, never by stem.

Rule 1: pure; a capital tells a name, unless a table, a lower-case writing or its place in the sentence tells a common word.
Rule 2: in doubt a word is a name: what is written otherwise is then another fact.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from memory.likeness_words import Words
from memory.statement import Word
from memory.statement_figures import is_unit


def names_of(one: Sequence[Word], other: Sequence[Word], table: Words) -> frozenset[str]:
    """Words that stand for somebody or something: they are compared as they are written."""
    names: set[str] = set()
    commons = {table.stem(word.low) for word in (*one, *other) if not word.is_capital}
    if table.name == "de":
        commons |= {
            table.stem(word.low)
            for words in (one, other)
            for before, word in pairwise(words)
            if table.is_determiner(before.low)
        }
    for words in (one, other):
        is_shouted = len(words) > 1 and all(word.is_capital or not word.low[0].isalpha() for word in words)
        for at, word in enumerate(words):
            if not word.is_capital or word.text == "@gen" or not word.low[0].isalpha():
                if (
                    any(char in "/\\@_." for char in word.text)
                    and word.text != "@gen"
                    and not _is_amount(words, at, table)
                ):
                    names.add(word.low)
                continue
            if _is_common(words, at, table, commons) or is_shouted:
                continue
            names.add(word.low)
    return frozenset(names - _renamed(one, other, names, table))


def _is_amount(words: Sequence[Word], at: int, table: Words) -> bool:
    """Whether it is a number of units, and no version."""
    following = words[at + 1].low if at + 1 < len(words) else ""
    return words[at].low.replace(".", "", 1).isdecimal() and is_unit(table.concept_of(following))


_MAY_BE_NAMES: Final = frozenset({"may", "mar", "sat", "sun"})
_BEFORE_DATES: Final = frozenset({"in", "on", "since", "until", "till", "by", "every", "each", "of", "next", "last"})


def _is_date(words: Sequence[Word], at: int) -> bool:
    """Whether `May` is a month here."""
    near = [word.low for word in (*words[max(0, at - 1) : at], *words[at + 1 : at + 2])]
    return any(low[0].isdigit() for low in near) or (at > 0 and words[at - 1].low in _BEFORE_DATES)


_ADVERB: Final = 5
"""A longer first word in -ly is `officially`, not `Sally`."""


def _renamed(one: Sequence[Word], other: Sequence[Word], names: set[str], table: Words) -> set[str]:
    """Names for which the other text has another listed word: `Postgres` where there is `PostgreSQL`."""
    told = [{word.low: table.concept_of(word.low) for word in words} for words in (one, other)]
    return {
        low
        for low in names
        for here, there in (told, told[::-1])
        if low in here and low not in there and here[low] != low and here[low] in there.values()
    } | {
        low
        for low in names
        for here, there in (told, told[::-1])
        if low in here
        and low not in there
        and here[low] == low
        and low in {there[word] for word in there if word != low}
    }


def _is_common(words: Sequence[Word], at: int, table: Words, commons: set[str]) -> bool:
    word = words[at]
    low = word.low
    if low in table.figures and (low not in _MAY_BE_NAMES or _is_date(words, at)):
        return True
    is_acronym = word.text[1:] != word.text[1:].lower() or len(low) == 1
    if (is_acronym or table.name == "de") and table.has_stem(low):
        return True
    if table.name == "de":
        return table.stem(low) in commons
    if word.is_first and low.endswith(table.verb_endings):
        following = words[at + 1].low if at + 1 < len(words) else ""
        if following in table.listed("after_verbs") or not table.listed("after_verbs"):
            return True  # "Shares a flat"
    if word.is_first and table.name == "en" and low.endswith("ly") and len(low) > _ADVERB:
        return True
    if word.is_first:
        return table.has_stem(low) or table.stem(low) in commons
    return low in table.function_words and low in {
        "i",
        "i'm",
        "i've",
        "i'd",
        "i'll",
        "user",
        "l'",
        "d'",
        "вы",
        "вам",
        "вас",
    }
