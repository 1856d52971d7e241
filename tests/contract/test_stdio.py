"""Standard input and output of a real process: the protocol's alone, nothing lost, and an end that never hangs."""

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import pytest

from gateway.wire.stdio import INPUT_BUDGET, OUTPUT_BUDGET

PRELUDE = """
    import asyncio, ctypes, os, subprocess, sys, threading
    from gateway.wire.stdio import PipeReader, PipeWriter, claim

    pipes = claim()

    async def lines(reader):
        rest = b""
        while chunk := await reader.receive():
            *whole, rest = (rest + chunk).split(b"\\n")
            for line in whole:
                yield line
"""

ECHO = """
    async def main():
        reader, writer = PipeReader(pipes.read), PipeWriter(pipes.write)
        async for line in lines(reader):
            writer.send(line)
            await writer.wait_writable()
        await writer.flush()

    asyncio.run(main())
"""


@contextmanager
def running(program: str) -> Iterator["subprocess.Popen[bytes]"]:
    code = textwrap.dedent(PRELUDE) + textwrap.dedent(program)
    process = subprocess.Popen(
        [sys.executable, "-X", "utf8", "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(10)
        for stream in (process.stdin, process.stdout, process.stderr):
            pipe_of(stream).close()


def pipe_of(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


def exchange(program: str, sent: bytes = b"") -> tuple[bytes, bytes, int]:
    with running(program) as process:
        out, err = process.communicate(sent, timeout=240)
        return out, err, process.returncode


# -- the claim -------------------------------------------------------------------------------------------------------

STRAYS = {
    "print": "print('stray')",
    "print and flush": "print('stray', flush=True)",
    "sys.stdout.buffer": "sys.stdout.buffer.write(b'stray'); sys.stdout.flush()",
    "sys.__stdout__": "print('stray', file=sys.__stdout__, flush=True)",
    "fd 1": "os.write(1, b'stray')",
    "a child": "subprocess.run([sys.executable, '-c', 'print(\"stray\")'])",
    "a shell": "os.system('echo stray')",
    "a grandchild": (
        "subprocess.run([sys.executable, '-c', 'import subprocess, sys; subprocess.run([sys.executable, \"-c\", \"print(123, flush=True);"
        " print(chr(115)+chr(116)+chr(114)+chr(97)+chr(121))\"])'])"
    ),
    "a thread": "t = threading.Thread(target=print, args=('stray',)); t.start(); t.join()",
    "an open of fd 1": "open(1, 'w', closefd=False).write('stray')",
}


@pytest.mark.parametrize("stray", STRAYS.values(), ids=STRAYS)
def test_a_stray_word_never_reaches_the_protocol(stray: str) -> None:
    program = f"""
    async def main():
        writer = PipeWriter(pipes.write)
        writer.send(b"first")
        {stray}
        writer.send(b"last")
        await writer.flush()

    asyncio.run(main())
    """
    out, err, code = exchange(program)
    assert (out, code) == (b"first\nlast\n", 0)
    assert b"stray" in err


def test_a_child_cannot_eat_the_input() -> None:
    program = """
    eaten = subprocess.run([sys.executable, "-c", "import sys; print(len(sys.stdin.read()))"], capture_output=True).stdout

    async def main():
        reader, writer = PipeReader(pipes.read), PipeWriter(pipes.write)
        writer.send(b"eaten " + eaten.strip())
        writer.send(b"own " + repr(sys.stdin.read()).encode())
        async for line in lines(reader):
            writer.send(line)
        await writer.flush()

    asyncio.run(main())
    """
    out, err, code = exchange(program, b"for the protocol\n")
    assert (out, err, code) == (b"eaten 0\nown ''\nfor the protocol\n", b"", 0)


def test_a_child_does_not_keep_the_pipes_open() -> None:
    program = """
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], close_fds=False, stderr=subprocess.DEVNULL)
    print(child.pid)
    os.write(pipes.write, b"%d\\n" % child.pid)
    """
    with running(program) as process:
        out = pipe_of(process.stdout)
        pid = int(out.readline())
        try:
            process.wait(10)
            assert out.read() == b""  # it would block while the child holds the other end
        finally:
            os.kill(pid, 9)


def test_what_was_printed_before_the_claim_is_not_held_back() -> None:
    code = "print('before'); from gateway.wire.stdio import claim; pipes = claim(); import os; os.write(pipes.write, b'after')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=240)
    assert done.stdout.splitlines() == [b"before", b"after"]


def test_a_second_claim_is_refused() -> None:
    out, err, code = exchange("claim()")
    assert (out, code) == (b"", 1)
    assert b"claimed already" in err


# -- echo ------------------------------------------------------------------------------------------------------------


def test_ten_thousand_lines_come_back_in_order() -> None:
    sent = b"".join(b"line %d \xc3\xa9\r\n" % n for n in range(10_000))
    out, err, code = exchange(ECHO, sent)
    assert (out == sent, err, code) == (True, b"", 0)


def test_lines_far_larger_than_a_pipe_come_back_whole() -> None:
    sent = b"".join(bytes([65 + n]) * 3_000_000 + b"\n" for n in range(4))
    out, err, code = exchange(ECHO, sent)
    assert (out == sent, err, code) == (True, b"", 0)


def test_one_line_at_a_time_is_answered_at_once() -> None:
    with running(ECHO) as process:
        stdin, stdout = pipe_of(process.stdin), pipe_of(process.stdout)
        for n in range(200):
            stdin.write(b"%d\n" % n)
            assert stdout.readline() == b"%d\n" % n


def test_a_client_that_does_not_read_for_a_while_loses_nothing() -> None:
    line = b"x" * 999 + b"\n"
    count = (INPUT_BUDGET + OUTPUT_BUDGET) // len(line) + 5_000
    with running(ECHO) as process:
        stdin, stdout = pipe_of(process.stdin), pipe_of(process.stdout)
        written = 0

        def write() -> None:
            nonlocal written
            for _ in range(count):
                stdin.write(line)
                written += 1
            stdin.close()

        writing = threading.Thread(target=write)
        writing.start()
        seen = -1
        while written != seen:  # until backpressure holds the writer, which is what this test is about
            seen = written
            writing.join(0.3)
        assert writing.is_alive()
        assert written * len(line) < INPUT_BUDGET + OUTPUT_BUDGET + 2_000_000
        came = b"".join(iter(lambda: stdout.read(1 << 20), b""))
        writing.join(10)
        assert came == line * count
        assert process.wait(10) == 0


# -- the end ---------------------------------------------------------------------------------------------------------


def test_the_end_of_input_is_told_again_and_again() -> None:
    program = """
    async def main():
        reader, writer = PipeReader(pipes.read), PipeWriter(pipes.write)
        for _ in range(4):
            writer.send(repr(await reader.receive()).encode())
        await writer.flush()

    asyncio.run(main())
    """
    assert exchange(program, b"last") == (b"b'last'\nb''\nb''\nb''\n", b"", 0)


@pytest.mark.parametrize("code", [0, 3])
def test_the_exit_is_clean_while_the_reader_waits(code: int) -> None:
    program = f"""
    async def main():
        reader, writer = PipeReader(pipes.read), PipeWriter(pipes.write)
        writer.send(b"here")
        await writer.flush()

    asyncio.run(main())
    sys.exit({code})
    """
    with running(program) as process:  # its input stays open: the reader's thread is blocked for ever
        assert pipe_of(process.stdout).readline() == b"here\n"
        assert process.wait(10) == code
        assert pipe_of(process.stderr).read() == b""


@pytest.mark.skipif(sys.platform == "win32", reason="a full pipe is filled otherwise there")
def test_the_exit_is_clean_while_the_writer_is_stuck() -> None:
    program = """
    async def main():
        reader, writer = PipeReader(pipes.read), PipeWriter(pipes.write)
        for _ in range(100):
            writer.send(b"x" * 100_000)
        await reader.receive()

    asyncio.run(main())
    """
    with running(program) as process:
        pipe_of(process.stdin).write(b"go")
        assert process.wait(10) == 0
        assert pipe_of(process.stderr).read() == b""


def test_an_output_that_nobody_reads_any_more_is_broken() -> None:
    program = """
    async def main():
        reader, writer = PipeReader(pipes.read), PipeWriter(pipes.write)
        writer.send(b"one")
        await reader.receive()
        for _ in range(100):
            writer.send(b"x" * 100_000)
        await writer.broken.wait()
        for _ in range(1000):
            writer.send(b"x" * 100_000)  # costs nothing any more
        await writer.flush()
        await writer.wait_writable()
        print("broken", writer._queued < 20_000_000)

    asyncio.run(main())
    """
    with running(program) as process:
        assert pipe_of(process.stdout).readline() == b"one\n"
        pipe_of(process.stdout).close()
        pipe_of(process.stdin).write(b"go")
        assert process.wait(10) == 0
        assert pipe_of(process.stderr).read().split() == [b"broken", b"True"]
