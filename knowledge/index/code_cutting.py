"""The cutting of code into pieces: one for each function, class or method, and one for small neighbours; pure.

Rule 1: the ranges, joined, are the text; a piece begins and ends with a line.
Rule 2: the trail of a piece is the symbols around it, the outermost first; of joined ones, those they have in common.
Rule 3: ranges are in characters.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from knowledge.index.cutting import SIZES, Heading, TextPiece, cut_range, line_starts

COMMENTS = ("#", "//", "/*", "*", "@", "--", "///", "[")
"""Beginnings of lines that belong to the symbol below them."""


class CodeSymbol(NamedTuple):
    """A function, class or method: its range, and the range of its name."""

    start: int
    end: int
    name_start: int
    name_end: int


class _Segment(NamedTuple):
    """A range of the text, and the symbols around it, the outermost first."""

    start: int
    end: int
    trail: tuple[CodeSymbol, ...]

    @property
    def size(self) -> int:
        return self.end - self.start


def cut_code(text: str, symbols: Sequence[CodeSymbol]) -> list[TextPiece]:
    """Return the pieces of code in order; an empty text has none."""
    if not text:
        return []
    starts = line_starts(text)
    whole = [_whole_lines(text, starts, one) for one in symbols]
    segments = _join_segments(_segments(len(text), whole, symbols))
    return [
        _to_piece(start, end, one.trail, starts)
        for one in segments
        for start, end in (cut_range(text, one.start, one.end, starts) if one.size > SIZES.chunk_max else [one[:2]])
    ]


def _whole_lines(text: str, starts: Sequence[int], symbol: CodeSymbol) -> tuple[int, int]:
    """Return the range of a symbol's lines, with the comments directly above it and the empty lines below it."""
    line = bisect_right(starts, symbol.start) - 1
    while line > 0 and text[starts[line - 1] : starts[line]].strip().startswith(COMMENTS):
        line -= 1
    after = bisect_left(starts, symbol.end)
    while after < len(starts) and not text[starts[after] : _end_of(text, starts, after)].strip():
        after += 1
    return starts[line], starts[after] if after < len(starts) else len(text)


def _end_of(text: str, starts: Sequence[int], line: int) -> int:
    return starts[line + 1] if line + 1 < len(starts) else len(text)


def _segments(size: int, whole: Sequence[tuple[int, int]], symbols: Sequence[CodeSymbol]) -> list[_Segment]:
    """Return the text cut at every beginning and end of a symbol; `whole` are the ranges of the symbols' lines."""
    cuts = sorted({0, size, *(place for lines in whole for place in lines)})
    order = sorted(range(len(symbols)), key=lambda at: (whole[at][0], -whole[at][1], at))
    around: list[int] = []
    found: list[_Segment] = []
    place = 0
    for start, end in pairwise(cuts):
        around = [at for at in around if whole[at][1] > start]
        while place < len(order) and whole[order[place]][0] <= start:
            if whole[order[place]][1] > start:
                around.append(order[place])
            place += 1
        found.append(_Segment(start, end, tuple(symbols[at] for at in around)))
    return found


def _join_segments(segments: Sequence[_Segment]) -> list[_Segment]:
    """Return the segments with small neighbours joined: siblings, and a symbol's head with the first symbol in it."""
    found: list[_Segment] = []
    for one in segments:
        last = found[-1] if found else None
        if last is not None and _go_together(last, one):
            found[-1] = _Segment(last.start, one.end, _common(last.trail, one.trail))
        else:
            found.append(one)
    return found


def _go_together(one: _Segment, other: _Segment) -> bool:
    common = len(_common(one.trail, other.trail))
    is_near = common >= min(len(one.trail), len(other.trail)) - 1 and abs(len(one.trail) - len(other.trail)) <= 1
    return is_near and max(one.size, other.size) < SIZES.target_min and one.size + other.size <= SIZES.target_max


def _common(one: tuple[CodeSymbol, ...], other: tuple[CodeSymbol, ...]) -> tuple[CodeSymbol, ...]:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return one[:count]


def _to_piece(start: int, end: int, trail: Sequence[CodeSymbol], starts: Sequence[int]) -> TextPiece:
    headings = [
        Heading(level, one.name_start, one.name_end, bisect_right(starts, one.name_start) - 1)
        for level, one in enumerate(trail, 1)
    ]
    return TextPiece(start, end, bisect_right(starts, start), bisect_right(starts, end - 1), tuple(headings))
