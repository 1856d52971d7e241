"""SQLite's own language: how a connection is opened, what a transaction offers, what an error means to a caller.

Rule 1: apsw is used in this room alone. Every other module gets a `Tx` inside a plain function.
Rule 2: an error is known by its kind, never by its text.
"""

import contextlib
import errno
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import apsw

from protocol.errors import Defect, ErrorReason, GatewayError, IndexDamaged, PagesDamaged, TextsGarbled, Unavailable
from protocol.seams.checks import VOUCH, digest_of
from protocol.seams.ports import Bindings, Row, Tx

Handle: TypeAlias = Any
"""An apsw.Connection; its stubs leave `execute` partially unknown, so the type ends here and `Row` begins."""

Trouble: TypeAlias = Literal["storage_full", "storage_read_only", "io_error", "database_moved"]
"""The reason for which the store as a whole does not work, as `gateway/degraded` reports it."""

BUSY_MS = 30_000  # how long another process may hold the write lock; only a stuck one holds it longer than milliseconds
JOURNAL_LIMIT = 64 * 1024 * 1024  # the WAL is cut back to this after a checkpoint
CACHE_KIB = 8_000
"""Pages that a connection keeps, as far as it met them.

SQLite's own 2,000 are less than what a search of 10,000 records reads: with them 160 vectors take half as long again.
Twice as many save another tenth of that, and are twice the memory of each process."""

STATEMENTS = 400
"""Prepared statements that a connection keeps: more than a reader ever runs.

With apsw's own 100 a reader prepared 13 anew for each turn (`apsw.Connection.cache_stats`), a twentieth of its time."""

_FULL_CODES = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
_READ_ONLY_CODES = {errno.EROFS, errno.EACCES, errno.EPERM}
_BROKEN = (
    apsw.IOError,
    apsw.CantOpenError,
    apsw.FullError,
    apsw.ReadOnlyError,
    apsw.NotADBError,
    apsw.ConnectionClosedError,
)
"""Errors of the file or the disk, and not of the statement."""

_CONFIGURATION = {
    apsw.SQLITE_DBCONFIG_DQS_DML: 0,
    apsw.SQLITE_DBCONFIG_DQS_DDL: 0,
    apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA: 0,
    apsw.SQLITE_DBCONFIG_DEFENSIVE: 1,
    apsw.SQLITE_DBCONFIG_ENABLE_QPSG: 1,  # else many a statement is planned anew for every value that is bound to it
}


_REASONS: dict[Trouble, ErrorReason] = {
    "storage_full": "storage_full",
    "storage_read_only": "storage_read_only",
    "io_error": "unavailable",
    "database_moved": "unavailable",
}


@contextlib.contextmanager
def changing(connection: Handle) -> Generator[None]:
    """Change the database in one transaction: all of it is committed, or nothing. Raises what apsw raises."""
    connection.execute("BEGIN IMMEDIATE").fetchall()
    try:
        yield
        connection.execute("COMMIT").fetchall()
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK").fetchall()
        raise


class StoreFailed(Unavailable):
    """The store itself failed, and not what it was asked for."""

    def __init__(self, trouble: Trouble, message: str | None = None) -> None:
        self.trouble: Trouble = trouble
        super().__init__(_REASONS[trouble], message)


class ReadTooLong(Unavailable):
    """The read did not end within its deadline."""


def sqlite_version() -> tuple[int, ...]:
    """Return the version of apsw's own SQLite."""
    return tuple(int(part) for part in apsw.sqlite_lib_version().split("."))


def _trouble(error: Exception, code: int) -> Trouble:
    """Return the trouble of the store that an error, with the system's code for it, stands for.

    SQLite itself calls only ENOSPC full; a quota and a file's largest size are no different to the caller.
    """
    is_out_of_room = getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE
    if isinstance(error, apsw.FullError) or is_out_of_room or code in _FULL_CODES:
        return "storage_full"
    if isinstance(error, apsw.ReadOnlyError) or code in _READ_ONLY_CODES:
        return "storage_read_only"
    return "io_error"


def unavailable(error: Exception, code: int = 0) -> GatewayError:
    """Return a database error, with the system's code for it, as an error of the contract.

    Database errors are translated here and nowhere else.
    """
    if isinstance(error, GatewayError):
        return error
    if isinstance(error, apsw.InterruptError):
        return ReadTooLong()
    if (damage := _damage_of(error)) is not None:
        return damage
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return Unavailable("overloaded")
    if isinstance(error, _BROKEN):
        trouble = _trouble(error, code)
        return StoreFailed(trouble, _name_failure(error) if trouble == "io_error" else None)
    if isinstance(error, apsw.Error):
        return Unavailable("unavailable", _name_failure(error))
    if isinstance(error, OSError) and _trouble(error, error.errno or 0) != "io_error":
        return StoreFailed(_trouble(error, error.errno or 0))
    return Defect()


def _damage_of(error: Exception) -> IndexDamaged | None:
    """Return the error of a damaged index, or of a damaged page or table; None for an error of another kind."""
    if _is_of_an_index(error):
        return IndexDamaged()
    if isinstance(error, UnicodeDecodeError):
        return TextsGarbled("unavailable", _name_failure(error))
    if isinstance(error, apsw.CorruptError) or _is_of_a_lost_table(error):
        return PagesDamaged("unavailable", _name_failure(error))
    return None


def _is_of_an_index(error: Exception) -> bool:
    """Return whether a full-text index is to blame. One whose format cannot be read has no code of its own for that."""
    is_corrupt = isinstance(error, apsw.CorruptError)
    return (is_corrupt and getattr(error, "extendedresult", 0) == apsw.SQLITE_CORRUPT_VTAB) or (
        isinstance(error, apsw.SQLError) and "fts5" in str(error)
    )


def _is_of_a_lost_table(error: Exception) -> bool:
    """Return whether a table is gone that the schema has: every statement of ours names such tables alone."""
    return isinstance(error, apsw.SQLError) and "no such table" in str(error)


def _name_failure(error: Exception) -> str:
    return f"The store failed ({type(error).__name__})."


def _no_pause() -> None:
    """Do nothing: there is nothing to wait for between two statements."""


class Transaction:
    """A `Tx` on an apsw connection; `pause` is called before each statement."""

    def __init__(self, connection: Handle, pause: Callable[[], None] = _no_pause) -> None:
        self._connection = connection
        self._pause = pause
        self.after: list[Callable[[], None]] = []

    def run(self, statement: str, bindings: Bindings = ()) -> int:
        """Execute to the end; return the number of rows changed."""
        self._pause()
        before = self._connection.total_changes()
        for _ in self._connection.execute(statement, bindings):
            pass
        # `changes` alone leaves out what cascades and triggers did, but keeps its value when nothing changed
        return self._connection.changes() if self._connection.total_changes() != before else 0

    def run_many(self, statement: str, bindings: Sequence[Bindings]) -> None:
        """Execute once for each of the bindings."""
        self._pause()
        for _ in self._connection.executemany(statement, bindings):
            pass

    def insert(self, statement: str, bindings: Bindings = ()) -> int:
        """Execute an INSERT to the end; return the rowid of the new row."""
        self._pause()
        for _ in self._connection.execute(statement, bindings):
            pass
        return self._connection.last_insert_rowid()

    def one(self, statement: str, bindings: Bindings = ()) -> Row | None:
        """Return the first row, or None."""
        return next(iter(self.all(statement, bindings)), None)

    def all(self, statement: str, bindings: Bindings = ()) -> list[Row]:
        """Return every row."""
        self._pause()
        return self._connection.execute(statement, bindings).fetchall()

    def each(self, statement: str, bindings: Bindings = ()) -> Iterator[Row]:
        """Return rows one by one."""
        self._pause()
        return iter(self._connection.execute(statement, bindings))

    def after_commit(self, call: Callable[[], None]) -> None:
        """Register a function to be called on the event loop once this transaction is committed."""
        self.after.append(call)


class SnapshotTransaction(Transaction):
    """A `Tx` that only reads: of a text that is no UTF-8 it returns what can be read, and notes the damage."""

    damage: IndexDamaged | None = None

    def all(self, statement: str, bindings: Bindings = ()) -> list[Row]:
        """Return every row."""
        try:
            return super().all(statement, bindings)
        except UnicodeDecodeError as failure:
            self.damage = TextsGarbled("unavailable", _name_failure(failure))
            return self._read_bytes(statement, bindings)

    def each(self, statement: str, bindings: Bindings = ()) -> Iterator[Row]:
        """Return rows one by one."""
        cursor = self._connection.execute(statement, bindings)
        while True:
            try:
                yield next(cursor)
            except StopIteration:
                return
            except UnicodeDecodeError as failure:
                self.damage = TextsGarbled("unavailable", _name_failure(failure))

    def _read_bytes(self, statement: str, bindings: Bindings) -> list[Row]:
        """Return the rows of a query, each text decoded with marks in the place of what is no UTF-8."""
        cursor = self._connection.execute(statement, bindings)
        names = [f"c{place}" for place in range(len(cursor.get_description()))]
        cursor.close(force=True)
        bare = ", ".join(f"iif(typeof({name}) = 'text', CAST({name} AS BLOB), {name})" for name in names)
        kinds = ", ".join(f"typeof({name}) = 'text'" for name in names)
        # a statement of ours, and numbered names
        reading = f"WITH told({', '.join(names)}) AS MATERIALIZED ({statement}) SELECT {bare}, {kinds} FROM told"  # noqa: S608
        rows = self._connection.execute(reading, bindings).fetchall()
        return [
            tuple(
                value.decode("utf-8", "replace") if is_text else value
                for value, is_text in zip(row, row[len(names) :], strict=False)
            )
            for row in rows
        ]


def is_utf8(*texts: bytes | None) -> bool:
    """Return whether each of some texts, as bytes, can be decoded."""
    try:
        for text in texts:
            if text is not None:
                text.decode()
    except UnicodeDecodeError:
        return False
    return True


def add_functions(connection: Handle) -> None:
    """Let a connection's statements call the digest by which rows are vouched for, and ask whether texts are any."""
    connection.create_scalar_function(VOUCH, digest_of, deterministic=True)
    connection.create_scalar_function("is_utf8", is_utf8, deterministic=True)


def connect(path: Path | str, *, synchronous: str, vfs: str | None = None, creates: bool = True) -> Handle:
    """Return a connection with every setting that the promises need.

    Each PRAGMA runs to its end (apsw executes lazily).
    """
    flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if creates else 0)
    connection: Handle = apsw.Connection(str(path), flags=flags, vfs=vfs, statementcachesize=STATEMENTS)
    try:
        connection.set_busy_timeout(BUSY_MS)
        add_functions(connection)
        for option, value in _CONFIGURATION.items():
            connection.config(option, value)
        for pragma in (
            "journal_mode = wal",
            f"synchronous = {synchronous}",
            "foreign_keys = on",
            "secure_delete = on",
            "temp_store = memory",
            f"cache_size = -{CACHE_KIB}",
            f"journal_size_limit = {JOURNAL_LIMIT}",
            *(("fullfsync = on", "checkpoint_fullfsync = on") if sys.platform == "darwin" else ()),
        ):
            connection.execute(f"PRAGMA {pragma}").fetchall()
    except BaseException:
        give_up(connection)
        raise
    return connection


def connect_to_read(path: Path, *, leaves_no_trace: bool) -> Handle:
    """Return a connection that cannot write.

    A reader of a file that no process has open would leave an empty log beside it. Where there is no log no process
    writes, so that with `leaves_no_trace` the file is read as immutable. A copy, which takes long, does not rely on it.
    """
    is_quiet = leaves_no_trace and not has_log(path)
    name = f"{path.absolute().as_uri()}?immutable=1" if is_quiet else str(path)
    connection: Handle = apsw.Connection(
        name, flags=apsw.SQLITE_OPEN_READONLY | (apsw.SQLITE_OPEN_URI if is_quiet else 0)
    )
    try:
        connection.set_busy_timeout(BUSY_MS)
        add_functions(connection)
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    except BaseException:
        give_up(connection)
        raise
    return connection


def has_log(path: Path) -> bool:
    """Return whether a write-ahead log stands beside a database; an empty one that no process has open is none."""
    log = path.with_name(f"{path.name}-wal")
    return log.exists() and (log.stat().st_size > 0 or path.with_name(f"{path.name}-shm").exists())


def touch(tx: Tx) -> None:
    """Write something that changes nothing and yet must reach the disk."""
    version = tx.one("PRAGMA user_version")
    tx.run(f"PRAGMA user_version = {int(version[0]) if version else 0}")


def give_up(connection: Handle) -> None:
    """Close a connection; a failure while it closes must not hide an earlier one."""
    with contextlib.suppress(apsw.Error):
        connection.close(True)
