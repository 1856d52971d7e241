"""What the Python client is made of: its copy of the protocol, its small decisions."""

import asyncio
import sys
from itertools import islice

import copy_protocol
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pioneer_client.client import Client, make_waits
from pioneer_client.connection import LineSplitter
from pioneer_client.errors import GatewayDied
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


GARBLED = {
    "no UTF-8": """b'{"method":"' + bytes([255]) + b'"}'""",
    "no UTF-8 in a notification": """b'{"method":"memory/changed","params":{"memory_id":"' + bytes([255]) + b'"}}'""",
    "nested too deeply": """b'{"result":' + b'[' * 100000""",
}


@pytest.mark.parametrize("line", GARBLED.values(), ids=GARBLED)
def test_a_line_that_is_no_message_leaves_no_call_without_an_end(line: str) -> None:
    script = f"import sys; out = sys.stdout.buffer; sys.stdin.readline(); out.write({line}); out.write(bytes([10]))"

    async def story() -> None:
        async with asyncio.timeout(50):
            await Client.start([sys.executable, "-c", script])

    with pytest.raises(GatewayDied):
        asyncio.run(story())


@pytest.mark.parametrize(
    "reply",
    [b"SSH-2.0-OpenSSH_9.9\r\n\r\n", b"\r\n\r\n", b"HTTP/1.1 teapot\r\n\r\n", b"x" * 200_000],
    ids=["another protocol", "blank lines", "no code", "no end of the head"],
)
def test_what_is_no_http_is_no_gateway(reply: bytes) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(reply)
        await writer.drain()
        writer.close()

    async def story() -> None:
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            await Client.connect(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", "token")

    with pytest.raises(GatewayDied):
        asyncio.run(story())
