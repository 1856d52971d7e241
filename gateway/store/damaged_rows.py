"""Unreadable rows of tables with a meaning of their own, found by their names, and the rescue of all others.

Rule 1: an index names the rows that there were; each is read by its number, so that one damaged page hides nothing but
its own rows.
Rule 2: a table is begun anew with what can be read only where a person asks for it, and after the file was copied as it
is.
"""

from collections.abc import Iterator, Sequence

import apsw
from msgspec import Struct

from gateway.home.owners import SQL
from gateway.store.schema_shapes import OWED, begin_table_anew
from gateway.store.sqlite import Handle

LABELS = ("memory_id", "turn_id", "thread_id", "candidate_id", "workspace_id", "job_id")
"""The columns that name a row; the first that an index of its table begins with is used."""
MOST_NAMED = 20
"""Rows that are named one by one."""


class ReadableRows(Struct, frozen=True):
    """The numbers of a table's readable rows, and the names of the unreadable ones."""

    whole: Sequence[int]
    hit: Sequence[str]


def rows_of(connection: Handle, table: str) -> ReadableRows:
    """Read every row of a table that can be read."""
    known = _read_known_rows(connection, table)
    whole = [row for row in known if _is_readable(connection, table, row)]
    found = set(whole)
    hit = sorted({label for row, label in known.items() if row not in found})
    return ReadableRows(whole, hit or ["rows that no index names"])


def describe_hit(rows: ReadableRows) -> str:
    """Return the names of the unreadable rows, joined for a sentence."""
    more = len(rows.hit) - MOST_NAMED
    return ", ".join(rows.hit[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _read_known_rows(connection: Handle, table: str) -> dict[int, str]:
    """Return rows by number, each with its name, from the table's indexes; else as far as the table can be walked."""
    known: dict[int, str] = {}
    for column, index in _indexes(connection, table):
        try:
            # names of our schema
            for row, label in connection.execute(f"SELECT rowid, {column} FROM {table} INDEXED BY {index}"):  # noqa: S608
                known.setdefault(row, f"{column.removesuffix('_id')} {label}")
        except apsw.Error:  # that index is damaged as well, or of some rows alone; others follow
            continue
    for order in ("ASC", "DESC"):
        try:
            # as above
            for (row,) in connection.execute(f"SELECT rowid FROM {table} NOT INDEXED ORDER BY rowid {order}"):  # noqa: S608
                known.setdefault(row, f"row {row}")
        except apsw.Error:
            continue
    return known


def _indexes(connection: Handle, table: str) -> Iterator[tuple[str, str]]:
    """Return column and index, those first that say most of whose a row is."""
    found: list[tuple[int, str, str]] = []
    for _, index, *_ in connection.execute(f"PRAGMA index_list({table})").fetchall():
        columns = [row[2] for row in connection.execute(f"PRAGMA index_info({index})").fetchall()]
        if columns and columns[0]:
            rank = LABELS.index(columns[0]) if columns[0] in LABELS else len(LABELS)
            found.append((rank, columns[0], index))
    return ((column, index) for _, column, index in sorted(found))


def _is_readable(connection: Handle, table: str, row: int) -> bool:
    try:
        # as above
        return bool(connection.execute(f"SELECT * FROM {table} NOT INDEXED WHERE rowid = ?", (row,)).fetchall())  # noqa: S608
    except apsw.CorruptError:
        return False


def keep_readable(connection: Handle, table: str) -> ReadableRows:
    """Begin a table anew with the rows that can be read, in one transaction. Raises what apsw raises."""
    rows = rows_of(connection, table)
    connection.execute("PRAGMA foreign_keys = off").fetchall()
    connection.execute("BEGIN IMMEDIATE").fetchall()
    try:
        # as above
        connection.execute(f"CREATE TEMP TABLE kept_rows AS SELECT * FROM {table} WHERE 0").fetchall()  # noqa: S608
        keep = f"INSERT INTO kept_rows SELECT * FROM {table} NOT INDEXED WHERE rowid = ?"  # noqa: S608  # as above
        for row in rows.whole:
            connection.execute(keep, (row,)).fetchall()
        begin_table_anew(connection, table, f"INSERT INTO {table} SELECT * FROM kept_rows")  # noqa: S608  # as above
        connection.execute("DROP TABLE kept_rows").fetchall()
        connection.execute(SQL["put_home"], {"name": OWED, "value": table}).fetchall()
        connection.execute("COMMIT").fetchall()
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK").fetchall()
        raise
    return rows
