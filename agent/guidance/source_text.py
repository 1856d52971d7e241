"""The text of a file that steers a turn: what a reader cannot see is taken out, and what it includes is found.

Rule 1: every other byte of the file stays as it is.
Rule 2: pure, and linear in the text: it may come from a stranger's repository.
"""

import codecs
import hashlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from unicodedata import category

from msgspec import Struct

from agent.guidance.blocks import split_blocks
from agent.guidance.ports import UnreadFile
from promt.patterns import compile_late

MAX_TOKEN_CHARS = 1024

_HIDDEN = compile_late("[\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]")
"""Bidi controls, zero-width characters and tags: they can say to a model what no reader of the file sees."""
_TICKS = compile_late("`+")
_TOKEN = compile_late(r"(?<![^\s(\[{<\"'`])@(?P<path>[^\s`@]+)")
_TRAILING = ".,;:!?)]}>'\"*_"


class IncludeToken(Struct, frozen=True):
    """A path behind an at sign, as it was written, and whether it stands in code."""

    written: str
    in_code: bool

    @property
    def names_a_path(self) -> bool:
        """Return whether it can only be a path: a bare word may as well be somebody's name, in code a decorator's."""
        if self.in_code:
            return self.written.lower().endswith(".md")
        return any(mark in self.written for mark in "/\\.") or self.written.startswith("~")


class SourceText(Struct, frozen=True):
    """A file's text without hidden characters, and the digest of its bytes as they lie on the disk."""

    text: str
    sha256: str
    hidden: dict[int, int]
    """The number of hidden characters that were taken out of each line, by its number from 1."""
    tokens: tuple[IncludeToken, ...]


def to_printable(name: str) -> str:
    """Return a file's name as a prompt and an answer can hold it: on one line, with nothing that nobody sees."""
    return "".join(
        char if char.isprintable() or category(char) == "Zs" else "\N{REPLACEMENT CHARACTER}" for char in name
    )


def parse_source(data: bytes) -> SourceText:
    """Return the text of a file's bytes. Raises `UnreadFile` where they are none."""
    clean, hidden = take_out_hidden(decode_source(data))
    return SourceText(clean, hashlib.sha256(data).hexdigest(), hidden, find_includes(clean))


def decode_source(data: bytes) -> str:
    """Return the text of a file's bytes: UTF-8, or UTF-16 with its mark. Raises `UnreadFile` where they are none."""
    is_utf_16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = data.decode("utf-16" if is_utf_16 else "utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadFile("binary" if b"\0" in data and not is_utf_16 else "not_utf8") from None
    if "\0" in text:
        raise UnreadFile("binary")
    return text


def take_out_hidden(text: str) -> tuple[str, dict[int, int]]:
    """Return the text without hidden characters, and how many each line had."""
    if text.isascii() or _HIDDEN.search(text) is None:
        return text, {}
    counts = Counter[int]()
    for number, line in enumerate(text.split("\n"), 1):
        if found := len(_HIDDEN.findall(line)):
            counts[number] = found
    return _HIDDEN.sub("", text), dict(counts)


def find_includes(text: str) -> tuple[IncludeToken, ...]:
    """Return the include tokens, each once, in order; one that also stands outside code is not in code."""
    if "@" not in text:
        return ()
    found: dict[IncludeToken, None] = {}
    for block in split_blocks(text):
        if "@" not in block.text:
            continue
        spans = [(0, len(block.text))] if block.is_code else list(_code_spans(block.text))
        for match in _TOKEN.finditer(block.text):
            written = match["path"].rstrip(_TRAILING)[:MAX_TOKEN_CHARS]
            before = bisect_right(spans, (match.start(), len(block.text)))
            in_code = before > 0 and match.start() < spans[before - 1][1]
            if written:
                found[IncludeToken(written, in_code)] = None
    return tuple(
        token for token in found if not token.in_code or IncludeToken(token.written, in_code=False) not in found
    )


def _code_spans(paragraph: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of code spans: from a run of backticks to the next run of the same length."""
    runs = [(match.start(), match.end()) for match in _TICKS.finditer(paragraph)]
    following: list[int | None] = [None] * len(runs)
    nearest: dict[int, int] = {}
    for number in range(len(runs) - 1, -1, -1):
        length = runs[number][1] - runs[number][0]
        following[number] = nearest.get(length)
        nearest[length] = number
    number = 0
    while number < len(runs):
        end = following[number]
        if end is None:
            number += 1
            continue
        yield runs[number][0], runs[end][1]
        number = end + 1
