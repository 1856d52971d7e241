"""Every statement of every house is described, prepared, and used."""

import functools
import re
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import apsw
import pytest
from cases import each
from statements_of import statements_of

from gateway.store.schema_shapes import HOUSES
from gateway.store.sqlite import add_functions
from protocol.statements import Statements

NAME = re.compile(r"^-- name: ?(.*)$", re.MULTILINE)
PARAMETER = re.compile(r":([a-z_][a-z_0-9]*)")


def folder(house: str) -> Path:
    return Path(str(files(house)))


def text_of(house: str) -> str:
    return (folder(house) / "queries.sql").read_text(encoding="utf-8")


@functools.cache
def words_in_quotes(house: str) -> set[str]:
    """Whatever the house's modules could call a statement by."""
    texts = (path.read_text(encoding="utf-8") for path in folder(house).rglob("*.py"))
    return {match[2] for text in texts for match in re.finditer(r"""(["'])(\w+)\1""", text)}


HERE = [house for house in HOUSES if (folder(house) / "queries.sql").exists()]
OF_HOUSE = {house: statements_of(house) for house in HERE}
CASES = [(house, name) for house, statements in OF_HOUSE.items() for name in statements]


@pytest.fixture(scope="module")
def schema() -> Any:
    """A database with the tables of every house."""
    connection = apsw.Connection(":memory:")
    for option in (apsw.SQLITE_DBCONFIG_DQS_DML, apsw.SQLITE_DBCONFIG_DQS_DDL):
        connection.config(option, 0)
    add_functions(connection)
    connection.config(apsw.SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1)  # what is put out of use leaves the schema
    for house in HOUSES:
        path = folder(house) / "schema.sql"
        if path.exists():
            for _ in connection.execute(path.read_text(encoding="utf-8")):
                pass
    return connection


def test_there_is_something_to_look_at() -> None:
    assert "gateway" in HERE
    assert len(CASES) > 20


@each(("house", "name"), CASES)
def test_each_statement_is_prepared(house: str, name: str, schema: Any) -> None:
    statement = OF_HOUSE[house][name]
    bindings = dict.fromkeys(PARAMETER.findall(statement))
    assert schema.execute(f"EXPLAIN {statement}", bindings).fetchall()


@each(("house", "name"), CASES)
def test_each_statement_is_one_statement(house: str, name: str, schema: Any) -> None:
    statement = OF_HOUSE[house][name]
    seen: list[str] = []

    def trace(_cursor: Any, sql: str, _bindings: Any) -> bool:
        seen.append(sql)
        return False  # not executed

    cursor = schema.cursor()
    cursor.exec_trace = trace
    with pytest.raises(apsw.ExecTraceAbort):
        cursor.execute(statement, dict.fromkeys(PARAMETER.findall(statement)))
    assert [sql.strip() for sql in seen] == [statement]


@each(("house", "name"), CASES)
def test_each_statement_says_what_it_does(house: str, name: str) -> None:
    about = OF_HOUSE[house].abouts[name]
    assert re.fullmatch(r"[A-Z`(].*[.?!]", about), "a sentence"
    assert 10 <= len(about) <= 140


@pytest.mark.parametrize("house", HERE)
def test_no_block_is_lost_or_doubled(house: str) -> None:
    names = NAME.findall(text_of(house))
    assert names == list(OF_HOUSE[house])


@each(("house", "name"), CASES)
def test_each_statement_is_used_by_its_house(house: str, name: str) -> None:
    assert name in words_in_quotes(house) | words_in_quotes("retrieval")  # which names those that several houses have


@pytest.mark.parametrize("house", HERE)
def test_a_house_writes_only_to_its_own_tables(house: str) -> None:
    schema = (folder(house) / "schema.sql").read_text(encoding="utf-8")
    own = set(re.findall(r"CREATE (?:VIRTUAL )?TABLE (\w+)", schema))
    written = set(re.findall(r"(?:INSERT (?:OR \w+ )?INTO|DELETE FROM|UPDATE(?: OR \w+)?) (\w+)", text_of(house)))
    own |= {"sqlite_schema", "sqlite_sequence"} if house == "gateway" else set()
    own |= {f"{name}_config" for name in re.findall(r"CREATE VIRTUAL TABLE (\w+)", schema)}
    assert written - {"SET"} <= own


@pytest.mark.parametrize("house", [house for house in HOUSES if (folder(house) / "schema.sql").exists()])
def test_each_table_is_strict(house: str, schema: Any) -> None:
    text = (folder(house) / "schema.sql").read_text(encoding="utf-8")
    strict = {name: bool(is_strict) for name, is_strict in schema.execute("SELECT name, strict FROM pragma_table_list")}
    tables = re.findall(r"CREATE TABLE (\w+)", text)
    assert tables
    assert [table for table in tables if not strict[table]] == []


# -- the loader ------------------------------------------------------------------------------------------------------


def loaded(
    tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch, lists: dict[str, str] | None = None
) -> Statements:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "anywhere", raising=False)
    (tmp_path / "anywhere").mkdir(exist_ok=True)
    (tmp_path / "anywhere" / "__init__.py").touch()
    (tmp_path / "anywhere" / "queries.sql").write_text(text, encoding="utf-8")
    return Statements("anywhere", lists)


def test_blocks_are_read_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = loaded(
        tmp_path,
        "-- A preface.\n\n-- name: one\n-- First.\nSELECT 1;\n\n-- name: two_2\n-- Second.\nSELECT 'x; -- y'\n-- inside\nFROM t\n",
        monkeypatch,
    )
    assert dict(found) == {"one": "SELECT 1", "two_2": "SELECT 'x; -- y'\n-- inside\nFROM t"}
    assert found.abouts == {"one": "First.", "two_2": "Second."}
    assert (len(found), found.package) == (2, "anywhere")
    with pytest.raises(KeyError, match="three"):
        found["three"]


def test_a_list_of_columns_is_filled_in_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "-- name: one\n-- First.\nSELECT {names}, '{}' FROM t"
    found = loaded(tmp_path, text, monkeypatch, {"names": "a, b"})
    assert found["one"] == "SELECT a, b, '{}' FROM t"


@pytest.mark.parametrize(
    "text",
    ["", "SELECT 1", "-- name: One\n-- Capital.\nSELECT 1", "-- name: one\nSELECT 1", "-- name:one\n-- A.\nSELECT 1"],
)
def test_what_is_no_block_is_not_read(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert dict(loaded(tmp_path, text, monkeypatch)) == {}


@pytest.mark.parametrize(
    ("house", "name", "index"),
    [
        ("thread_episodic", "pending_sources", "chunk_source_pending"),
        ("thread_episodic", "partial_sources", "chunk_source_partial"),
        ("gateway", "count_jobs_of_thread", "COVERING INDEX job_thread"),
    ],
)
def test_the_state_of_an_index_is_told_without_reading_all_of_it(
    house: str, name: str, index: str, schema: Any
) -> None:
    """The planner reads everything where that saves it a sort."""
    statement = OF_HOUSE[house][name]
    plan = schema.execute(f"EXPLAIN QUERY PLAN {statement}", dict.fromkeys(PARAMETER.findall(statement), 1)).fetchall()
    assert [row[3] for row in plan if index in row[3]]
