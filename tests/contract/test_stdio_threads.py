"""The reader and the writer on pipes of their own: budgets, dropping, torn ends; at the loop, and by threads alone."""

import asyncio
import contextlib
import os
import select
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable

import anyio
import pytest

from gateway.wire import stdio
from gateway.wire.stdio import CHUNK_BYTES, INPUT_BUDGET, OUTPUT_BUDGET, PipeReader, PipeWriter, parent_is_alive
from tests.stage.spawned import on_posix


@pytest.fixture(autouse=True, params=["loop", "threads"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The way of the bytes: `threads` is that of a system, or a file, that does not tell when it is ready."""
    if request.param == "threads":
        monkeypatch.setattr(stdio, "_can_be_polled", lambda _descriptor: False)
    return request.param


def play(scene: Callable[[int, int], Awaitable[None]]) -> None:
    """Run a scene on a pipe of its own: what is read from, what is written to."""

    async def main() -> None:
        read, write = os.pipe()
        try:
            with anyio.fail_after(120):
                await scene(read, write)
        finally:
            for descriptor in (read, write):
                try:
                    os.close(descriptor)
                except OSError:
                    continue  # the scene closed it

    anyio.run(main)


def fill(write: int) -> int:
    """Write to a pipe until it has no more room; return the number of bytes."""
    os.set_blocking(write, False)
    size = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            size += os.write(write, bytes(4096))
    os.set_blocking(write, True)
    return size


async def read_all(read: int) -> bytes:
    found = b""
    while chunk := await asyncio.to_thread(os.read, read, 1 << 20):
        found += chunk
    return found


def test_closing_writes_what_is_queued_and_then_flush_returns() -> None:
    async def scene(read: int, write: int) -> None:
        for n in range(50):  # the thread may be at any place of its loop
            writer = PipeWriter(write)
            writer.send(b"%d" % n)
            if n % 2:
                await asyncio.sleep(0)
            writer.close()
            writer.send(b"too late")
            await writer.flush()
            assert await asyncio.to_thread(os.read, read, 1000) == b"%d\n" % n
            await asyncio.to_thread(writer._thread.join, 5)
            assert not writer._thread.is_alive()

    play(scene)


@on_posix
def test_many_lines_become_few_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(read: int, write: int) -> None:
        calls: list[int] = []
        real = os.write
        before = fill(write)

        def counted(descriptor: int, data: bytes) -> int:
            if descriptor == write:
                calls.append(len(data))
            return real(descriptor, data)

        monkeypatch.setattr(stdio.os, "write", counted)
        writer = PipeWriter(write)
        for n in range(1000):
            writer.send(b"%d" % n)
        reading = asyncio.ensure_future(read_all(read))
        await writer.flush()
        os.close(write)
        assert (await reading)[before:].split() == [b"%d" % n for n in range(1000)]
        assert len(calls) <= 3

    play(scene)


def test_a_short_or_refused_write_is_continued(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(read: int, write: int) -> None:
        real = os.write
        turn = 0

        def stingy(descriptor: int, data: bytes) -> int:
            nonlocal turn
            if descriptor != write:
                return real(descriptor, data)
            turn += 1
            if turn % 3 == 0:
                raise BlockingIOError
            return real(descriptor, bytes(data)[:7])

        monkeypatch.setattr(stdio.os, "write", stingy)
        writer = PipeWriter(write)
        for n in range(20):
            writer.send(b"line %d" % n)
        await writer.flush()
        os.close(write)
        assert (await read_all(read)).splitlines() == [b"line %d" % n for n in range(20)]

    play(scene)


@on_posix
def test_a_line_for_which_there_is_room_is_written_at_once(way: str) -> None:
    async def scene(read: int, write: int) -> None:
        os.set_blocking(read, False)
        writer = PipeWriter(write)
        if way == "loop":
            writer.send(b"now")
            assert os.read(read, 100) == b"now\n"
        long = b"x" * (select.PIPE_BUF + 1)  # a pipe with some room may have too little for it
        writer.send(long)
        await writer.flush()
        assert os.read(read, len(long) + 2) == long + b"\n"

    play(scene)


@on_posix
def test_lines_keep_their_order_when_there_is_room_again() -> None:
    async def scene(read: int, write: int) -> None:
        before = fill(write)
        writer = PipeWriter(write)
        reading = asyncio.ensure_future(read_all(read))
        for n in range(2000):
            writer.send(b"%d" % n)
            if n % 100 == 0:
                await asyncio.sleep(0)
        await writer.flush()
        os.close(write)
        assert (await reading)[before:].split() == [b"%d" % n for n in range(2000)]

    play(scene)


def test_a_reader_that_is_gone_is_told() -> None:
    async def scene(read: int, write: int) -> None:
        os.close(read)
        writer = PipeWriter(write)
        writer.send(b"for nobody")
        await writer.broken.wait()
        await writer.flush()

    play(scene)


@on_posix
@pytest.mark.loop("check")
def test_for_a_slow_reader_only_what_may_be_dropped_is_dropped() -> None:
    async def scene(read: int, write: int) -> None:
        fill(write)
        writer = PipeWriter(write)
        for n in range(20):
            writer.send(b"old %d" % n, "progress")
        filler = b"x" * 1_000_000
        for _ in range(OUTPUT_BUDGET // len(filler) + 2):
            writer.send(filler)
        before = writer.dropped
        writer.send(b"new", "progress")
        for n in range(5):
            writer.send(b"reply %d" % n)
        assert writer.dropped > before
        waiting = asyncio.ensure_future(writer.wait_writable())
        await asyncio.sleep(0)
        assert not waiting.done()
        reading = asyncio.ensure_future(read_all(read))
        await waiting
        await writer.flush()
        os.close(write)
        lines = (await reading).lstrip(b"\0").split(b"\n")
        assert [line for line in lines if line.startswith(b"reply")] == [b"reply %d" % n for n in range(5)]
        assert lines.count(filler) == OUTPUT_BUDGET // len(filler) + 2
        kept = [line for line in lines if line.startswith((b"old", b"new"))]
        assert len(kept) == 21 - writer.dropped
        assert writer._queued == 0
        assert writer._droppable == 0

    play(scene)


def test_a_reader_takes_only_its_budget_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(read: int, write: int) -> None:
        taken = 0
        asked = threading.Condition()
        real = os.read

        def counted(descriptor: int, size: int) -> bytes:
            nonlocal taken
            if descriptor != read:
                return real(descriptor, size)
            with asked:
                taken += 1
                asked.notify_all()
            return b"y" * size

        monkeypatch.setattr(stdio.os, "read", counted)
        os.write(write, b"there is always more")
        reader = PipeReader(read)
        budget = INPUT_BUDGET // CHUNK_BYTES

        def wait_for(count: int) -> bool:
            with asked:
                return asked.wait_for(lambda: taken >= count, 5)

        assert await asyncio.to_thread(wait_for, budget)
        for _ in range(3):
            assert len(await reader.receive()) == CHUNK_BYTES
        assert await asyncio.to_thread(wait_for, budget + 3)
        for _ in range(3):
            await asyncio.sleep(0)
        assert taken == budget + 3
        monkeypatch.setattr(stdio.os, "read", lambda _descriptor, _size: b"")
        while await reader.receive():
            pass
        assert await reader.receive() == b""

    play(scene)


def test_a_torn_input_is_an_ended_input() -> None:
    async def scene(read: int, _write: int) -> None:
        os.close(read)
        assert await PipeReader(read).receive() == b""

    play(scene)


def test_a_wait_for_input_can_be_cancelled_and_nothing_is_lost() -> None:
    async def scene(read: int, write: int) -> None:
        reader = PipeReader(read)
        with anyio.move_on_after(0.01):
            await reader.receive()
        os.write(write, b"late")
        assert await reader.receive() == b"late"
        os.close(write)
        assert await reader.receive() == b""

    play(scene)


def test_a_parent_is_alive_until_it_has_ended() -> None:
    assert parent_is_alive(os.getpid())
    assert parent_is_alive(os.getppid())
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait(10)
    assert not parent_is_alive(ended.pid)


@pytest.mark.skipif(sys.platform == "win32", reason="asked otherwise there")
def test_a_parent_of_someone_else_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_pid: int, _signal: int) -> None:
        raise PermissionError

    monkeypatch.setattr(stdio.os, "kill", refuse)
    assert parent_is_alive(1)
