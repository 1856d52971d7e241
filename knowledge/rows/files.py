"""Rows of files: their place and their state on the disk when a scan saw them, and whether they wait to be read."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from knowledge.rows.links import forget_file, move_files_in_graph
from knowledge.rows.statements import SQL
from protocol.seams.ports import SqlValue, Tx


def path_of(folder: str, name: str) -> str:
    """Return the path of a file below its collection."""
    return f"{folder}/{name}" if folder else name


def split_path(path: str) -> tuple[str, str]:
    """Return the folder and the name of a path."""
    folder, _, name = path.rpartition("/")
    return folder, name


class SeenRow(NamedTuple):
    """A file as the last scan saw it."""

    id: int
    name: str
    device: int
    inode: int
    size: int
    mtime_ns: int
    kind: str
    state: str
    reason: str | None
    content: int | None


class MissingFile(Struct, frozen=True):
    """A file that a scan did not find any more; `reason` is `ignored` where a pattern leaves it out."""

    id: int
    folder: str
    name: str
    device: int
    inode: int
    size: int
    mtime_ns: int
    content: int | None
    reason: str | None


class WaitingFile(NamedTuple):
    """A file that waits to be read."""

    id: int
    folder: str
    name: str
    kind: Any
    content: int | None
    attempts: int
    deaths: int
    size: int
    mtime_ns: int
    is_baseline: int
    language: str | None


class FileRow(Struct, frozen=True):
    """A file with the columns of its content."""

    id: int
    file_id: str
    folder: str
    name: str
    kind: Any
    language: str | None
    state: Any
    reason: str | None
    content: int | None
    size: int
    mtime_ns: int
    indexed_at: int | None
    attempts: int
    next_run_at: int
    error: str | None
    sha256: bytes | None
    bytes: int | None
    lines: int | None
    left_from: int | None
    left_pages: str | None
    encoding: str | None

    @property
    def path(self) -> str:
        """Return its path below the collection."""
        return path_of(self.folder, self.name)


class ContentPlace(Struct, frozen=True):
    """A file that has a content: its collection and path, and the states of both."""

    collection_id: str
    folder: str
    name: str
    root: str
    collection_state: str
    mtime_ns: int
    collection: int
    file: int
    state: str

    @property
    def path(self) -> str:
        """Return its path below the collection."""
        return path_of(self.folder, self.name)


def files_of_folder(tx: Tx, collection: int, folder: str) -> dict[str, SeenRow]:
    """Return the files of a folder by name, as the last scan saw them."""
    rows = tx.all(SQL["files_of_folder"], {"collection": collection, "folder": folder})
    return {row[1]: SeenRow._make(row) for row in rows}


def add_files(tx: Tx, files: Sequence[Mapping[str, SqlValue]]) -> None:
    """Store files that a scan sees for the first time."""
    tx.run_many(SQL["add_file"], files)


def release_files(tx: Tx, collection: int, *, resting: bool) -> None:
    """Make new files due, held back until it was clear which were only moved; with `resting` also those that rest."""
    tx.run(SQL["release_files"], {"collection": collection, "resting": int(resting)})


def collections_with_resting(tx: Tx, now: int) -> list[tuple[int, str]]:
    """Return row and id of the collections with changed files that rest because reading them took long."""
    return [(row, name) for row, name in tx.all(SQL["collections_with_resting"], {"now": now})]


def renew_files(tx: Tx, files: Sequence[Mapping[str, SqlValue]]) -> None:
    """Store that files changed on the disk, and have them wait to be read."""
    tx.run_many(SQL["renew_file"], files)


def folders_of(tx: Tx, collection: int) -> set[str]:
    """Return the folders of a collection that have files."""
    return {folder for (folder,) in tx.all(SQL["folders_of_collection"], {"collection": collection})}


def folders_below(tx: Tx, collection: int, paths: Collection[str]) -> set[str]:
    """Return those of a collection's folders with files that are one of some paths, or lie below one."""
    asked = json.dumps(list(paths))
    return {folder for (folder,) in tx.all(SQL["folders_below"], {"collection": collection, "paths": asked})}


def places_of_files(tx: Tx, rows: Sequence[int]) -> dict[int, tuple[str, str]]:
    """Return by row the folder and the name of some files; none of those that are not there any more."""
    found = tx.all(SQL["places_of_files"], {"rows": json.dumps(list(rows))})
    return {row: (folder, name) for row, folder, name in found}


def count_readable(tx: Tx, collection: int) -> int:
    """Return the number of a collection's files that are not gone."""
    return tx.all(SQL["count_readable"], {"collection": collection})[0][0]


def count_read(tx: Tx, collection: int) -> int:
    """Return the number of a collection's files that are indexed and do not wait to be read again."""
    return tx.all(SQL["count_read"], {"collection": collection})[0][0]


def has_lost_reader(tx: Tx, collection: int) -> bool:
    """Return whether a file of a collection failed because readers ended at it."""
    return tx.one(SQL["has_lost_reader"], {"collection": collection}) is not None


def renew_all(tx: Tx, collection: int, now: int) -> int:
    """Have every file of a collection wait to be read; return their number."""
    return tx.run(SQL["renew_all_files"], {"collection": collection, "now": now})


def renew_parts(tx: Tx, now: int, before: int, parts: int) -> list[str]:
    """Have the next of `parts` parts wait to be read of each collection whose last one is older than `before`.

    Returns the collections' ids.
    """
    due = tx.all(SQL["deep_parts_due"], {"before": before})
    for row, _, part in due:
        values: dict[str, SqlValue] = {"collection": row, "parts": parts, "part": part, "now": now}
        tx.run(SQL["renew_part_of_files"], values)
        tx.run(SQL["end_deep_part"], {"collection": row, "parts": parts, "now": now})
    return [collection_id for _, collection_id, _ in due]


def find_oldest_deep_part(tx: Tx) -> int | None:
    """Return when the last part of a deep scan was, of the collection for which that is longest ago."""
    return tx.all(SQL["oldest_deep_part"])[0][0]


class FileTwin(Struct, frozen=True):
    """A new file with the inode of one that is gone, whose row is `gone`: it was moved, perhaps."""

    gone: int
    id: int
    folder: str
    name: str
    kind: str
    language: str | None


class FileMove(NamedTuple):
    """The place at which the file of a row is now; `card` has the terms of its names, None where they stay."""

    id: int
    folder: str
    name: str
    kind: str
    language: str | None
    card: bytes | None = None


def twins_of(tx: Tx, collection: int, gone: Sequence[SeenRow]) -> list[FileTwin]:
    """Return pairs of a gone file and a new one with its inode, size and time; each file is in one pair at most."""
    asked = json.dumps([(one.id, one.inode, one.device, one.size, one.mtime_ns) for one in gone])
    twins: dict[int, FileTwin] = {}
    taken = set[int]()
    for row in tx.all(SQL["twins_of_inodes"], {"collection": collection, "gone": asked}):
        twin = FileTwin(*row)
        if twin.gone not in twins and twin.id not in taken:
            twins[twin.gone] = twin
            taken.add(twin.id)
    return list(twins.values())


Inode = tuple[int, int, int, int]
"""The inode, device, size and time of change of a file: a move keeps them."""


def find_known_inodes(tx: Tx, collection: int, seen: Sequence[Inode]) -> set[int]:
    """Return the indexes of those of some new files that a file which was read may have become."""
    known = {inode for inode, _ in _list_known_inodes(tx, collection, seen)}
    return {index for index, one in enumerate(seen) if one in known}


def folders_of_inodes(tx: Tx, collection: int, seen: Collection[Inode]) -> set[str]:
    """Return the folders in which the files that were read lay and that some new files may have been."""
    return {folder for inode, folder in _list_known_inodes(tx, collection, seen) if inode in seen}


def _list_known_inodes(tx: Tx, collection: int, seen: Collection[Inode]) -> list[tuple[Inode, str]]:
    if not seen:
        return []
    inodes = json.dumps([inode for inode, *_ in seen])
    rows = tx.all(SQL["known_inodes"], {"collection": collection, "inodes": inodes})
    return [((inode, device, size, time), folder) for inode, device, size, time, folder in rows]


def clear_places(tx: Tx, collection: int, places: Sequence[tuple[str, str]]) -> set[int]:
    """Remove the unread files of some places (folder, name); return the indexes of places that a read file has."""
    rows = tx.all(SQL["files_at"], {"collection": collection, "places": json.dumps(places)}) if places else []
    remove_files(tx, [row for _, row, is_unread in rows if is_unread])
    return {index for index, _, is_unread in rows if not is_unread}


def remove_files(tx: Tx, rows: Sequence[int]) -> None:
    """Remove the rows of files of which the graph has nothing."""
    tx.run(SQL["remove_files"], {"rows": json.dumps(list(rows))})


def find_file_again(tx: Tx, row: int) -> None:
    """Let a file that was missing wait to be read."""
    tx.run(SQL["find_file_again"], {"id": row})


def move_files(tx: Tx, moves: Sequence[FileMove]) -> None:
    """Give files other paths, in their rows and in the graph; their contents stay."""
    tx.run_many(SQL["move_file"], [one._asdict() for one in moves])
    move_files_in_graph(tx, [one.id for one in moves])


def delete_file(tx: Tx, row: int) -> None:
    """Remove a file's row, and what the graph has of it."""
    forget_file(tx, row)
    remove_files(tx, [row])


def miss_file(tx: Tx, row: int, reason: str | None) -> None:
    """Store that a file is gone; its content stays until it is clear whether the file was moved."""
    tx.run(SQL["miss_file"], {"id": row, "reason": reason})


def missing_files(tx: Tx, collection: int, limit: int) -> list[MissingFile]:
    """Return some files that are gone."""
    return [MissingFile(*row) for row in tx.all(SQL["missing_files"], {"collection": collection, "limit": limit})]


def missing_with_content(tx: Tx, collection: int, content: int) -> tuple[int, str, str] | None:
    """Return row, folder and name of a file that is gone and had that content; None where there is none."""
    row = tx.one(SQL["missing_with_content"], {"collection": collection, "content": content})
    return (row[0], row[1], row[2]) if row else None


def waiting_files(tx: Tx, collection: int, now: int, limit: int) -> list[WaitingFile]:
    """Return the next files that wait and are due."""
    rows = tx.all(SQL["pending_files"], {"collection": collection, "now": now, "limit": limit})
    return [WaitingFile(*row) for row in rows]


def next_due(tx: Tx, collection: int) -> int | None:
    """Return when the next waiting file is due; None where none waits."""
    return tx.all(SQL["next_due"], {"collection": collection})[0][0]


def waits_for_new(tx: Tx, collection: int) -> bool:
    """Return whether a file waits that was never read: a file that is gone may have become it."""
    return tx.one(SQL["waits_for_new"], {"collection": collection}) is not None


def next_readings(tx: Tx) -> dict[str, int]:
    """Return when the next file that waits is due, by collection with such files."""
    return dict(tx.all(SQL["next_readings"]))


def finish_file(tx: Tx, values: Mapping[str, SqlValue]) -> None:
    """Store the outcome of a reading, if the file still waits for it."""
    tx.run(SQL["finish_file"], values)


def fail_file(tx: Tx, values: Mapping[str, SqlValue]) -> None:
    """Store a failed reading and when it is tried again."""
    tx.run(SQL["fail_file"], values)


def hurry_files(tx: Tx, rows: Sequence[int], now: int) -> None:
    """Have files read again at once: a search found their bytes changed."""
    tx.run_many(SQL["hurry_file"], [{"id": row, "now": now} for row in rows])


def hurry_waiting(tx: Tx, collection: int) -> None:
    """Make the waiting files of a collection due at once, with their attempts at zero."""
    tx.run(SQL["hurry_waiting"], {"collection": collection})


def retry_files(tx: Tx, now: int, *, file_id: str = "", collection: int = 0, lost_readers: bool = True) -> int:
    """Have files tried again now that failed or wait after a failure; return how many.

    With `lost_readers` also those at which readers ended.
    """
    values = {"now": now, "file_id": file_id, "collection": collection, "lost_readers": int(lost_readers)}
    return tx.run(SQL["retry_file"], values)


def collection_of_file(tx: Tx, file_id: str) -> str | None:
    """Return the id of the collection that a file belongs to, or None."""
    row = tx.one(SQL["collection_of_file"], {"file_id": file_id})
    return row[0] if row else None


def find_file(tx: Tx, collection: int, path: str) -> FileRow | None:
    """Return a file by its path, or None."""
    folder, name = split_path(path)
    row = tx.one(SQL["get_file"], {"collection": collection, "folder": folder, "name": name})
    return FileRow(*row) if row else None


def list_files(
    tx: Tx,
    collection: int,
    *,
    after: int,
    limit: int,
    prefix: str = "",
    states: Sequence[str] = (),
    kinds: Sequence[str] = (),
) -> list[FileRow]:
    """Return the files behind the row `after`, in the order of rows; a filter that is empty lets all through."""
    values: dict[str, SqlValue] = {
        "collection": collection,
        "after": after,
        "limit": limit,
        "prefix": prefix,
        "states": json.dumps(list(states)) if states else "",
        "kinds": json.dumps(list(kinds)) if kinds else "",
    }
    return [FileRow(*row) for row in tx.all(SQL["list_files"], values)]


def places_of(tx: Tx, content: int) -> list[ContentPlace]:
    """Return the files that have a content, at most a hundred."""
    return [ContentPlace(*row) for row in tx.all(SQL["paths_of_content"], {"content": content})]


def some_files(tx: Tx, collection: int, limit: int) -> list[int]:
    """Return the rows of some files of a collection."""
    return [row for (row,) in tx.all(SQL["some_files"], {"collection": collection, "limit": limit})]


def has_files_below(tx: Tx, collection: int, folder: str) -> bool:
    """Return whether a file lies below a folder."""
    return tx.one(SQL["has_files_below"], {"collection": collection, "folder": folder}) is not None


def count_below(tx: Tx, collection_id: str, folder: str) -> int:
    """Return how many files lie below a folder of a collection."""
    return tx.all(SQL["count_below"], {"place": collection_id, "folder": folder})[0][0]


def count_pending(tx: Tx, collections: Sequence[int]) -> int:
    """Return how many files of some collections wait."""
    return tx.all(SQL["count_pending_of"], {"collections": json.dumps(list(collections))})[0][0]
