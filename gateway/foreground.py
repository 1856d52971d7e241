"""Who waits for an answer, and work that lets them go first.

Rule 1: courtesy is bounded: work that always finds somebody waiting still goes on, only slower.
Rule 2: a read for what a person waits for is served as if it had been asked a little earlier, so that no stream of them shuts others out.
"""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

import anyio

COURTESY_SECONDS = 0.1
"""A group of index jobs takes about 30 ms of the same interpreter: beside a stream of searches it gets a quarter of the time."""
HEAD_START_SECONDS = 0.1
"""What a search is asked earlier by: more than other requests of one application have to do together."""

_is_waited_for: ContextVar[bool] = ContextVar("is_waited_for", default=False)


def head_start() -> float:
    """The seconds by which a read goes before others, for whom it is made."""
    return HEAD_START_SECONDS if _is_waited_for.get() else 0.0


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
