"""A staging folder, in which something large is made before it is moved to its place; it does not outlive the work.

Rule 1: whoever works in one holds its lock; one whose lock is free was left by a process that was killed, and is
removed by the next that works there.
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
    lock = folder / LOCK
    if not lock.is_file() or not is_free(lock):
        return False
    lock.touch()  # some platforms take a lock's file away with the lock; who comes next still has to know the folder
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
    """Yield a folder beside the place of what is made in it, for nobody else to read."""
    sweep(parent)
    folder = Path(tempfile.mkdtemp(dir=parent, prefix=PREFIX))
    try:
        with hold_lock(folder / LOCK):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
