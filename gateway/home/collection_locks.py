"""Locks that say which process of a home watches or removes a collection; they go with the process."""

from pathlib import Path
from urllib.parse import quote

from filelock import FileLock, Timeout


class CollectionFileLocks:
    """The locks of a home's collections, each a file of its run folder. Satisfies `CollectionLocks`."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._held: dict[str, FileLock] = {}

    def take(self, name: str) -> bool:
        """Take a lock; return whether this process has it."""
        if name in self._held:
            return True
        lock = FileLock(
            self._run / f"collection-{quote(name, safe='')}.lock", timeout=0, mode=0o600, thread_local=False
        )
        try:
            lock.acquire()
        except (Timeout, OSError):
            return False
        self._held[name] = lock
        return True

    def release(self, name: str) -> None:
        """Let another process take a lock."""
        lock = self._held.pop(name, None)
        if lock is not None:
            lock.release()
