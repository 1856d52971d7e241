"""Bounds of processor time that hold on a slow machine and under coverage: both are measured and taken out."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

YARDSTICK_SECONDS = 0.0041
"""The processor time of the yardstick on the quiet machine that the promised figures were measured on."""
TRIES = 5
MARGIN = 2
"""The factor by which a test lets a promise be missed: a neighbour on the same core costs about as much as is left."""


@contextmanager
def untraced() -> Iterator[None]:
    """Keep coverage from following this thread within the block: following costs a line more than running it."""
    tracer = sys.gettrace()
    sys.settrace(None)
    try:
        yield
    finally:
        sys.settrace(tracer)


def slowness() -> float:
    """Return how many times as long as the reference machine this one takes at the moment, at least 1."""
    with untraced():
        return max(1.0, min(_yardstick() for _ in range(TRIES)) / YARDSTICK_SECONDS)


def assert_cheap(work: Callable[[], object], seconds: float) -> None:
    """Assert that the best of a few tries takes no more processor time than promised, as this machine is at the moment."""
    best = bound = 0.0
    for _ in range(TRIES):
        with untraced():
            begun = time.process_time()
            work()
            took = time.process_time() - begun
        best = min(best or took, took)
        bound = MARGIN * seconds * slowness()
        if best <= bound:
            return
    raise AssertionError(f"{best:.3f} s of processor time, {bound:.3f} s were promised")


def _yardstick() -> float:
    begun = time.process_time()
    digits = 0
    for number in range(30_000):
        digits += len(str(number % 1000))
    assert digits == 86_700
    return time.process_time() - begun
