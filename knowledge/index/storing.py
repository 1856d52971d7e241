"""The removal of files from the index, in the caller's transaction."""

from collections.abc import Sequence
from typing import NamedTuple

from knowledge.rows.changes import FileChange, add_change
from knowledge.rows.collections import KnownCollection
from knowledge.rows.contents import Leaving, WordChanges, drop_names, drop_unused
from knowledge.rows.files import delete_file, missing_files, path_of, remove_files
from protocol.seams.ports import Tx

SETTLED_AT_ONCE = 500


class Removed(NamedTuple):
    """The numbers of removed rows."""

    files: int = 0
    chunks: int = 0
    fts_rows: int = 0
    vectors: int = 0

    def plus(self, other: "Removed") -> "Removed":
        """Return the sums."""
        return Removed(*(a + b for a, b in zip(self, other, strict=True)))


def drop_files(tx: Tx, owner: int, files: Sequence[int], leaving: Leaving | None = None) -> Removed:
    """Remove files, and the contents that no other file has.

    With `leaving` the graph has the files still, and their vectors are kept for a while; without, their whole
    collection has left the graph.
    """
    words = WordChanges()
    named, contents = drop_names(tx, owner, files, words)
    if leaving is None:
        remove_files(tx, files)
    else:
        for file in files:
            delete_file(tx, file)
    removed = Removed(len(files), fts_rows=named).plus(Removed(0, *drop_unused(tx, contents, leaving, words)))
    words.store(tx)
    return removed


def settle_missing(tx: Tx, known: KnownCollection, now: int) -> int:
    """Remove files that are gone and were found at no other path, with a change for each; return their number."""
    gone = missing_files(tx, known.id, SETTLED_AT_ONCE)
    for one in gone:
        event = "ignored" if one.reason == "ignored" else "removed"
        add_change(tx, known, FileChange(event, path_of(one.folder, one.name)), now)
    drop_files(tx, known.owner, [one.id for one in gone], Leaving(known.collection_id, now))
    return len(gone)
