"""Reads the languages: one TOML file each, one section a use. `grammar.md` says what each section and key is for.

Rule 1: a file of this folder is a language. No code names one; `order` in the file decides which comes first, then the name.
Rule 2: a section is parsed when a use first asks for it: a start needs the function words, a turn needs hardly more.
Rule 3: rows of text are regular expressions, or parts of one. Those of a language that writes blanks are sought as whole words.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

_NOTHING = "(?!)"
"""What stands for a list of no rows: it matches nothing."""
_LAST = 100
"""The order of a language whose file gives none."""


class Language(NamedTuple):
    """How a language is written."""

    code: str
    spaced: bool
    """Words stand between blanks, and nothing is hung on them."""
    letters: str = ""
    """The body of a class of characters: nothing is said in the language without one of these."""
    foreign: str = ""
    """The body of a class of characters: nothing is said in the language with one of these."""
    order: int = _LAST

    @property
    def is_latin(self) -> bool:
        """Whether the language is written in Latin letters, as several are, so that its words have to tell it."""
        return self.letters == "a-z"


@cache
def _sources() -> Mapping[str, Mapping[str, str]]:
    """Return the text of each section by language; the head of a file is the section without a name."""
    found: dict[str, dict[str, str]] = {}
    for file in files("promt.language").iterdir():
        code, _, ending = file.name.partition(".")
        if ending == "toml":
            head, *parts = f"\n{file.read_text(encoding='utf-8')}".split("\n[")
            sections = {name: body for name, _, body in (part.partition("]\n") for part in parts)}
            found[code] = {"": head, **sections}
    return found


@cache
def languages() -> Mapping[str, Language]:
    """Return the languages by code, in their order."""
    heads = [Language(code, **tomllib.loads(sections[""])) for code, sections in _sources().items()]
    return {one.code: one for one in sorted(heads, key=lambda one: (one.order, one.code))}


@cache
def tables(use: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the sections of a use by language, in the order of the languages; a language without one is left out."""
    return {code: tomllib.loads(_sources()[code][use]) for code in languages() if use in _sources()[code]}


def rows(use: str, key: str, *, spaced: bool | None = None) -> list[str]:
    """Return the rows of all languages under a key, or of those that write blanks between words, or of those that do not."""
    found: list[str] = []
    for code, table in tables(use).items():
        if key in table and spaced in (None, languages()[code].spaced):
            row = table[key]
            found += [row] if isinstance(row, str) else row
    return found


def listed(use: str, key: str) -> list[str]:
    """Return the words of all languages under a key, in order."""
    return [word for row in rows(use, key) for word in row.split()]


def either(use: str, key: str, *, spaced: bool | None = None) -> str:
    """Return the pattern of any row under a key; the caller puts it into a group."""
    return "|".join(rows(use, key, spaced=spaced)) or _NOTHING


def whole(use: str, key: str) -> str:
    r"""Return the pattern of any row under a key: a whole word of a language with blanks, any part of a text without."""
    return rf"\b(?:{either(use, key, spaced=True)})\b|{either(use, key, spaced=False)}"
