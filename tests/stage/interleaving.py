"""Work that is stopped at one of its awaits, whichever they are: something else happens there, and the work goes on.

The awaits are found by stepping the work itself and every task that it makes, so that one which is added later is found
as well.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextvars import ContextVar
from typing import Any

_stopping: ContextVar["Interleaving | None"] = ContextVar("_stopping", default=None)
"""The interleaving that the running code is the work of."""


class Interleaving:
    """Runs work; at its await number `at`, counted from 0 over all its tasks, `between` is run to its end first."""

    def __init__(self, at: int, between: Callable[[], Awaitable[None]]) -> None:
        self._at = at
        self._between = between
        self._number = 0
        self.was_reached = False
        self.goes_on = asyncio.Event()
        """Not set while all tasks of the work stand still."""
        self.goes_on.set()

    async def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Do the work."""
        loop = asyncio.get_running_loop()
        loop.set_task_factory(_made)
        before = _stopping.set(self)
        try:
            return await _Stepped(work, self)
        finally:
            _stopping.reset(before)
            loop.set_task_factory(None)

    def is_here(self) -> bool:
        """Count an await; whether it is the one to stop at."""
        self._number += 1
        is_here = self._number - 1 == self._at
        self.was_reached |= is_here
        return is_here

    async def stop(self) -> None:
        """Run what happens between, in a task of its own as another client's would be; its awaits are not counted."""
        before = _stopping.set(None)
        self.goes_on.clear()
        try:
            await asyncio.ensure_future(self._between())  # the work may hold a token of its task: a thread, a lock
        finally:
            self.goes_on.set()
            _stopping.reset(before)


class _Stepped:
    """Awaits work step by step."""

    def __init__(self, work: Coroutine[Any, Any, Any], interleaving: Interleaving) -> None:
        self._work = work
        self._interleaving = interleaving

    def __await__(self) -> Generator[Any, Any, Any]:
        given: Any = None
        error: BaseException | None = None
        if not self._interleaving.goes_on.is_set():
            yield from self._interleaving.goes_on.wait().__await__()
        while True:
            try:
                waited_for = self._work.send(given) if error is None else self._work.throw(error)
            except StopIteration as ended:
                return ended.value
            if self._interleaving.is_here():
                yield from self._interleaving.stop().__await__()
            given = error = None
            try:
                given = yield waited_for
            except BaseException as thrown:  # noqa: BLE001  # the work is told what it would be told without us
                error = thrown
            if not self._interleaving.goes_on.is_set():
                yield from self._interleaving.goes_on.wait().__await__()


def _made(loop: asyncio.AbstractEventLoop, work: Any, **how: Any) -> asyncio.Task[Any]:
    """A task; one that the work makes is part of it."""
    interleaving = _stopping.get()

    async def stepped(whole: Interleaving) -> Any:
        return await _Stepped(work, whole)

    return asyncio.Task(work if interleaving is None else stepped(interleaving), loop=loop, **how)


def with_a_stop_before(
    call: Callable[..., Coroutine[Any, Any, Any]], tell: Callable[[Any], None]
) -> Callable[..., Coroutine[Any, Any, Any]]:
    """The call with an await in front of it, which is a place to stop at, too; `tell` hears what was called once it is
    done."""

    async def stopping(work: Any, *given: Any, **named: Any) -> Any:
        await asyncio.sleep(0)
        result = await call(work, *given, **named)
        tell(work)
        return result

    return stopping
