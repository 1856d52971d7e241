"""Who waits for an answer, and work that lets them go first.

Rule 1: courtesy is bounded: work that always finds somebody waiting still goes on, only slower.
Rule 2: a read for what a person waits for is served as if it had been asked a little earlier, so that no stream of them shuts others out.
Rule 3: threads share one interpreter, so such a read is alone in it as far as that can be had: other reads begin when it is over,
and a long write stops between two statements.
"""

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

import anyio

COURTESY_SECONDS = 0.1
"""A group of index jobs takes about 30 ms of the same interpreter: beside a stream of searches it gets a quarter of the time."""
HEAD_START_SECONDS = 0.1
"""What a search is asked earlier by: more than other requests of one application have to do together. No other read waits longer for it."""
SHORT_SECONDS = 0.005
"""Of a transaction that goes on for longer it is asked whether it holds somebody up: the interpreter goes round in such steps."""

_is_waited_for: ContextVar[bool] = ContextVar("is_waited_for", default=False)


def head_start() -> float:
    """The seconds by which a read goes before others, for whom it is made."""
    return HEAD_START_SECONDS if _is_waited_for.get() else 0.0


class RightOfWay:
    """Who has the interpreter for a moment, as far as others let him. Any thread may ask."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.holders = 0
        self._free = threading.Condition(self.lock)

    def take(self) -> None:
        """One more holds it. The caller has the lock."""
        self.holders += 1

    def release(self) -> None:
        """One of the holders is through. The caller has the lock."""
        self.holders -= 1
        if not self.holders:
            self._free.notify_all()

    def wait(self, seconds: float) -> float:
        """Return when nobody has it, or after so many seconds; how many it took."""
        begun = time.monotonic()
        with self.lock:
            self._free.wait_for(lambda: not self.holders, seconds)
        return time.monotonic() - begun


class Courtesy:
    """What a transaction asks between its statements; it waits for at most `COURTESY_SECONDS` in all, and not while others wait for it."""

    def __init__(self, way: RightOfWay, holds_up: Callable[[], bool]) -> None:
        self._way = way
        self._holds_up = holds_up
        self._begins = time.monotonic() + SHORT_SECONDS
        self._left = COURTESY_SECONDS

    def __call__(self) -> None:
        """Let those go first who have the right of way."""
        if self._way.holders and self._left > 0 and time.monotonic() > self._begins and not self._holds_up():
            self._left -= self._way.wait(self._left)


def seconds_to_wait(asked_at: float) -> float:
    """The seconds after which a read that was asked then lets nobody go first any more."""
    return asked_at + HEAD_START_SECONDS - time.monotonic()


class Foreground:
    """Counts those who wait."""

    def __init__(self) -> None:
        self._waiting = 0
        self._nobody = anyio.Event()

    @contextmanager
    def asked(self) -> Generator[None]:
        """Somebody waits until this ends."""
        self._waiting += 1
        before = _is_waited_for.set(True)
        try:
            yield
        finally:
            _is_waited_for.reset(before)
            self._waiting -= 1
            if not self._waiting:
                self._nobody.set()
                self._nobody = anyio.Event()

    async def let_pass(self) -> None:
        """Return when nobody waits, or after `COURTESY_SECONDS`."""
        if self._waiting:
            with anyio.move_on_after(COURTESY_SECONDS):
                await self._nobody.wait()
