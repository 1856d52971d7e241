"""The home's one file: connections in threads of their own, grouped durable commits, snapshots with a deadline.

Rule 1: an acknowledged write is committed at synchronous=FULL; bookkeeping goes through a connection at NORMAL.
Rule 2: an error of a commit means "unknown": the connection is opened anew, and callers that retry carry an idempotency
key.
Rule 3: after a failed fsync no write is acknowledged until the log's pages were moved into the file: the system may
have dropped what it could not write, and the next fsync would succeed.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, TypeVar

import apsw

from gateway.base.logs import Log
from gateway.base.signals import Signal
from gateway.store import pages as database_pages
from gateway.store.file import DatabaseFile, ReadOnlyFile
from gateway.store.priority import RightOfWay
from gateway.store.reserved_space import ReservedSpace
from gateway.store.sqlite import (
    StoreFailed,
    Trouble,
    sqlite_version,
    touch,
    unavailable,
)
from gateway.store.threads import READ_SECONDS, CommitWriter, Queue, ReadQueue, SnapshotReader, ThreadWork
from protocol.errors import GatewayError, IndexDamaged, Unavailable
from protocol.seams.ports import Tx

T = TypeVar("T")

log = Log("database")

MIN_SQLITE = (3, 51, 3)  # older ones can lose a commit when a checkpoint races with a writer (the WAL-reset bug)
READERS = 2  # as many as cores of the smallest planned machine
CALM_SECONDS = 0.2  # that a step of 30 ms gives way for: background work goes on at a tenth of its pace
PROBE_SECONDS = 1.0  # how often a store in trouble is tried


class Database:
    """The home's one file. Satisfies `Transact`; every member function is called on the event loop."""

    def __init__(
        self, path: Path, *, vfs: str | None = None, ballast: ReservedSpace | None = None, is_read_only: bool = False
    ) -> None:
        if sqlite_version() < MIN_SQLITE:
            raise Unavailable(message="SQLite is older than 3.51.3, which can lose commits.")
        self.path = path
        self.vfs = vfs
        self._ballast = ballast
        self._is_drained = False
        self._trouble: Trouble | None = None
        self._probe_at = 0.0
        self.troubles = Signal[Trouble | None]()
        """The trouble that keeps the store from working; None once it works again."""
        self.damages = Signal[IndexDamaged]()
        """Damage that a read or a write met."""
        self._is_closed = False
        self._foreground = 0
        self._is_calm = asyncio.Event()
        self._traced: asyncio.Future[Any] | None = None
        with contextlib.ExitStack() as opened:
            try:
                self._file = ReadOnlyFile(path) if is_read_only else DatabaseFile(path, vfs)
                opened.callback(self._file.close)
                self._way = way = RightOfWay()
                self._writer = CommitWriter("db-write", self._file, "full", way)
                opened.callback(self._writer.close, 1)
                self._notes = CommitWriter("db-note", self._file, "normal", way)
                opened.callback(self._notes.close, 1)
                self._asked = ReadQueue(way)  # the first free reader takes the next request
                self._readers: list[SnapshotReader] = []
                for n in range(READERS):
                    self._readers.append(SnapshotReader(f"db-read-{n}", self._file, self._asked))
                    opened.callback(self._readers[-1].close, 1)
                self._readers.append(SnapshotReader("db-glance", self._file, ReadQueue(RightOfWay())))
                opened.callback(self._readers[-1].close, 1)
            except apsw.Error as failure:
                raise unavailable(failure) from failure
            opened.pop_all()  # from here on `close` sees to it
        self._file.let_go = self._let_go

    def note_request(self) -> None:
        """Note that a client asked something now: while clients do, background writes let other threads in."""
        self._way.asked_at = time.monotonic()

    def _let_go(self) -> None:
        for worker in (self._writer, self._notes, *self._readers):
            with worker.in_use:
                worker.drop()

    @property
    def takes_writes(self) -> bool:
        """Return whether the store worked when it was last written to."""
        return self._trouble is None

    @property
    def durable_commits(self) -> int:
        """Return the number of commits at synchronous=FULL since the start."""
        return self._writer.commits

    @property
    def commits(self) -> int:
        """Return the number of commits of this process since the start, durable or not."""
        return self._writer.commits + self._notes.commits

    async def write(self, work: Callable[[Tx], T], *, is_vital: bool = False) -> T:
        """Run `work` in a transaction and return its result; it is durable then.

        Vital work may use the disk's last room.
        """
        if self._traced is not None and not self._traced.done():
            await asyncio.wait([self._traced])  # a read's bookkeeping must not come after a write that forgets it
        with self._foreground_work():
            if not is_vital:
                return await self._submit(self._writer.queue, ThreadWork(self._unless_drained(work)))
            try:
                return await self._submit(self._writer.queue, ThreadWork(work))
            except StoreFailed as failure:
                if failure.trouble != "storage_full":
                    raise
                self._is_drained |= self._ballast is not None and self._ballast.release()
            await self.truncate_wal()  # the log's own room is room as well
            return await self._submit(self._writer.queue, ThreadWork(work))

    async def note(self, work: Callable[[Tx], T]) -> T:
        """Run bookkeeping in a transaction that a power cut may lose; return its result."""
        return await self._submit(self._notes.queue, ThreadWork(self._unless_drained(work)))

    async def jot(self, work: Callable[[Tx], object]) -> None:
        """Run bookkeeping that may be lost: a disk that takes no writes is no reason for a read to fail."""
        with contextlib.suppress(Unavailable):
            await self.note(work)

    def trace(self, work: Callable[[Tx], object]) -> None:
        """Queue bookkeeping that may be lost, without waiting for it: no writer at work holds up a read."""
        if self._is_closed or self._is_drained:
            return
        request = ThreadWork(work)
        request.future.add_done_callback(self._report_traced)
        self._traced = request.future
        self._notes.queue.put(request)

    def _report_traced(self, done: "asyncio.Future[Any]") -> None:
        failure = None if done.cancelled() else done.exception()
        if isinstance(failure, StoreFailed):
            self._set_trouble(failure.trouble)
        elif isinstance(failure, IndexDamaged):
            self.damages.send(failure)
        elif failure is not None and not isinstance(failure, Unavailable):
            log.incident(failure)

    def _unless_drained(self, work: Callable[[Tx], T]) -> Callable[[Tx], T]:
        if self._is_drained:
            raise StoreFailed("storage_full")  # the room that is left is for forgetting
        return work

    async def read(self, work: Callable[[Tx], T], deadline: float | None = None) -> T:
        """Run `work` on a snapshot that sees every write acknowledged before the call; return its result."""
        if deadline is not None and deadline > READ_SECONDS:
            raise ValueError("no snapshot lives so long; a long read is made of short ones")
        with self._foreground_work():
            return await self._submit(self._asked, ThreadWork(work, deadline))

    @contextlib.contextmanager
    def _foreground_work(self) -> Generator[None]:
        self._foreground += 1
        try:
            yield
        finally:
            self._foreground -= 1
            if not self._foreground:
                self._is_calm.set()

    async def calm(self) -> bool:
        """Return when no read or write waits, or after `CALM_SECONDS`; return whether any did."""
        if not self._foreground:
            return False
        self._is_calm.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CALM_SECONDS):
                await self._is_calm.wait()
        return True

    async def _submit(self, asked: Queue, request: ThreadWork) -> Any:
        if self._is_closed:
            raise Unavailable("unavailable", "The store is closed.")
        asked.put(request)
        try:
            result = await request.future
        except StoreFailed as failure:
            self._set_trouble(failure.trouble)
            raise
        except IndexDamaged as failure:
            self.damages.send(failure)
            raise
        if request.damage is not None:
            self.damages.send(request.damage)
        return result

    def _set_trouble(self, trouble: Trouble | None) -> None:
        if trouble != self._trouble:
            self._trouble = trouble
            self._probe_at = time.monotonic() + PROBE_SECONDS
            self.troubles.send(trouble)

    @property
    def needs_mending(self) -> bool:
        """Return whether the store is in trouble or the room for forgetting is not reserved, and a try is due."""
        needs_ballast = self._ballast is not None and not self._ballast.is_kept
        return (self._trouble is not None or needs_ballast) and time.monotonic() >= self._probe_at

    async def mend(self) -> None:
        """Try a store in trouble again, and reserve the room for forgetting where it is not reserved.

        A store without trouble costs nothing.
        """
        if not self.needs_mending:
            return
        self._probe_at = time.monotonic() + PROBE_SECONDS
        try:
            if self._ballast is not None and (not self._ballast.is_kept or self._trouble == "storage_full"):
                await asyncio.get_running_loop().run_in_executor(None, self._ballast.keep)
                self._is_drained = False
            if self._trouble is not None:
                await self._submit(self._writer.queue, ThreadWork(touch))
        except (OSError, GatewayError) as failure:
            error = unavailable(failure)
            if isinstance(error, StoreFailed):
                self._set_trouble(error.trouble)
        else:
            self._set_trouble(None)

    async def glance(self, work: Callable[[Tx], T]) -> T:
        """Run a read of microseconds on a connection that no query holds up; return its result."""
        return await self._submit(self._readers[READERS].queue, ThreadWork(work))

    async def data_version(self) -> int:
        """Return a number that changes when any other connection committed."""

        def read(tx: Tx) -> int:
            row = tx.one("PRAGMA data_version")
            return int(row[0]) if row else 0

        return await self.glance(read)

    async def truncate_wal(self) -> bool:
        """Move the WAL into the file and cut it to nothing; return whether that could be done."""
        try:
            return await asyncio.get_running_loop().run_in_executor(None, self._file.truncate)
        except apsw.Error as failure:
            log.warning("truncate_failed", type=type(failure).__name__)
            return False

    # -- damaged pages ---------------------------------------------------------------------------------------------

    async def look_at_pages(self, *, reads_texts: bool) -> database_pages.Damage:
        """Read every page, and every text, beside readers and writers; return the damage. Raises `Unavailable`."""

        def look() -> database_pages.Damage:
            self._file.require_same()
            return database_pages.look(self.path, reads_texts=reads_texts)

        return await self._aside(look)

    async def mend_pages(self, damage: database_pages.Damage, copies: Path) -> database_pages.Mended:
        """Begin unreadable parts anew; return them, and what was lost. Raises `Unavailable`.

        Where rows are lost, the file as it was is kept in the folder `copies`.
        """

        def mend() -> database_pages.Mended:
            with self._file.turnstile:
                self._file.require_same()
                return database_pages.mend(self.path, damage, copies)

        return await self._aside(mend)

    async def make_anew(self) -> None:
        """Write the file anew; writers wait for it. Raises `Unavailable`."""

        def make() -> None:
            with self._file.turnstile:
                self._file.require_same()
                database_pages.make_anew(self.path)

        await self._aside(make)

    @staticmethod
    async def _aside(work: Callable[[], T]) -> T:
        """Return the result of work that takes long, or opens the schema, on a connection and thread of its own.

        Raises `GatewayError`.
        """
        try:
            return await asyncio.get_running_loop().run_in_executor(None, work)
        except (apsw.Error, OSError) as failure:
            raise unavailable(failure) from failure

    def sizes(self) -> tuple[int, int]:
        """Return the bytes of the database and of its WAL; 0 for a file that is not there."""
        return _size(self.path), _size(self._file.wal)

    def close(self, seconds: float = 2.0) -> None:
        """Let the threads end their work and close their connections, for at most that long each."""
        self._is_closed = True
        for worker in (self._writer, self._notes, *self._readers):
            worker.close(seconds)
        self._file.close()  # at last: a queued work may open its thread's connection only now, and needs the log


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
