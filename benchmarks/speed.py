"""Every figure of speed and size that is promised, beside its floor, in one run.

Rule 1: processor time, memory, bytes and ratios are judged; wall time is shown, because machines are shared.
"""

import argparse
import asyncio
import compileall
import os
import sys
import sysconfig
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import speed_load, speed_process, speed_search
from benchmarks.goals import Row, keep, kept, load_average, show, shown
from benchmarks.inputs import model_folder
from benchmarks.report import machine
from benchmarks.search_scale import SEED
from benchmarks.speed_search import HomeSize
from benchmarks.wire import HOUSES, python_alone


class Plan(NamedTuple):
    """The sizes of everything."""

    homes: Sequence[HomeSize]
    calls: int
    process: speed_process.Size
    load: speed_load.Size


PLANS = {
    "tiny": Plan((HomeSize(20, 200),), 2, speed_process.TINY, speed_load.TINY),
    "quick": Plan((HomeSize(10_000, 10_000),), 40, speed_process.QUICK, speed_load.QUICK),
    "full": Plan((HomeSize(10_000, 10_000), HomeSize(100_000, 1_000_000)), 200, speed_process.FULL, speed_load.FULL),
}
"""The tiny one tells whether all of it works, and nothing of how fast."""
PARTS = ("process", "search", "load")
GOALS_SET_AT_MS = 11.3
"""The time of an empty Python on the machine whose figures the goals were made from: there is no absolute time without a
machine."""
ROOT = Path(__file__).resolve().parent.parent


def _compile() -> None:
    """Byte code as an installed package has it, and what it needs, whatever the environment says of writing it."""
    for folder in (*(ROOT / house for house in HOUSES), Path(sysconfig.get_path("purelib"))):
        compileall.compile_dir(folder, quiet=2)


def _size(text: str) -> HomeSize:
    memories, _, chunks = text.partition("x")
    return HomeSize(int(memories), int(chunks))


def _pace() -> list[Row]:
    """Return the machine's speed just then: what others do on it changes that by half and more."""
    alone = python_alone()
    if alone is None:
        return []
    return [shown("`python -I -c pass`, CPU", alone, "ms", beside="where the goals were set", floor=GOALS_SET_AT_MS)]


async def _measure(options: argparse.Namespace, plan: Plan) -> tuple[dict[str, list[Row]], list[dict[str, Any]]]:
    parts: dict[str, list[Row]] = {}
    points: list[dict[str, Any]] = []
    model = await speed_search.model_of(None if options.no_model else model_folder())
    for part in options.parts:
        begun = time.perf_counter()
        if part == "process":
            with tempfile.TemporaryDirectory(prefix="pioneer-bench-") as folder:
                parts[part] = await speed_process.measure(Path(folder), plan.process)
        elif part == "search":
            parts[part], points = await speed_search.measure(plan.homes, model, plan.calls)
        else:
            parts[part] = await speed_load.measure(model, plan.load)
        parts[part] = [*_pace(), *parts[part]]
        show(f"{part} ({time.perf_counter() - begun:.0f} s)", parts[part])
    return parts, points


def main(arguments: list[str] | None = None) -> int:
    """Run it; 1 if a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks speed", description=(__doc__ or "").split("\n")[0])
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument(
        "--quick", action="store_const", dest="size", const="quick", default="full", help="in three minutes"
    )
    sizes.add_argument("--tiny", action="store_const", dest="size", const="tiny", help="to see that all of it works")
    parser.add_argument(
        "--homes",
        type=_size,
        nargs="+",
        metavar="MEMORIESxCHUNKS",
        help="generated homes, small to large; made once and kept",
    )
    parser.add_argument("--calls", type=int, help="requests of each kind")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="what is measured")
    parser.add_argument("--no-model", action="store_true", help="leave out what needs an embedding model")
    parser.add_argument("--name", help="the result's file in benchmarks/out")
    options = parser.parse_args(arguments)
    load = load_average()
    print(f"speed: seed {SEED}, on {machine()}" + (f", load {load:.1f}" if load is not None else ""))
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    _compile()
    plan = PLANS[options.size]
    plan = plan._replace(homes=options.homes or plan.homes, calls=options.calls or plan.calls)
    parts, points = asyncio.run(_measure(options, plan))
    missed = [row.what for rows in parts.values() for row in rows if row.is_met is False]
    size = "" if options.size == "full" else options.size
    command = "python -m benchmarks speed" + (f" --{size}" if size else "")
    if options.homes:
        command += " --homes " + " ".join(f"{home.memories}x{home.chunks}" for home in options.homes)
    name = options.name or (f"speed-{size}" if size else "speed")
    before = kept(name) if set(options.parts) != set(PARTS) else {}
    told = {part: [row._asdict() for row in rows] for part, rows in parts.items()}
    whole = {part: told.get(part) or before.get("parts", {}).get(part) for part in PARTS}
    result = {
        "seed": SEED,
        "command": command,
        "parts": {part: rows for part, rows in whole.items() if rows},
        "points": points or before.get("points", []),
    }
    path = keep(name, result)
    print(f"\nkept in {path.name}; goals missed: {len(missed)}" + "".join(f"\n  {what}" for what in missed))
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
