"""Sortable identifiers: prefix, time, randomness."""

import secrets
import threading

from protocol.seams.ports import Clock

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's: no letter that reads as a digit
TIME_CHARS = 10  # 50 bits of milliseconds reach past the year 37000
RANDOM_BITS = 60  # a million ids in one millisecond collide with probability below 1e-6


_PAIRS = [high + low for high in ALPHABET for low in ALPHABET]
"""The two letters of ten bits: an id is needed for every run of a hook, and pairs take half as long as letters."""


def _base32(value: int, width: int) -> str:
    """Return the value as `width` letters; the width is even."""
    return "".join([_PAIRS[(value >> shift) & 1023] for shift in range(5 * (width - 2), -1, -10)])


class SortableIds:
    """Ids that sort by time of making; within a process they rise even when the clock stands still or goes back."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._last = (-1, 0)

    def new(self, prefix: str) -> str:
        """Return `<prefix>_` and 22 characters of time and randomness."""
        with self._lock:
            at = max(0, self._clock.now())
            last_at, last_random = self._last
            self._last = (at, secrets.randbits(RANDOM_BITS - 1)) if at > last_at else (last_at, last_random + 1)
            at, random = self._last
        return f"{prefix}_{_base32(at, TIME_CHARS)}{_base32(random, RANDOM_BITS // 5)}"
