"""The processes that live in a home, its owners.

An owner holds an operating-system lock, which the system releases when the process ends: no time-out is needed.
"""

import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Generator
from pathlib import Path

from filelock import FileLock, Timeout

from protocol.seams.ports import Clock, Ids, Transact, Tx
from protocol.statements import Statements

SQL = Statements("gateway")

LOOK_SECONDS = 0.05
"""Between two looks whether another process has released a lock."""

LOOKED_AT_SECONDS = 5.0
"""The longest that an owner waits for its own lock: another process that looks who lives may hold it for a moment."""

SECOND_NS = 1_000_000_000
COARSEST_NS = 3 * SECOND_NS
"""Two changes of a folder this close may carry the same time: the coarsest file systems count in steps of 2 s."""
FINE_NS = SECOND_NS // 10
"""The same where a time has a part of a second: such a file system counts in steps of 10 ms or less."""


def fact_of_home(tx: Tx, name: str) -> str | None:
    """Return a fact of the home by name; None where it is not stored."""
    found = tx.one(SQL["get_home"], {"name": name})
    return found[0] if found is not None else None


def _settle_nothing(_tx: Tx) -> None:
    """Do nothing: a process without jobs and turns leaves nothing behind."""


def is_free(lock: Path) -> bool:
    """Return whether no process holds a lock."""
    if not lock.exists():
        return True
    with contextlib.suppress(Timeout), FileLock(lock, timeout=0, mode=0o600, thread_local=False):
        return True
    return False


@contextlib.contextmanager
def hold_lock(lock: Path) -> Generator[None]:
    """Hold a lock for a while, or for the rest of this process's life."""
    with FileLock(lock, mode=0o600, thread_local=False):
        yield


@contextlib.asynccontextmanager
async def hold_lock_in_turn(lock: Path) -> AsyncGenerator[None]:
    """Hold a lock as soon as no other process does; the loop goes on meanwhile."""
    from filelock import AsyncFileLock  # noqa: PLC0415  # it loads a dozen modules that few processes need

    once = AsyncFileLock(lock, mode=0o600, thread_local=False, poll_interval=LOOK_SECONDS, run_in_executor=False)
    async with once:
        yield


def living_owners(run: Path) -> list[str]:
    """Return the ids of a home's living owners, sorted, by their locks alone; the database is not read."""
    return sorted(lock.stem for lock in run.glob("own_*.lock") if not is_free(lock))


class Owners:
    """The process as an owner in the home, and the other owners."""

    def __init__(self, run: Path, ids: Ids, clock: Clock) -> None:
        self._run = run
        self._clock = clock
        self.owner = ids.new("own")
        self._listed_at = 0
        self._is_alone = False
        self._lock = FileLock(self._file(self.owner), timeout=0, mode=0o600, thread_local=False)
        self._begin()

    def _begin(self) -> None:
        self._lock.acquire(timeout=LOOKED_AT_SECONDS)

    def _file(self, owner: str) -> Path:
        return self._run / f"{owner}.lock"

    async def enter(self, db: Transact) -> None:
        """Add this process's row to the owners of the home."""
        at = self._clock.now()
        await db.write(lambda tx: tx.run(SQL["add_owner"], {"owner": self.owner, "started_at": at}), is_vital=True)

    async def leave(self, db: Transact, settle: Callable[[Tx], object] = _settle_nothing) -> None:
        """Settle this process's own work and remove its row, in one transaction.

        After a failure the row stays, as that of a dead process; the next process that looks removes it.
        """

        def work(tx: Tx) -> None:
            settle(tx)
            tx.run(SQL["remove_owner"], {"owner": self.owner})

        try:
            await db.write(work, is_vital=True)
        finally:
            self.release()

    def release(self) -> None:
        """Release the lock and remove its file."""
        self._lock.release()
        self._file(self.owner).unlink(missing_ok=True)

    def alone_since(self) -> int | None:
        """Return a number while no other process lives here; None while one does, or may.

        It is the time of the folder's last change, so that it is another number after a process came and went.
        """
        try:
            changed_at = self._run.stat().st_mtime_ns
            if changed_at != self._listed_at:
                if abs(time.time_ns() - changed_at) < (FINE_NS if changed_at % SECOND_NS else COARSEST_NS):
                    return None
                self._is_alone = {lock.name for lock in self._run.glob("own_*.lock")} <= {self._file(self.owner).name}
                self._listed_at = changed_at
        except OSError:
            return None
        return changed_at if self._is_alone else None

    def others(self, tx: Tx) -> list[str]:
        """Return the other owners that have a row, dead or alive."""
        return [owner for (owner,) in tx.all(SQL["list_owners"]) if owner != self.owner]

    def is_dead(self, owner: str) -> bool:
        """Return whether an owner's process has ended: its lock is free."""
        return is_free(self._file(owner))

    def remove_dead(self, tx: Tx, owner: str) -> None:
        """Remove a dead process's row, and its lock file once that is committed."""
        tx.run(SQL["remove_owner"], {"owner": owner})
        tx.after_commit(lambda: self._file(owner).unlink(missing_ok=True))


class Visitor(Owners):
    """A process in a home that it may only read: it leaves no trace, and settles nothing for others."""

    def _begin(self) -> None:
        """Take no lock."""

    async def enter(self, db: Transact) -> None:
        """Do nothing: a read-only process has no row."""

    async def leave(self, db: Transact, settle: Callable[[Tx], object] = _settle_nothing) -> None:
        """Do nothing."""

    def release(self) -> None:
        """Do nothing."""

    def alone_since(self) -> int | None:
        """Return None: others may be here."""
        return None

    def others(self, tx: Tx) -> list[str]:  # noqa: ARG002  # nothing is asked
        """Return an empty list: a reader settles nothing that others left."""
        return []
