"""The spool: a file that holds answers until memory has them, and a worker that delivers them.

Rule 1: an answer is on disk before it is delivered. Once all are delivered the file is removed. One that is delivered
twice is kept once.
Rule 2: answers are delivered in their order, so that a conversation stays in order. Those that an ended proxy left, the
spawned gateway takes at its start.
Rule 3: a gateway that forgets something takes the waiting answers first; their file is gone then, and they are not
delivered again.
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
"""The most bytes of the file; an answer beyond them is dropped."""
RETRY_SECONDS = 1.0

log = Log("proxy")


class _Waiting(NamedTuple):
    """The parameters of a waiting `capture/finish`, and the number of the file with its line; None without a file."""

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

    @property
    def count(self) -> int:
        """Return the number of answers that wait."""
        return len(self._waiting)

    async def add(self, finish: dict[str, Any], note_written: Callable[[], None]) -> None:
        """Write a finish to the disk, then queue its delivery, also where it cannot be written.

        `note_written` is called once its line outlives this process. Beyond `MAX_BYTES` the finish is dropped.
        """
        line = line_of(finish)
        if self._own.size + len(line) > MAX_BYTES:
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
        """Deliver what waits, until cancelled."""
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
        """Remove the file, as everything was delivered, and let `wait_until_delivered` return."""
        self._settled.set()
        self._own.remove()
