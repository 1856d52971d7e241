"""Room on the disk that is kept for forgetting.

Rule 1: even a deletion must write before it can free anything, so on a full disk the gateway could not forget;
this file is given up then, and made anew as soon as there is room.
"""

import os
from pathlib import Path

from gateway.base.durable_file import sync_folder

BLOCK_BYTES = 1024 * 1024
RESERVED_BYTES = 5 * BLOCK_BYTES
"""A log of `CHECKPOINT_PAGES` moves into the file, which may grow by as much; then its own room is free, too.

A forgetting changes some thirty pages of 4 KiB, a step of the removal of a collection a few hundred.
"""


class ReservedSpace:
    """One file of random bytes, so that no file system stores it smaller than it is.

    The block repeats: file systems that compress look at 128 KiB at once.
    """

    def __init__(self, path: Path, size: int = RESERVED_BYTES) -> None:
        self._path = path
        self._size = size

    @property
    def is_kept(self) -> bool:
        """Return whether the file is there at its full size."""
        try:
            return self._path.stat().st_size >= self._size
        except OSError:
            return False

    def keep(self) -> None:
        """Reserve the room, anew where it is reserved already: that it succeeds proves that the disk is not full."""
        fresh = self._path.with_name(self._path.name + ".new")  # one name, so that a crash leaves one file at most
        try:
            with fresh.open("wb") as file:
                block = os.urandom(min(self._size, BLOCK_BYTES))
                for _ in range(self._size // len(block)):
                    file.write(block)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(self._path)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise
        sync_folder(self._path.parent)

    def release(self) -> bool:
        """Give the room back to the disk; return whether there was any."""
        try:
            self._path.unlink()
        except OSError:
            return False
        return True
