"""The nightly census, and what it prunes: rows that hang on nothing any more, old inferences, old logs of runs.

Rule 1: records, evidence, messages, explicit edges and tombstones are out of its reach.
Rule 2: what a night prunes the daily sweep prunes as well, whether the pass is on or not.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from protocol.seams.checks import Check, mend_all
from protocol.seams.passes import StageRun, StageSlice
from protocol.seams.ports import Clock, JobHandle, Transact, Tx

SLICE_SECONDS = 0.005
"""How long a slice looks for what is to be dropped: a writer that waits for it waits milliseconds."""

Prunings = Callable[[int], Sequence[Check]]
"""(now): what is dropped at a time, in this order."""


class Census(NamedTuple):
    """Counts the rows of a home, as each house counts its own. Satisfies `PassStage`."""

    counters: Sequence[Callable[[Tx], Mapping[str, int]]]
    name: str = "census"

    def work(self, tx: Tx, run: StageRun) -> StageSlice:  # noqa: ARG002  # a stage's signature
        """Count."""
        counts = {name: count for counter in self.counters for name, count in counter(tx).items()}
        return StageSlice(seen=sum(counts.values()), counts=counts)


class Prune(NamedTuple):
    """Drops what is due. A place is the number of a check and the place in it. Satisfies `PassStage`."""

    prunings: Prunings
    name: str = "prune"

    def work(self, tx: Tx, run: StageRun) -> StageSlice:
        """Look on from the place, until enough was dropped or the time of a slice is over."""
        checks, until, dropped = self.prunings(run.now), time.perf_counter() + SLICE_SECONDS, Counter[str]()
        number, after = (int(part) for part in (run.place or "0:0").split(":"))
        while number < len(checks) and dropped.total() < run.limit and time.perf_counter() < until:
            check = checks[number]
            found = check.find(tx, after)
            if found.subjects:
                dropped[check.name] += check.mend(tx, rows=found.subjects)
            number, after = (number, found.after) if found.after is not None else (number + 1, 0)
        place = f"{number}:{after}" if number < len(checks) else None
        return StageSlice(place=place, seen=dropped.total(), moved=dropped.total(), counts=+dropped)


class DailySweep(NamedTuple):
    """Drops the same once a day: the handler of its job."""

    db: Transact
    clock: Clock
    prunings: Prunings

    async def work(self, handle: JobHandle) -> None:  # noqa: ARG002  # a handler's signature
        """Drop all that is due."""
        await mend_all(self.db, self.prunings(self.clock.now()), "quick")
