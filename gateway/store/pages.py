"""Pages of the database's file that cannot be read: whose they are, and how what is derived there comes back.

Rule 1: what is derived is put out of use and begun anew in one transaction, beside whoever reads or writes; nothing else is touched.
Rule 2: a table with a meaning of its own keeps every row that can be read; which ones cannot is told, row by row.
"""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import apsw

from gateway.home.owners import SQL
from gateway.store.copy import reading
from gateway.store.damaged_rows import ReadableRows, keep_readable, rows_of
from gateway.store.derived import owner_of
from gateway.store.schema_shapes import OWED, lost_shapes, put_out_of_use, restore_shapes
from gateway.store.sqlite import Handle, Transaction, connect, give_up

_TREE = re.compile(r"^Tree (\d+) ", re.MULTILINE)
_ENTRIES = re.compile(r"(?:wrong # of entries in|missing from) index (\w+)")


class Damage(NamedTuple):
    """What cannot be read, by name: derived tables, indexes of any table, and tables with a meaning of their own."""

    derived: Sequence[str] = ()
    indexes: Sequence[str] = ()
    kept: Sequence[str] = ()
    lost: Sequence[str] = ()
    """Shapes that are not there at all."""


def find_damage(connection: Handle) -> Damage:
    """Look at the pages of every table and index: as long as it takes to read the file once."""
    trees = connection.execute(SQL["list_trees"]).fetchall()
    by_root = {root: name for root, name, *_ in trees}
    tables = {name: table for _, name, kind, table in trees if kind == "index"}
    hit = dict.fromkeys(
        name for _, name, kind, _ in trees if kind == "table" for name in _wrong_in(connection, name, by_root)
    )
    derived = dict.fromkeys(owner for name in hit if (owner := owner_of(tables.get(name, name))) is not None)
    indexes = [name for name in hit if name in tables and owner_of(tables[name]) is None]
    kept = [name for name in hit if name not in tables and owner_of(name) is None]
    return Damage(list(derived), indexes, kept, _lost(connection))


def _lost(connection: Handle) -> list[str]:
    try:
        return lost_shapes(Transaction(connection))
    except apsw.CorruptError:  # what is damaged is begun anew, its format with it
        return []


def _wrong_in(connection: Handle, table: str, by_root: dict[int, str]) -> set[str]:
    """The table, if its own pages are damaged, and those of its indexes that are."""
    lines, has_failed = list[str](), False
    try:
        lines += [str(row[0]) for row in connection.execute(f"PRAGMA quick_check({table})")]
    except apsw.CorruptError:
        has_failed = True
    told = "\n".join(lines)
    wrong = {by_root[int(root)] for root in _TREE.findall(told) if int(root) in by_root}
    if not wrong:
        wrong = set(_ENTRIES.findall(told)) or ({table} if has_failed else set())
    return wrong


def mend(path: Path, damage: Damage) -> Sequence[str]:
    """Begin anew what is derived and cannot be read; the names of what was. Raises what apsw raises."""
    connection = connect(path, synchronous="full", creates=False)
    try:
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        done = list[str]()
        if damage.derived or damage.indexes:
            done += put_out_of_use(connection, damage.derived, damage.indexes)
            done += damage.indexes
        restore_shapes(connection, damage.lost)
        return [*done, *damage.lost]
    finally:
        give_up(connection)


def look(path: Path) -> Damage:
    """What cannot be read of a database, beside whoever uses it. Raises what apsw raises."""
    with reading(path, leaves_no_trace=True) as connection:
        return find_damage(connection)


def keep_rest(path: Path, tables: Sequence[str], aside: Path) -> dict[str, ReadableRows]:
    """Begin tables with a meaning anew, with the rows that can be read, after the file was copied as it is."""
    connection = connect(path, synchronous="full", creates=False)
    try:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        give_up(connection)
    shutil.copyfile(
        path, aside
    )  # closing it drops every lock that this process holds on the file: no connection is open
    connection = connect(path, synchronous="full", creates=False)
    try:
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        return {table: keep_readable(connection, table) for table in tables}
    finally:
        give_up(connection)


def look_at_pages(path: Path) -> Damage | None:
    """What cannot be read of a database; None where not even its schema can."""
    try:
        return look(path)
    except apsw.Error:
        return None


def find_lost(path: Path) -> Sequence[str]:
    """Which shapes are not there at all; none where the schema cannot be read. No page of a table is looked at."""
    try:
        with reading(path, leaves_no_trace=True) as connection:
            return _lost(connection)
    except apsw.Error:
        return ()


def find_hit_rows(path: Path, tables: Sequence[str]) -> dict[str, ReadableRows]:
    """Which rows of tables with a meaning cannot be read. Raises what apsw raises."""
    with reading(path, leaves_no_trace=True) as connection:
        return {table: rows_of(connection, table) for table in tables}


def make_anew(path: Path) -> None:
    """Write the whole file anew, without the pages that are in no use. Raises what apsw raises."""
    connection = connect(path, synchronous="full", creates=False)
    try:
        connection.execute("VACUUM").fetchall()
        connection.execute(SQL["remove_home"], {"name": OWED}).fetchall()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        give_up(connection)
