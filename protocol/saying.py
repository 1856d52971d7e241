"""The words of a forgotten memory: their places in a text, and the text without them.

Rule 1: pure. Words are compared by their letters, whatever their case, white space, typography, emphasis and quoting.
Rule 2: words stand for themselves: within a longer word of a script that puts blanks between words they are another
word.
Rule 3: the text around them stays; a fixed mark stands in their place.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Final

import msgspec

from protocol.base import encode
from protocol.unicode_forms import normalize

MARK = "[forgotten]"

TYPOGRAPHY = {
    **dict.fromkeys(map(ord, "\u2018\u2019\u201a\u2032"), "'"),
    **dict.fromkeys(map(ord, "\u201c\u201d\u201e\u00ab\u00bb\u2033"), '"'),
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2212"), "-"),
}
"""Typographic quotes and dashes as ASCII: the same words typed again have these."""
_INVISIBLE = "[\u00ad\u034f\u061c\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff]+"
_UNSAID: Final = re.compile(rf"(?m)^[ \t]*(?:>[ \t]?)+|(?<![^\W_])[*_~`]+|[*_~`]+(?![^\W_])|{_INVISIBLE}")
"""Signs that say nothing: those of a quoted line, those around emphasized words, and those that nobody sees."""
_UNSEEN: Final = re.compile(_INVISIBLE)
_TERMINAL = " .!?\u3002\uff01\uff1f\u2026;,:"
FIRST_UNSPACED = "\u0e00"
"""From Thai on scripts write no blanks, or join small words to others."""
_JOINING_JAMO = range(0x1160, 0x1200)
"""Vowels and ends of Korean syllables that are written letter by letter."""

FEW = 16
"""Up to so many words are looked for one by one; with more, the text's own words are looked up."""
NOTHING: Final[frozenset[str]] = frozenset()

_anchors_of: Final = re.compile("[a-z0-9]+").findall
_decode: Final = msgspec.json.Decoder().decode


def _joins(letter: str) -> bool:
    """Return whether a character joins the one before it: a mark, or a part of a Korean syllable."""
    return unicodedata.category(letter).startswith("M") or ord(letter) in _JOINING_JAMO


def _clusters(text: str) -> Iterator[tuple[int, int]]:
    """Yield ranges of a character with what joins it."""
    start = 0
    for place in range(1, len(text) + 1):
        if place == len(text) or not _joins(text[place]):
            yield start, place
            start = place


def fold_text(text: str) -> str:
    """Return a text as it is compared."""
    text = _UNSAID.sub("", text)
    if text.isascii():
        return " ".join(text.lower().split())
    return " ".join(normalize("NFKC", text.translate(TYPOGRAPHY)).casefold().split())


def _fold_with_ranges(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return a text as it is compared, and for each of its characters the range of the original that it stands for."""
    places = list(range(len(text)))
    for unsaid in reversed(list(_UNSAID.finditer(text))):
        del places[unsaid.start() : unsaid.end()]
    said = "".join([text[place] for place in places])
    letters: list[str] = []
    ranges: list[tuple[int, int]] = []
    for start, end in _clusters(said):
        for letter in normalize("NFKC", said[start:end].translate(TYPOGRAPHY)).casefold():
            if not letter.isspace():
                letters.append(letter)
                ranges.append((places[start], places[end - 1] + 1))
            elif letters and letters[-1] != " ":
                letters.append(" ")
                ranges.append((places[start], places[end - 1] + 1))
    return "".join(letters), ranges


def _is_one_word(before: str, after: str) -> bool:
    """Return whether two neighbouring characters belong to one word of a script that writes blanks."""
    return before.isalnum() and after.isalnum() and before < FIRST_UNSPACED and after < FIRST_UNSPACED


def stands_alone(flat: str, start: int, end: int) -> bool:
    """Return whether a part of a folded text begins and ends no longer word."""
    is_cut = (start > 0 and _is_one_word(flat[start - 1], flat[start])) or (
        end < len(flat) and _is_one_word(flat[end - 1], flat[end])
    )
    return not is_cut


def _places(flat: str, phrase: str) -> Iterator[int]:
    """Yield where a folded phrase stands for itself in a folded text."""
    place = flat.find(phrase)
    while place >= 0:
        end = place + len(phrase)
        is_alone = stands_alone(flat, place, end)
        if is_alone:
            yield place
        place = flat.find(phrase, end if is_alone else place + 1)


class Saying:
    """Phrases that are looked for in texts: any number at the cost of a few."""

    def __init__(self, phrases: Iterable[str]) -> None:
        self.phrases = frozenset(phrase for text in phrases if (phrase := fold_text(text).strip(_TERMINAL)))
        """The phrases as they are compared."""
        self._anchored: dict[str, list[str]] = {}
        for phrase in sorted(self.phrases):
            self._anchored.setdefault(max(_anchors_of(phrase), key=len, default=""), []).append(phrase)

    def without(self, phrases: Collection[str]) -> "Saying":
        """Return the same but for some phrases."""
        return Saying(self.phrases.difference(phrases))

    def find_phrases(self, text: str) -> frozenset[str]:
        """Return the phrases that a text says."""
        if not text or self._has_none(text):
            return NOTHING
        flat = fold_text(text)
        anchors = self._anchored.keys() & {*_anchors_of(flat), ""}
        phrases = (phrase for anchor in anchors for phrase in self._anchored[anchor])
        return frozenset(phrase for phrase in phrases if next(_places(flat, phrase), None) is not None)

    def _has_none(self, text: str) -> bool:
        """Return whether the text surely has no phrase: most texts have none of the words, at a tenth of the cost."""
        if "" in self._anchored or len(self._anchored) > FEW:
            return not self._anchored
        plain = text.lower() if text.isascii() else normalize("NFKC", _UNSEEN.sub("", text)).casefold()
        return not any(anchor in plain for anchor in self._anchored)

    def take_out(self, text: str) -> str:
        """Return the text with a mark in the place of every phrase."""
        said = self.find_phrases(text)
        if not said:
            return text
        flat, ranges = _fold_with_ranges(text)
        spans = sorted(
            (ranges[place][0], ranges[place + len(phrase) - 1][1]) for phrase in said for place in _places(flat, phrase)
        )
        parts: list[str] = []
        done = 0
        for start, end in spans:
            if start >= done:
                parts += [text[done:start], MARK]
            done = max(done, end)
        return "".join([*parts, text[done:]])

    def take_out_of_json(self, text: str, free: Collection[str]) -> str:
        """Return a JSON text without the phrases in members of these names; of no names, in all of it.

        What is no JSON is changed as a whole.
        """
        if not self.phrases:
            return text
        try:
            value = _decode(text)
        except msgspec.DecodeError:
            return self.take_out(text)
        changed = self._take_out_of(value, free) if free else map_texts(value, self.take_out)
        return text if changed == value else encode(changed).decode()

    def _take_out_of(self, value: Any, free: Collection[str]) -> Any:
        if isinstance(value, list):
            return [self._take_out_of(entry, free) for entry in value]  # pyright: ignore[reportUnknownVariableType]
        if isinstance(value, dict):
            return {
                name: map_texts(entry, self.take_out) if name in free else self._take_out_of(entry, free)
                for name, entry in value.items()  # pyright: ignore[reportUnknownVariableType]
            }
        return value

    def find_phrases_in_json(self, text: str, free: Collection[str]) -> frozenset[str]:
        """Return the phrases in members of these names, of no names in all of it; what is no JSON is searched whole."""
        try:
            value = _decode(text)
        except msgspec.DecodeError:
            return self.find_phrases(text)
        parts = _free_texts(value, free) if free else texts_in(value)
        return frozenset(phrase for part in parts for phrase in self.find_phrases(part))


def map_texts(value: Any, of_text: Callable[[str], str]) -> Any:
    """Return a JSON value with its texts and its names changed."""
    if isinstance(value, str):
        return of_text(value)
    if isinstance(value, list):
        return [map_texts(entry, of_text) for entry in value]  # pyright: ignore[reportUnknownVariableType]
    if _is_number(value):
        return value if of_text(str(value)) == str(value) else MARK
    if isinstance(value, dict):
        return {of_text(str(name)): map_texts(entry, of_text) for name, entry in value.items()}  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]
    return value


def texts_in(value: Any) -> Iterator[str]:
    """Yield every text of a JSON value, its names too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for entry in value:  # pyright: ignore[reportUnknownVariableType]
            yield from texts_in(entry)
    elif isinstance(value, dict):
        for name, entry in value.items():  # pyright: ignore[reportUnknownVariableType]
            yield str(name)  # pyright: ignore[reportUnknownArgumentType]
            yield from texts_in(entry)
    elif _is_number(value):
        yield str(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _free_texts(value: Any, free: Collection[str]) -> Iterator[str]:
    if isinstance(value, list):
        for entry in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _free_texts(entry, free)
    elif isinstance(value, dict):
        for name, entry in value.items():  # pyright: ignore[reportUnknownVariableType]
            yield from texts_in(entry) if name in free else _free_texts(entry, free)
