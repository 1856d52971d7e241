"""Finds the person that a sentence is about, as far as its pronouns tell: the speaker, or somebody else.

Rule 1: pronouns and possessives only. A language that drops them is read as saying nothing, and ranking goes by the
rest.
Rule 2: pure and linear in the text; the callers bound its length.
"""

import re
from functools import cache

from promt.language.reader import either, rows
from promt.patterns import compile_late

_words_of = re.compile(r"\w+").findall


@cache
def _self() -> frozenset[str]:
    """Return the words for the speaker that stand by themselves.

    One pattern of all of them takes twice as long to compile, and to search each text with.
    """
    return frozenset(
        word for row in rows("person", "self", spaced=True) for word in row.split() if re.fullmatch(r"\w+", word)
    )


def _others() -> str:
    """The pattern of words with an apostrophe or vowel signs (no word characters), and of scripts without blanks."""
    others = [word for row in rows("person", "self", spaced=True) for word in row.split() if word not in _self()]
    unspaced = [word for row in rows("person", "self", spaced=False) for word in row.split()]
    return rf"(?<!\w)(?:{'|'.join(others)})(?!\w)|{'|'.join(unspaced)}"


def _the_user() -> str:
    return rf"(?<!\w)(?:{either('person', 'the_user', spaced=True)})(?!\w)|{either('person', 'the_user', spaced=False)}"


_OTHERS = compile_late(_others)
_THE_USER = compile_late(_the_user)


def speaks_of_self(text: str) -> bool:
    """Return whether the speaker names themselves or a group with them in it."""
    folded = text.casefold()
    return not _self().isdisjoint(_words_of(folded)) or _OTHERS.search(folded) is not None


def is_about_user(text: str) -> bool:
    """Return whether a stored statement is about the user: in the first person, or as "the user"."""
    return speaks_of_self(text) or _THE_USER.search(text.casefold()) is not None
