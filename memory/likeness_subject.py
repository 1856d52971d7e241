"""Of whom a statement tells: of the user, of something of the user's, of everybody.

Rule 1: pure; what is said of the user's train is not said of the user, though the words are the same.
Rule 2: only English is read that way: it names the subject, and names it first.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from memory.likeness_words import Words
from memory.statement import Word, split_words
from memory.statement_reading import Item

FREE: Final = frozenset({"favourite", "own", "only", "first", "most", "least", "roughly", "decide", "can", "must"})
"""Concepts whose place in the sentence says nothing about who does what."""


class Voice(NamedTuple):
    """Of whom a statement tells, as far as its function words show."""

    tells_of_user: bool
    """Whether the user does it or suffers it."""
    tells_of_other: bool
    """Whether it begins with something else, that the user may own, and nothing is said of the user."""
    is_passive: bool
    subject: str
    """`user` or `anybody`, where it begins with one of these."""


def voice_of(words: Sequence[Word], table: Words) -> Voice:
    """Of whom the words of a statement tell."""
    lows = [word.low for word in split_words(words, table, frozenset())]
    users = table.words_of("i", "user", "me")
    tells = any(low in users and right != "@gen" for low, right in pairwise([*lows, ""]))
    has_subject = lows[:1] == ["user"] or not (table.words_of("own") | table.listed("articles")).isdisjoint(lows[:1])
    is_passive = any(
        left in _BE and (right.endswith("ed") or right in table.listed("participles")) for left, right in pairwise(lows)
    )
    subjects = [low for low in lows[:2] if low not in table.listed("articles")]
    is_user = subjects[:1] in (["user"], ["i"], ["i'm"]) and "@gen" not in lows[:3]
    is_anybody = not table.listed("anybody").isdisjoint(lows[:1])
    subject = "user" if is_user and table.listed("anybody").isdisjoint(lows) else "anybody" if is_anybody else ""
    return Voice(tells, has_subject and not tells, is_passive, subject)


_BE: Final = frozenset({"is", "are", "was", "were", "be", "been", "being", "gets", "get", "got"})


def other_subject(one: Sequence[Item], other: Sequence[Item], voices: Sequence[Voice], table: Words) -> bool:
    """Whether here it is said of something what is said there of the user: `my train is late`, `I am late for the train`."""
    if table.name != "en" or not voices[0].tells_of_other or not voices[1].tells_of_user:
        return False
    said = [item for item in one if item.kind == "word" or item.concept in THINGS]
    named = [item for item in one if item.kind == "name"]
    at, subject = next(((i, x) for i, x in enumerate(said) if not x.prep and x.concept not in FREE), (0, None))
    place = next((i for i, item in enumerate(other) if subject and item.concept == subject.concept), 0)
    if subject is None or not place:
        return False
    is_somebody = subject.concept in table.relations
    before = [item.concept for item in other[:place] if item.concept not in FREE | _MUTUAL or item.kind == "light"]
    told = {item.concept for item in [*said[at + 1 :], *named] if is_somebody or not item.prep}.intersection(before)
    if not told or "own" in {item.concept for item in other[:place] if item.kind == "word"}:
        return False
    if is_somebody and not voices[0].is_passive:
        return True
    return (
        other[place].prep != other[place - 1].prep
        or before[-1:] != [other[place - 1].concept]
        or before[-1] not in told
    )


THINGS: Final = frozenset({"team", "project", "file", "branch", "code"})
"""Light concepts of which something may be told."""
_MUTUAL: Final = frozenset(
    {"friend", "colleague", "neighbour", "flatmate", "married", "engaged", "divorced", "twins", "siblings"}
)
"""What two are to each other alike."""
