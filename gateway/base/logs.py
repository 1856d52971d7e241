"""Logs: one JSON object a line, to stderr and to a rotated file.

Rule 1: a log holds no message text and no secret: callers give codes and counts, and every string is masked and cut.
Rule 2: a log never blocks the process; lines that do not fit are counted and dropped.
"""

import contextlib
import logging
import os
import queue
import secrets
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from io import FileIO
from pathlib import Path
from typing import Any, cast

import msgspec

MAX_VALUE_CHARS = 512  # of a string in a line; the rest is cut
FILE_BYTES = 5 * 1024 * 1024  # at which the file is put aside
FILES_KEPT = 3  # beside the one that is written
QUEUE_LINES = 2000  # a stuck stderr costs at most this many lines of memory
CLOSE_SECONDS = 1.0  # for queued lines at the end: a stuck stderr must not keep a process
LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}


class _Rotated:
    """A file that is put aside when it is full; while another process keeps it from being moved, it grows."""

    def __init__(self, path: Path) -> None:
        self.most_bytes = FILE_BYTES
        self.stream: FileIO | None = None
        self._path = path

    def write(self, line: bytes) -> None:
        """Append a line. Raises `OSError` where the disk does not take it."""
        stream = self._open()
        if stream.seek(0, os.SEEK_END) + len(line) >= self.most_bytes:
            self.close()
            self._put_aside()
            stream = self._open()
        stream.write(line)

    def _open(self) -> FileIO:
        if self.stream is None:
            self.stream = FileIO(self._path, "ab", opener=lambda path, flags: os.open(path, flags, 0o600))
        return self.stream

    def _put_aside(self) -> None:
        """Move the file, and only then the older ones."""
        places = [f"{self._path}.{number}" for number in range(FILES_KEPT + 1)]
        with contextlib.suppress(OSError):  # Windows moves no file that another process has open
            os.replace(self._path, places[0])  # noqa: PTH105  # the names are texts
            for older, place in zip(reversed(places[:-1]), reversed(places), strict=False):
                if os.path.exists(older):  # noqa: PTH110
                    os.replace(older, place)  # noqa: PTH105

    def close(self) -> None:
        """Close the file; the next line opens it again."""
        if self.stream is not None:
            self.stream.close()
            self.stream = None


class _Sink:
    """The destination of lines, once configured; before that, they are dropped."""

    def __init__(self) -> None:
        self.level = LEVELS["info"]
        self.mask: Callable[[str], str] = lambda text: text
        self.dropped = 0
        self._lines: queue.Queue[bytes | None] = queue.Queue(QUEUE_LINES)
        self._file: _Rotated | None = None
        self._thread: threading.Thread | None = None

    def open(self, folder: Path | None, *, uses_stderr: bool = True) -> None:
        self.close(CLOSE_SECONDS)
        self._lines = queue.Queue(QUEUE_LINES)
        self._file = None if folder is None else _open_file(folder)
        self._thread = threading.Thread(
            target=_write, args=(self._lines, self._file, uses_stderr), name="log", daemon=True
        )
        self._thread.start()

    def put(self, line: bytes) -> None:
        if self._thread is None:
            return
        try:
            self._lines.put_nowait(line)
        except queue.Full:
            self.dropped += 1

    @property
    def is_kept(self) -> bool:
        return self._file is not None

    def close(self, seconds: float) -> None:
        if self._thread is not None:
            with contextlib.suppress(queue.Full):
                self._lines.put(None, timeout=seconds)
            self._thread.join(seconds)
            self._thread = self._file = None


def _open_file(folder: Path) -> _Rotated | None:
    with contextlib.suppress(OSError):  # a home that cannot be written is reported elsewhere; stderr still works
        path = folder / "gateway.log"
        path.touch(mode=0o600)
        return _Rotated(path)
    return None


def _write(lines: queue.Queue[bytes | None], file: _Rotated | None, uses_stderr: bool) -> None:  # noqa: FBT001
    """Write lines until None comes; the file is this thread's alone."""
    while (line := lines.get()) is not None:
        if file is not None:
            with contextlib.suppress(OSError):
                file.write(line + b"\n")
        if uses_stderr:
            with contextlib.suppress(OSError):
                os.write(2, line + b"\n")
    if file is not None:
        file.close()


_SINK = _Sink()


def configure(folder: Path | None, level: str, mask: Callable[[str], str], *, uses_stderr: bool = True) -> None:
    """Begin to log. `mask` takes secrets out of every string; `uses_stderr` adds stderr to the file."""
    _SINK.level = LEVELS[level]
    _SINK.mask = mask
    _SINK.open(folder, uses_stderr=uses_stderr)
    logging.raiseExceptions = False  # a full disk would put a traceback for each line on stderr
    logging.getLogger().handlers[:] = [_Library()]
    logging.getLogger().setLevel(logging.WARNING)


def is_kept() -> bool:
    """Return whether log lines are kept in a file."""
    return _SINK.is_kept


def close(seconds: float = CLOSE_SECONDS) -> None:
    """Write the queued lines, for at most that long."""
    _SINK.close(seconds)


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        masked = _SINK.mask(value[: 4 * MAX_VALUE_CHARS])
        text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in masked)
        return text[:MAX_VALUE_CHARS]
    if value is None or isinstance(value, (int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return [_clean(item) for item in cast("Sequence[Any]", value)]
    if isinstance(value, dict):
        return {_clean(str(name)): _clean(item) for name, item in cast("dict[Any, Any]", value).items()}
    return f"<{type(value).__name__}>"  # its text is not ours to show


def _emit(level: str, component: str, event: str, fields: dict[str, Any]) -> None:
    if LEVELS[level] < _SINK.level:
        return
    line = {"at": int(time.time() * 1000), "level": level, "component": component, "event": event}
    line |= {name: _clean(value) for name, value in fields.items()}
    _SINK.put(msgspec.json.encode(line))


class Log:
    """The log of one component."""

    def __init__(self, component: str) -> None:
        self._component = component

    def info(self, event: str, **fields: Any) -> None:
        """Log an event that an operator may want to know."""
        _emit("info", self._component, event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        """Log a failure that was dealt with."""
        _emit("warning", self._component, event, fields)

    def error(self, event: str, **fields: Any) -> None:
        """Log a failure."""
        _emit("error", self._component, event, fields)

    def incident(self, error: BaseException) -> str:
        """Log a defect by type and code locations, never by its text; return the incident id that the client gets."""
        incident_id = f"inc_{secrets.token_hex(8)}"
        frames = [f"{Path(f.filename).name}:{f.lineno}:{f.name}" for f in traceback.extract_tb(error.__traceback__)]
        _emit(
            "error",
            self._component,
            "incident",
            {"incident_id": incident_id, "type": type(error).__name__, "where": " < ".join(reversed(frames))},
        )
        return incident_id


class _Library(logging.Handler):
    """The handler that brings records of libraries into the same lines."""

    def emit(self, record: logging.LogRecord) -> None:
        level = "error" if record.levelno >= logging.ERROR else "warning"
        where = f"{Path(record.pathname).name}:{record.lineno}"
        _emit(level, record.name, "library", {"where": where})
