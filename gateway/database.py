"""SQLite by apsw: connections in threads of their own, grouped durable commits, snapshots with a deadline.

Rule 1: apsw is used only here. Everyone else gets a `Tx` inside a plain function.
Rule 2: an acknowledged write is committed at synchronous=FULL; bookkeeping goes through a connection at NORMAL.
Rule 3: an error of a commit means "unknown": the connection is opened anew, and callers that retry carry an idempotency key.
"""

import asyncio
import contextlib
import contextvars
import errno
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import apsw

from gateway.logs import Log
from protocol.errors import Defect, GatewayError, Unavailable
from protocol.ports import Bindings, Row, Tx

T = TypeVar("T")

log = Log("database")

Handle: TypeAlias = Any
"""An apsw.Connection; its stubs leave `execute` partially unknown, so the type ends here and `Row` begins."""

Outcome: TypeAlias = tuple[Any, BaseException | None, list[Callable[[], None]]]

MIN_SQLITE = (3, 51, 3)  # older ones can lose a commit when a checkpoint races with a writer (the WAL-reset bug)
BUSY_MS = 30_000  # how long another process may hold the write lock; only a stuck one holds it longer than milliseconds
GROUP_LIMIT = 128  # writes that share one fsync; more would only make the first of them wait
READ_SECONDS = 2.0  # a longer snapshot would hold back checkpoints, and with them erasing
READERS = 2  # as many as cores of the smallest machine that we plan for
PROGRESS_STEPS = 2000  # virtual-machine steps between looks at the deadline: about 50 µs
CHECKPOINT_MS = 500  # our own readers are done by then; a foreign one makes the receipt `pending`
JOURNAL_LIMIT = 64 * 1024 * 1024  # the WAL is cut back to this after a checkpoint

_FULL_CODES = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}


class ReadTooLong(Unavailable):
    """The read did not end within its deadline."""


def sqlite_version() -> tuple[int, ...]:
    """The version of apsw's own SQLite."""
    return tuple(int(part) for part in apsw.sqlite_lib_version().split("."))


def unavailable(error: Exception) -> GatewayError:
    """The one translation of a database error into the contract's words. Never its text."""
    if isinstance(error, GatewayError):
        return error
    if isinstance(error, apsw.FullError):
        return Unavailable("storage_full")
    if isinstance(error, OSError) and error.errno in _FULL_CODES:
        return Unavailable("storage_full")
    if isinstance(error, apsw.ReadOnlyError):
        return Unavailable("storage_read_only")
    if isinstance(error, apsw.InterruptError):
        return ReadTooLong()
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return Unavailable("overloaded")
    if isinstance(error, apsw.Error):
        return Unavailable("unavailable", f"The store failed ({type(error).__name__}).")
    return Defect()


class Transaction:
    """A `Tx` on an apsw connection."""

    def __init__(self, connection: Handle) -> None:
        self._connection = connection
        self.after: list[Callable[[], None]] = []

    def run(self, statement: str, bindings: Bindings = ()) -> int:
        """Execute to the end; return the number of rows changed."""
        before = self._connection.total_changes()
        for _ in self._connection.execute(statement, bindings):
            pass
        # `changes` alone leaves out what cascades and triggers did, but keeps its value when nothing changed
        return self._connection.changes() if self._connection.total_changes() != before else 0

    def insert(self, statement: str, bindings: Bindings = ()) -> int:
        """Execute an INSERT to the end; return the rowid of the new row."""
        for _ in self._connection.execute(statement, bindings):
            pass
        return self._connection.last_insert_rowid()

    def one(self, statement: str, bindings: Bindings = ()) -> Row | None:
        """The first row, or None."""
        return next(iter(self._connection.execute(statement, bindings).fetchall()), None)

    def all(self, statement: str, bindings: Bindings = ()) -> list[Row]:
        """Every row."""
        return self._connection.execute(statement, bindings).fetchall()

    def each(self, statement: str, bindings: Bindings = ()) -> Iterator[Row]:
        """Rows one by one."""
        return iter(self._connection.execute(statement, bindings))

    def after_commit(self, call: Callable[[], None]) -> None:
        """Call it on the event loop once this transaction is committed."""
        self.after.append(call)


def connect(path: Path | str, *, synchronous: str) -> Handle:
    """A connection with every setting that the promises need. Each PRAGMA runs to its end (apsw executes lazily)."""
    connection: Handle = apsw.Connection(str(path))
    connection.set_busy_timeout(BUSY_MS)
    for option, value in (
        (apsw.SQLITE_DBCONFIG_DQS_DML, 0),
        (apsw.SQLITE_DBCONFIG_DQS_DDL, 0),
        (apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
        (apsw.SQLITE_DBCONFIG_DEFENSIVE, 1),
    ):
        connection.config(option, value)
    for pragma in (
        "journal_mode = wal",
        f"synchronous = {synchronous}",
        "foreign_keys = on",
        "secure_delete = on",
        "temp_store = memory",
        f"journal_size_limit = {JOURNAL_LIMIT}",
        *(("fullfsync = on", "checkpoint_fullfsync = on") if sys.platform == "darwin" else ()),
    ):
        connection.execute(f"PRAGMA {pragma}").fetchall()
    return connection


class _Request:
    """Work handed to a thread, and the future that waits for it."""

    __slots__ = ("context", "deadline", "future", "loop", "work")

    def __init__(self, work: Callable[[Tx], Any], deadline: float | None = None) -> None:
        self.work = work
        self.deadline = deadline
        self.loop = asyncio.get_running_loop()
        self.context = contextvars.copy_context()  # what a commit tells is told as the caller would tell it
        self.future: asyncio.Future[Any] = self.loop.create_future()

    def answer(self, result: Any, error: BaseException | None, after: list[Callable[[], None]]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self.loop.call_soon_threadsafe(self._settle, result, error, after)

    def _settle(self, result: Any, error: BaseException | None, after: list[Callable[[], None]]) -> None:
        for call in after:
            try:
                self.context.run(call)
            except Exception as failure:  # noqa: BLE001  # the work is committed: its caller and the others must hear that
                log.incident(failure)
        if self.future.cancelled():
            return
        if error is None:
            self.future.set_result(result)
        else:
            self.future.set_exception(error)


class _Worker:
    """A thread with a connection and a queue."""

    def __init__(self, name: str, open_: Callable[[], Handle]) -> None:
        self._open = open_
        self.connection: Handle = open_()
        self.queue: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._loop, name=name, daemon=True)
        self._thread.start()

    def _loop(self) -> None:
        while (request := self.queue.get()) is not None:
            self.serve(request)
        self.connection.close()

    def serve(self, request: _Request) -> None:
        raise NotImplementedError  # pragma: no cover  # the two kinds below

    def reopen(self) -> None:
        """A connection anew; where that fails, the next request finds the old one closed, says so and tries again."""
        with contextlib.suppress(apsw.Error):
            self.connection.close()
            self.connection = self._open()

    def close(self, seconds: float) -> None:
        self.queue.put(None)
        self._thread.join(seconds)


class _Reader(_Worker):
    """Snapshots, each with a deadline that also stops a statement in its middle."""

    def serve(self, request: _Request) -> None:
        if request.future.cancelled():
            return
        ends = time.monotonic() + (READ_SECONDS if request.deadline is None else request.deadline)
        result, error = None, None
        try:
            self.connection.set_progress_handler(lambda: time.monotonic() > ends, PROGRESS_STEPS)
            self.connection.execute("BEGIN").fetchall()
            try:
                result = request.work(Transaction(self.connection))
            finally:
                self.connection.set_progress_handler(None)
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK").fetchall()
        except apsw.Error as failure:
            error = unavailable(failure)
            if isinstance(failure, (apsw.IOError, apsw.CantOpenError, apsw.ConnectionClosedError)):
                self.reopen()
        except Exception as failure:  # noqa: BLE001  # the caller's own error travels to the caller
            error = failure
        request.answer(result, error, [])


class _Writer(_Worker):
    """One transaction at a time; what waits meanwhile shares the next one, each in a savepoint of its own."""

    def __init__(
        self, name: str, open_: Callable[[], Handle], turnstile: threading.Lock, guard: Callable[[], None]
    ) -> None:
        self._turnstile = turnstile
        self._guard = guard
        self.commits = 0
        super().__init__(name, open_)

    def serve(self, request: _Request) -> None:
        group = [request]
        with contextlib.suppress(queue.Empty):
            while len(group) < GROUP_LIMIT:
                waiting = self.queue.get_nowait()
                if waiting is None:
                    self.queue.put(None)
                    break
                group.append(waiting)
        with self._turnstile:
            for member, (result, error, after) in zip(group, self._commit(group), strict=True):
                member.answer(result, error, after)

    def _commit(self, group: list[_Request]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        try:
            self._guard()
            self.connection.execute("BEGIN IMMEDIATE").fetchall()
            for member in group:
                outcomes.append(self._one(member))
                if not self.connection.in_transaction:  # the error took the whole transaction with it
                    raise outcomes[-1][1] or Unavailable()  # noqa: TRY301  # the one place below undoes and tells
            self.connection.execute("COMMIT").fetchall()
            self.commits += 1
        except Exception as failure:  # noqa: BLE001  # told to every member of the group; the connection starts afresh
            told = self._told(failure)
            if not isinstance(failure, (apsw.BusyError, GatewayError)):
                self.reopen()
            elif self.connection.in_transaction:
                self.connection.execute("ROLLBACK").fetchall()
            errors = [error or told for _, error, _ in outcomes]
            errors += [told] * (len(group) - len(outcomes))
            return [(None, error, []) for error in errors]
        return outcomes

    def _told(self, failure: Exception) -> GatewayError:
        """SQLite itself calls only ENOSPC full; a quota and a file's largest size are no different to the caller."""
        if isinstance(failure, apsw.IOError) and self.connection.system_errno in _FULL_CODES:
            return Unavailable("storage_full")
        return unavailable(failure)

    def _one(self, member: _Request) -> Outcome:
        if member.future.cancelled():
            return None, None, []
        transaction = Transaction(self.connection)
        self.connection.execute("SAVEPOINT one").fetchall()
        try:
            result = member.work(transaction)
        except Exception as failure:  # noqa: BLE001  # rolls back this work alone and travels to its caller
            is_ours = isinstance(failure, apsw.Error) and not isinstance(failure, apsw.ConstraintError)
            error = self._told(failure) if is_ours else failure
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK TO one").fetchall()
                self.connection.execute("RELEASE one").fetchall()
            return None, error, []
        self.connection.execute("RELEASE one").fetchall()
        return result, None, transaction.after


class Database:
    """The home's one file. Satisfies `Transact`; every member function is called on the event loop."""

    def __init__(self, path: Path) -> None:
        if sqlite_version() < MIN_SQLITE:
            raise Unavailable(message="SQLite is older than 3.51.3, which can lose commits.")
        self.path = path
        turnstile = threading.Lock()  # SQLite would make one of our two writers sleep; this wakes it at once
        self._writer = _Writer("db-write", lambda: connect(path, synchronous="full"), turnstile, self._still_there)
        self._notes = _Writer("db-note", lambda: connect(path, synchronous="normal"), turnstile, self._still_there)
        self._readers = [_Reader(f"db-read-{n}", lambda: connect(path, synchronous="normal")) for n in range(READERS)]
        self._next_reader = 0
        self._is_closed = False
        self._identity = self._file_identity()

    def _file_identity(self) -> tuple[int, int] | None:
        try:
            stat = self.path.stat()
        except OSError:
            return None
        return (stat.st_dev, stat.st_ino)

    def _still_there(self) -> None:
        """A write into a deleted or replaced file would be acknowledged and lost."""
        if self._file_identity() != self._identity:
            raise Unavailable("unavailable", "The database file was moved or deleted; restart the gateway.")

    @property
    def durable_commits(self) -> int:
        """Commits at synchronous=FULL since the start."""
        return self._writer.commits

    async def write(self, work: Callable[[Tx], T]) -> T:
        """Run `work` in a transaction that is durable when this returns."""
        return await self._submit(self._writer, _Request(work))

    async def note(self, work: Callable[[Tx], T]) -> T:
        """Run bookkeeping in a transaction that a power cut may lose."""
        return await self._submit(self._notes, _Request(work))

    async def read(self, work: Callable[[Tx], T], deadline: float | None = None) -> T:
        """Run `work` on a snapshot that sees every write acknowledged before the call."""
        self._next_reader = (self._next_reader + 1) % len(self._readers)
        return await self._submit(self._readers[self._next_reader], _Request(work, deadline))

    async def _submit(self, worker: _Worker, request: _Request) -> Any:
        if self._is_closed:
            raise Unavailable("unavailable", "The store is closed.")
        worker.queue.put(request)
        return await request.future

    async def data_version(self) -> int:
        """A number that changes when any other connection committed."""

        def read(tx: Tx) -> int:
            row = tx.one("PRAGMA data_version")
            return int(row[0]) if row else 0

        return await self._submit(self._readers[0], _Request(read))

    async def truncate_wal(self) -> bool:
        """Move the WAL into the file and cut it to nothing; False while a reader elsewhere holds it."""
        return await asyncio.get_running_loop().run_in_executor(None, self._truncate)

    def _truncate(self) -> bool:
        connection = connect(self.path, synchronous="full")
        try:
            connection.set_busy_timeout(CHECKPOINT_MS)
            rows = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            return bool(rows) and rows[0][0] == 0
        except apsw.BusyError:
            return False
        finally:
            connection.close()

    def sizes(self) -> tuple[int, int]:
        """Bytes of the database and of its WAL."""
        wal = self.path.with_name(self.path.name + "-wal")
        return self.path.stat().st_size, wal.stat().st_size if wal.exists() else 0

    def close(self, seconds: float = 2.0) -> None:
        """Let the threads end what they do and close their connections."""
        self._is_closed = True
        for worker in (self._writer, self._notes, *self._readers):
            worker.close(seconds)
