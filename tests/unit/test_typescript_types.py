"""The types of the TypeScript client, as they are made of the contract."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest
from cases import each
from msgspec import UNSET, Meta, UnsetType

from protocol.base import Params, Wire
from protocol.methods import METHODS
from protocol.notifications import NOTIFICATIONS
from protocol.record import Category
from protocol.reference import typescript

pytestmark = pytest.mark.loop("check")  # lint compares them, too

FILE = Path(__file__).resolve().parents[2] / "clients" / "typescript" / "src" / "types.ts"


class Inner(Wire):
    """An inner one."""

    name: str


class Sample(Params):
    """A sample."""

    text: Annotated[str, Meta(max_length=3, description="A text.")]
    count: int = 20
    maybe: float | None = None
    left_out: bool | UnsetType = UNSET
    many: list[Inner] = []
    named: dict[str, int] = {}
    anything: Any = None
    category: Category = "custom"
    own: Literal["b", "a"] = "a"
    pair: Inner | None = None


def member(name: str, *, is_sent: bool) -> str:
    """The line of a member of the sample."""
    shape = msgspec.json.schema_components([Sample], ref_template=typescript.PREFIX + "{name}")[1]["Sample"]
    (line,) = [
        line
        for line in typescript._message("Sample", shape, is_sent=is_sent).splitlines()
        if re.match(rf"  {name}\??:", line)
    ]
    return line.strip()


@pytest.fixture(scope="module")
def text() -> str:
    return typescript.module_bytes().decode()


def test_http_section_2_10_the_committed_types_are_those_of_the_contract() -> None:
    assert typescript.find_stale(FILE) == [], "run `make schemas` and commit the result"


def test_what_is_not_current_is_named(tmp_path: Path) -> None:
    file = tmp_path / "made" / "types.ts"
    assert typescript.find_stale(file) == ["types.ts"]
    typescript.write(file)
    assert typescript.find_stale(file) == []
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert typescript.find_stale(file) == []  # a checkout on Windows
    file.write_text("other", encoding="utf-8")
    assert typescript.find_stale(file) == ["types.ts"]


def test_every_method_and_notification_has_its_types(text: str) -> None:
    for name, method in METHODS.items():
        row = text.partition(f'  "{name}": {{\n')[2].partition("  };")[0]
        assert f"params: {method.params.__name__};" in row
        assert f"result: {'null' if method.result is type(None) else method.result.__name__};" in row
        assert {reason for reason in method.errors if f'"{reason}"' not in row} == set()
    for name, notice in NOTIFICATIONS.items():
        assert f'  "{name}": {notice.params.__name__};' in text
    listed = text.partition("SAFE_TO_REPEAT")[2].partition("]);")[0]
    assert re.findall(r'"(.+)",', listed) == [name for name, method in METHODS.items() if method.is_safe_to_repeat]


def test_every_name_that_is_used_is_declared_once(text: str) -> None:
    declared = re.findall(r"^export (?:interface|type|const) (\w+)", text, re.MULTILINE)
    assert len(declared) == len(set(declared))
    used = set(re.findall(r"(?:: |<|\| )([A-Z]\w+)", re.sub(r"/\*\*.*?\*/", "", text, flags=re.DOTALL)))
    assert used - set(declared) - {"Array", "ReadonlySet"} == set()


MEMBERS = {
    "text": ("text: string;", "text: string;"),
    "count": ("count?: number;", "count: number;"),
    "maybe": ("maybe?: number | null;", "maybe: number | null;"),
    "left_out": ("left_out?: boolean;", "left_out?: boolean;"),
    "many": ("many?: Array<Inner>;", "many: Array<Inner>;"),
    "named": ("named?: { [name: string]: number };", "named: { [name: string]: number };"),
    "anything": ("anything?: unknown;", "anything: unknown;"),
    "category": ("category?: Category;", "category: Category;"),
    "own": ('own?: "a" | "b";', 'own: "a" | "b";'),
    "pair": ("pair?: Inner | null;", "pair: Inner | null;"),
}


@each("name", list(MEMBERS))
def test_a_request_may_leave_out_what_has_a_default_and_an_answer_has_it(name: str) -> None:
    assert (member(name, is_sent=True), member(name, is_sent=False)) == MEMBERS[name]


def test_a_comment_says_what_a_member_is_and_its_default() -> None:
    shape = msgspec.json.schema_components([Sample], ref_template=typescript.PREFIX + "{name}")[1]["Sample"]
    sent = typescript._message("Sample", shape, is_sent=True)
    assert "/** A sample. */" in sent
    assert "  /** A text. */\n  text:" in sent
    assert "  /** Default: 20. */\n  count?:" in sent
    assert "Default" not in typescript._message("Sample", shape, is_sent=False)


def test_a_schema_that_the_contract_did_not_have_so_far_is_refused() -> None:
    with pytest.raises(KeyError):
        typescript._type({"type": "bytes"})


def test_long_choices_and_long_sentences_are_broken(text: str) -> None:
    assert max(len(line) for line in text.splitlines()) <= typescript.LINE
    choices = " | ".join(f'"choice_{number}"' for number in range(20))
    lines = typescript._declare("Long", choices).splitlines()
    assert lines[0] == "export type Long ="
    assert lines[-1] == '  | "choice_19";'
    assert len(lines) == 21


def test_a_name_of_a_choice_means_one_set_of_values(text: str) -> None:
    declared = re.findall(r"^export type (\w+)", text, re.MULTILINE)
    assert sorted(set(declared)) == sorted(declared)
    assert sorted(set(typescript.CHOICES.values())) == sorted(typescript.CHOICES.values())
