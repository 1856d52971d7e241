"""The threads of the database: each has a connection and a queue of work, of its own or shared with its like.

Rule 1: a writer makes one transaction of all waiting work, each in a savepoint; a failing work is rolled back alone.
Rule 2: a reader's work ends at its deadline, in the middle of a statement if need be.
"""

import asyncio
import contextlib
import contextvars
import heapq
import itertools
import math
import queue
import threading
import time
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, Generic, TypeAlias, TypeVar

import apsw

from gateway.base.logs import Log
from gateway.store.file import DatabaseFile
from gateway.store.priority import Courtesy, RightOfWay, head_start, seconds_to_wait
from gateway.store.sqlite import Handle, SnapshotTransaction, StoreFailed, Transaction, unavailable
from protocol.errors import Defect, GatewayError, IndexDamaged, Unavailable
from protocol.seams.ports import Tx

log = Log("database")

Outcome: TypeAlias = tuple[Any, BaseException | None, list[Callable[[], None]]]

GROUP_LIMIT = 128  # writes that share one fsync; more would only make the first of them wait
READ_SECONDS = 2.0  # a longer snapshot would hold back checkpoints, and with them erasing
PROGRESS_STEPS = 20_000
"""Virtual-machine steps between looks at the deadline: about half a millisecond.

Each look waits for the interpreter, as any callback does.
"""


class ThreadWork:
    """Work handed to a thread, and the future that waits for it."""

    __slots__ = ("context", "damage", "deadline", "future", "is_urgent", "loop", "since", "work")

    def __init__(self, work: Callable[[Tx], Any], deadline: float | None = None) -> None:
        self.work = work
        self.deadline = deadline
        self.damage: IndexDamaged | None = None  # met by a read that went on
        ahead = head_start()
        self.is_urgent = ahead > 0
        self.since = time.monotonic() - ahead
        self.loop = asyncio.get_running_loop()
        self.context = contextvars.copy_context()  # the work and its notifications are on behalf of its caller
        self.future: asyncio.Future[Any] = self.loop.create_future()

    def settle(self, result: Any, error: BaseException | None, after: list[Callable[[], None]]) -> None:
        """Call the functions that follow a commit, then give the caller the result or the error."""
        for call in after:
            try:
                self.context.run(call)
            # the work is committed: its caller and the others need their results
            except Exception as failure:  # noqa: BLE001
                log.incident(failure)
        if self.future.cancelled():
            return
        if error is None:
            self.future.set_result(result)
        else:
            self.future.set_exception(error)


def _answer(answers: Sequence[tuple[ThreadWork, Outcome]]) -> None:
    """Settle all requests in one step of their event loop: waking the loop costs more than settling."""

    def settle(answered: Sequence[tuple[ThreadWork, Outcome]]) -> None:
        for request, outcome in answered:
            request.settle(*outcome)

    for loop, answered in groupby(answers, key=lambda answer: answer[0].loop):
        with contextlib.suppress(RuntimeError):  # the loop is closed: no caller waits any more
            loop.call_soon_threadsafe(settle, list(answered))


class ReadQueue:
    """A queue of reads, longest wait first; urgent reads count as asked earlier and, for a while, run alone."""

    def __init__(self, way: RightOfWay) -> None:
        self._way = way
        self._changed = threading.Condition(way.lock)
        self._waiting: list[tuple[float, int, ThreadWork | None]] = []
        self._numbers = itertools.count()  # breaks ties by arrival, so that no two requests are compared

    def put(self, request: ThreadWork | None) -> None:
        """Queue a request; None, the end, comes after all others."""
        since = math.inf if request is None else request.since
        with self._changed:
            heapq.heappush(self._waiting, (since, next(self._numbers), request))
            self._changed.notify()

    def get(self) -> ThreadWork | None:
        """Wait for the next request and return it; the caller calls `finish` with it in the end."""
        with self._changed:
            while (waits := self._waits()) is None or waits > 0:
                self._changed.wait(waits)
            request = heapq.heappop(self._waiting)[2]
            if request is not None and request.is_urgent:
                self._way.take()
            return request

    def finish(self, request: ThreadWork) -> None:
        """Note that a request that was taken is served."""
        if request.is_urgent:
            with self._changed:
                self._way.release()
                self._changed.notify_all()

    def _waits(self) -> float | None:
        """Return the seconds that the next request has to wait still; None while the queue is empty."""
        if not self._waiting:
            return None
        request = self._waiting[0][2]
        if request is None or request.is_urgent or not self._way.holders:
            return 0
        return seconds_to_wait(request.since)


WriteQueue: TypeAlias = queue.SimpleQueue[ThreadWork | None]
"""A queue of writes, in the order in which they were asked."""
Queue: TypeAlias = WriteQueue | ReadQueue
Q = TypeVar("Q", bound=Queue)


class Worker(Generic[Q]):
    """A thread with a queue, and a connection from its first request on: each reads the whole schema first."""

    def __init__(self, name: str, file: DatabaseFile, synchronous: str, line: Q) -> None:
        self._file = file
        self._synchronous = synchronous
        self._connection: Handle | None = None
        self._stamp: object = None
        self.in_use = threading.Lock()  # held by a reader while it reads; a writer has the turnstile
        self.queue = line
        self._thread = threading.Thread(target=self._loop, name=name, daemon=True)
        self._thread.start()

    def _loop(self) -> None:
        while (request := self.queue.get()) is not None:
            self.serve(request)
        self.queue.put(None)  # for the next one that shares it
        self.drop()

    def serve(self, request: ThreadWork) -> None:
        """Do the work."""
        raise NotImplementedError  # pragma: no cover  # the two kinds below

    def connection(self) -> Handle:
        """Return the worker's connection, opened anew after a failure, or where the file is not what it was."""
        stamp = self._file.stamp()
        if stamp != self._stamp:
            self.drop()
        if self._connection is None:
            self._connection, self._stamp = self._file.open(self._synchronous), stamp
        return self._connection

    def drop(self) -> None:
        """Close the connection; the next request opens another one."""
        if self._connection is not None:
            self._file.release(self._connection)
            self._connection = None

    def translate(self, failure: Exception) -> GatewayError:
        """Return a failure as an error of the contract."""
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
        """End the thread after the work that is queued; wait at most that long for it."""
        self.queue.put(None)
        self._thread.join(seconds)


class SnapshotReader(Worker[ReadQueue]):
    """Snapshots, each with a deadline that also stops a statement in its middle."""

    def __init__(self, name: str, file: DatabaseFile, line: ReadQueue) -> None:
        super().__init__(name, file, "normal", line)

    def serve(self, request: ThreadWork) -> None:
        """Read, unless the caller was cancelled."""
        outcome: Outcome | None = None
        if not request.future.cancelled():
            with self.in_use:
                outcome = self._run(request)
        self.queue.finish(request)
        if outcome is not None:
            _answer([(request, outcome)])

    def _run(self, request: ThreadWork) -> Outcome:
        ends = time.monotonic() + READ_SECONDS
        spent = time.thread_time() + (READ_SECONDS if request.deadline is None else request.deadline)
        result, error = None, None
        try:
            connection = self.connection()
            connection.set_progress_handler(
                lambda: time.thread_time() > spent or time.monotonic() > ends, PROGRESS_STEPS
            )
            connection.execute("BEGIN").fetchall()
            transaction = SnapshotTransaction(connection)
            result = request.context.run(request.work, transaction)
            request.damage = transaction.damage
            if self._file.stamp() != self._stamp:  # a process wrote while this file was read as immutable
                result, error = None, Unavailable("overloaded")
        except (apsw.Error, UnicodeDecodeError) as failure:  # a text of a row may be no UTF-8
            error = self.translate(failure)
            if isinstance(error, StoreFailed):
                self.drop()
        except Exception as failure:  # noqa: BLE001  # the caller's own error travels to the caller
            error = failure
        if self._connection is not None:
            self._connection.set_progress_handler(None)
            self.end_transaction()
        return result, error, []


class CommitWriter(Worker[WriteQueue]):
    """One transaction at a time; requests that wait share the next one, each in a savepoint. A lone one needs none."""

    commits = 0

    def __init__(self, name: str, file: DatabaseFile, synchronous: str, way: RightOfWay) -> None:
        self._way = way
        super().__init__(name, file, synchronous, queue.SimpleQueue())

    def connection(self) -> Handle:
        """Return the writer's connection, opened anew after a failure."""
        is_new = self._connection is None
        connection = super().connection()
        if is_new:
            self._file.checkpoint_at_times(connection)
        return connection

    def serve(self, request: ThreadWork) -> None:
        """Write the request together with those that wait behind it."""
        group = [request]
        with contextlib.suppress(queue.Empty):
            while len(group) < GROUP_LIMIT:
                waiting = self.queue.get_nowait()
                if waiting is None:
                    self.queue.put(None)
                    break
                group.append(waiting)
        with self._file.turnstile:
            try:
                outcomes = self._commit(group)
            except Exception as failure:  # noqa: BLE001  # without its thread every later write would wait for ever
                log.incident(failure)
                self.drop()
                outcomes: list[Outcome] = [(None, Defect(), []) for _ in group]
        _answer(list(zip(group, outcomes, strict=True)))

    def _commit(self, group: list[ThreadWork]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        try:
            self._file.check()
            connection = self.connection()
            connection.execute("BEGIN IMMEDIATE").fetchall()
            is_background = not any(member.is_urgent for member in group)
            pause = Courtesy(self._way, lambda: not self.queue.empty(), is_background=is_background)
            for member in group:
                outcomes.append(self._one(connection, pause, member, is_alone=len(group) == 1))
                if not connection.in_transaction:  # the error took the whole transaction with it
                    raise outcomes[-1][1] or Unavailable()  # noqa: TRY301  # the handler below undoes and reports
            connection.execute("COMMIT").fetchall()
            self.commits += 1
        except Exception as failure:  # noqa: BLE001  # every member of the group gets it; the connection starts afresh
            shared = self.translate(failure)
            self._file.doubt(failure)
            if isinstance(failure, (apsw.BusyError, GatewayError)):
                self.end_transaction()
            else:
                self.drop()
            errors = [error or shared for _, error, _ in outcomes]
            errors += [shared] * (len(group) - len(outcomes))
            return [(None, error, []) for error in errors]
        return outcomes

    def _one(self, connection: Handle, pause: Callable[[], None], member: ThreadWork, *, is_alone: bool) -> Outcome:
        if member.future.cancelled():
            return None, None, []
        transaction = Transaction(connection, pause)
        if not is_alone:
            connection.execute("SAVEPOINT one").fetchall()
        try:
            result = member.context.run(member.work, transaction)
        except Exception as failure:  # noqa: BLE001  # rolls back this work alone and travels to its caller
            is_ours = isinstance(failure, (apsw.Error, UnicodeDecodeError))
            is_ours &= not isinstance(failure, apsw.ConstraintError)
            error = self.translate(failure) if is_ours else failure
            if connection.in_transaction:
                for undo in ("ROLLBACK", "BEGIN") if is_alone else ("ROLLBACK TO one", "RELEASE one"):
                    connection.execute(undo).fetchall()
            return None, error, []
        if not is_alone:
            connection.execute("RELEASE one").fetchall()
        return result, None, transaction.after
