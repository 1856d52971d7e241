"""Finds the active records that share the most telling words with a statement.

A word weighs the inverse of the number of records that it is in.
"""

from collections import defaultdict
from collections.abc import Sequence

from memory.rows.record_columns import Stored
from memory.rows.records import records_by_row
from memory.rows.search import ComparableRecord, ScopedCategory, comparable_records, newest_with
from protocol.seams.ports import Tx

MOST = 8
"""Records that are compared with a statement: one with the same words in another order is among them."""
NEWEST = 40  # records of the category that a word is looked up in; a word that is in more tells little
LOOKED_THROUGH = 1000  # entries of the index that are read for them, since other categories and statuses have the word


def find_sharing(tx: Tx, shelf: ScopedCategory, gist: Sequence[str]) -> list[ComparableRecord]:
    """Return the columns to compare of active records that share the most of the terms, the closest first.

    Records with a caller's name are left out. A record may be damaged: only these columns of it are read.
    """
    weights: defaultdict[int, float] = defaultdict(float)
    for term in gist:
        rows = newest_with(tx, shelf, term, budget=LOOKED_THROUGH, limit=NEWEST)
        for row in rows:
            weights[row] += 1 / len(rows)
    rows = sorted(weights, key=weights.__getitem__, reverse=True)[:MOST]
    found = comparable_records(tx, shelf, rows)
    return [found[row] for row in rows if row in found]


def sharing_words(tx: Tx, shelf: ScopedCategory, gist: Sequence[str]) -> list[Stored]:
    """Return the whole records of `find_sharing` that are intact, the closest first."""
    rows = [one.row for one in find_sharing(tx, shelf, gist)]
    found = records_by_row(tx, rows)
    return [stored for row in rows if (stored := found.get(row)) is not None and stored.is_intact]
