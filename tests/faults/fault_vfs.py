"""A disk that fails when it is told to: every call of SQLite to its files is counted, and the N-th raises.

The shared memory of the WAL index is not reachable from here; it is memory, and SQLite makes it anew from the log.
"""

import contextlib
import errno
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import apsw

Kind = Literal["io", "full", "quota", "too_large", "read_only"]

CODES: dict[Kind, int] = {
    "io": errno.EIO,
    "full": errno.ENOSPC,
    "quota": getattr(errno, "EDQUOT", errno.ENOSPC),
    "too_large": errno.EFBIG,
    "read_only": errno.EROFS,
}

EXTENDED = {
    "access": apsw.SQLITE_IOERR_ACCESS,
    "delete": apsw.SQLITE_IOERR_DELETE,
    "read": apsw.SQLITE_IOERR_READ,
    "write": apsw.SQLITE_IOERR_WRITE,
    "sync": apsw.SQLITE_IOERR_FSYNC,
    "truncate": apsw.SQLITE_IOERR_TRUNCATE,
    "size": apsw.SQLITE_IOERR_FSTAT,
    "lock": apsw.SQLITE_IOERR_LOCK,
}

CHANGES = {"delete", "write", "sync", "truncate"}
"""The operations that a full or a read-only disk refuses; only a broken one cannot read."""


def with_codes(error: Any, result: int, extended: int) -> apsw.Error:
    """Return the error with the codes that SQLite is to take it for."""
    error.result, error.extendedresult = result, extended
    return error


@dataclass
class Fault:
    """The N-th call fails, once or from then on."""

    at: int
    kind: Kind = "io"
    is_lasting: bool = False


class FaultVFS(apsw.VFS):
    """The system's own file system, with faults."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.calls = 0
        self.struck = 0
        self.operations: list[str] = []
        """The calls that failed, in order."""
        self._fault: Fault | None = None
        self._code = 0
        self._lock = threading.Lock()
        super().__init__(name, "")

    def arm(self, fault: Fault | None) -> None:
        """Count from now on."""
        with self._lock:
            self.calls, self.struck, self.operations, self._fault = 0, 0, [], fault

    def heal(self) -> None:
        with self._lock:
            self._fault = None

    def call(self, operation: str) -> None:
        """Count a call; raise where it is to fail."""
        with self._lock:
            if self._fault is not None and self._fault.kind != "io" and operation not in CHANGES:
                return
            self.calls += 1
            fault = self._fault
            if fault is None or (self.calls < fault.at if fault.is_lasting else self.calls != fault.at):
                return
            self.struck += 1
            self.operations.append(operation)
            self._code = CODES[fault.kind]
        raise self._error(operation, fault.kind)

    def _error(self, operation: str, kind: Kind) -> apsw.Error:
        if operation == "open":
            return with_codes(apsw.CantOpenError("injected"), apsw.SQLITE_CANTOPEN, apsw.SQLITE_CANTOPEN)
        if operation == "write" and kind == "full":  # the one that SQLite itself tells apart
            return with_codes(apsw.FullError("injected"), apsw.SQLITE_FULL, apsw.SQLITE_FULL)
        return with_codes(apsw.IOError("injected"), apsw.SQLITE_IOERR, EXTENDED[operation])

    def excepthook(self, *_: Any, **__: Any) -> bool:
        """Take an error that SQLite cannot report, so that it is not written to stderr either."""
        return True

    def xGetLastError(self) -> tuple[int, str]:  # noqa: N802
        return self._code, "injected"

    def xOpen(self, name: Any, flags: Any) -> apsw.VFSFile:  # noqa: N802
        self.call("open")
        return FaultFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802, FBT001
        self.call("delete")
        super().xDelete(filename, syncdir)

    def xAccess(self, pathname: str, flags: int) -> bool:  # noqa: N802
        self.call("access")
        return super().xAccess(pathname, flags)


class FaultFile(apsw.VFSFile):
    """An open file of a `FaultVFS`."""

    def __init__(self, vfs: FaultVFS, name: Any, flags: Any) -> None:
        self._vfs = vfs
        super().__init__("", name, flags)

    def excepthook(self, *_: Any, **__: Any) -> bool:
        """See `FaultVFS`."""
        return True

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self._vfs.call("read")
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._vfs.call("write")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._vfs.call("sync")
        super().xSync(flags)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._vfs.call("truncate")
        super().xTruncate(newsize)

    def xFileSize(self) -> int:  # noqa: N802
        self._vfs.call("size")
        return super().xFileSize()

    def xLock(self, level: int) -> None:  # noqa: N802
        self._vfs.call("lock")
        super().xLock(level)


@contextlib.contextmanager
def faulty(name: str) -> Iterator[FaultVFS]:
    """A registered `FaultVFS`, without faults at first."""
    vfs = FaultVFS(name)
    try:
        yield vfs
    finally:
        vfs.unregister()
