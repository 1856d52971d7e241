"""docs/passes.md names the tests of each statement, and each of these tests has its statement."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "passes.md").read_text(encoding="utf-8")
HELD = {*range(1, 12), 17, 18, 19, 21, 22}


def stated() -> list[tuple[int, str]]:
    """Each statement of the table with each file that its row names."""
    section = PAGE.partition("## Statements and their tests\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (\d+) \| .* \| ([^|]*) \|$", section, re.MULTILINE)
    return [(int(number), name) for number, names in rows for name in re.findall(r"`([^`]+)`", names)]


def numbers_in(name: str) -> set[int]:
    text = (ROOT / "tests" / name).read_text(encoding="utf-8")
    return {int(number) for number in re.findall(r"def test_(\d+)_", text)}


def test_every_statement_has_its_tests_and_every_test_its_statement() -> None:
    files = {name for _, name in stated()}
    files |= {f"journey/{path.name}" for path in (ROOT / "tests" / "journey").glob("test_passes*.py")}
    assert sorted(stated()) == sorted((number, name) for name in files for number in numbers_in(name))
    assert {number for number, _ in stated()} == HELD
