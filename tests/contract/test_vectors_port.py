"""The port of vectors, on rows of the product's own table: near enough to exact, never stale, never of another
partition, whoever writes."""

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest

from gateway.base.clock import SystemClock
from gateway.base.health import Health
from gateway.embedding.meaning import Embedding
from gateway.embedding.vector_houses import Houses
from gateway.store.database import Database
from gateway.store.sqlite import Transaction, connect
from protocol.seams.ports import Tx, Vector
from protocol.settings import EmbeddingSettings
from retrieval.flat import RESCORED, SIFTED, FlatNearness, FlatVectors
from retrieval.packing import as_bytes
from thread_episodic.rows.vectors import TABLE

DIM = 384
SPACE = 1
ADD = "INSERT INTO chunk_vec (space_id, segment, chunk, vector) VALUES (?, ?, ?, ?)"
HOUSES = Path(__file__).parents[2]
ALL = -1.0


def clustered(count: int, seed: int, clusters: int = 40) -> Any:
    """Unit vectors in clusters, some of them between two, as those of sentences are."""
    random = np.random.default_rng(seed)
    anchors = np.random.default_rng(1).standard_normal((clusters, DIM)) / np.sqrt(np.arange(DIM) + 8)
    anchors /= np.linalg.norm(anchors, axis=1, keepdims=True)
    beside = random.uniform(0, 0.6, (count, 1)) * anchors[random.integers(0, clusters, count)]
    noise = random.standard_normal((count, DIM)) * (0.75 / np.sqrt(DIM))
    rows = anchors[random.integers(0, clusters, count)] + beside + noise
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype("<f2")


class Home:
    """Vectors of chunks in a database of their own; the chunks themselves are left out."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "gateway.db"
        self.connection = connect(self.path, synchronous="off")
        self.connection.execute("PRAGMA foreign_keys = off").fetchall()
        for house in ("gateway", "thread_episodic"):
            schema = (HOUSES / house / "schema.sql").read_text(encoding="utf-8")
            self.connection.execute(schema).fetchall()

    def tell(self, work: Callable[[Tx], Any]) -> Any:
        with self.connection:
            return work(Transaction(self.connection))

    def add(self, vectors: Any, segment: int = 1, first: int = 1) -> None:
        rows = [(SPACE, segment, chunk, as_bytes(vector.tobytes())) for chunk, vector in enumerate(vectors, first)]
        self.tell(lambda tx: [tx.run(ADD, row) for row in rows])

    def remove(self, chunks: Sequence[int]) -> None:
        self.tell(lambda tx: [tx.run("DELETE FROM chunk_vec WHERE chunk = ?", (chunk,)) for chunk in chunks])

    def near(self, flat: FlatVectors, query: Any, segments: Sequence[int] = (1,)) -> FlatNearness:
        return self.tell(lambda tx: flat.nearness(tx, TABLE, segments, Vector(SPACE, query.tobytes())))

    def best(self, flat: FlatVectors, query: Any, segments: Sequence[int] = (1,), count: int = 10) -> list[int]:
        def ask(tx: Tx) -> list[int]:
            near = flat.nearness(tx, TABLE, segments, Vector(SPACE, query.tobytes()))
            return [chunk for (chunk, _), _ in zip(near.rank(ALL), range(count), strict=False)]

        return self.tell(ask)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path)
    yield home
    home.connection.close()


class Exact:
    """The nearest by every number that is stored, counted from 1."""

    def __init__(self, vectors: Any) -> None:
        stored = b"".join([as_bytes(vector.tobytes()) for vector in vectors])
        self._rows = np.frombuffer(stored, "i1").reshape(vectors.shape).astype(np.float64)
        self._lengths = np.linalg.norm(self._rows, axis=1)

    def best(self, query: Any, count: int = 10) -> list[int]:
        cosines = self._rows @ query.astype(np.float64) / self._lengths
        return (np.argsort(-cosines, kind="stable")[:count] + 1).tolist()


def recall(found: Sequence[Sequence[int]], wanted: Sequence[Sequence[int]]) -> float:
    return sum(len(set(f) & set(w)) for f, w in zip(found, wanted, strict=True)) / sum(map(len, wanted))


# -- near enough ---------------------------------------------------------------------------------------------------


@pytest.mark.loop("check")
def test_of_the_ten_nearest_of_many_98_in_100_are_found_and_every_cosine_is_exact(home: Home) -> None:
    vectors, queries, flat = clustered(6000, 2), clustered(40, 3), FlatVectors()
    home.add(vectors)
    found = [home.best(flat, query) for query in queries]
    exact = Exact(vectors)
    assert recall(found, [exact.best(query) for query in queries]) >= 0.98
    cosines = home.tell(lambda tx: flat.nearness(tx, TABLE, [1], Vector(SPACE, queries[0].tobytes())).of([1, 2, 9999]))
    wanted = vectors[:2].astype(np.float64) @ queries[0].astype(np.float64)
    assert cosines == pytest.approx({1: wanted[0], 2: wanted[1]}, abs=0.004)


def test_a_partition_that_is_not_large_is_compared_exactly(home: Home) -> None:
    vectors, flat = clustered(RESCORED, 4), FlatVectors()
    exact = Exact(vectors)
    home.add(vectors)
    for query in clustered(20, 5):
        assert home.best(flat, query, count=50) == exact.best(query, 50)


def test_among_some_the_nearest_are_those_of_the_some(home: Home) -> None:
    vectors, (query,), flat = clustered(3000, 6), clustered(1, 7), FlatVectors()
    home.add(vectors)
    some = list(range(1, 3001, 3000 // RESCORED))[:RESCORED]

    def ask(tx: Tx) -> list[int]:
        near = flat.nearness(tx, TABLE, [1], Vector(SPACE, query.tobytes()))
        return [chunk for chunk, _ in near.rank(ALL, [*some, 70_000])]

    assert home.tell(ask) == [chunk for chunk in Exact(vectors).best(query, 3000) if chunk in set(some)]


def test_how_vectors_are_parted_does_not_matter_and_each_is_told_once(home: Home) -> None:
    vectors, queries = clustered(2 * SIFTED, 8), clustered(5, 9)
    home.add(vectors)
    whole = [home.best(FlatVectors(), query, count=len(vectors)) for query in queries]
    home.remove(range(1, len(vectors) + 1))
    ends = (0, 3, SIFTED // 2, SIFTED // 2, len(vectors))
    for segment, (begin, end) in enumerate(pairwise(ends), 1):
        home.add(vectors[begin:end], segment, begin + 1)
    flat, segments = FlatVectors(), range(1, len(ends))
    assert [home.best(flat, query, segments, len(vectors)) for query in queries] == whole
    assert all(sorted(found) == list(range(1, len(vectors) + 1)) for found in whole)


# -- the rows decide -----------------------------------------------------------------------------------------------


def test_what_was_removed_is_not_found_even_where_nobody_told_the_copy(home: Home) -> None:
    vectors, flat = clustered(900, 8), FlatVectors()
    home.add(vectors)
    best = home.best(flat, vectors[0])
    assert best[0] == 1
    home.tell(lambda tx: tx.run("DROP TRIGGER chunk_vec_lost"))
    home.remove(best[:5])
    again = home.best(flat, vectors[0])
    assert not set(again) & set(best[:5])
    assert again[:5] == best[5:]
    assert home.near(flat, vectors[0]).of(best[:5]) == {}


def test_what_moved_to_another_partition_or_space_is_found_there_only(home: Home) -> None:
    vectors, flat = clustered(50, 9), FlatVectors()
    home.add(vectors)
    assert home.best(flat, vectors[4], count=1) == [5]
    home.tell(lambda tx: tx.run("UPDATE chunk_vec SET segment = 2 WHERE chunk = 5"))
    home.tell(lambda tx: tx.run("UPDATE chunk_vec SET space_id = 2 WHERE chunk = 6"))
    for index, segments in ((4, [1]), (5, [1]), (5, [1, 2]), (4, [3])):
        assert index + 1 not in home.best(flat, vectors[index], segments, 50)
        assert home.near(flat, vectors[index], segments).of([index + 1]) == {}


def test_what_came_back_is_found_once(home: Home) -> None:
    vectors, flat = clustered(20, 10), FlatVectors()
    home.add(vectors)
    for _ in range(3):
        assert home.best(flat, vectors[0], count=99).count(1) == 1
        home.remove([1])
        home.add(vectors[:1])
    assert home.best(flat, vectors[0], count=99) == Exact(vectors).best(vectors[0], 20)


@pytest.mark.loop("check")
def test_half_removed_takes_nothing_from_what_is_left(home: Home) -> None:
    vectors, queries, flat = clustered(6000, 11), clustered(25, 12), FlatVectors()
    home.add(vectors)
    assert home.best(flat, queries[0])
    gone = [chunk for chunk in range(1, 6001) if chunk % 2]
    home.remove(gone)
    exact = Exact(vectors)
    wanted = [[chunk for chunk in exact.best(query, 60) if chunk % 2 == 0][:10] for query in queries]
    assert recall([home.best(flat, query) for query in queries], wanted) >= 0.98


def test_nearest_ones_that_are_gone_hide_nobody(home: Home) -> None:
    (query,), others, flat = clustered(1, 17), clustered(900, 18), FlatVectors()
    home.add(np.repeat(query[None], 2 * RESCORED, axis=0))
    home.add(others, first=2 * RESCORED + 1)
    assert set(home.best(flat, query, count=50)) <= set(range(1, 2 * RESCORED + 1))
    home.tell(lambda tx: tx.run("DROP TRIGGER chunk_vec_lost"))
    home.remove(range(1, 2 * RESCORED + 1))
    best = [row - 2 * RESCORED for row in home.best(flat, query)]
    assert recall([best], [Exact(others).best(query)]) >= 0.9


# -- loading -------------------------------------------------------------------------------------------------------


def test_one_search_loads_a_bounded_part_and_says_so_until_the_rest_followed(home: Home) -> None:
    vectors, flat = clustered(RESCORED, 13), FlatVectors(loaded_at_once=50)
    half = RESCORED // 2
    home.add(vectors[:half], 1)
    home.add(vectors[half:], 2, half + 1)
    last = vectors[-1]
    assert home.near(FlatVectors(), last, [1, 2]).is_whole

    def ask(tx: Tx) -> None:
        near = flat.nearness(tx, TABLE, [1, 2], Vector(SPACE, last.tobytes()))
        assert not near.is_whole
        assert RESCORED not in dict(near.rank(ALL))
        assert near.of([RESCORED]) == {RESCORED: pytest.approx(1.0, abs=1e-3)}

    home.tell(ask)
    steps = 1
    while home.tell(flat.catch_up):
        steps += 1
    assert steps <= 5
    assert home.near(flat, last, [1, 2]).is_whole
    assert home.best(flat, last, [1, 2], 100) == Exact(vectors).best(last, 100)
    assert not home.tell(flat.catch_up)


def test_the_rest_is_loaded_in_the_background(home: Home) -> None:
    """Through `Embedding`, as in the product: nobody searches twice."""
    vectors = clustered(1000, 14)
    home.add(vectors)

    class Told(FlatVectors):
        def __init__(self) -> None:
            super().__init__(loaded_at_once=100)
            self.loop = asyncio.get_running_loop()
            self.is_done = asyncio.Event()

        def catch_up(self, tx: Tx) -> bool:
            goes_on = super().catch_up(tx)
            if not goes_on:
                self.loop.call_soon_threadsafe(self.is_done.set)
            return goes_on

    async def story() -> None:
        db, clock, told = Database(home.path), SystemClock(), Told()
        embedding = Embedding(
            db=db,
            clock=clock,
            settings=EmbeddingSettings,
            cache=home.path.parent,
            health=Health(lambda *_, **__: None, clock),
            notify=lambda *_, **__: None,
            vectors=told,
            houses=lambda: Houses(db, []),
        )

        def is_whole(tx: Tx) -> bool:
            return embedding.nearness(tx, TABLE, [1], Vector(SPACE, vectors[0].tobytes())).is_whole

        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(embedding.read_ahead)
                await anyio.lowlevel.checkpoint()
                assert not await db.read(is_whole)
                with anyio.fail_after(120):
                    await told.is_done.wait()
                assert await db.read(is_whole)
                tasks.cancel_scope.cancel()
        finally:
            db.close()

    anyio.run(story)


def test_copies_past_the_budget_go_and_come_again(home: Home) -> None:
    vectors, flat = clustered(300, 15), FlatVectors(budget_bytes=1)
    for segment in (1, 2, 3):
        home.add(vectors[100 * segment - 100 : 100 * segment], segment, 100 * segment - 99)
    for _ in range(2):
        for segment in (1, 2, 3):
            assert home.best(flat, vectors[100 * segment - 1], [segment], 1) == [100 * segment]
    assert home.best(flat, vectors[0], [1, 2, 3], 30) == Exact(vectors).best(vectors[0], 30)


OTHER = """
import sys
import apsw
connection = apsw.Connection(sys.argv[1])
connection.set_busy_timeout(10_000)
connection.execute("PRAGMA foreign_keys = off").fetchall()
connection.execute("DELETE FROM chunk_vec WHERE chunk = 3")
connection.execute("INSERT INTO chunk_vec (space_id, segment, chunk, vector) SELECT space_id, segment, 900, vector FROM chunk_vec WHERE chunk = 7")
connection.close()
"""


def test_what_another_process_writes_is_followed(home: Home) -> None:
    vectors, flat = clustered(60, 16), FlatVectors()
    home.add(vectors)
    assert home.best(flat, vectors[2], count=1) == [3]
    subprocess.run([sys.executable, "-c", OTHER, str(home.path)], check=True, timeout=240)
    assert 3 not in home.best(flat, vectors[2], count=99)
    assert home.best(flat, vectors[6], count=2) == [7, 900]
    assert home.best(FlatVectors(), vectors[6], count=99) == home.best(flat, vectors[6], count=99)
