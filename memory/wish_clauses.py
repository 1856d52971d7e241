"""The clauses of a user's words, and about whom each is: what is taken out of one without its head says something else.

Rule 1: pure; a clause ends at a stop or an "and". It is about the user, about whom it names or means, or about whom the last was.
Rule 2: a request ("please remember that …") leads up to a clause and is no part of it.
"""

import re
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from memory.likeness import readings
from memory.likeness_words import Words
from memory.statement import Word

About: TypeAlias = Literal["user", "named", "meant", "same"]

LEFT_OUT: Final = frozenset(
    {"own", "called", "now", "thing", "classifier", "me", "filler", "use", "drink", "eat", "make", "team", "project"}
)
"""Concepts that may be left out before what is kept; any other word there may say whose it is, or that it is not so."""
REQUEST: Final = re.compile(
    r"(?:remember|remeber|memori[sz]e|note|save|store|keep|record|know|mind|merk\w*|denk\w*|notier\w*|speicher\w*|wissen|weißt|"
    r"souviens(?:-toi)?|retiens|retenez|rappelle(?:-toi)?|mémorise|enregistre|sache|recuerda|recuerde|apunta|anota|guarda|cuenta|"
    r"запомни\w*|запиши\w*|помни\w*|учти|сохрани\w*|знай|ricorda|lembr[ae]|onthoud)",
    re.IGNORECASE,
)
"""What comes before it in a clause leads up to what is to be kept, and is no part of it."""
_SPEAKERS: Final = frozenset(
    ["i", "i'm", "im", "i've", "ive", "i'd", "i'll", "we", "we're", "we've", "we'll", "we'd", "user", "ich", "wir", "nutzer",
     "yo", "nosotros", "nosotras", "je", "j'", "j'ai", "nous", "on", "я", "мы"]
)  # fmt: skip
"""Words by which somebody speaks of themselves."""
_ADDRESSED: Final = frozenset(["you", "you're", "you'll", "you've", "du", "ihr", "tú", "usted", "tu", "ты", "вы"])
"""And of whom they speak to: it is the assistant, and the clause an order."""


class Clause(NamedTuple):
    """What a clause says in order, and about whom: the user, somebody else that it names or means, or whoever the last was about."""

    matter: list[str]
    about: About


def clauses_of(words: Sequence[Word], other: Sequence[Word], table: Words) -> list[Clause]:
    """The clauses of the user's words, each from the request on that it may begin with."""
    clauses: list[list[Word]] = [[]]
    for word in words:
        if word.low not in table.single("and"):
            clauses[-1].append(word)
        if word.stops or word.low in table.single("and"):
            clauses.append([])
    found: list[Clause] = []
    for clause in clauses:
        asks = max((at for at, word in enumerate(clause) if REQUEST.fullmatch(word.low)), default=-1)
        if rest := clause[asks + 1 :]:
            items = readings(rest, other, table, is_asked=True)[0][0]
            matter = [item.concept for item in items if item.concept not in LEFT_OUT]
            first = next((word.low for word in rest if word.low not in table.single("clause")), "")
            found.append(Clause(matter, _about(first, table, is_first=not found)))
    return found


def _about(first: str, table: Words, *, is_first: bool) -> About:
    if first in _SPEAKERS:
        return "user"
    if first in table.single("i") - _ADDRESSED:
        return "meant"
    return "named" if is_first or first in table.single("own") else "same"


def kept_whole(clauses: Sequence[Clause], told: set[str]) -> set[str]:
    """The concepts of the clauses of which nothing is left out before the first that is told, nor whom they are about."""
    kept: set[str] = set()
    whom: set[str] | None = None
    before: set[str] = set()
    for matter, about in clauses:
        if not matter:
            continue
        match about:
            case "user":
                whom = None
            case "named":
                whom = {matter[0]}
            case "meant":
                whom = (whom or before) - set(matter)
            case "same":
                pass
        if matter[0] in told and (whom is None or whom & told):
            kept.update(matter)
        before = set(matter)
    return kept | LEFT_OUT
