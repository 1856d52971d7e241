"""Rows of files that are counted by a checkup, and dropped because what they hang on is gone.

Rule 1: what lists itself as derived is made again by the next scan; a look here changes nothing.
"""

from msgspec import Struct

from knowledge.rows.contents import FullText, WordChanges, entry
from knowledge.rows.statements import SQL
from protocol.base import DAY_MS
from protocol.seams.checks import LOOKED_AT, Check, Find, LookResult, finder, row_mender
from protocol.seams.ports import Tx
from retrieval.packing import unpack
from retrieval.rows.graph import SQL as GRAPH

VERSIONS_MS = 365 * DAY_MS
"""The time for which earlier contents of a path are known, beside its newest version."""


GAPS = (
    "pieces_without_words",
    "files_without_words",
    "words_without_piece",
    "words_without_file",
    "pieces_of_nothing",
    "texts_of_nothing",
)
"""The kinds of gaps in an index, in the order of its statement."""
REFILLED_AT_ONCE = 500


class CollectionCounts(Struct, frozen=True):
    """A collection with its files by state, as a checkup reads them."""

    collection_id: str
    path: str
    state: str
    reason: str | None
    pending: int
    failed: int


class SampledFile(Struct, frozen=True):
    """An indexed file whose bytes can be compared with what is known of them."""

    root: str
    path: str
    sha256: bytes
    size: int
    mtime_ns: int


def count_collections_by_state(tx: Tx) -> list[CollectionCounts]:
    """Return every collection with what waits and what failed."""
    return [CollectionCounts(*row) for row in tx.all(SQL["collections_by_state"])]


def sample_files(tx: Tx, limit: int) -> list[SampledFile]:
    """Return some indexed files, drawn by chance."""
    return [SampledFile(*row) for row in tx.all(SQL["sample_files"], {"limit": limit})]


def count_index_gaps(tx: Tx) -> dict[str, int]:
    """Return how many pieces lack their words, and how much belongs to nothing; zeros where the index is whole."""
    row = tx.all(SQL["index_gaps"])[0]
    return dict(zip(GAPS, row, strict=True))


class _FullTextGaps(Struct, frozen=True):
    """A full-text table with what is wrong if it is not whole, and the statements by which it is made whole."""

    table: FullText
    surplus: str
    empty: str
    lacking: str


FULL_TEXT = (
    _FullTextGaps("words", "words_without_piece", SQL["empty_words"], SQL["pieces_without_words"]),
    _FullTextGaps("card", "words_without_file", SQL["empty_cards"], SQL["files_without_words"]),
)


def empty_surplus(tx: Tx) -> None:
    """Empty a full-text table that has words of what is not there: nobody knows which they were, so all come anew."""
    gaps = count_index_gaps(tx)
    for one in FULL_TEXT:
        if gaps[one.surplus]:
            tx.run(one.empty)


def refill_some(tx: Tx, table: int, after: int) -> int | None:
    """Put some rows that a full-text table lacks into it, from a row on; return the last one, or None at the end."""
    one = FULL_TEXT[table]
    rows = tx.all(one.lacking, {"after": after, "limit": REFILLED_AT_ONCE})
    words = WordChanges()
    for row, owner, terms in rows:
        if body := unpack(terms):
            words.add(one.table, row, entry(owner, body))
    words.store(tx)
    return rows[-1][0] if len(rows) == REFILLED_AT_ONCE else None


def prunings(now: int) -> list[Check]:
    """Return the checks by which rows of this house are dropped at a time."""
    return [
        Check("file_versions", _find_old_versions(now - VERSIONS_MS), row_mender(SQL["drop_versions"])),
        Check(
            "file_entities",
            finder(SQL["end_of_entities"], SQL["find_entities_of_no_file"]),
            row_mender(GRAPH["drop_listed_entities"]),
        ),
    ]


def _find_old_versions(before: int) -> Find:
    def find(tx: Tx, after: int) -> LookResult:
        rows = tx.all(SQL["old_versions"], {"before": before, "limit": LOOKED_AT})
        return LookResult(rows, after + 1 if len(rows) == LOOKED_AT else None)

    return find
