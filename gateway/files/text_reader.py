"""Texts as their reader sees them, in a process beside this one.

Rule 1: a reader that ends costs one file; the next file gets a new one.
Rule 2: the process is there while there is something to read.
"""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from threading import Lock

import anyio
import anyio.to_thread
import msgspec

from gateway.files.pdf_text import PASSED_ON
from knowledge.structure import ReadRequest, TextStructure

SECONDS = 60.0
"""The reader has five of the processor, and a busy machine has many processes."""
MAX_ANSWER_BYTES = 64 * 1024 * 1024
MOST_FILES = 4000
"""The files of one process: the memory that a library keeps for itself goes with it. A start costs as much as a
hundred notes."""

_ENV = {name: os.environ[name] for name in PASSED_ON if name in os.environ}


class TextReader:
    """Satisfies `knowledge.structure.ReadText`.

    A thread speaks with the process: a question takes this process .11 ms so, and .29 by streams of the event loop (a
    thousand notes, without the reader's own time).
    """

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._files = 0
        self._asked_at = 0.0
        self._is_closed = False
        self._starting = Lock()

    @property
    def pid(self) -> int:
        """Return the id of its process; 0 while there is none."""
        child = self._child
        return child.pid if child is not None else 0

    async def __call__(self, texts: Sequence[tuple[ReadRequest, bytes]]) -> list[TextStructure | None]:
        """Return the structure of each text; None where the process ended at it, or took longer than `SECONDS`.

        Raises OSError where no process can be started.
        """
        self._asked_at = time.monotonic()
        answers: list[TextStructure | None] = []
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._watch)
                answers = await anyio.to_thread.run_sync(self._read_all, texts, abandon_on_cancel=True)
                tasks.cancel_scope.cancel()
        except ExceptionGroup as failed:  # of one: the watch raises nothing
            raise failed.exceptions[0] from None
        return answers

    async def _watch(self) -> None:
        """End a process that does not answer, so that its thread goes on."""
        while True:
            await anyio.sleep(self._asked_at + SECONDS - time.monotonic())
            now = time.monotonic()
            if now >= self._asked_at + SECONDS:
                self._asked_at = now
                if (child := self._child) is not None:
                    child.kill()

    def _read_all(self, texts: Sequence[tuple[ReadRequest, bytes]]) -> list[TextStructure | None]:
        return [self._read(request, data) for request, data in texts]

    def _read(self, request: ReadRequest, data: bytes) -> TextStructure | None:
        self._asked_at = time.monotonic()
        child = self._find_child()
        if child is None or child.stdin is None or child.stdout is None:
            return None
        self._files += 1
        try:
            child.stdin.write(msgspec.json.encode(request) + b"\n" + data)
            child.stdin.flush()
            return msgspec.json.decode(child.stdout.readline(MAX_ANSWER_BYTES), type=TextStructure)
        except (OSError, ValueError, msgspec.MsgspecError):  # it ended, or was ended: there is no whole answer
            self._end()
            return None

    def _find_child(self) -> subprocess.Popen[bytes] | None:
        """Return the process that reads the next text; None where none is wanted any more."""
        if self._files >= MOST_FILES:
            self._end()
        with self._starting:
            if self._child is None and not self._is_closed:
                command = [sys.executable, "-P", "-m", "gateway.files.text_child"]
                pipe = subprocess.PIPE
                self._child = subprocess.Popen(  # noqa: S603  # our own module
                    command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=_ENV
                )
                self._files = 0
            return self._child

    def _end(self) -> None:
        """End the process, if there is one."""
        with self._starting:
            child, self._child = self._child, None
        if child is not None:
            child.kill()
            with contextlib.suppress(OSError), child:  # its pipes are closed, and it is waited for
                pass

    def close(self) -> None:
        """End the process for good."""
        self._is_closed = True
        self._end()


@asynccontextmanager
async def text_reader() -> AsyncGenerator[TextReader]:
    """Yield a reader, whose process is gone at the end."""
    reader = TextReader()
    try:
        yield reader
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(reader.close)
