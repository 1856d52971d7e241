"""The spool of a home: answers that chat proxies have on disk until memory has them, a file for each proxy.

Rule 1: a file belongs to its proxy while that lives; what an ended one left is any gateway's to deliver.
Rule 2: a gateway that is about to forget takes the files of living proxies as well: it gives them another name, and a
proxy whose file was taken delivers nothing of it any more.
Rule 3: a torn line is put aside, and the others are read.
"""

import contextlib
import hashlib
import os
import secrets
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from gateway.home.owners import hold_lock, is_free
from protocol.base import encode, encode_sorted

FOLDER = "spool"
QUARANTINE = "quarantine.jsonl"
LOCK = "spool-files.lock"
"""Held while a line is appended or a file is taken."""
STAYS_FOR = frozenset(
    {"storage_full", "storage_read_only", "unavailable", "overloaded", "home_locked", "turn_in_progress"}
)
"""Reasons for which an answer is delivered again later; for any other it is refused for good."""


class SpoolLine(msgspec.Struct, frozen=True):
    """A line: `finish` are the parameters of `capture/finish`, `sha256` is that of them in sorted JSON.

    `at` is the time at which it was written, in milliseconds.
    """

    v: int
    sha256: str
    finish: dict[str, Any]
    at: int


class OwnFile:
    """A proxy's file: it is open from its first line until all of them are delivered, so that a taken one is known."""

    def __init__(self, root: Path, owner: str) -> None:
        self._path, self._lock = path_of_spool(root, owner), root / "run" / LOCK
        self._file: int | None = None
        self._number = 0
        self._appending = threading.Lock()
        """Held by one thread of this process: the lock of the home is polled, so that threads would wait longer."""
        self.size = 0

    def append(self, line: bytes) -> int:
        """Append a line; return the number of the file that it is in. Raises `OSError`, and nothing of it is kept then.

        The line outlives this process from then on, and the machine's end once `sync` has returned.
        """
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._appending, hold_lock(self._lock):
            if self._file is None or not self.holds(self._number):
                self.close()
                self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            _write_whole(self._file, line)
            self.size += len(line)
            return self._number

    def sync(self, number: int) -> None:
        """Make the lines of a file durable; a file that was taken is another process's. Raises `OSError`."""
        with self._appending:
            if self._file is None or number != self._number:
                return
            file = os.dup(self._file)
        try:
            os.fsync(file)
        finally:
            os.close(file)

    def holds(self, number: int) -> bool:
        """Return whether the lines of a file are still this proxy's to deliver."""
        if self._file is None or number != self._number:
            return False
        try:
            return os.path.samestat(self._path.stat(), os.fstat(self._file))
        except FileNotFoundError:
            return False

    def close(self) -> None:
        """Begin another file with the next line."""
        if self._file is not None:
            os.close(self._file)
            self._file, self.size = None, 0
            self._number += 1

    def remove(self) -> None:
        """Remove the file: every line is delivered."""
        if self.holds(self._number):
            self._path.unlink(missing_ok=True)
        self.close()


def _write_whole(file: int, line: bytes) -> None:
    """Append a line, or nothing: a full disk takes a part of it, and the next line would be torn with that."""
    begin, written = os.fstat(file).st_size, 0
    try:
        while written < len(line):
            written += os.write(file, line[written:])
    except OSError:
        os.ftruncate(file, begin)
        raise


def take_living(root: Path) -> None:
    """Take the files of living proxies, so that they count as left; one that cannot be taken stays where it is."""
    for file in find_spools(root):
        if not file.is_left:
            with hold_lock(root / "run" / LOCK), contextlib.suppress(OSError):
                file.path.rename(file.path.with_name(f"capture-taken_{secrets.token_hex(8)}.jsonl"))


class ReadSpool(Struct, frozen=True):
    """A file's whole lines in their order, and its torn ones."""

    lines: Sequence[SpoolLine]
    torn: Sequence[bytes]


class SpoolFile(Struct, frozen=True):
    """A file of the spool; `is_left`: its proxy has ended."""

    path: Path
    is_left: bool


def path_of_spool(root: Path, owner: str) -> Path:
    """Return the path of a proxy's file."""
    return root / FOLDER / f"capture-{owner}.jsonl"


def line_of(finish: dict[str, Any]) -> bytes:
    """Return the line of a finish, written now."""
    digest = hashlib.sha256(encode_sorted(finish)).hexdigest()
    return encode(SpoolLine(1, digest, finish, time.time_ns() // 1_000_000)) + b"\n"


def find_spools(root: Path) -> list[SpoolFile]:
    """Return the files of proxies, oldest first."""
    found: list[tuple[int, SpoolFile]] = []
    for path in (root / FOLDER).glob("capture-*.jsonl"):
        lock = root / "run" / f"{path.stem.removeprefix('capture-')}.lock"
        try:
            found.append((path.stat().st_mtime_ns, SpoolFile(path, is_free(lock))))
        except FileNotFoundError:  # delivered meanwhile
            continue
    return [file for _, file in sorted(found)]


def read_spool(path: Path) -> ReadSpool:
    """Return the lines of a spool file; none where it is gone. Raises `OSError`."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ReadSpool([], [])
    lines, torn = list[SpoolLine](), list[bytes]()
    for line in filter(None, data.split(b"\n")):
        found = _decode_line(line)
        if found is not None:
            lines.append(found)
        else:
            torn.append(line)
    return ReadSpool(lines, torn)


def _decode_line(line: bytes) -> SpoolLine | None:
    try:
        found = msgspec.json.decode(line, type=SpoolLine)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return found if found.sha256 == hashlib.sha256(encode_sorted(found.finish)).hexdigest() else None


def put_aside(root: Path, torn: Iterable[bytes]) -> None:
    """Append torn lines to the quarantine. Raises `OSError`."""
    lines = b"".join(line + b"\n" for line in torn)
    if lines:
        path = root / FOLDER / QUARANTINE
        with path.open("ab") as aside:
            aside.write(lines)
        path.chmod(0o600)


def count_aside(root: Path) -> int:
    """Return how many torn lines lie aside."""
    try:
        return (root / FOLDER / QUARANTINE).read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0


def drop_aside(root: Path) -> None:
    """Remove the quarantine. Raises `OSError`."""
    (root / FOLDER / QUARANTINE).unlink(missing_ok=True)
