"""The layout of a table for a terminal of any width; `screen` draws it. Widths are in cells of the terminal.

Rule 1: no cell is ever cut: an id that is shown can be copied.
Rule 2: where there is no room, columns that help least are left out; where that is not enough, each row is a line of
its short cells, with the long ones below it.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

WIDE = frozenset({"content", "text", "meaning", "why", "title", "question", "name", "folder"})
"""Columns that hold sentences: they are folded, the others are shown on one line."""
SPARE = ("updated", "made", "scope", "workspace")
"""Columns that are left out first, in this order: `--json`, `show` and a wider terminal have them."""
LEAST = 30
"""The least width of a column of sentences, unless all of its cells are shorter; a narrower one is hard to read."""
GAP = 2
"""Blanks between columns."""
INDENT = 4
"""Blanks before the long cells of a stacked row."""

Shape: TypeAlias = Literal["table", "stack"]


class Layout(Struct, frozen=True):
    """The layout of rows: their shape, and for a table the width of each shown column by its index."""

    shape: Shape
    widths: dict[int, int]


def layout_of(columns: Sequence[str], natural: Sequence[int], room: int) -> Layout:
    """Return the layout for a terminal of width `room`; `natural` is the width of each column's longest cell."""
    shown = list(range(len(columns)))
    spare = [place for name in SPARE for place in shown if columns[place] == name]
    while True:
        least = [min(natural[place], LEAST) if columns[place] in WIDE else natural[place] for place in shown]
        left = room - sum(least) - GAP * (len(shown) - 1)
        if left >= 0:
            return Layout("table", _share_room(dict(zip(shown, least, strict=True)), natural, left))
        if not spare:
            return Layout("stack", {})
        shown.remove(spare.pop(0))


def _share_room(widths: dict[int, int], natural: Sequence[int], left: int) -> dict[int, int]:
    """Return the widths with the room that is left added to them, in order and in fair shares where it is needed."""
    wanting = [place for place, width in widths.items() if width < natural[place]]
    for number, place in enumerate(wanting):
        more = min(natural[place] - widths[place], left // (len(wanting) - number))
        widths[place] += more
        left -= more
    return widths
