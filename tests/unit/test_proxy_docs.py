"""docs/proxy.md says of the proxy what its tables and tests say."""

import re
from pathlib import Path

from gateway.doors.commands.processes.proxying import LINES
from gateway.doors.proxy import app

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "proxy.md").read_text(encoding="utf-8")
TESTS = "".join(
    path.read_text(encoding="utf-8")
    for pattern in ("test_proxy*.py", "test_captures.py")
    for path in (ROOT / "tests" / "journey").glob(pattern)
)


def test_every_statement_of_the_page_has_a_test_and_every_test_its_statement() -> None:
    stated = {int(number) for number in re.findall(r"^\| (\d+) \|", PAGE.partition("## Statements")[2], re.MULTILINE)}
    names = re.findall(r"def test_proxy_statement_((?:\d+_)+)", TESTS)
    tested = {int(number) for name in names for number in name.strip("_").split("_")}
    assert stated == tested != set()


def test_the_page_names_every_client_and_every_error() -> None:
    assert [name for name in LINES if f"`{name}`" not in PAGE] == []
    errors = [value for value in vars(app).values() if isinstance(value, app.OwnError) and value.status != 500]
    assert [one for one in errors if f"`{one.code}` {one.status}" not in PAGE] == []
