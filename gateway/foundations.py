"""The foundations of the houses: the home, opened, with its configuration, database, keys and this process's lock.

Rule 1: each step that can fail before the first message has its exit code and one clear line for a person.
"""

import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from msgspec import Struct

from gateway.base import logs
from gateway.base.clock import FileClock, SystemClock
from gateway.base.ids import SortableIds
from gateway.home.config import ConfigStore
from gateway.home.folder import Home
from gateway.home.keys import HomeKey
from gateway.home.owners import SQL, Owners, Visitor, fact_of_home, living_owners
from gateway.home.starting import Options, raising_unusable
from gateway.secrets.scanner import RuleScanner
from gateway.store.copy import read_version
from gateway.store.database import Database
from gateway.store.log_end import count_lost_frames
from gateway.store.migrations import migrate, require_current
from gateway.store.reserved_space import ReservedSpace
from gateway.store.sqlite import StoreFailed
from protocol.errors import GatewayError, PagesDamaged
from protocol.seams.ports import Clock, Tx

log = logs.Log("home")


class Foundations(Struct, frozen=True, kw_only=True):
    """The opened home, before any house is built."""

    home: Home
    config: ConfigStore
    clock: Clock
    ids: SortableIds
    database: Database
    owners: Owners
    key: HomeKey
    scanner: RuleScanner
    restored: Sequence[str] = ()
    """The shapes of the schema that the home had lost."""
    lost_frames: int = 0
    """Frames of the write-ahead log that hold commits and cannot be read any more."""


def clock_of(path: Path | None) -> Clock:
    """Return the wall clock, or the file that stands in for it."""
    return FileClock(path) if path is not None else SystemClock()


async def open_home(options: Options) -> Foundations:
    """Open the home and everything beneath the houses; return it. Raises `UnusableError`."""
    os.umask(0o077)
    clock = clock_of(options.clock_file)
    scanner = RuleScanner()
    with raising_unusable():
        home = Home(options.home)
        config = ConfigStore(options.config or home.root / "config.toml", is_named=options.config is not None)
        if options.refuses_unknown_keys:
            config.require_known()
        logs.configure(
            None if home.is_read_only else home.logs, options.log_level, scanner.mask, uses_stderr=options.uses_stderr
        )
        home.child(config.config.memory.capsules_dir, key="memory.capsules_dir")
        # a read-only home may have a writer that cannot be seen, and a living one writes to the log
        lost = 0 if home.is_read_only or living_owners(home.run) else count_lost_frames(home.database)
        database, restored = _open_database(home)
        ids = SortableIds(clock)
        owners = (Visitor if home.is_read_only else Owners)(home.run, ids, clock)

        async def enter() -> HomeKey:
            await owners.enter(database)
            return await _key_of(home, database, ids)

        key = await _beyond_damage(home, database, enter)
        if lost and len(living_owners(home.run)) > 1:
            lost = 0  # a process that started beside this one was writing; it has looked itself
    return Foundations(
        home=home,
        config=config,
        clock=clock,
        ids=ids,
        database=database,
        owners=owners,
        key=key,
        scanner=scanner,
        restored=restored,
        lost_frames=lost,
    )


async def _beyond_damage(home: Home, database: Database, begin: Callable[[], Awaitable[HomeKey]]) -> HomeKey:
    """Return what `begin` returns; where a damaged page hinders it, mend the pages and begin again."""
    try:
        return await begin()
    except PagesDamaged:
        if home.is_read_only:
            raise
        await database.mend_pages(await database.look_at_pages(reads_texts=True), home.backups)
        return await begin()


def _open_database(home: Home) -> tuple[Database, list[str]]:
    """Return the home's database, and the shapes that its schema had lost.

    On a full disk, where it cannot even be opened, the room that is reserved for forgetting is released.
    """
    if home.is_read_only:
        database = Database(home.database, is_read_only=True)
        try:
            require_current(read_version(home.database))
        except GatewayError:
            database.close()
            raise
        return database, []
    ballast = ReservedSpace(home.ballast)

    def open_it() -> tuple[Database, list[str]]:
        restored = migrate(home.database, home.run, home.backups)
        return Database(home.database, ballast=ballast), restored

    try:
        return open_it()
    except StoreFailed as failure:
        if failure.trouble != "storage_full" or not ballast.release():
            raise
    return open_it()


async def _key_of(home: Home, database: Database, ids: SortableIds) -> HomeKey:
    """Return the home's key: a new one for a new home, else the one with which the home was made."""
    home_id, key_id = await database.read(lambda tx: (fact_of_home(tx, "home_id"), fact_of_home(tx, "key_id")))
    is_new = home_id is None and not home.is_read_only
    key = HomeKey.load(home.keys) if is_new else HomeKey.load_existing(home.keys, key_id)
    if key.is_lost:
        log.error("key_lost")
    elif key_id is None and not home.is_read_only:
        await database.write(lambda tx: _name_home(tx, home_id or ids.new("home"), key.id))
    return key


async def renew_key(base: Foundations) -> None:
    """Make a new key for a home that has lost its own; processes that start from now on use it."""
    key = HomeKey.renew(base.home.keys)
    await base.database.write(lambda tx: tx.run(SQL["put_home"], {"name": "key_id", "value": key.id}))


def _name_home(tx: Tx, home_id: str, key_id: str) -> None:
    for name, value in (("home_id", home_id), ("key_id", key_id)):
        if fact_of_home(tx, name) is None:  # else another process was first
            tx.run(SQL["put_home"], {"name": name, "value": value})
