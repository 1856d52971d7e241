"""Places in a list: what goes out comes back, and nothing else does."""

import base64

import pytest
from cases import each
from hypothesis import given
from hypothesis import strategies as st

from protocol.cursors import cursor_of, place_of
from protocol.errors import CallerError

step = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(step, min_size=1, max_size=5))
def test_a_cursor_comes_back_as_the_place_it_names(place: list[int]) -> None:
    cursor = cursor_of(*place)
    assert place_of(cursor, (0,) * len(place)) == tuple(place)
    assert len(cursor) <= 1024
    assert cursor.isascii()
    assert "=" not in cursor


def test_without_a_cursor_it_starts_at_the_start() -> None:
    assert place_of(None, (5, 7)) == (5, 7)


def raw(text: bytes) -> str:
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


FORGED = [
    "",
    "x",
    "====",
    "not a cursor",
    "!!!!",
    "\u00e9",
    "a" * 1024,
    raw(b""),
    raw(b"{}"),
    raw(b"[1"),
    raw(b"null"),
    raw(b"[]"),
    raw(b"[1,2,3]"),
    raw(b"[1]"),
    raw(b'["1","2"]'),
    raw(b"[1.5,2]"),
    raw(b"[1,null]"),
    raw(b"[true,1]"),
    raw(b"[1,9223372036854775808]"),
    raw(b"[-9223372036854775809,1]"),
    raw(b"[1," + b"9" * 100 + b"]"),
    raw(b"[1,2] "),
    raw(b"[1, 2]"),
    raw(b"[1.0,2]"),
    raw(b"[01,2]"),
    raw(b"[1,-0]"),
    raw(b"\xff\xfe"),
    raw(b"[" * 900),
    cursor_of(1, 2) + "=",
    cursor_of(1, 2) + "!",
    " " + cursor_of(1, 2),
    cursor_of(1, 2)[:-1],
]


@each("cursor", FORGED)
def test_what_we_never_gave_out_is_refused(cursor: str) -> None:
    with pytest.raises(CallerError) as caught:
        place_of(cursor, (0, 0))
    assert caught.value.reason == "invalid_params"
    assert caught.value.details == {"path": "$.cursor", "problem": "This is not a cursor of a page before"}


@given(st.text(max_size=40) | st.binary(max_size=30).map(raw), st.integers(1, 4))
def test_any_other_text_is_either_refused_or_our_own(cursor: str, length: int) -> None:
    try:
        place = place_of(cursor, (0,) * length)
    except CallerError:
        return
    assert cursor_of(*place) == cursor
