"""Framing: the same bytes give the same frames, however they are split, and a long line costs nothing."""

import time
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.wire.framing import TOO_LONG, Frame, LineReceiver

LIMIT = 8
PIECE = 64 * 1024


def frames_of(pieces: list[bytes], limit: int = LIMIT) -> list[Frame]:
    receiver = LineReceiver(limit)
    frames: list[Frame] = []
    for piece in pieces:
        frames += receiver.feed(piece)
    return frames + receiver.close()


def frames_by_definition(data: bytes, limit: int = LIMIT) -> list[Frame]:
    """The slow and obvious reading of the rules."""
    lines = [line.removesuffix(b"\r") for line in data.split(b"\n")]
    return [TOO_LONG if len(line) > limit else line for line in lines if len(line) > limit or line.strip()]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"\n", []),
        (b"\r\n", []),
        (b"  \t\n", []),
        (b"a\n", [b"a"]),
        (b"a\r\n", [b"a"]),
        (b"a", [b"a"]),
        (b"a\r", [b"a"]),
        (b"a\rb\n", [b"a\rb"]),
        (b"a\r\r\n", [b"a\r"]),
        (b" a \n", [b" a "]),
        (b"a\n\n\nb\n", [b"a", b"b"]),
        (b"12345678\n", [b"12345678"]),
        (b"12345678\r\n", [b"12345678"]),
        (b"123456789\n", [TOO_LONG]),
        (b"123456789\r\n", [TOO_LONG]),
        (b"12345678\r", [b"12345678"]),
        (b"123456789", [TOO_LONG]),
        (b"         \n", [TOO_LONG]),
        (b"1234567890123456\nok\n", [TOO_LONG, b"ok"]),
        (b"ok\n1234567890123456\n1234567890\nok", [b"ok", TOO_LONG, TOO_LONG, b"ok"]),
        (b"\x00\xff\n", [b"\x00\xff"]),
    ],
)
def test_a_line_is_what_stands_before_a_newline(data: bytes, expected: list[Frame]) -> None:
    assert frames_of([data]) == expected
    assert frames_of([data[i : i + 1] for i in range(len(data))]) == expected


BYTES = st.lists(st.sampled_from([b"a", b"bc", b" ", b"\r", b"\n", b"\r\n", b"1234567", b"x" * 20]), max_size=40)


@given(BYTES, st.lists(st.integers(0, 200), max_size=30))
def test_any_split_gives_the_same_frames(parts: list[bytes], cuts: list[int]) -> None:
    data = b"".join(parts)
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    pieces = [data[start:end] for start, end in pairwise(places)]
    assert frames_of(pieces) == frames_by_definition(data)


def test_the_end_is_told_once() -> None:
    receiver = LineReceiver(LIMIT)
    assert receiver.feed(b"half") == []
    assert receiver.close() == [b"half"]
    assert receiver.close() == []


def test_a_line_that_is_too_long_costs_no_memory() -> None:
    receiver = LineReceiver(1024)
    piece = b"x" * PIECE
    receiver.feed(piece)
    tracemalloc.start()
    for _ in range(200):
        assert receiver.feed(piece) == []
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * PIECE
    assert receiver.feed(b"\nnext\n") == [TOO_LONG, b"next"]


def seconds_for(pieces: int) -> float:
    receiver = LineReceiver(pieces * PIECE)
    piece = b"x" * PIECE
    begun = time.process_time()
    for _ in range(pieces):
        receiver.feed(piece)
    (line,) = receiver.feed(b"\n")
    taken = time.process_time() - begun
    assert len(line) == pieces * PIECE
    return taken


def test_a_line_of_10_mb_takes_time_in_proportion() -> None:
    # one join of 10 MB is about 5 ms; adding to what is there already would copy 800 MB, about half a second
    assert min(seconds_for(160) for _ in range(3)) < 0.25


def test_many_lines_in_one_piece() -> None:
    assert LineReceiver(LIMIT).feed(b"a\n" * 50_000) == [b"a"] * 50_000
