"""The cost of searches and turns in generated homes, small and large; memory and disk.

Rule 1: a home is made once for its sizes and kept; what is asked of it changes nothing that is measured.
Rule 2: what memory adds to a turn is the turn with memory less the same turn without.
"""

import hashlib
import math
import random
import time
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.big_home import make, workspaces_of
from benchmarks.goals import OUT, Row, at_most, shown
from benchmarks.inputs import open_embedder
from benchmarks.report import percentile
from benchmarks.search_scale import KINDS, SEED, Words
from benchmarks.turn_scale import Cost, anchors_of, cost_of, disk, loaded, search, started
from benchmarks.wire import spent
from gateway.embedding.spaces import SpaceIdentity
from gateway.store.schema_shapes import HOUSES
from gateway.wire.client import GatewayClient

CHARS = 400
HOMES = OUT / "homes"
USER = {"scopes": [{"kind": "user", "key": "default"}]}
"""Ten thousand records, in each home that has so many."""
LEXICAL_MS = {10_000: 3.0, 100_000: 4.0, 1_000_000: 8.0}
HYBRID_MORE_MS = 3.0
WARM_UP = 8
STARTS = 3
LOOKED_INTO = 3
TRIES = 6
SETTLED = 0.8
"""Of the cost before: what is left is chance."""
LONGER = 740
"""Mean length of a message in the second home whose disk is measured; the longest is one chunk still."""
WANTED_CHARS = 1000
DISK_CHUNKS = 10_000


class HomeSize(NamedTuple):
    """The size of a home."""

    memories: int
    chunks: int


class Model(NamedTuple):
    """A folder with a model, what it makes of some texts, and which it is; of nothing where there is none."""

    folder: Path | None
    anchors: list[bytes]
    identity: SpaceIdentity | None


class Figures(NamedTuple):
    """The figures of one home; milliseconds of processor time, p50, unless said otherwise."""

    size: HomeSize
    start: float
    rss: dict[str, float]
    costs: dict[str, Cost]
    """By `what, words or meaning`; conversation's also by the size of the workspace."""


async def model_of(folder: Path | None) -> Model:
    """A model, ready to make homes with."""
    anchors, identity = await anchors_of(folder)
    return Model(folder if identity is not None else None, anchors, identity)


def _schema() -> str:
    """The mark that tells the tables of a home from those of another version."""
    tables = b"".join(files(house).joinpath("schema.sql").read_bytes() for house in HOUSES)
    return hashlib.sha256(tables).hexdigest()[:8]


async def home_of(size: HomeSize, model: Model, chars: int = CHARS) -> Path:
    """A home of that size, made if there is none yet."""
    kept = HOMES / f"home-{size.memories}-{size.chunks}-{chars}-{len(model.anchors)}-{_schema()}"
    if not kept.exists():
        HOMES.mkdir(parents=True, exist_ok=True)
        making = HOMES / f"making-{time.time_ns()}" / "home"
        making.parent.mkdir()
        await make(
            making,
            memories=size.memories,
            chunks=size.chunks,
            chars=chars,
            anchors=model.anchors,
            identity=model.identity,
        )
        making.rename(kept)
    return kept


def questions(count: int, seed: int = SEED) -> list[str]:
    """Questions of all kinds, none twice."""
    words, rng = Words(seed), random.Random(seed)
    return [words.query(rng.choice(KINDS[:4])) for _ in range(count)]


def p50(cost: Cost) -> float:
    """The middle of the processor times."""
    return percentile(cost.cpu, 50)


async def embedding_cost(model: Model, calls: int) -> float:
    """Processor time of one query's embedding by the bare embedder, p50 in milliseconds."""
    taken: list[float] = []
    async with open_embedder(model.folder) as embedder:
        if embedder is None:
            return 0.0
        for query in questions(calls + WARM_UP):
            begun = time.process_time()
            await embedder.embed_query(query)
            taken.append((time.process_time() - begun) * 1000)
    return percentile(taken[WARM_UP:], 50)


def _remembered(query: str, mode: str) -> tuple[str, dict[str, Any]]:
    return "memory/search", {"query": query, "mode": mode, "limit": 20, **USER}


async def _settle(client: GatewayClient, requests: Sequence[tuple[str, dict[str, Any]]]) -> None:
    """Ask again until it costs no less than before: nothing is read in the background any more."""
    before = math.inf
    for _ in range(TRIES):
        now = sum((await cost_of(client, requests)).cpu)
        if now > SETTLED * before:
            return
        before = now


async def _turns(client: GatewayClient, workspace: str, asked: Sequence[str], mode: str) -> Cost:
    """Turns that the host drives, prepared and given up."""
    params = {"workspace_id": workspace, "memory_mode": mode}
    thread = (await client.request("thread/start", params))["thread"]["thread_id"]

    async def give_up(prepared: Any) -> None:
        await client.request("turn/cancel", {"turn_id": prepared["turn"]["turn_id"]})
        await client.request("gateway/drain", {})

    requests = [("turn/prepare", {"thread_id": thread, "input": [{"type": "text", "text": query}]}) for query in asked]
    return await cost_of(client, requests, give_up)


async def _one_gateway(
    home: Path, size: HomeSize, model: Path | None, calls: int, rss: dict[str, float]
) -> dict[str, Cost]:
    how, mode = ("meaning", "hybrid") if model else ("words", "lexical")
    client, _ = await started(home, model)
    costs: dict[str, Cost] = {}
    try:
        if model is not None:
            await loaded(client)
            rss["with model"] = spent(client.pid).rss_mb or 0.0
        await client.request("gateway/drain", {})  # a start looks through its home, for a second where that is large
        asked = questions(calls + WARM_UP)
        warm, asked = asked[:WARM_UP], asked[WARM_UP:]
        await _settle(client, [_remembered(query, mode) for query in warm])
        costs[f"memory, {how}"] = await cost_of(client, [_remembered(query, mode) for query in asked])
        for workspace, chunks in list(workspaces_of(size.chunks).items())[:LOOKED_INTO]:
            await _settle(client, [search(workspace, query) for query in warm])
            costs[f"conversation of {chunks}, {how}"] = await cost_of(client, [search(workspace, q) for q in asked])
            await _turns(client, workspace, warm, "normal")
            for kind, said in (("normal", asked), ("ignored", asked), ("repeated", asked[:1] * len(asked))):
                told = await _turns(client, workspace, said, "ignored" if kind == "ignored" else "normal")
                costs[f"turn of {chunks}, {kind}, {how}"] = told
        if model is not None:
            for workspace in workspaces_of(size.chunks):
                await _settle(client, [search(workspace, query) for query in warm[:1]])
            rss["with all of its chunks"] = spent(client.pid).rss_mb or 0.0
    finally:
        await client.close()
    return costs


async def measure_home(size: HomeSize, model: Model, calls: int) -> Figures:
    """The figures of one home."""
    home = await home_of(size, model)
    starts: list[float] = []
    rss: dict[str, float] = {}
    for _ in range(STARTS):
        client, cpu = await started(home, None)
        starts.append(cpu)
        rss["after start"] = spent(client.pid).rss_mb or 0.0
        await client.close()
    costs = await _one_gateway(home, size, None, calls, rss)
    if model.folder is not None:
        costs |= await _one_gateway(home, size, model.folder, calls, rss)
    return Figures(size, min(starts), rss, costs)


def _search_rows(found: Figures, embedding: float) -> list[Row]:
    held, limit = min(found.size.memories, 10_000), LEXICAL_MS.get(found.size.memories)
    if limit is None:
        return []
    words = found.costs["memory, words"]
    name = f"`memory/search` in {held:,} of {found.size.memories:,} records"
    rows = [at_most(f"{name}, words, CPU", p50(words), "ms", limit, wall=percentile(words.wall, 50))]
    if (both := found.costs.get("memory, meaning")) is not None:
        limit += embedding + HYBRID_MORE_MS
        rows.append(
            at_most(
                f"{name}, words and meaning, CPU",
                p50(both),
                "ms",
                round(limit, 1),
                wall=percentile(both.wall, 50),
                beside="one embedding of a query",
                floor=embedding,
            )
        )
    return rows


def _turn_rows(found: Figures, embedding: float) -> list[Row]:
    rows: list[Row] = []
    how = "meaning" if "memory, meaning" in found.costs else "words"
    for chunks in list(workspaces_of(found.size.chunks).values())[:LOOKED_INTO]:
        normal, ignored, repeated = (
            found.costs[f"turn of {chunks}, {kind}, {how}"] for kind in ("normal", "ignored", "repeated")
        )
        bare, name = p50(ignored), f"memory added to a turn, {chunks:,} of {found.size.chunks:,} chunks"
        added = [cpu - bare for cpu in normal.cpu]
        rows += [
            at_most(
                f"{name}, CPU p50",
                percentile(added, 50),
                "ms",
                20,
                wall=percentile(normal.wall, 50),
                beside="one embedding of a query",
                floor=embedding,
            ),
            at_most(f"{name}, CPU p95", percentile(added, 95), "ms", 40, wall=percentile(normal.wall, 95)),
            at_most(
                f"{name}, the same text again, CPU p50",
                p50(repeated) - bare,
                "ms",
                2,
                wall=percentile(repeated.wall, 50),
                beside="the turn without memory",
                floor=bare,
            ),
        ]
    return rows


def _growth_rows(least: Figures, most: Figures) -> list[Row]:
    names = f"{least.size.chunks:,} → {most.size.chunks:,} chunks"
    first = next(iter(workspaces_of(least.size.chunks).values()))
    rows = [
        at_most(
            f"start, {names}", most.start / least.start, "times", 1.15, beside="small home, CPU ms", floor=least.start
        )._replace(floor=None, beside="")
    ]
    for how in ("words", "meaning"):
        key = f"conversation of {first}, {how}"
        if key in least.costs and key in most.costs:
            small, large = p50(least.costs[key]), p50(most.costs[key])
            rows.append(at_most(f"conversation searched by {how}, {names}", large / small, "times", 2))
            rows.append(shown(f"its CPU by {how}", large, "ms", beside="in the small home", floor=small))
    return rows


async def disk_rows(model: Model, chunks: int) -> list[Row]:
    """Bytes of a chunk of 1,000 characters besides its text, on the line through homes of two lengths of message."""
    size = HomeSize(chunks // 10, chunks)
    shorter, longer = [disk(await home_of(size, model, chars) / "gateway.db", chunks) for chars in (CHARS, LONGER)]
    on_line = {
        use: longer[use] + (longer[use] - shorter[use]) * (WANTED_CHARS - LONGER) / (LONGER - CHARS) for use in longer
    }
    parts = [shown(f"of it {use}", of / 1000, "KB") for use, of in on_line.items() if use != "together"]
    return [
        at_most("disk of a chunk of 1,000 characters, text not counted", on_line["together"] / 1000, "KB", 2.2),
        *parts,
    ]


def plotted(found: Sequence[Figures]) -> list[dict[str, Any]]:
    """Return the cost of a recall at every size, for a picture."""
    return [
        {
            "home": one.size.chunks,
            "memories": one.size.memories,
            "what": what,
            "cpu_p50": p50(cost),
            "cpu_p95": percentile(cost.cpu, 95),
            "wall_p50": percentile(cost.wall, 50),
            "wall_p95": percentile(cost.wall, 95),
            "calls": len(cost.cpu),
        }
        for one in found
        for what, cost in one.costs.items()
    ]


async def measure(sizes: Sequence[HomeSize], model: Model, calls: int) -> tuple[list[Row], list[dict[str, Any]]]:
    """All of it, and what a picture needs."""
    embedding = median([await embedding_cost(model, calls) for _ in range(3)]) if model.folder else 0.0
    found = [await measure_home(size, model, calls) for size in sizes]
    rows = [row for one in found for row in _search_rows(one, embedding)]
    most = found[-1]
    rows += _turn_rows(most, embedding)
    rows += _growth_rows(found[0], most) if len(found) > 1 else []
    if "with model" in most.rss:
        rows += [
            at_most("RSS with the model", most.rss["with model"], "MB", 350),
            at_most(
                f"RSS with all {most.size.chunks:,} chunks searched", most.rss["with all of its chunks"], "MB", 1200
            ),
        ]
    rows.append(at_most(f"RSS after start, home of {most.size.chunks:,} chunks", most.rss["after start"], "MB", 60))
    return [*rows, *await disk_rows(model, min(DISK_CHUNKS, most.size.chunks))], plotted(found)
