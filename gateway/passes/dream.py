"""The nightly census: counts the rows of a home, drops old logs of runs, and has orphaned index rows mended.

Rule 1: records, evidence, messages and tombstones are out of its reach.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from gateway.passes import rows
from gateway.passes.table import REVERSIBLE_MS
from protocol.seams.passes import StageRun, StageSlice
from protocol.seams.ports import Tx


class Census(NamedTuple):
    """Counts the rows of a home, as each house counts its own. Satisfies `PassStage`."""

    counters: Sequence[Callable[[Tx], Mapping[str, int]]]
    name: str = "census"

    def work(self, tx: Tx, run: StageRun) -> StageSlice:  # noqa: ARG002  # a stage's signature
        """Count."""
        counts = {name: count for counter in self.counters for name, count in counter(tx).items()}
        return StageSlice(seen=sum(counts.values()), counts=counts)


class Prune(NamedTuple):
    """Drops logs of runs that are too old to undo, and queues the repair that drops orphans. Satisfies `PassStage`."""

    queue_repairs: Callable[[Tx], None]
    name: str = "prune"

    def work(self, tx: Tx, run: StageRun) -> StageSlice:
        """Drop a part of the old runs; queue the repair with the last part."""
        gone = rows.forget_runs(tx, run.now - REVERSIBLE_MS, run.limit)
        if gone == run.limit:
            return StageSlice(place="more", moved=gone, counts={"runs": gone})
        self.queue_repairs(tx)
        return StageSlice(moved=gone, counts={"runs": gone})
