"""What is to be kept of answers, on disk before it is told to memory: a file of lines, and a worker that delivers them.

Rule 1: a line is on disk before it is delivered, and leaves the file when memory has it. Delivered twice, it is kept
once.
Rule 2: lines are delivered in their order, so that a conversation stays in order.
Rule 3: a torn line is put aside; the others are delivered.
"""

import asyncio
import hashlib
import os
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from gateway.base.logs import Log
from gateway.doors.proxy.child import Child, Down
from gateway.home.owners import is_free
from gateway.wire.client import CallFailed
from protocol.base import encode, encode_sorted

FOLDER = "spool"
MAX_BYTES = 64 * 1024 * 1024
QUARANTINE = "quarantine.jsonl"
RETRY_SECONDS = 1.0
WAITS_FOR = frozenset(
    {"storage_full", "storage_read_only", "unavailable", "overloaded", "home_locked", "turn_in_progress"}
)
"""Reasons after which a line is delivered again later."""

log = Log("proxy")


class SpoolLine(msgspec.Struct, frozen=True):
    """A line of the spool; `sha256` is that of `finish` in sorted JSON."""

    v: int
    sha256: str
    finish: dict[str, Any]


def line_of(finish: dict[str, Any]) -> bytes:
    """Return the line of a finish."""
    digest = hashlib.sha256(encode_sorted(finish)).hexdigest()
    return encode(SpoolLine(1, digest, finish)) + b"\n"


def read_lines(data: bytes) -> Iterator[tuple[bytes, dict[str, Any] | None]]:
    """Yield each line with its finish; None for one that is torn."""
    for line in data.split(b"\n"):
        if not line:
            continue
        try:
            found = msgspec.json.decode(line, type=SpoolLine)
            is_whole = found.sha256 == hashlib.sha256(encode_sorted(found.finish)).hexdigest()
            yield line, found.finish if is_whole else None
        except (msgspec.DecodeError, UnicodeDecodeError):
            yield line, None


class Spool:
    """The spool of one proxy, and those that dead ones left."""

    def __init__(self, home: Path, owner: str, child: Child) -> None:
        self._folder, self._run, self._child = home / FOLDER, home / "run", child
        self._path = self._folder / f"capture-{owner}.jsonl"
        self._waiting: deque[tuple[dict[str, Any], Path | None]] = deque()
        self._news = asyncio.Event()
        self._settled = asyncio.Event()
        self._settled.set()
        self._size = 0
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
        self._waiting.append((finish, None))
        self._settled.clear()
        try:
            await asyncio.to_thread(self._append, line)
        except OSError as error:
            log.warning("spool_failed", reason=type(error).__name__)
        self._news.set()

    def _append(self, line: bytes) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
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
        await asyncio.to_thread(self._take_over)
        while True:
            if not self._waiting:
                self._settle()
                await self._news.wait()
                continue
            await self._child.live.wait()
            finish, left = self._waiting[0]
            try:
                await self._child.deliver("capture/finish", finish)
            except Down:
                continue
            except CallFailed as failed:
                if failed.reason in WAITS_FOR:
                    await asyncio.sleep(RETRY_SECONDS)
                    continue
                log.warning("capture_refused", reason=failed.reason)
            self._waiting.popleft()
            if left is not None:
                left.unlink(missing_ok=True)

    def _settle(self) -> None:
        """Everything was delivered: the file is emptied."""
        self._news.clear()
        self._settled.set()
        self._size = 0
        self._path.unlink(missing_ok=True)

    def _take_over(self) -> None:
        """Take what dead proxies left, oldest first; torn lines are put aside."""
        files = sorted(self._folder.glob("capture-*.jsonl"), key=lambda path: path.stat().st_mtime_ns)
        for path in files:
            owner = path.stem.removeprefix("capture-")
            if path == self._path or not is_free(self._run / f"{owner}.lock"):
                continue
            found = list(read_lines(path.read_bytes()))
            torn = b"".join(line + b"\n" for line, finish in found if finish is None)
            if torn:
                with (self._folder / QUARANTINE).open("ab") as aside:
                    aside.write(torn)
                (self._folder / QUARANTINE).chmod(0o600)
            whole = [finish for _, finish in found if finish is not None]
            for place, finish in enumerate(whole, 1):
                self._waiting.append((finish, path if place == len(whole) else None))
            if not whole:
                path.unlink(missing_ok=True)
        if self._waiting:
            self._settled.clear()
