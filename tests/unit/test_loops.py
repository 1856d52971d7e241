"""Every test is run by somebody: each file is collected, each test is in a loop, each loop is a command that CI runs."""

import re
from pathlib import Path
from typing import Any

import pytest
from loops import LOOPS, LOOPS_OF_FOLDER, TESTS, loops_of

ROOT = TESTS.parent


def named_in(path: Path) -> list[str]:
    """Return the names of what looks like a test in a file."""
    return re.findall(r"^(?:async )?def (test\w*)", path.read_text(encoding="utf-8"), re.MULTILINE)


def test_every_test_stands_in_a_file_of_a_folder_that_is_collected() -> None:
    lost = [path for path in TESTS.rglob("*.py") if named_in(path) and not path.name.startswith("test_")]
    assert lost == []
    assert {path.parent for path in TESTS.rglob("test_*.py")} == {TESTS / folder for folder in LOOPS_OF_FOLDER}


def test_no_test_stands_behind_another_of_its_name() -> None:
    for path in TESTS.rglob("test_*.py"):
        names = named_in(path)
        assert len(set(names)) == len(names), path


def test_every_loop_is_a_command_that_continuous_integration_runs() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert set(re.findall(r"--loop (\w+)", makefile)) == set(LOOPS)
    (goals,) = re.findall(r"^exec make ([a-z ]+)", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), re.MULTILINE)
    assert goals.split() == list(LOOPS)


class Marked:
    """A test with the marks of its module and its own."""

    nodeid = "it"

    def __init__(self, folder: str, *loops: str) -> None:
        self.path = TESTS / folder / "test_it.py"
        self.mark = pytest.mark.loop(*loops).mark if loops else None

    def get_closest_marker(self, _name: str) -> Any:
        return self.mark


def test_a_test_is_in_the_loops_of_its_mark_else_of_its_folder() -> None:
    told: Any = Marked
    assert loops_of(told("unit")) == ("test",)
    assert loops_of(told("unit", "check", "campaign")) == ("check", "campaign")
    for lost in (told("elsewhere"), told("unit", "slow"), told("unit", "test", "never")):
        with pytest.raises(pytest.UsageError, match="in no loop"):
            loops_of(lost)
