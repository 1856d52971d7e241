"""Every test is run by somebody: each file is collected, each test is in a loop, each loop is a command that CI runs."""

import re
from pathlib import Path
from typing import Any

import pytest
from coverage.config import CoverageConfig
from forked import followed_by_pattern, usual_config
from house_tree import HOUSES
from loops import LOOPS, LOOPS_OF_FOLDER, SEED, TESTS, drawn, loops_of, matrix, may_hold

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


def test_every_row_of_a_matrix_is_in_one_loop() -> None:
    rows = matrix(["zeros", "noise", "dropped"], in_check={"noise"})
    assert [(row.values, {mark.args for mark in row.marks if mark.name == "loop"}) for row in rows] == [
        (("zeros",), {("campaign",)}),
        (("noise",), {("check",)}),
        (("dropped",), {("campaign",)}),
    ]
    assert ["matrix" in {mark.name for mark in row.marks} for row in rows] == [True, False, True]
    holders = [path for path in TESTS.rglob("test_*.py") if "import matrix" in path.read_text(encoding="utf-8")]
    assert holders
    assert all(may_hold(path, loop) for path in holders for loop in ("check", "campaign"))


def test_a_campaign_draws_rows_by_its_seed_and_all_of_them_at_full_size(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = range(101)

    def drawn_by(seed: int, stride: int) -> list[int]:
        monkeypatch.setenv(SEED, str(seed))
        monkeypatch.setenv("PIONEER_MATRIX_STRIDE", str(stride))
        return drawn(rows)

    assert drawn_by(1, 1) == [*rows]
    assert drawn_by(1, 4) == drawn_by(1, 4) == sorted({*drawn_by(1, 4)})
    assert len(drawn_by(1, 4)) == 26
    assert {row for seed in range(40) for row in drawn_by(seed, 4)} == {*rows}
    assert drawn([]) == []


def test_a_followed_process_is_counted_by_the_projects_settings_wherever_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = CoverageConfig.deserialize(followed_by_pattern(usual_config()))
    assert (told.data_file, told.parallel, told.branch) == (str(ROOT / ".coverage"), True, True)
    assert {*(told.run_include or ())} == {str(ROOT / house / "*") for house in HOUSES}
    assert not told.source_pkgs
