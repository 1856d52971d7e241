"""The screen of a command: one JSON document, plain lines for other programs, or tables and colour on a terminal.

Rule 1: rich is imported only where a terminal reads.
Rule 2: stored text is data: nothing in it moves a cursor, colours a line or ends a table's row.
Rule 3: answers go to stdout; questions, progress, hints and complaints to stderr, so that a pipe carries data only.
"""

import io
import os
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

from gateway.base.exit_codes import NEGATIVE, USAGE
from gateway.doors.terminal import tables
from gateway.doors.terminal.exits import Stop
from promt.patterns import compile_late
from protocol.errors import GatewayError

if TYPE_CHECKING:
    from rich.console import Console

_STEERING = compile_late(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff"
    r"\U000e0000-\U000e007f]|\r(?!\n)"
)
"""Control characters but for tabs and line breaks, bidi controls, zero-width characters, tags and halves of a pair."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def prepare(*, is_json: bool) -> None:
    """Make stdout and stderr writable for any text: JSON is UTF-8, and a console shows the code of a letter it lacks.

    A stream that the shell has closed is replaced by the null device.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115  # as long as the process
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
            if is_json and stream is sys.stdout:
                stream.reconfigure(encoding="utf-8", errors="strict", newline="\n")


def is_rich(stream: TextIO | None = None) -> bool:
    """Return whether a stream, stdout by default, is a terminal that can show colours and tables."""
    return (stream or sys.stdout).isatty() and os.environ.get("TERM") != "dumb"


def plain(text: str) -> str:
    """Return a text on one line: each run of white space is one blank, and what is not printable is U+FFFD."""
    return "".join(char if char.isprintable() else "\ufffd" for char in " ".join(text.split()))


def plain_path(path: str) -> str:
    r"""Return a path on one line; a line break in it is shown as `\n`."""
    return plain(path.replace("\n", "\\n"))


def readable(text: str) -> str:
    """Return a text word for word, but with U+FFFD for each character that steers a terminal or hides something."""
    return _STEERING.sub("\ufffd", text)


def when(at: int | None) -> str:
    """Return a time, in Unix milliseconds, as date and minute in the machine's time zone; empty for None."""
    if at is None:
        return ""
    try:
        return (_EPOCH + timedelta(milliseconds=at)).astimezone().strftime("%Y-%m-%d %H:%M")
    except (OverflowError, OSError):  # a date that this platform's clock cannot show
        return (_EPOCH + timedelta(milliseconds=at)).strftime("%Y-%m-%d %H:%M")


def size(count: int, byte: str = "B") -> str:
    """Return a number of bytes with its unit; `byte` names the unit below 1 KiB."""
    amount = float(count)
    for unit in (byte, "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == byte else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"


def format_count(count: int, one: str, several: str) -> str:
    """Return a number and the words that follow it: `one` after 1, else `several`."""
    return f"{count} {one if count == 1 else several}"


def words(code: str | None) -> str:
    """Return a code of the contract with blanks for its underscores; empty for None."""
    return (code or "").replace("_", " ")


def show_json(value: Any) -> None:
    """Write one JSON document as one line."""
    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")


def show_error(error: BaseException, line: str) -> None:
    """Write an error as the JSON document in place of a result; `line` is the message unless the contract has one."""
    details: dict[str, Any] = getattr(error, "details", None) or {}
    described: Any = error.on_the_wire() if isinstance(error, GatewayError) else {"message": line} | details
    show_json({"error": described})


def say(line: str = "", style: str | None = None) -> None:
    """Write a line to stdout; in the style, as rich names it, where a terminal reads."""
    _write_line(sys.stdout, line, style)


def hint(line: str, style: str | None = None) -> None:
    """Write a hint for a person to stderr, after the answer; in the style, where a terminal reads."""
    sys.stdout.flush()
    _write_line(sys.stderr, line, style)


def _write_line(stream: TextIO, line: str, style: str | None) -> None:
    if style is None or not is_rich(stream) or "NO_COLOR" in os.environ:
        stream.write(line + "\n")
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    Console(file=stream, highlight=False).print(Text(line, style), soft_wrap=True)


def show_table(columns: Sequence[str], rows: Iterable[Sequence[str]], to: TextIO | None = None) -> None:
    """Write rows: a table on a terminal; elsewhere a line each, with tabs between the parts and no head."""
    cleaned = [[plain(cell) for cell in row] for row in rows]
    stream = to or sys.stdout
    if not is_rich(stream):
        stream.writelines("\t".join(row) + "\n" for row in cleaned)
        return
    if not cleaned:
        return  # a head above nothing reads like an answer
    from rich.console import Console  # noqa: PLC0415

    draw(Console(file=stream, highlight=False), columns, cleaned)


def draw(console: "Console", columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Draw rows of printable cells in the shape that the console's width has room for."""
    from rich.cells import cell_len  # noqa: PLC0415

    natural = [max(map(cell_len, cells)) for cells in zip(columns, *rows, strict=True)]
    layout = tables.layout_of(columns, natural, console.width)
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
    """Write a row as lines: its first cell, the short ones with their names, and below them the long ones."""
    from rich.padding import Padding  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    named = list(zip(columns, row, strict=True))
    line = Text(row[0], "cyan")
    for name, cell in named[1:]:
        if not cell or name in tables.WIDE:
            continue
        part = Text.assemble((f"{name} ", "dim"), cell)
        if line.cell_len + tables.GAP + part.cell_len > console.width:
            console.print(line, soft_wrap=True)
            line = Text(" " * (tables.INDENT - tables.GAP))
        line.append(" " * tables.GAP).append_text(part)
    console.print(line, soft_wrap=True)
    for name, cell in named[1:]:
        if cell and name in tables.WIDE:
            console.print(Padding(Text(cell, overflow="fold"), (0, 0, 0, tables.INDENT)))


def show_pairs(pairs: Iterable[tuple[str, str]]) -> None:
    """Write names and values, one pair a line, the values in one column; a pair without a value is left out."""
    listed = [(name, plain(value)) for name, value in pairs if value]
    width = max((len(name) for name, _ in listed), default=0)
    for name, value in listed:
        say(f"{name:<{width}}  {value}")


def can_ask() -> bool:
    """Return whether a person can answer a question: stdin is a terminal."""
    # stdin is None where the shell has closed it
    return sys.stdin is not None and sys.stdin.isatty()


def confirm(question: str) -> None:
    """Ask the user a question. Raises `Stop` where no terminal can be asked, or the answer is not yes.

    Not to be called in an event loop, which would keep Ctrl-C to itself.
    """
    if not can_ask():
        raise Stop(USAGE, "nobody can be asked here; say --yes to go on")
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().casefold() not in {"y", "yes"}:
        raise Stop(NEGATIVE, "nothing was changed")


@contextmanager
def progress(title: str) -> Generator[Callable[[int, int | None], None]]:
    """Yield a function that draws a bar where stderr is a terminal, to be called with the part done and the whole."""
    if not is_rich(sys.stderr):
        yield lambda _done, _total: None
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
