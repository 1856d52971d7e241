"""The spool: answers on disk until memory has them. A file of lines, and a worker that delivers them.

Rule 1: a line is on disk before it is delivered, and leaves the file when memory has it. Delivered twice, it is kept
once.
Rule 2: lines are delivered in their order, so that a conversation stays in order. What an ended proxy left, the spawned
gateway delivers at its start.
Rule 3: lines that a gateway took before it forgot something are not delivered any more: it has done so.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from gateway.base.logs import Log
from gateway.doors.proxy.child import Child, Down
from gateway.home.spool import STAYS_FOR, OwnFile, line_of
from gateway.wire.client import CallFailed

MAX_BYTES = 64 * 1024 * 1024
RETRY_SECONDS = 1.0

log = Log("proxy")


class _Waiting(NamedTuple):
    """A finish that waits, and the number of the file that holds its line; None where none could be written."""

    finish: dict[str, Any]
    file: int | None


class Spool:
    """The spool of one proxy."""

    def __init__(self, home: Path, owner: str, child: Child) -> None:
        self._own, self._child = OwnFile(home, owner), child
        self._waiting: deque[_Waiting] = deque()
        self._news = asyncio.Event()
        self._settled = asyncio.Event()
        self._settled.set()
        self._writing = 0
        self.dropped = 0

    @property
    def count(self) -> int:
        """Return how many lines wait."""
        return len(self._waiting)

    async def add(self, finish: dict[str, Any], note_written: Callable[[], None]) -> None:
        """Have a finish on disk, then deliver it; where it cannot be stored it is delivered all the same.

        `note_written` is called once its line outlives this process.
        """
        line = line_of(finish)
        if self._own.size + len(line) > MAX_BYTES:
            self.dropped += 1
            self._child.warn("spool_full")
            return
        self._settled.clear()
        self._writing += 1
        number: int | None = None
        try:
            number = await asyncio.to_thread(self._own.append, line)
            note_written()
            await asyncio.to_thread(self._own.sync, number)
        except OSError:
            self._child.warn("spool_failed")
        self._writing -= 1
        self._waiting.append(_Waiting(finish, number))
        self._news.set()

    async def wait_until_delivered(self) -> None:
        """Wait until everything is delivered."""
        await self._settled.wait()

    async def run(self) -> None:
        """Deliver until cancelled."""
        while True:
            if not self._waiting:
                self._news.clear()
                if not self._writing:
                    self._settle()
                await self._news.wait()
                continue
            await self._child.live.wait()
            finish, number = self._waiting[0]
            try:
                if number is None or self._own.holds(number):
                    await self._child.deliver("capture/finish", finish)
            except Down:
                continue
            except CallFailed as failed:
                if failed.reason in STAYS_FOR:
                    await asyncio.sleep(RETRY_SECONDS)
                    continue
                log.warning("capture_refused", reason=failed.reason)
            self._waiting.popleft()

    def _settle(self) -> None:
        """Everything was delivered: the file goes."""
        self._settled.set()
        self._own.remove()
