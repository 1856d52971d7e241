"""The last step of an erase: no byte of the database file that means nothing may still hold what it once meant.

Rule 1: only bytes that SQLite never reads are written: the room between a page's directory and its cells, and the cells that
it has freed. A crash in the middle leaves nothing worse than room that is not wiped yet.
Rule 2: `secure_delete` overwrites what is deleted where it stands now. When pages are balanced, copies of cells stay behind in
the free room of the page that they left; those are what this is for.
"""

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path

import apsw

from gateway.database import Database
from gateway.logs import Log
from gateway.sqlite import Handle, Transaction, connect, give_up, touch

B_TREE_PAGES = frozenset({2, 5, 10, 13})
"""The first byte of index and table pages. Other pages begin with a page number, so with a zero while it is below `MOST_PAGES`."""
MOST_PAGES = 1 << 24  # 64 GiB of file; a larger one is not wiped, and its receipts stay `pending`
INTERIOR_PAGES = frozenset({2, 5})
FILE_HEADER = 100
FREE_BLOCK_HEADER = 4
BATCH_BYTES = 1 << 20
WAIT_MS = 2000  # a writer that holds the file for longer makes the receipt `pending`
TRIES = 5
"""Each time somebody may write between the emptying of the log and the wiping; who writes all the time leaves the receipt `pending`."""

log = Log("wiping")


class OvertakenError(Exception):
    """Somebody wrote since the log was emptied."""


def free_room(page: bytes, number: int, usable: int) -> Iterator[tuple[int, int]]:
    """Ranges of a page that mean nothing to SQLite."""
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


def leftovers(page: bytes, number: int, usable: int) -> list[tuple[int, int]]:
    """The free ranges of a page that hold something."""
    return [(a, b) for a, b in free_room(page, number, usable) if page.count(0, a, b) != b - a]


def _wipe_pages(file: apsw.VFSFile) -> int:
    """Fill the free room of every page with zeros; how many pages had something there."""
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
            found = leftovers(page, first + place // size + 1, usable)
            for start, end in found:
                file.xWrite(bytes(end - start), first * size + place + start)  # pyright: ignore[reportUnknownMemberType]
            wiped += bool(found)
    if wiped:
        file.xSync(apsw.SQLITE_SYNC_FULL)
    return wiped


def _wipe_alone(connection: Handle, path: Path, vfs: str | None) -> bool:
    """Wipe while nobody can write; False where the file is too large. Raises `OvertakenError`."""
    if connection.execute("PRAGMA page_count").fetchall()[0][0] >= MOST_PAGES:
        return False
    connection.execute("BEGIN IMMEDIATE").fetchall()
    if path.with_name(path.name + "-wal").stat().st_size:  # a page may be newer in the log, and be moved while we write
        connection.execute("ROLLBACK").fetchall()
        raise OvertakenError
    # opened by SQLite itself: closing the file by other means would drop the locks that this process holds on it
    file = apsw.VFSFile(vfs or "", str(path), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE, 0])
    try:
        wiped = _wipe_pages(file)
    finally:
        file.xClose()
    if wiped:  # any commit has every connection forget the pages that it keeps in memory
        touch(Transaction(connection))
    connection.execute("COMMIT").fetchall()
    return True


def _wipe(path: Path, vfs: str | None) -> bool:
    connection: Handle = None
    try:
        connection = connect(path, synchronous="full", vfs=vfs, creates=False)
        connection.set_busy_timeout(WAIT_MS)
        return _wipe_alone(connection, path, vfs)
    except apsw.BusyError:
        return False
    except (apsw.Error, OSError) as failure:
        log.warning("wipe_failed", type=type(failure).__name__)
        return False
    finally:
        if connection is not None:
            give_up(connection)


async def wipe(db: Database) -> bool:
    """Empty the log into the file and wipe its free room; False while another reader or writer is in the way."""
    loop = asyncio.get_running_loop()
    for _ in range(TRIES):
        if not await db.truncate_wal():
            return False
        with contextlib.suppress(OvertakenError):
            return await loop.run_in_executor(None, _wipe, db.path, db.vfs) and await db.truncate_wal()
    return False
