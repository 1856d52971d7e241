"""Unreadable pages of the database file: their owners, and the repair of derived parts.

Rule 1: what is derived is put out of use and begun anew in one transaction, beside readers and writers; nothing else is
touched.
Rule 2: a table with a meaning of its own keeps every row that can be read, and the file as it was is copied first; each
row that cannot be read is named.
"""

import re
import secrets
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import apsw
from msgspec import Struct

from gateway.home.owners import SQL
from gateway.store.copy import copy, open_to_read
from gateway.store.damaged_rows import ReadableRows, has_garbled_text, keep_readable, rows_of
from gateway.store.derived import owner_of
from gateway.store.losses import Loss, restore_tables
from gateway.store.schema_shapes import OWED, is_of_meaning, lost_shapes, put_out_of_use, restore_shapes
from gateway.store.sqlite import Handle, StoreFailed, Transaction, connect, give_up
from promt.patterns import compile_late

_TREE = compile_late(r"^Tree (\d+) ", re.MULTILINE)
_ENTRIES = compile_late(r"(?:wrong # of entries in|missing from) index (\w+)")


class Damage(Struct, frozen=True):
    """Unreadable parts by name: derived tables, indexes of any table, and tables with a meaning of their own."""

    derived: Sequence[str] = ()
    indexes: Sequence[str] = ()
    kept: Sequence[str] = ()
    lost: Sequence[str] = ()
    """Shapes that the schema lacks."""


class Mended(NamedTuple):
    """The names of what was begun anew, and the rows that tables with a meaning lost."""

    begun: Sequence[str] = ()
    losses: Sequence[Loss] = ()


OWNERS_OF_FILES = frozenset({"collection", "knowledge_owner"})
"""Tables to whose numbers the files of collections belong: where one of these is damaged, `OF_FILES` begin anew."""
OF_FILES = ("knowledge_file",)
HOME = "home"
"""The table in which the repair of the others is noted: it is mended first."""
ROOM_BYTES = 32 * 1024 * 1024
"""So much of the disk a copy leaves free: turns go on in it."""


def find_damage(connection: Handle, *, reads_texts: bool) -> Damage:
    """Read the pages of every table and index, which takes one read of the file; return the damage.

    With `reads_texts` the tables with a meaning are hit, too, in which a text is no UTF-8.
    """
    trees = connection.execute(SQL["list_trees"]).fetchall()
    by_root = {root: name for root, name, *_ in trees}
    tables = {name: table for _, name, kind, table in trees if kind == "index"}
    hit = dict.fromkeys(
        name for _, name, kind, _ in trees if kind == "table" for name in _wrong_in(connection, name, by_root)
    )
    derived = dict.fromkeys(owner for name in hit if (owner := owner_of(tables.get(name, name))) is not None)
    indexes = [name for name in hit if name in tables and owner_of(tables[name]) is None]
    kept = [name for name in hit if name not in tables and owner_of(name) is None]
    if reads_texts:
        others = [name for _, name, kind, _ in trees if kind == "table" and name not in hit and owner_of(name) is None]
        kept += [name for name in others if has_garbled_text(connection, name)]
    return Damage(list(derived), indexes, kept, _find_lost_shapes(connection))


def _find_lost_shapes(connection: Handle) -> list[str]:
    try:
        return lost_shapes(Transaction(connection))
    except apsw.CorruptError:  # what is damaged is begun anew, its format with it
        return []


def _wrong_in(connection: Handle, table: str, by_root: dict[int, str]) -> set[str]:
    """Return the names of the table, if its own pages are damaged, and of its damaged indexes."""
    lines, has_failed = list[str](), False
    try:
        lines += [str(row[0]) for row in connection.execute(f"PRAGMA quick_check({table})")]
    except apsw.CorruptError:
        has_failed = True
    text = "\n".join(lines)
    wrong = {by_root[int(root)] for root in _TREE.findall(text) if int(root) in by_root}
    if not wrong:
        wrong = set(_ENTRIES.findall(text)) or ({table} if has_failed else set())
    return wrong


def mend(path: Path, damage: Damage, copies: Path) -> Mended:
    """Begin unreadable parts anew: derived ones empty, others with what can be read; return their names, and losses.

    `copies`: the folder that keeps the file as it was, where rows are lost. Raises what apsw and the file system raise.
    """
    aside = _copy_aside(path, copies) if damage.kept else None
    connection = connect(path, synchronous="full", creates=False)
    try:
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        done, losses = list[str](), list[Loss]()
        derived = [*damage.derived, *(OF_FILES if not OWNERS_OF_FILES.isdisjoint(damage.kept) else ())]
        indexes = [name for name in damage.indexes if _table_of(connection, name) not in damage.kept]
        losses += _keep_rest(connection, path, [table for table in damage.kept if table == HOME], aside)
        if derived or indexes:
            done += put_out_of_use(connection, derived, indexes)
            done += damage.indexes
        losses += _keep_rest(connection, path, [table for table in damage.kept if table != HOME], aside)
        restore_tables(connection, [name for name in damage.lost if is_of_meaning(name)])
        restore_shapes(connection, damage.lost)
        return Mended([*done, *damage.lost], losses)
    finally:
        give_up(connection)


def _keep_rest(connection: Handle, path: Path, tables: Sequence[str], aside: str | None) -> Sequence[Loss]:
    if not tables:
        return ()
    with open_to_read(path, leaves_no_trace=False) as reader:
        return keep_readable(connection, reader, tables, aside)


def _table_of(connection: Handle, index: str) -> str | None:
    found = connection.execute(SQL["table_of_index"], {"name": index}).fetchall()
    return found[0][0] if found else None


def _copy_aside(path: Path, copies: Path) -> str:
    """Copy the file as it is, damage included; return the copy's name. Raises `StoreFailed` where it has no room."""
    copies.mkdir(exist_ok=True, mode=0o700)
    if shutil.disk_usage(copies).free < path.stat().st_size + ROOM_BYTES:
        raise StoreFailed("storage_full")
    aside = copies / f"damaged-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}.db"
    try:
        copy(path, aside, lambda _done, _all: None)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    return aside.name


def look(path: Path, *, reads_texts: bool = True) -> Damage:
    """Return the damage of a database, beside its readers and writers. Raises what apsw raises."""
    with open_to_read(path, leaves_no_trace=True) as connection:
        return find_damage(connection, reads_texts=reads_texts)


def look_at_pages(path: Path) -> Damage | None:
    """Return the damage of a database; None where not even its schema can be read."""
    try:
        return look(path)
    except apsw.Error:
        return None


def find_lost(path: Path) -> Sequence[str]:
    """Return the names of tables and indexes that are not there at all; none where the schema cannot be read.

    The check reads no page of a table.
    """
    try:
        with open_to_read(path, leaves_no_trace=True) as connection:
            return _find_lost_shapes(connection)
    except apsw.Error:
        return ()


def find_hit_rows(path: Path, tables: Sequence[str]) -> dict[str, ReadableRows]:
    """Return the rows of tables with a meaning, by table, readable or not. Raises what apsw raises."""
    with open_to_read(path, leaves_no_trace=True) as connection:
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
