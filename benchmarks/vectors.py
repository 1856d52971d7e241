"""Ways to find the nearest vectors of a partition, side by side: how good, how fast, how much memory and disk.

Rule 1: each way reads the same rows of the same database, in a process of its own, and answers the same questions in
one thread.
Rule 2: what a way misses is told against every number of every vector; a way whose library is not installed is left
out.
"""

import argparse
import asyncio
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.big_home import Points
from benchmarks.conversations import data_folder, read_conversations
from benchmarks.inputs import embed_texts, model_folder
from benchmarks.report import machine, percentile, show_table
from benchmarks.search_scale import SEED
from benchmarks.wire import spent
from gateway.store.sqlite import Handle, Transaction, connect
from protocol.seams.ports import Vector
from retrieval.flat import RESCORED, FlatVectors
from retrieval.packing import as_bytes
from thread_episodic.rows.vectors import TABLE

SIZES = (10_000, 50_000)
QUERIES = 200
BEST = 10
DIM = 384
SEGMENT = 45_000
"""Vectors of a partition, as in the product: 90 % of 50,000."""
LEAST_RECALL = 0.98
WRITTEN_AT_ONCE = 5000
ALL = -1.0
WORKER_SECONDS = 1800
ROOT = Path(__file__).resolve().parent.parent

Searched = Callable[[bytes], list[int]]


class Way(NamedTuple):
    """A way to search: the library that it needs, what opens it on a database, and what it holds on disk besides the
    rows."""

    needs: str
    open: Callable[[Handle, int], Searched]


def _rows(connection: Handle) -> Any:
    found = connection.execute("SELECT vector FROM chunk_vec ORDER BY chunk").fetchall()
    return np.frombuffer(b"".join(numbers for (numbers,) in found), np.int8).reshape(len(found), -1)


def _by_floats(connection: Handle, count: int) -> Searched:
    held = np.zeros((count, DIM), np.float32)
    held[:] = _rows(connection)
    held /= np.linalg.norm(held, axis=1, keepdims=True)

    def search(query: bytes) -> list[int]:
        cosines = held @ np.frombuffer(query, "<f2").astype(np.float32)
        best = np.argpartition(-cosines, BEST)[:BEST]
        return (best[np.argsort(-cosines[best])] + 1).tolist()

    return search


def _eighths(numbers: Any) -> Any:
    return np.round(
        np.clip(numbers.astype(np.float32) * 127 / np.abs(numbers).max(axis=-1, keepdims=True), -127, 127)
    ).astype(np.int8)


def _by_bytes(connection: Handle, _count: int) -> Searched:
    index: Any = importlib.import_module("usearch.index")
    held = _rows(connection)

    def search(query: bytes) -> list[int]:
        asked = _eighths(np.frombuffer(query, "<f2"))
        found = index.search(held, asked, BEST, index.MetricKind.Cos, exact=True, threads=1)
        return (found.keys.astype(np.int64) + 1).tolist()

    return search


def _by_graph(connection: Handle, count: int) -> Searched:
    index: Any = importlib.import_module("usearch.index")
    graphs: list[Any] = []
    rows = _rows(connection).astype(np.float16) / 127
    for first in range(0, count, SEGMENT):
        graph = index.Index(ndim=DIM, metric="cos", dtype="f16")
        part = rows[first : first + SEGMENT]
        graph.add(np.arange(first + 1, first + 1 + len(part)), part, threads=1)
        graphs.append(graph)
    del rows

    def search(query: bytes) -> list[int]:
        asked = np.frombuffer(query, "<f2")
        found = [match for graph in graphs for match in graph.search(asked, BEST, threads=1).to_list()]
        return [key for key, _ in sorted(found, key=lambda entry: entry[1])[:BEST]]

    return search


def _by_sketch(connection: Handle, count: int) -> Searched:
    flat, tx = FlatVectors(), Transaction(connection)
    segments = list(range(-(-count // SEGMENT)))
    while flat.nearness(tx, TABLE, segments, Vector(1, bytes(2 * DIM))).is_whole is False:
        pass

    def search(query: bytes) -> list[int]:
        near = flat.nearness(tx, TABLE, segments, Vector(1, query))
        return [row for (row, _), _ in zip(near.rank(ALL), range(BEST), strict=False)]

    return search


OWN = f"sign sketches, best {RESCORED} by their rows"
"""The product's."""
WAYS = {
    "float32, every number": Way("numpy", _by_floats),
    "int8, every number (usearch)": Way("usearch", _by_bytes),
    "float16 graphs (usearch)": Way("usearch", _by_graph),
    OWN: Way("numpy", _by_sketch),
}


def work(way: str, path: Path, queries: Path) -> None:
    """Open a way, ask it everything, and print what came of it; the whole of a worker process."""
    asked = [row.tobytes() for row in np.load(queries)]
    connection = connect(path, synchronous="off")
    count = connection.execute("SELECT count(*) FROM chunk_vec").fetchall()[0][0]
    if WAYS[way].needs != "numpy":
        importlib.import_module("usearch.index")
    before, begun = spent(os.getpid()).rss_mb or 0.0, time.process_time()
    search = WAYS[way].open(connection, count)
    loaded = time.process_time() - begun
    found: list[list[int]] = []
    taken: list[float] = []
    for query in asked:
        begun = time.process_time()
        found.append(search(query))
        taken.append((time.process_time() - begun) * 1000)
    rss = ((spent(os.getpid()).rss_mb or 0.0) - before) * 2**20 / count
    print(json.dumps({"found": found, "cpu": taken, "loaded": loaded, "rss": rss}))


def write(path: Path, vectors: Any) -> None:
    """The rows of a home, in partitions, without what they are of."""
    connection = connect(path, synchronous="off")
    connection.execute("PRAGMA foreign_keys = off").fetchall()
    for house in ("gateway", "thread_episodic"):
        connection.execute((ROOT / house / "schema.sql").read_text(encoding="utf-8")).fetchall()
    statement = "INSERT INTO chunk_vec (space_id, segment, chunk, vector) VALUES (1, ?, ?, ?)"
    for first in range(0, len(vectors), WRITTEN_AT_ONCE):
        with connection:
            some = enumerate(vectors[first : first + WRITTEN_AT_ONCE], first)
            connection.executemany(statement, [(n // SEGMENT, n + 1, as_bytes(row.tobytes())) for n, row in some])
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()


def truth(vectors: Any, queries: Any) -> list[list[int]]:
    """The nearest by every number."""
    found: list[list[int]] = []
    for query in queries.astype(np.float32):
        cosines = np.concatenate(
            [
                vectors[n : n + WRITTEN_AT_ONCE].astype(np.float32) @ query
                for n in range(0, len(vectors), WRITTEN_AT_ONCE)
            ]
        )
        best = np.argpartition(-cosines, BEST)[:BEST]
        found.append((best[np.argsort(-cosines[best], kind="stable")] + 1).tolist())
    return found


def compare(title: str, vectors: Any, queries: Any) -> float:
    """Show every way on the same vectors; the product's own recall."""
    wanted = truth(vectors, queries)
    rows: list[list[object]] = []
    own = 0.0
    with tempfile.TemporaryDirectory(prefix="pioneer-bench-") as folder:
        path, asked = Path(folder) / "gateway.db", Path(folder) / "queries.npy"
        write(path, vectors)
        np.save(asked, queries)
        for name, way in WAYS.items():
            if importlib.util.find_spec(way.needs) is None:
                print(f"{name}: {way.needs} is not installed")
                continue
            command = [sys.executable, "-m", "benchmarks.vectors", "--work", name, str(path), str(asked)]
            single = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
            done = subprocess.run(
                command, check=True, stdout=subprocess.PIPE, env=single, cwd=ROOT, timeout=WORKER_SECONDS
            )
            told = json.loads(done.stdout)
            right = sum(len(set(f) & set(w)) for f, w in zip(told["found"], wanted, strict=True))
            recall = right / (BEST * len(wanted))
            own = recall if name == OWN else own
            rows.append([name, *(percentile(told["cpu"], p) for p in (50, 95)), recall, told["rss"], told["loaded"]])
    show_table(title, ["way", "cpu p50 ms", "cpu p95 ms", f"recall@{BEST}", "RSS B/vector", "open cpu s"], rows)
    return own


async def real_vectors(model: Path | None) -> tuple[Any, Any] | None:
    """Return a model's vectors of real messages, and of the questions about them."""
    folder = data_folder()
    if folder is None or model is None:
        return None
    conversations = read_conversations(folder)
    said = [f"{one.speaker}: {one.text}" for c in conversations for session in c.sessions for one in session.turns]
    asked = [question.text for c in conversations for question in c.questions][:: len(conversations)][:QUERIES]
    return await embed_texts(model, said), await embed_texts(model, asked)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it; 1 if the product's own way misses too much."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks vectors", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--vectors", type=int, nargs="+", default=SIZES, help="how many made-up vectors")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.work:
        work(options.work[0], Path(options.work[1]), Path(options.work[2]))
        return 0
    print(f"vectors: seed {SEED}, {QUERIES} queries, {DIM} numbers each, on {machine()}")
    recalls: list[float] = []
    for count in options.vectors:
        points = Points.of_nothing(max(50, count // 200), DIM)
        recalls.append(compare(f"{count} made-up vectors", points.matrix(count), points.matrix(QUERIES)))
    real = asyncio.run(real_vectors(model_folder()))
    if real is None:
        print("\nno model or no conversations beside the repository: made-up vectors only")
    else:
        recalls.append(compare(f"{len(real[0])} real messages, {len(real[1])} questions", *real))
    return int(min(recalls) < LEAST_RECALL)


if __name__ == "__main__":
    sys.exit(main())
