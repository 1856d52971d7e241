"""Unreadable rows of tables with a meaning of their own, found by their names, and the rescue of all others.

Rule 1: an index names the rows that there were; each is read by its key, so that one damaged page hides nothing but
its own rows.
Rule 2: a row is whole if it can be read and the table, made anew, takes it. Of a text that is not UTF-8 the rest is
kept, and the row is named.
Rule 3: a table is begun anew only after the file was copied as it is, in one transaction with the names of what it
lost.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import apsw

from gateway.home.owners import SQL
from gateway.store.losses import Loss, keep_numbers, note_losses
from gateway.store.schema_shapes import (
    OWED,
    SEQUENCE,
    begin_sequence_anew,
    begin_table_anew,
    format_adding,
    making_of,
    writable_columns,
)
from gateway.store.sqlite import Handle, changing, give_up

LABELS = ("memory_id", "turn_id", "thread_id", "candidate_id", "workspace_id", "job_id")
"""The columns that name a row; the first that an index of its table begins with is used."""
UNNAMED = "rows that no index names"


class ReadableRows(NamedTuple):
    """A table's rows that can be kept, and the names of those that are lost or whose text was altered (`hit`)."""

    whole: Sequence[Sequence[Any]]
    hit: Sequence[str]


def has_garbled_text(connection: Handle, table: str) -> bool:
    """Return whether a text in a table of our schema is no UTF-8. Raises what apsw raises."""
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[2] == "TEXT"]
    if not columns:
        return False
    texts = ", ".join(f"CAST({name} AS BLOB)" for name in columns)
    asking = f"SELECT 1 FROM {table} NOT INDEXED WHERE NOT is_utf8({texts}) LIMIT 1"  # noqa: S608
    return bool(connection.execute(asking).fetchall())


def rows_of(connection: Handle, table: str) -> ReadableRows:
    """Return the rows of a table that can be read and that an empty table of this version's schema takes."""
    if table == SEQUENCE:
        return ReadableRows((), ["the last numbers of tables"])
    known = _read_known_rows(connection, table)
    judge: Handle = apsw.Connection(":memory:")
    try:
        for making in making_of(table):
            judge.execute(making).fetchall()
        columns = writable_columns(judge, table)
        reading = _format_reading(connection, table, columns)
        put = format_adding(table, columns)
        whole, hit = list[Sequence[Any]](), dict[str, None]()
        for key, label in known.items():
            row, is_altered = _read(connection, reading, key)
            if row is None or not _is_taken(judge, put, row):
                hit[label] = None
                continue
            whole.append(row)
            if is_altered:
                hit[label] = None
        return ReadableRows(whole, sorted(hit) or [UNNAMED])
    finally:
        give_up(judge)


def _is_taken(judge: Handle, put: str, row: Sequence[Any]) -> bool:
    """Return whether an empty table of the same making takes a row beside those before it."""
    try:
        judge.execute(put, row).fetchall()
    except apsw.Error:  # a type, a bound or a name of two rows
        return False
    return True


def _format_reading(connection: Handle, table: str, columns: Sequence[str]) -> str:
    """Return the statement that reads a row by its key, text as bytes: text that is not UTF-8 cannot be read as text.

    Its columns are the values, and after them, for each value, whether it is text.
    """
    values = ", ".join(f"iif(typeof({name}) = 'text', CAST({name} AS BLOB), {name})" for name in columns)
    kinds = ", ".join(f"typeof({name}) = 'text'" for name in columns)
    key = _key_of(connection, table)
    # names of our schema
    return f"SELECT {values}, {kinds} FROM {table} NOT INDEXED WHERE {' AND '.join(f'{name} = ?' for name in key)}"  # noqa: S608


def _read(connection: Handle, reading: str, key: Sequence[Any]) -> tuple[Sequence[Any] | None, bool]:
    """Return a row, None where it cannot be read, and whether a text of it was not UTF-8."""
    try:
        found = connection.execute(reading, key).fetchall()
    except apsw.Error:
        return None, False
    if not found:
        return None, False
    count = len(found[0]) // 2
    row, is_altered = list(found[0][:count]), False
    for place, is_text in enumerate(found[0][count:]):
        if is_text:
            text = row[place].decode("utf-8", "replace")
            is_altered |= text.encode() != row[place]
            row[place] = text
    return row, is_altered


def _key_of(connection: Handle, table: str) -> Sequence[str]:
    """Return the columns by which a table's rows are found: their number, or the key of a table without numbers."""
    ((has_no_numbers,),) = connection.execute(SQL["is_without_rowid"], {"name": table}).fetchall()
    if not has_no_numbers:
        return ("rowid",)
    columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
    return [name for place, name in sorted((row[5], row[1]) for row in columns) if place]


def _read_known_rows(connection: Handle, table: str) -> Mapping[Sequence[Any], str]:
    """Return rows by key, each with its name, from the table's indexes; else as far as the table can be walked."""
    known: dict[Sequence[Any], str] = {}
    names = _key_of(connection, table)
    key = ", ".join(names)
    for column, index in _indexes(connection, table):
        try:
            # as above
            for *place, label in connection.execute(f"SELECT {key}, {column} FROM {table} INDEXED BY {index}"):  # noqa: S608
                known.setdefault(tuple(place), f"{column.removesuffix('_id')} {label}")
        except (apsw.Error, UnicodeDecodeError):  # that index is damaged, or of some rows alone; others follow
            continue
    for order in ("ASC", "DESC"):
        ordered = ", ".join(f"{name} {order}" for name in names)
        try:
            # as above
            for place in connection.execute(f"SELECT {key} FROM {table} NOT INDEXED ORDER BY {ordered}"):  # noqa: S608
                known.setdefault(tuple(place), f"row {'/'.join(map(str, place))}")
        except (apsw.Error, UnicodeDecodeError):
            continue
    return known


def _indexes(connection: Handle, table: str) -> Iterator[tuple[str, str]]:
    """Yield (column, index) of a table, those first whose column is the best name of a row."""
    found: list[tuple[int, str, str]] = []
    for _, index, _, origin, *_ in connection.execute(f"PRAGMA index_list({table})").fetchall():
        if origin == "pk" and _key_of(connection, table) != ("rowid",):
            continue  # the table itself
        columns = [row[2] for row in connection.execute(f"PRAGMA index_info({index})").fetchall()]
        if columns and columns[0]:
            rank = LABELS.index(columns[0]) if columns[0] in LABELS else len(LABELS)
            found.append((rank, columns[0], index))
    return ((column, index) for _, column, index in sorted(found))


def keep_readable(connection: Handle, reader: Handle, tables: Sequence[str], aside: str | None) -> Sequence[Loss]:
    """Begin tables anew with the rows that can be read, in one transaction; return what they lost.

    `reader`: another connection, because one that met a damaged page in a transaction cannot write in it any more.
    `aside`: the name of the copy that holds the file as it was. Raises what apsw raises.
    """
    connection.execute("PRAGMA foreign_keys = off").fetchall()
    with changing(connection):
        # numbers come last: a table that is made anew asks for them
        ordered = sorted(tables, key=lambda table: table == SEQUENCE)
        losses = [_keep_rows(connection, reader, table, aside) for table in ordered]
        keep_numbers(connection, tables)
        note_losses(connection, losses)
        connection.execute(SQL["put_home"], {"name": OWED, "value": ",".join(tables)}).fetchall()
    return losses


def _keep_rows(connection: Handle, reader: Handle, table: str, aside: str | None) -> Loss:
    rows = rows_of(reader, table)
    if table == SEQUENCE:
        begin_sequence_anew(connection)
    else:
        begin_table_anew(connection, table, rows.whole)
    return Loss.of(table, rows.hit, aside)
