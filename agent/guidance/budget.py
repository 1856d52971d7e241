"""Cuts texts that steer a turn to a budget, from the end of the outermost; a notice in the prompt names each cut.

Rule 1: pure. The notices count to the budget as well.
Rule 2: a text ends at a heading or paragraph. Where that leaves half of its room empty it ends at a line, at a
sentence, at a word, or where it must: one long line takes no rule away.
"""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from promt.layout import SENTENCE_END
from promt.patterns import compile_late

MAX_HEADING_CHARS = 7
"""Of the marks and the blank that make a line a heading."""
_ENDS = (
    compile_late(r"\n(?:[ \t\r]*\n|(?=#{1,6} ))"),  # a paragraph, or what stands above a heading
    compile_late(r"\n"),
    SENTENCE_END,
    compile_late(r"\s"),
)
"""Ends of the parts of a text, from the best place for a cut on."""


class SteeringText(Struct, frozen=True):
    """A text with the heading under which it stands; `level` counts from the outermost folder inwards."""

    path: str
    heading: str
    text: str
    level: int = 0


class LineCut(NamedTuple):
    """Lines of a text that were left out, from 1, and how many characters these are; a part of the first may stay."""

    path: str
    from_line: int
    to_line: int
    chars: int

    @property
    def notice(self) -> str:
        """Return the line that stands in the prompt in their place."""
        lines = f"{self.path}: lines {self.from_line}-{self.to_line} left out"
        return f"[{lines}, {self.chars:,} characters over the budget]\n"


class Fitted(NamedTuple):
    """The texts as they stand in the prompt, in order, and what is missing of them."""

    texts: list[str]
    cuts: list[LineCut]

    @property
    def text(self) -> str:
        """Return all of it; empty where nothing is left."""
        return "\n".join(text for text in self.texts if text)


def fit(pieces: Sequence[SteeringText], limit: int) -> Fitted:
    """Return the pieces within a budget of characters: the innermost is kept first, a cut ends the outermost.

    If not even the notices fit, the result is empty and every piece counts as cut.
    """
    whole = [_whole(piece) for piece in pieces]
    breaks = max(0, len(pieces) - 1)  # a line break stands between two
    if sum(map(len, whole)) + breaks <= limit:
        return Fitted(whole, [])
    order = sorted(range(len(pieces)), key=lambda number: (-pieces[number].level, number))
    least = [min(len(text), len(_build_line_cut(piece, 0).notice)) for piece, text in zip(pieces, whole, strict=True)]
    room = limit - breaks - sum(least)
    if room < 0:
        return Fitted([""] * len(pieces), [_build_line_cut(piece, 0) for piece in pieces])
    texts, cuts = list[str](whole), dict[int, LineCut]()
    for number in order:
        room += least[number]
        if len(whole[number]) > room:
            texts[number], cuts[number] = _cut(pieces[number], room)
        room -= len(texts[number])
    return Fitted(texts, [cuts[number] for number in sorted(cuts)])


def _whole(piece: SteeringText) -> str:
    return f"{piece.heading}{piece.text}{'' if piece.text.endswith(chr(10)) else chr(10)}"


def _build_line_cut(piece: SteeringText, kept: int) -> LineCut:
    lines = piece.text.count("\n") + (not piece.text.endswith("\n"))
    return LineCut(piece.path, piece.text.count("\n", 0, kept) + 1, max(1, lines), len(piece.text) - kept)


def _cut(piece: SteeringText, room: int) -> tuple[str, LineCut]:
    """Return as much of a piece as fits into its room with the notice, and the cut; at the least the notice alone."""
    nothing = _build_line_cut(piece, 0)
    widest = nothing._replace(from_line=nothing.to_line)
    kept = _find_end(piece.text, room - len(piece.heading) - len(widest.notice) - 1)
    if kept <= 0:
        return nothing.notice, nothing
    cut = _build_line_cut(piece, kept)
    line_break = "" if piece.text[kept - 1] == "\n" else "\n"
    return f"{piece.heading}{piece.text[:kept]}{line_break}{cut.notice}", cut


def _find_end(text: str, most: int) -> int:
    """Return how much of a text to keep, which is too long: at most so many characters."""
    for pattern in _ENDS:
        found = (match.end() for match in pattern.finditer(text, 0, most + MAX_HEADING_CHARS))
        best = max((end for end in found if end <= most), default=0)
        if 2 * best > most:
            return best
    return most
