"""The cost of the hook runtime, and of a turn beside hooks that misbehave in every way.

Rule 1: hostile hooks are those of the tests; every one of them is in every phase before the model.
Rule 2: a hook that keeps the event loop to itself is measured alone: a turn takes what it holds.
"""

import argparse
import asyncio
import gc
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.report import machine, percentile, show_table

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "unit"))  # the kit is the tests' own

NO_OP_LIMIT_MS = 2.0
SLACK_MS = 100.0
"""The time that a turn may take beyond the deadlines of its phases, at the 99th percentile."""


def _turns(turns: int) -> tuple[float, list[float], list[float]]:
    """The deadlines of a turn's phases, how long each turn took, and how late the event loop was meanwhile, in
    milliseconds."""
    from agent_home import AgentHome, play  # noqa: PLC0415  # found by the path above
    from hostile_hooks import QUICK, TIMEOUT_MS, subscribed  # noqa: PLC0415

    from protocol.hooks import PHASES  # noqa: PLC0415

    took: list[float] = []
    late: list[float] = []

    async def beat() -> None:
        while True:
            begun = time.perf_counter()
            await asyncio.sleep(0.005)
            late.append((time.perf_counter() - begun) * 1000 - 5)

    async def scene(home: AgentHome) -> None:
        beating = asyncio.ensure_future(beat())
        for number in range(turns):
            begun = time.perf_counter()
            await home.end_of(await home.begin(f"message {number}"))
            took.append((time.perf_counter() - begun) * 1000)
        beating.cancel()

    before = PHASES[:-1]
    hooks = [subscription for hostile in QUICK for subscription in subscribed(hostile, *before)]
    gc.freeze()  # as the process does once it has started
    with tempfile.TemporaryDirectory() as folder:
        play(Path(folder), scene, hooks=hooks)
    return float(len(before) * TIMEOUT_MS), took, late


def main(arguments: list[str]) -> int:
    """Measure; 1 where a limit is not kept."""
    from hostile_hooks import cost_of_no_ops  # noqa: PLC0415

    parser = argparse.ArgumentParser(prog="python -m benchmarks hooks")
    parser.add_argument("--turns", type=int, default=100)
    turns = parser.parse_args(arguments).turns
    no_ops = [cost * 1000 for cost in cost_of_no_ops(10, turns=turns)]
    budget, took, late = _turns(turns)
    rows = [
        ("ten no-op hooks in all phases, CPU ms", percentile(no_ops, 50), percentile(no_ops, 99), NO_OP_LIMIT_MS),
        ("turn beside hostile hooks, ms", percentile(took, 50), percentile(took, 99), budget + SLACK_MS),
        ("event loop late meanwhile, ms", percentile(late, 50), percentile(late, 99), SLACK_MS),
    ]
    show_table(f"Hooks, {turns} turns ({machine()})", ["", "p50", "p99", "limit"], rows)
    kept = percentile(no_ops, 50) <= NO_OP_LIMIT_MS and all(row[2] <= row[3] for row in rows[1:])
    return 0 if kept else 1
