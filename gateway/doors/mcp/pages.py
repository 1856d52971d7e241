"""Pages of a turn: as much of its messages as a block holds, and the place where the next page begins.

Rule 1: pure. A place is an offset in the shown texts of the turn's messages, one after another; the same turn has the
same places.
Rule 2: room that short messages leave goes to long ones; every cut has a mark.
"""

from collections.abc import Sequence
from typing import NamedTuple

from promt.render import ELLIPSIS, plain

PAGE_CHARS = 7500
"""Characters of a page: a block holds 8000, `MAX_RESULT_CHARS`, and its frame takes less than 400."""
ROW_CHARS = 160
"""Characters that a message takes beside its text: its id, its role and its day."""
MIN_PIECE_CHARS = 200
"""The least characters of a message that is cut; where fewer fit, it begins on the next page."""
LEAD_CHARS = 400
"""Characters before a found quotation that are shown with it, so that it is read in its context."""
LINE_BREAK = " ⏎ "
_MIN_CUT = 0.6
"""The least part of the room that a cut at a blank may use; else the cut is in the middle of a word."""


class Piece(NamedTuple):
    """The characters of one message on a page."""

    message: int
    """The message's index among those of the turn."""
    text: str


class ShownPage(NamedTuple):
    """A page: its pieces, the place of its end, and the length of the turn."""

    pieces: list[Piece]
    end: int
    total: int


def to_block_text(text: str) -> str:
    """Return a message's text on one line, as a block shows it."""
    return plain(text, line_break=LINE_BREAK)


def page_of(texts: Sequence[str], start: int) -> ShownPage:
    """Return the page that begins at a place, empty behind the end; `texts` are those of `to_block_text`."""
    pieces: list[Piece] = []
    room, before, end = PAGE_CHARS, 0, start
    for message, text in enumerate(texts):
        rest = text[max(0, start - before) :]
        before += len(text)
        if not rest:
            continue
        room -= ROW_CHARS
        if room < min(len(rest), MIN_PIECE_CHARS):
            break
        piece = _cut(rest, room)
        pieces.append(Piece(message, piece))
        room -= len(piece)
        end = before - len(rest) + len(piece)
        if len(piece) < len(rest):
            break
    return ShownPage(pieces, end, sum(map(len, texts)))


def _cut(text: str, room: int) -> str:
    """Return as much of the text as fits, up to a blank where one is near the end of the room."""
    if len(text) <= room:
        return text
    blank = text.rfind(" ", 0, room)
    return text[: blank + 1] if blank >= room * _MIN_CUT else text[:room]


def page_start_of(texts: Sequence[str], quotation: str) -> int:
    """Return the place of the page that holds a quotation; 0 where the first page does, or none.

    A quotation with an ellipsis is found by its longest part.
    """
    longest = max((to_block_text(part).strip(f"{LINE_BREAK} ") for part in quotation.split(ELLIPSIS)), key=len)
    before = 0
    for text in texts:
        found = text.find(longest)
        if found >= 0:
            place = before + found
            return 0 if page_of(texts, 0).end >= place + len(longest) else max(0, place - LEAD_CHARS)
        before += len(text)
    return 0
