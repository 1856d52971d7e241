"""The end of a write-ahead log: committed frames may lie behind the place where it can be read no further.

Rule 1: SQLite reports how far it reads; behind that place only the frames' headers are read.
Rule 2: a killed process leaves frames behind the last commit; they are no damage.
"""

import struct
from pathlib import Path

import apsw

from gateway.store.copy import open_to_read
from gateway.store.sqlite import Handle

NOOP = -1
"""SQLite's checkpoint that moves nothing, and returns how many frames of the log are valid."""
HEADER, FRAME_HEADER = 32, 24


def _count_behind_end(connection: Handle, database: Path) -> int:
    """Return how many frames of the log's present salt lie behind its end, up to the last one that ends a commit."""
    log = database.with_name(f"{database.name}-wal")
    try:
        with log.open("rb") as file:
            header = file.read(HEADER)
            if len(header) < HEADER:
                return 0
            connection.execute("PRAGMA schema_version").fetchall()  # the log is read from here on
            valid, _ = connection.wal_checkpoint(mode=NOOP)
            page_size = struct.unpack(">I", header[8:12])[0]
            last, place = 0, max(0, valid)
            while True:
                file.seek(HEADER + place * (page_size + FRAME_HEADER))
                frame = file.read(FRAME_HEADER)
                if len(frame) < FRAME_HEADER:
                    return max(0, last - max(0, valid))
                place += 1
                if frame[8:16] == header[16:24] and frame[4:8] != bytes(4):
                    last = place
    except (OSError, apsw.Error):
        return 0


def count_lost_frames(database: Path) -> int:
    """Return how many frames of committed writes are lost in the log of a database that no process has open.

    Nothing is changed. A process that begins to write during a look leaves frames behind the end that was read; a
    second look reads them, and the smaller number is right: what is lost stays lost.
    """
    lost = _look(database)
    return min(lost, _look(database)) if lost else 0


def _look(database: Path) -> int:
    log = database.with_name(f"{database.name}-wal")
    if not log.is_file() or not database.is_file():
        return 0
    try:
        with open_to_read(database, leaves_no_trace=True) as connection:
            return _count_behind_end(connection, database)
    except apsw.Error:  # opening it reports the error
        return 0
