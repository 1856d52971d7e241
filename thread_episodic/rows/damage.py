"""Damage of the conversation index: the checks that find it, and the mending of the full-text index.

Rule 1: a look reads a bounded part in one snapshot. How rows are mended is decided in `index/repair_checks.py`.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

from protocol.seams.checks import Find, digest_of, finder, row_finder, step_finder
from protocol.seams.ports import Row, Tx
from retrieval.audit import LISTED, AuditedIndex, audit_finder, read_believed_totals
from retrieval.packing import unpack
from thread_episodic.rows.segments import count_segment
from thread_episodic.rows.sources import source_digest
from thread_episodic.rows.statements import SQL
from thread_episodic.values import IndexSource, chunk_digest

SUMMED = 3000  # chunks of one look that are added up

END_OF_CHUNKS, END_OF_SOURCES = SQL["end_of_chunks"], SQL["end_of_sources"]
"""The statements for the end of a look at the next rows of a table."""


def _body_of(entry: Row) -> tuple[int, str]:
    row, workspace, thread, terms = entry
    return row, IndexSource(row, workspace, thread).entry(unpack(terms))


INDEX = AuditedIndex(
    body_of=_body_of,
    kept_after=SQL["kept_after"],
    kept_of=SQL["kept_of"],
    last_change=SQL["last_change"],
    listed_after=SQL["listed_after"],
    totals=SQL["index_totals"],
    rows_of_term_after=SQL["rows_of_term_after"],
    rows_of_terms_after=SQL["rows_of_terms_after"],
    has_term=SQL["has_term"],
)


def index_finds(lexicon: int) -> dict[str, Find]:
    """Return the looks that need nothing but the home and the digest of the lexicon."""
    return {
        "scopes": finder(END_OF_SOURCES, SQL["find_lost_scopes"]),
        "source_rows": row_finder(SQL["vouched_sources_after"], _is_wrong_source),
        "orphans": finder(END_OF_CHUNKS, SQL["find_orphans"]),
        "lost_segments": finder(END_OF_CHUNKS, SQL["find_lost_segments"]),
        "chunk_rows": finder(END_OF_SOURCES, SQL["find_wrong_chunk_counts"]),
        "terms": row_finder(SQL["vouched_chunks_after"], _is_wrong_chunk),
        "lexicon": finder(END_OF_SOURCES, SQL["find_other_lexicons"], lexicon=lexicon),
        "texts": audit_finder(INDEX),
        "missing_texts": finder(END_OF_CHUNKS, SQL["find_missing_texts"]),
        "segments": step_finder(_sum_segments),
        "vectors": row_finder(SQL["vouched_vectors_after"], _is_wrong_vector),
    }


def cheap_finds() -> dict[str, Find]:
    """Return the checks that a start makes on a large index, by name.

    They compare what partitions and the full-text index claim to hold with counts and digests.
    """
    return {"segments": step_finder(_compare_sums), "texts": step_finder(_compare_counts)}


def _compare_sums() -> Callable[[Tx], Sequence[Any] | None]:
    """Begin to compare the sums that each partition keeps with its chunks, one partition a snapshot."""
    left: list[Any] | None = None
    wrong: list[Any] = []

    def step(tx: Tx) -> Sequence[Any] | None:
        nonlocal left
        if left is None:
            left = [row for row, *_ in tx.all(SQL["kept_sums"])]
        elif left:
            row = left.pop()
            found = tx.one(SQL["sums_by_index"], {"id": row})
            kept = [one[1:4] for one in tx.all(SQL["kept_sums"]) if one[0] == row]
            if found is not None and kept and tuple(kept[0]) != tuple(found[:3]):
                wrong.append((row,))
        return None if left else wrong

    return step


def _compare_counts() -> Callable[[Tx], Sequence[Any] | None]:
    """Begin to compare the rows that the full-text index lists with those that it counts, and chunks with words.

    A home that is written to meanwhile is not judged: its counts are of several moments.
    """
    begun: Row | None = None
    left: list[int] = []
    after: int | None = 0
    listed = worded = 0

    def step(tx: Tx) -> Sequence[Any] | None:
        nonlocal begun, listed, worded, after
        if begun is None:
            begun = tx.one(SQL["last_change"])
            left.extend(row for row, *_ in tx.all(SQL["kept_sums"]))
        elif left:
            found = tx.one(SQL["sums_by_index"], {"id": left.pop()})
            worded += found[3] if found is not None else 0
        elif after is not None:
            count, after = tx.all(SQL["count_listed"], {"after": after, "limit": LISTED})[0]
            listed += count
        else:
            hidden = tx.all(SQL["count_hidden"])[0][0]
            believed = read_believed_totals(tx, INDEX)[0]
            is_still = tx.one(SQL["last_change"]) == begun
            return [None] if is_still and not believed == listed == worded - hidden else ()
        return None

    return step


def _is_wrong_source(row: Row) -> bool:
    _, *values, digest = row
    return source_digest(*values) != digest


def _is_wrong_chunk(row: Row) -> bool:
    _, _, position, start, end, terms, term_count, asks, dated, digest = row
    return chunk_digest(position, start, end, terms, term_count, asks, dated) != digest


def _is_wrong_vector(row: Row) -> bool:
    _, _, vector, digest, number_count, is_placed = row
    return not is_placed or number_count is None or len(vector) != number_count or digest_of(vector) != digest


def _sum_segments() -> Callable[[Tx], Sequence[Any] | None]:
    """Begin to add up what partitions hold; those whose kept sums differ are counted again, in one snapshot each."""
    sums: dict[int, list[int]] = {}
    after: int | None = 0
    doubted: list[Any] | None = None
    wrong: list[Any] = []

    def step(tx: Tx) -> Sequence[Any] | None:
        nonlocal after, doubted
        if after is not None:
            end = tx.one(END_OF_CHUNKS, {"after": after, "limit": SUMMED})
            until = end[0] if end is not None else None
            for row, *found in tx.all(SQL["sums_of_chunks"], {"after": after, "until": until}):
                count, terms, digest, first, last = sums.get(row, (0, 0, 0, found[3], found[4]))
                added = [count + found[0], terms + found[1], digest + found[2]]
                sums[row] = [*added, min(first, found[3]), max(last, found[4])]
            after = until
            return None
        if doubted is None:
            doubted = [one[0] for one in tx.all(SQL["kept_sums"]) if not _holds(one[1:], sums.get(one[0]))]
            return None if doubted else ()
        row = doubted.pop()
        wrong.extend(
            (one[0],)
            for one in tx.all(SQL["kept_sums"])
            if one[0] == row and not _holds(one[1:], list(count_segment(tx, row)))
        )
        return None if doubted else wrong

    return step


def _holds(kept: Sequence[Any], counted: Sequence[Any] | None) -> bool:
    """Return whether kept sums equal the counted ones, and the kept times cover the counted ones.

    Kept times only grow: they may be wider than what is left of a partition.
    """
    *sums, first, last = counted or (0, 0, 0, None, None)
    *believed, since, until = kept
    if believed != sums:
        return False
    return sums[0] == 0 or (since is not None and until is not None and since <= first and last <= until)


# -- the full-text index ---------------------------------------------------------------------------------------------


def drop_orphans(tx: Tx, rows: Sequence[Any]) -> int:
    """Remove chunks that are of no message; return how many. The check of the full-text index finds their terms."""
    return tx.run(SQL["drop_orphans"], {"rows": json.dumps([row[0] for row in rows])})


def clear_texts(tx: Tx) -> None:
    """Empty the full-text index: a contentless one cannot delete a row whose terms are unknown."""
    tx.run(SQL["clear_fts"])


def add_texts(tx: Tx, rows: Sequence[Any]) -> int:
    """Add chunks to the full-text index that are missing there; return how many."""
    added = 0
    for row, *_ in rows:
        kept = tx.one(SQL["kept_of"], {"row": row})
        if kept is not None:  # else it was hidden meanwhile
            added += tx.run(SQL["restore_fts_row"], {"id": row, "body": _body_of(kept)[1]}) > 0
    return added
