"""Indexing conversation: how fast, and what others notice of it.

Rule 1: the rate is chunks a second of the gateway's processor time; importing is measured without indexing and taken
off.
Rule 2: blocks of the loop are measured inside the process, callback by callback, in the processor time of the loop's
own thread.
"""

import asyncio
import itertools
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.big_home import FIRST_AT, MINUTE, Talk
from benchmarks.goals import Row, at_least, at_most, shown
from benchmarks.inputs import open_embedder
from benchmarks.report import percentile
from benchmarks.search_scale import SEED, Words
from benchmarks.speed_search import CHARS, Model, questions
from benchmarks.turn_scale import search
from benchmarks.wire import cpu_ms
from gateway.wire.client import GatewayClient, console_script

TURNS_OF_THREAD = 200
LANES = 16
PATIENCE_MS = 3_600_000
BLOCK_MS = 50
LEAST_RATE = 3000
PART_OF_BARE = 0.8
SEARCHED = "ws_searched"
ROOT = Path(__file__).resolve().parent.parent


class Size(NamedTuple):
    """The sizes of what is indexed (without a model, with one, while others search), and the number of compared searches."""

    chunks: int
    embedded: int
    under_load: int
    searches: int


QUICK = Size(chunks=3000, embedded=60, under_load=1500, searches=60)
TINY = Size(chunks=40, embedded=4, under_load=40, searches=5)
FULL = Size(chunks=20_000, embedded=1000, under_load=10_000, searches=400)


def messages(count: int, seed: int = SEED) -> list[str]:
    """Messages of a made-up conversation."""
    talk = Talk(Words(seed), CHARS)
    return [talk.message(number).text for number in range(count)]


async def _open(
    folder: Path, *, model: Path | None = None, indexes: bool = True, watched: Path | None = None
) -> GatewayClient:
    chosen = f"model_path = {json.dumps(str(model))}" if model is not None else "enabled = false"
    config = folder / "load.toml"
    config.write_text(
        f"[gateway.embedding]\n{chosen}\n\n[gateway.thread_episodic]\nindexing_enabled = {str(indexes).lower()}\n",
        encoding="utf-8",
    )
    served = ["serve", "--home", str(folder / "home"), "--config", str(config)]
    if watched is not None:
        command = [sys.executable, "-m", "benchmarks.watched", str(watched), *served]
    else:
        command = [*console_script(), *served]
    client = await GatewayClient.start(command, cwd=ROOT)
    hello = {"protocol_version": "2026-11", "client": {"name": "load", "version": "1"}, "workspace_id": SEARCHED}
    await client.request("initialize", hello)
    return client


async def _import(client: GatewayClient, workspace: str, said: Sequence[str]) -> None:
    await client.request("workspace/create", {"workspace_id": workspace})
    for first in range(0, len(said), TURNS_OF_THREAD):
        turns = [
            {"at": FIRST_AT + place * MINUTE, "items": [{"role": "user", "text": text}]}
            for place, text in enumerate(said[first : first + TURNS_OF_THREAD], first)
        ]
        source = {"kind": "benchmark", "id": f"{workspace}-{first}"}
        await client.request("thread/import", {"workspace_id": workspace, "source": source, "turns": turns})


async def _drained(client: GatewayClient) -> None:
    await client.request("gateway/drain", {"timeout_ms": PATIENCE_MS})


async def _cost(said: Sequence[str], *, model: Path | None = None, indexes: bool = True) -> tuple[float, float]:
    """Seconds of processor time and of wall time to import messages, and to index them."""
    with tempfile.TemporaryDirectory(prefix="pioneer-bench-") as folder:
        client = await _open(Path(folder), model=model, indexes=indexes)
        try:
            await _import(client, "ws_first", messages(5, SEED + 1))
            if model is not None:  # loaded by whatever asks first
                await client.request(*search("ws_first", "anything at all"))
            await _drained(client)
            used, begun = cpu_ms(client.pid), time.perf_counter()
            await _import(client, SEARCHED, said)
            await _drained(client)
            return (cpu_ms(client.pid) - used) / 1000, time.perf_counter() - begun
        finally:
            await client.close()


async def _bare(said: Sequence[str], model: Path) -> float:
    """Seconds of processor time of the embedder alone for these texts."""
    async with open_embedder(model) as embedder:
        if embedder is None:
            raise FileNotFoundError(model)
        await embedder.embed(said[:2])
        begun = time.process_time()
        await embedder.embed(said)
        return time.process_time() - begun


async def rates(model: Model, size: Size) -> list[Row]:
    """Measure the speed at which conversation is indexed."""
    said = messages(size.chunks)
    (imported, _), (indexed, wall) = await _cost(said, indexes=False), await _cost(said)
    rows = [
        at_least(
            "indexing without a model, chunks a second of CPU",
            size.chunks / max(indexed - imported, 1e-9),
            "/s",
            LEAST_RATE,
            beside="import and index",
            floor=size.chunks / indexed,
        ),
        shown("import and index without a model", size.chunks / indexed, "/s", wall=size.chunks / wall),
    ]
    if model.folder is not None:
        said = messages(size.embedded)
        (imported, _), (indexed, wall) = await _cost(said, indexes=False), await _cost(said, model=model.folder)
        bare = await _bare(said, model.folder)
        own, floor = size.embedded / max(indexed - imported, 1e-9), size.embedded / bare
        rows += [
            at_least("indexing with a model beside the bare embedder", own / floor, "times", PART_OF_BARE),
            shown(
                "its rate, chunks a second of CPU",
                own,
                "/s",
                wall=size.embedded / wall,
                beside="bare embedder",
                floor=floor,
            ),
        ]
    return rows


def _others() -> list[tuple[str, dict[str, Any]]]:
    """Return the requests of an application while its user searches."""
    return [
        ("ping", {}),
        ("thread/list", {"workspace_id": SEARCHED}),
        ("memory/list", {}),
        ("gateway/status", {}),
        ("memory/search", {"query": "coffee in the morning", "mode": "lexical"}),
        ("memory/stats", {}),
        ("thread_episodic/status", {"workspace_id": SEARCHED}),
    ]


async def _searches(client: GatewayClient, asked: Sequence[str]) -> list[float]:
    taken: list[float] = []
    for query in asked:
        begun = time.perf_counter()
        await client.request(*search(SEARCHED, query))
        taken.append((time.perf_counter() - begun) * 1000)
    return taken


async def _among_others(client: GatewayClient, asked: Sequence[str]) -> list[float]:
    """Searches one after another while all other lanes are full."""
    over = asyncio.Event()

    async def lane(requests: Iterator[tuple[str, dict[str, Any]]]) -> None:
        while not over.is_set():
            await client.request(*next(requests))

    lanes = [
        asyncio.create_task(lane(itertools.cycle(_others()[n % 7 :] + _others()[: n % 7]))) for n in range(LANES - 1)
    ]
    try:
        return await _searches(client, asked)
    finally:
        over.set()
        await asyncio.gather(*lanes)


async def under_load(size: Size) -> list[Row]:
    """Searches while much is indexed and asked, and the longest that the loop was held."""
    with tempfile.TemporaryDirectory(prefix="pioneer-bench-") as temporary:
        folder = Path(temporary)
        client = await _open(folder, watched=folder / "blocks.json")
        try:
            await _import(client, SEARCHED, messages(size.chunks, SEED + 2))
            await _drained(client)
            asked = questions(size.searches + 10)[10:]
            begun = time.time()
            idle = await _searches(client, asked)
            among = await _among_others(client, asked)
            indexing = asyncio.create_task(_import(client, "ws_new", messages(size.under_load, SEED + 3)))
            busy = await _among_others(client, asked)
            await indexing
            await _drained(client)
        finally:
            await client.close()
        held = json.loads((folder / "blocks.json").read_text(encoding="utf-8"))
    cpu, wall = (max((one[place] for one in held if one[0] >= begun), default=0.0) for place in (1, 2))
    quiet = percentile(idle, 95)
    return [
        at_most(
            f"search p95, {LANES} requests in flight and {size.under_load:,} chunks indexed, beside idle",
            percentile(busy, 95) / quiet,
            "times",
            3,
            wall=percentile(busy, 95),
        ),
        shown(
            f"search p95, {LANES} requests in flight, nothing indexed, wall",
            percentile(among, 95),
            "ms",
            beside="idle",
            floor=quiet,
        ),
        at_most("longest block of the loop meanwhile, CPU", cpu, "ms", BLOCK_MS, wall=wall),
    ]


async def measure(model: Model, size: Size) -> list[Row]:
    """All of it."""
    return [*await rates(model, size), *await under_load(size)]
