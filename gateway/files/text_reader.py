"""Texts as their reader sees them, in a process beside this one.

Rule 1: a reader that ends costs one file; the next file gets a new one.
Rule 2: the process is there while there is something to read.
"""

import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import msgspec
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from gateway.files.pdf_text import PASSED_ON
from knowledge.structure import ReaderEndedError, ReadRequest, TextStructure

SECONDS = 60.0
"""The reader has five of the processor, and a busy machine has many processes."""
MAX_ANSWER_BYTES = 64 * 1024 * 1024
MOST_FILES = 4000
"""The files of one process: the memory that a library keeps for itself goes with it. A start costs as much as a
hundred notes."""

_ENV = {name: os.environ[name] for name in PASSED_ON if name in os.environ}


class TextReader:
    """Satisfies `knowledge.structure.ReadText`."""

    def __init__(self) -> None:
        self._child: Process | None = None
        self._answers: BufferedByteReceiveStream | None = None
        self._files = 0

    @property
    def pid(self) -> int:
        """Return the id of its process; 0 while there is none."""
        return self._child.pid if self._child is not None else 0

    async def __call__(self, request: ReadRequest, data: bytes) -> TextStructure:
        """Return the structure of a text. Raises `ReaderEndedError`."""
        if self._child is None or self._files >= MOST_FILES:
            await self.close()
            await self._start()
        self._files += 1
        child, answers = self._child, self._answers
        if child is None or child.stdin is None or answers is None:
            raise ReaderEndedError
        try:
            with anyio.fail_after(SECONDS):
                await child.stdin.send(msgspec.json.encode(request) + b"\n" + data)
                line = await answers.receive_until(b"\n", MAX_ANSWER_BYTES)
            return msgspec.json.decode(line, type=TextStructure)
        except (
            anyio.IncompleteRead,
            anyio.EndOfStream,
            anyio.BrokenResourceError,
            anyio.ClosedResourceError,
            anyio.DelimiterNotFound,
            msgspec.MsgspecError,
            TimeoutError,
        ):
            await self.close()
            raise ReaderEndedError from None

    async def _start(self) -> None:
        command = [sys.executable, "-P", "-m", "gateway.files.text_child"]
        child = self._child = await anyio.open_process(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=_ENV
        )
        self._answers = BufferedByteReceiveStream(child.stdout) if child.stdout is not None else None
        self._files = 0

    async def close(self) -> None:
        """End the process, if there is one."""
        child, self._child, self._answers = self._child, None, None
        if child is not None:
            with anyio.CancelScope(shield=True):
                if child.returncode is None:
                    child.kill()
                await child.aclose()


@asynccontextmanager
async def text_reader() -> AsyncGenerator[TextReader]:
    """Yield a reader, whose process is gone at the end."""
    reader = TextReader()
    try:
        yield reader
    finally:
        await reader.close()
