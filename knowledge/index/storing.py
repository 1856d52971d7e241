"""The removal of files from the index, in the caller's transaction."""

from collections.abc import Sequence
from typing import NamedTuple

from knowledge.rows.changes import FileChange, add_change
from knowledge.rows.collections import KnownCollection
from knowledge.rows.contents import Leaving, WordChanges, card_of, content_of_file, drop_unused, put_card
from knowledge.rows.files import delete_file, missing_files, path_of
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
    """Remove files, and the contents that no other file has; with `leaving` their vectors are kept for a while."""
    removed, words = Removed(len(files)), WordChanges()
    for file in files:
        content = content_of_file(tx, file)
        removed = removed.plus(Removed(fts_rows=put_card(tx, file, owner, card_of(tx, file), "", words)))
        delete_file(tx, file)
        if content is not None:
            removed = removed.plus(Removed(0, *drop_unused(tx, content, leaving, words)))
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
