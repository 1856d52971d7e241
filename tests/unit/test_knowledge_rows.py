"""Rows of files: terms that are exchanged in a full-text table, and new files that wait for the end of their scan."""

from collections.abc import Iterator
from typing import Any

import pytest

from gateway.store.schema_shapes import scripts
from gateway.store.sqlite import Transaction, connect
from knowledge.rows.contents import (
    NewContent,
    NewPiece,
    WordChanges,
    add_content,
    count_pieces,
    count_pieces_anew,
    empty_words,
    entry,
    keep_words,
    pieces_with,
)
from knowledge.rows.files import add_files, clear_places, find_known_inodes, release_files, waiting_files
from knowledge.rows.statements import SQL
from protocol.seams.ports import Tx

ROWS = 3000
"""Enough for a term's rows to fill several pages."""


@pytest.fixture
def tx() -> Iterator[Tx]:
    connection = connect(":memory:", synchronous="off")
    for script in scripts():
        connection.execute(script).fetchall()
    connection.execute("INSERT INTO knowledge_owner (id, workspace_id) VALUES (1, '')").fetchall()
    connection.execute(
        "CREATE VIRTUAL TABLE temp.words USING fts5vocab('main', 'knowledge_card_fts', 'instance')"
    ).fetchall()
    yield Transaction(connection)
    connection.close()


def table(tx: Tx) -> list[Any]:
    """Every term of the full-text table with its rows, and the sums that the table keeps of them."""
    found = tx.all("SELECT term, doc FROM temp.words ORDER BY 1, 2")
    return [found, tx.all("SELECT block FROM knowledge_card_fts_data WHERE id = 1")]


def card(row: int, folder: str) -> str:
    return entry(1, f"{folder} md n{row}")


def changed(tx: Tx, rows: range, before: str, after: str) -> None:
    words = WordChanges()
    for row in rows:
        words.exchange("card", row, card(row, before), card(row, after))
    words.store(tx)


def test_a_row_whose_terms_are_exchanged_is_as_one_that_had_them_from_the_first(tx: Tx) -> None:
    words = WordChanges()
    for row in range(1, ROWS):
        words.add("card", row, card(row, "new"))
    words.store(tx)
    fresh = table(tx)
    tx.run("INSERT INTO knowledge_card_fts (knowledge_card_fts) VALUES ('delete-all')")
    for row in range(1, ROWS):
        words.add("card", row, card(row, "old"))
    words.store(tx)
    changed(tx, range(1, ROWS), "old", "new")
    assert table(tx) == fresh
    tx.run("INSERT INTO knowledge_card_fts (knowledge_card_fts) VALUES ('integrity-check')")
    for row in range(1, ROWS):
        words.remove("card", row, card(row, "new"))
    words.store(tx)
    assert table(tx)[0] == []
    changed(tx, range(1, ROWS), "old", "new")  # rows that a lost table lacks come whole
    assert table(tx) == fresh


def test_pieces_that_were_lost_are_no_longer_counted(tx: Tx) -> None:
    content = NewContent(1, b"sha", "markdown", "utf-8", 20, 2, None, 0.5, "[]", "[]")
    pieces = [NewPiece(at, at + 9, 1, 1, "[]", bytes([at]), f"word{at}", None) for at in (0, 10)]
    row = add_content(tx, content, pieces, WordChanges())
    add_content(tx, content._replace(sha256=b"other"), pieces, WordChanges())
    tx.run("DELETE FROM knowledge_chunk WHERE content = :row", {"row": row})
    assert count_pieces(tx, [1]) == 4
    count_pieces_anew(tx)
    assert count_pieces(tx, [1]) == 2
    assert tx.all("SELECT pieces FROM knowledge_content ORDER BY id") == [(0,), (2,)]


def test_the_size_of_a_collection_is_read_without_a_look_at_its_pieces_or_the_rows_of_its_files(tx: Tx) -> None:
    plan = [row[-1] for row in tx.all(f"EXPLAIN QUERY PLAN {SQL['size_of_collection']}", {"collection": 1})]
    assert [step for step in plan if "knowledge_chunk" in step] == []
    assert [step for step in plan if "knowledge_file" in step and "COVERING INDEX" not in step] == []


def add_collection_with(tx: Tx, *names: str) -> None:
    """A collection whose files were seen and not read."""
    tx.run(
        "INSERT INTO collection (id, collection_id, owner, name, path, include, exclude, follow_gitignore, watch, recall, meaning,"
        " enrich, state, created_at) VALUES (1, 'notes', 1, 'notes', '/notes', '[]', '[]', 1, 1, 1, 'off', 0, 'live', 0)"
    )
    seen = {"device": 1, "inode": 2, "size": 3, "mtime_ns": 4, "kind": "markdown", "language": None, "now": 5}
    own = {"collection": 1, "folder": "", "is_baseline": 0, "held_until": 1000}
    add_files(tx, [seen | own | {"file_id": f"fil_{name}", "name": name} for name in names])


def test_new_files_are_read_when_their_scan_has_told_which_of_them_moved(tx: Tx) -> None:
    add_collection_with(tx, "a.md")
    assert waiting_files(tx, 1, 999, 10) == []
    assert len(waiting_files(tx, 1, 1000, 10)) == 1  # its scan was killed
    release_files(tx, 1, resting=False)
    assert [one.name for one in waiting_files(tx, 1, 6, 10)] == ["a.md"]


def test_a_content_whose_words_are_gone_gets_them_again_when_it_is_found_again(tx: Tx) -> None:
    words = WordChanges()
    content = NewContent(1, b"sha", "markdown", "utf-8", 20, 2, None, 0.5, "[]", "[]")
    row = add_content(tx, content, [NewPiece(0, 9, 1, 1, "[]", b"a", "walrus", None)], words)
    keep_words(tx, row, words)  # a second file of the same batch
    words.store(tx)
    assert pieces_with(tx, [1], "walrus") == [1]
    empty_words(tx, 0)  # its collection is being removed, and no other one has a file
    assert pieces_with(tx, [1], "walrus") == []
    keep_words(tx, row, words)
    keep_words(tx, row, words)
    words.store(tx)
    assert pieces_with(tx, [1], "walrus") == [1]
    tx.run("INSERT INTO knowledge_fts (knowledge_fts) VALUES ('integrity-check')")


def test_a_file_moves_to_a_place_that_a_watch_found_it_at_but_not_to_one_that_was_read(tx: Tx) -> None:
    add_collection_with(tx, "a.md", "b.md")
    content = add_content(tx, NewContent(1, b"s", "markdown", "utf-8", 1, 1, None, 0.5, "[]", "[]"), [], WordChanges())
    tx.run("UPDATE knowledge_file SET state = 'indexed', content = :content WHERE name = 'b.md'", {"content": content})
    assert find_known_inodes(tx, 1, [(2, 1, 3, 4), (2, 1, 3, 5)]) == {0}
    assert clear_places(tx, 1, [("", "a.md"), ("", "b.md"), ("", "c.md")]) == {1}
    assert tx.all("SELECT name FROM knowledge_file") == [("b.md",)]
