"""Figures beside their floors and goals: what a benchmark of speed prints, keeps as JSON and is judged by.

Rule 1: a figure that is judged is processor time, memory, bytes, a count, or a ratio to a floor of the same run; wall
time is shown.
Rule 2: a goal stands only in the call that makes its row.
"""

import json
import os
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.report import cell, machine, show_table

OUT_VARIABLE = "PIONEER_BENCH_OUT"
OUT = Path(os.environ.get(OUT_VARIABLE) or Path(__file__).resolve().parent / "out")
"""The folder of results and generated homes; never part of the repository."""
HEADS = ("what", "figure", "unit", "wall", "beside it", "floor", "ratio", "goal", "met")


class Row(NamedTuple):
    """A figure, what was measured beside it in the same run, and whether it is as good as it has to be."""

    what: str
    figure: float
    unit: str
    wall: float | None
    beside: str
    floor: float | None
    goal: str
    is_met: bool | None

    @property
    def ratio(self) -> float | None:
        """The figure as a multiple of its floor."""
        return self.figure / self.floor if self.floor else None


def at_most(
    what: str,
    figure: float,
    unit: str,
    limit: float,
    *,
    wall: float | None = None,
    beside: str = "",
    floor: float | None = None,
) -> Row:
    """A figure that has to be small."""
    return Row(what, figure, unit, wall, beside, floor, f"≤ {limit:g}", figure <= limit)


def at_least(
    what: str,
    figure: float,
    unit: str,
    limit: float,
    *,
    wall: float | None = None,
    beside: str = "",
    floor: float | None = None,
) -> Row:
    """A figure that has to be large."""
    return Row(what, figure, unit, wall, beside, floor, f"≥ {limit:g}", figure >= limit)


def paired(ours: Sequence[float], beside: Sequence[float]) -> tuple[float, float]:
    """A figure and its floor of rounds in which both were measured by turns.

    The floor is the median of its rounds, and the figure as many times that as the median of the rounds' ratios: what
    else the machine does meanwhile is in both sides of a round, and a round that it spoils does not count. Nor does one
    in which the system has not yet counted the floor's time.
    """
    floor = statistics.median(beside)
    return floor * statistics.median(one / other for one, other in zip(ours, beside, strict=True) if other > 0), floor


def shown(
    what: str, figure: float, unit: str, *, wall: float | None = None, beside: str = "", floor: float | None = None
) -> Row:
    """A figure without a goal."""
    return Row(what, figure, unit, wall, beside, floor, "", None)


def cells(row: Row) -> list[object]:
    """A row as a table has it."""
    met = "" if row.is_met is None else "yes" if row.is_met else "NO"
    optional = (row.wall, row.floor, row.ratio)
    wall, floor, ratio = ("" if value is None else value for value in optional)
    return [row.what, row.figure, row.unit, wall, row.beside, floor, ratio, row.goal, met]


def show(title: str, rows: Sequence[Row]) -> None:
    """Print rows as a table."""
    show_table(title, HEADS, [cells(row) for row in rows])


def load_average() -> float | None:
    """Return the load of the machine, where the system tells."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def keep(name: str, result: dict[str, Any]) -> Path:
    """Write a result for the tables and plots of `docs/performance.md`."""
    OUT.mkdir(parents=True, exist_ok=True)
    path = OUT / f"{name}.json"
    told = {"machine": machine(), "date": time.strftime("%Y-%m-%d"), "load": load_average()} | result
    path.write_text(json.dumps(told, indent=1, ensure_ascii=False), encoding="utf-8")
    return path


def kept(name: str) -> dict[str, Any]:
    """A result that was kept; nothing if there is none."""
    path = OUT / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def as_markdown(rows: Sequence[Sequence[object]], heads: Sequence[str]) -> str:
    """A table for a document."""
    lines = [list(heads), ["---"] * len(heads), *([cell(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
