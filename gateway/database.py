"""The home's one file: connections in threads of their own, grouped durable commits, snapshots with a deadline.

Rule 1: an acknowledged write is committed at synchronous=FULL; bookkeeping goes through a connection at NORMAL.
Rule 2: an error of a commit means "unknown": the connection is opened anew, and callers that retry carry an idempotency key.
Rule 3: after a failed fsync nothing is acknowledged until what the log holds was moved into the file: the system may have
dropped what it could not write, and would say nothing the next time.
"""

import asyncio
import contextlib
import contextvars
import queue
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import apsw

from gateway.ballast import Ballast
from gateway.database_file import DatabaseFile
from gateway.logs import Log
from gateway.sqlite import (
    Handle,
    StoreFailed,
    Transaction,
    Trouble,
    sqlite_version,
    unavailable,
)
from protocol.errors import Defect, GatewayError, Unavailable
from protocol.ports import Tx

T = TypeVar("T")

log = Log("database")

Outcome: TypeAlias = tuple[Any, BaseException | None, list[Callable[[], None]]]

MIN_SQLITE = (3, 51, 3)  # older ones can lose a commit when a checkpoint races with a writer (the WAL-reset bug)
GROUP_LIMIT = 128  # writes that share one fsync; more would only make the first of them wait
READ_SECONDS = 2.0  # a longer snapshot would hold back checkpoints, and with them erasing
READERS = 2  # as many as cores of the smallest machine that we plan for
PROGRESS_STEPS = 2000  # virtual-machine steps between looks at the deadline: about 50 µs
PROBE_SECONDS = 1.0  # how often a store in trouble is tried


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

    def __init__(self, name: str, file: DatabaseFile, synchronous: str) -> None:
        self._file = file
        self._synchronous = synchronous
        self._connection: Handle | None = None
        self.connection()
        self.in_use = threading.Lock()  # held by a reader while it reads; a writer has the turnstile
        self.queue: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._loop, name=name, daemon=True)
        self._thread.start()

    def _loop(self) -> None:
        while (request := self.queue.get()) is not None:
            self.serve(request)
        self.drop()

    def serve(self, request: _Request) -> None:
        raise NotImplementedError  # pragma: no cover  # the two kinds below

    def connection(self) -> Handle:
        """The worker's connection, opened anew after a failure."""
        if self._connection is None:
            self._connection = self._file.open(self._synchronous)
        return self._connection

    def drop(self) -> None:
        """Have the next request open a connection of its own."""
        if self._connection is not None:
            self._file.release(self._connection)
            self._connection = None

    def told(self, failure: Exception) -> GatewayError:
        """The failure in the contract's words."""
        code = 0
        if self._connection is not None and isinstance(failure, (apsw.IOError, apsw.CantOpenError)):
            code = self._connection.system_errno
        return unavailable(failure, code)

    def end_transaction(self) -> None:
        """Undo what is open; a connection that cannot is given up."""
        try:
            if self._connection is not None and self._connection.in_transaction:
                self._connection.execute("ROLLBACK").fetchall()
        except apsw.Error:
            self.drop()

    def close(self, seconds: float) -> None:
        self.queue.put(None)
        self._thread.join(seconds)


class _Reader(_Worker):
    """Snapshots, each with a deadline that also stops a statement in its middle."""

    def serve(self, request: _Request) -> None:
        if not request.future.cancelled():
            with self.in_use:
                outcome = self._run(request)
            request.answer(*outcome)

    def _run(self, request: _Request) -> Outcome:
        ends = time.monotonic() + READ_SECONDS
        spent = time.thread_time() + (READ_SECONDS if request.deadline is None else request.deadline)
        result, error = None, None
        try:
            connection = self.connection()
            connection.set_progress_handler(
                lambda: time.thread_time() > spent or time.monotonic() > ends, PROGRESS_STEPS
            )
            connection.execute("BEGIN").fetchall()
            result = request.work(Transaction(connection))
        except apsw.Error as failure:
            error = self.told(failure)
            if isinstance(error, StoreFailed):
                self.drop()
        except Exception as failure:  # noqa: BLE001  # the caller's own error travels to the caller
            error = failure
        if self._connection is not None:
            self._connection.set_progress_handler(None)
            self.end_transaction()
        return result, error, []


class _Writer(_Worker):
    """One transaction at a time; what waits meanwhile shares the next one, each in a savepoint of its own."""

    commits = 0

    def connection(self) -> Handle:
        """The writer's connection, opened anew after a failure."""
        is_new = self._connection is None
        connection = super().connection()
        if is_new:
            self._file.checkpoint_at_times(connection)
        return connection

    def serve(self, request: _Request) -> None:
        group = [request]
        with contextlib.suppress(queue.Empty):
            while len(group) < GROUP_LIMIT:
                waiting = self.queue.get_nowait()
                if waiting is None:
                    self.queue.put(None)
                    break
                group.append(waiting)
        outcomes: list[Outcome]
        with self._file.turnstile:
            try:
                outcomes = self._commit(group)
            except Exception as failure:  # noqa: BLE001  # without its thread every later write would wait for ever
                log.incident(failure)
                self.drop()
                outcomes = [(None, Defect(), []) for _ in group]
        for member, (result, error, after) in zip(group, outcomes, strict=True):
            member.answer(result, error, after)

    def _commit(self, group: list[_Request]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        try:
            self._file.check()
            connection = self.connection()
            connection.execute("BEGIN IMMEDIATE").fetchall()
            for member in group:
                outcomes.append(self._one(connection, member))
                if not connection.in_transaction:  # the error took the whole transaction with it
                    raise outcomes[-1][1] or Unavailable()  # noqa: TRY301  # the one place below undoes and tells
            connection.execute("COMMIT").fetchall()
            self.commits += 1
        except Exception as failure:  # noqa: BLE001  # told to every member of the group; the connection starts afresh
            told = self.told(failure)
            self._file.doubt(failure)
            if isinstance(failure, (apsw.BusyError, GatewayError)):
                self.end_transaction()
            else:
                self.drop()
            errors = [error or told for _, error, _ in outcomes]
            errors += [told] * (len(group) - len(outcomes))
            return [(None, error, []) for error in errors]
        return outcomes

    def _one(self, connection: Handle, member: _Request) -> Outcome:
        if member.future.cancelled():
            return None, None, []
        transaction = Transaction(connection)
        connection.execute("SAVEPOINT one").fetchall()
        try:
            result = member.work(transaction)
        except Exception as failure:  # noqa: BLE001  # rolls back this work alone and travels to its caller
            is_ours = isinstance(failure, apsw.Error) and not isinstance(failure, apsw.ConstraintError)
            error = self.told(failure) if is_ours else failure
            if connection.in_transaction:
                connection.execute("ROLLBACK TO one").fetchall()
                connection.execute("RELEASE one").fetchall()
            return None, error, []
        connection.execute("RELEASE one").fetchall()
        return result, None, transaction.after


class Database:
    """The home's one file. Satisfies `Transact`; every member function is called on the event loop."""

    def __init__(self, path: Path, *, vfs: str | None = None, ballast: Ballast | None = None) -> None:
        if sqlite_version() < MIN_SQLITE:
            raise Unavailable(message="SQLite is older than 3.51.3, which can lose commits.")
        self.path = path
        self.vfs = vfs
        self._ballast = ballast
        self._is_drained = False
        self._trouble: Trouble | None = None
        self._probe_at = 0.0
        self.tell: Callable[[Trouble | None], None] = lambda _trouble: None
        self._next_reader = 0
        self._is_closed = False
        with contextlib.ExitStack() as opened:
            try:
                self._file = DatabaseFile(path, vfs)
                opened.callback(self._file.close)
                self._writer = _Writer("db-write", self._file, "full")
                opened.callback(self._writer.close, 1)
                self._notes = _Writer("db-note", self._file, "normal")
                opened.callback(self._notes.close, 1)
                self._readers: list[_Reader] = []
                for n in range(READERS + 1):  # the last one is for glances
                    self._readers.append(_Reader(f"db-read-{n}", self._file, "normal"))
                    opened.callback(self._readers[-1].close, 1)
            except apsw.Error as failure:
                raise unavailable(failure) from failure
            opened.pop_all()  # from here on `close` sees to it
        self._file.let_go = self._let_go

    def _let_go(self) -> None:
        for worker in (self._writer, self._notes, *self._readers):
            with worker.in_use:
                worker.drop()

    @property
    def durable_commits(self) -> int:
        """Commits at synchronous=FULL since the start."""
        return self._writer.commits

    @property
    def commits(self) -> int:
        """Commits of this process since the start, durable or not."""
        return self._writer.commits + self._notes.commits

    async def write(self, work: Callable[[Tx], T], *, is_vital: bool = False) -> T:
        """Run `work` in a transaction that is durable when this returns; what is vital may use the disk's last room."""
        if not is_vital:
            return await self._submit(self._writer, _Request(self._unless_drained(work)))
        try:
            return await self._submit(self._writer, _Request(work))
        except StoreFailed as failure:
            if failure.trouble != "storage_full":
                raise
            self._is_drained |= self._ballast is not None and self._ballast.release()
        await self.truncate_wal()  # the log's own room is room as well
        return await self._submit(self._writer, _Request(work))

    async def note(self, work: Callable[[Tx], T]) -> T:
        """Run bookkeeping in a transaction that a power cut may lose."""
        return await self._submit(self._notes, _Request(self._unless_drained(work)))

    async def jot(self, work: Callable[[Tx], object]) -> None:
        """Run bookkeeping that nobody waits for: a disk that takes no writes is no reason for a read to fail."""
        with contextlib.suppress(Unavailable):
            await self.note(work)

    def _unless_drained(self, work: Callable[[Tx], T]) -> Callable[[Tx], T]:
        if self._is_drained:
            raise StoreFailed("storage_full")  # what room is left is for forgetting
        return work

    async def read(self, work: Callable[[Tx], T], deadline: float | None = None) -> T:
        """Run `work` on a snapshot that sees every write acknowledged before the call."""
        if deadline is not None and deadline > READ_SECONDS:
            raise ValueError("no snapshot lives so long; a long look is made of short ones")
        self._next_reader = (self._next_reader + 1) % READERS
        return await self._submit(self._readers[self._next_reader], _Request(work, deadline))

    async def _submit(self, worker: _Worker, request: _Request) -> Any:
        if self._is_closed:
            raise Unavailable("unavailable", "The store is closed.")
        worker.queue.put(request)
        try:
            return await request.future
        except StoreFailed as failure:
            self._tell(failure.trouble)
            raise

    def _tell(self, trouble: Trouble | None) -> None:
        if trouble != self._trouble:
            self._trouble = trouble
            self._probe_at = time.monotonic() + PROBE_SECONDS
            self.tell(trouble)

    async def mend(self) -> None:
        """Look whether a store in trouble works again, and see that there is room kept for forgetting. Costs nothing else."""
        needs_ballast = self._ballast is not None and not self._ballast.is_kept
        if (self._trouble is None and not needs_ballast) or time.monotonic() < self._probe_at:
            return
        self._probe_at = time.monotonic() + PROBE_SECONDS
        try:
            if self._ballast is not None and (needs_ballast or self._trouble == "storage_full"):
                await asyncio.get_running_loop().run_in_executor(None, self._ballast.keep)
                self._is_drained = False
            if self._trouble is not None:
                await self._submit(self._writer, _Request(_touch))
        except (OSError, GatewayError) as failure:
            told = unavailable(failure)
            if isinstance(told, StoreFailed):
                self._tell(told.trouble)
        else:
            self._tell(None)

    async def glance(self, work: Callable[[Tx], T]) -> T:
        """A read of microseconds, on a connection that no query holds up."""
        return await self._submit(self._readers[READERS], _Request(work))

    async def data_version(self) -> int:
        """A number that changes when any other connection committed."""

        def read(tx: Tx) -> int:
            row = tx.one("PRAGMA data_version")
            return int(row[0]) if row else 0

        return await self.glance(read)

    async def truncate_wal(self) -> bool:
        """Move the WAL into the file and cut it to nothing; False while that cannot be done."""
        try:
            return await asyncio.get_running_loop().run_in_executor(None, self._file.truncate)
        except apsw.Error as failure:
            log.warning("truncate_failed", type=type(failure).__name__)
            return False

    def sizes(self) -> tuple[int, int]:
        """Bytes of the database and of its WAL; none of what is not there."""
        return _size(self.path), _size(self._file.wal)

    def close(self, seconds: float = 2.0) -> None:
        """Let the threads end what they do and close their connections."""
        self._is_closed = True
        self._file.close()
        for worker in (self._writer, self._notes, *self._readers):
            worker.close(seconds)


def _touch(tx: Tx) -> None:
    """A write that changes nothing and yet must reach the disk."""
    version = tx.one("PRAGMA user_version")
    tx.run(f"PRAGMA user_version = {int(version[0]) if version else 0}")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
