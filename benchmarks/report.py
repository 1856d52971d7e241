"""Figures as text: percentiles, aligned tables, the machine they were measured on."""

import os
import platform
from collections.abc import Iterable, Sequence


def percentile(values: Sequence[float], percent: float) -> float:
    """The nearest-rank percentile; 0 for no values."""
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[max(0, -(-int(percent * len(ordered)) // 100) - 1)]


def cell(value: object) -> str:
    """A figure as a person reads it: three decimals below ten, none from a thousand on."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}" if abs(value) < 1000 else f"{value:.0f}"


def show_table(title: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table: the first column to the left, figures to the right."""
    lines = [list(heads), *([cell(value) for value in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    print(f"\n{title}")
    for number, line in enumerate(lines):
        first, *rest = zip(line, widths, strict=True)
        print("  " + "  ".join([first[0].ljust(first[1]), *(text.rjust(width) for text, width in rest)]).rstrip())
        if number == 0:
            print("  " + "  ".join("-" * width for width in widths))


def machine() -> str:
    """The machine of the figures, without a name."""
    return (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors, "
        f"Python {platform.python_version()} ({platform.python_implementation()})"
    )
