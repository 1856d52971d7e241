"""Paragraphs and code of a text in Markdown.

Rule 1: code stands between fences, or is indented by four columns and goes on no paragraph. What belongs to an entry of
a list is indented with it; columns count from there.
Rule 2: pure, and linear in the text: it may come from a stranger's repository.
"""

from collections.abc import Iterator
from itertools import groupby

from msgspec import Struct

from promt.patterns import compile_late

CODE_COLUMNS = 4

_BLANK_LINE = compile_late(r"\n[ \t\r]*\n")
_FENCE = compile_late(r"(?P<mark>`{3,}|~{3,})(?P<rest>.*)")
_ENTRY = compile_late(r"(?:[-+*]|\d{1,9}[.)])(?:[ \t]{1,4}(?![ \t])|[ \t]|\Z)")
_ALONE = compile_late(r"#{1,6}(?:[ \t]|\Z)|(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|=+)\Z")
"""A heading, or a line of marks: a paragraph ends there."""
_ENDS_PARAGRAPH = compile_late(r"(?:[-+*]|\d{1,9}[.)])(?:[ \t]|\Z)|`{3}|~{3}|#{1,6}(?:[ \t]|\Z)|[-*_]{3}")
"""The beginning of a line that does not go on with the paragraph above it, however little it is indented."""


class Block(Struct, frozen=True):
    """A paragraph, or lines of code."""

    text: str
    is_code: bool


def split_blocks(text: str) -> Iterator[Block]:
    """Yield the paragraphs and the code of a text, in order."""
    for is_code, lines in groupby(text.split("\n"), _Reader().is_code):
        block = "\n".join(lines)
        yield from [Block(block, True)] if is_code else (Block(part, False) for part in _BLANK_LINE.split(block))


class _Reader:
    """Reads a text line by line; knows the lists and the fence in which a line stands."""

    def __init__(self) -> None:
        self._entries: list[int] = []
        """The columns at which the texts of the open entries begin."""
        self._fence, self._fence_column = "", 0
        self._in_paragraph = False

    def is_code(self, line: str) -> bool:
        """Return whether the next line is code."""
        body = line.strip(" \t\r")
        column = len(line[: len(line) - len(line.lstrip(" \t"))].expandtabs(CODE_COLUMNS))
        if self._fence and (not body or column >= self._fence_column):
            mark = _FENCE.fullmatch(body) if column < self._fence_column + CODE_COLUMNS else None
            if mark is not None and mark["mark"].startswith(self._fence) and not mark["rest"]:
                self._fence = ""
            return True
        self._fence = ""  # it ends with its entry
        if not body:
            self._in_paragraph = False
            return False
        return self._is_code_outside_fences(body, column)

    def _is_code_outside_fences(self, body: str, column: int) -> bool:
        if not self._in_paragraph or _ENDS_PARAGRAPH.match(body):
            while self._entries and column < self._entries[-1]:
                self._entries.pop()
        if column >= self._base + CODE_COLUMNS:
            return not self._in_paragraph
        start = 0
        while not (start == 0 and _ALONE.match(body)) and (entry := _ENTRY.match(body, start)):
            start = entry.end()
            self._entries.append(column + start + (entry[0][-1] not in " \t"))
        fence = _FENCE.match(body, start)
        if fence is not None and not (fence["mark"][0] == "`" and "`" in fence["rest"]):  # that would be a code span
            self._fence, self._fence_column = fence["mark"], self._base
            self._in_paragraph = False
            return True
        self._in_paragraph = start < len(body) and not (start == 0 and _ALONE.match(body))
        return False

    @property
    def _base(self) -> int:
        """Return the column at which the text of the innermost open entry begins."""
        return self._entries[-1] if self._entries else 0
