"""Repair of the conversation index: damage is reported, and a job mends it while searches go on.

Rule 1: a look mends nothing: where it finds damage it queues the one repair job of this house.
Rule 2: every process reads the state of repair from the job's row; only the process that looked knows the reasons.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import cast, get_args

from msgspec import structs

from protocol.seams.checks import Check, Depth, look_through, mend_all
from protocol.seams.ports import JobHandle, JobQueue, Transact, Tx
from protocol.thread_episodic import IndexRepair, RepairReason
from thread_episodic.ports import ReportDamage
from thread_episodic.rows.counts import count_chunks
from thread_episodic.rows.damage import cheap_finds
from thread_episodic.search.search import FoundChunks
from thread_episodic.search.vectors import SUBJECT


def as_repaired(found: FoundChunks) -> FoundChunks:
    """Return the answer of an index that is being repaired: it may lack something, and says so."""
    return structs.replace(
        found, status="partial", diagnostics=list(dict.fromkeys([*found.diagnostics, "index_pending"]))
    )


REASONS = frozenset[str](get_args(RepairReason))
COMPARED_WHOLE = 20_000
"""The most chunks of an index whose every row is compared at a start, which is a second of work in the background; of a
larger index only sums are compared."""
UNFINISHED = ("queued", "leased", "retry_wait", "dead")


class IndexRepairer:
    """Looks for damage, has it mended, and reports both."""

    def __init__(
        self, *, db: Transact, jobs: JobQueue, checks: Callable[[], Sequence[Check]], report: ReportDamage
    ) -> None:
        self._db = db
        self._jobs = jobs
        self._checks = checks
        self._report = report
        self._found = Counter[str]()
        self._done = 0

    @property
    def reasons(self) -> list[RepairReason]:
        """Return the kinds of damage that were found and are not mended yet."""
        return [cast("RepairReason", name) for name in self._found if name in REASONS]

    @property
    def doubts_words(self) -> bool:
        """Return whether a search by words may miss messages because of damage."""
        return not self._found.keys().isdisjoint(
            ("terms", "texts", "missing_texts", "chunk_rows", "missing_sources", "scopes", "orphans")
        )

    async def look(self) -> Mapping[str, int]:
        """Look for damage in short snapshots, and queue a repair where there is some.

        Of a large index only sums are compared; the doctor and the repair compare every row. Returns how much was
        found of each kind.
        """
        size = await self._db.read(count_chunks)
        whole = {check.name: check.find for check in self._checks() if check.depth == "quick"}
        found = await look_through(self._db, whole if 0 <= size <= COMPARED_WHOLE else cheap_finds())
        if found:
            await self.doubt(found)
        return found

    async def doubt(self, found: Mapping[str, int]) -> None:
        """Report damage, and queue its repair."""
        self._found.update({name: count for name, count in found.items() if name not in self._found})
        self._report(self.reasons, False)  # the callable is a port: its parameters have no names
        await self._db.jot(self.queue)

    def queue(self, tx: Tx) -> None:
        """Queue the repair of the index."""
        self._jobs.enqueue(tx, "repair", SUBJECT)

    async def work(self, handle: JobHandle) -> None:  # noqa: ARG002  # a handler's signature
        """The handler of this house's `repair` job."""
        await self.run("deep")

    async def run(self, depth: Depth) -> Mapping[str, int]:
        """Mend everything that is found; return how much of each kind."""
        self._done = 0
        try:
            mended = await mend_all(self._db, self._checks(), depth, self._note)
        except BaseException:
            self._report(self.reasons, True)  # as above
            raise
        self._settle()
        return mended

    def _note(self, count: int) -> None:
        self._done += count

    def _settle(self) -> None:
        self._found.clear()
        self._report((), False)  # as above

    async def follow(self) -> None:
        """Report the index as whole where another process has mended it."""
        if self._found and await self._db.read(lambda tx: self.state(tx).state) == "ok":
            self._settle()

    def state(self, tx: Tx) -> IndexRepair:
        """Return the progress of repair, read from its job, whichever process runs it."""
        found = [job.state for job in self._jobs.jobs(tx, kind="repair", states=UNFINISHED) if job.subject == SUBJECT]
        if not found:
            return IndexRepair()
        is_running = "leased" in found
        state = "running" if is_running else "pending" if "queued" in found else "failed"
        total = sum(self._found.values())
        return IndexRepair(state=state, reasons=self.reasons, done=min(self._done, total), total=total)
