"""Cuts texts that steer a turn to a budget, from the end of the outermost; a notice in the prompt names each cut.

Rule 1: pure. The notices count to the budget as well.
Rule 2: a text ends at a heading or paragraph, else at a line. It ends within one, at a word and with `…`, only where
less than half of its room would be used: a rule of one long line is better told in part than not at all.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct

from promt.patterns import compile_late

_BLANK = compile_late(r"\n[ \t\r]*\n")
_HEADING = compile_late(r"\n(?=#{1,6} )")
_LINE = compile_late(r"\n")
_GOES_ON = "…\n"


class SteeringText(Struct, frozen=True):
    """A text with the heading under which it stands; `level` counts from the outermost folder inwards."""

    path: str
    heading: str
    text: str
    level: int = 0


class LineCut(NamedTuple):
    """Lines of a text that were left out, from 1, and how many characters these are."""

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
    texts = [_whole(piece) for piece in pieces]
    cuts: dict[int, LineCut] = {}
    order = sorted(range(len(pieces)), key=lambda number: (pieces[number].level, -number))
    used = len(Fitted(texts, []).text)
    for number in order:
        over = used - limit
        if over <= 0:
            break
        shorter, cut = _cut(pieces[number], len(texts[number]) - over)
        if len(shorter) < len(texts[number]):
            used -= len(texts[number]) - len(shorter)
            texts[number], cuts[number] = shorter, cut
    if used > limit:
        return Fitted([""] * len(pieces), [_build_line_cut(piece, 0) for piece in pieces])
    return Fitted(texts, [cuts[number] for number in sorted(cuts)])


def _whole(piece: SteeringText) -> str:
    return f"{piece.heading}{piece.text}{'' if piece.text.endswith(chr(10)) else chr(10)}"


def _build_line_cut(piece: SteeringText, kept: int) -> LineCut:
    lines = piece.text.count("\n") + (not piece.text.endswith("\n"))
    return LineCut(piece.path, piece.text.count("\n", 0, kept) + 1, max(1, lines), len(piece.text) - kept)


def _cut(piece: SteeringText, room: int) -> tuple[str, LineCut]:
    """Return as much of a piece as fits into its room with the notice, and the cut; at the least the notice alone."""
    best: tuple[str, LineCut] | None = None
    for ends in (_ends_of_paragraphs(piece.text), (found.end() for found in _LINE.finditer(piece.text))):
        for kept in ends:
            cut = _build_line_cut(piece, kept)
            if len(piece.heading) + kept + len(cut.notice) > room:
                break
            if kept < len(piece.text):
                best = f"{piece.heading}{piece.text[:kept]}{cut.notice}", cut
        if best is not None and 2 * len(best[0]) >= room:
            return best
    within = _cut_within_line(piece, room)
    cut = _build_line_cut(piece, 0)
    return within or best or (cut.notice, cut)


def _cut_within_line(piece: SteeringText, room: int) -> tuple[str, LineCut] | None:
    """Return as much of a piece as fits, to the end of a word; None where its room takes no word of it."""
    longest_notice = len(_build_line_cut(piece, 0).notice) + len(str(piece.text.count("\n")))
    most = room - len(piece.heading) - longest_notice - len(_GOES_ON)
    if most <= 0:
        return None
    blank = max(piece.text.rfind(sign, 0, most) for sign in " \n")
    end = blank if 2 * blank >= most else most  # a text without blanks, as Chinese, ends anywhere
    kept = len(piece.text[:end].rstrip())
    if not kept:
        return None
    cut = _build_line_cut(piece, kept)
    return f"{piece.heading}{piece.text[:kept]}{_GOES_ON}{cut.notice}", cut


def _ends_of_paragraphs(text: str) -> Iterator[int]:
    ends = {found.end() for found in _BLANK.finditer(text)} | {found.end() for found in _HEADING.finditer(text)}
    yield from sorted(ends)
