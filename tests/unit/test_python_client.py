"""What the Python client is made of: its copy of the protocol, its small decisions."""

from itertools import islice

import copy_protocol
from hypothesis import given
from hypothesis import strategies as st
from pioneer_client.client import make_waits
from pioneer_client.connection import LineSplitter
from pioneer_client.protocol import methods as copied

from protocol.methods import METHODS, READING_VERBS


def test_the_copy_of_the_protocol_is_current() -> None:
    assert copy_protocol.is_current(), "run `make clients`"
    assert list(copied.METHODS) == list(METHODS)


def test_the_waits_double_up_to_half_a_minute() -> None:
    assert list(islice(make_waits(), 9)) == [0.25, 0.5, 1, 2, 4, 8, 16, 30, 30]


@given(st.lists(st.sampled_from([b"a", b"bc", b"\n", b"\r\n", b"", b"x\ny\n"])))
def test_any_split_of_the_same_bytes_gives_the_same_lines(parts: list[bytes]) -> None:
    splitter = LineSplitter()
    lines = [line for part in parts for line in splitter.feed(part)]
    assert lines == [line.removesuffix(b"\r") for line in b"".join(parts).split(b"\n")[:-1]]


def test_what_is_safe_to_repeat_only_reads() -> None:
    safe = {name for name, method in METHODS.items() if method.is_safe_to_repeat}
    assert {"ping", "memory/search", "turn/get", "thread/history"} <= safe
    writing = {
        name
        for name, method in METHODS.items()
        if method.ordering != "free" or "memory_write_disabled" in method.errors
    }
    assert safe & (writing | {"initialize", "shutdown", "provider/test", "settings/update", "turn/cancel"}) == set()
    verbs = {name.rpartition("/")[2] for name in METHODS}
    assert verbs >= READING_VERBS  # none that no method has
