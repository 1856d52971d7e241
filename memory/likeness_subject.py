"""Of whom a statement tells: of the user, of something of the user's, of everybody.

Rule 1: pure; what is said of the user's train is not said of the user, though the words are the same.
Rule 2: only English is read that way: it names the subject, and names it first.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from memory.likeness_words import SHADE, Words
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
    suffered: frozenset[str]
    """What is done to somebody: `is paid`."""
    subject: str
    """`user` or `anybody`, where it begins with one of these."""


def voice_of(words: Sequence[Word], table: Words) -> Voice:
    """Of whom the words of a statement tell."""
    lows = [word.low for word in split_words(words, table, frozenset())]
    users = table.words_of("i", "user", "me")
    tells = any(low in users and right != "@gen" for low, right in pairwise([*lows, ""]))
    has_subject = lows[:1] == ["user"] or not (table.words_of("own") | table.listed("articles")).isdisjoint(lows[:1])
    suffered = frozenset(
        _concept(right, table)
        for left, right in pairwise(lows[:_FIRST_VERB])
        if left in _BE
        and "-" not in right
        and (right.endswith("ed") or right in table.listed("participles") | table.listed("past"))
    )
    subjects = [low for low in lows[:2] if low not in table.listed("articles")]
    is_user = subjects[:1] in (["user"], ["i"], ["i'm"]) and "@gen" not in lows[:3]
    is_anybody = not table.listed("anybody").isdisjoint(lows[:1])
    subject = "user" if is_user and table.listed("anybody").isdisjoint(lows) else "anybody" if is_anybody else ""
    return Voice(tells, has_subject and not tells, suffered, subject)


def _concept(low: str, table: Words) -> str:
    sense = table.sense([low], [table.stem(low)], 0)
    return table.stem(low) if sense is None else sense.symbols[-1].partition(SHADE)[0]


_FIRST_VERB: Final = 5
"""Within how many words the verb is found of whom a statement begins with."""
_BE: Final = frozenset({"is", "are", "was", "were", "be", "been", "being", "gets", "get", "got"})


def other_subject(one: Sequence[Item], other: Sequence[Item], voices: Sequence[Voice], table: Words) -> bool:
    """Whether here it is said of something what is said there of the user: `my train is late`, `I am late for the train`."""
    if table.name != "en" or not voices[0].tells_of_other or not voices[1].tells_of_user:
        return False
    said = [item for item in one if item.kind == "word" or item.concept in THINGS]
    named = [item for item in one if item.kind == "name"]
    at, subject = next(((i, x) for i, x in enumerate(said) if not x.prep and x.concept not in FREE), (0, None))
    place = next((i for i, item in enumerate(other) if subject and item.concept == subject.concept), -1)
    if subject is None or place < 0:
        return False
    if not place:  # `my rent goes to Ann`, `I rent to Ann`
        return any(item.prep == "to" and item.kind == "name" for item in other)
    is_somebody = subject.concept in table.relations
    before = [item.concept for item in other[:place] if item.concept not in FREE | _MUTUAL or item.kind == "light"]
    told = {item.concept for item in [*said[at + 1 :], *named] if is_somebody or not item.prep}.intersection(before)
    if not told or "own" in {item.concept for item in other[:place] if item.kind == "word"}:
        return False
    if is_somebody and not voices[0].suffered:
        return True
    last = next((item for item in other[:place][::-1] if item.kind != "light"), other[0])
    return last.prep != other[place].prep or last.concept not in told


THINGS: Final = frozenset({"team", "project", "file", "branch", "code"})
"""Light concepts of which something may be told."""
_MUTUAL: Final = frozenset(
    {"friend", "colleague", "neighbour", "flatmate", "married", "engaged", "divorced", "twins", "siblings"}
)
"""What two are to each other alike."""


def other_voice(one: Sequence[Item], other: Sequence[Item], voices: Sequence[Voice], table: Words) -> bool:
    """Whether it is done to somebody here who does it there: `is paid`, `pays`."""
    if any(item.is_doer for item in (*one, *other)) or table.name != "en":
        return False
    firsts = [next((item for item in side if item.kind != "light"), None) for side in (one, other)]
    deeds = (voices[0].suffered ^ voices[1].suffered) - table.listed("states")
    deeds &= {item.concept for item in one} & {item.concept for item in other}
    if not deeds or voices[0].subject == voices[1].subject == "user":
        return bool(deeds)
    if voices[0].tells_of_user or voices[1].tells_of_user:
        return False
    people = {item.concept for item in firsts if item and (item.kind == "name" or item.concept in table.relations)}
    return len(people) == 1 and all(item and item.concept in people for item in firsts)


def other_place(one: Sequence[Item], other: Sequence[Item], voices: Sequence[Voice], table: Words) -> bool:
    """Whether the user is here what the user is at there: `is a coach`, `is on the coach`."""
    if not voices[0].subject == voices[1].subject == "user":
        return False
    x, y = (
        next((item for item in side if item.concept not in {"own", "all", "now", "must"}), None)
        for side in (one, other)
    )
    if x is None or y is None or x.concept != y.concept or x.kind != "word" or x.concept in table.listed("times"):
        return False
    return {x.prep, y.prep} == {"loc", ""}


def other_duty(one: Sequence[Item], other: Sequence[Item], voices: Sequence[Voice], table: Words) -> bool:
    """Whether the user ought to do here what the user does there."""
    is_user = table.name == "en" and voices[0].subject == voices[1].subject == "user"
    musts = [any(item.concept in {"must", "need"} for item in side) for side in (one, other)]
    return is_user and musts[0] != musts[1] and not any("not" in item.tags for item in (*one, *other))
