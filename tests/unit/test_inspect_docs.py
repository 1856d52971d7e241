"""docs/inspect.md says of the page what its tables say."""

import re
from pathlib import Path

from gateway.doors.inspect.door import ASSETS, ROUTES
from gateway.doors.inspect.rendering import FOLDER, environment
from gateway.doors.inspect.wording import DOORS, EVENTS, GATES, STEPS
from protocol.base import DoorName
from protocol.memory.changes import ChangeEvent
from protocol.memory.explaining import GateName
from protocol.memory.values import EventName

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "inspect.md").read_text(encoding="utf-8")
TESTS = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "journey").glob("test_inspect*.py"))
MAX_PICTURE = 150 * 1024


def test_every_statement_of_the_page_has_a_test_and_every_test_its_statement() -> None:
    listed = PAGE.partition("## Statements and their tests\n")[2]
    stated = {int(number) for number in re.findall(r"^\| (\d+) \|", listed, re.MULTILINE)}
    tested = {int(number) for number in re.findall(r"def test_inspect_statement_(\d+)_", TESTS)}
    assert stated == tested != set()


def test_the_page_names_every_view() -> None:
    views = {route.path.partition("/")[0] for route in ROUTES if route.verb == "GET"} - {"undo-all", "items", "help"}
    named = {name for cell in re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE) for name in re.findall(r"`(\w+)", cell)}
    assert named == views


def test_every_code_that_a_person_meets_has_words() -> None:
    assert set(GATES) == set(GateName.__args__)
    assert set(DOORS) == set(DoorName.__args__)
    assert set(EVENTS) == set(ChangeEvent.__args__)
    assert set(STEPS) == set(EventName.__args__)


def test_every_template_is_sound_and_no_template_switches_escaping_off() -> None:
    names = environment().list_templates()
    assert len(names) > 15
    for name in names:
        assert environment().get_template(name)
        text = (FOLDER / "templates" / name).read_text(encoding="utf-8")
        assert not re.search(r"\|\s*safe|autoescape|\sstyle=|\son[a-z]+=|<script(?! src=)", text), name


def test_what_every_page_loads_is_small_and_the_pictures_are_too() -> None:
    sizes = {name: (FOLDER / "assets" / name).stat().st_size for name in ASSETS}
    assert sizes["page.css"] <= 16 * 1024
    assert sizes["page.js"] <= 8 * 1024
    pictures = re.findall(r'\((inspect-\w+\.png)\)|src="(inspect-\w+\.png)"', PAGE)
    assert len(pictures) == 3
    for found in pictures:
        assert (ROOT / "docs" / "".join(found)).stat().st_size <= MAX_PICTURE
