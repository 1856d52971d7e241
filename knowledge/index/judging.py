"""Checks of a file's content that keep it out of the index; pure."""

from codecs import BOM_UTF32_LE
from itertools import takewhile
from textwrap import dedent

from knowledge.index.cutting import line_starts
from promt.patterns import compile_late

HEAD_BYTES = 8192
"""Bytes in which a zero marks a binary file."""
FRONT_CHARS = 65_536
"""The first characters of a note, in which it may opt out, also where its front matter is too long to be read."""
FRONT_EDGE = "---"
FRONT_ENDS = (FRONT_EDGE, "...")
OFF = ("false", "no", "off")
"""The values of `knowledge` that keep a note out of the index, in any case."""
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
MOST_MEAN_LINE = 500
"""The most characters of a line on average: people write shorter ones, except in prose with a paragraph on a line."""

_OPTED_OUT = compile_late(rf"(['\"]?)knowledge\1[ \t]*:[ \t]*(['\"]?)(?i:{'|'.join(OFF)})\2[ \t]*(?:#.*)?")


def is_binary(data: bytes) -> bool:
    """Return whether a file is no text: one of its first bytes is zero, and it does not begin with a mark of UTF-16.

    The mark of UTF-32 begins with one of UTF-16.
    """
    is_utf16 = data.startswith(UTF16_MARKS) and not data.startswith(BOM_UTF32_LE)
    return b"\0" in data[:HEAD_BYTES] and not is_utf16


def is_generated(text: str) -> bool:
    """Return whether a text, which is no Markdown, has lines so long that a program must have written it."""
    return len(text) > MOST_MEAN_LINE * len(line_starts(text))


def is_opted_out(text: str) -> bool:
    """Return whether a line `knowledge: false` of a note's front matter keeps it out of the index.

    Such a line counts whatever else stands there: in a front matter that is no YAML, too long, or without an end.
    """
    if not text.removeprefix("\ufeff").startswith(FRONT_EDGE):
        return False
    first, *lines = text[:FRONT_CHARS].splitlines()
    front = takewhile(lambda line: line.rstrip() not in FRONT_ENDS, lines)
    is_front = first.removeprefix("\ufeff").rstrip() == FRONT_EDGE
    return is_front and any(_OPTED_OUT.fullmatch(line) for line in dedent("\n".join(front)).split("\n"))
