"""The loop of work that runs a test: this is the one place that says it."""

import os
import random
import re
from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest
from sizes import size

T = TypeVar("T")

LOOPS = {
    "test": "what a person runs after every change",
    "check": "the rest of what holds before a change is merged",
    "campaign": "kills, power cuts, faults of the disk and floods, as large as PIONEER_SIZE says",
}
"""Each is a command of the Makefile that continuous integration runs."""
LOOPS_OF_FOLDER = {
    "unit": ("test",),
    "contract": ("test",),
    "journey": ("check",),
    "corpora": ("check",),
    "faults": ("campaign",),
}
"""The loops of a test that no `@pytest.mark.loop(...)` of its own or of its module names. A journey through a door is
marked for `test`, a unit that takes seconds for `check`, and a test that has a size for a campaign, too."""
SEED = "PIONEER_SEED"
"""The variable that seeds a campaign: with its number the same rows of matrices are drawn, and power is cut at the
same places, again."""
TESTS = Path(__file__).resolve().parents[1]


def loops_of(item: pytest.Item) -> tuple[str, ...]:
    """Return the loops that run a test: those of the nearest mark, else of its folder. A test in none is an error."""
    mark = item.get_closest_marker("loop")
    folder = item.path.relative_to(TESTS).parts[0]
    loops = mark.args if mark is not None else LOOPS_OF_FOLDER.get(folder, ())
    if not loops or not set(loops) <= set(LOOPS):
        raise pytest.UsageError(f"{item.nodeid} is in no loop: {loops} are not of {', '.join(LOOPS)}")
    return loops


def matrix(rows: Iterable[Any], in_check: Container[Any]) -> list[Any]:
    """Return parameters for `parametrize`, a tuple being several of them: those rows are looked at before a merge, all
    others by campaigns, which take a part of them below full size."""
    check, campaign = pytest.mark.loop("check"), (pytest.mark.loop("campaign"), pytest.mark.matrix)
    return [
        pytest.param(*(row if isinstance(row, tuple) else (row,)), marks=check if row in in_check else campaign)
        for row in rows
    ]


def drawn(rows: Sequence[T]) -> list[T]:
    """Return the rows of matrices that a campaign looks at, in their order: all at full size, else so many of them by
    chance; PIONEER_SEED draws the same."""
    chance = random.Random(os.environ.get(SEED))  # no secret
    wanted = -(-len(rows) // size("matrix_stride"))
    return [rows[place] for place in sorted(chance.sample(range(len(rows)), wanted))]


def first_of(stride: str) -> int:
    """Return the place at which a walk in steps of that size begins, by chance; PIONEER_SEED begins there again."""
    return random.Random(os.environ.get(SEED)).randrange(size(stride))  # no secret


def may_hold(module: Path, loop: str | None) -> bool:
    """Return whether a file may hold a test of a loop: it lies in one of its folders, or a mark of its own names it."""
    folder = module.relative_to(TESTS).parts[0] if module.is_relative_to(TESTS) and module != TESTS else None
    if loop is None or module.suffix != ".py" or loop in LOOPS_OF_FOLDER.get(folder or "", (loop,)):
        return True
    text = module.read_text(encoding="utf-8")
    return bool(re.search(rf'mark\.loop\([^)]*"{loop}"', text)) or (loop != "test" and "matrix(" in text)
