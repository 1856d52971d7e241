"""Opaque places in a list: a few integers, checked when they come back."""

import base64
import binascii
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta

from protocol.errors import CallerError

_Step: TypeAlias = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""A row id or a time: an integer as SQLite stores it."""


def cursor_of(*place: int) -> str:
    """Return a place as the wire shows it."""
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).decode().rstrip("=")


def place_of(cursor: str | None, start: tuple[int, ...]) -> tuple[int, ...]:
    """Return the place that a cursor names, or `start` without one. Raises `CallerError` for a foreign cursor."""
    if cursor is None:
        return start
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        place = msgspec.json.decode(base64.urlsafe_b64decode(padded), type=tuple[_Step, ...])
    except (msgspec.DecodeError, msgspec.ValidationError, binascii.Error, ValueError):
        raise CallerError.at("$.cursor", "This is not a cursor of a page before") from None
    if len(place) != len(start) or cursor_of(*place) != cursor:
        raise CallerError.at("$.cursor", "This is not a cursor of a page before")
    return place
