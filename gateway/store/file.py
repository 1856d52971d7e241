"""The database file that all connections share: its place, its log, and the trust in both.

Rule 1: the next process must find every committed write. A file that was moved, or a log that the disk did not take,
raises before a write is acknowledged.
"""

import contextlib
import threading
import time
from collections.abc import Callable
from pathlib import Path

import apsw

from gateway.store.sqlite import (
    CACHE_KIB,
    Handle,
    StoreFailed,
    Transaction,
    connect,
    connect_to_read,
    give_up,
    has_log,
    touch,
)
from protocol.errors import Unavailable

CHECKPOINT_SECONDS = 2.0  # a reader is done by then, and a writer waits no longer; else the receipt stays `pending`
TURN_SECONDS = 0.05  # how long one checkpoint waits before it lets another one try
ASK_SECONDS = 0.0005
"""The time between two requests of a checkpoint for a lock.

SQLite's own waiting sleeps up to 100 ms, and a writer that writes all the time lets go for less.
"""
CHECKPOINT_PAGES = 1000  # SQLite's own measure: about 4 MiB of log

UNREAD_LOG = (
    "The home cannot be written, and its last writes stand in a log that can be read only where it can. "
    "Open it once where it may be written."
)

_FSYNC_FAILURES = {apsw.SQLITE_IOERR_FSYNC, apsw.SQLITE_IOERR_DIR_FSYNC}


def ask_again(ends: float) -> bool:
    """Wait a moment for a lock that others hold; return whether there is time to ask for it again."""
    time.sleep(ASK_SECONDS)
    return time.monotonic() < ends


def patience(ends: float) -> Callable[[int], bool]:
    """Return a busy handler that asks again until the monotonic time `ends`."""

    def ask(_asked: int) -> bool:
        return ask_again(ends)

    return ask


class DatabaseFile:
    """One file and its log."""

    def __init__(self, path: Path, vfs: str | None) -> None:
        self.path = path
        self.wal = path.with_name(path.name + "-wal")
        self._vfs = vfs
        self.turnstile = threading.Lock()  # SQLite would make one of our two writers sleep; this wakes it at once
        self.is_doubtful = False
        self.let_go: Callable[[], None] = lambda: None
        """Closes every other connection; their threads open new ones."""
        self._identity: list[tuple[int, int]] | None = None
        self._anchor = self._hold()
        self._identity = self._look()

    def _hold(self) -> Handle:
        """Open the connection that lives as long as any other, so that the log stays the same file; return it."""
        connection = self.open("full")
        connection.execute("PRAGMA schema_version").fetchall()  # the log exists from the first read on
        return connection

    def open(self, synchronous: str) -> Handle:
        """Return a connection; a file that is gone is not made anew. Raises `StoreFailed` for a replaced file.

        SQLite takes another file for another database: a connection to it would cut the shared memory that those to the
        old one read, and the process would die of it.
        """
        self.require_same()
        return connect(self.path, synchronous=synchronous, vfs=self._vfs, creates=False)

    def stamp(self) -> object:
        """Return the state of the file that a connection relies on; a connection is opened anew when it changes."""
        return None

    def _look(self) -> list[tuple[int, int]] | None:
        try:
            return [(stat.st_dev, stat.st_ino) for stat in (self.path.stat(), self.wal.stat())]
        except OSError:
            return None

    def require_same(self) -> None:
        """Raise `StoreFailed` where the file or its log is not the one that was opened at first."""
        if self._identity is not None and self._look() != self._identity:
            raise StoreFailed("database_moved", "The database file was moved or deleted; restart the gateway.")

    def check(self) -> None:
        """Raise `Unavailable` unless a commit of now will be found later."""
        self.require_same()  # a write into a deleted or replaced file would be acknowledged and lost
        if self.is_doubtful:
            self._make_safe()

    def _make_safe(self) -> None:
        """Write every page of the log again.

        Checkpoints remember how far they came, also where the sync that was to make it certain failed. The first
        connection to a log begins at its beginning, and would also find the commit that was refused: another commit is
        put in its place.
        """
        touch(Transaction(self._anchor))
        self.let_go()
        self.release(self._anchor)
        self._anchor = self._hold()
        if not self.truncate():
            raise Unavailable("unavailable", "The log is being made safe.")
        self.is_doubtful = False

    def release(self, connection: Handle) -> None:
        """Close a connection.

        The last one moves the log into the file and removes it, unless the log is needed once more.
        """
        if self.is_doubtful:
            with contextlib.suppress(apsw.Error):
                connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        give_up(connection)

    def truncate(self) -> bool:
        """Move the log into the file and cut it to nothing; return False while a reader elsewhere holds it."""
        connection = self.open("full")
        ends = time.monotonic() + CHECKPOINT_SECONDS
        try:
            while True:
                # while it waits for writers it keeps other checkpoints out, and one of those may be what a writer waits
                # for
                turn_ends = min(ends, time.monotonic() + TURN_SECONDS)
                connection.set_busy_handler(patience(turn_ends))
                is_busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0][0]
                if not is_busy or not ask_again(ends):
                    return not is_busy
        except apsw.BusyError:
            return False
        except apsw.Error as failure:
            self.doubt(failure)
            raise
        finally:
            self.release(connection)

    def doubt(self, failure: Exception) -> None:
        """Note a failed fsync: the system may have dropped what it could not write, and the next one would succeed."""
        self.is_doubtful |= getattr(failure, "extendedresult", 0) in _FSYNC_FAILURES

    def checkpoint_at_times(self, connection: Handle) -> None:
        """Do on this connection what SQLite does by itself after commits, except to hide a failed fsync of the log."""

        def after_commit(_connection: Handle, name: str, pages: int) -> int:
            try:
                if pages >= CHECKPOINT_PAGES:
                    connection.wal_checkpoint(name, apsw.SQLITE_CHECKPOINT_PASSIVE)
            except apsw.Error as failure:  # the commit stands, and the next checkpoint does more
                self.doubt(failure)
            return apsw.SQLITE_OK

        connection.set_wal_hook(after_commit)

    def close(self) -> None:
        """Close the anchor: the last connection to close moves the log into the file."""
        self.release(self._anchor)


class ReadOnlyFile(DatabaseFile):
    """A file that may only be read: SQLite refuses every write, and nothing is made beside it.

    A log without its shared memory cannot be read there. What is read without a log is taken to stay as it is; a
    process that may write changes its time of change, or makes a log.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, None)

    def open(self, synchronous: str) -> Handle:  # noqa: ARG002  # nothing is written
        """Return a connection that cannot write. Raises `StoreFailed` for a log that cannot be read."""
        has_memory = self.path.with_name(f"{self.path.name}-shm").exists()
        if has_log(self.path) and not has_memory:
            raise StoreFailed("storage_read_only", UNREAD_LOG)
        connection = connect_to_read(self.path, leaves_no_trace=True)
        for pragma in ("temp_store = memory", f"cache_size = -{CACHE_KIB}"):
            connection.execute(f"PRAGMA {pragma}").fetchall()
        return connection

    def stamp(self) -> object:
        """Return size and time of the file where it is read without a log."""
        if has_log(self.path):
            return None
        found = self.path.stat()
        return found.st_ino, found.st_size, found.st_mtime_ns

    def truncate(self) -> bool:
        """Return False: nothing is moved."""
        return False
