"""The last step of an erase: bytes of the database file that are in no use must not hold what they once held.

Rule 1: only bytes that SQLite never reads are written: the room between a page's directory and its cells, and the cells
that it has freed. A crash in the middle leaves nothing worse than room that is not wiped yet.
Rule 2: `secure_delete` overwrites what is deleted where it stands now. When pages are balanced, copies of cells stay
behind in the free room of the page that they left; those are what this is for.
"""

import asyncio
import contextlib
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import apsw

from gateway.base.logs import Log
from gateway.store.database import Database
from gateway.store.file import ask_again, patience
from gateway.store.sqlite import Handle, Transaction, connect, give_up, touch

B_TREE_PAGES = frozenset({2, 5, 10, 13})
"""The first byte of index and table pages.

Other pages begin with a page number, so with a zero while it is below `MOST_PAGES`.
"""
MOST_PAGES = 1 << 24  # 64 GiB of file; a larger one is not wiped, and its receipts stay `pending`
INTERIOR_PAGES = frozenset({2, 5})
FILE_HEADER = 100
FREE_BLOCK_HEADER = 4
BATCH_BYTES = 1 << 20
PATIENCE_SECONDS = 2.0
"""The time that an erase asks for the file, and that other writers wait for it; the rest is left to a job."""

log = Log("wiping")


class HeldUpError(Exception):
    """Another reader or checkpoint keeps the log from being moved into the file."""


def free_room(page: bytes, number: int, usable: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a page, as start and end, that SQLite never reads."""
    start = FILE_HEADER if number == 1 else 0
    if page[start] not in B_TREE_PAGES:
        return
    directory = start + (12 if page[start] in INTERIOR_PAGES else 8)
    cells = int.from_bytes(page[start + 3 : start + 5])
    content = int.from_bytes(page[start + 5 : start + 7]) or 1 << 16
    if directory + 2 * cells <= content <= usable:
        yield directory + 2 * cells, content
    block = int.from_bytes(page[start + 1 : start + 3])
    while content <= block <= usable - FREE_BLOCK_HEADER:
        following, size = int.from_bytes(page[block : block + 2]), int.from_bytes(page[block + 2 : block + 4])
        yield block + FREE_BLOCK_HEADER, min(block + size, usable)
        if following <= block:
            return
        block = following


def find_leftovers(page: bytes, number: int, usable: int) -> list[tuple[int, int]]:
    """Return the free ranges of a page, as start and end, that hold other bytes than zeros."""
    return [(a, b) for a, b in free_room(page, number, usable) if page.count(0, a, b) != b - a]


def _wipe_pages(file: apsw.VFSFile) -> int:
    """Fill the free room of every page with zeros; return how many pages had something there."""
    header = file.xRead(FILE_HEADER, 0)
    size = int.from_bytes(header[16:18])
    size = 1 << 16 if size == 1 else size
    usable = size - header[20]
    length, wiped = file.xFileSize(), 0
    per_batch = max(1, BATCH_BYTES // size)
    for first in range(0, length // size, per_batch):
        amount = min(per_batch * size, length - first * size)
        batch = file.xRead(amount, first * size)
        for place in range(0, len(batch) - size + 1, size):
            page = batch[place : place + size]
            found = find_leftovers(page, first + place // size + 1, usable)
            for start, end in found:
                file.xWrite(bytes(end - start), first * size + place + start)  # pyright: ignore[reportUnknownMemberType]
            wiped += bool(found)
    if wiped:
        file.xSync(apsw.SQLITE_SYNC_FULL)
    return wiped


def _move_log(connection: Handle, ends: float) -> None:
    """Move the whole log into the file, while no other connection can write. Raises `HeldUpError`."""
    while True:
        with contextlib.suppress(apsw.BusyError):  # another process is at it
            in_log, moved = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            if moved == in_log:
                return
        if not ask_again(ends):
            raise HeldUpError


def _wipe_alone(connection: Handle, mover: Handle, path: Path, vfs: str | None, ends: float) -> bool:
    """Wipe while no other connection can write; return False for a file that is too large. Raises `HeldUpError`."""
    if connection.execute("PRAGMA page_count").fetchall()[0][0] >= MOST_PAGES:
        return False
    connection.execute("BEGIN IMMEDIATE").fetchall()
    _move_log(mover, ends)  # no page is newer in the log from here on, so none is moved while we write
    # opened by SQLite itself: closing the file by other means would drop the locks that this process holds on it
    file = apsw.VFSFile(vfs or "", str(path), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE, 0])
    try:
        wiped = _wipe_pages(file)
    finally:
        file.xClose()
    if wiped:  # any commit makes every connection drop the pages that it keeps in memory
        touch(Transaction(connection))
    connection.execute("COMMIT").fetchall()
    return True


@contextlib.contextmanager
def _connection(path: Path, vfs: str | None) -> Generator[Handle]:
    connection = connect(path, synchronous="full", vfs=vfs, creates=False)
    try:
        yield connection
    finally:
        give_up(connection)


def _wipe(path: Path, vfs: str | None) -> bool:
    ends = time.monotonic() + PATIENCE_SECONDS
    try:
        with _connection(path, vfs) as connection, _connection(path, vfs) as mover:
            connection.set_busy_handler(patience(ends))
            return _wipe_alone(connection, mover, path, vfs, ends)
    except (apsw.BusyError, HeldUpError):
        return False
    except (apsw.Error, OSError) as failure:
        log.warning("wipe_failed", type=type(failure).__name__)
        return False


async def wipe(db: Database) -> bool:
    """Wipe the file's free room and empty the log; return False while another reader or writer is in the way."""
    return await asyncio.get_running_loop().run_in_executor(None, _wipe, db.path, db.vfs) and await db.truncate_wal()
