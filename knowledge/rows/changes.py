"""Rows of the log of changes, and of the versions of a path."""

import json
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import asdict

from knowledge.rows.collections import KnownCollection
from knowledge.rows.statements import SQL
from protocol.files.knowledge import FileEvent, FileVersion, KnowledgeChange
from protocol.seams.ports import SqlValue, Tx


class FileChange(Struct, frozen=True):
    """A line for the log: an event of a file or a collection, with the members that it has."""

    event: FileEvent
    path: str | None = None
    from_path: str | None = None
    sha256: bytes | None = None
    files: int | None = None


def add_change(tx: Tx, known: KnownCollection, change: FileChange, now: int, *, is_gone: bool = False) -> None:
    """Write a line of the log; with `is_gone` the collection's row is removed, and the line keeps its id alone."""
    values: dict[str, SqlValue] = asdict(change)
    tx.run(
        SQL["add_change"],
        values | {"now": now, "collection": None if is_gone else known.id, "name": known.collection_id},
    )


def add_changes(tx: Tx, known: KnownCollection, changes: Sequence[FileChange], now: int) -> None:
    """Write lines of the log of a collection."""
    own: dict[str, SqlValue] = {"now": now, "collection": known.id, "name": known.collection_id}
    tx.run_many(SQL["add_change"], [asdict(one) | own for one in changes])


def last_change(tx: Tx) -> int:
    """Return the last line of the log."""
    return tx.all(SQL["last_change"])[0][0]


class LoggedCount(Struct, frozen=True):
    """The number of files that lines of the log are about, of a collection and an event; `last` is the last line."""

    collection_id: str
    event: FileEvent
    files: int
    last: int


def count_changes(tx: Tx, after: int) -> list[LoggedCount]:
    """Return what the lines of the log after the line `after` are about."""
    return [LoggedCount(*row) for row in tx.all(SQL["count_changes"], {"after": after})]


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
    """A line of the log by which a file left a path: `moved`, with its new path, `removed` or `ignored`."""

    seq: int
    event: FileEvent
    path: str


MOST_ENDS = 16
"""The most files that had the same path one after another and are followed."""


def list_path_ends(tx: Tx, collection: int, path: str) -> list[PathEnd]:
    """Return the lines by which files left a path, newest first."""
    values: dict[str, SqlValue] = {"collection": collection, "path": path, "limit": MOST_ENDS}
    return [PathEnd(*row) for row in tx.all(SQL["list_path_ends"], values)]


def next_path_end(tx: Tx, collection: int, path: str, after: int) -> PathEnd | None:
    """Return the first line after `after` by which a file left a path; None where the file still has it."""
    row = tx.one(SQL["next_path_end"], {"collection": collection, "path": path, "after": after})
    return PathEnd(*row) if row is not None else None


def find_move_below(tx: Tx, collection: int, folder: str, after: int) -> tuple[int, str, str] | None:
    """Return the last move of a file from below a folder after the line `after`: its line, the old and the new path."""
    row = tx.one(SQL["find_move_below"], {"collection": collection, "folder": folder, "after": after})
    return (row[0], row[1], row[2]) if row is not None else None


def note_version(tx: Tx, collection: int, path: str, sha256: bytes, size: int, now: int) -> bool:
    """Store the digest that a path has at present; return whether it had another one before."""
    values: dict[str, SqlValue] = {"collection": collection, "path": path}
    last = tx.one(SQL["last_version"], values)
    if last is not None and last[1] == sha256:
        tx.run(SQL["note_version"], {"id": last[0], "now": now})
        return False
    tx.run(SQL["add_version"], values | {"sha256": sha256, "bytes": size, "now": now})
    return last is not None


def add_moved_versions(tx: Tx, files: Sequence[int], now: int) -> None:
    """Store the digests that the paths have to which files were moved."""
    tx.run(SQL["add_moved_versions"], {"files": json.dumps(list(files)), "now": now})


def list_versions(tx: Tx, collection: int, path: str, before: int, limit: int) -> list[tuple[int, FileVersion]]:
    """Return a path's versions with their rows, newest first."""
    rows = tx.all(SQL["list_versions"], {"collection": collection, "path": path, "before": before, "limit": limit})
    return [
        (row, FileVersion(sha256=sha256.hex(), bytes=size, first_seen_at=first, last_seen_at=last))
        for row, sha256, size, first, last in rows
    ]


def count_rows(tx: Tx, collection: int) -> tuple[int, int]:
    """Return the numbers of a collection's files and of its versions."""
    row = tx.all(SQL["count_rows_of_collection"], {"collection": collection})[0]
    return row[0], row[1]
