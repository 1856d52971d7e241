"""The list of what holds stored text is whole: every table of the schema, every column with words, every file of a
home."""

from typing import Any

import apsw
import pytest
from statements_of import statements_of
from stored_text import SHELVES, TABLES

from gateway.doors.commands.left_words import PLACES, WHY
from gateway.store.schema_shapes import scripts
from protocol.memory.forgetting import ForgottenPlace, LeftReason
from protocol.seams.shelves import Shelf
from protocol.statements import Statements

OTHERS = {
    "item": "turn_id thread_id kind role status",
    "turn": "thread_id driver mode memory_mode status options origin error_reason usage owner superseded_by caller",
    "tool_reply": "turn_id",
    "hook_run": "run_id hook_id phase thread_id turn_id status contribution_hashes error_code",
    "thread": "workspace_id parent_thread_id mode memory_mode origin instruction_files instruction_profile agent forked_from",
    "instruction_version": "workspace_id sha256",
    "workspace": "state",
    "artifact": "version_id item_id thread_id role sha256",
    "record": "memory_id category kind status sensitivity provenance thread_id turn_id supersedes superseded_by index_state",
    "candidate": "candidate_id category status bucket reason_code contested_memory_id promoted_memory_id merged_into decided_by turn_id forgotten_with",
    "evidence": "memory_id candidate_id source_kind thread_id turn_id item_id",
    "earlier_value": "",
    "decision": "memory_id candidate_id thread_id turn_id run_id action bucket reason_code",
    "idempotency": "key",
    "shown_line": "block source_kind source_turn",
}
"""Columns of text that hold ids, codes and digests. A new column is searched, or stands here."""


@pytest.fixture(scope="module")
def schema() -> Any:
    connection = apsw.Connection(":memory:")
    for script in scripts():
        connection.execute(script).fetchall()
    yield connection
    connection.close()


def test_every_table_is_on_the_list_and_nothing_else_is(schema: Any) -> None:
    listed = schema.execute(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'virtual') AND name NOT LIKE 'sqlite_%'"
    )
    assert {name for (name,) in listed} == set(TABLES)


@pytest.mark.parametrize("table", sorted(SHELVES))
def test_every_column_of_words_is_searched(table: str, schema: Any) -> None:
    shelf = SHELVES[table]
    columns = {
        name for (name,) in schema.execute("SELECT name FROM pragma_table_info(?) WHERE type = 'TEXT'", (table,))
    }
    searched = {column.name for column in shelf.texts} | set(shelf.names)
    assert columns == searched | set(OTHERS[table].split())
    assert searched.isdisjoint(OTHERS[table].split())


def house_of(shelf: Shelf) -> Statements:
    return next(sql for sql in map(statements_of, ("agent", "memory")) if shelf.page in sql)


@pytest.mark.parametrize("table", sorted(SHELVES))
def test_each_statement_reads_and_changes_the_columns_that_its_shelf_names(table: str, schema: Any) -> None:
    """Each column gets a word of its own, so that a column in another's place is noticed."""
    shelf, sql = SHELVES[table], house_of(SHELVES[table])
    page = sql[shelf.page].replace("CAST(", "(").replace(" AS BLOB)", ")")
    cursor = schema.cursor()
    told: list[Any] = []
    cursor.exec_trace = lambda used, _sql, _values: (
        bool(told.append([name for name, _ in used.get_description()])) or False
    )
    with pytest.raises(apsw.ExecTraceAbort):
        cursor.execute(page, {"first": 0, "last": 1})
    ((_row, _id, *columns),) = told
    assert [name.strip("()") for name in columns] == [*(column.name for column in shelf.texts), *shelf.names]
    if shelf.keep:
        assert all(f"{column.name} = :{column.name}" in sql[shelf.keep] for column in shelf.texts)


def test_what_holds_words_has_something_that_erases_it() -> None:
    assert all(callable(entry.erased_by) for name, entry in TABLES.items() if name in SHELVES)
    assert {name for name, entry in TABLES.items() if entry.erased_by is None}.isdisjoint(SHELVES)


def test_each_place_and_reason_has_its_words() -> None:
    assert set(PLACES) == set(ForgottenPlace.__args__)
    assert set(WHY) == set(LeftReason.__args__)
    assert {shelf.place for shelf in SHELVES.values()} <= set(PLACES)
