"""The process's standard input and output, claimed for the protocol alone.

Rule 1: only the protocol reaches the real standard output: fd 1 points at stderr from `claim` on.
Rule 2: the event loop itself reads what a pipe or socket has, and writes a line for which it has room: each thread that
a message passes through waits for the interpreter, for milliseconds where other threads work.
Rule 3: threads do what may block. They are daemons in raw system calls: they can neither hang the exit nor abort the
interpreter.
Rule 4: this module knows bytes and lines, not their meaning.
"""

import asyncio
import contextlib
import os
import select
import stat
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

CHUNK_BYTES = 64 * 1024  # a pipe's usual capacity
INPUT_BUDGET = 4 * 1024 * 1024  # bytes read ahead of the session; past it the reader stops and the client feels it
OUTPUT_BUDGET = 16 * 1024 * 1024  # queued output past which the session stops reading: two of the largest messages
COALESCE_BYTES = 256 * 1024  # lines joined into one system call


class Pipes(NamedTuple):
    """Private descriptors of the protocol's input and output."""

    read: int
    write: int


class _Claim:
    taken: ClassVar[bool] = False


def claim() -> Pipes:
    """Take fd 0 and fd 1 for the protocol and return private copies of them.

    A stray `print`, a library or a child process writes to stderr instead. Raises `RuntimeError` at a second call.
    """
    if _Claim.taken:
        raise RuntimeError("standard input and output are claimed already")
    _Claim.taken = True
    sys.stdout.flush()
    pipes = Pipes(os.dup(0), os.dup(1))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415  # exists only there

        for descriptor in pipes:
            msvcrt.setmode(descriptor, os.O_BINARY)
    sys.stdout = sys.stderr
    return pipes


def _can_be_polled(descriptor: int) -> bool:
    """Return whether the system tells when a descriptor is ready: where it is a pipe or a socket, but on Windows."""
    if sys.platform == "win32":
        return False
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _room_of(descriptor: int) -> Callable[[int], bool]:
    """Return a function that tells whether so many bytes can be written now; never, where the system does not tell."""
    if sys.platform == "win32" or not _can_be_polled(descriptor):
        return lambda _size: False
    room = select.poll()
    room.register(descriptor, select.POLLOUT)
    return lambda size: size <= select.PIPE_BUF and bool(room.poll(0))  # as POSIX promises it for a pipe


class PipeReader:
    """Hands chunks from a descriptor to the event loop, and stops reading while they are not taken."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._chunks: deque[bytes] = deque()
        self._arrived = asyncio.Event()
        self._credit = threading.Semaphore(INPUT_BUDGET // CHUNK_BYTES)
        self._is_full = False
        if _can_be_polled(descriptor):
            self._loop.add_reader(descriptor, self._read_ready)
        else:
            threading.Thread(target=self._read_in_thread, name="stdin", daemon=True).start()

    def _read_ready(self) -> None:
        """Read once; the loop calls this while there is something to read."""
        self._is_full = not self._credit.acquire(blocking=False)
        chunk = b"" if self._is_full else self._read()
        if not chunk:
            self._loop.remove_reader(self._descriptor)  # for good, or until a chunk is taken
        if not self._is_full:
            self._arrive(chunk)

    def _read_in_thread(self) -> None:
        while True:
            self._credit.acquire()
            chunk = self._read()
            with contextlib.suppress(RuntimeError):  # the loop is closed: the process is at its end
                self._loop.call_soon_threadsafe(self._arrive, chunk)
            if not chunk:
                return

    def _read(self) -> bytes:
        try:
            return os.read(self._descriptor, CHUNK_BYTES)
        except OSError:
            return b""  # a torn input is an ended input

    def _arrive(self, chunk: bytes) -> None:
        self._chunks.append(chunk)
        self._arrived.set()

    def end(self) -> None:
        """Have a `receive` that waits return, as at the end of input."""
        self._arrive(b"")

    async def receive(self) -> bytes:
        """Return the next bytes; empty bytes at the end of input, at every call from then on."""
        while not self._chunks:
            self._arrived.clear()
            await self._arrived.wait()
        chunk = self._chunks.popleft()
        if not chunk:
            self._chunks.append(chunk)
            return chunk
        self._credit.release()
        if self._is_full:
            self._is_full = False
            self._loop.add_reader(self._descriptor, self._read_ready)
        return chunk


class PipeWriter:
    """Writes whole lines to a descriptor; those for which it has no room are queued for a thread, many in one call."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._filled = threading.Condition(self._lock)
        self._lines: deque[tuple[bytes, str | None]] = deque()
        self._queued = 0
        self._droppable = 0
        self._busy = False
        self._closed = False
        self._moved = asyncio.Event()
        self._is_awaited = False
        self._has_room_for = _room_of(descriptor)
        self.broken = asyncio.Event()
        self.dropped = 0
        self._thread = threading.Thread(target=self._write, name="stdout", daemon=True)
        self._thread.start()

    def send(self, line: bytes, coalesce_key: str | None = None) -> None:
        """Write or queue a line (its newline is added).

        Never blocks; a line with a `coalesce_key` may be dropped for a slow reader.
        """
        with self._lock:
            if self._closed or self.broken.is_set():
                return
            if not self._lines and not self._busy and self._write_at_once(line):
                return
            if self._queued > OUTPUT_BUDGET:
                self._drop_one()
                if coalesce_key is not None and self._queued > OUTPUT_BUDGET:
                    self.dropped += 1
                    return
            self._queue(line, coalesce_key)

    def _write_at_once(self, line: bytes) -> bool:
        """Write a line for which there is room now; return whether it was written, or at least begun."""
        if not self._has_room_for(len(line) + 1):
            return False
        try:
            written = os.write(self._descriptor, line + b"\n")
        except OSError:
            return False  # the thread meets it again, and tells it
        if written <= len(line):  # another program made the descriptor non-blocking
            self._queue(line[written:], None)
        return True

    def _queue(self, line: bytes, coalesce_key: str | None) -> None:
        self._lines.append((line, coalesce_key))
        self._droppable += coalesce_key is not None
        self._queued += len(line) + 1
        self._filled.notify()

    def _drop_one(self) -> None:
        """Drop the oldest line that may be dropped, if any."""
        if not self._droppable:
            return  # nothing to look for among what may be a hundred thousand lines
        for index, (line, key) in enumerate(self._lines):
            if key is not None:
                del self._lines[index]
                self._queued -= len(line) + 1
                self._droppable -= 1
                self.dropped += 1
                return

    @property
    def is_within_budget(self) -> bool:
        """Return whether the reader keeps up."""
        return self._queued <= OUTPUT_BUDGET

    async def wait_writable(self) -> None:
        """Return when the queue is within its budget."""
        await self._until(lambda: self.is_within_budget)

    async def flush(self) -> None:
        """Return when everything queued was written, or the pipe is broken."""
        await self._until(lambda: not self._lines and not self._busy)

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition() and not self.broken.is_set():
            self._moved.clear()
            self._is_awaited = True  # set before the look, so that a move after it wakes this task
            if condition():
                return
            await self._moved.wait()

    def _write(self) -> None:
        while True:
            with self._filled:
                self._busy = False
                while not self._lines:
                    self._wake_if_awaited()
                    if self._closed:
                        return
                    self._filled.wait()
                self._busy = True
                batch = self._take()
            if not self._write_all(batch):
                self._call_in_loop(self.broken.set)
                self._call_in_loop(self._moved.set)
                return
            self._wake_if_awaited()

    def _take(self) -> bytes:
        """Return the next queued lines, each with its newline, up to about `COALESCE_BYTES`."""
        taken: list[bytes] = []
        size = 0
        while self._lines and size < COALESCE_BYTES:
            line, key = self._lines.popleft()
            self._droppable -= key is not None
            taken.append(line)
            size += len(line) + 1
        self._queued -= size
        taken.append(b"")
        return b"\n".join(taken)

    def _write_all(self, batch: bytes) -> bool:
        view = memoryview(batch)
        while view:
            try:
                view = view[os.write(self._descriptor, view) :]
            except BlockingIOError:
                threading.Event().wait(0.005)  # another program made the descriptor non-blocking; look again soon
            except OSError:
                return False
        return True

    def _wake_if_awaited(self) -> None:
        if self._is_awaited:  # a loop in which no task waits is left asleep
            self._is_awaited = False
            self._call_in_loop(self._moved.set)

    def _call_in_loop(self, call: Callable[[], object]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: no task waits any more
            self._loop.call_soon_threadsafe(call)

    def close(self) -> None:
        """Accept no further line; queued lines are still written while the process lives."""
        with self._filled:
            self._closed = True
            self._filled.notify()


def parent_is_alive(pid: int) -> bool:
    """Return whether a process of that id exists."""
    if sys.platform == "win32":
        return _exists_on_windows(pid)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # the process exists, under another user
    return True


def _exists_on_windows(pid: int) -> bool:  # pragma: no cover  # runs only there
    import ctypes  # noqa: PLC0415  # only needed there

    synchronize, still_running = 0x00100000, 0x00000102
    kernel: Any = vars(ctypes)["windll"].kernel32
    handle = kernel.OpenProcess(synchronize, False, pid)
    if not handle:
        return False
    try:
        return kernel.WaitForSingleObject(handle, 0) == still_running
    finally:
        kernel.CloseHandle(handle)
