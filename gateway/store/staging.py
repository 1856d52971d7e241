"""A staging folder, in which something large is made before it is moved to its place; it does not outlive the work.

Rule 1: a process that works in one holds its lock. One whose lock is free was left by a process that was killed; the
next process that works there removes it.
Rule 2: a folder without our lock in it is not ours.
"""

import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from gateway.home.owners import hold_lock, is_free

PREFIX = ".pioneer-staging."
LOCK = "lock"


def _is_left(folder: Path) -> bool:
    """Return whether a killed process left the folder; its lock's file is kept as the mark that the folder is ours."""
    lock = folder / LOCK
    if not lock.is_file() or not is_free(lock):
        return False
    lock.touch()  # some platforms take a lock's file away with the lock
    return True


def find_stale(parent: Path) -> list[Path]:
    """Return the folders that killed processes left."""
    return [folder for folder in parent.glob(f"{PREFIX}*") if _is_left(folder)] if parent.is_dir() else []


def sweep(parent: Path) -> int:
    """Remove the folders that killed processes left; return how many there were."""
    found = find_stale(parent)
    for folder in found:
        shutil.rmtree(folder, ignore_errors=True)
    return len(found)


@contextmanager
def staging(parent: Path) -> Generator[Path]:
    """Yield a new folder in `parent`, which only this user can read; it is removed at the end of the block."""
    sweep(parent)
    folder = Path(tempfile.mkdtemp(dir=parent, prefix=PREFIX))
    try:
        with hold_lock(folder / LOCK):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
