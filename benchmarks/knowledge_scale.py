"""What collections cost: a scan that finds nothing new, the first index, a search, each beside a floor of the same run.

Rule 1: processor time of the gateway and its reader, where the system tells it; walls are not compared.
"""

import asyncio
import os
import random
import time
from pathlib import Path

from benchmarks.report import percentile, show_table
from benchmarks.wire import cpu_ms
from gateway.wire.client import GatewayClient, console_script

SEED = 7
FOLDERS_OF = 100
"""Files of one folder."""
PARTS = 10
"""Of a collection: one of them is renamed."""
SCAN_GOAL = 5.0
SIZE_GOAL = 0.8
RENAME_GOAL = 2.0
PING_GOAL = 2.0
SAVE_GOAL = 2.0
SMALL = 100
"""Files of the collection beside which a save is compared."""
SAVES = 9
SEARCHES = 40
PINGS = 100


def build(root: Path, count: int) -> int:
    """Write so many notes of a made-up language, a hundred a folder, in ten parts; return their bytes."""
    chance = random.Random(SEED)
    words = ["".join(chance.choice("bdfgklmnprstv") + chance.choice("aeiou") for _ in range(3)) for _ in range(6000)]
    size = 0
    for number in range(count):
        folder = root / f"part{number * PARTS // count}" / f"folder{number // FOLDERS_OF}"
        folder.mkdir(parents=True, exist_ok=True)
        text = f"# Note {number}\n\n" + "".join(
            " ".join(chance.choices(words, k=60)) + f" word{number}x{part}.\n\n" for part in range(4)
        )
        (folder / f"n{number}.md").write_text(text, encoding="utf-8")
        size += len(text)
    return size


def walk(root: Path) -> float:
    """Return the processor milliseconds of walking and stat-ing a tree in Python; the least of five."""
    taken: list[float] = []
    for _ in range(5):
        began = time.process_time()
        for folder, _, names in os.walk(root):
            for name in names:
                os.stat(os.path.join(folder, name), follow_symlinks=False)  # noqa: PTH116, PTH118
        taken.append((time.process_time() - began) * 1000)
    return min(taken)


async def save_cost(folder: Path, count: int) -> float:
    """Return the processor milliseconds, a median, from a save of one file of a watched collection to its indexing."""
    root, config = folder / "notes", folder / "config.toml"
    build(root, count)
    config.write_text(
        "[gateway.embedding]\nenabled = false\n[gateway.knowledge]\ndebounce_ms = 100\n", encoding="utf-8"
    )
    taken: list[float] = []
    command = [*console_script(), "serve", "--home", str(folder / "home"), "--config", str(config)]
    async with await GatewayClient.start(command) as client:
        await client.request(
            "initialize", {"protocol_version": "2026-11", "client": {"name": "benchmarks", "version": "1"}}
        )
        await client.request("knowledge/collections/add", {"path": str(root), "collection_id": "notes"})
        await _drained(client)
        while (await client.request("knowledge/status", {}))["collections"][0]["collection"]["state"] != "live":
            await _drained(client)
        await _drained(client)
        for number in range(SAVES):
            told = len(client.received)
            used = cpu_ms(client.pid)
            (root / "part0" / "folder0" / "n7.md").write_text(
                f"# Note 7\n\nSaved anew, saved{number}.\n", encoding="utf-8"
            )
            await client.wait_for("knowledge/indexed", since=told)
            taken.append(cpu_ms(client.pid) - used)
    return percentile(taken, 50)


async def measure(folder: Path, count: int) -> bool:
    """Print costs beside floors; return whether each is within its bound."""
    root = folder / "notes"
    size = build(root, count)
    config = folder / "config.toml"
    config.write_text(
        "[gateway.embedding]\nenabled = false\n[gateway.knowledge]\nwatch_enabled = false\n", encoding="utf-8"
    )
    command = [*console_script(), "serve", "--home", str(folder / "home"), "--config", str(config)]
    rows: list[tuple[str, float, float, float]] = []
    async with await GatewayClient.start(command) as client:
        await client.request(
            "initialize", {"protocol_version": "2026-11", "client": {"name": "benchmarks", "version": "1"}}
        )
        rest = await _pings(client)
        await client.request("knowledge/collections/add", {"path": str(root), "collection_id": "notes"})
        busy = await _pings(client)
        await _drained(client)
        scans: list[float] = []
        for _ in range(5):
            used = cpu_ms(client.pid)
            await client.request("knowledge/collections/scan", {"collection_id": "notes"})
            await _drained(client)
            scans.append(cpu_ms(client.pid) - used)
        floor = walk(root)
        rows.append(("scan of unchanged files, ms CPU / walk and stat", min(scans), floor, SCAN_GOAL))
        (root / "part0").rename(root / "renamed")
        used = cpu_ms(client.pid)
        await client.request("knowledge/collections/scan", {"collection_id": "notes"})
        await _drained(client)
        rows.append(("scan after a tenth was renamed / unchanged", cpu_ms(client.pid) - used, min(scans), RENAME_GOAL))
        rows.append(
            ("ping p95 while files are indexed / at rest, ms", percentile(busy, 95), percentile(rest, 95), PING_GOAL)
        )
        searches: list[float] = []
        for number in range(SEARCHES):
            used = cpu_ms(client.pid)
            query = f"word{number * 7 % count}x1"
            found = await client.request("knowledge/search", {"query": query, "source": "file"})
            searches.append(cpu_ms(client.pid) - used)
            if not found["hits"]:
                raise SystemExit(f"{query} was not found")
    large, small = await save_cost(folder / "large", count), await save_cost(folder / "small", SMALL)
    rows.append((f"saving one file, ms CPU / among {SMALL} files", large, small, SAVE_GOAL))
    stored = sum(path.stat().st_size for path in (folder / "home").glob("gateway.db"))
    rows.append(("database / bytes of the texts, MB", stored / 1e6, size / 1e6, SIZE_GOAL))
    show_table(
        f"{count} files, {size / 1e6:.1f} MB", ("what", "value", "floor", "ratio", "bound"),
        [(what, value, floor, value / floor if floor else 0.0, bound) for what, value, floor, bound in rows],
    )  # fmt: skip
    show_table(
        "search by words", ("", "ms CPU"), [("median", percentile(searches, 50)), ("p95", percentile(searches, 95))]
    )
    return all(not floor or value <= bound * floor for _, value, floor, bound in rows)


async def _pings(client: GatewayClient) -> list[float]:
    taken: list[float] = []
    for _ in range(PINGS):
        began = time.perf_counter()
        await client.request("ping", {})
        taken.append((time.perf_counter() - began) * 1000)
        await asyncio.sleep(0.005)
    return taken


async def _drained(client: GatewayClient) -> None:
    while not (await client.request("gateway/drain", {"timeout_ms": 60_000}))["idle"]:
        pass
