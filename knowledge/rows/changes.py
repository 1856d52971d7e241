"""Rows of the log of changes, and of the versions of a path."""

from collections.abc import Sequence
from typing import NamedTuple

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
