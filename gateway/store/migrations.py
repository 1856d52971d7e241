"""Schema versions: opens a home's database at the newest version, or leaves it exactly as it was.

Rule 1: a past migration is never edited; the next one is a new function at the end of `MIGRATIONS`.
Rule 2: an older file is copied first; a newer or damaged one is not touched.
"""

import contextlib
from collections.abc import Callable
from pathlib import Path

import apsw
from filelock import FileLock, Timeout

from gateway.store.losses import restore_tables
from gateway.store.schema_shapes import is_of_meaning, lost_shapes, restore_shapes, scripts
from gateway.store.sqlite import BUSY_MS, Handle, Transaction, connect, unavailable
from protocol.errors import Refused, Unavailable

MIGRATE_SECONDS = 30  # a migration of a large home takes seconds; a process that waits longer refuses


def _first(connection: Handle) -> None:
    for script in scripts():
        for _ in connection.execute(script):
            pass


MIGRATIONS: tuple[Callable[[Handle], None], ...] = (_first,)
SCHEMA_VERSION = len(MIGRATIONS)


def version_of(connection: Handle) -> int:
    """Return the version that the file states; 0 for a new one."""
    return int(connection.execute("PRAGMA user_version").fetchall()[0][0])


def read_stored(path: Path) -> tuple[int, list[str]]:
    """Return the version of a file, and the names of the shapes that it lacks at the newest one.

    Nothing is changed: not even the write-ahead log is moved into the file. Raises `Unavailable` for a database that
    is not ours.
    """
    if not path.exists():
        return 0, []
    if not path.is_file():  # a pipe would block for ever
        raise Unavailable(message="gateway.db is not a file; it is left untouched.")
    connection: Handle = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        connection.set_busy_timeout(BUSY_MS)
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        found = own_version(connection)
        with contextlib.suppress(apsw.CorruptError):  # a page of what is derived, which is seen to later
            return found, lost_shapes(Transaction(connection)) if found == SCHEMA_VERSION else []
        return found, []
    finally:
        connection.close()


def own_version(connection: Handle) -> int:
    """Return the version of a database of this product. Raises `Unavailable` for another program's."""
    tables = connection.execute("PRAGMA table_list").fetchall()  # parses the whole schema: a torn one is found here
    version = version_of(connection)
    if version == 0 and any(not name.startswith("sqlite_") for _, name, *_ in tables):
        raise Unavailable(message="gateway.db is another program's database; it is left untouched.")
    return version


def _upgrade(connection: Handle, found: int) -> None:
    connection.execute("BEGIN EXCLUSIVE").fetchall()
    try:
        for number, migrate in enumerate(MIGRATIONS[found:], found + 1):
            migrate(connection)
            connection.execute(f"PRAGMA user_version = {number}").fetchall()
        connection.execute("COMMIT").fetchall()
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK").fetchall()
        raise


def _back_up(connection: Handle, folder: Path, found: int) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    target = folder / f"gateway-before-{SCHEMA_VERSION}-from-{found}.db"
    target.unlink(missing_ok=True)
    connection.execute("VACUUM INTO ?", (str(target),)).fetchall()


def _mend_shapes(path: Path, lost: list[str]) -> None:
    """Make lacking shapes again, tables with a meaning with a note of their loss."""
    connection = connect(path, synchronous="full")
    try:
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)  # the format of a full-text table is a row of its own
        tables = [name for name in lost if is_of_meaning(name)]
        with contextlib.suppress(apsw.CorruptError):  # pages that hinder it are seen to first, and these with them
            restore_tables(connection, tables)
        for name in lost:
            if name not in tables:
                with contextlib.suppress(apsw.Error):  # a home with one index less is slower, not shut
                    restore_shapes(connection, [name])
    finally:
        connection.close()


def require_current(found: int) -> None:
    """Check the version of a home that cannot be brought to another one.

    Raises `Refused("schema_too_new")`, or `Unavailable("storage_read_only")` for one that would have to be upgraded.
    """
    if found > SCHEMA_VERSION:
        raise Refused("schema_too_new")
    if found < SCHEMA_VERSION:
        raise Unavailable("storage_read_only", "The home must be upgraded, and cannot be written.")


def migrate(path: Path, run: Path, backups: Path) -> list[str]:
    """Bring the file to `SCHEMA_VERSION`, alone in the home while it works; return the names of shapes that it lacked.

    Raises `Refused("schema_too_new")`, `Refused("home_locked")`, or `Unavailable` for a damaged file.
    """
    try:
        with FileLock(run / "migrate.lock", timeout=MIGRATE_SECONDS, mode=0o600):
            found, lost = read_stored(path)
            if found > SCHEMA_VERSION:
                raise Refused("schema_too_new")
            if found == SCHEMA_VERSION:
                if lost:
                    _mend_shapes(path, lost)
                return lost
            connection = connect(path, synchronous="full")
            try:
                if found:
                    _back_up(connection, backups, found)
                _upgrade(connection, found)
            finally:
                connection.close()
            return []
    except Timeout as error:
        raise Refused("home_locked") from error
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise Unavailable(message="gateway.db is damaged; it is left untouched. Restore a backup.") from error
    except apsw.Error as error:
        raise unavailable(error) from error
