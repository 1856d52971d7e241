"""A consistent copy of a database that other processes may write to, and reads that change nothing.

Rule 1: the source is opened to be read alone; not even its write-ahead log is moved into it.
Rule 2: the copy is of one snapshot, however long it takes: a writer meanwhile does not make it begin anew.
"""

import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import apsw

from gateway.store.migrations import own_version
from gateway.store.sqlite import Handle, SnapshotTransaction, connect_to_read, unavailable
from promt.patterns import compile_late
from protocol.errors import GatewayError, IndexDamaged, Unavailable
from protocol.seams.ports import Tx

_OF_AN_INDEX = compile_late(r"fts5", re.IGNORECASE)
"""A complaint of SQLite's own check about a full-text index: that is derived, and no reason to restore a backup."""

PAGES_AT_ONCE = 2048  # 8 MiB between two looks at the progress

OnProgress = Callable[[int, int | None], None]


@contextmanager
def open_to_read(path: Path, *, leaves_no_trace: bool) -> Generator[Handle]:
    """Yield a connection that cannot write. Raises what apsw raises."""
    connection = connect_to_read(path, leaves_no_trace=leaves_no_trace)
    try:
        yield connection
    finally:
        connection.close(True)


@contextmanager
def _translating() -> Generator[None]:
    """Raise errors of the store as the contract's errors."""
    try:
        yield
    except apsw.Error as error:
        failure = unavailable(error)
        is_damaged = isinstance(error, (apsw.NotADBError, apsw.CorruptError)) and not isinstance(failure, IndexDamaged)
        raise (Unavailable(message="The database is damaged.") if is_damaged else failure) from error


@contextmanager
def open_snapshot(path: Path) -> Generator[Tx]:
    """Yield one snapshot of a database, to be read. Raises `GatewayError`."""
    with _translating(), open_to_read(path, leaves_no_trace=True) as connection:
        connection.execute("BEGIN").fetchall()
        yield SnapshotTransaction(connection)


def read_version(path: Path) -> int:
    """Return the schema's version without a change to the file. Raises `GatewayError`."""
    with _translating(), open_to_read(path, leaves_no_trace=True) as connection:
        return own_version(connection)


def copy(source: Path, target: Path, on_progress: OnProgress) -> None:
    """Copy a database of any size; call `on_progress` with the pages done and the pages in all.

    Raises `GatewayError`.
    """
    with _translating(), open_to_read(source, leaves_no_trace=False) as connection:
        connection.execute("BEGIN").fetchall()
        connection.execute("PRAGMA schema_version").fetchall()  # from here on the snapshot stands
        copied: Handle = apsw.Connection(str(target))
        try:
            with copied.backup("main", connection, "main") as work:
                while not work.done:
                    work.step(PAGES_AT_ONCE)
                    on_progress(work.page_count - work.remaining, work.page_count)
            copied.execute("PRAGMA journal_mode = delete").fetchall()  # one file, with nothing beside it
        finally:
            copied.close(True)


def find_complaints(path: Path, *, is_thorough: bool) -> list[str]:
    """Return SQLite's complaints about a database's pages, one sentence each; an empty list where it is whole."""
    pragma = "integrity_check(20)" if is_thorough else "quick_check(1)"
    try:
        with open_snapshot(path) as tx:
            rows = [str(row[0]) for row in tx.all(f"PRAGMA {pragma}")]
    except IndexDamaged:  # an index is derived: the checks of its house report it
        return []
    except GatewayError as error:
        return [error.message]
    return [row for row in rows if row != "ok" and not _OF_AN_INDEX.search(row)]
