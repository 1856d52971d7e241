"""A turn read page by page: as much of its messages as a block holds, and where the next page begins.

Rule 1: pure. A place is a number of characters of the turn as it is shown, its messages one after another; the same
turn has the same places.
Rule 2: room that short messages leave goes to long ones; every cut has a mark.
"""

from collections.abc import Sequence
from typing import NamedTuple

from promt.render import ELLIPSIS, plain

ROOM = 7500
"""Characters of a page: a block has 8000 in all, and its frame takes less than 400."""
ROW_CHARS = 160
"""The room of a message's own line beside its text: its id, its role and its day."""
LEAST_PIECE = 200
"""A shorter beginning of a message is of no use; it waits for the next page."""
LEAD = 400
"""Characters before a place that was found, so that it is read in its context."""
LINE_BREAK = " ⏎ "
_LEAST_CUT = 0.6  # a cut goes back to a blank only in the last two fifths of a piece


class Piece(NamedTuple):
    """Some characters of a message."""

    message: int
    text: str


class ShownPage(NamedTuple):
    """A page: its text, its end, and the length of the whole."""

    pieces: list[Piece]
    end: int
    total: int


def to_block_text(text: str) -> str:
    """Return a message's text as a block has it."""
    return plain(text, line_break=LINE_BREAK)


def page_of(texts: Sequence[str], start: int) -> ShownPage:
    """Return the page that begins at a place. The texts are as they are shown."""
    pieces: list[Piece] = []
    room, before, end = ROOM, 0, start
    for message, text in enumerate(texts):
        rest = text[max(0, start - before) :]
        before += len(text)
        if not rest:
            continue
        room -= ROW_CHARS
        if room < min(len(rest), LEAST_PIECE):
            break
        piece = _cut(rest, room)
        pieces.append(Piece(message, piece))
        room -= len(piece)
        end = before - len(rest) + len(piece)
        if len(piece) < len(rest):
            break
    return ShownPage(pieces, end, sum(map(len, texts)))


def _cut(text: str, room: int) -> str:
    """As much of the text as fits, to a blank where one is near."""
    if len(text) <= room:
        return text
    blank = text.rfind(" ", 0, room)
    return text[: blank + 1] if blank >= room * _LEAST_CUT else text[:room]


def place_of(texts: Sequence[str], quotation: str) -> int:
    """Return the start of the page that holds a quotation, also a shortened one; 0 where no later page does."""
    told = max((to_block_text(part).strip(f"{LINE_BREAK} ") for part in quotation.split(ELLIPSIS)), key=len)
    before = 0
    for text in texts:
        found = text.find(told)
        if found >= 0:
            place = before + found
            return 0 if page_of(texts, 0).end >= place + len(told) else max(0, place - LEAD)
        before += len(text)
    return 0
