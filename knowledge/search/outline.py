"""The headings of a Markdown text; pure.

Rule 1: headings marked by `#` and underlined ones count, outside of fences, indented code and the front matter.
"""

from collections.abc import Sequence

from msgspec import Struct

from knowledge.index.judging import FRONT_EDGE

NOT_OF_PARAGRAPH = ("|", ">", "- ", "* ", "+ ", "<")
"""Beginnings of lines that are no heading though a line of `-` follows."""


class FoundHeading(Struct, frozen=True):
    """A heading: its words, its level, and its line from 1."""

    heading: str
    level: int
    from_line: int


def front_lines(lines: Sequence[str]) -> int:
    """Return the number of lines of a text's front matter, edges included; 0 where there is none."""
    if not lines or lines[0].strip().removeprefix("\ufeff") != FRONT_EDGE:
        return 0
    return next((place + 1 for place, line in enumerate(lines) if place and line.strip() == FRONT_EDGE), 0)


def find_outline(lines: Sequence[str]) -> list[FoundHeading]:
    """Return the headings of a Markdown text by its lines."""
    found: list[FoundHeading] = []
    fence = before = ""
    first = front_lines(lines)
    for number, raw in enumerate(lines[first:], first + 1):
        line = raw.strip()
        sign = line[:3]
        if sign in {"```", "~~~"} and fence in {"", sign}:
            fence, before = "" if fence else sign, ""
            continue
        level = len(line) - len(line.lstrip("#"))
        if fence or raw.startswith(("    ", "\t")):
            line = ""
        elif 1 <= level <= 6 and line[level : level + 1] in {" ", "\t"}:
            words = line[level:].strip()
            closed = words.rstrip("#")  # marks at the end close a heading only behind a blank: `C#` is a word
            heading = words if closed and closed[-1] not in " \t" else closed.strip()
            found.append(FoundHeading(heading, level, number))
            line = ""
        elif before and line and line in {"=" * len(line), "-" * len(line)}:
            found.append(FoundHeading(before, 1 if line[0] == "=" else 2, number - 1))
            line = ""
        before = "" if line.startswith(NOT_OF_PARAGRAPH) else line
    return found
