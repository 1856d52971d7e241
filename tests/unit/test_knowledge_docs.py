"""docs/knowledge.md names the tests of each of its forty statements, and each of these tests has its statement."""

import re
from pathlib import Path

import msgspec

from protocol.settings import KnowledgeSettings

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "knowledge.md").read_text(encoding="utf-8")
TESTS = {
    path.relative_to(ROOT / "tests").as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "tests").rglob("test_*.py")
}


def stated() -> set[tuple[int, str]]:
    """Each statement of the table with each file that its row names."""
    section = PAGE.partition("## Statements and tests\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (\d+) \| .* \| ([^|]*) \|$", section, re.MULTILINE)
    return {(int(number), name) for number, names in rows for name in re.findall(r"`([^`]+)`", names)}


def test_every_statement_has_its_tests_and_every_test_its_statement() -> None:
    numbered = {
        (int(number), name)
        for name, text in TESTS.items()
        for number in re.findall(r"^(?:async )?def test_knowledge_statement_(\d\d)_", text, re.MULTILINE)
    }
    assert stated() == numbered
    assert {number for number, _ in numbered} == set(range(1, 41))


def test_every_setting_of_files_is_changed_by_a_test_of_statement_40() -> None:
    texts = "\n".join(text for text in TESTS.values() if "test_knowledge_statement_40_" in text).replace("\\n", " ")
    names = [member.name for member in msgspec.structs.fields(KnowledgeSettings)]
    assert [name for name in names if not re.search(rf"\b{name}\b", texts)] == []
