"""The byte ranges of the parts of a JSON body, so that text can be inserted and every other byte stays the client's.

Rule 1: pure; a body that is no JSON, or has a member twice, is refused.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import msgspec

from protocol.base import encode

_T = TypeVar("_T", dict[str, msgspec.Raw], list[msgspec.Raw], list[dict[str, msgspec.Raw]])

_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_OBJECTS = msgspec.json.Decoder(list[dict[str, msgspec.Raw]])
_ELEMENTS = msgspec.json.Decoder(list[msgspec.Raw])
_TEXT = msgspec.json.Decoder(str)
_KEY = re.compile(rb'[ \t\n\r]*[{,][ \t\n\r]*(?:"([^"\\]*)"|("(?:[^"\\]|\\.)*"))[ \t\n\r]*:[ \t\n\r]*', re.DOTALL)
"""The name before a value of an object: group 1 without escapes, group 2 with escapes and quotes."""
_BEFORE = re.compile(rb"[ \t\n\r]*[\[,][ \t\n\r]*")
_CLOSE = re.compile(rb"[ \t\n\r]*[{]?[ \t\n\r]*}")
"""The end of an object; an empty one begins here, too."""
MAX_PARTS = 20_000
"""The most values of a list or object that is read; no conversation has as many messages."""
MAX_COMMAS = 500_000
"""The most commas of a body that is read; no model takes in as many parts, and to read them takes a second."""


class UnreadableError(Exception):
    """The bytes are no JSON of the expected form, have a member twice, or have more parts than are read."""


class Edit(NamedTuple):
    """Bytes that replace a range of a body; with an empty range they are inserted."""

    start: int
    end: int
    data: bytes


def members(body: bytes) -> dict[str, slice]:
    """Return by name the ranges of the values of a body, which is an object. Raises `UnreadableError`."""
    if len(body) > MAX_COMMAS and body.count(b",") > MAX_COMMAS:
        raise UnreadableError
    return _places_of(body, 0, _decode(body, _MEMBERS))[0]


def objects(body: bytes, span: slice) -> list[tuple[slice, dict[str, slice]]]:
    """Return the ranges of a list's values, which are objects, each with those of its own values by name.

    Raises `UnreadableError`, also for a list with other values.
    """
    at = span.start
    found: list[tuple[slice, dict[str, slice]]] = []
    for table in _decode(body[span], _OBJECTS):
        start = _begin_after(body, at)
        inside, at = _places_of(body, start, table)
        found.append((slice(start, at), inside))
    return found


def _begin_after(body: bytes, at: int) -> int:
    """Return the offset at which the next value of a list begins. Raises `UnreadableError`."""
    before = _BEFORE.match(body, at)
    if before is None:
        raise UnreadableError
    return before.end()


def _places_of(body: bytes, at: int, table: dict[str, msgspec.Raw]) -> tuple[dict[str, slice], int]:
    """Return by name the ranges of the values of an object that begins at `at`, and the offset of its end.

    `table` is the decoded object; it is emptied. Raises `UnreadableError`.
    """
    if len(table) > MAX_PARTS:
        raise UnreadableError
    found: dict[str, slice] = {}
    for _ in range(len(table)):
        key = _KEY.match(body, at)
        if key is None:
            raise UnreadableError
        plain = key[1]
        name = plain.decode() if plain is not None else _TEXT.decode(key[2])
        raw = table.pop(name, None)
        if raw is None:
            raise UnreadableError
        start, value = key.end(), bytes(raw)
        if not body.startswith(value, start):  # the name stands there twice, and the table has its last value
            raise UnreadableError
        at = start + len(value)
        found[name] = slice(start, at)
    close = _CLOSE.match(body, at)
    if close is None:  # a name stands there twice, so that the table was empty too early
        raise UnreadableError
    return found, close.end()


def elements(body: bytes, span: slice) -> list[slice]:
    """Return the ranges of a list's values. Raises `UnreadableError`."""
    at = span.start
    found: list[slice] = []
    for raw in _decode(body[span], _ELEMENTS):
        start = _begin_after(body, at)
        at = start + memoryview(raw).nbytes
        found.append(slice(start, at))
    return found


def _decode(raw: bytes, decoder: msgspec.json.Decoder[_T]) -> _T:
    try:
        found = decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise UnreadableError from None
    if len(found) > MAX_PARTS:
        raise UnreadableError
    return found


def is_text(body: bytes, span: slice) -> bool:
    """Return whether a value is a text."""
    return body[span.start : span.start + 1] == b'"'


def is_list(body: bytes, span: slice) -> bool:
    """Return whether a value is a list."""
    return body[span.start : span.start + 1] == b"["


def text_at(body: bytes, span: slice | None) -> str:
    """Return the text at a range; empty without a range, or for a value that is no text. Raises `UnreadableError`."""
    if span is None:
        return ""
    raw = body[span]
    if not raw.startswith(b'"'):
        return ""
    try:
        return _TEXT.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise UnreadableError from None


def escape_for_json(text: str) -> bytes:
    """Return a text escaped for JSON, without the quotes around it."""
    return encode(text)[1:-1]


def apply(body: bytes, edits: Sequence[Edit]) -> bytes:
    """Return the body with edits, which must not overlap; those at one offset are made in their order."""
    parts: list[bytes] = []
    end = 0
    for edit in sorted(edits, key=lambda one: one.start):
        parts += [body[end : edit.start], edit.data]
        end = max(end, edit.end)
    return b"".join([*parts, body[end:]])
