"""Parts of a file that are neither indexed nor shown: credentials, and blocks that the gateway itself put into prompts.

Rule 1: pure; a part is a range of the file's bytes with the mark that is shown in its place.
Rule 2: a part counts wherever it lies: one that begins in another piece is hidden in this one as well.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import TypeAlias

import msgspec

HiddenPart: TypeAlias = tuple[int, int, str]
"""Where it begins and ends, and the mark."""
OWN_BLOCK_MARK = "[a context block of the gateway]"


def parts_of(hidden: str) -> list[HiddenPart]:
    """Return the hidden parts of a content as its row keeps them, in their order."""
    return msgspec.json.decode(hidden, type=list[HiddenPart]) if hidden != "[]" else []


def decode_part(data: bytes, encoding: str) -> str:
    """Return the text of a part of a file, without a mark at its beginning."""
    with suppress(LookupError):
        return data.decode(encoding, "replace").removeprefix("\ufeff")
    return data.decode("utf-8", "replace")


def mask_hidden(data: bytes, begin: int, parts: Sequence[HiddenPart], encoding: str) -> str:
    """Return the text of bytes that begin at a place of their file, with marks in place of hidden parts."""
    texts: list[str] = []
    place, end = begin, begin + len(data)
    for start, stop, mark in parts:
        if stop <= place or start >= end:
            continue
        texts += [decode_part(data[place - begin : max(place, start) - begin], encoding), mark]
        place = min(end, stop)
    return "".join([*texts, decode_part(data[place - begin :], encoding)])


def blank_hidden(data: bytes, begin: int, end: int, hidden: str, encoding: str) -> str:
    """Return the text of a range of a file with blanks in place of hidden parts."""
    parts = [(start, stop, " ") for start, stop, _ in parts_of(hidden)]
    return mask_hidden(data[begin:end], begin, parts, encoding)
