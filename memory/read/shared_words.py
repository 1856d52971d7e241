"""The active records that share the most telling words with a statement.

The fewer records a word is in, the more it tells.
"""

from collections import defaultdict
from collections.abc import Sequence

from memory.rows.records import records_by_row
from memory.rows.search import ComparableRecord, ScopedCategory, comparable_records, newest_with
from memory.rows.store import Stored
from protocol.seams.ports import Tx

MOST = 8
"""Records that share the most: the same words in another order are among them."""
NEWEST = 40  # records that a word is looked up in; one that is in more tells little
LOOKED_THROUGH = 1000  # the most that a word is looked up in where other categories and older states use it


def find_sharing(tx: Tx, shelf: ScopedCategory, gist: Sequence[str]) -> list[ComparableRecord]:
    """Return the active records without a caller's name that share the most of the terms, the closest first.

    Only what is compared is read, so that some of them may be damaged.
    """
    told: defaultdict[int, float] = defaultdict(float)
    for term in gist:
        rows = newest_with(tx, shelf, term, budget=LOOKED_THROUGH, limit=NEWEST)
        for row in rows:
            told[row] += 1 / len(rows)
    rows = sorted(told, key=told.__getitem__, reverse=True)[:MOST]
    found = comparable_records(tx, shelf, rows)
    return [found[row] for row in rows if row in found]


def sharing_words(tx: Tx, shelf: ScopedCategory, gist: Sequence[str]) -> list[Stored]:
    """Return the intact ones of those records, the closest first."""
    rows = [one.row for one in find_sharing(tx, shelf, gist)]
    found = records_by_row(tx, rows)
    return [stored for row in rows if (stored := found.get(row)) is not None and stored.is_intact]
