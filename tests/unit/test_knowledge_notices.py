"""Notices of changed files, headings of a text as it is now, and a note that says it is not to be indexed."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from fresh import fresh_database

from gateway.files.text_child import _Reader
from gateway.store.database import Database
from knowledge import notices
from knowledge.index.judging import is_opted_out
from knowledge.notices import ChangeNotices
from knowledge.search.outline import find_outline
from knowledge.structure import ReadRequest
from protocol.notifications import KnowledgeChanged
from protocol.seams.ports import Tx


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    database = Database(fresh_database(tmp_path))
    yield database
    database.close()


@pytest.mark.anyio
async def test_a_line_of_the_log_is_counted_once_whoever_finds_it_first(db: Database) -> None:
    told: list[KnowledgeChanged] = []

    def write(tx: Tx) -> None:
        for event, count in (("collection_added", None), ("baseline", 7), ("added", None), ("ignored", None)):
            add = "INSERT INTO knowledge_change (at, name, event, count) VALUES (0, 'notes', ?, ?)"
            tx.run(add, (event, count))

    def keep(method: str, params: Any) -> None:
        assert method == "knowledge/changed"
        told.append(params)

    def later(work: Callable[[], Any], name: str) -> None:
        raise AssertionError(work, name)

    made = ChangeNotices(db, keep, later)
    await db.write(write)
    await made.follow()  # of a process that follows no changes
    await made.begin()
    await made.follow()
    assert told == []
    await db.write(write)
    found = await db.read(made.find)
    await made.follow()
    assert [(one.added, one.removed) for one in told] == [(8, 1)]
    assert not made.tell(found)
    await made.follow()
    assert len(told) == 1


@pytest.mark.anyio
async def test_at_most_one_notice_a_second_counts_all_that_happened(
    monkeypatch: pytest.MonkeyPatch, db: Database
) -> None:
    monkeypatch.setattr(notices, "SECONDS", 0.2)
    told: list[KnowledgeChanged] = []
    waiting: list[Callable[[], Any]] = []

    def keep(method: str, params: Any) -> None:
        assert method == "knowledge/changed"
        told.append(params)

    def later(work: Callable[[], Any], name: str) -> None:
        waiting.append(work)
        assert name

    made = ChangeNotices(db, keep, later)
    made.count("notes", {"added": 1, "found": 7})
    made.count("notes", {"changed": 2})
    made.count("notes", {"changed": 1, "failed": 1})
    made.count("other", {"removed": 1})
    made.count("other", {"found": 1})
    assert [(one.collection_id, one.added, one.removed) for one in told] == [("notes", 1, 0), ("other", 0, 1)]
    assert len(waiting) == 1
    with anyio.fail_after(5):
        await waiting[0]()
    assert (told[2].changed, told[2].failed, told[2].added) == (3, 1, 0)


def test_headings_of_both_forms_are_found_outside_of_front_matter_and_code() -> None:
    lines = [
        "---",
        "title: x",
        "---",
        "# One #",
        "",
        "Two",
        "---",
        "text",
        "",
        "| a |",
        "---",
        "```",
        "# no",
        "No",
        "==",
        "```",
        "- item",
        "---",
        "    Three",
        "===",
        "Four",
        "====",
        "####### no",
    ]
    found = [(one.heading, one.level, one.from_line) for one in find_outline(lines)]
    assert found == [("One", 1, 4), ("Two", 2, 6), ("Four", 1, 21)]


@pytest.mark.parametrize(
    ("text", "is_out"),
    [
        ("---\nknowledge: false\n---\nx", True),
        ("\ufeff---\r\ntitle: a\r\nKnowledge: 'off' # no\r\n---\r\n", False),
        ("---\ntitle: a\nknowledge : No # why\n---\n", True),
        ("---\nknowledge: true\n---\n", False),
        ("---\nabout: knowledge: false\n---\n", False),
        ("text\n---\nknowledge: false\n---\n", False),
        ("---\nknowledge: false\n", True),
        ("---\nknowledge: false\n...\n# Ended by dots\n", True),
        ("---\nknowledge: FALSE\nbroken: [1, {\n---\n", True),
        ("---\nknowledge: false\nknowledge: true\n---\n", True),
        (f"---\ntext: {'x' * 20_000}\n'knowledge': \"no\"\n---\n", True),
        ("---\n  title: a\n  knowledge: false\n---\n", True),
        ("---\nabout:\n  knowledge: false\n---\n", False),
        ("---\ntitle: a\n---\nknowledge: false\n", False),
        ("---\ntitle: a\n...\nknowledge: false\n", False),
        ("---- \nknowledge: false\n---\n", False),
        ("", False),
    ],
)
def test_front_matter_keeps_a_note_out(text: str, *, is_out: bool) -> None:
    assert is_opted_out(text) is is_out
    reader = _Reader()
    for is_plain in (False, True):
        asked = ReadRequest(kind="markdown", size=len(text.encode()), max_pieces=10, is_plain=is_plain)
        assert (reader.read(asked, text.encode()).unread == "opted_out") is is_out
