"""The cost of a home's size: searches, what is added to a turn before its model, the start, memory and disk, small home
and large.

Rule 1: the same questions are asked of the same workspace in each home, so that a ratio compares like with like; larger
workspaces of the large home are shown beside it.
Rule 2: processor time of the gateway counts; wall time is shown, because the machine is shared.
"""

import argparse
import asyncio
import json
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from benchmarks.big_home import BigHome, make, workspaces_of
from benchmarks.inputs import model_folder, open_embedder
from benchmarks.report import machine, percentile, show_table
from benchmarks.search_scale import KINDS, SEED, Words
from benchmarks.wire import cpu_ms, spent
from gateway.embedding.spaces import SpaceIdentity
from gateway.wire.client import GatewayClient, console_script

SIZES = (10_000, 200_000)
"""Chunks of the homes. A million takes some minutes more: `--chunks 10000 1000000`."""
MEMORIES_PART = 10  # one memory to so many chunks
CHARS = 400
CALLS = 100
WARM_UP = 5
ANCHORS = 600
LOOKED_INTO = 3  # the first workspaces: a small one, and in a large home a usual and a large one
AT_MOST_MB = 1200
AT_MOST_GROWTH = 2.0
STARTS = 3
LOOK_SECONDS = 0.1
FILES = {
    "full text": ("chunk_fts_data", "chunk_fts_idx", "chunk_fts_docsize", "chunk_fts_config"),
    "vectors": ("chunk_vec", "chunk_vec_chunk", "chunk_vec_segment", "chunk_vec_loss"),
    "chunks": ("chunk", "chunk_position", "chunk_of_source", "chunk_of_segment", "chunk_awaiting_vector"),
    "messages' places": (
        "chunk_source",
        "sqlite_autoindex_chunk_source_1",
        "chunk_source_turn",
        "chunk_source_place",
        "chunk_source_time",
        "chunk_source_pending",
        "chunk_source_partial",
    ),
}


class Cost(NamedTuple):
    """The time of each of some requests, in milliseconds."""

    cpu: list[float]
    wall: list[float]


class Figures(NamedTuple):
    """The figures of one home."""

    chunks: int
    start_cpu: float
    rows: list[list[object]]
    first: float
    """Processor time of a search in the same workspace as in every home, p50."""
    rss: dict[str, float]
    disk: dict[str, float]


def questions(count: int) -> list[str]:
    """Questions of all kinds, the same for each home."""
    words, rng = Words(SEED), random.Random(SEED)
    return [words.query(rng.choice(KINDS[:4])) for _ in range(count)]


async def started(home: Path, model: Path | None) -> tuple[GatewayClient, float]:
    """A gateway that has answered `initialize`, and the processor time that this took."""
    config = home.parent / "turn_scale.toml"
    chosen = f"model_path = {json.dumps(str(model))}" if model is not None else "enabled = false"
    config.write_text(f"[gateway.embedding]\n{chosen}\n", encoding="utf-8")
    client = await GatewayClient.start([*console_script(), "serve", "--home", str(home), "--config", str(config)])
    hello = {"protocol_version": "2026-11", "client": {"name": "turn_scale", "version": "1"}, "workspace_id": "ws_0"}
    await client.request("initialize", hello)
    return client, cpu_ms(client.pid)


async def loaded(client: GatewayClient) -> None:
    """Wait for the model, which the first search asks for."""
    await client.request(*search("ws_0", "anything at all"))
    while (await client.request("gateway/status"))["search"]["semantic"] != "ready":  # noqa: ASYNC110  # another process
        await asyncio.sleep(LOOK_SECONDS)


async def cost_of(client: GatewayClient, requests: Sequence[tuple[str, dict[str, Any]]], after: Any = None) -> Cost:
    """Requests one after another; `after` undoes what one did, outside the time."""
    cost = Cost([], [])
    for method, params in requests:
        begun, used = time.perf_counter(), cpu_ms(client.pid)
        result = await client.request(method, params)
        cost.wall.append((time.perf_counter() - begun) * 1000)
        cost.cpu.append(cpu_ms(client.pid) - used)
        if after is not None:
            await after(result)
    return cost


def search(workspace: str, query: str) -> tuple[str, dict[str, Any]]:
    """A search of a workspace's conversation."""
    return "thread_episodic/search", {"workspace_id": workspace, "query": query, "mode": "workspace_threads"}


async def turns(client: GatewayClient, workspace: str, asked: Sequence[str]) -> Cost:
    """Measure the preparation of turns that the host drives; each turn is given up when it was prepared."""
    thread = (await client.request("thread/start", {"workspace_id": workspace}))["thread"]["thread_id"]

    async def give_up(prepared: Any) -> None:
        await client.request("turn/cancel", {"turn_id": prepared["turn"]["turn_id"]})

    requests = [("turn/prepare", {"thread_id": thread, "input": [{"type": "text", "text": query}]}) for query in asked]
    return await cost_of(client, requests, give_up)


async def measure(home: Path, made: BigHome, model: Path | None, calls: int) -> Figures:
    """The figures of a home that is there."""
    starts: list[float] = []
    rss: dict[str, float] = {}
    for _ in range(STARTS):
        client, cpu = await started(home, None)
        starts.append(cpu)
        rss["after start"] = spent(client.pid).rss_mb or 0.0
        await client.close()
    rows: list[list[object]] = []
    first = 0.0
    for name, chosen in (("words", None), *((("words and meaning", model),) if model is not None else ())):
        client, _ = await started(home, chosen)
        if chosen is not None:
            await loaded(client)
            rss["with model"] = spent(client.pid).rss_mb or 0.0
        try:
            for workspace, chunks in list(made.workspaces.items())[:LOOKED_INTO]:
                asked = questions(calls + WARM_UP)
                await cost_of(client, [search(workspace, query) for query in asked[:WARM_UP]])
                found = await cost_of(client, [search(workspace, query) for query in asked[WARM_UP:]])
                prepared = await turns(client, workspace, asked[WARM_UP:])
                for what, cost in (("search", found), ("turn/prepare", prepared)):
                    figures = [percentile(taken, p) for taken in cost for p in (50, 95)]
                    rows.append([f"{what}, {name}", made.chunks, chunks, *figures])
                first = percentile(found.cpu, 50) if workspace == "ws_0" else first
            for workspace in made.workspaces:  # each once, and again until all of it is compared
                await cost_of(client, [search(workspace, query) for query in questions(2)])
            rss[f"after all were searched, {name}"] = spent(client.pid).rss_mb or 0.0
        finally:
            await client.close()
    return Figures(made.chunks, min(starts), rows, first, rss, disk(home / "gateway.db", made.chunks))


def disk(path: Path, chunks: int) -> dict[str, float]:
    """Bytes a chunk, by what they are for; the text of the messages is not among them."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        sizes = dict(connection.execute("SELECT name, sum(pgsize) FROM dbstat WHERE aggregate = true GROUP BY name"))
    finally:
        connection.close()
    by_use = {use: sum(float(sizes.get(name, 0)) for name in names) / chunks for use, names in FILES.items()}
    return by_use | {"together": sum(by_use.values())}


async def anchors_of(model: Path | None) -> tuple[list[bytes], SpaceIdentity | None]:
    """Return a model's vectors of some questions and of such texts, and the model's name."""
    async with open_embedder(model) as embedder:
        if embedder is None:
            return [], None
        words = Words(SEED + 1)
        texts = [*questions(ANCHORS // 2), *(words.sentence(number) for number in range(ANCHORS // 2))]
        return await embedder.embed(texts), SpaceIdentity(*embedder.identity)


async def run(options: argparse.Namespace) -> list[Figures]:
    """Make the homes, one after another, and measure them. In a folder that was named they stay, and are not made
    again."""
    model = model_folder()
    anchors, identity = await anchors_of(model)
    found: list[Figures] = []
    for chunks in options.chunks:
        with tempfile.TemporaryDirectory(prefix="pioneer-bench-", dir=options.folder) as temporary:
            kept = Path(options.folder or temporary) / f"home-{chunks}-{options.chars}-{len(anchors)}"
            begun, memories = time.perf_counter(), chunks // MEMORIES_PART
            if not kept.exists():
                home = Path(temporary) / "home"
                await make(
                    home, memories=memories, chunks=chunks, chars=options.chars, anchors=anchors, identity=identity
                )
                home.rename(kept)
            made = BigHome(chunks, workspaces_of(chunks))
            size = (kept / "gateway.db").stat().st_size / 2**20
            took = time.perf_counter() - begun
            print(
                f"{memories} memories, {chunks} chunks in {len(made.workspaces)} workspaces, {size:.0f} MB, {took:.0f} s"
            )
            found.append(await measure(kept, made, model if identity is not None else None, options.calls))
    return found


def main(arguments: list[str] | None = None) -> int:
    """Run it; 1 if a home of more costs more than it may."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks turn_scale", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--chunks", type=int, nargs="+", default=SIZES, help="sizes of the homes")
    parser.add_argument("--chars", type=int, default=CHARS, help="characters of a message, in the mean")
    parser.add_argument("--calls", type=int, default=CALLS, help="requests of each kind")
    parser.add_argument("--folder", help="where the homes are made and kept")
    options = parser.parse_args(arguments)
    print(f"turn_scale: seed {SEED}, {options.calls} requests of each kind, on {machine()}")
    found = asyncio.run(run(options))
    heads = ["request", "chunks", "in workspace", "cpu p50 ms", "cpu p95 ms", "wall p50 ms", "wall p95 ms"]
    show_table("what a request costs", heads, [row for figures in found for row in figures.rows])
    show_table("start to `initialize`", ["chunks", "cpu ms"], [[f.chunks, f.start_cpu] for f in found])
    show_table(
        "resident memory", ["when", "chunks", "MB"], [[w, f.chunks, mb] for f in found for w, mb in f.rss.items()]
    )
    show_table("disk", ["what", "chunks", "B a chunk"], [[w, f.chunks, b] for f in found for w, b in f.disk.items()])
    least, most = found[0], found[-1]
    growth = most.first / least.first
    print(f"\nthe same workspace in the largest home: {growth:.2f} times the processor time, at most {AT_MOST_GROWTH}")
    return int(growth > AT_MOST_GROWTH or max(most.rss.values()) > AT_MOST_MB)
