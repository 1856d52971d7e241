"""Which processes live in a home. A life is an operating-system lock, so the end of one needs no time-out to be known."""

import contextlib
import time
from collections.abc import Callable, Generator
from pathlib import Path

from filelock import FileLock, Timeout

from protocol.seams.ports import Clock, Ids, Transact, Tx
from protocol.statements import Statements

SQL = Statements("gateway")

COARSEST_NS = 3_000_000_000
"""Within so long two changes of a folder may carry the same time: the coarsest file systems count in steps of 2 s."""


def fact_of_home(tx: Tx, name: str) -> str | None:
    """A fact of the home by name."""
    found = tx.one(SQL["get_home"], {"name": name})
    return found[0] if found is not None else None


def is_free(lock: Path) -> bool:
    """Whether nobody holds a lock."""
    if not lock.exists():
        return True
    with contextlib.suppress(Timeout), FileLock(lock, timeout=0, mode=0o600, thread_local=False):
        return True
    return False


@contextlib.contextmanager
def held(lock: Path) -> Generator[None]:
    """Hold a lock for a while, or for the rest of this process's life."""
    with FileLock(lock, mode=0o600, thread_local=False):
        yield


def living(run: Path) -> list[str]:
    """The owners of a home that live now, as their locks say; the database is not asked."""
    return sorted(lock.stem for lock in run.glob("own_*.lock") if not is_free(lock))


class Owners:
    """The own life of a process in the home, and a look at the others."""

    def __init__(self, run: Path, ids: Ids, clock: Clock) -> None:
        self._run = run
        self._clock = clock
        self.owner = ids.new("own")
        self._listed_at = 0
        self._is_alone = False
        self._lock = FileLock(self._file(self.owner), timeout=0, mode=0o600, thread_local=False)
        self._begin()

    def _begin(self) -> None:
        self._lock.acquire()

    def _file(self, owner: str) -> Path:
        return self._run / f"{owner}.lock"

    async def enter(self, db: Transact) -> None:
        """Tell the home that this process lives in it."""
        at = self._clock.now()
        await db.write(lambda tx: tx.run(SQL["add_owner"], {"owner": self.owner, "started_at": at}), is_vital=True)

    async def leave(self, db: Transact, settle: Callable[[Tx], object] = bool) -> None:
        """End this life: settle what is this process's own and strike it from the book, both or neither.

        Who cannot stays in the book as one that died, and is buried by the next that looks.
        """

        def work(tx: Tx) -> None:
            settle(tx)
            tx.run(SQL["remove_owner"], {"owner": self.owner})

        try:
            await db.write(work, is_vital=True)
        finally:
            self.release()

    def release(self) -> None:
        """Give the lock back; the file goes with it."""
        self._lock.release()
        self._file(self.owner).unlink(missing_ok=True)

    def alone_since(self) -> int | None:
        """When the last other process left, as a number that no later leaving has; None while others are, or may be, here."""
        try:
            changed_at = self._run.stat().st_mtime_ns
            if changed_at != self._listed_at:
                if abs(time.time_ns() - changed_at) < COARSEST_NS:
                    return None
                self._is_alone = {lock.name for lock in self._run.glob("own_*.lock")} <= {self._file(self.owner).name}
                self._listed_at = changed_at
        except OSError:
            return None
        return changed_at if self._is_alone else None

    def others(self, tx: Tx) -> list[str]:
        """Owners in the home's book beside this one, dead or alive."""
        return [owner for (owner,) in tx.all(SQL["list_owners"]) if owner != self.owner]

    def is_dead(self, owner: str) -> bool:
        """Whether that process has ended: its lock can be taken."""
        return is_free(self._file(owner))

    def bury(self, tx: Tx, owner: str) -> None:
        """Strike a dead process from the book."""
        tx.run(SQL["remove_owner"], {"owner": owner})
        tx.after_commit(lambda: self._file(owner).unlink(missing_ok=True))


class Visitor(Owners):
    """The life of a process in a home that it may only read: it leaves no trace, and settles nothing for others."""

    def _begin(self) -> None:
        """Take no lock."""

    async def enter(self, db: Transact) -> None:
        """Do nothing: the home has no book for who only reads."""

    async def leave(self, db: Transact, settle: Callable[[Tx], object] = bool) -> None:
        """Do nothing."""

    def release(self) -> None:
        """Do nothing."""

    def alone_since(self) -> int | None:
        """Return None: others may be here."""
        return None

    def others(self, tx: Tx) -> list[str]:  # noqa: ARG002  # nothing is asked
        """Return none: what they left is not this process's to settle."""
        return []
