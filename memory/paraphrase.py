"""Finding the active record that says the same in other words.

Rule 1: only within one scope and category, and only one that is alike in everything but its wording.
Rule 2: whether two statements are one fact is decided by `likeness` alone; here is only which ones are compared.
"""

import re
from itertools import islice

from memory.likeness import is_same_fact
from memory.matching import by_weight, rows_with
from memory.ports import Collaborators
from memory.proposal import Proposed
from memory.ranking import weight_of
from memory.store import Stored, get_record
from memory.vectors import records_by_row
from protocol.ports import Tx

COMPARED_BY_WORDS = 8
"""The records that share the most telling words: a paraphrase of known words is among them."""
SHARED_WORDS = 0.4
"""Of the telling words of the longer statement; with fewer in common two statements are no paraphrase that a table knows. A comparison takes half
a millisecond, this takes a twentieth."""
_FIGURES = re.compile(r"\d+")
LOOKED_THROUGH = (
    1000  # places of each of its words that are looked at: a millisecond for ten, the most that a write should wait
)


def find_paraphrase(tx: Tx, means: Collaborators, scope_id: int, proposed: Proposed) -> Stored | None:
    """The one active record that the proposal restates; None when there is none, or more than one."""
    if proposed.alias is not None:
        return None  # under a name of the caller's other words are news
    alike = {
        stored.record.memory_id: stored
        for stored, cosine in _compared(tx, means, scope_id, proposed)
        if stored.is_intact
        and stored.record.status == "active"
        and stored.alias is None
        and stored.record.category == proposed.semantic.category
        and stored.record.value == proposed.value
        and _may_be_same(means, proposed.content, stored.record.content, cosine)
        and is_same_fact(stored.record.content, proposed.content, cosine).is_same
    }
    return next(iter(alike.values())) if len(alike) == 1 else None


def _compared(tx: Tx, means: Collaborators, scope_id: int, proposed: Proposed) -> list[tuple[Stored, float | None]]:
    """What is compared: the nearest in meaning, and what shares the most telling words."""
    near: list[tuple[Stored, float | None]] = [
        (stored, found.cosine)
        for found in proposed.near
        if (stored := get_record(tx, found.memory_id)) is not None and stored.scope_id == scope_id
    ]
    terms = means.lexicon.query_terms(proposed.content)
    if not terms:
        return near
    places = [rows_with(tx, [scope_id], [term], LOOKED_THROUGH) for term in terms]
    weighted = [(weight_of(len(rows), LOOKED_THROUGH), rows) for rows in places]
    rows = list(islice(by_weight(weighted), COMPARED_BY_WORDS))
    known = {stored.row for stored, _ in near}
    return [*near, *((stored, None) for row, stored in records_by_row(tx, rows).items() if row not in known)]


def _may_be_same(means: Collaborators, said: str, stored: str, cosine: float | None) -> bool:
    """Whether a comparison could find them the same: figures written as such agree, and enough is in common."""
    figures, others = sorted(_FIGURES.findall(said)), sorted(_FIGURES.findall(stored))
    if figures and others and figures != others:
        return False
    if cosine is not None:
        return True
    terms, known = set(means.lexicon.query_terms(said)), set(means.lexicon.query_terms(stored))
    return len(terms & known) >= SHARED_WORDS * max(len(terms), len(known))
