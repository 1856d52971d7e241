"""A table on a terminal of any width.

Rule 1: no cell is ever cut: an id that is shown can be copied.
Rule 2: where there is no room, columns that help least are left out; where that is not enough, each row is a line of its short
cells, with what is long below it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from rich.console import Console

WIDE = frozenset({"content", "text", "meaning", "why", "title", "question", "name", "folder"})
"""Columns that hold sentences: they are folded, the others are shown on one line."""
SPARE = ("updated", "made", "scope", "workspace")
"""Columns that are left out first, in this order: `--json`, `show` and a wider terminal have them."""
LEAST = 30
"""Narrower columns of sentences are hard to read."""
GAP = 2
INDENT = 4

Shape: TypeAlias = Literal["table", "stack"]


class Layout(NamedTuple):
    """How rows are shown: as which shape, and for a table the columns' places with their widths."""

    shape: Shape
    widths: dict[int, int]


def layout_of(columns: Sequence[str], natural: Sequence[int], room: int) -> Layout:
    """The layout for columns that would like to be so wide."""
    shown = list(range(len(columns)))
    leaving = [place for name in SPARE for place in shown if columns[place] == name]
    while True:
        least = [min(natural[place], LEAST) if columns[place] in WIDE else natural[place] for place in shown]
        left = room - sum(least) - GAP * (len(shown) - 1)
        if left >= 0:
            return Layout("table", _shared(dict(zip(shown, least, strict=True)), natural, left))
        if not leaving:
            return Layout("stack", {})
        shown.remove(leaving.pop(0))


def _shared(widths: dict[int, int], natural: Sequence[int], left: int) -> dict[int, int]:
    """What is left of the room, given to the columns that could use it, the first one first but no more than its share."""
    wanting = [place for place, width in widths.items() if width < natural[place]]
    for number, place in enumerate(wanting):
        more = min(natural[place] - widths[place], left // (len(wanting) - number))
        widths[place] += more
        left -= more
    return widths


def draw(console: "Console", columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Show rows of cleaned cells."""
    from rich.cells import cell_len  # noqa: PLC0415

    natural = [max(map(cell_len, cells)) for cells in zip(columns, *rows, strict=True)]
    layout = layout_of(columns, natural, console.width)
    if layout.shape == "table":
        _draw_table(console, columns, rows, layout.widths)
    else:
        for row in rows:
            _draw_stack(console, columns, row)


def _draw_table(
    console: "Console", columns: Sequence[str], rows: Sequence[Sequence[str]], widths: dict[int, int]
) -> None:
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True, header_style="bold")
    for place, width in widths.items():
        table.add_column(columns[place], width=width, overflow="fold", style=None if place else "cyan")
    for row in rows:
        table.add_row(*(Text(row[place]) for place in widths))
    console.print(table)


def _draw_stack(console: "Console", columns: Sequence[str], row: Sequence[str]) -> None:
    """A row as lines: its first cell, the short ones with their names, and below them the long ones."""
    from rich.padding import Padding  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    named = list(zip(columns, row, strict=True))
    line = Text(row[0], "cyan")
    for name, cell in named[1:]:
        if not cell or name in WIDE:
            continue
        said = Text.assemble((f"{name} ", "dim"), cell)
        if line.cell_len + GAP + said.cell_len > console.width:
            console.print(line, soft_wrap=True)
            line = Text(" " * (INDENT - GAP))
        line.append(" " * GAP).append_text(said)
    console.print(line, soft_wrap=True)
    for name, cell in named[1:]:
        if cell and name in WIDE:
            console.print(Padding(Text(cell, overflow="fold"), (0, 0, 0, INDENT)))
