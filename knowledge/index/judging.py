"""Texts that are not indexed, by what is in them; pure."""

from knowledge.index.cutting import line_starts

HEAD_BYTES = 8192
FRONT_CHARS = 16_384
"""Of a text, that its front matter may take: a longer one is none."""
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
MOST_MEAN_LINE = 500
"""Characters: what a person writes has shorter lines, but for prose, which has whole paragraphs in them."""


def is_binary(data: bytes) -> bool:
    """Return whether the bytes of a file are no text: one of the first is zero, and they have no mark of UTF-16."""
    return b"\0" in data[:HEAD_BYTES] and not data.startswith(UTF16_MARKS)


def is_generated(text: str) -> bool:
    """Return whether a text that is no Markdown has lines as only programs write them."""
    return len(text) > MOST_MEAN_LINE * len(line_starts(text))
