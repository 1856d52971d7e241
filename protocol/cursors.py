"""Opaque places in a list: a few integers, checked when they come back."""

import base64
import binascii
from collections.abc import Callable
from typing import Annotated, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

from protocol.errors import CallerError

T = TypeVar("T")

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


def cut_page(found: list[T], limit: int, place: Callable[[T], tuple[int, ...]]) -> tuple[list[T], str | None]:
    """Return the first `limit` entries of a list that was read one further, and the cursor of the page behind them.

    `place` returns the place of an entry; the cursor is None where the list ends with the page.
    """
    page = found[:limit]
    return page, cursor_of(*place(page[-1])) if len(found) > limit else None
