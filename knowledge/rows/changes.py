"""Rows of the log of changes, and of the versions of a path."""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from knowledge.rows.collections import KnownCollection
from knowledge.rows.statements import SQL
from protocol.files.knowledge import FileEvent, FileVersion, KnowledgeChange
from protocol.seams.ports import SqlValue, Tx


class FileChange(NamedTuple):
    """Something that happened to a file or a collection."""

    event: FileEvent
    path: str | None = None
    from_path: str | None = None
    sha256: bytes | None = None
    files: int | None = None


def add_change(tx: Tx, known: KnownCollection, change: FileChange, now: int, *, is_gone: bool = False) -> None:
    """Write a line of the log; that of a collection that is gone belongs to none."""
    values: dict[str, SqlValue] = change._asdict()
    tx.run(
        SQL["add_change"],
        values | {"now": now, "collection": None if is_gone else known.id, "name": known.collection_id},
    )


def add_changes(tx: Tx, known: KnownCollection, changes: Sequence[FileChange], now: int) -> None:
    """Write lines of the log of a collection."""
    own: dict[str, SqlValue] = {"now": now, "collection": known.id, "name": known.collection_id}
    tx.run_many(SQL["add_change"], [one._asdict() | own for one in changes])


def list_changes(tx: Tx, *, name: str, since: int, before: int, limit: int) -> list[KnowledgeChange]:
    """Return lines of the log, newest first."""
    rows = tx.all(SQL["list_changes"], {"name": name, "since": since, "before": before, "limit": limit})
    return [
        KnowledgeChange(
            seq=seq,
            at=at,
            event=event,
            collection_id=collection,
            path=path,
            from_path=from_path,
            sha256=sha256.hex() if sha256 else None,
            count=count,
        )
        for seq, at, event, collection, path, from_path, sha256, count in rows
    ]


class PathEnd(Struct, frozen=True):
    """The end of a file's time at a path: `moved` to the path that is named, `removed` or `ignored`."""

    seq: int
    event: FileEvent
    path: str


MOST_ENDS = 16
"""Files that had one path, one after the other, and are looked for."""


def list_path_ends(tx: Tx, collection: int, path: str) -> list[PathEnd]:
    """Return how files ceased to have a path, the newest first."""
    values: dict[str, SqlValue] = {"collection": collection, "path": path, "limit": MOST_ENDS}
    return [PathEnd(*row) for row in tx.all(SQL["list_path_ends"], values)]


def next_path_end(tx: Tx, collection: int, path: str, after: int) -> PathEnd | None:
    """Return how the file that had a path at a line of the log ceased to have it; None where it has it still."""
    row = tx.one(SQL["next_path_end"], {"collection": collection, "path": path, "after": after})
    return PathEnd(*row) if row is not None else None


def find_move_below(tx: Tx, collection: int, folder: str, after: int) -> tuple[int, str, str] | None:
    """Return the last move of a file below a folder since a line of the log: that line, the old and the new path."""
    row = tx.one(SQL["find_move_below"], {"collection": collection, "folder": folder, "after": after})
    return (row[0], row[1], row[2]) if row is not None else None


def note_version(tx: Tx, collection: int, path: str, sha256: bytes, size: int, now: int) -> bool:
    """Note what a path says now; return whether it said something else before."""
    values: dict[str, SqlValue] = {"collection": collection, "path": path}
    last = tx.one(SQL["last_version"], values)
    if last is not None and last[1] == sha256:
        tx.run(SQL["note_version"], {"id": last[0], "now": now})
        return False
    tx.run(SQL["add_version"], values | {"sha256": sha256, "bytes": size, "now": now})
    return last is not None


def list_versions(tx: Tx, collection: int, path: str, before: int, limit: int) -> list[tuple[int, FileVersion]]:
    """Return row and version, newest first."""
    rows = tx.all(SQL["list_versions"], {"collection": collection, "path": path, "before": before, "limit": limit})
    return [
        (row, FileVersion(sha256=sha256.hex(), bytes=size, first_seen_at=first, last_seen_at=last))
        for row, sha256, size, first, last in rows
    ]


def count_rows(tx: Tx, collection: int) -> tuple[int, int]:
    """Return how many files and versions a collection has."""
    row = tx.all(SQL["count_rows_of_collection"], {"collection": collection})[0]
    return row[0], row[1]
