"""The shapes of a home: tables, triggers, indexes, views, the full-text format.

Rule 1: what a home lacks of them is found by names alone, at a cost that does not grow with the home, and is made again
empty. Of a table with a meaning of its own the loss is noted (`losses.py`).
Rule 2: what cannot be read cannot be dropped either: its name is taken out of the schema, its pages are in no use until
the file is made anew, and another of that name begins empty.
Rule 3: a shape that cannot be made again keeps no process from starting; what it should hold is compared later, by
repair.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from gateway.home.owners import SQL
from gateway.store.derived import TABLES, add_shadows, tables_to_empty
from gateway.store.sqlite import Handle, changing, connect
from knowledge.rows.statements import CARD_FORMAT as FORMAT_OF_CARDS
from knowledge.rows.statements import FORMAT as FORMAT_OF_FILES
from memory.rows.record_terms import FORMAT as FORMAT_OF_RECORDS
from protocol.seams.ports import Tx
from protocol.statements import read_sql
from thread_episodic.rows.statements import FORMAT as FORMAT_OF_CHUNKS

HOUSES = ("gateway", "retrieval", "agent", "memory", "thread_episodic", "knowledge")
"""Each keeps its tables in `schema.sql`; version 1 is their sum, in this order."""

_SHAPE = re.compile(r"^CREATE (?:UNIQUE )?(TRIGGER|INDEX|VIEW|VIRTUAL TABLE|TABLE) (\w+)", re.MULTILINE)

SEQUENCE = "sqlite_sequence"
"""The table of the numbers that were given last: SQLite makes it."""
OWED = "damaged_pages"
"""The home's fact that some of its pages are in no use until the file is made anew."""

FORMATS = {
    "chunk_fts": FORMAT_OF_CHUNKS,
    "memory_fts": FORMAT_OF_RECORDS,
    "knowledge_fts": FORMAT_OF_FILES,
    "knowledge_card_fts": FORMAT_OF_CARDS,
}
"""The statements that find and write again each full-text table's format: without it, the table cannot be emptied."""


def scripts() -> Iterator[str]:
    """Yield the schema of each house."""
    for house in HOUSES:
        yield read_sql(house, "schema.sql")


@lru_cache(maxsize=1)
def _kinds() -> dict[str, str]:
    """Return the kind of every shape by its name, in the order of their making."""
    return {name: kind for script in scripts() for kind, name in _SHAPE.findall(script)}


def is_of_meaning(name: str) -> bool:
    """Return whether a shape is a table with a meaning of its own: made again it is empty, and its rows are lost."""
    return _kinds().get(name) == "TABLE" and name not in TABLES


@lru_cache(maxsize=1)
def _model() -> dict[str, tuple[str, str]]:
    """Return every shape by its name: the table that it belongs to, and how it is made."""
    model = connect(":memory:", synchronous="off")
    try:
        for script in scripts():
            model.execute(script).fetchall()
        return {name: (table, making) for name, table, making in model.execute(SQL["list_shapes"]).fetchall()}
    finally:
        model.close()


def lost_shapes(tx: Tx) -> list[str]:
    """Return the names of the shapes that a home of this version lacks, in the order of their making."""
    present = {row[0] for row in tx.all(SQL["list_shapes"])}
    lost = [name for name in _kinds() if name not in present]
    unreadable = [name for name in FORMATS if name not in lost and not _is_formed(tx, name, present)]
    return [*lost, *unreadable]


def _is_formed(tx: Tx, name: str, present: set[str]) -> bool:
    return present.issuperset(add_shadows([name])) and bool(tx.all(FORMATS[name][0]))


def restore_shapes(connection: Handle, names: Sequence[str]) -> None:
    """Make the shapes again. Raises what the connection raises; each is made in a transaction of its own."""
    present = {row[0] for row in connection.execute(SQL["list_shapes"]).fetchall()}
    for name in names:
        if name in FORMATS and name in present and not present.issuperset(add_shadows([name])):
            put_out_of_use(connection, [name], [])
        elif name not in present:
            connection.execute(_model()[name][1]).fetchall()
        if name in FORMATS:
            connection.execute(FORMATS[name][1]).fetchall()


def put_out_of_use(connection: Handle, tables: Sequence[str], indexes: Sequence[str]) -> list[str]:
    """Begin derived tables and indexes anew whose pages cannot be read; return the tables that are empty now.

    The change is one transaction, of a connection that may write to the schema. Indexes are filled from their tables.
    Until the file is made anew the home keeps the fact `OWED`.
    """
    emptied = tables_to_empty(tables)
    gone = add_shadows(emptied)
    with changing(connection):
        refilled = [name for name in indexes if name in _model() and _model()[name][0] not in gone]
        implied = [name for name in indexes if name.startswith("sqlite_autoindex_")]
        _take_out(connection, SQL["take_out_tables"], gone)
        _take_out(connection, SQL["take_out_indexes"], refilled)
        for name in [one for one in _kinds() if _model()[one][0] in gone] + refilled:
            connection.execute(_model()[name][1]).fetchall()
            if name in FORMATS:
                connection.execute(FORMATS[name][1]).fetchall()
        for name in implied:
            _exchange_implied(connection, name)
        owed = {"name": OWED, "value": ",".join([*emptied, *indexes])}
        connection.execute(SQL["put_home"], owed).fetchall()
    return emptied


def making_of(table: str) -> list[str]:
    """Return the statements that make a table and what keeps its rows apart; what they hold is refused elsewhere."""
    return [
        making
        for name, (owner, making) in _model().items()
        if name == table or (owner == table and making.startswith("CREATE UNIQUE"))
    ]


def writable_columns(connection: Handle, table: str) -> list[str]:
    """Return the columns of a table without those that it computes itself."""
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})").fetchall()]


def format_adding(table: str, columns: Sequence[str]) -> str:
    """Return the statement that adds a row to a table."""
    marks = ", ".join("?" * len(columns))
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608  # names of our schema


def begin_table_anew(connection: Handle, table: str, rows: Sequence[Sequence[Any]]) -> None:
    """Make an unreadable table anew, fill it, and then make its indexes and triggers, in the caller's transaction."""
    _take_out(connection, SQL["take_out_tables"], [table])
    make_table(connection, table)
    connection.executemany(format_adding(table, writable_columns(connection, table)), rows).fetchall()
    for name, (owner, making) in _model().items():
        if owner == table and name != table:
            connection.execute(making).fetchall()


def make_table(connection: Handle, table: str) -> None:
    """Make an empty table, without its indexes and triggers."""
    connection.execute(_model()[table][1]).fetchall()


def list_numbered_tables() -> list[str]:
    """Return the tables that never give a number twice."""
    return [name for name, (_, making) in _model().items() if "AUTOINCREMENT" in making]


def begin_sequence_anew(connection: Handle) -> None:
    """Make the table of the last numbers anew, which SQLite alone can make, in the caller's transaction."""
    _take_out(connection, SQL["take_out_tables"], [SEQUENCE])
    connection.execute("CREATE TABLE numbers_made_anew (id INTEGER PRIMARY KEY AUTOINCREMENT)").fetchall()
    connection.execute("DROP TABLE numbers_made_anew").fetchall()
    for table in list_numbered_tables():
        # as above
        connection.execute(
            f"INSERT INTO sqlite_sequence SELECT '{table}', coalesce(max(rowid), 0) FROM {table}"  # noqa: S608
        ).fetchall()


def _take_out(connection: Handle, statement: str, names: Sequence[str]) -> None:
    connection.execute("PRAGMA writable_schema = on").fetchall()
    connection.execute(statement, {"names": ",".join(["", *names, ""])}).fetchall()
    connection.execute("PRAGMA writable_schema = reset").fetchall()


def _exchange_implied(connection: Handle, name: str) -> None:
    """Give the index of a UNIQUE constraint, which cannot be made alone, the pages of one that is made like it."""
    found = connection.execute(SQL["table_of_index"], {"name": name}).fetchall()
    columns = [row[2] for row in connection.execute(f"PRAGMA index_info({name})").fetchall()]
    if not found or not columns:  # it went with its table
        return
    connection.execute(f"CREATE UNIQUE INDEX index_made_anew ON {found[0][0]} ({', '.join(columns)})").fetchall()
    connection.execute("PRAGMA writable_schema = on").fetchall()
    connection.execute(SQL["exchange_index"], {"name": name, "made": "index_made_anew"}).fetchall()
    _take_out(connection, SQL["take_out_indexes"], ["index_made_anew"])
