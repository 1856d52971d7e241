"""What is to be kept of answers, on disk before it is told to memory: a file of lines, and a worker that delivers them.

Rule 1: a line is on disk before it is delivered, and leaves the file when memory has it. Delivered twice, it is kept
once.
Rule 2: lines are delivered in their order, so that a conversation stays in order. What an ended proxy left, the spawned
gateway delivers at its start.
"""

import asyncio
import os
from collections import deque
from pathlib import Path
from typing import Any

from gateway.base.logs import Log
from gateway.doors.proxy.child import Child, Down
from gateway.home.spool import STAYS_FOR, line_of, path_of_spool
from gateway.wire.client import CallFailed

MAX_BYTES = 64 * 1024 * 1024
RETRY_SECONDS = 1.0

log = Log("proxy")


class Spool:
    """The spool of one proxy."""

    def __init__(self, home: Path, owner: str, child: Child) -> None:
        self._path, self._child = path_of_spool(home, owner), child
        self._waiting: deque[dict[str, Any]] = deque()
        self._news = asyncio.Event()
        self._settled = asyncio.Event()
        self._settled.set()
        self._size = self._writing = 0
        self.dropped = 0

    @property
    def count(self) -> int:
        """Return how many lines wait."""
        return len(self._waiting)

    async def add(self, finish: dict[str, Any]) -> None:
        """Have a finish on disk, then deliver it; where it cannot be stored it is delivered all the same."""
        line = line_of(finish)
        if self._size + len(line) > MAX_BYTES:
            self.dropped += 1
            log.warning("spool_full", count=self.dropped)
            return
        self._settled.clear()
        self._writing += 1
        try:
            await asyncio.to_thread(self._append, line)
        except OSError as error:
            log.warning("spool_failed", reason=type(error).__name__)
        self._writing -= 1
        self._waiting.append(finish)
        self._news.set()

    def _append(self, line: bytes) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(file, line)
            os.fsync(file)
            self._size += len(line)
        finally:
            os.close(file)

    async def settled(self) -> None:
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
            try:
                await self._child.deliver("capture/finish", self._waiting[0])
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
        self._size = 0
        self._path.unlink(missing_ok=True)
