"""Every figure of speed and size that is promised, beside its floor, in one run.

Rule 1: processor time, memory, bytes and ratios are judged; wall time is shown, because machines are shared.
"""

import argparse
import asyncio
import compileall
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import speed_load, speed_process, speed_search
from benchmarks.goals import Row, keep, load_average, show
from benchmarks.report import machine
from benchmarks.search_scale import SEED
from benchmarks.speed_search import HomeSize
from benchmarks.turn_scale import model_folder
from benchmarks.wire import HOUSES

QUICK_HOMES = (HomeSize(10_000, 10_000),)
FULL_HOMES = (HomeSize(10_000, 10_000), HomeSize(100_000, 1_000_000))
QUICK_CALLS, FULL_CALLS = 40, 200
PARTS = ("process", "search", "load")
ROOT = Path(__file__).resolve().parent.parent


def _compile() -> None:
    """Byte code as an installed package has it, whatever the environment says of writing it."""
    for house in HOUSES:
        compileall.compile_dir(ROOT / house, quiet=2)


def _size(text: str) -> HomeSize:
    memories, _, chunks = text.partition("x")
    return HomeSize(int(memories), int(chunks))


async def _measure(options: argparse.Namespace) -> tuple[dict[str, list[Row]], list[dict[str, Any]]]:
    parts: dict[str, list[Row]] = {}
    points: list[dict[str, Any]] = []
    model = await speed_search.model_of(None if options.no_model else model_folder())
    homes = options.homes or (QUICK_HOMES if options.quick else FULL_HOMES)
    calls = options.calls or (QUICK_CALLS if options.quick else FULL_CALLS)
    for part in options.parts:
        begun = time.perf_counter()
        if part == "process":
            size = speed_process.QUICK if options.quick else speed_process.FULL
            with tempfile.TemporaryDirectory(prefix="pioneer-bench-") as folder:
                parts[part] = await speed_process.measure(Path(folder), size)
        elif part == "search":
            parts[part], points = await speed_search.measure(homes, model, calls)
        else:
            parts[part] = await speed_load.measure(model, speed_load.QUICK if options.quick else speed_load.FULL)
        show(f"{part} ({time.perf_counter() - begun:.0f} s)", parts[part])
    return parts, points


def main(arguments: list[str] | None = None) -> int:
    """Run it; 1 if a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks speed", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes: under three minutes on two quiet processors")
    parser.add_argument(
        "--homes", type=_size, nargs="+", metavar="MEMORIESxCHUNKS", help="generated homes, small to large; made once and kept"
    )  # fmt: skip
    parser.add_argument("--calls", type=int, help="requests of each kind")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="what is measured")
    parser.add_argument("--no-model", action="store_true", help="leave out what needs an embedding model")
    parser.add_argument("--name", help="the result's file in benchmarks/out")
    options = parser.parse_args(arguments)
    load = load_average()
    print(f"speed: seed {SEED}, on {machine()}" + (f", load {load:.1f}" if load is not None else ""))
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    _compile()
    parts, points = asyncio.run(_measure(options))
    missed = [row.what for rows in parts.values() for row in rows if row.is_met is False]
    command = "python -m benchmarks speed" + (" --quick" if options.quick else "")
    path = keep(
        options.name or ("speed-quick" if options.quick else "speed"),
        {"seed": SEED, "command": command, "parts": {p: [row._asdict() for row in rows] for p, rows in parts.items()}, "points": points},
    )  # fmt: skip
    print(f"\nkept in {path.name}; goals missed: {len(missed)}" + "".join(f"\n  {what}" for what in missed))
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
