"""docs/http.md says of the door what its tables say."""

import re
from pathlib import Path

from gateway.doors.http import rules
from gateway.doors.http.rest import ROWS
from protocol.errors import REASONS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "http.md").read_text(encoding="utf-8")
TESTS = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "journey").glob("test_http*.py"))


def section(title: str) -> str:
    return PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_every_statement_of_the_page_has_a_test_and_every_test_its_statement() -> None:
    stated = {
        int(number) for number in re.findall(r"^\| (\d+) \|", section("Statements and their tests"), re.MULTILINE)
    }
    tested = {int(number) for number in re.findall(r"def test_http_statement_(\d+)_", TESTS)}
    assert stated == tested != set()


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
