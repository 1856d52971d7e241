"""Finds records that look alike, for a person to merge. Links are not stored: they are computed for each request.

Rule 1: two records are linked only within one scope, and only where figures, names and denials agree, and values where
both have one.
Rule 2: beyond that they have the same words, or are near in meaning and share a telling word. Without vectors only
words count.
Rule 3: a link merges nothing and hides nothing. A record that a call may not show has no links.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec import Struct

from memory.ports import Collaborators
from memory.read.pages import LAST, mark_of, page_place
from memory.read.shared_words import sharing_words
from memory.rows.listings import active_before
from memory.rows.record_columns import Stored
from memory.rows.records import records_by_row
from memory.rows.search import ScopedCategory
from memory.rows.store import get_record, scope_ids_of
from memory.rows.vectors import TABLE, vector_of
from memory.rows.withheld import is_shown
from memory.rules.notes import is_note
from memory.rules.same_words import agree, words_in_order
from memory.rules.visibility import ACTIVE, View
from protocol.base import Scope
from protocol.cursors import cursor_of
from protocol.memory.reads import SimilarPair, SimilarParams, SimilarResult, SimilarTo
from protocol.record import Record
from protocol.seams.ports import Lexicon, Tx

NEAR_COSINE = 0.6
"""The least cosine of two linked statements. With all-MiniLM-L6-v2 it links 0.65 to 0.78 of the labelled paraphrases,
with the static model 0.56 to 0.73 (`pytest -s tests/corpora/test_identity_corpus.py`), and no two of 200 English facts
of sixteen persons. It does not mean that they say the same: opposites reach 0.98."""
NEAREST = 32
"""The most records near in meaning that one is compared with."""
MOST_LINKS = 5
LOOKED_AT = 50
"""The most records of one page that are compared with all others: each takes a millisecond or two."""


class LinkedRecord(Struct, frozen=True):
    """Another record that looks alike; `cosine` is None where they only have the same words."""

    stored: Stored
    cosine: float | None


def look_alike(one: str, other: str, lexicon: Lexicon, cosine: float | None) -> bool:
    """Return whether two statements are linked; `cosine` is that of their vectors, None where one lacks its vector."""
    if words_in_order(one) == words_in_order(other):
        return True
    if cosine is None or cosine < NEAR_COSINE or not agree(one, other):
        return False
    return not set(lexicon.query_terms(one)).isdisjoint(lexicon.query_terms(other))


def _have_equal_values(one: Record, other: Record) -> bool:
    """Return whether two records have the same value, or one has none."""
    return one.value is None or other.value is None or one.value == other.value


class SimilarFinder:
    """Answers `memory/similar`, and finds the records that one looks like."""

    def __init__(self, means: Collaborators) -> None:
        self._means = means

    async def find_similar(self, record: Record, scopes: Sequence[Scope]) -> list[SimilarTo]:
        """Return at most `MOST_LINKS` active records that look like an active one, the nearest first."""
        if record.status != "active":
            return []

        def read(tx: Tx) -> list[SimilarTo]:
            stored = get_record(tx, record.memory_id)
            links = self._links(tx, stored, self._view(tx, scopes, shows_regulated=True)) if stored is not None else []
            return [SimilarTo(memory_id=link.stored.record.memory_id) for link in links[:MOST_LINKS]]

        return await self._means.db.read(read)

    async def list_pairs(self, params: SimilarParams, scopes: Sequence[Scope]) -> SimilarResult:
        """Return a page of pairs, each once, those of the newest records first.

        A page may be empty and have a next one.
        """
        mark = mark_of(params)
        begin, skipped, _ = page_place(params.cursor, (LAST, 0, mark))

        def read(tx: Tx) -> SimilarResult:
            view = self._view(tx, scopes, shows_regulated=params.include_sensitive)
            rows = active_before(tx, view.scope_ids, begin, LOOKED_AT + 1)
            found = islice(self._pairs(tx, rows[:LOOKED_AT], view), skipped, skipped + params.limit + 1)
            pairs = list(found)
            if len(pairs) > params.limit:
                following = cursor_of(begin, skipped + params.limit, mark)
            else:
                following = cursor_of(rows[LOOKED_AT - 1], 0, mark) if len(rows) > LOOKED_AT else None
            return SimilarResult(pairs=pairs[: params.limit], next_cursor=following)

        return await self._means.db.read(read)

    def _view(self, tx: Tx, scopes: Sequence[Scope], *, shows_regulated: bool) -> View:
        return View(frozenset(scope_ids_of(tx, scopes)), ACTIVE, self._means.clock.now(), shows_regulated)

    def _pairs(self, tx: Tx, rows: Sequence[int], view: View) -> Iterator[SimilarPair]:
        stored = records_by_row(tx, rows)
        for row in rows:
            for link in self._links(tx, stored[row], view):
                if link.stored.row < row:
                    yield SimilarPair(record=stored[row].record, other=link.stored.record, cosine=link.cosine)

    def _links(self, tx: Tx, stored: Stored, view: View) -> list[LinkedRecord]:
        """Return all that looks like a record, the nearest first; records that only have its words come last."""
        if not self._is_linked(tx, stored, view):
            return []
        near = self._near(tx, stored)
        terms = self._means.lexicon.query_terms(stored.record.content)
        others = {
            one.row: one for one in sharing_words(tx, ScopedCategory(stored.scope_id, stored.record.category), terms)
        }
        others |= records_by_row(tx, list(near))
        links = [
            LinkedRecord(other, near.get(row))
            for row, other in others.items()
            if row != stored.row
            and self._is_linked(tx, other, view)
            and _have_equal_values(stored.record, other.record)
            and look_alike(stored.record.content, other.record.content, self._means.lexicon, near.get(row))
        ]
        return sorted(links, key=lambda link: (-(link.cosine or 0.0), -link.stored.row))

    def _is_linked(self, tx: Tx, stored: Stored, view: View) -> bool:
        return is_shown(tx, stored, view, self._means.scanner) and not is_note(stored.record)

    def _near(self, tx: Tx, stored: Stored) -> dict[int, float]:
        """Return the cosines of records near in meaning by row, the nearest first; none where no vectors are kept.

        Stored vectors are compared, so that no model has to be loaded.
        """
        space = self._means.searched_space(tx)
        own = vector_of(tx, stored.row, stored.scope_id, space) if space is not None else None
        if own is None:
            return {}
        near = self._means.meaning.nearness(tx, TABLE, [stored.scope_id], own)
        return dict(islice(near.rank(NEAR_COSINE), NEAREST))
