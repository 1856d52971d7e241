"""The cutting of a text into pieces: a partition into ranges, with lines and the headings above each; pure.

Rule 1: the ranges, joined, are the text; a piece of Markdown never crosses a heading of level 1 to 3.
Rule 2: a cut is moved back to the beginning of its line, unless nothing would be left.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from msgspec import Struct

from retrieval.chunking import ChunkSizes, Range, cut_text

SIZES = ChunkSizes(target_min=700, target_max=1200, chunk_max=1600, max_chunks=1_000_000)
"""In characters: the sizes of a conversation's chunks, at which search by words and by meaning were measured."""
DIVIDING_LEVEL = 3
"""A heading of level 1 to this one begins a piece."""


class Heading(NamedTuple):
    """A heading: its level from 1, the range of its text in characters, and its line from 0."""

    level: int
    start: int
    end: int
    line: int


class TextPiece(Struct, frozen=True):
    """A range of a text in characters, its lines from 1, and the headings above it, the outermost first."""

    start: int
    end: int
    from_line: int
    to_line: int
    trail: tuple[Heading, ...]


def line_starts(text: str) -> list[int]:
    """Return the offset of each line's beginning; the end of a text begins no line."""
    lines = text.replace("\r\n", " \n").replace("\r", "\n").split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines[:-1])]
    if len(starts) > 1 and starts[-1] == len(text):
        starts.pop()
    return starts


def cut_pieces(
    text: str, headings: Sequence[Heading], *, is_markdown: bool, breaks: Sequence[int] = ()
) -> list[TextPiece]:
    """Return the pieces of a text in order; an empty text has none. A piece begins at each offset of `breaks`."""
    if not text:
        return []
    starts = line_starts(text)
    dividing = [starts[one.line] for one in headings if one.level <= DIVIDING_LEVEL]
    ends = sorted({0, len(text), *dividing, *breaks})
    ranges = [
        piece for start, end in pairwise(ends) for piece in cut_range(text, start, end, starts, whole=is_markdown)
    ]
    return [_piece(start, end, starts, headings) for start, end in ranges]


def cut_range(text: str, start: int, end: int, starts: Sequence[int], *, whole: bool = False) -> list[Range]:
    """Return the pieces of a range of the text, whose lines begin at `starts`.

    `cut_text` puts its cuts between blocks of Markdown. With `whole` a cut stays there, unless its line began shortly
    before it; else every cut is moved back to the beginning of its line.
    """
    cuts = [start + last for _, last in cut_text(text[start:end], SIZES).ranges]
    kept = [start]
    for cut in cuts[:-1]:
        at = starts[bisect_right(starts, cut) - 1]
        place = at if at > kept[-1] and (not whole or cut - at < SIZES.target_min) else cut
        if place > kept[-1]:
            kept.append(place)
    return list(pairwise([*kept, end]))


def _piece(start: int, end: int, starts: Sequence[int], headings: Sequence[Heading]) -> TextPiece:
    first, last = bisect_right(starts, start), bisect_right(starts, end - 1)
    trail: list[Heading] = []
    for heading in headings:
        if starts[heading.line] > start:
            break
        trail = [*(one for one in trail if one.level < heading.level), heading]
    return TextPiece(start, end, first, last, tuple(trail))
