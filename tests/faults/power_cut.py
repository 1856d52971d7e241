"""A disk that remembers what was synced, and what it may hold after the power went at any moment.

The model: a file's writes and cuts are certain once it was synced; of those since then each 512-byte sector may be new,
old or rubbish. A file's creation and its deletion are certain once the file that then bears the name was synced; until
then the folder may hold either. Whoever says that an unsynced byte is safe is found out.
"""

import contextlib
import random
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import apsw

SECTOR = 512
BEFORE = -1
"""The number of the file that was there at first."""
NOT_OURS = -2
"""A temporary file without a name."""


class Change(NamedTuple):
    """One step of the log: what happened to which file, or a commit that the store reported."""

    what: Literal["create", "write", "truncate", "sync", "failed_sync", "delete", "commit"]
    file: int
    name: str = ""
    offset: int = 0
    data: bytes = b""
    digest: bytes = b""
    is_durable: bool = False


@dataclass
class Contents:
    """A file as the disk certainly has it, and what it was asked for since."""

    name: str
    synced: bytearray = field(default_factory=bytearray)
    pending: list[Change] = field(default_factory=list)

    def apply(self, change: Change, data: bytearray) -> None:
        if change.what == "truncate":
            del data[change.offset :]
            return
        missing = change.offset + len(change.data) - len(data)
        if missing > 0:
            data.extend(bytes(missing))
        data[change.offset : change.offset + len(change.data)] = change.data

    def sync(self) -> None:
        for change in self.pending:
            self.apply(change, self.synced)
        self.pending.clear()

    def after_cut(self, rng: random.Random) -> bytes:
        """One of the things that the disk may hold."""
        data = bytearray(self.synced)
        style = rng.choice(("none", "all", "prefix", "some", "torn", "torn"))
        until = rng.randrange(len(self.pending) + 1) if style == "prefix" else len(self.pending)
        for change in self.pending[:until] if style != "none" else []:
            if style == "torn" and change.what == "write":
                for piece in _sectors(change, rng):
                    self.apply(piece, data)
            elif style != "some" or rng.random() < 0.5:
                self.apply(change, data)
        return bytes(data)


def _sectors(change: Change, rng: random.Random) -> Iterator[Change]:
    """Yield the fate of each sector of a write: new, old, or rubbish."""
    at = 0
    while at < len(change.data):
        length = min(SECTOR - (change.offset + at) % SECTOR, len(change.data) - at)
        luck = rng.random()
        if luck < 0.6:
            yield change._replace(offset=change.offset + at, data=change.data[at : at + length])
        elif luck < 0.7:
            yield change._replace(offset=change.offset + at, data=rng.randbytes(length))
        at += length


class Disk:
    """The log played forward to a moment."""

    def __init__(self, *, obeys_sync: bool = True) -> None:
        self._obeys_sync = obeys_sync
        self._files: dict[int, Contents] = {}
        self._names: dict[str, list[int | None]] = {}
        """The files that a name may stand for: the certain one first, then each later one (None: none)."""

    def put(self, name: str, data: bytes) -> None:
        """A file that was there before."""
        self._files[BEFORE] = Contents(name, bytearray(data))
        self._names[name] = [BEFORE]

    def play(self, change: Change) -> None:
        if change.what == "create":
            self._files[change.file] = Contents(change.name)
            self._names.setdefault(change.name, [None]).append(change.file)
        elif change.what == "delete":
            self._names[change.name].append(None)
        elif change.what == "sync":
            if self._obeys_sync:
                self._sync(change.file)
        elif change.what == "failed_sync":  # the system tells it once, and then takes what it dropped for written
            self._files[change.file].pending.clear()
        elif change.what != "commit":
            self._files[change.file].pending.append(change)

    def _sync(self, file: int) -> None:
        self._files[file].sync()
        standing = self._names[self._files[file].name]
        if file in standing:
            del standing[: standing.index(file)]

    def after_cut(self, rng: random.Random) -> dict[str, bytes]:
        """The files that the next process finds."""
        found = {name: rng.choice(standing) for name, standing in self._names.items()}
        return {name: self._files[file].after_cut(rng) for name, file in found.items() if file is not None}


class RecordingVFS(apsw.VFS):
    """The system's own file system, with a log of all that changed the database and its WAL."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.log: list[Change] = []
        self.syncs = 0
        self.failing_sync = 0
        """The number of the sync that fails, from 1; the system then drops what it should have written, and says so this once.
        """
        self._lock = threading.Lock()
        self._files: dict[str, int] = {}
        """The file that a name stands for now; several connections have it open."""
        super().__init__(name, "")

    @contextlib.contextmanager
    def doing(self, change: Change) -> Iterator[None]:
        """One at a time, so that the log's order is the disk's."""
        with self._lock:
            if change.file != NOT_OURS:
                self.log.append(change)
            yield

    def commit(self, digest: bytes, *, is_durable: bool) -> None:
        """The store has told someone that it is committed."""
        with self.doing(Change("commit", 0, digest=digest, is_durable=is_durable)):
            pass

    def file(self, path: str) -> int:
        """The number of the file that bears the name; a new one where there was none."""
        with self._lock:
            name = Path(path).name
            if name not in self._files:
                if name.endswith(".db"):
                    self._files[name] = BEFORE
                else:
                    self._files[name] = len(self.log)
                    self.log.append(Change("create", len(self.log), name))
            return self._files[name]

    def xOpen(self, name: Any, flags: Any) -> apsw.VFSFile:  # noqa: N802
        file = RecordingFile(self, name, flags)
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        file.number = self.file(path) if path else NOT_OURS
        return file

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802, FBT001
        super().xDelete(filename, syncdir)
        with self._lock:
            name = Path(filename).name
            number = self._files.pop(name, None)
            if number is not None:
                self.log.append(Change("delete", number, name))


class RecordingFile(apsw.VFSFile):
    """An open file of a `RecordingVFS`."""

    number = NOT_OURS

    def __init__(self, vfs: RecordingVFS, name: Any, flags: Any) -> None:
        self._vfs = vfs
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        with self._vfs.doing(Change("write", self.number, offset=offset, data=bytes(data))):
            super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        with self._vfs.doing(Change("truncate", self.number, offset=newsize)):
            super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._vfs.syncs += 1
        is_failing = self._vfs.syncs == self._vfs.failing_sync
        with self._vfs.doing(Change("failed_sync" if is_failing else "sync", self.number)):
            if is_failing:
                error: Any = apsw.IOError("injected")  # its codes are no attributes to the type checker
                error.result, error.extendedresult = apsw.SQLITE_IOERR, apsw.SQLITE_IOERR_FSYNC
                raise error
            super().xSync(flags)


@contextlib.contextmanager
def recorded(name: str) -> Iterator[RecordingVFS]:
    """A registered `RecordingVFS`."""
    vfs = RecordingVFS(name)
    try:
        yield vfs
    finally:
        vfs.unregister()
