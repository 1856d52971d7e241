"""Parts of a file that are neither indexed nor shown: credentials, and blocks that the gateway itself put into prompts.

Rule 1: pure; a part is a range of the file's bytes with the mark that is shown in its place.
Rule 2: a part that begins in another piece is hidden in this one as well.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TypeAlias

import msgspec

from protocol.seams.ports import SecretSpan

HiddenPart: TypeAlias = tuple[int, int, str]
"""The beginning, the end, and the mark."""
SECRET_MARK = "[secret:"  # noqa: S105  # no password
"""The beginning of the mark of a credential; its kind follows."""
OWN_BLOCK_MARK = "[a context block of the gateway]"


def parts_of(hidden: str) -> list[HiddenPart]:
    """Return the hidden parts of a content, in their order, from the JSON of its column `hidden`."""
    return msgspec.json.decode(hidden, type=list[HiddenPart]) if hidden != "[]" else []


def decode_part(data: bytes, encoding: str) -> str:
    """Return the text of bytes of a file, without a byte order mark; in UTF-8 where the encoding is unknown."""
    with suppress(LookupError):
        return data.decode(encoding, "replace").removeprefix("\ufeff")
    return data.decode("utf-8", "replace")


def has_mark(text: str) -> bool:
    """Return whether a text has a mark of a hidden part; that of a PDF is kept with them."""
    return SECRET_MARK in text or OWN_BLOCK_MARK in text


def find_hidden(secrets: Iterable[SecretSpan], blocks: Iterable[tuple[int, int]]) -> list[HiddenPart]:
    """Return the hidden parts of a text in characters, in order and without overlaps: secrets and our own blocks."""
    spans = [(span.start, span.end, f"{SECRET_MARK}{span.kind}]") for span in secrets]
    spans += [(start, end, OWN_BLOCK_MARK) for start, end in blocks]
    parts: list[HiddenPart] = []
    last = 0
    for start, end, mark in sorted(spans):
        if end > last:
            parts.append((max(start, last), end, mark))
            last = end
    return parts


def replace_parts(parts: Iterable[HiddenPart], begin: int, end: int, text_of: Callable[[int, int], str]) -> str:
    """Return the text of a range with a mark in place of each part that it touches.

    `text_of` returns the text between two offsets; `parts` are in order.
    """
    texts: list[str] = []
    place = begin
    for start, stop, mark in parts:
        if stop > place and start < end:
            texts += [text_of(place, max(place, start)), mark]
            place = min(end, stop)
    return "".join([*texts, text_of(place, end)])


def mask_hidden(data: bytes, begin: int, parts: Sequence[HiddenPart], encoding: str) -> str:
    """Return the text of bytes, which stand at offset `begin` of their file, with marks in place of hidden parts."""
    end = begin + len(data)
    return replace_parts(parts, begin, end, lambda a, b: decode_part(data[a - begin : b - begin], encoding))


def blank_hidden(data: bytes, begin: int, end: int, hidden: str, encoding: str) -> str:
    """Return the text of a range of a file's bytes with a blank in place of each hidden part (`hidden`: their JSON)."""
    parts = [(start, stop, " ") for start, stop, _ in parts_of(hidden)]
    return mask_hidden(data[begin:end], begin, parts, encoding)
