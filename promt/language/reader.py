"""Reads the languages: one TOML file each, one section a use. `grammar.md` says what each section and key is for.

Rule 1: a file of this folder is a language. No code names one, but where its words are stemmed; `order` in the file
decides which comes first, then the name.
Rule 2: a section is parsed when a use first asks for it: a start needs the function words, a turn needs hardly more.
Rule 3: rows of text are regular expressions, or parts of one. Those of a language that writes blanks are sought as
whole words.
"""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

_SECTION = re.compile(rb"\n\[(\w+)\]\r?\n")
_NOTHING = "(?!)"
"""The pattern for a list of no rows: it matches nothing."""
_LAST = 100
"""The order of a language whose file gives none."""


class Language(Struct, frozen=True):
    """The writing of a language."""

    code: str
    spaced: bool
    """Words stand between blanks, and no ending or particle is written on to them."""
    letters: str = "a-z"
    """The body of a class of characters: nothing is said in the language without one of these."""
    foreign: str = ""
    """The body of a class of characters: nothing is said in the language with one of these."""
    order: int = _LAST

    @property
    def is_latin(self) -> bool:
        """Return whether the language is written in Latin letters.

        Several are, so that only its words identify it.
        """
        return self.letters == "a-z"


@cache
def _sources() -> Mapping[str, Mapping[str, bytes]]:
    """Return the bytes of each section by language; the head of a file is the section without a name."""
    found: dict[str, Mapping[str, bytes]] = {}
    for file in Path(__file__).parent.glob("*.toml"):
        head, *parts = _SECTION.split(file.read_bytes())
        found[file.stem] = {"": head} | {
            name.decode(): body for name, body in zip(parts[::2], parts[1::2], strict=True)
        }
    return found


def _parse(code: str, use: str) -> dict[str, Any]:
    """Return the section of a language as a table."""
    return tomllib.loads(_sources()[code][use].decode())


@cache
def languages() -> Mapping[str, Language]:
    """Return the languages by code, in their order."""
    heads = [Language(code, **_parse(code, "")) for code in _sources()]
    return {one.code: one for one in sorted(heads, key=lambda one: (one.order, one.code))}


@cache
def tables(use: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the sections of a use by language, in the order of the languages; a language without one is left out."""
    return {code: _parse(code, use) for code in languages() if use in _sources()[code]}


def rows(use: str, key: str, *, spaced: bool | None = None) -> list[str]:
    """Return the rows of a key: of all languages, or of those that write blanks between words or do not."""
    found: list[str] = []
    for code, table in tables(use).items():
        if key in table and spaced in (None, languages()[code].spaced):
            row = table[key]
            found += [row] if isinstance(row, str) else row
    return found


def list_words(use: str, key: str) -> list[str]:
    """Return the words of all languages under a key, in order."""
    return [word for row in rows(use, key) for word in row.split()]


@cache
def words_of_grammar() -> frozenset[str]:
    """Return the words of all languages that say nothing of what a text is about."""
    return frozenset(list_words("stop_words", "words"))


def either(use: str, key: str, *, spaced: bool | None = None) -> str:
    """Return the pattern of any row under a key; the caller puts it into a group."""
    return "|".join(rows(use, key, spaced=spaced)) or _NOTHING


def whole(use: str, key: str) -> str:
    r"""Return the pattern of any row under a key.

    A whole word of a language with blanks, any part of a text without.
    """
    return rf"\b(?:{either(use, key, spaced=True)})\b|{either(use, key, spaced=False)}"
