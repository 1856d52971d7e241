"""Files that may be read: the one at a path, and those that had that path before.

Rule 1: only an indexed file can be read; everything else is not found, whatever lies on the disk.
Rule 2: a file that moved is followed by the log of changes, however often it moved. One that was deleted is gone; one
that became ignored is not found.
"""

from typing import BinaryIO

from msgspec import Struct

from knowledge.ports import KnowledgeMeans
from knowledge.rows.changes import PathEnd, find_move_below, list_path_ends, next_path_end
from knowledge.rows.collections import KnownCollection
from knowledge.rows.contents import read_packed_text, unpack_text
from knowledge.rows.files import FileRow, find_file, has_files_below
from knowledge.search.verifying import digest_of_file, read_range
from protocol.seams.ports import Tx
from protocol.seams.safe_files import UnsafeFileError

READABLE = frozenset({"indexed", "partial", "pending"})


class ReadableFile(Struct, frozen=True):
    """A file that is indexed, with its collection."""

    known: KnownCollection
    file: FileRow
    content: int
    packed: bytes | None
    """The compressed text of a PDF; None for any other kind."""


class Whereabouts(Struct, frozen=True):
    """The files of a path: the one that it means, and others that had it before."""

    current: ReadableFile | None
    """The file at the path, or the one that moved away from it last; None where that cannot be read."""
    earlier: list[ReadableFile]
    """The other files that had the path, at their present paths, newest first."""
    is_gone: bool
    """The path means no file because its file was deleted."""


def find_readable(tx: Tx, known: KnownCollection, path: str) -> ReadableFile | None:
    """Return the file at a path; None where none is indexed."""
    return _to_readable(tx, known, find_file(tx, known.id, path))


def locate(tx: Tx, known: KnownCollection, path: str) -> Whereabouts:
    """Return the files that have, or had, a path."""
    ends = trace(tx, known, path)
    moved = [end.path for end in ends if end.event == "moved"]
    row = find_file(tx, known.id, path)
    if row is None and moved and ends[0].event == "moved":
        row = find_file(tx, known.id, moved[0])
    is_deleted = ends[0].event == "removed" if row is None and ends else False
    is_missing = row is not None and row.state == "missing" and row.reason is None
    current = _to_readable(tx, known, row)
    earlier = [one for one in (find_readable(tx, known, place) for place in moved) if one is not None]
    others = [one for one in earlier if current is None or one.file.id != current.file.id]
    return Whereabouts(current, others, is_deleted or is_missing)


def follow_path(tx: Tx, known: KnownCollection, path: str) -> str:
    """Return the present path of a file or a folder; the given one where it did not move.

    A folder has moved where a file of it moved, if the path below the folder stayed the same.
    """
    if find_file(tx, known.id, path) is not None:
        return path
    ends = trace(tx, known, path)
    if ends:
        return ends[0].path if ends[0].event == "moved" else path
    seq, folder = 0, path
    while not has_files_below(tx, known.id, folder):
        move = find_move_below(tx, known.id, folder, seq)
        if move is None:
            return path
        seq, before, after = move
        rest = before.removeprefix(folder)
        if not after.endswith(rest):
            return path
        folder = after.removesuffix(rest)
    return folder


def trace(tx: Tx, known: KnownCollection, path: str) -> list[PathEnd]:
    """Return for each file that had a path, newest first, the last line of the log about it."""
    ends: list[PathEnd] = []
    for end in list_path_ends(tx, known.id, path):
        last = end
        while last.event == "moved" and (later := next_path_end(tx, known.id, last.path, last.seq)) is not None:
            last = later
        ends.append(last)
    return ends


def read_bytes(means: KnowledgeMeans, opened: BinaryIO, wanted: ReadableFile) -> bytes:
    """Return the bytes of a file, or the stored text of a PDF that did not change. Raises `UnsafeFileError`."""
    if wanted.file.kind != "pdf":
        return read_range(opened, 0, means.settings().max_file_bytes)
    text = unpack_text(wanted.packed)
    if text is None or digest_of_file(opened) != wanted.file.sha256:
        raise UnsafeFileError("unreadable")  # until it is indexed again
    return text


def _to_readable(tx: Tx, known: KnownCollection, file: FileRow | None) -> ReadableFile | None:
    """Return a file as one that may be read; one that a look did not find may be back, which its reader finds out."""
    if file is None or file.content is None:
        return None
    if file.state not in READABLE and (file.state, file.reason) != ("missing", None):
        return None
    packed = read_packed_text(tx, file.content) if file.kind == "pdf" else None
    return ReadableFile(known, file, file.content, packed)
