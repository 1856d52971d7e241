"""What lies beneath the houses: the home, opened, with its configuration, database, keys and this process's own life.

Rule 1: each step that can fail before the first message has its exit code and one clear line for a person.
"""

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gateway.base import logs
from gateway.base.clock import FileClock, SystemClock
from gateway.base.ids import SortableIds
from gateway.home.config import ConfigError, ConfigStore
from gateway.home.folder import Home
from gateway.home.keys import HomeKey
from gateway.home.owners import SQL, Owners, Visitor, fact_of_home, living
from gateway.secrets.scanner import RuleScanner
from gateway.store.copy import version
from gateway.store.database import Database
from gateway.store.log_end import frames_lost
from gateway.store.migrations import migrate, require_current
from gateway.store.reserved_space import Ballast
from gateway.store.sqlite import StoreFailed
from protocol.errors import GatewayError
from protocol.seams.ports import Clock, Tx

log = logs.Log("home")

EXIT_UNUSABLE = 69
EXIT_CONFIG = 78


@dataclass(frozen=True, kw_only=True)
class Foundations:
    """What exists before any house does: the home, opened."""

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
    """Frames of the write-ahead log that hold commits and can be reached no more."""


def clock_of(path: Path | None) -> Clock:
    """The wall clock, or the file that stands in for it."""
    return FileClock(path) if path is not None else SystemClock()


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the command line says."""

    home: Path
    config: Path | None = None
    clock_file: Path | None = None
    log_level: str = "info"
    speaks: bool = True
    """Whether the log goes to stderr as well: not where a person reads that."""
    refuses_unknown_keys: bool = False
    """Whether a setting that does not exist ends the process: what serves a client starts, and says so to it."""


class UnusableError(Exception):
    """The process cannot begin: an exit code and one line for a person."""

    def __init__(self, code: int, line: str, reason: str | None = None) -> None:
        self.code = code
        self.line = line
        self.reason = reason
        super().__init__(line)


@contextmanager
def told_to_a_person() -> Generator[None]:
    """Whatever keeps the process from beginning ends as an `UnusableError`."""
    try:
        yield
    except ConfigError as error:
        raise UnusableError(EXIT_CONFIG, f"configuration: {error}") from error
    except GatewayError as error:
        if error.reason == "invalid_params":
            raise UnusableError(EXIT_CONFIG, error.message) from error
        raise UnusableError(EXIT_UNUSABLE, error.message, error.reason) from error
    except OSError as error:
        raise UnusableError(EXIT_UNUSABLE, f"the home cannot be used ({type(error).__name__})") from error


async def open_home(options: Options) -> Foundations:
    """Open everything that lies beneath the houses. Raises `UnusableError`."""
    os.umask(0o077)
    clock = clock_of(options.clock_file)
    scanner = RuleScanner()
    with told_to_a_person():
        home = Home(options.home)
        config = ConfigStore(options.config or home.root / "config.toml", is_named=options.config is not None)
        if options.refuses_unknown_keys:
            config.require_known()
        logs.configure(None if home.is_read_only else home.logs, options.log_level, scanner.mask, speaks=options.speaks)
        home.child(config.config.memory.capsules_dir, key="memory.capsules_dir")
        # another process writes to the log, or may do so where no lock can be tried
        lost = 0 if home.is_read_only or living(home.run) else frames_lost(home.database)
        database, restored = _opened(home)
        ids = SortableIds(clock)
        owners = (Visitor if home.is_read_only else Owners)(home.run, ids, clock)
        await owners.enter(database)
        key = await _key_of(home, database, ids)
    return Foundations(
        home=home, config=config, clock=clock, ids=ids, database=database, owners=owners, key=key, scanner=scanner,
        restored=restored, lost_frames=lost,
    )  # fmt: skip


def _opened(home: Home) -> tuple[Database, list[str]]:
    """The home's database, and what of its schema was lost; where the disk has no room even to open it, the room that is kept for forgetting is given up."""
    if home.is_read_only:
        database = Database(home.database, is_read_only=True)
        try:
            require_current(version(home.database))
        except GatewayError:
            database.close()
            raise
        return database, []
    ballast = Ballast(home.ballast)

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
    """The home's key: of a new home a new one, of another one that which it was made with."""
    home_id, key_id = await database.read(lambda tx: (fact_of_home(tx, "home_id"), fact_of_home(tx, "key_id")))
    is_new = home_id is None and not home.is_read_only
    key = HomeKey.load(home.keys) if is_new else HomeKey.known(home.keys, key_id)
    if key.is_lost:
        log.error("key_lost")
    elif key_id is None and not home.is_read_only:
        await database.write(lambda tx: _name_home(tx, home_id or ids.new("home"), key.id))
    return key


async def renew_key(base: Foundations) -> None:
    """Give a home that has lost its key a new one, for the processes that start from now on."""
    key = HomeKey.renew(base.home.keys)
    await base.database.write(lambda tx: tx.run(SQL["put_home"], {"name": "key_id", "value": key.id}))


def _name_home(tx: Tx, home_id: str, key_id: str) -> None:
    for name, value in (("home_id", home_id), ("key_id", key_id)):
        if fact_of_home(tx, name) is None:  # else another process was first
            tx.run(SQL["put_home"], {"name": name, "value": value})
