"""The pages that are generated from the contract: current, complete, and the same each time."""

import re
from pathlib import Path

import msgspec
import pytest
from command_line import run

from protocol.errors import REASONS
from protocol.methods import METHODS
from protocol.reference import pages as reference
from protocol.reference.setting_meanings import GROUPS, MEANINGS
from protocol.reference.setting_table import groups, settings

pytestmark = pytest.mark.loop("check")  # lint compares it, too

DOCS = Path(__file__).resolve().parents[2] / "docs"
GOLDEN = DOCS.parent / "tests" / "golden"


def test_the_committed_pages_are_those_of_the_contract() -> None:
    assert reference.find_stale(DOCS) == [], (
        "docs/ is not what protocol/ says: run `make schemas` and commit the result"
    )


def test_every_setting_has_one_meaning_and_no_other_key_has_one() -> None:
    assert [setting.key for setting in settings()] == list(MEANINGS)
    assert list(groups()) == list(GROUPS)
    assert all(meaning.endswith(".") and "\n" not in meaning for meaning in [*MEANINGS.values(), *GROUPS.values()])


def test_every_setting_says_what_it_takes_and_its_default() -> None:
    known = {setting.key: setting for setting in settings()}
    assert known["memory.retention_days"].allowed == "whole number, 1 to 3650"
    assert known["memory.enabled"].shown_default == "true"
    assert known["thread_episodic.min_relevancy"].allowed == "number, 0 to 1"
    assert known["embedding.model_path"].shown_default == "unset"
    assert known["providers.kind"].is_required


def test_methods_and_errors_are_all_on_the_page() -> None:
    page = reference.pages(GOLDEN)["methods.md"].decode()
    assert re.findall(r"^### `(.+)`$", page, re.MULTILINE) == list(METHODS)
    assert all(f"| `{reason}` |" in page for reason in REASONS)


def test_a_page_that_was_changed_or_lost_is_told_and_written_anew(tmp_path: Path) -> None:
    (tmp_path / "mine.md").write_text("mine", encoding="utf-8")
    reference.write(tmp_path)
    assert reference.find_stale(tmp_path) == []
    (tmp_path / "methods.md").write_bytes((tmp_path / "methods.md").read_bytes().replace(b"\n", b"\r\n"))
    assert reference.find_stale(tmp_path) == []  # a checkout on Windows
    (tmp_path / "methods.md").write_text("other", encoding="utf-8")
    (tmp_path / "configuration.md").unlink()
    assert reference.find_stale(tmp_path) == ["configuration.md", "methods.md"]
    assert (tmp_path / "mine.md").exists()


def test_the_command_writes_and_checks_what_is_generated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    schemas = ("schemas", "--out", "schemas", "--docs", "docs", "--types", "types.ts")
    ended = run(*schemas, "--check")
    assert ended.code == 1
    assert "methods.md" in ended.err
    assert "types.ts" in ended.err
    assert run(*schemas).code == 0
    assert run(*schemas, "--check").code == 0
    assert (tmp_path / "docs" / "configuration.md").is_file()
    assert (tmp_path / "schemas" / "openrpc.json").is_file()


def test_every_type_that_a_page_links_to_has_its_members_on_the_page_of_types() -> None:
    written = reference.pages(GOLDEN)
    methods, types = written["methods.md"].decode(), written["types.md"].decode()
    headings = set(re.findall(r"^## `(.+)`$", types, re.MULTILINE))
    linked = set(re.findall(r"\[`(\w+)`\]\(types\.md#\w+\)", methods + types))
    assert linked == headings
    assert {"Context", "ForgetByKey", "ImportTurn", "Record", "MemoryChanged"} <= headings
    assert "| `turn_id` | string |" in types.split("## `ForgetByTurn`")[1].split("\n## ")[0]


def test_an_example_of_the_page_is_a_request_that_its_method_takes() -> None:
    page = reference.pages(GOLDEN)["methods.md"].decode()
    sections = [part.split("\n", 1) for part in page.split("\n### `")[1:]]
    shown = {name.rstrip("`"): re.search(r"```json\n(.+)\n```", text) for name, text in sections}
    for name, example in shown.items():
        params = METHODS[name].params
        if example is None:  # it asks for nothing
            params()
        else:
            an_id = re.sub("…", "1", example.group(1))
            msgspec.convert({"bundle": "{}"} if name == "memory/import" else msgspec.json.decode(an_id), params)
    assert '{"target": {"kind": "id", "memory_id": "mem_…"}, "dry_run": true}' in page
