"""Counts of rows for the doctor, the refilling of full-text tables, and the rows that daily upkeep drops."""

from msgspec import Struct

from knowledge.rows.contents import FullText, WordChanges, entry
from knowledge.rows.statements import SQL
from protocol.base import DAY_MS
from protocol.seams.checks import LOOKED_AT, Check, Find, LookResult, finder, row_mender
from protocol.seams.ports import Tx
from retrieval.packing import unpack
from retrieval.rows.graph import SQL as GRAPH

VERSIONS_MS = 365 * DAY_MS
"""The age at which versions of a path are dropped, but for its newest one."""
GAPS = (
    "pieces_without_words",
    "files_without_words",
    "words_without_piece",
    "words_without_file",
    "pieces_of_nothing",
    "texts_of_nothing",
)
"""The kinds of gaps in the index, in the order in which the statement `index_gaps` counts them."""
REFILLED_AT_ONCE = 500


class CollectionCounts(Struct, frozen=True):
    """A collection with the numbers of its files that wait and that failed."""

    collection_id: str
    path: str
    state: str
    reason: str | None
    pending: int
    failed: int


class SampledFile(Struct, frozen=True):
    """An indexed file, with the digest, size and time that its bytes are compared with."""

    root: str
    path: str
    sha256: bytes
    size: int
    mtime_ns: int


def count_collections_by_state(tx: Tx) -> list[CollectionCounts]:
    """Return every collection with the numbers of its files that wait and that failed."""
    return [CollectionCounts(*row) for row in tx.all(SQL["collections_by_state"])]


def sample_files(tx: Tx, limit: int) -> list[SampledFile]:
    """Return some indexed files, chosen at random."""
    return [SampledFile(*row) for row in tx.all(SQL["sample_files"], {"limit": limit})]


def count_index_gaps(tx: Tx) -> dict[str, int]:
    """Return the number of each kind of `GAPS`; zeros where the index is whole."""
    row = tx.all(SQL["index_gaps"])[0]
    return dict(zip(GAPS, row, strict=True))


class _FullTextGaps(Struct, frozen=True):
    """A full-text table, the gap of `GAPS` that its surplus rows are, and the statements that mend it."""

    table: FullText
    surplus: str
    empty: str
    lacking: str


FULL_TEXT = (
    _FullTextGaps("words", "words_without_piece", SQL["empty_words"], SQL["pieces_without_words"]),
    _FullTextGaps("card", "words_without_file", SQL["empty_cards"], SQL["files_without_words"]),
)


def empty_surplus(tx: Tx) -> None:
    """Empty each full-text table with rows of missing pieces or files.

    A row can be removed only with its terms, which are not known any more, so the whole table is filled anew.
    """
    gaps = count_index_gaps(tx)
    for one in FULL_TEXT:
        if gaps[one.surplus]:
            tx.run(one.empty)


def refill_some(tx: Tx, table: int, after: int) -> int | None:
    """Add some rows that a full-text table lacks, those behind `after`; return the last one, or None at the end."""
    one = FULL_TEXT[table]
    rows = tx.all(one.lacking, {"after": after, "limit": REFILLED_AT_ONCE})
    words = WordChanges()
    for row, owner, terms in rows:
        if body := unpack(terms):
            words.add(one.table, row, entry(owner, body))
    words.store(tx)
    return rows[-1][0] if len(rows) == REFILLED_AT_ONCE else None


def prunings(now: int) -> list[Check]:
    """Return the checks of daily upkeep that find rows of this house to be dropped, and drop them."""
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
