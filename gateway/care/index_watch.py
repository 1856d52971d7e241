"""The check of derived parts that follows a start, and the repair of unreadable pages and tables.

Rule 1: it begins when the pulse does, never before the first message is answered, and is done once.
Rule 2: a part that cannot be read is reported; only `gateway/drain` waits for it.
Rule 3: the pages of a large file are looked at when a read has failed on one of them, and else by the doctor alone.
"""

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio

from gateway.base.health import Health
from gateway.base.logs import Log
from gateway.home.owners import fact_of_home
from gateway.store.database import Database
from gateway.store.losses import read_losses
from gateway.store.schema_shapes import OWED
from protocol.errors import GatewayError, IndexDamaged, PagesDamaged, TextsGarbled
from protocol.seams.ports import Spawn

COMPONENT = "index"
PAGES = "pages"
"""The part of `index` that is degraded while pages of the file are in no use."""
FEW_BYTES = 32 * 1024 * 1024
"""A start reads all pages of a file up to this size: some 50 ms, on a thread of its own."""
TRIES = 3
"""Repairs of pages before a part that still cannot be read is reported as such."""

log = Log("index")

T = TypeVar("T")


def reporter(health: Health, part: str) -> Callable[[Sequence[str], bool], None]:
    """Return a function that reports a part's index: its first reason, a failed repair, or that it is whole."""

    def report(reasons: Sequence[str], has_failed: bool) -> None:  # noqa: FBT001  # a port without names
        if reasons:
            health.degrade(COMPONENT, "repair_failed" if has_failed else reasons[0], part)
        else:
            health.recover(COMPONENT, key=part)

    return report


class IndexWatch:
    """The checks of the houses' indexes, one after the other, and the repair of unreadable pages."""

    def __init__(
        self,
        *,
        db: Database,
        looks: Mapping[str, Callable[[], Awaitable[object]]],
        health: Health,
        spawn: Spawn,
        queue_repairs: Callable[[], Awaitable[None]],
        hurry_repairs: Callable[[], Awaitable[None]],
        is_alone: Callable[[], bool],
        copies: Path,
        restored: Sequence[str] = (),
    ) -> None:
        self._db = db
        self._looks = looks
        self._health = health
        self._spawn = spawn
        self._queue_repairs = queue_repairs
        self._hurry_repairs = hurry_repairs
        self._is_alone = is_alone
        self._copies = copies
        self._restored = restored
        self._ended: anyio.Event | None = None
        """Set once the checks are over; None before they begin."""
        self._mending = anyio.Lock()
        self._at_work = 0
        """Repairs of damage that a read or a write met."""
        self._repairs = 0
        """Works of `beyond_damage`, which mend the damage that they meet themselves."""
        self._quiet = anyio.Event()
        """Set, and replaced, when no repair is under way any more."""
        self._is_hopeless = False
        """The last repair found nothing to mend: damage that is met starts no other one."""
        self._has_seen_to_texts = False
        """Texts that are no UTF-8 were mended once: what is met again could not be, and would be tried without end."""
        self._has_begun_anew = False
        """Pages are in no use since this process began parts anew: it does not make the file anew itself."""
        db.damages.connect(self._on_damage)

    def begin(self) -> None:
        """Begin the checks, once."""
        if self._ended is None:
            self._ended = anyio.Event()
            self._spawn(self._run, "index_watch")

    async def wait_ended(self) -> None:
        """Return when the checks and the repair of pages are over."""
        if self._ended is not None:
            await self._ended.wait()
        while self.is_at_work:
            await self._quiet.wait()

    @property
    def is_at_work(self) -> bool:
        """Return whether damage that a read or write met is being repaired."""
        return self._at_work > 0

    @contextmanager
    def _repairing(self) -> Generator[None]:
        self._repairs += 1
        try:
            yield
        finally:
            self._repairs -= 1

    async def beyond_damage(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do work that may meet an unreadable page, and return its result; mend the page and begin again then."""
        for _ in range(TRIES):
            try:
                with self._repairing():
                    return await work()
            except PagesDamaged:
                if not await self.mend_pages():
                    break  # another task has mended it meanwhile, or nothing does: the last try says which
        return await work()

    def _on_damage(self, failure: IndexDamaged) -> None:
        """Start the repair of damage that a read or a write met; a repair under way handles its own.

        A read of a text that is no UTF-8 goes on, so that no repair meets it: these are seen to once.
        """
        is_of_texts = isinstance(failure, TextsGarbled)
        if self._has_seen_to_texts if is_of_texts else (self._repairs or self._at_work or self._is_hopeless):
            return
        self._has_seen_to_texts |= is_of_texts
        self._at_work += 1  # from now on, and not when the task begins: `gateway/drain` waits for it
        self._spawn(partial(self._see_to, failure), "index_damage")

    async def _see_to(self, failure: IndexDamaged) -> None:
        try:
            if isinstance(failure, TextsGarbled):
                await self.mend_pages()
            elif isinstance(failure, PagesDamaged):
                self._is_hopeless = not await self.mend_pages()
            else:
                await self._queue_repairs()
        except GatewayError as error:
            log.warning("mend_failed", reason=error.reason)
        finally:
            self._at_work -= 1
            if not self._at_work:
                self._quiet.set()
                self._quiet = anyio.Event()

    async def mend_pages(self, *, reads_texts: bool = True) -> bool:
        """Begin unreadable parts anew and queue the repair of derived ones; return whether there were any."""
        async with self._mending:
            damage = await self._db.look_at_pages(reads_texts=reads_texts)
            try:
                begun, losses = await self._db.mend_pages(damage, self._copies)
            except GatewayError:
                if damage.kept:
                    log.error("damaged_pages", tables=",".join(damage.kept))  # noqa: TRY400  # the disk's, not ours
                    self._health.degrade("storage", "damaged_pages", ",".join(damage.kept))
                raise
            if begun:
                log.warning("begun_anew", names=",".join(begun))
                if damage.derived or damage.indexes:
                    self._has_begun_anew = True
                    self._health.degrade(COMPONENT, "damaged_pages", PAGES)
                else:
                    self._health.degrade(COMPONENT, "schema_restored", "schema")
            if begun or losses:
                await self.report_losses()
                await self._queue_repairs()
                self._health.recover(COMPONENT, key="schema")
            return bool(begun or losses)

    async def report_losses(self) -> None:
        """Report what tables with a meaning lost, until a person has taken note of it. Raises `GatewayError`."""
        for loss in await self._db.read(read_losses):
            reason = "rows_lost" if loss.hit else "table_lost"
            if self._health.degrade("storage", reason, f"{loss.table}: {loss.names}" if loss.hit else loss.table):
                log.error(reason, table=loss.table, rows=loss.names, aside=loss.aside)

    async def _run(self) -> None:
        if self._restored:
            log.warning("schema_restored", names=",".join(self._restored))
            self._health.degrade(COMPONENT, "schema_restored", "schema")
        try:
            await self._look_at_few_pages()
            await self._repair_restored()
            await self._report_earlier_losses()
            await self._make_anew()  # after the look, because a damaged page would hinder it
            for part, look in self._looks.items():
                try:
                    if await self.beyond_damage(look):  # a repair that an earlier process failed at is tried now
                        await self._hurry_repairs()
                except GatewayError as error:
                    log.warning("look_failed", part=part, reason=error.reason)
                    self._health.degrade(COMPONENT, "unreadable", part)
        finally:
            self._health.recover(COMPONENT, key="schema")  # the look has found whatever was wrong meanwhile
            if self._ended is not None:
                self._ended.set()

    async def _look_at_few_pages(self) -> None:
        """Read the pages of a small file: that takes less time than to meet damaged ones by reads."""
        try:
            if self._db.sizes()[0] <= FEW_BYTES:
                await self.mend_pages(reads_texts=False)
        except GatewayError as error:
            log.warning("mend_failed", reason=error.reason)

    async def _repair_restored(self) -> None:
        """Queue repairs where the start made lost tables again, empty: what others tell of them is put into them."""
        if self._restored:
            try:
                await self._queue_repairs()
            except GatewayError as error:
                log.warning("mend_failed", reason=error.reason)

    async def _report_earlier_losses(self) -> None:
        try:
            await self.report_losses()
        except GatewayError as error:
            log.warning("look_failed", part="losses", reason=error.reason)

    async def _make_anew(self) -> None:
        """Make the file anew where an earlier process left pages in no use, and no other process is in the home."""
        try:
            if await self._db.read(lambda tx: fact_of_home(tx, OWED)) is None:
                return
            self._health.degrade(COMPONENT, "damaged_pages", PAGES)
            if self._is_alone() and not self._has_begun_anew:
                await self._db.make_anew()
                self._health.recover(COMPONENT, key=PAGES)
        except GatewayError as error:
            log.warning("make_anew_failed", reason=error.reason)
