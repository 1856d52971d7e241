"""Finds the person that a sentence is about, as far as its pronouns tell: the speaker, or somebody else.

Rule 1: pronouns and possessives only. A language that drops them is read as saying nothing, and ranking goes by the
rest.
Rule 2: pure and linear in the text; the callers bound its length.
Rule 3: a search asks this of each candidate, so that a pattern is tried only on a text that holds one of its phrases.
"""

import re
from collections.abc import Sequence
from functools import cache

from msgspec import Struct

from promt.language.reader import rows

_words_of = re.compile(r"\w+").findall


class _Phrases(Struct, frozen=True):
    """Phrases, those of them that an ASCII text can hold, and the pattern that finds them as whole words."""

    every: Sequence[str]
    ascii: Sequence[str]
    pattern: re.Pattern[str]

    def are_in(self, folded: str) -> bool:
        """Return whether a folded text holds one of the phrases."""
        possible = self.ascii if folded.isascii() else self.every
        return any(map(folded.__contains__, possible)) and self.pattern.search(folded) is not None


def _phrases(spaced: Sequence[str], unspaced: Sequence[str]) -> _Phrases:
    """Return phrases: whole words of languages that write blanks, and any part of a text without."""
    every = [*spaced, *unspaced]
    whole = rf"(?<!\w)(?:{'|'.join(map(re.escape, spaced))})(?!\w)"
    pattern = re.compile("|".join([whole, *map(re.escape, unspaced)]))
    return _Phrases(every, list(filter(str.isascii, every)), pattern)


@cache
def _self() -> frozenset[str]:
    """Return the words for the speaker that stand by themselves.

    One pattern of all of them takes twice as long to compile, and to search each text with.
    """
    return frozenset(
        word for row in rows("person", "self", spaced=True) for word in row.split() if re.fullmatch(r"\w+", word)
    )


@cache
def _others() -> _Phrases:
    """Return words for the speaker with an apostrophe or vowel signs (no word characters), and those without blanks."""
    others = [word for row in rows("person", "self", spaced=True) for word in row.split() if word not in _self()]
    return _phrases(others, [word for row in rows("person", "self", spaced=False) for word in row.split()])


@cache
def _the_user() -> _Phrases:
    spaced, unspaced = (
        [phrase for row in rows("person", "the_user", spaced=is_spaced) for phrase in row.split("|")]
        for is_spaced in (True, False)
    )
    return _phrases(spaced, unspaced)


def speaks_of_self(text: str) -> bool:
    """Return whether the speaker names themselves or a group with them in it."""
    return _is_by_speaker(text.casefold())


def _is_by_speaker(folded: str) -> bool:
    return not _self().isdisjoint(_words_of(folded)) or _others().are_in(folded)


def is_about_user(text: str) -> bool:
    """Return whether a stored statement is about the user: in the first person, or as "the user".

    `speaker.is_about_user` reads a sentence of a message.
    """
    folded = text.casefold()
    return _is_by_speaker(folded) or _the_user().are_in(folded)
