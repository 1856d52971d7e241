"""Files that moved: where a new one has the inode of one that is gone, the row, the id and the index go on with it."""

from collections.abc import Collection, Sequence
from functools import cache
from typing import TypeAlias

from knowledge.ports import KnowledgeMeans
from knowledge.rows.changes import FileChange, add_changes, add_moved_versions
from knowledge.rows.collections import KnownCollection, find_collection
from knowledge.rows.contents import PathTerms, WordChanges, move_cards
from knowledge.rows.files import (
    FileMove,
    Inode,
    SeenRow,
    clear_places,
    move_files,
    path_of,
    places_of_files,
    remove_files,
    twins_of,
)
from knowledge.walk.walking import SeenFile, is_below
from protocol.seams.ports import Tx
from protocol.seams.safe_files import FolderEntry

Gone: TypeAlias = tuple[str, SeenRow, str | None]
"""A folder, the row of a file of it that is gone, and the reason."""
Moves: TypeAlias = dict[int, tuple[str, SeenFile]]
"""The new file, with its folder, that the gone file of a row became."""


def inode_of(file: FolderEntry | SeenRow) -> Inode:
    """Return what a file keeps when it moves."""
    return file.inode, file.device, file.size, file.mtime_ns


def match_moves(gone: Sequence[Gone], held: Sequence[tuple[str, SeenFile]]) -> tuple[Moves, list[tuple[str, SeenFile]]]:
    """Return which new files the gone ones became, by their inodes, and the new files that none became."""
    waiting: dict[Inode, list[tuple[str, SeenFile]]] = {}
    for one in held:
        waiting.setdefault(inode_of(one[1].entry), []).append(one)
    moves: Moves = {}
    for _, row, reason in gone:
        alike = waiting.get(inode_of(row), []) if row.content is not None and reason is None else []
        found = next((one for one in alike if one[1].kind.kind == row.kind), None)
        if found is not None:
            moves[row.id] = found
            alike.remove(found)
    return moves, [one for some in waiting.values() for one in some]


def keep_placed(tx: Tx, gone: Sequence[Gone]) -> list[Gone]:
    """Return those of some gone files whose rows have still the places where they were missed.

    Another process may have found meanwhile where the others are.
    """
    places = places_of_files(tx, [row.id for _, row, _ in gone])
    return [one for one in gone if places.get(one[1].id) == (one[0], one[1].name)]


def list_missed(gone: Sequence[Gone], moves: Moves, ignored: Collection[str]) -> set[int]:
    """Return the rows of read files that are gone though nothing leaves them out and no new file is one of them."""
    return {
        row.id
        for folder, row, reason in gone
        if row.content is not None and reason is None and row.id not in moves and not is_below(folder, ignored)
    }


def store_moves(
    means: KnowledgeMeans, known: KnownCollection, gone: Sequence[Gone], moves: Moves, tx: Tx
) -> list[Gone]:
    """Give gone files the paths of the new ones that they became; return those that were not moved.

    Of a file without a place in `moves` the new one may be a row that an earlier look or a killed scan stored.
    """
    if find_collection(tx, known.collection_id) is None:
        return []
    gone = keep_placed(tx, gone)
    places = {row.id: (folder, row) for folder, row, reason in gone if row.content is not None and reason is None}
    found = twins_of(tx, known.id, [row for id_, (_, row) in places.items() if id_ not in moves])
    twins = [twin for twin in found if twin.kind == places[twin.gone][1].kind]
    remove_files(tx, [twin.id for twin in twins])
    held = [(row, *moves[row]) for row in places if row in moves]
    taken = clear_places(tx, known.id, [(folder, seen.entry.name) for _, folder, seen in held])
    moved = [FileMove(one.gone, one.folder, one.name, one.kind, one.language) for one in twins]
    moved += [
        FileMove(row, folder, seen.entry.name, seen.kind.kind, seen.kind.language)
        for index, (row, folder, seen) in enumerate(held)
        if index not in taken
    ]
    terms = cache(means.lexicon.index_terms)

    @cache  # many files share a folder
    def path_terms(*parts: tuple[str, str]) -> PathTerms:
        before, after = ([term for part in some for term in terms(part)] for some in zip(*parts, strict=True))
        return PathTerms(before, after)

    changed: dict[int, PathTerms] = {}
    changes: list[FileChange] = []
    for one in moved:
        folder, row = places[one.id]
        renamed = [(row.name, one.name)] if row.name != one.name else []
        changed[one.id] = path_terms((folder, one.folder), *renamed)
        changes.append(FileChange("moved", path_of(one.folder, one.name), path_of(folder, row.name)))
    words = WordChanges()
    cards = move_cards(tx, known.owner, changed, words)
    move_files(tx, [one._replace(card=cards[one.id]) for one in moved])
    words.store(tx)
    now = means.clock.now()
    add_moved_versions(tx, list(changed), now)
    add_changes(tx, known, changes, now)
    return [one for one in gone if one[1].id not in changed]
