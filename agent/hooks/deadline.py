"""Calls foreign code, such as hooks and tools, within a deadline, whatever it does.

Rule 1: the caller goes on at the deadline, also when what was called does not end although it was cancelled.
Rule 2: what does not end when it is cancelled is closed by force a while later, or when the process ends.
Rule 3: code that keeps the event loop to itself cannot be interrupted: its longest stretch is measured and returned.
"""

import asyncio
import contextlib
import time
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from typing import Any

from msgspec import Struct

CANCEL_GRACE_SECONDS = 0.01
"""The end of a call's time, in which it may clean up after it was cancelled: some turns of the loop."""

FORCE_SECONDS = 0.25
"""The time that left work may take before it is closed: long enough to clean up, too short to pile up."""


class ExitedError(Exception):
    """The called code tried to end the process."""


class CallEnd(Struct, frozen=True):
    """The end of a call. `result` counts only where it is neither late nor failed."""

    result: Any
    error: BaseException | None
    is_late: bool
    is_running: bool
    """It was cancelled, and goes on all the same."""
    held_seconds: float
    """The longest time for which it did not give the event loop back."""
    took_seconds: float


class _Watch:
    """Drives a coroutine: its longest stretch without giving the loop back, and its end by force."""

    def __init__(self) -> None:
        self.longest = 0.0
        self.is_final = False
        """The next cancellation is not the coroutine's to swallow."""

    def insist(self) -> None:
        """From now on a cancellation ends it."""
        self.is_final = True

    @types.coroutine
    def drive(self, coroutine: Coroutine[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """Run the coroutine step by step, as `await` would."""
        resume: Callable[[Any], Any] = coroutine.send
        given: Any = None
        while True:
            begun = time.perf_counter()
            try:
                awaited = resume(given)
            except StopIteration as done:
                return done.value
            finally:
                self.longest = max(self.longest, time.perf_counter() - begun)
            try:
                given = yield awaited
                resume = coroutine.send
            except BaseException as error:
                if self.is_final and isinstance(error, asyncio.CancelledError):
                    with contextlib.suppress(RuntimeError):  # it refuses to be closed; it is not resumed again
                        coroutine.close()
                    raise
                resume, given = coroutine.throw, error


async def _whole(call: Callable[[], Awaitable[Any]]) -> Any:
    """Make the call inside a task, so that nothing of it reaches beyond."""
    try:
        return await call()
    except (SystemExit, KeyboardInterrupt) as error:
        raise ExitedError from error


class _Call:
    """One call under way; `ended` is set when it ends, or when it is left behind, whichever is first."""

    def __init__(self, call: Callable[[], Awaitable[Any]], seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._seconds = seconds
        self._begun = time.perf_counter()
        self._is_late = False
        self._watch = _Watch()
        self._task = self._loop.create_task(self._driven(call))
        self._timer = self._loop.call_later(max(seconds - CANCEL_GRACE_SECONDS, seconds / 2), self._expire)
        self._task.add_done_callback(self._finish)
        self.ended: asyncio.Future[CallEnd] = self._loop.create_future()

    async def _driven(self, call: Callable[[], Awaitable[Any]]) -> Any:
        return await self._watch.drive(_whole(call))

    def _expire(self) -> None:
        if self._task.done():
            return
        self._is_late = True
        self._task.cancel()
        self._timer = self._loop.call_later(CANCEL_GRACE_SECONDS, self.leave)

    def _finish(self, task: "asyncio.Task[Any]") -> None:
        self._timer.cancel()
        result, error = _outcome(task)
        self._tell(result, error)

    def _tell(self, result: Any, error: BaseException | None) -> None:
        if not self.ended.done():
            is_late = self._is_late or self._watch.longest > self._seconds
            took = time.perf_counter() - self._begun
            self.ended.set_result(CallEnd(result, error, is_late, not self._task.done(), self._watch.longest, took))

    def leave(self) -> None:
        """Wait no longer: what still runs is cancelled, and closed by force a while later."""
        if self._task.done():
            return
        self._timer.cancel()
        if not self._task.cancelling():
            self._task.cancel()
        self._loop.call_soon(self._watch.insist)  # after the cancellation above, which it may answer
        self._timer = self._loop.call_later(FORCE_SECONDS, self._task.cancel)
        self._tell(None, None)


async def all_within(calls: Sequence[tuple[Callable[[], Awaitable[Any]], float]]) -> list[CallEnd]:
    """Call all side by side and wait for each no longer than its seconds; return how each ended, in order.

    Only the cancellation of the caller itself comes out of here as an exception.
    """
    begun = [_Call(call, seconds) for call, seconds in calls]
    try:
        return [await one.ended for one in begun]
    finally:
        for one in begun:
            one.leave()


async def call_within(call: Callable[[], Awaitable[Any]], seconds: float) -> CallEnd:
    """Call, wait no longer than that, and return how the call ended.

    Only the cancellation of the caller itself comes out of here as an exception.
    """
    return (await all_within([(call, seconds)]))[0]


def _outcome(task: "asyncio.Task[Any]") -> tuple[Any, BaseException | None]:
    """Return a finished task's result and exception.

    It is read also where no caller wants it: asyncio warns of an exception that is never read.
    """
    if task.cancelled():
        return None, asyncio.CancelledError()
    error = task.exception()
    return (None, error) if error is not None else (task.result(), None)
