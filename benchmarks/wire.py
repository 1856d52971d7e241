"""Small figures of the wire: start, ping, acknowledged writes, search; beside floors measured in the same run.

Rule 1: wall time is shown and ratios to a floor count, because the machine is shared.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.report import machine, percentile, show_table
from gateway.wire.client import GatewayClient, console_script
from protocol import methods as call
from protocol.base import Empty
from protocol.gateway import ClientInfo, DrainParams, InitializeParams
from protocol.memory.reads import SearchParams
from protocol.memory.writes import RememberParams

STARTS = 7
ALONE = 20  # of so many the least: one alone is chance
PINGS = 1000
PIPELINED = 4000
IN_FLIGHT = 64
"""The requests that the gateway takes at once before it stops reading."""

ONE_BY_ONE = 100
RECORDS = 1000
SEARCHES = 100
SYNCS = 200
PAGE = 4096

HOUSES = ("gateway", "agent", "memory", "thread_episodic", "knowledge", "retrieval", "promt", "protocol")
LOADED = f"""
import sys
bare = set(sys.modules)
import gateway.cli, gateway.process, gateway.wiring, anyio._backends._asyncio
for name, module in list(sys.modules.items()):
    spec = getattr(module, '__spec__', None)
    if name not in bare and spec is not None and spec.name == name and name.partition('.')[0] not in {HOUSES!r}:
        print(name)
"""
"""Prints the modules of others that a gateway imports to start, in their order."""

FLOOR = """
import sys
from importlib import import_module
for name in sys.argv[1:]:
    import_module(name)
sys.stdout.write('.')
sys.stdout.flush()
sys.stdin.read()
"""
"""A Python that imports what it is told, says so, and waits."""

PLACES = ("harbour", "mill", "orchard", "library", "bakery", "quarry", "station", "museum", "garden", "workshop")
THINGS = ("ladder", "lantern", "kettle", "compass", "ledger", "saddle", "window", "barrel", "whistle", "carpet")
VERBS = ("repaired", "painted", "borrowed", "measured", "sold", "found", "packed", "weighed", "drew", "cleaned")


class Spent(NamedTuple):
    """The use of a process so far; None where the platform does not tell."""

    cpu_ms: float | None
    rss_mb: float | None


def cpu_ms(pid: int) -> float:
    """Processor time of a process so far, to the nanosecond; 0 where the system has no clock for another process."""
    if sys.platform.startswith("linux"):
        return time.clock_gettime_ns((~pid << 3) | 2) / 1e6  # what clock_getcpuclockid(3) makes of a process id
    return 0.0


class Side(NamedTuple):
    """A process, and a call of it by a number."""

    pid: int
    call: Callable[[int], object]


def by_turns(sides: Sequence[Side], *, rounds: int, warm: int, calls: int = 1) -> list[list[float]]:
    """Processor time of one call of each side in each round, in microseconds, after `warm` calls that do not count.

    A round makes `calls` of each side, so that what a call leaves to be done after its answer is in it, too.
    """
    taken: list[list[float]] = [[] for _ in sides]
    for number in range(warm):
        for side in sides:
            side.call(number)
    for first in range(0, rounds * calls, calls):
        for side, times in zip(sides, taken, strict=True):
            used = cpu_ms(side.pid)
            for number in range(first, first + calls):
                side.call(number)
            times.append((cpu_ms(side.pid) - used) * 1000 / calls)
    return taken


def python_alone() -> float | None:
    """The least processor time of a Python that does nothing, in milliseconds; None where the system does not tell."""
    if sys.platform == "win32":
        return None
    taken: list[float] = []
    for _ in range(ALONE):
        process = subprocess.Popen([sys.executable, "-I", "-c", "pass"])
        used = os.wait4(process.pid, 0)[2]
        process.returncode = 0
        taken.append((used.ru_utime + used.ru_stime) * 1000)
    return min(taken)


def spent(pid: int) -> Spent:
    """Processor time and resident memory of a running process, from the system's own tables."""
    table = Path(f"/proc/{pid}")
    if table.is_dir():
        pages = int((table / "statm").read_text().split()[1])
        return Spent(cpu_ms(pid), pages * os.sysconf("SC_PAGE_SIZE") / 2**20)
    if os.name == "nt":
        return Spent(None, None)
    told = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True)  # noqa: S607
    return Spent(None, int(told.stdout) / 1024)


def sentence(number: int) -> str:
    """A fact that no other number has."""
    ones, tens, hundreds = number % 10, number // 10 % 10, number // 100 % 10
    return f"Person {number} {VERBS[ones]} the {THINGS[tens]} of the {PLACES[hundreds]} in year {1200 + number}."


async def opened(home: Path, *, slow_sync_ms: float | None = None) -> GatewayClient:
    """A gateway that has answered `initialize`; on a disk of its own whose syncs are slow, where that is asked for."""
    command = console_script()
    if slow_sync_ms is not None:
        command = [sys.executable, "-m", "benchmarks.slow_disk", str(slow_sync_ms)]
    client = await GatewayClient.start([*command, "serve", "--home", str(home)])
    hello = InitializeParams(protocol_version="2026-11", client=ClientInfo(name="wire", version="1"))
    await client.call(call.INITIALIZE, hello)
    return client


async def one_by_one(count: int, request: Callable[[int], Awaitable[object]]) -> list[float]:
    """Milliseconds of each request, each sent after the answer to the one before."""
    took: list[float] = []
    for number in range(count):
        begun = time.perf_counter()
        await request(number)
        took.append((time.perf_counter() - begun) * 1000)
    return took


async def per_second(numbers: range, request: Callable[[int], Awaitable[object]]) -> float:
    """Requests answered per second with `IN_FLIGHT` of them on their way at any moment."""
    waiting = iter(numbers)

    async def lane() -> None:
        for number in waiting:
            await request(number)

    begun = time.perf_counter()
    await asyncio.gather(*(lane() for _ in range(IN_FLIGHT)))
    return len(numbers) / (time.perf_counter() - begun)


def imported_modules() -> list[str]:
    """Return the foreign modules that a gateway imports, in order."""
    return subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True).stdout.split()


async def measure_starts(folder: Path, modules: list[str]) -> list[list[object]]:
    """Spawn to `initialize`, again and again on one home, beside a Python that imports the same and does nothing."""
    walls: list[float] = []
    used: list[Spent] = []
    for _ in range(STARTS):
        begun = time.perf_counter()
        client = await opened(folder / "home")
        walls.append((time.perf_counter() - begun) * 1000)
        used.append(spent(client.pid))
        await client.close()
    bare = [await _floor([]) for _ in range(STARTS)]
    same = [await _floor(modules) for _ in range(STARTS)]
    rows: list[list[object]] = []
    for name, wall, spends in (
        ("spawn to initialize", walls, used),
        ("floor: Python, same imports", *map(list, zip(*same, strict=True))),
        ("floor: Python alone", *map(list, zip(*bare, strict=True))),
    ):
        cpu = sorted(s.cpu_ms for s in spends if s.cpu_ms is not None)
        rss = sorted(s.rss_mb for s in spends if s.rss_mb is not None)
        rows.append(
            [
                name,
                min(wall),
                percentile(wall, 50),
                cpu[0] if cpu else "-",
                percentile(cpu, 50) if cpu else "-",
                rss[-1] if rss else "-",
            ]
        )
    return rows


async def _floor(modules: list[str]) -> tuple[float, Spent]:
    """Wall milliseconds until a Python has imported the modules, and what it used by then."""
    begun = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", FLOOR, *modules, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("a process without pipes")
    await process.stdout.readexactly(1)
    wall, used = (time.perf_counter() - begun) * 1000, spent(process.pid)
    process.stdin.close()
    await process.wait()
    return wall, used


def measure_disk(folder: Path) -> list[float]:
    """Milliseconds to append a page and have it on the disk."""
    sync = getattr(os, "fdatasync", os.fsync)
    took: list[float] = []
    with (folder / "disk").open("wb", buffering=0) as file:
        for _ in range(SYNCS):
            begun = time.perf_counter()
            file.write(b"\0" * PAGE)
            sync(file.fileno())
            took.append((time.perf_counter() - begun) * 1000)
    return took


async def measure_calls(folder: Path) -> tuple[list[list[object]], list[list[object]]]:
    """Latencies and rates of one gateway: ping, remember, search."""
    client = await opened(folder / "home")

    async def ping(_: int) -> object:
        return await client.call(call.PING, Empty())

    async def remember(number: int) -> object:
        return await client.call(call.MEMORY_REMEMBER, RememberParams(content=sentence(number)))

    async def search(number: int) -> object:
        query = f"who {VERBS[number % 10]} the {THINGS[number // 10]} of the {PLACES[number * 7 % 10]}"
        return await client.call(call.MEMORY_SEARCH, SearchParams(query=query))

    try:
        pings = await one_by_one(PINGS, ping)
        ping_rate = await per_second(range(PIPELINED), ping)
        alone = await one_by_one(ONE_BY_ONE, remember)
        grouped = await per_second(range(ONE_BY_ONE, RECORDS), remember)
        await client.call(call.DRAIN, DrainParams())
        found = await one_by_one(SEARCHES, search)
    finally:
        await client.close()
    disk = measure_disk(folder)
    latencies: list[list[object]] = [
        [name, len(took), percentile(took, 50), percentile(took, 95), percentile(took, 99)]
        for name, took in (
            ("ping", pings),
            ("memory/remember, one by one", alone),
            (f"memory/search, {RECORDS} records", found),
            ("floor: page written and synced", disk),
        )
    ]
    rates: list[list[object]] = [
        [f"ping, {IN_FLIGHT} in flight", ping_rate],
        ["memory/remember, one by one", 1000 * len(alone) / sum(alone)],
        [f"memory/remember, {IN_FLIGHT} in flight", grouped],
        ["floor: page written and synced", 1000 * len(disk) / sum(disk)],
    ]
    return latencies, rates


async def perform(folder: Path, modules: list[str]) -> None:
    """Measure and print."""
    starts = await measure_starts(folder, modules)
    heads = ["start", "wall min ms", "wall p50 ms", "cpu min ms", "cpu p50 ms", "RSS MB"]
    show_table(f"start, {STARTS} times", heads, starts)
    latencies, rates = await measure_calls(folder)
    show_table("latency", ["call", "calls", "p50 ms", "p95 ms", "p99 ms"], latencies)
    show_table("rate, the Python client included", ["call", "per second"], rates)


def main(arguments: list[str] | None = None) -> int:
    """Run it."""
    argparse.ArgumentParser(prog="python -m benchmarks wire", description=(__doc__ or "").split("\n")[0]).parse_args(
        arguments
    )
    print(f"wire: on {machine()}")
    with tempfile.TemporaryDirectory(prefix="pioneer-bench-") as folder:
        asyncio.run(perform(Path(folder), imported_modules()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
