"""Decides of whom and to whom a sentence of a message speaks, by its pronouns and verbs.

Rule 1: pure. `person.is_about_user` reads stored statements and is narrower: a message is read more widely.
"""
# ruff: noqa: RUF001  # the apostrophe of typographers is meant

import re
from functools import cache

from promt.language.reader import rows, tables, whole
from promt.patterns import compile_late

_YOU = compile_late(lambda: whole("own_words", "you"), re.IGNORECASE)


@cache
def _own() -> re.Pattern[str]:
    """Return the pattern of any word by which people speak of themselves."""
    own = [
        own for table in tables("statements").values() for own in table.get("own_among_others", table.get("own", []))
    ]
    return re.compile("|".join([*own, *rows("own_words", "own")]), re.IGNORECASE)


def is_about_user(sentence: str) -> bool:
    """Return whether the speaker of a sentence speaks of themselves."""
    return _own().search(sentence.replace("’", "'")) is not None


def speaks_to_reader(sentence: str) -> bool:
    """Return whether a sentence speaks to whoever reads it."""
    return _YOU.search(sentence.replace("’", "'")) is not None
