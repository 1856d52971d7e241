"""Priority of requests that a caller waits for, and the courtesy of background work.

Rule 1: courtesy is bounded: work that always meets a waiting caller still goes on, only slower.
Rule 2: a read for what a person waits for is served as if it had been asked a little earlier, so that no stream of them
shuts others out.
Rule 3: threads share one interpreter, so such a read is alone in it as far as that can be had: other reads begin when
it is over, and a long write stops between two statements.
Rule 4: while clients ask something, a write that nobody waits for lets every other thread have the interpreter, often
and for a moment.
"""

import math
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

import anyio

COURTESY_SECONDS = 0.1
"""A group of index jobs takes about 30 ms of the interpreter: beside a stream of searches it gets a quarter of it."""
HEAD_START_SECONDS = 0.1
"""The head start of a search: more than other requests of one application have to do together.

No other read waits longer for it.
"""
SHORT_SECONDS = 0.005
"""A transaction that goes on for longer gives way to urgent reads: the interpreter switches threads in such steps."""
BREATH_SECONDS = 0.00005
"""About what a thread takes to wake up for the interpreter. A statement is over sooner, and its thread has it again, so
that the one that woke up sleeps on, some twenty times in a row: beside the first index of 10,000 files a ping took 4 ms
(p95), 2.3 with the loop at its pipes, and 1.1 with this (`python -m benchmarks knowledge --files 10000`)."""
STRIDE_SECONDS = 0.00025
"""The time between two breaths. Where every processor is busy, the loop waits behind the thread that breathes until its
next breath, and the client that is answered as well: with half a millisecond a ping's p95 was .9 ms, with this .75, and
with less no better. An index takes 4 % more of the processor by it."""
ATTENTIVE_SECONDS = 2.0
"""The time after a request in which the next one is likely: breaths make the first index of 100,000 files 14 % dearer,
so none are taken where nobody asks anything."""

_is_waited_for: ContextVar[bool] = ContextVar("is_waited_for", default=False)


def head_start() -> float:
    """Return the seconds by which the current task's reads go before others; 0 without a waiting caller."""
    return HEAD_START_SECONDS if _is_waited_for.get() else 0.0


class RightOfWay:
    """A count of the urgent reads that have the interpreter, as far as others let them. Any thread may use it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.holders = 0
        self.asked_at = -math.inf
        """The time of a client's last request, whatever it asked."""
        self._free = threading.Condition(self.lock)

    def take(self) -> None:
        """Count one more holder. The caller has the lock."""
        self.holders += 1

    def release(self) -> None:
        """Count one holder less. The caller has the lock."""
        self.holders -= 1
        if not self.holders:
            self._free.notify_all()

    def wait(self, seconds: float) -> float:
        """Wait until there is no holder, or for so many seconds; return the seconds that it took."""
        begun = time.monotonic()
        with self.lock:
            self._free.wait_for(lambda: not self.holders, seconds)
        return time.monotonic() - begun


class Courtesy:
    """The pauses of a transaction between its statements.

    After `SHORT_SECONDS` it waits for urgent reads, at most `COURTESY_SECONDS` in all, and not at all while writers
    wait. Where it `is_background` it breathes, each time for `BREATH_SECONDS`, while clients ask something.
    """

    def __init__(self, way: RightOfWay, holds_up: Callable[[], bool], *, is_background: bool = False) -> None:
        self._way = way
        self._holds_up = holds_up
        self._begins = time.monotonic() + SHORT_SECONDS
        self._left = COURTESY_SECONDS
        self._next_breath = time.monotonic() + STRIDE_SECONDS if is_background else math.inf

    def __call__(self) -> None:
        """Wait while an urgent read has the right of way; breathe where it is time."""
        now = time.monotonic()
        if self._way.holders and self._left > 0 and now > self._begins and not self._holds_up():
            self._left -= self._way.wait(self._left)
        elif now > self._next_breath and now < self._way.asked_at + ATTENTIVE_SECONDS:
            time.sleep(BREATH_SECONDS)
            self._next_breath = time.monotonic() + STRIDE_SECONDS


def seconds_to_wait(asked_at: float) -> float:
    """Return the seconds from now after which a read of that time gives way no more."""
    return asked_at + HEAD_START_SECONDS - time.monotonic()


class Foreground:
    """A count of the callers that wait for an answer."""

    def __init__(self) -> None:
        self._waiting = 0
        self._idle = anyio.Event()

    @contextmanager
    def count_waiting_caller(self) -> Generator[None]:
        """Count a waiting caller until the block ends."""
        self._waiting += 1
        before = _is_waited_for.set(True)
        try:
            yield
        finally:
            _is_waited_for.reset(before)
            self._waiting -= 1
            if not self._waiting:
                self._idle.set()
                self._idle = anyio.Event()

    async def let_pass(self) -> None:
        """Return when no caller waits, or after `COURTESY_SECONDS`."""
        if self._waiting:
            with anyio.move_on_after(COURTESY_SECONDS):
                await self._idle.wait()
