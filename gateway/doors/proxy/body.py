"""A JSON body by the places of its parts, so that something is inserted and every other byte stays the client's.

Rule 1: pure; a body that is no JSON, or has a member twice, has no places.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import msgspec

from protocol.base import encode

_T = TypeVar("_T")

_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ELEMENTS = msgspec.json.Decoder(list[msgspec.Raw])
_TEXT = msgspec.json.Decoder(str)
_KEY = re.compile(rb'[ \t\n\r]*[{,][ \t\n\r]*(?:"([^"\\]*)"|("(?:[^"\\]|\\.)*"))[ \t\n\r]*:[ \t\n\r]*', re.DOTALL)
"""The name before a value of an object, as it is or with escapes."""
_BEFORE = re.compile(rb"[ \t\n\r]*[\[,][ \t\n\r]*")
_CLOSE = re.compile(rb"[ \t\n\r]*[{]?[ \t\n\r]*}")


class UnreadableError(Exception):
    """The bytes are no JSON of the expected form, or have a member twice."""


class ByteSpan(NamedTuple):
    """A half-open range of a body's bytes that holds one value."""

    start: int
    end: int

    def of(self, body: bytes) -> bytes:
        """Return the bytes."""
        return body[self.start : self.end]


class Edit(NamedTuple):
    """Bytes that take the place of a range of a body; an empty range only inserts."""

    start: int
    end: int
    data: bytes


def members(body: bytes, span: ByteSpan | None = None) -> dict[str, ByteSpan]:
    """Return the places of an object's values by name. Raises `UnreadableError`."""
    at = span.start if span is not None else 0
    table = _decode(body, span, _MEMBERS)
    found: dict[str, ByteSpan] = {}
    for _ in table:
        key = _KEY.match(body, at)
        if key is None:
            raise UnreadableError
        name = key[1].decode() if key[1] is not None else _TEXT.decode(key[2])
        raw = table.get(name)
        if name in found or raw is None:
            raise UnreadableError
        start, value = key.end(), bytes(raw)
        if not body.startswith(value, start):
            raise UnreadableError
        at = start + len(value)
        found[name] = ByteSpan(start, at)
    if _CLOSE.match(body, at) is None:  # a name stands there twice
        raise UnreadableError
    return found


def elements(body: bytes, span: ByteSpan) -> list[ByteSpan]:
    """Return the places of a list's values. Raises `UnreadableError`."""
    at = span.start
    found: list[ByteSpan] = []
    for raw in _decode(body, span, _ELEMENTS):
        before = _BEFORE.match(body, at)
        if before is None:
            raise UnreadableError
        start, at = before.end(), before.end() + len(bytes(raw))
        found.append(ByteSpan(start, at))
    return found


def _decode(body: bytes, span: ByteSpan | None, decoder: msgspec.json.Decoder[_T]) -> _T:
    try:
        return decoder.decode(body if span is None else span.of(body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise UnreadableError from None


def is_text(body: bytes, span: ByteSpan) -> bool:
    """Return whether a value is a text."""
    return body[span.start : span.start + 1] == b'"'


def is_list(body: bytes, span: ByteSpan) -> bool:
    """Return whether a value is a list."""
    return body[span.start : span.start + 1] == b"["


def text_at(body: bytes, span: ByteSpan | None) -> str:
    """Return a text; empty for any other value. Raises `UnreadableError`."""
    if span is None or not is_text(body, span):
        return ""
    try:
        return _TEXT.decode(span.of(body))
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise UnreadableError from None


def escape_for_json(text: str) -> bytes:
    """Return a text as it stands between quotes of JSON."""
    return encode(text)[1:-1]


def apply(body: bytes, edits: Sequence[Edit]) -> bytes:
    """Return the body with edits, which do not overlap; those of one place stand in their order."""
    parts: list[bytes] = []
    place = 0
    for edit in sorted(edits, key=lambda one: one.start):
        parts += [body[place : edit.start], edit.data]
        place = max(place, edit.end)
    return b"".join([*parts, body[place:]])
