"""Search over the vectors of partitions: every one is compared by a sketch in memory, the best by their rows.

The one home of numpy.

Rule 1: the rows decide: nearness is read from them in the snapshot that asks. A sketch only shows
where to look, so that whatever is wrong with one can neither show what is gone, nor what belongs elsewhere, nor a wrong
cosine.
Rule 2: a sketch is the signs of a vector's numbers, 48 bytes of 768: the cost of a search grows with its partitions,
never with the home, and stays small.
Rule 3: nothing is loaded ahead of the first search of a partition, and one search loads a bounded part; the rest
follows in the background, and until then the search reports that it is not whole.
"""

import json
import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from msgspec import Struct

from protocol.seams.ports import Tx, Vector, VectorTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float32]
    Rows: TypeAlias = NDArray[np.int64]
    Words: TypeAlias = NDArray[np.uint64]
    Distances: TypeAlias = NDArray[np.uint16]

BUDGET_BYTES = 256 * 1024 * 1024
"""The memory of all sketches, those of four million vectors; beyond it the least recently used ones go."""
RESCORED = 160
"""The number of best sketches that are compared by their rows first; reading them is most of a search's cost.

`python -m benchmarks vectors` measures both, and the share of the ten nearest that they hold.
"""
SIFTED = 2 * RESCORED
"""The number of best sketches, by differing signs, that are put in order by the query's own numbers.

A sign means more where the number is large, so that the first 160 of this order hold what 256 did by signs alone.
"""
DEEPER = 1  # growth of each further step of `rank`: it takes as many again as all steps before it
LOADED_AT_ONCE = 16_384  # vectors that one search, or one step in the background, sketches: about 25 ms
READ_AT_ONCE = 1024  # vectors in memory while they are sketched: more take longer each, and hold up the loop
LOOKED_AHEAD = 64  # rows that a search reads of each loaded partition: most have no new ones
NEIGHBOURS = 10
"""Neighbours that measure how crowded a row's place is."""
COMMON_PART = 3
"""One of so many compared rows, the nearest, measures how common a row's place is. All of them would measure only how
near it is to the middle; ten would measure one group."""
NO_NEIGHBOUR = 0.25
"""The cosine that counts in place of a neighbour that is not there, and of a row with itself."""
FIRST_ROOM = 64  # rows of a new array
GHOSTS_KEPT = 64  # one sketch of so many may be of a removed row; more of them would take places among the best
WORD_BYTES = 8

_FORMS = {1: "i1", 2: "<f2"}

PartitionKey: TypeAlias = tuple[str, int, int]


def load_numpy() -> Any:
    """Import numpy on first use and return it, without its threads: they would fight for the few cores."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    import numpy as np  # noqa: PLC0415  # 150 ms that a lexical search does not need

    return np


def sketches_of(numbers: Sequence[bytes], number_bytes: int) -> "Words":
    """Return the sign bits of some vectors of one length, 64 in a word: a row for each word, a column a vector."""
    np = load_numpy()
    every = np.frombuffer(b"".join(numbers), np.uint8).reshape(len(numbers), -1)
    tops = every[:, number_bytes - 1 :: number_bytes]  # where the sign is
    packed = np.packbits(tops & 0x80, axis=1)
    whole = np.zeros((len(numbers), -(-packed.shape[1] // WORD_BYTES) * WORD_BYTES), np.uint8)
    whole[:, : packed.shape[1]] = packed
    return np.ascontiguousarray(whole.view(np.uint64).T)


class _PartitionSketches:
    """The sketches of one partition with the rows that they are of, in the order of their rows.

    `lock` is held by the caller of every method.
    """

    def __init__(self, dim: int, number_bytes: int) -> None:
        np = load_numpy()
        self.dim = dim
        self._number_bytes = number_bytes
        self.lock = threading.Lock()
        self._size = 0
        self._last = 0
        self._losses: int | None = None
        self._rows: Rows = np.zeros(FIRST_ROOM, np.int64)
        self._subjects: Rows = np.zeros(FIRST_ROOM, np.int64)
        self._words: Words = np.zeros((_width(dim), FIRST_ROOM), np.uint64)

    @property
    def nbytes(self) -> int:
        return int(self._words.nbytes + self._rows.nbytes + self._subjects.nbytes)

    def take_view(self) -> "tuple[Rows, Words]":
        """Return subject rows and sketches; later additions do not change them."""
        return self._subjects[: self._size], self._words[:, : self._size]

    def follow(self, tx: Tx, table: VectorTable, key: PartitionKey, room: int) -> tuple[int, bool]:
        """Sketch up to `room` rows that were added since the last call; return their number, and whether it was all."""
        place = {"space": key[1], "partition": key[2]}
        self._drop_ghosts(tx, table, place)
        read = 0
        while read < room:
            limit = min(room - read, READ_AT_ONCE)
            added = tx.all(table.added, {**place, "after": self._last, "limit": limit})
            if added:
                self._extend(added)
            read += len(added)
            if len(added) < limit:
                return read, True
        return read, False

    def _drop_ghosts(self, tx: Tx, table: VectorTable, place: dict[str, int]) -> None:
        """Drop the sketches of removed rows where there are many: they would crowd the others out."""
        lost = tx.one(table.losses, place)
        losses: int = lost[0] if lost else 0
        if self._losses is None or losses - self._losses > max(FIRST_ROOM, self._size // GHOSTS_KEPT):
            if self._size:
                self._keep([row for (row,) in tx.all(table.present, place)])
            self._losses = losses

    def _keep(self, present: Sequence[int]) -> None:
        np = load_numpy()
        kept = np.isin(self._rows[: self._size], np.asarray(present, np.int64))
        self._rows = self._rows[: self._size][kept]
        self._subjects = self._subjects[: self._size][kept]
        self._words = self._words[:, : self._size][:, kept]
        self._size = int(kept.sum())

    def _extend(self, added: Sequence[tuple[int, int, bytes]]) -> None:
        np = load_numpy()
        sound = [entry for entry in added if len(entry[2]) == self._number_bytes * self.dim]
        size = self._size + len(sound)
        if size > len(self._rows):
            room = max(FIRST_ROOM, size + size // 2)
            for name in ("_rows", "_subjects", "_words"):
                old = getattr(self, name)
                grown = np.zeros((*old.shape[:-1], room), old.dtype)
                grown[..., : self._size] = old[..., : self._size]
                setattr(self, name, grown)  # a search that runs meanwhile keeps the array that it began with
        if sound:
            here = slice(self._size, size)
            self._rows[here] = [row for row, _, _ in sound]
            self._subjects[here] = [subject for _, subject, _ in sound]
            self._words[:, here] = sketches_of([numbers for _, _, numbers in sound], self._number_bytes)
        self._size = size
        self._last = added[-1][0]


def _width(dim: int) -> int:
    """Return the words of a sketch."""
    return -(-dim // (8 * WORD_BYTES))


def _distances(words: "Words", asked: "Words") -> "Distances":
    """Return in how many signs each sketch differs from the one that is asked about."""
    np = load_numpy()
    total: Distances = np.zeros(words.shape[1], np.uint16)
    for word, wanted in zip(words, asked[:, 0], strict=True):
        total += np.bitwise_count(word ^ wanted)
    return total


def _nearest(distances: "Distances", begin: int, end: int) -> "Rows":
    """Return the places of the sketches from rank `begin` to before `end`, nearest first, equal ones by place."""
    np = load_numpy()
    end = min(end, len(distances))
    if begin >= end:
        return np.zeros(0, np.int64)
    near = np.flatnonzero(distances <= np.partition(distances, end - 1)[end - 1])
    return near[np.argsort(distances[near], kind="stable")][begin:end]


class _Scope(NamedTuple):
    """The snapshot of a search, the partitions that it compares, and its query."""

    tx: Tx
    table: VectorTable
    partitions: Sequence[int]
    query: Vector


class _Part(Struct, frozen=True):
    """A partition's subject rows and sketches, and how far each of them is from the query's."""

    subjects: "Rows"
    words: "Words"
    distances: "Distances"


class FlatNearness:
    """Nearness of some partitions' vectors to a query. It lives as long as its snapshot. Satisfies `Nearness`."""

    def __init__(self, scope: _Scope, parts: Sequence[_Part], *, is_whole: bool) -> None:
        np = load_numpy()
        self.is_whole = is_whole
        self._scope = scope
        self._query: Floats = np.frombuffer(scope.query.numbers, "<f2").astype(np.float32)
        self._words = [part.words for part in parts]
        self._ends: Rows = np.cumsum([len(part.subjects) for part in parts], dtype=np.int64)
        self._subjects: Rows = np.concatenate([part.subjects for part in parts] or [np.zeros(0, np.int64)])
        self._distances: Distances = np.concatenate([part.distances for part in parts] or [np.zeros(0, np.uint16)])
        self._known: dict[int, float | None] = {}
        self._compared: dict[int, Floats] = {}

    def rank(self, least: float, among: Sequence[int] | None = None) -> Iterator[tuple[int, float]]:
        """Yield (subject row, cosine) of rows with at least a cosine of `least`.

        Rows are compared in steps, those with the nearest sketches first; each step is yielded nearest first, equal
        ones by row. The steps end once no row of a step's second half is near enough.
        """
        np = load_numpy()
        some = None if among is None else np.flatnonzero(np.isin(self._subjects, np.asarray(among, np.int64)))
        distances = self._distances if some is None else self._distances[some]

        def ranks(begin: int, end: int) -> "Rows":
            found = _nearest(distances, begin, end)
            return found if some is None else some[found]

        sifted = self._sift(ranks(0, SIFTED))
        seen: set[int] = set()
        begun = 0
        while begun < len(distances):
            end = min(len(distances), begun * (1 + DEEPER) or RESCORED)
            order = sifted[begun:end] if end <= len(sifted) else ranks(begun, end)
            asked = [row for row in self._subjects[order].tolist() if row not in seen]
            found = self.of(asked)
            near_enough = {row: cosine for row, cosine in found.items() if cosine >= least}
            yield from sorted(near_enough.items(), key=lambda entry: (-entry[1], entry[0]))
            seen.update(found)
            is_mostly_gone = 2 * len(found) < end - begun  # a step of removed rows says nothing about further ones
            goes_on = is_mostly_gone or not near_enough.keys().isdisjoint(asked[len(asked) // 2 :])
            begun = end if goes_on else len(distances)

    def _sift(self, places: "Rows") -> "Rows":
        """Return the same places, nearest first: by the sum of the query's numbers where a sketch's sign is negative.

        The smaller that sum, the larger is the cosine of the query with the signs alone.
        """
        np = load_numpy()
        of_part = np.searchsorted(self._ends, places, side="right")
        columns: Words = np.zeros((_width(len(self._query)), len(places)), np.uint64)
        for number, words in enumerate(self._words):
            here = of_part == number
            columns[:, here] = words[:, places[here] - (self._ends[number] - words.shape[1])]
        signs = np.unpackbits(np.ascontiguousarray(columns.T).view(np.uint8), axis=1, count=len(self._query))
        return places[np.argsort(signs @ self._query, kind="stable")]

    def of(self, rows: Sequence[int]) -> dict[int, float]:
        """Return the cosines of those of some subject rows that have a vector here."""
        new = [row for row in rows if row not in self._known]
        if new:
            self._known.update(dict.fromkeys(new))
            self._read(new)
        return {row: cosine for row in rows if (cosine := self._known[row]) is not None}

    def crowding(self, rows: Sequence[int]) -> dict[int, tuple[float, float]]:
        """Return the mean cosines of subject rows with a vector to compared rows: the nearest few, the nearest third.

        Places without a neighbour count as `NO_NEIGHBOUR`, so that few rows are not taken for a crowd.
        """
        np = load_numpy()
        self.of(rows)
        present = [row for row in rows if row in self._compared]
        pool = list(islice(self._compared.values(), RESCORED))
        if not present:
            return {}
        cosines = np.stack([self._compared[row] for row in present]) @ np.stack(pool).T
        place = {row: n for n, row in enumerate(islice(self._compared, RESCORED))}
        for n, row in enumerate(present):
            if row in place:
                cosines[n, place[row]] = NO_NEIGHBOUR  # nothing is its own neighbour
        missing = NEIGHBOURS - cosines.shape[1]
        if missing > 0:
            cosines = np.pad(cosines, ((0, 0), (0, missing)), constant_values=NO_NEIGHBOUR)
        third = max(NEIGHBOURS, round(len(pool) / COMMON_PART))
        sifted = np.partition(cosines, (-third, -NEIGHBOURS), axis=1)
        means = (sifted[:, -few:].mean(axis=1).tolist() for few in (NEIGHBOURS, third))
        return dict(zip(present, zip(*means, strict=True), strict=True))

    def _read(self, rows: Sequence[int]) -> None:
        np = load_numpy()
        tx, table, partitions, query = self._scope
        values = {
            "subjects": json.dumps(sorted(rows)),  # neighbours in the file are read together
            "space": query.space_id,
            "partitions": json.dumps(list(partitions)),
        }
        length = table.number_bytes * len(self._query)
        found = [(row, numbers) for row, numbers in tx.all(table.numbers, values) if len(numbers) == length]
        if found:
            form = _FORMS[table.number_bytes]
            vectors = np.frombuffer(b"".join([numbers for _, numbers in found]), form).reshape(len(found), -1)
            vectors = vectors.astype(np.float32)
            with np.errstate(all="ignore"):
                if table.number_bytes == 1:
                    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
                vectors[~np.isfinite(vectors).all(axis=1)] = 0.0  # of a damaged row
                cosines = vectors @ self._query
            self._compared.update(zip([row for row, _ in found], vectors, strict=True))
            self._known.update(zip([row for row, _ in found], cosines.tolist(), strict=True))


class FlatVectors:
    """Sketches of partitions, within a budget of bytes. Safe for threads."""

    def __init__(self, budget_bytes: int = BUDGET_BYTES, loaded_at_once: int = LOADED_AT_ONCE) -> None:
        self._budget = budget_bytes
        self._loaded_at_once = loaded_at_once
        self._sketches: OrderedDict[PartitionKey, _PartitionSketches] = OrderedDict()
        self._behind: dict[PartitionKey, VectorTable] = {}
        self._lock = threading.Lock()

    def nearness(self, tx: Tx, table: VectorTable, partitions: Sequence[int], query: Vector) -> FlatNearness:
        """Return the nearness of a query to everything in the partitions, as this snapshot knows them."""
        asked = sketches_of([query.numbers], 2)
        room, is_whole = self._loaded_at_once, True
        parts: list[_Part] = []
        for partition in partitions:
            key = (table.name, query.space_id, partition)
            sketches = self._sketches_of(key, len(query.numbers) // 2, table.number_bytes)
            with sketches.lock:
                read, is_all = sketches.follow(tx, table, key, max(room, LOOKED_AHEAD))
                subjects, words = sketches.take_view()
            room -= read
            is_whole &= is_all
            if not is_all:
                self._note_behind(key, table)
            parts.append(_Part(subjects, words, _distances(words, asked)))
        self._keep_to_budget()
        return FlatNearness(_Scope(tx, table, partitions, query), parts, is_whole=is_whole)

    def catch_up(self, tx: Tx) -> bool:
        """Sketch a part of the vectors that searches did not wait for; return whether there are more."""
        with self._lock:
            key, table = next(iter(self._behind.items()), (None, None))
            sketches = self._sketches.get(key) if key is not None else None
        if key is None or table is None:
            return False
        is_all = True
        if sketches is not None:
            with sketches.lock:
                _, is_all = sketches.follow(tx, table, key, self._loaded_at_once)
        with self._lock:
            if is_all:
                self._behind.pop(key, None)
            return bool(self._behind)

    def _note_behind(self, key: PartitionKey, table: VectorTable) -> None:
        with self._lock:
            self._behind[key] = table

    def _sketches_of(self, key: PartitionKey, dim: int, number_bytes: int) -> _PartitionSketches:
        with self._lock:
            found = self._sketches.get(key)
            if found is None or found.dim != dim:
                found = self._sketches[key] = _PartitionSketches(dim, number_bytes)
            self._sketches.move_to_end(key)
            return found

    def _keep_to_budget(self) -> None:
        with self._lock:
            while len(self._sketches) > 1 and sum(one.nbytes for one in self._sketches.values()) > self._budget:
                key, _ = self._sketches.popitem(last=False)
                self._behind.pop(key, None)
