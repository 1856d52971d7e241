"""Exact search over the vectors of a partition, in memory, kept current with their rows. The one home of numpy.

Rule 1: the rows decide: a copy in memory is brought up to date inside the snapshot that asks, and never shows a row more than it.
Rule 2: what a search costs grows with its partitions, never with the home.
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from protocol.ports import Tx, Vector, VectorTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float32]
    Rows: TypeAlias = NDArray[np.int64]

BUDGET_BYTES = 256 * 1024 * 1024
"""What copies may hold together; past it the one that was used longest ago goes, and is read again when it is wanted."""
FIRST_ROWS = 64
RANKED_AT_ONCE = 256  # sorting the few that are looked at is cheaper than sorting all

PartitionKey: TypeAlias = tuple[str, int, int]


def numpy() -> Any:
    """Numpy, imported on first use; its own threads would fight for the few cores that we have."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    import numpy as np  # noqa: PLC0415  # 150 ms that a lexical search does not need

    return np


class _Copy:
    """The vectors of one partition: row numbers, subjects and numbers, in the order of their rows."""

    def __init__(self, dim: int) -> None:
        np = numpy()
        self.dim = dim
        self.size = 0
        self.last = 0
        self.losses = 0
        self.lock = threading.Lock()
        self._rows: Rows = np.zeros(FIRST_ROWS, np.int64)
        self._subjects: Rows = np.zeros(FIRST_ROWS, np.int64)
        self._numbers: Floats = np.zeros((FIRST_ROWS, dim), np.float32)

    @property
    def nbytes(self) -> int:
        return int(self._numbers.nbytes + 2 * self._rows.nbytes)

    def subjects(self) -> "Rows":
        return self._subjects[: self.size]

    def numbers(self) -> "Floats":
        return self._numbers[: self.size]

    def follow(self, tx: Tx, table: VectorTable, key: PartitionKey) -> None:
        """Take in what was added, and drop what was removed, since the last look."""
        _, space, partition = key
        place = {"space": space, "partition": partition}
        lost = tx.one(table.losses, place)
        losses = lost[0] if lost else 0
        if losses > self.losses:
            self._keep([row for (row,) in tx.all(table.present, place)])
            self.losses = losses
        added = tx.all(table.added, {**place, "after": self.last})
        if added:
            self._extend(added)

    def _keep(self, present: Sequence[int]) -> None:
        np = numpy()
        kept = np.isin(self._rows[: self.size], np.asarray(present, np.int64))
        self._rows = self._rows[: self.size][kept]
        self._subjects = self._subjects[: self.size][kept]
        self._numbers = self._numbers[: self.size][kept]
        self.size = int(kept.sum())

    def _extend(self, added: Sequence[tuple[int, int, bytes]]) -> None:
        np = numpy()
        sound = [(row, subject, blob) for row, subject, blob in added if len(blob) == 2 * self.dim]
        size = self.size + len(sound)
        if size > len(self._rows):
            room = max(FIRST_ROWS, 2 * size)
            for name in ("_rows", "_subjects", "_numbers"):
                old = getattr(self, name)
                grown = np.zeros((room, *old.shape[1:]), old.dtype)
                grown[: self.size] = old[: self.size]
                setattr(self, name, grown)  # a search that runs meanwhile keeps the array that it began with
        if sound:
            here = slice(self.size, size)
            self._rows[here] = [row for row, _, _ in sound]
            self._subjects[here] = [subject for _, subject, _ in sound]
            numbers = np.frombuffer(b"".join(blob for _, _, blob in sound), "<f2").reshape(len(sound), self.dim)
            self._numbers[here] = np.nan_to_num(numbers, copy=True, nan=0.0, posinf=0.0, neginf=0.0)
        self.size = size
        self.last = added[-1][0]


class _Part(NamedTuple):
    subjects: "Rows"
    cosines: "Floats"


class FlatNearness:
    """The cosines of a query with every vector of some partitions. Satisfies `Nearness`."""

    def __init__(self, parts: Sequence[_Part]) -> None:
        np = numpy()
        self._subjects: Rows = np.concatenate([p.subjects for p in parts]) if parts else np.zeros(0, np.int64)
        self._cosines: Floats = np.concatenate([p.cosines for p in parts]) if parts else np.zeros(0, np.float32)
        self._sorted: tuple[Rows, Rows] | None = None

    def ranked(self) -> Iterator[tuple[int, float]]:
        """Subject rows and cosines, nearest first, equal ones by row."""
        np = numpy()
        total, begun = len(self._cosines), 0
        while begun < total:
            end = min(total, max(RANKED_AT_ONCE, 4 * begun))
            if end < total:
                chosen = np.argpartition(-self._cosines, end - 1)[:end]
                edge = self._cosines[chosen].min()
                chosen = np.flatnonzero(
                    self._cosines >= edge
                )  # equal ones at the edge come together, in the order of rows
            else:
                chosen = np.arange(total)
            order = chosen[np.lexsort((self._subjects[chosen], -self._cosines[chosen]))]
            for place in order[begun:]:
                yield int(self._subjects[place]), float(self._cosines[place])
            begun = len(order)

    def of(self, row: int) -> float | None:
        """The cosine of one subject row."""
        np = numpy()
        if self._sorted is None:
            order = np.argsort(self._subjects, kind="stable")  # quick: they are embedded nearly in this order
            self._sorted = (self._subjects[order], order)
        subjects, order = self._sorted
        place = int(np.searchsorted(subjects, row))
        return float(self._cosines[order[place]]) if place < len(subjects) and subjects[place] == row else None


class FlatVectors:
    """Copies of partitions, within a budget of bytes. Any thread may ask."""

    def __init__(self, budget_bytes: int = BUDGET_BYTES) -> None:
        self._budget = budget_bytes
        self._copies: OrderedDict[PartitionKey, _Copy] = OrderedDict()
        self._lock = threading.Lock()

    def nearness(self, tx: Tx, table: VectorTable, partitions: Sequence[int], query: Vector) -> FlatNearness:
        """Compare a query with everything in the partitions, as this snapshot knows them."""
        np = numpy()
        wanted = np.frombuffer(query.numbers, "<f2").astype(np.float32)
        parts: list[_Part] = []
        for partition in partitions:
            key = (table.name, query.space_id, partition)
            copy = self._copy(key, len(wanted))
            with copy.lock:
                copy.follow(tx, table, key)
                subjects, numbers = copy.subjects(), copy.numbers()
            parts.append(_Part(subjects, numbers @ wanted))
        self._keep_to_budget()
        return FlatNearness(parts)

    def _copy(self, key: PartitionKey, dim: int) -> _Copy:
        with self._lock:
            found = self._copies.get(key)
            if found is None or found.dim != dim:
                found = self._copies[key] = _Copy(dim)
            self._copies.move_to_end(key)
            return found

    def _keep_to_budget(self) -> None:
        with self._lock:
            while len(self._copies) > 1 and sum(copy.nbytes for copy in self._copies.values()) > self._budget:
                self._copies.popitem(last=False)
