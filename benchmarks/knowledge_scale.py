"""The cost of collections: a scan that finds nothing new, the first index, a search, each beside a floor of the same run.

Rule 1: processor time of the gateway and its reader, where the system tells it; walls are not compared.
"""

import asyncio
import hmac
import os
import random
import sqlite3
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import structs

from benchmarks.report import percentile, show_table
from benchmarks.wire import cpu_ms, spent
from gateway.files.safe_open import SafeFolder
from gateway.wire.client import GatewayClient, console_script
from knowledge.collections import build_rowless_collection
from knowledge.rows.contents import FoundPiece
from knowledge.rows.files import ContentPlace
from knowledge.search.verifying import Disk
from knowledge.walk.current_rules import CurrentRules
from protocol.settings import KnowledgeSettings

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
INDEX_GOAL = 1.4
SEARCH_GOAL = 1.5
TURN_GOAL = 1.5
START_GOAL = 1.05
REMOVAL_GOAL = 1.0
"""The bound of a removal's time by that of the making."""
HIT_MS = 0.3
"""The bound of the verification of a hit."""
REST_MS = 2.0
"""The bound of a second of watching at rest: 0.2 % of a core."""
REST_SECONDS = 15
MEMORY_MB = 64.0
IMPORTED = 500
"""Messages of one thread."""
CHOICES: Mapping[str, Any] = {
    "name": "notes",
    "path": "",
    "include": [],
    "exclude": [],
    "follow_gitignore": 1,
    "watch": 1,
    "recall": 1,
    "meaning": "off",
    "enrich": 0,
}
STARTS = 5
TURNS = 15
SMALL = 100
"""Files of the collection beside which a save is compared."""
SAVES = 9
SEARCHES = 40
PINGS = 500


def build(root: Path, count: int, paragraphs: int) -> int:
    """Write so many notes of a made-up language, a hundred a folder, in ten parts; return their bytes."""
    chance = random.Random(SEED)
    words = [
        "".join(chance.choice("bdfgklmnprstv") + chance.choice("aeiou") for _ in range(n % 4 + 1)) for n in range(6000)
    ]
    size = 0
    for number in range(count):
        folder = root / f"part{number * PARTS // count}" / f"folder{number // FOLDERS_OF}"
        folder.mkdir(parents=True, exist_ok=True)
        text = f"# Note {number}\n\n" + "".join(
            " ".join(chance.choices(words, k=60)) + f" word{number}x{part}.\n\n" for part in range(paragraphs)
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


async def save_cost(home: Path, root: Path) -> float:
    """Return the processor milliseconds, a median, from a save of one file of a watched collection to its indexing."""
    config = home.with_name(f"{home.name}.toml")
    config.write_text(
        "[gateway.embedding]\nenabled = false\n[gateway.knowledge]\ndebounce_ms = 100\n", encoding="utf-8"
    )
    file = _find_saved(root)
    text = file.read_text(encoding="utf-8")
    taken: list[float] = []
    command = [*console_script(), "serve", "--home", str(home), "--config", str(config)]
    async with await GatewayClient.start(command) as client:
        await _hello(client)
        await client.request("knowledge/collections/add", {"path": str(root), "collection_id": "notes"})
        await _live(client)
        for number in range(SAVES):
            told = len(client.received)
            used = cpu_ms(client.pid)
            file.write_text(f"# Note 7\n\nSaved anew, saved{number}.\n", encoding="utf-8")
            await client.wait_for("knowledge/indexed", since=told)
            taken.append(cpu_ms(client.pid) - used)
    file.write_text(text, encoding="utf-8")  # its words are searched for as those of a message
    return percentile(taken, 50)


def _find_saved(root: Path) -> Path:
    return next(root.glob("*/folder0/n7.md"))  # its part may be renamed


async def removal_cost(home: Path, config: Path) -> float:
    """Return the processor milliseconds of removing the collection to the last byte."""
    command = [*console_script(), "serve", "--home", str(home), "--config", str(config)]
    async with await GatewayClient.start(command) as client:
        await _hello(client)
        await _drained(client)
        used = cpu_ms(client.pid)
        told = await client.request("knowledge/collections/remove", {"collection_id": "notes"})
        if not told["receipt"]["complete"]:
            raise SystemExit("the removal is not complete")
        await _drained(client)
        return cpu_ms(client.pid) - used


async def _live(client: GatewayClient) -> None:
    while (await client.request("knowledge/status", {}))["collections"][0]["collection"]["state"] != "live":
        await _drained(client)
    await _drained(client)


class Messages(NamedTuple):
    """The cost of the same texts as messages: their first index and a search, in milliseconds of the processor."""

    indexing: float
    search: float


def whole_cpu_ms(pid: int) -> float:
    """Return the processor milliseconds of a process and of its readers that ended; of it alone where none are told."""
    table = Path(f"/proc/{pid}/stat")
    if not table.exists():
        return cpu_ms(pid)
    ended = table.read_text(encoding="utf-8").rpartition(")")[2].split()[13:15]
    return cpu_ms(pid) + sum(map(int, ended)) * 1000 / os.sysconf("SC_CLK_TCK")


def verify_cost(home: Path, root: Path) -> float:
    """Return the processor milliseconds, a mean, of showing a piece as its file says it now."""
    with sqlite3.connect(home / "gateway.db") as connection:
        found = connection.execute(
            "SELECT f.folder, f.name, k.from_byte, k.to_byte FROM knowledge_chunk AS k JOIN knowledge_file AS f"
            " ON f.content = k.content WHERE k.position < 2 ORDER BY random() LIMIT 200"
        ).fetchall()
    connection.close()
    pieces, places = list[FoundPiece](), list[ContentPlace]()
    for folder, name, start, end in found:
        data = (root / folder / name).read_bytes()[start:end]
        pieces.append(
            FoundPiece(
                0,
                0,
                1,
                start,
                end,
                1,
                2,
                "[]",
                _hash_of(data),
                None,
                0,
                1,
                "utf-8",
                0.5,
                "[]",
                "markdown",
                b"",
                "[]",
                None,
            )
        )
        places.append(ContentPlace("notes", folder, name, str(root), "live", 0, 1, 1, "indexed"))
    known = structs.replace(build_rowless_collection("notes", "ws_default", CHOICES, 0), id=1)
    with Disk(SafeFolder, _hash_of, CurrentRules([known], KnowledgeSettings()), {}) as disk:
        disk.show(pieces[0], [places[0]])  # the first of a process imports the library of patterns, 50 ms
    begun = time.process_time()
    with Disk(SafeFolder, _hash_of, CurrentRules([known], KnowledgeSettings()), {}) as disk:
        shown = [disk.show(piece, [place]) for piece, place in zip(pieces, places, strict=True)]
    taken = (time.process_time() - begun) * 1000
    if not all(shown):
        raise SystemExit("a piece was not found in its file")
    return taken / len(shown)


def _hash_of(data: bytes) -> bytes:
    return hmac.digest(b"benchmark", data, "sha256")


def _texts(root: Path) -> list[str]:
    return [path.read_text(encoding="utf-8") for path in sorted(root.rglob("*.md"))]


async def message_costs(folder: Path, root: Path, config: Path, count: int) -> Messages:
    """Return what storing, indexing and searching the texts of a folder costs where each is a message."""
    command = [*console_script(), "serve", "--home", str(folder / "messages"), "--config", str(config)]
    texts = _texts(root)
    async with await GatewayClient.start(command) as client:
        await _hello(client)
        used = whole_cpu_ms(client.pid)
        for first in range(0, len(texts), IMPORTED):
            turns = [
                {"at": 1_700_000_000_000 + first + n, "items": [{"role": "user", "text": text}]}
                for n, text in enumerate(texts[first : first + IMPORTED])
            ]
            source = {"kind": "bench", "id": str(first)}
            await client.request("thread/import", {"workspace_id": "ws_default", "source": source, "turns": turns})
        await _drained(client)
        indexing = whole_cpu_ms(client.pid) - used
        taken = await _search(client, "thread_episodic/search", count)
        return Messages(indexing, percentile(taken, 50))


async def _hello(client: GatewayClient) -> None:
    await client.request(
        "initialize", {"protocol_version": "2026-11", "client": {"name": "benchmarks", "version": "1"}}
    )


async def _turn_cost(client: GatewayClient) -> tuple[float, float]:
    """Return what recall of files adds to the preparing of a turn, and what one search of files costs; medians."""
    query = "word7x0 word11x0"
    taken: list[float] = []
    for _ in range(TURNS):
        used = cpu_ms(client.pid)
        await client.request("knowledge/search", {"query": f"What do we know of {query}?", "source": "file"})
        taken.append(cpu_ms(client.pid) - used)
    with_files = await _turns(client, query)
    await client.request("settings/update", {"update": {"knowledge": {"recall_enabled": False}}})
    return with_files - await _turns(client, query), percentile(taken, 50)


async def _turns(client: GatewayClient, query: str) -> float:
    """Return the processor milliseconds of preparing a turn, a median."""
    taken: list[float] = []
    for _ in range(TURNS):
        thread = (await client.request("thread/start", {"workspace_id": "ws_default"}))["thread"]["thread_id"]
        used = cpu_ms(client.pid)
        asked = {"thread_id": thread, "input": [{"type": "text", "text": f"What do we know of {query}?"}]}
        turn = (await client.request("turn/prepare", asked))["turn"]["turn_id"]
        taken.append(cpu_ms(client.pid) - used)
        await client.request("turn/cancel", {"turn_id": turn})
    return percentile(taken, 50)


async def start_cost(homes: Sequence[Path], config: Path) -> list[float]:
    """Return the least processor milliseconds of each home's process until it answers its first ping."""
    taken: list[list[float]] = [[] for _ in homes]
    for _ in range(STARTS):
        for home, costs in zip(homes, taken, strict=True):
            command = [*console_script(), "serve", "--home", str(home), "--config", str(config)]
            async with await GatewayClient.start(command) as client:
                await _hello(client)
                await client.request("ping", {})
                costs.append(cpu_ms(client.pid))
    return [min(costs) for costs in taken]


async def rest_cost(home: Path) -> float:
    """Return the processor milliseconds of a second in which a process only watches."""
    config = home.with_name("watched.toml")
    config.write_text("[gateway.embedding]\nenabled = false\n", encoding="utf-8")
    command = [*console_script(), "serve", "--home", str(home), "--config", str(config)]
    async with await GatewayClient.start(command) as client:
        await _hello(client)
        await _live(client)
        await asyncio.sleep(2)  # what the start left to do
        used = cpu_ms(client.pid)
        await asyncio.sleep(REST_SECONDS)
        return (cpu_ms(client.pid) - used) / REST_SECONDS


Row = tuple[str, float, float, float]
"""A figure: its name, its value, its floor, and the bound of their ratio."""


class _Rows:
    """The rows so far, each printed when it is known: a measurement of many files takes long."""

    def __init__(self) -> None:
        self.made: list[Row] = []

    def add(self, what: str, value: float, floor: float, bound: float) -> None:
        """Take a row."""
        self.made.append((what, value, floor, bound))
        print(f"  {what}: {value:.4g}, {floor:.4g}", flush=True)


async def _measure_scans(client: GatewayClient, root: Path, rows: _Rows) -> None:
    """Measure a scan that finds nothing new, and one after a tenth of the files was renamed."""

    async def scan() -> float:
        used = cpu_ms(client.pid)
        await client.request("knowledge/collections/scan", {"collection_id": "notes"})
        await _drained(client)
        return cpu_ms(client.pid) - used

    unchanged = min([await scan() for _ in range(5)])
    floor = walk(root)
    (root / "part0").rename(root / "renamed")
    rows.add("scan of unchanged files, ms CPU / walk and stat", unchanged, floor, SCAN_GOAL)
    rows.add("scan after a tenth was renamed / unchanged", await scan(), unchanged, RENAME_GOAL)


async def _search(client: GatewayClient, method: str, count: int) -> list[float]:
    """Return the processor milliseconds of searches for words that one text has."""
    asked = {"source": "file"} if method == "knowledge/search" else {"workspace_id": "ws_default"}
    taken: list[float] = []
    for number in range(SEARCHES):
        used = cpu_ms(client.pid)
        query = f"word{number * 7 % count}x0"
        found = await client.request(method, {"query": query, **asked})
        taken.append(cpu_ms(client.pid) - used)
        if not found["hits"]:
            raise SystemExit(f"{query} was not found")
    return taken


async def measure(folder: Path, count: int, paragraphs: int) -> bool:
    """Print costs beside floors; return whether each is within its bound."""
    root, config = folder / "notes", folder / "config.toml"
    size = build(root, count, paragraphs)
    config.write_text(
        "[gateway.embedding]\nenabled = false\n[gateway.knowledge]\nwatch_enabled = false\n", encoding="utf-8"
    )
    command = [*console_script(), "serve", "--home", str(folder / "home"), "--config", str(config)]
    async with await GatewayClient.start(command) as client:
        await _hello(client)
        rest = await _pings(client)
        begun, memory = whole_cpu_ms(client.pid), spent(client.pid).rss_mb or 0.0
        await client.request("knowledge/collections/add", {"path": str(root), "collection_id": "notes"})
        busy = await _pings(client)
        await _drained(client)
        indexing = whole_cpu_ms(client.pid) - begun
        rows = _Rows()
        rows.add(
            "ping p95 while files are indexed / at rest, ms", percentile(busy, 95), percentile(rest, 95), PING_GOAL
        )
        await _measure_scans(client, root, rows)
        searches = await _search(client, "knowledge/search", count)
        grown = (spent(client.pid).rss_mb or 0.0) - memory
        rows.add("memory after scans and searches, + MB", grown, MEMORY_MB, 1.0)
        turn, search = await _turn_cost(client)
        rows.add("recall of files in a turn, ms CPU / one search", turn, search, TURN_GOAL)
    stored = sum(path.stat().st_size for path in (folder / "home").glob("gateway.db"))
    rows.add("database / bytes of the texts, MB", stored / 1e6, size / 1e6, SIZE_GOAL)
    with_one, without = await start_cost([folder / "home", folder / "bare"], config)
    rows.add("start with the collection, ms CPU / without", with_one, without, START_GOAL)
    rows.add("verifying a hit, ms CPU", verify_cost(folder / "home", root), HIT_MS, 1.0)
    rows.add("a second of watching at rest, ms CPU", await rest_cost(folder / "home"), REST_MS, 1.0)
    build(folder / "few", SMALL, paragraphs)
    large, small = await save_cost(folder / "home", root), await save_cost(folder / "small", folder / "few")
    rows.add(f"saving one file, ms CPU / among {SMALL} files", large, small, SAVE_GOAL)
    removal = await removal_cost(folder / "home", config)
    rows.add("removing the collection, ms CPU / first index", removal, indexing, REMOVAL_GOAL)
    messages = await message_costs(folder, root, config, count)
    rows.add("first index by words, ms CPU / as messages", indexing, messages.indexing, INDEX_GOAL)
    rows.add("search by words, ms CPU / of messages", percentile(searches, 50), messages.search, SEARCH_GOAL)
    show_table(
        f"{count} files, {size / 1e6:.1f} MB",
        ("what", "value", "floor", "ratio", "bound"),
        [(what, value, floor, value / floor if floor else 0.0, bound) for what, value, floor, bound in rows.made],
    )
    show_table(
        "search by words", ("", "ms CPU"), [("median", percentile(searches, 50)), ("p95", percentile(searches, 95))]
    )
    return all(not floor or value <= bound * floor for _, value, floor, bound in rows.made)


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
