"""The text of a file that steers a turn: what a reader cannot see is taken out, and what it includes is found.

Rule 1: every other byte of the file stays as it is.
Rule 2: pure, and linear in the text: it may come from a stranger's repository.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator
from unicodedata import category

from msgspec import Struct

from agent.guidance.ports import UnreadFile
from promt.patterns import compile_late

MAX_TOKEN_CHARS = 1024

_HIDDEN = compile_late("[\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]")
"""Bidi controls, zero-width characters and tags: they can say to a model what no reader of the file sees."""
_FENCE = compile_late(r" {0,3}(?P<mark>`{3,}|~{3,})(?P<rest>.*)")
_BLANK_LINE = compile_late(r"\n[ \t\r]*\n")
_TICKS = compile_late("`+")
_TOKEN = compile_late(r"(?<![^\s(\[{<\"'`])@(?P<path>[^\s`@]+)")
_TRAILING = ".,;:!?)]}>'\"*_"


class IncludeToken(Struct, frozen=True):
    """A path behind an at sign, as it was written, and whether it stands in a code span."""

    written: str
    in_code: bool

    @property
    def names_a_path(self) -> bool:
        """Return whether it can only be a path: a bare word may as well be somebody's name."""
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
    """Return the text of a file's bytes. Raises `UnreadFile` where they are no UTF-8 text."""
    if b"\0" in data:
        raise UnreadFile("binary")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadFile("binary") from None
    clean, hidden = take_out_hidden(text)
    return SourceText(clean, hashlib.sha256(data).hexdigest(), hidden, find_includes(clean))


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
    """Return the include tokens outside of fenced code, each once, in order."""
    if "@" not in text:
        return ()
    found: dict[IncludeToken, None] = {}
    for paragraph in _BLANK_LINE.split(_without_fences(text)):
        if "@" not in paragraph:
            continue
        spans = list(_code_spans(paragraph))
        for match in _TOKEN.finditer(paragraph):
            written = match["path"].rstrip(_TRAILING)[:MAX_TOKEN_CHARS]
            in_code = any(start <= match.start() < end for start, end in spans)
            if written:
                found[IncludeToken(written, in_code)] = None
    return tuple(found)


def _without_fences(text: str) -> str:
    """Return the text with blank lines in place of fenced code."""
    kept: list[str] = []
    fence = ""
    for line in text.split("\n"):
        marked = _FENCE.match(line)
        mark = marked["mark"] if marked is not None else ""
        rest = marked["rest"] if marked is not None else ""
        if fence:
            is_end = mark[:1] == fence[0] and len(mark) >= len(fence) and not rest.strip()
            fence = "" if is_end else fence
            kept.append("")
        elif mark and not (mark[0] == "`" and "`" in rest):  # that would be a code span
            fence = mark
            kept.append("")
        else:
            kept.append(line)
    return "\n".join(kept)


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
