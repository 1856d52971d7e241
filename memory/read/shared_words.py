"""The active records that share the most telling words with a statement; the fewer records a word is in, the more it tells."""

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from memory.read.matching import match_of
from memory.read.vectors import records_by_row
from memory.rows.record_terms import SQL
from memory.rows.store import Stored
from protocol.memory import Category
from protocol.seams.ports import Tx

MOST = 8
"""Records that share the most: the same words in another order are among them."""
NEWEST = 40  # records that a word is looked up in; one that is in more tells little
LOOKED_THROUGH = 1000  # the most that a word is looked up in where other categories and older states use it


class ScopedCategory(NamedTuple):
    """Where records are compared: within one scope, by row, and one category."""

    scope_id: int
    category: Category


def sharing_words(tx: Tx, shelf: ScopedCategory, gist: Sequence[str]) -> list[Stored]:
    """Return the intact active records without a caller's name that share the most of the terms, the closest first."""
    told: defaultdict[int, float] = defaultdict(float)
    for term in gist:
        rows = tx.all(SQL["newest_with_term"], {
            "match": match_of([shelf.scope_id], [term]), **shelf._asdict(), "budget": LOOKED_THROUGH, "limit": NEWEST,
        })  # fmt: skip
        for (row,) in rows:
            told[row] += 1 / len(rows)
    rows = sorted(told, key=told.__getitem__, reverse=True)[:MOST]
    comparable = {row for (row,) in tx.all(SQL["comparable_records"], {"rows": json.dumps(rows), **shelf._asdict()})}
    found = records_by_row(tx, [row for row in rows if row in comparable])
    return [stored for row in rows if (stored := found.get(row)) is not None and stored.is_intact]
