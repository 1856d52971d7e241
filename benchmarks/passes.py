"""The cost of passes: a consolidation where nothing changed and where much did, and searches beside it. Without a model.

Rule 1: processor time of the gateway is judged, as ratios within one run; searches beside a pass are compared by wall
time, in turns.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.goals import Row, at_most, keep, show, shown
from benchmarks.report import machine, percentile
from benchmarks.search_scale import KINDS, SEED, WARM_UP, WORKSPACE, Words, cost_of, fill, opened, spread
from benchmarks.wire import cpu_ms
from gateway.wire.client import GatewayClient, console_script

OF_SEARCH, GROWTH, OF_UPDATES, BESIDE, OF_START = 10, 2, 3, 1.5, 1.05
"""The goals: times one search, times the smaller home, times the updates, times a search alone, times a start without
passes."""
ROUNDS = 5
STARTS = 9


class Size(NamedTuple):
    """Records of the two homes, records that change, searches of each measurement."""

    small: int
    large: int
    changed: int
    searches: int


FULL = Size(10_000, 100_000, 1_000, 200)
QUICK = Size(1_000, 10_000, 200, 60)


async def consolidate(client: GatewayClient, name: str = "consolidate") -> dict[str, Any]:
    """Run a pass to its end."""
    return (await client.request("passes/run", {"pass": name, "timeout_ms": 600_000}))["run"]


async def cpu_of_consolidation(client: GatewayClient, scored: int) -> float:
    """Milliseconds of processor time of one consolidation, which has so many records to score."""
    begun = cpu_ms(client.pid)
    run = await consolidate(client)
    used = cpu_ms(client.pid) - begun
    (score,) = [stage for stage in run["stages"] if stage["name"] == "score"]
    if (run["state"], score["counts"]) != ("completed", {"scored": scored, "moved": scored}):
        raise RuntimeError(run)
    return used


@dataclass(frozen=True)
class Unchanged:
    """Milliseconds of processor time in a home where nothing changed."""

    search: float
    consolidation: float


async def measure_unchanged(client: GatewayClient, words: Words, searches: int) -> Unchanged:
    """Compare a consolidation of a home that was consolidated with the searches in it."""
    queries = [words.query(KINDS[1]) for _ in range(searches)]
    await cost_of(client, queries[:WARM_UP])
    await consolidate(client)  # the first one notes every tier
    await consolidate(client)
    search = statistics.mean((await cost_of(client, queries)).cpu)
    return Unchanged(search, statistics.median([await cpu_of_consolidation(client, 0) for _ in range(ROUNDS)]))


async def ids_of(client: GatewayClient, count: int) -> list[str]:
    """The ids of so many records."""
    found: list[str] = []
    cursor: str | None = None
    while len(found) < count:
        page = await client.request("memory/list", {"limit": 100, "cursor": cursor})
        found += [record["memory_id"] for record in page["records"]]
        cursor = page["next_cursor"]
    return found[:count]


async def change(client: GatewayClient, ids: Sequence[str], importance: float) -> float:
    """Milliseconds of processor time of one update of each record, which moves its tier."""
    begun = cpu_ms(client.pid)
    for memory_id in ids:
        await client.request("memory/update", {"memory_id": memory_id, "importance": importance})
    return cpu_ms(client.pid) - begun


async def run_passes(client: GatewayClient, name: str, is_over: asyncio.Event) -> None:
    """Run a pass again and again."""
    while not is_over.is_set():
        await consolidate(client, name)


async def measure_beside(
    client: GatewayClient, words: Words, ids: Sequence[str], searches: int, name: str
) -> tuple[float, float]:
    """Milliseconds of the 95th percentile of searches: alone, and while a pass runs again and again, in turns."""
    alone, beside = list[float](), list[float]()
    for round_ in range(ROUNDS):
        queries = [words.query(KINDS[1]) for _ in range(searches)]
        alone += (await cost_of(client, queries)).wall
        await change(client, ids, 0.1 + round_ % 2 * 0.5)
        is_over = asyncio.Event()
        runner = asyncio.ensure_future(run_passes(client, name, is_over))
        beside += (await cost_of(client, queries)).wall
        is_over.set()
        await runner
    return percentile(alone, 95), percentile(beside, 95)


async def cpu_of_start(home: Path, *, has_passes: bool) -> float:
    """Milliseconds of processor time from the spawn to the answer to `initialize`."""
    config = home.parent / "passes.toml"
    text = f"[gateway.embedding]\nenabled = false\n\n[gateway.passes]\nenabled = {str(has_passes).lower()}\n"
    config.write_text(text, encoding="utf-8")
    client = await GatewayClient.start([*console_script(), "serve", "--home", str(home), "--config", str(config)])
    hello = {"protocol_version": "2026-11", "client": {"name": "passes", "version": "1"}, "workspace_id": WORKSPACE}
    await client.request("initialize", hello)
    used = cpu_ms(client.pid)
    await client.close()
    return used


async def measure(folder: Path, size: Size) -> list[Row]:
    """Every row."""
    words = Words(SEED)
    small, large = folder / "small" / "home", folder / "large" / "home"
    for home, total in ((small, size.small), (large, size.large)):
        home.parent.mkdir()
        await fill(home, list(spread(words, total)))
    client = await opened(small)
    try:
        quiet = await measure_unchanged(client, words, size.searches)
        rows = [
            shown(f"`memory/search` in {size.small} records, CPU", quiet.search, "ms"),
            at_most(
                f"a consolidation of {size.small} records, nothing changed, CPU beside one search",
                quiet.consolidation / quiet.search,
                "times",
                OF_SEARCH,
            ),
        ]
        ids = await ids_of(client, size.changed)
        updates = await change(client, ids, 0.2)
        consolidated = await cpu_of_consolidation(client, size.changed)
        rows.append(
            at_most(
                f"{size.changed} records changed: a consolidation beside their updates, CPU",
                consolidated / updates,
                "times",
                OF_UPDATES,
            )
        )
        for name in ("consolidate", "dream"):
            alone, beside = await measure_beside(client, words, ids, size.searches, name)
            what = f"a search while {name} runs, p95 beside a search alone"
            rows.append(at_most(what, beside / alone, "times", BESIDE, wall=beside, beside="alone", floor=alone))
    finally:
        await client.close()
    client = await opened(large)
    try:
        grown = await measure_unchanged(client, words, size.searches)
    finally:
        await client.close()
    what = f"a consolidation of {size.large} records, nothing changed, CPU beside that of {size.small}"
    rows.append(at_most(what, grown.consolidation / quiet.consolidation, "times", GROWTH))
    starts = [
        (await cpu_of_start(small, has_passes=True), await cpu_of_start(small, has_passes=False)) for _ in range(STARTS)
    ]
    with_passes, without = (min(column) for column in zip(*starts, strict=True))
    rows.append(
        at_most("spawn → `initialize`, CPU beside that without passes", with_passes / without, "times", OF_START)
    )
    return rows


def main(arguments: list[str] | None = None) -> int:
    """Run it; 1 where a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks passes", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small homes, in a minute")
    options = parser.parse_args(arguments)
    print(f"passes: seed {SEED}, on {machine()}")
    with tempfile.TemporaryDirectory(prefix="pioneer-bench-") as folder:
        rows = asyncio.run(measure(Path(folder), QUICK if options.quick else FULL))
    show("passes", rows)
    command = f"python -m benchmarks passes{' --quick' if options.quick else ''}"
    keep("passes", {"command": command, "seed": SEED, "rows": [row._asdict() for row in rows]})
    return int(any(row.is_met is False for row in rows))


if __name__ == "__main__":
    sys.exit(main())
