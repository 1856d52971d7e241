"""What ended chat proxies left in the spool: any gateway of the home delivers it, at its start or when it is asked.

Rule 1: one process of the home delivers at a time; a file goes when memory has all of it, and what is delivered twice
is kept once.
Rule 2: a process delivers before it serves anybody, so that a conversation stays in order; and before it forgets, which
would miss words that are not in the home's tables yet.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.to_thread
import msgspec

from gateway.base.logs import Log
from gateway.home.folder import Home
from gateway.home.owners import held_in_turn
from gateway.home.spool import STAYS_FOR, SpoolLine, drop_aside, find_spools, put_aside, read_spool
from protocol.capture.calls import CaptureFinishParams
from protocol.errors import GatewayError
from protocol.methods import Bound
from protocol.seams.ports import Spawn

LOCK = "spool.lock"
FIRST = frozenset({"gateway/drain", "memory/forget", "thread/delete", "workspace/delete"})
"""Methods before which what is left is delivered."""
START_SECONDS = 10.0
"""How long a start waits for it; the rest is delivered while the process serves."""

log = Log("spool")


class LeftAnswers:
    """Delivers what ended proxies left."""

    def __init__(self, home: Home, finish: Callable[[CaptureFinishParams], Awaitable[object]]) -> None:
        self._home, self._finish = home, finish
        self._delivering = anyio.Lock()

    async def deliver(self) -> int:
        """Return how many answers were delivered; what cannot be delivered now stays, and the log says so."""
        async with self._delivering:
            try:
                return await self._deliver_all()
            except GatewayError as error:
                log.warning("spool_stays", reason=error.reason)
            except OSError as error:
                log.warning("spool_stays", reason=type(error).__name__)
            return 0

    async def begin(self, spawn: Spawn) -> None:
        """Deliver for some seconds; the rest goes on in the background."""
        with anyio.move_on_after(START_SECONDS) as limit:
            await self.deliver()
        if limit.cancelled_caught:
            spawn(self.deliver, "spool")

    def bound(self, entry: Bound) -> Bound:
        """Return a method that has delivered before where it has to."""
        if entry.method.name not in FIRST:
            return entry

        async def call(params: Any) -> Any:
            await self.deliver()
            if entry.method.name == "memory/forget" and params.mode == "erase" and not params.dry_run:
                await anyio.to_thread.run_sync(self._drop_torn)
            return await entry.call(params)

        return Bound(entry.method, call)

    def _drop_torn(self) -> None:
        """Remove torn lines: they can never be kept, and whether they hold the words cannot be told of a torn one."""
        try:
            drop_aside(self._home.root)
        except OSError as error:
            log.warning("spool_stays", reason=type(error).__name__)

    async def _deliver_all(self) -> int:
        """Deliver the files of ended proxies. Raises `GatewayError`, `OSError`."""
        root, count = self._home.root, 0
        if self._home.is_read_only or not await anyio.to_thread.run_sync(self._is_left):
            return 0
        async with held_in_turn(self._home.run / LOCK):
            for file in await anyio.to_thread.run_sync(find_spools, root):
                if not file.is_left:
                    continue
                found = await anyio.to_thread.run_sync(read_spool, file.path)
                for line in found.lines:
                    await self._deliver(line)
                count += len(found.lines)
                await anyio.to_thread.run_sync(put_aside, root, found.torn)
                file.path.unlink(missing_ok=True)
        log.info("spool_delivered", count=count)
        return count

    def _is_left(self) -> bool:
        return any(file.is_left for file in find_spools(self._home.root))

    async def _deliver(self, line: SpoolLine) -> None:
        """Tell memory of an answer. Raises `GatewayError` where it stays."""
        try:
            await self._finish(msgspec.convert(line.finish, CaptureFinishParams))
        except msgspec.ValidationError:
            log.warning("capture_refused", reason="invalid_params")
        except GatewayError as error:
            if error.reason in STAYS_FOR:
                raise
            log.warning("capture_refused", reason=error.reason)
