"""Answers that ended chat proxies left in the spool. Any gateway of the home delivers them, at its start or when asked.

Rule 1: one process of the home delivers at a time; a file is removed when memory has all of it, and an answer that is
delivered twice is stored once.
Rule 2: a message that is captured waits for what was left at the start, so that a conversation stays in order.
Rule 3: before something is forgotten or backed up, what living proxies hold is delivered as well: those words are in
no table of the home yet.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import msgspec

from gateway.base.logs import Log
from gateway.home.folder import Home
from gateway.home.owners import hold_lock_in_turn
from gateway.home.spool import STAYS_FOR, SpoolLine, drop_aside, find_spools, put_aside, read_spool, take_living
from protocol.capture.calls import CaptureFinishParams
from protocol.errors import GatewayError
from protocol.methods import Bound
from protocol.seams.ports import Spawn

LOCK = "spool.lock"
CAPTURING = frozenset({"capture/prepare", "capture/finish", "capture/ingest"})
"""Methods that wait for what was left at the start."""
FORGETTING = frozenset({"memory/forget", "thread/delete", "workspace/delete"})
"""Methods before which what proxies hold is delivered."""
START_SECONDS = 1.0
"""The longest that a start waits for what was left, which takes some hundred answers. The rest is delivered while the
process serves."""

log = Log("spool")


class LeftAnswers:
    """Delivers what ended proxies left."""

    def __init__(self, home: Home, finish: Callable[[CaptureFinishParams], Awaitable[object]]) -> None:
        self._home, self._finish = home, finish
        self._delivering = anyio.Lock()
        self._first_delivery: anyio.Event | None = None
        """Set once the delivery of what was left at the start has ended; None where nothing was left."""

    async def deliver(self, *, takes_living: bool = False) -> int:
        """Deliver what ended proxies left, with `takes_living` what living ones hold as well; return how many answers.

        What cannot be delivered now stays, and is logged.
        """
        async with self._delivering:
            try:
                if takes_living and not self._home.is_read_only:
                    await anyio.to_thread.run_sync(take_living, self._home.root)
                return await self._deliver_all()
            except GatewayError as error:
                log.warning("spool_stays", reason=error.reason)
            except OSError as error:
                log.warning("spool_stays", reason=type(error).__name__)
            return 0

    async def begin(self, spawn: Spawn) -> None:
        """Begin to deliver what was left, and wait a moment for it."""
        if await anyio.to_thread.run_sync(self._is_left):
            ended = self._first_delivery = anyio.Event()
            spawn(partial(self._deliver_first, ended), "spool")
            with anyio.move_on_after(START_SECONDS):
                await ended.wait()

    async def _deliver_first(self, ended: anyio.Event) -> None:
        try:
            await self.deliver()
        finally:
            ended.set()

    def bound(self, entry: Bound) -> Bound:
        """Return the method; one of `CAPTURING` or `FORGETTING`, or a drain, comes after the delivery that it needs."""
        name = entry.method.name
        if name not in CAPTURING | FORGETTING | {"gateway/drain"}:
            return entry

        async def call(params: Any) -> Any:
            if name in CAPTURING:
                await self._wait_for_first_delivery()
            else:
                await self.deliver(takes_living=name in FORGETTING)
            if name == "memory/forget" and params.mode == "erase" and not params.dry_run:
                await anyio.to_thread.run_sync(self._drop_torn)
            return await entry.call(params)

        return Bound(entry.method, call)

    async def _wait_for_first_delivery(self) -> None:
        if self._first_delivery is not None:
            await self._first_delivery.wait()

    def _drop_torn(self) -> None:
        """Remove torn lines: none can be delivered, and a torn line may hold the words that are erased."""
        try:
            drop_aside(self._home.root)
        except OSError as error:
            log.warning("spool_stays", reason=type(error).__name__)

    async def _deliver_all(self) -> int:
        """Deliver the files of ended proxies; return how many answers they held. Raises `GatewayError`, `OSError`."""
        root, count = self._home.root, 0
        if self._home.is_read_only or not await anyio.to_thread.run_sync(self._is_left):
            return 0
        async with hold_lock_in_turn(self._home.run / LOCK):
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
        """Store an answer in memory; one that is refused for good is logged and dropped.

        Raises `GatewayError` where it must be delivered again later.
        """
        try:
            await self._finish(msgspec.convert(line.finish, CaptureFinishParams))
        except msgspec.ValidationError:
            log.warning("capture_refused", reason="invalid_params")
        except GatewayError as error:
            if error.reason in STAYS_FOR:
                raise
            log.warning("capture_refused", reason=error.reason)
