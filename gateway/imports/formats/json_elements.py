"""A JSON list of any length, one element at a time.

Rule 1: only brackets and strings are looked at, so memory holds one element, and a broken one does not hide the next.
Rule 2: any split of the same bytes gives the same elements.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Literal, TypeAlias

from gateway.base.json_values import table_of
from gateway.imports.formats.draft import (
    MAX_CONVERSATION,
    Draft,
    Found,
    Skipped,
    SourceOrigin,
    Unreadable,
    decode_text,
)

STRAY: Final = "not_a_conversation"
TRUNCATED: Final = "truncated"
TOO_LARGE: Final = "too_large"
Flaw: TypeAlias = Literal["not_a_conversation", "truncated", "too_large"]

_PLAIN = re.compile(rb'(?:[^"\[\]{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+', re.DOTALL)
"""Everything up to a bracket, or to a string that does not end here."""
_STRING = re.compile(rb"[^\"\\]*+(?:\\.[^\"\\]*+)*+", re.DOTALL)
"""The inside of a string up to its quote, or to the end of the bytes."""
_OPENING, _QUOTE, _LIST = b"[{", ord('"'), ord("[")
_BETWEEN = b", \t\r\n"


class ElementReceiver:
    """A collector of bytes that yields whole elements: those of a top-level list, or top-level objects."""

    def __init__(self, max_bytes: int = MAX_CONVERSATION) -> None:
        self._max = max_bytes
        self._parts: list[bytes] = []
        self._size = 0
        self._depth = 0
        self._base = -1  # the depth at which elements begin, known from the first bracket on
        self._is_in_string = False
        self._is_stray = False
        self._data: bytes = b""
        self._carry: bytes = b""
        self._begin = 0
        self._found: list[bytes | Flaw] = []

    def feed(self, data: bytes) -> list[bytes | Flaw]:
        """Return the elements that these bytes complete."""
        self._data, self._carry, self._begin = self._carry + data, b"", 0
        self._found = []
        position = 0
        while position < len(self._data):
            position = self._end_string(position) if self._is_in_string else self._to_bracket(position)
        if self._depth > self._base >= 0:
            self._add(self._data[self._begin :])
        else:
            self._look_between(len(self._data))
        return self._found

    def close(self) -> list[bytes | Flaw]:
        """Return the flaws at the end of the input."""
        flaws: list[tuple[bytes | Flaw, bool]] = [
            (STRAY, self._is_stray),
            (TRUNCATED, self._depth > 0 or self._is_in_string),
        ]
        return [flaw for flaw, is_there in flaws if is_there]

    def _end_string(self, position: int) -> int:
        end = _STRING.match(self._data, position)
        position = end.end() if end else position
        if position == len(self._data):
            return position
        if self._data[position] == _QUOTE:
            self._is_in_string = False
            return position + 1
        self._data, self._carry = self._data[:position], self._data[position:]  # a backslash waits for its other half
        return position

    def _to_bracket(self, position: int) -> int:
        end = _PLAIN.match(self._data, position)
        position = end.end() if end else position
        if position < len(self._data):
            sign = self._data[position]
            if sign == _QUOTE:
                self._is_in_string = True
            elif sign in _OPENING:
                self._open(position, sign)
            else:
                self._close(position)
        return position + 1

    def _open(self, position: int, sign: int) -> None:
        if self._base < 0:
            self._base = 1 if sign == _LIST else 0
        if self._depth <= self._base:
            self._look_between(position)
            is_element = self._depth == self._base
            self._begin = position if is_element else position + 1
            if self._is_stray and is_element:
                self._found.append(STRAY)
                self._is_stray = False
        self._depth += 1

    def _close(self, position: int) -> None:
        if self._depth == 0:
            self._is_stray = True
        elif self._depth == self._base + 1:
            self._add(self._data[self._begin : position + 1])
            self._found.append(b"".join(self._parts) if self._size <= self._max else TOO_LARGE)
            self._parts, self._size = [], 0
        elif self._depth <= self._base:
            self._look_between(position)
        self._depth = max(0, self._depth - 1)
        if self._depth <= self._base:
            self._begin = position + 1

    def _look_between(self, position: int) -> None:
        self._is_stray |= bool(self._data[self._begin : position].strip(_BETWEEN))

    def _add(self, part: bytes) -> None:
        """Keep a part of the present element; of an element that is too large, keep none."""
        self._size += len(part)
        if self._size <= self._max:
            self._parts.append(part)
        else:
            self._parts.clear()


def elements(chunks: Iterable[bytes], max_bytes: int = MAX_CONVERSATION) -> Iterator[bytes | Flaw]:
    """Yield the elements of a list, and flaws where they stand."""
    receiver = ElementReceiver(max_bytes)
    for chunk in chunks:
        yield from receiver.feed(chunk)
    yield from receiver.close()


def conversations(
    chunks: Iterable[bytes], origin: SourceOrigin, kind: str, fill: Callable[[dict[str, Any], Draft], tuple[str, str]]
) -> Iterator[Found]:
    """Yield a conversation for each element; `fill` fills the draft and returns the conversation's id and title."""
    for number, element in enumerate(elements(chunks), 1):
        place = f"conversation {number}"
        if isinstance(element, str):
            yield Skipped(origin.name, place, element)
            continue
        draft = Draft(kind, origin)
        text, draft.repaired = decode_text(element)
        try:
            found = draft.finish(*fill(table_of(json.loads(text)), draft))
        except (ValueError, RecursionError):
            yield Skipped(origin.name, place, "broken_json")
        except Unreadable as problem:
            yield Skipped(origin.name, place, problem.reason)
        else:
            yield found._replace(place=place) if isinstance(found, Skipped) else found
