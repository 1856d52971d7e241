"""The nightly census, and what it prunes: rows that hang on nothing any more, old inferences, old logs of runs.

Rule 1: records, evidence, messages, explicit edges and tombstones are out of its reach.
Rule 2: what a night prunes the daily sweep prunes as well, whether the pass is on or not.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from protocol.seams.checks import Check, Find, mend_all
from protocol.seams.passes import StageRun, StageSlice
from protocol.seams.ports import Clock, JobHandle, Transact, Tx

SLICE_SECONDS = 0.005
"""The length of a slice: a search or a writer beside it waits milliseconds."""

Prunings = Callable[[int], Sequence[Check]]
"""(now): what is dropped at a time, in this order."""


class Census(Struct, frozen=True):
    """Counts the rows of a home by kind; a kind without rows may be left out. Satisfies `PassStage`.

    The subjects of a tally's look are pairs of a kind and how many rows of it the look met. What is written between
    two slices is counted or not, as its place says.
    """

    tallies: Sequence[Find]
    name: str = "census"

    def work(self, tx: Tx, run: StageRun) -> StageSlice:
        """Count on from the place until the time of a slice is over; return its counts, and where to go on."""
        counts = Counter[str]()

        def add(_number: int, subjects: Sequence[Any]) -> bool:
            counts.update(dict(subjects))
            return True

        place = _look_on(tx, self.tallies, run.place, add)
        return StageSlice(place=place, seen=counts.total(), counts=counts)


class Prune(Struct, frozen=True):
    """Drops what is due. Satisfies `PassStage`."""

    prunings: Prunings
    name: str = "prune"

    def work(self, tx: Tx, run: StageRun) -> StageSlice:
        """Drop on from the place until enough was dropped or the time of a slice is over; return how much, and where.

        The place that is returned is where to go on.
        """
        checks, dropped = self.prunings(run.now), Counter[str]()

        def drop(number: int, subjects: Sequence[Any]) -> bool:
            if subjects:
                dropped[checks[number].name] += checks[number].mend(tx, rows=subjects)
            return dropped.total() < run.limit

        place = _look_on(tx, [check.find for check in checks], run.place, drop)
        return StageSlice(place=place, seen=dropped.total(), moved=dropped.total(), counts=+dropped)


def _look_on(
    tx: Tx, finds: Sequence[Find], place: str | None, take: Callable[[int, Sequence[Any]], bool]
) -> str | None:
    """Look on from a place, which is the number of a look and the place in it; return where to go on, None at the end.

    `take` is given the number of the look and what it found, and returns whether the slice may go on.
    """
    until = time.perf_counter() + SLICE_SECONDS
    number, after = (int(part) for part in (place or "0:0").split(":"))
    while number < len(finds):
        found = finds[number](tx, after)
        may_go_on = take(number, found.subjects)
        number, after = (number, found.after) if found.after is not None else (number + 1, 0)
        if not may_go_on or time.perf_counter() >= until:
            break
    return f"{number}:{after}" if number < len(finds) else None


class DailySweep(Struct, frozen=True):
    """Drops the same once a day: the handler of its job."""

    db: Transact
    clock: Clock
    prunings: Prunings

    async def work(self, handle: JobHandle) -> None:  # noqa: ARG002  # a handler's signature
        """Drop all that is due."""
        await mend_all(self.db, self.prunings(self.clock.now()), "quick")
