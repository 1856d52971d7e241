"""Chunk boundaries of a message: it is cut, and never changed.

Rule 1: pure and deterministic; the ranges are a partition of the text (code points, half-open), up to the range left
out.
Rule 2: the best boundary in the window wins; a code fence or a table that fits into a chunk is not torn.
Rule 3: work is linear: regular expressions look at one window at a time and never step back into a run.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable
from itertools import pairwise
from typing import TypeAlias

from msgspec import Struct

from promt.language.reader import list_words
from promt.patterns import compile_late

Range: TypeAlias = tuple[int, int]


class ChunkSizes(Struct, frozen=True, kw_only=True):
    """Sizes of chunks, in characters, and their number for an item."""

    target_min: int
    target_max: int
    chunk_max: int
    max_chunks: int


class Cut(Struct, frozen=True, kw_only=True):
    """The ranges of an item's chunks, and the rest of it that gets no chunk; None where there is no rest."""

    ranges: tuple[Range, ...]
    left_out: Range | None


_COMBINING = "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u064b-\u065f\u200d\u20d0-\u20ff\ufe00-\ufe0f\U0001f3fb-\U0001f3ff"
_CLOSERS = "\"'\u2019\u201c\u201d\u00ab\u00bb)\\]\u300d\u300f\uff09\u3011"

_SENTENCE = compile_late(
    r"[.!?\u2026\u203d\u3002\uff01\uff1f\uff61](?:"
    r"(?:(?<=\.)(?<!\.\.)\.*+|(?<=[!?\u2026\u203d])(?<![!?\u2026\u203d]{2})[!?\u2026\u203d]*+)"
    rf"[{_CLOSERS}]*+\s++(?=[^a-z\u0430-\u044f\u0451])"
    r"|(?<=[\u3002\uff01\uff1f\uff61])(?<![\u3002\uff01\uff1f\uff61]{2})[\u3002\uff01\uff1f\uff61]*+"
    rf"[{_CLOSERS}]*+\s*+)"
)
"""A pattern that begins with one set of signs, for which the engine looks at once; each kind's condition follows."""


def _not_an_end() -> str:
    known = "|".join(map(re.escape, list_words("chunks", "ends_no_sentence")))
    return rf"(?:\b(?:[^\W\d_]|{known})|(?<!\S)\d{{1,3}})\.$"


_NOT_AN_END = compile_late(_not_an_end, re.IGNORECASE)
"""An abbreviation, an initial, or the number of a list entry: its full stop ends no sentence."""
_ABBREVIATION_CHARS = 10

_LINE = compile_late(r"\n")
_BOUNDARIES: tuple[re.Pattern[str], ...] = (
    compile_late(r"\n(?=[ ]{0,3}#{1,6}[ \t])"),
    compile_late(r"\n(?:[ \t]*+\n)++"),
    compile_late(r"\n(?=[ ]{0,3}(?:```|~~~))|^[ ]{0,3}(?:```|~~~)[`~]*[ \t]*\n", re.MULTILINE),
    compile_late(r"\n(?=[ \t]*(?:[-*+\u2022]|\d{1,3}[.)])[ \t])"),
    _SENTENCE,
    _LINE,
    compile_late(r"(?<=\s)(?=\S)"),
    compile_late(rf"[^{_COMBINING}\r](?![{_COMBINING}])", re.DOTALL),
)
"""Best first: heading, paragraph, fence, list entry, sentence, line, word, character. A boundary is a match's end."""

_MARGIN = 80
"""Characters before the window where a match that ends in it may begin."""

_WHOLE = compile_late(
    r"^[ ]{0,3}(?P<fence>```|~~~)[^\n]*\n(?:.*?^[ ]{0,3}(?P=fence)[`~]*[ \t]*(?:\n|\Z)|.*\Z)"
    r"|(?:^[ \t]*\|[^\n]*(?:\n|\Z)){2,}",
    re.MULTILINE | re.DOTALL,
)
"""Code fences (an open one reaches to the end) and tables."""


def _wholes(text: str, chunk_max: int) -> list[Range]:
    """Return the ranges that must not be torn, in order."""
    if "```" not in text and "~~~" not in text and "|" not in text:
        return []
    return [m.span() for m in _WHOLE.finditer(text) if m.end() - m.start() <= chunk_max]


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    if text[match.start()] != ".":
        return True
    return _NOT_AN_END.search(text, max(0, match.start() - _ABBREVIATION_CHARS), match.start() + 1) is None


class _Cutter:
    """One text with the places where it must not be cut."""

    def __init__(self, text: str, sizes: ChunkSizes) -> None:
        self.text = text
        self.sizes = sizes
        self.wholes = _wholes(text, sizes.chunk_max)
        self.starts = [start for start, _ in self.wholes]

    def _whole_at(self, place: int) -> Range | None:
        """Return the whole that a cut at `place` would tear."""
        index = bisect_right(self.starts, place) - 1
        if index < 0:
            return None
        start, end = self.wholes[index]
        return (start, end) if start < place < end else None

    def _best(self, low: int, high: int) -> int | None:
        """Return the last place of the best rank in low..high (both may be cut at) that tears nothing."""
        begin = max(0, low - _MARGIN)
        reach = min(len(self.text), high + 2)  # a look ahead needs the text behind the window
        for boundary in _BOUNDARIES:
            found = [
                match.end()
                for match in boundary.finditer(self.text, begin, reach)
                if low <= match.end() <= high and (boundary is not _SENTENCE or _ends_sentence(self.text, match))
            ]
            for place in reversed(found):
                if self._whole_at(place) is None:
                    return place
        return None

    def cut(self, start: int, low: int, high: int) -> int:
        """Return where the chunk that begins at `start` ends, at best within low..high after it."""
        place = self._best(start + low, start + high)
        if place is not None:
            return place
        whole = self._whole_at(start + high)
        if whole is not None:  # all of the window is inside one: end behind it if it still fits, else before it
            if whole[1] - start <= self.sizes.chunk_max:
                return whole[1]
            if whole[0] > start:
                return whole[0]
        return start + high

    def ranges(self, *, grows: bool) -> list[Range]:
        """Return the ranges of the whole text; with `grows`, later chunks take their full length once room is short."""
        sizes, length = self.sizes, len(self.text)
        long_low = max(sizes.target_min, sizes.chunk_max - (sizes.target_max - sizes.target_min))
        found: list[Range] = []
        start = 0
        while start < length:
            rest, slots = length - start, sizes.max_chunks - len(found)
            if rest <= sizes.chunk_max:
                end = length
            elif grows and rest > slots * sizes.target_min:
                end = self.cut(start, long_low, sizes.chunk_max)
            else:
                end = self.cut(start, sizes.target_min, sizes.target_max)
            found.append((start, end))
            start = end
            if slots == (1 if grows else 0):  # full; or, at the first try, one too many to be kept
                break
        return found


def cut_text(text: str, sizes: ChunkSizes) -> Cut:
    """Return the chunks of a text; `left_out` is the rest that even `max_chunks` of the largest size do not hold."""
    cutter = _Cutter(text, sizes)
    ranges = cutter.ranges(grows=False)
    if len(ranges) > sizes.max_chunks:
        ranges = cutter.ranges(grows=True)
    end = ranges[-1][1] if ranges else 0
    return Cut(ranges=tuple(ranges), left_out=(end, len(text)) if end < len(text) else None)


def split_sentences(text: str) -> list[Range]:
    """Return sentences and lines as a partition of the text: the parts of a snippet."""
    ends = {match.end() for match in _SENTENCE.finditer(text) if _ends_sentence(text, match)}
    ends |= {match.end() for match in _LINE.finditer(text)}
    places = sorted({0, len(text), *ends})
    return list(pairwise(places))


def overlaps(start: int, end: int, ranges: Iterable[Range]) -> bool:
    """Return whether a range has a character of one of the others."""
    return any(first < end and last > start for first, last in ranges)
