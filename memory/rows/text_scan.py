"""Finds words in the records' kept terms while the full-text index is in doubt.

Rule 1: only the newest `LOOKED_THROUGH` records are read.
Rule 2: the mark of doubt is stored in the home, so that every process sees it; repair removes it.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence

from memory.rows.record_columns import SQL, to_stored
from memory.rows.record_terms import words_of
from memory.rows.store import body_terms
from protocol.seams.ports import Lexicon, Tx

LOOKED_THROUGH = 10_000
"""The most records whose terms are unpacked for one query: some 50 ms, and more than a person has."""
MARK = "doubted_texts"
TEXT_CHECKS = frozenset({"unvouched_texts", "wrong_texts", "forgotten_texts", "missing_texts"})
"""Damage by which a search by words may miss a record."""


def is_doubted(tx: Tx) -> bool:
    """Return whether the full-text index may lack a record."""
    return tx.one(SQL["get_fact"], {"name": MARK}) is not None


def doubt_index(tx: Tx) -> None:
    """Mark the index, so that searches read the records until a repair has ended."""
    tx.run(SQL["put_fact"], {"name": MARK, "value": "1"})


def trust_index(tx: Tx) -> None:
    """Remove the mark, so that searches use the index again."""
    tx.run(SQL["drop_fact"], {"name": MARK})


def rows_of_terms(tx: Tx, scope_ids: Sequence[int], lexicon: Lexicon) -> Mapping[str, Sequence[int]]:
    """Return by term the rows of records in some scopes, newest first; lost terms of a record are made again."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    lost: list[int] = []
    values = {"scopes": json.dumps(list(scope_ids)), "limit": LOOKED_THROUGH}
    for row, terms in tx.all(SQL["terms_of_scopes"], values):
        words = words_of(terms or b"")[0]
        if not any(words):
            lost.append(row)
        for word in words:
            found[word].append(row)
    for entry in tx.all(SQL["records_by_row"], {"rows": json.dumps(lost)}):
        stored = to_stored(entry)
        for word in set(body_terms(stored.record, stored.alias, lexicon)):
            found[word].append(stored.row)
    return {word: sorted(rows, reverse=True) for word, rows in found.items()}
