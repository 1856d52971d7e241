"""The tables of this room, `rules.toml` and `words.toml`, each read once, when a text is first looked through.

The words of languages for codes and locks stand in `[secrets]` of the languages' files.
"""

import tomllib
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any

from promt.language.reader import list_words
from promt.patterns import compile_late

_PART = compile_late(r"\{([a-z_]+)\}")
NAMES = ("pins", "codes", "locks", "guarded")
"""The lists of `[secrets]` by which a code is recognised: words for a number that opens, words that may mean one,
things that are locked, and things that a code guards."""


@cache
def read_table(name: str) -> dict[str, Any]:
    """Return a table of this room as it stands."""
    return tomllib.loads((Path(__file__).parent / f"{name}.toml").read_text(encoding="utf-8"))


def any_word(name: str) -> str:
    """Return the pattern that matches any word of a list of `words.toml`."""
    return "|".join(read_table("words")[name])


class PatternParts(dict[str, str]):
    """The parts of patterns by name, each with the parts that it names in braces put in."""

    def fill(self, text: str) -> str:
        """Return a text with its parts put in."""
        return _PART.sub(lambda found: self[found[1]], text)

    def keywords(self, text: str) -> tuple[str, ...]:
        """Return the hints of a row; of one part alone they are its alternatives."""
        filled = self.fill(text)
        return tuple((filled.replace("|", " ") if _PART.fullmatch(text) else filled).split())


@cache
def find_parts() -> PatternParts:
    """Return the parts of patterns: those of `rules.toml`, and three that are made of the languages' words."""
    papers = list_words("secrets", "papers")
    parts = PatternParts(
        opening_words=_hints_of(_list_opening_words()), papers=pattern_of("papers"), paper_words=_hints_of(papers)
    )
    for name, text in read_table("rules")["parts"].items():
        parts[name] = parts.fill(text)  # a part names earlier ones
    return parts


def pattern_of(name: str) -> str:
    """Return the pattern of the words of all languages under a key of `[secrets]`."""
    return "|".join(map(_match_whole, list_words("secrets", name)))


def _list_opening_words() -> list[str]:
    return [word for name in NAMES for word in list_words("secrets", name)]


def fold(word: str) -> str:
    """Return a word as it stands in the view of prose: in lower case, without accents."""
    bare = "".join(c for c in unicodedata.normalize("NFKD", word.lower()) if not "\u0300" <= c <= "\u036f")
    return unicodedata.normalize("NFC", bare)


def _hints_of(words: list[str]) -> str:
    return "|".join(dict.fromkeys(map(_hint_of, words)))


def _hint_of(word: str) -> str:
    """Return a pattern that every text with the word matches, without a blank: rows split their hints at blanks."""
    bare = fold(word.strip("*")).replace("_", "\\s")
    return bare if word.startswith("*") or not bare[:1].isascii() else rf"\b{bare}"


def _match_whole(word: str) -> str:
    """Return the pattern of a word; `*` stands for letters, and a word of another script is sought as it stands."""
    bare = fold(word.strip("*")).replace("_", " ")
    if not bare[0].isascii():
        return bare
    return (
        ("" if word.startswith("*") else r"\b") + bare + (r"[a-z\x80-\xff]{0,12}" if word.endswith("*") else "") + r"\b"
    )
