"""Parts of a file that are neither indexed nor shown: credentials, and blocks that the gateway itself put into prompts.

Rule 1: pure; a part is a range of the file's bytes with the mark that is shown in its place.
Rule 2: a part counts wherever it lies: one that begins in another piece is hidden in this one as well.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TypeAlias

import msgspec

from protocol.seams.ports import SecretSpan

HiddenPart: TypeAlias = tuple[int, int, str]
"""The beginning, the end, and the mark."""
OWN_BLOCK_MARK = "[a context block of the gateway]"


def parts_of(hidden: str) -> list[HiddenPart]:
    """Return the hidden parts of a content as its row keeps them, in their order."""
    return msgspec.json.decode(hidden, type=list[HiddenPart]) if hidden != "[]" else []


def decode_part(data: bytes, encoding: str) -> str:
    """Return the text of a part of a file, without a mark at its beginning."""
    with suppress(LookupError):
        return data.decode(encoding, "replace").removeprefix("\ufeff")
    return data.decode("utf-8", "replace")


def find_hidden(secrets: Iterable[SecretSpan], blocks: Iterable[tuple[int, int]]) -> list[HiddenPart]:
    """Return the hidden parts of a text by characters, in order, without overlaps: credentials and our blocks."""
    spans = [(span.start, span.end, f"[secret:{span.kind}]") for span in secrets]
    spans += [(start, end, OWN_BLOCK_MARK) for start, end in blocks]
    parts: list[HiddenPart] = []
    last = 0
    for start, end, mark in sorted(spans):
        if end > last:
            parts.append((max(start, last), end, mark))
            last = end
    return parts


def replace_parts(parts: Iterable[HiddenPart], begin: int, end: int, text_of: Callable[[int, int], str]) -> str:
    """Return the text of a range with marks in place of parts, also of those that its edges cut.

    `text_of` returns the text between two places.
    """
    texts: list[str] = []
    place = begin
    for start, stop, mark in parts:
        if stop > place and start < end:
            texts += [text_of(place, max(place, start)), mark]
            place = min(end, stop)
    return "".join([*texts, text_of(place, end)])


def mask_hidden(data: bytes, begin: int, parts: Sequence[HiddenPart], encoding: str) -> str:
    """Return the text of bytes that begin at a place of their file, with marks in place of hidden parts."""
    end = begin + len(data)
    return replace_parts(parts, begin, end, lambda a, b: decode_part(data[a - begin : b - begin], encoding))


def blank_hidden(data: bytes, begin: int, end: int, hidden: str, encoding: str) -> str:
    """Return the text of a range of a file with blanks in place of hidden parts."""
    parts = [(start, stop, " ") for start, stop, _ in parts_of(hidden)]
    return mask_hidden(data[begin:end], begin, parts, encoding)
