"""Checks of a file's content that keep it out of the index; pure."""

from knowledge.index.cutting import line_starts

HEAD_BYTES = 8192
"""Bytes in which a zero marks a binary file."""
FRONT_CHARS = 16_384
"""The most characters of a front matter; a longer one is read as text."""
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
MOST_MEAN_LINE = 500
"""The most characters of a line on average: people write shorter ones, except in prose with a paragraph on a line."""


def is_binary(data: bytes) -> bool:
    """Return whether a file is no text: one of its first bytes is zero, and it does not begin with a mark of UTF-16."""
    return b"\0" in data[:HEAD_BYTES] and not data.startswith(UTF16_MARKS)


def is_generated(text: str) -> bool:
    """Return whether a text, which is no Markdown, has lines so long that a program must have written it."""
    return len(text) > MOST_MEAN_LINE * len(line_starts(text))
