"""Who waits for an answer, and work that lets them go first.

Rule 1: courtesy is bounded: work that always finds somebody waiting still goes on, only slower.
"""

from collections.abc import Generator
from contextlib import contextmanager

import anyio

COURTESY_SECONDS = 0.1
"""A group of index jobs takes about 30 ms of the same interpreter: beside a stream of searches it gets a quarter of the time."""


class Foreground:
    """Counts those who wait."""

    def __init__(self) -> None:
        self._waiting = 0
        self._nobody = anyio.Event()

    @contextmanager
    def asked(self) -> Generator[None]:
        """Somebody waits until this ends."""
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._nobody.set()
                self._nobody = anyio.Event()

    async def let_pass(self) -> None:
        """Return when nobody waits, or after `COURTESY_SECONDS`."""
        if self._waiting:
            with anyio.move_on_after(COURTESY_SECONDS):
                await self._nobody.wait()
