"""Locks that say which process of a home watches a collection; they go with the process."""

from pathlib import Path
from urllib.parse import quote

from filelock import FileLock, Timeout


class WatchLocks:
    """The locks of a home's watched collections."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._held: dict[str, FileLock] = {}

    def take(self, collection_id: str) -> bool:
        """Take the lock of a collection; return whether this process has it."""
        if collection_id in self._held:
            return True
        lock = FileLock(
            self._run / f"watch-{quote(collection_id, safe='')}.lock", timeout=0, mode=0o600, thread_local=False
        )
        try:
            lock.acquire()
        except (Timeout, OSError):
            return False
        self._held[collection_id] = lock
        return True

    def release(self, collection_id: str) -> None:
        """Let another process watch the collection."""
        lock = self._held.pop(collection_id, None)
        if lock is not None:
            lock.release()
