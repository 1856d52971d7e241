"""docs/http.md says of the door what its tables say."""

import re
from pathlib import Path

from gateway.doors.http import rules
from gateway.doors.http.rest import ROWS
from protocol.errors import REASONS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "http.md").read_text(encoding="utf-8")
TESTS = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").glob("*/test_*.py"))
PLACES = {"http": "`test", "proxy": "(proxy.md#", "inspect": "(inspect.md#"}
"""How the table says where the tests of a statement are: those of the door, of the proxy, of the page."""
STATEMENTS = 37


def section(title: str) -> str:
    return PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]


def numbers_of(what: str) -> set[int]:
    """Return the numbers that tests of the door, of the proxy or of the page have in their names."""
    names = re.findall(rf"def test_{what}_statement_((?:\d+_)+)", TESTS)
    return {int(number) for name in names for number in name.strip("_").split("_")}


def test_every_statement_has_a_test_of_its_number_and_the_table_says_where() -> None:
    rows = re.findall(r"^\| (\d+) \| .+ \| (.+) \|$", section("Statements and their tests"), re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, STATEMENTS + 1))
    for what, mark in PLACES.items():
        assert {int(number) for number, where in rows if mark in where} == numbers_of(what), what


def test_the_page_names_every_route_with_its_members() -> None:
    for row in ROWS:
        (line,) = [
            line for line in PAGE.splitlines() if re.match(rf"\| `{row.verb} {row.path}[? ]", line) and "…" not in line
        ]
        assert {name for name in row.takes.__struct_fields__ if name not in line} == set()


def test_the_page_has_every_reason_under_its_code() -> None:
    rows = dict(re.findall(r"^\| (\d{3}) \| (.*) \|$", section("Errors"), re.MULTILINE))
    missing = [
        (reason, status)
        for reason, status in rules.STATUS_OF_REASON.items()
        if f"`{reason}`" not in rows[str(status)] and not (reason.startswith("provider_") and status == 503)
    ]
    assert missing == [("already_initialized", 400), ("not_initialized", 400)]  # no request meets them here
    assert set(rules.STATUS_OF_REASON) == set(REASONS)
    refusals = [value for value in vars(rules).values() if isinstance(value, rules.Refusal)]
    assert [one.reason for one in refusals if f"`{one.reason}`" not in PAGE] == []
    assert [one.status for one in refusals if str(one.status) not in PAGE] == []
