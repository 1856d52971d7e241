"""Time: the machine's own, or a file's for tests and simulations."""

import contextlib
import time
from pathlib import Path


class SystemClock:
    """The machine's wall clock."""

    def now(self) -> int:
        """Return Unix milliseconds."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Return seconds for deadlines and leases."""
        return time.monotonic()


class FileClock:
    """A wall clock read from a file at every use; while the file cannot be read, the last good value holds."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last = SystemClock().now()
        self.now()

    def now(self) -> int:
        """Return Unix milliseconds, as the file states them."""
        with contextlib.suppress(OSError, ValueError):  # in the middle of being replaced: the value before still holds
            self._last = int(self._path.read_text(encoding="ascii").strip())
        return self._last

    def monotonic(self) -> float:
        """Return the machine's own seconds: a simulated day must not expire a lease."""
        return time.monotonic()
