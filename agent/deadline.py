"""Calls what somebody else wrote, within a deadline, whatever it does.

Rule 1: the caller goes on at the deadline, also when what was called does not end although it was cancelled.
Rule 2: what does not end when it is cancelled is closed by force a while later, or when the process ends.
Rule 3: code that keeps the event loop to itself cannot be interrupted: how long it did so at a stretch is measured and told.
"""

import asyncio
import contextlib
import time
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, NamedTuple

CANCEL_GRACE_SECONDS = 0.01
"""The end of a call's time, in which it may clean up after it was cancelled: some turns of the loop."""


FORCE_SECONDS = 0.25
"""How long what was left behind may go on before it is closed: long enough to clean up, too short to pile up."""


class ExitedError(Exception):
    """What was called tried to end the process."""


class Ended(NamedTuple):
    """How a call ended. `result` counts only where it is neither late nor failed."""

    result: Any
    error: BaseException | None
    is_late: bool
    is_running: bool
    """It was cancelled, and goes on all the same."""
    held_seconds: float
    """The longest time for which it did not let anybody else run."""


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
                    with contextlib.suppress(RuntimeError):  # it swallows even that; nobody runs it any more
                        coroutine.close()
                    raise
                resume, given = coroutine.throw, error


async def _whole(call: Callable[[], Awaitable[Any]]) -> Any:
    """Whatever the call is or does, it happens inside a task, and does not reach beyond it."""
    try:
        return await call()
    except (SystemExit, KeyboardInterrupt) as error:
        raise ExitedError from error


async def call_within(call: Callable[[], Awaitable[Any]], seconds: float) -> Ended:
    """Call and wait no longer than that. Only the cancellation of the caller itself comes out of here as an exception."""
    watch = _Watch()

    async def watched() -> Any:
        return await watch.drive(_whole(call))

    task: asyncio.Task[Any] = asyncio.ensure_future(watched())
    try:
        await asyncio.wait({task}, timeout=max(seconds - CANCEL_GRACE_SECONDS, seconds / 2))
        is_late = not task.done() or watch.longest > seconds
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=CANCEL_GRACE_SECONDS)
    finally:
        if not task.done():
            _leave_behind(task, watch)
    result, error = _outcome(task) if task.done() else (None, None)
    return Ended(result, error, is_late, not task.done(), watch.longest)


def _leave_behind(task: "asyncio.Task[Any]", watch: _Watch) -> None:
    if not task.cancelling():
        task.cancel()

    loop = asyncio.get_running_loop()
    loop.call_soon(watch.insist)  # after the cancellation that is its own to answer
    force = loop.call_later(FORCE_SECONDS, task.cancel)

    def forget(done: "asyncio.Task[Any]") -> None:
        force.cancel()
        _outcome(done)

    task.add_done_callback(forget)


def _outcome(task: "asyncio.Task[Any]") -> tuple[Any, BaseException | None]:
    """What a finished task left. Asked for also where nobody wants it, so that nobody warns of it."""
    if task.cancelled():
        return None, asyncio.CancelledError()
    error = task.exception()
    return (None, error) if error is not None else (task.result(), None)
