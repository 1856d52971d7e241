"""What the bare words of two statements tell apart before either is read: how clauses are joined, and compounds.

Rule 1: pure; words are looked at side by side, nothing is left out of them but articles.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from memory.likeness_words import Words
from memory.statement import Word

_FAMILIES: Final = (
    (
        frozenset({"if", "when", "whenever", "while"}),
        frozenset({"because"}),
        frozenset({"although", "though", "whereas"}),
    ),
    (frozenset({"yet"}), frozenset({"anymore", "longer"})),
    (frozenset({"he", "he's", "him", "his", "himself"}), frozenset({"she", "she's", "her", "hers", "herself"})),
)
"""Words that tell how things hang together, of which one in a family is no other."""
_DUTIES: Final = frozenset({"must", "should", "ought", "has", "have"})


def joins_otherwise(one: Sequence[Word], other: Sequence[Word], table: Words) -> bool:
    """Whether clauses are joined otherwise: `if`, `because`; `tea or coffee`, `tea and coffee`."""
    if table.name != "en":
        return False
    sides = [{word.low for word in side} for side in (one, other)]
    for family in _FAMILIES:
        joints = [{number for number, alike in enumerate(family) if alike & side} for side in sides]
        if all(joints) and not joints[0] & joints[1]:
            return True
    states = [_states(side, table) for side in (one, other)]
    if all(states) and not states[0] & states[1]:
        return True
    if any(_recurs(x, table) and _is_once(y, table) for x, y in ((one, other), (other, one))):
        return True
    return _is_compound_turned(one, other, table) or any(_is_either(x, y, table) for x, y in (sides, sides[::-1]))


def _states(words: Sequence[Word], table: Words) -> set[str]:
    """How what is so is told to be so: that it is, that it was, that it ought to be."""
    lows = [word.low for word in words if word.low != "not"]
    found: set[str] = set()
    for at, (low, following) in enumerate(pairwise(lows)):
        told = "duty" if low == "be" and not _DUTIES.isdisjoint(lows[max(0, at - 2) : at]) else _BEING.get(low)
        if told and not (following.endswith("ed") or following == "born" or following in table.listed("participles")):
            found.add(told)
    return found


_BEING: Final = {"is": "now", "are": "now", "was": "then", "were": "then"}


def _recurs(words: Sequence[Word], table: Words) -> bool:
    """Whether it is every Monday."""
    return any(left.low in {"every", "each"} and _is_weekday(right.low, table) for left, right in pairwise(words))


def _is_once(words: Sequence[Word], table: Words) -> bool:
    """Whether it is on a Monday: `the meeting is on Monday`."""
    is_told = any(left.low in _BEING and right.low == "on" for left, right in pairwise(words))
    return is_told and any(_is_weekday(word.low, table) for word in words) and not _recurs(words, table)


def _is_weekday(low: str, table: Words) -> bool:
    return table.figures.get(low, "").startswith("d") and not low.endswith("s")


def _is_either(one: set[str], other: set[str], table: Words) -> bool:
    """Whether it is one of two here, and both there; under a negation these are the same."""
    denying = table.words_of("not", "without") | _DENYING
    return "or" in one and "and" not in one and "and" in other and denying.isdisjoint(one | other)


_DENYING: Final = frozenset({"can't", "cannot"})


def _is_compound_turned(one: Sequence[Word], other: Sequence[Word], table: Words) -> bool:
    """Whether two words side by side changed places after the same third: `has a race horse`, `has a horse race`."""
    here, there = (_triples(side, table) for side in (one, other))
    return any(second != third and (first, third, second) in there for first, second, third in here)


def _triples(words: Sequence[Word], table: Words) -> set[tuple[str, str, str]]:
    said = [table.stem(word.low) for word in words if word.low not in table.listed("articles")]
    firm = {word for word in said if word.isalpha() and not _is_free(word, table)}
    return {(x, y, z) for x, y, z in zip(said, said[1:], said[2:], strict=False) if y in firm and z in firm}


def _is_free(word: str, table: Words) -> bool:
    return word in table.function_words or word in table.figures or word in table.listed("times")
