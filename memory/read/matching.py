"""Finds candidates for a query by words and by meaning, scored before any of them is read whole.

Rule 1: filter first, cut after; a record that is not visible or not asked for takes no place among the candidates.
Rule 2: user text is never query syntax: it becomes quoted terms, at most 32 of them.
Rule 3: the cost of a query is bounded: where its words are in more records than can be looked through, the rarest words
count.
Rule 4: candidates are chosen by the weights that score them, and those come from the scopes in view alone.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import NamedTuple

import msgspec
from msgspec import Struct

from memory.read.ranking import COSINE_FLOOR, QueryTerms, Score, Scored, rarity, score_all, weight_of
from memory.rows.record_columns import to_column, to_csv
from memory.rows.record_terms import words_of
from memory.rows.records import records_by_row
from memory.rows.search import RecordCandidate, count_with, read_candidates, rows_with
from memory.rows.store import body_terms, count_active, gist_of
from memory.rows.text_scan import rows_of_terms
from memory.rules.notes import USER_AGENT
from memory.rules.routes import ANY_KIND, QueryRoute
from memory.rules.scopes import NEARNESS
from memory.rules.strength import has_faded
from memory.rules.visibility import View, is_visible
from promt.person import is_about_user
from protocol.base import Scope
from protocol.memory.reads import Filters
from protocol.seams.ports import Lexicon, Nearness, Tx, Vector
from protocol.settings import Aging
from retrieval.weights import best_of

MATCH_BUDGET = 10_000
"""The most entries of the index that are read for the words of one query, about 2 ms: in a memory of no more records,
every one."""
BY_WORDS = 40
BY_MEANING = 50
"""Candidates by words and by meaning that are scored together, in one order. The pages of an answer are parts of it;
behind its end as many candidates more are scored, in an order of their own."""
FULL = min(BY_WORDS, BY_MEANING)
"""Fewer candidates than this are the last."""
WALKED = 4000
"""The most of the nearest vectors that are looked at for candidates which may be shown and are asked for."""


class RecordQuery(NamedTuple):
    """A query as it is matched."""

    text: str
    terms: Sequence[str]
    """The terms of its words; none for a search by meaning alone."""
    vector: Vector | None
    """None where no model made one in time, or only words are searched."""
    is_about_user: bool = False
    """The user asks about themselves."""
    route: QueryRoute = ANY_KIND
    need: float | None = None
    """The degree to which a prompt looks like one that needs the person (`promt/person_need.py`); None of a search."""

    @property
    def asked(self) -> QueryTerms:
        """Return the part of the query that ranking needs."""
        return QueryTerms(self.terms, self.vector is not None, self.is_about_user, self.need)


class Match(Struct, frozen=True):
    """A scored record, by its row and id."""

    row: int
    memory_id: str
    score: Score
    is_note: bool


def agents_asked(filters: Filters, scopes: Mapping[int, Scope]) -> dict[str, str | None]:
    """Return the values of `:source_agents` and `:agent_scopes` for a filter; `scopes` are the searched ones by row.

    A record is of an agent that noted it, or in whose scope it is.
    """
    if filters.source_agents is None:
        return {"source_agents": None, "agent_scopes": None}
    named = {*filters.source_agents} - {USER_AGENT}
    own = [row for row, scope in scopes.items() if scope.kind == "agent" and scope.key in named]
    return {"source_agents": to_column(filters.source_agents), "agent_scopes": to_column(own)}


class RecordFinder:
    """Finds and ranks candidates within one snapshot and one view.

    `scopes` are the searched ones by row. `scans_terms`: the full-text index is in doubt, so that words are found in
    the records' kept terms.
    """

    def __init__(
        self,
        tx: Tx,
        lexicon: Lexicon,
        scopes: Mapping[int, Scope],
        view: View,
        filters: Filters,
        *,
        aging: Aging,
        scans_terms: bool,
    ) -> None:
        self.tx = tx
        self._lexicon = lexicon
        self._scopes = scopes
        self.scope_ids = sorted(scopes)
        self._view = view
        self._filters = filters
        self._aging: Aging = aging
        self._rows_of = rows_of_terms(tx, self.scope_ids, lexicon) if scans_terms else None
        self._population = sum(count_active(tx, scope_id) for scope_id in self.scope_ids)

    def find(self, question: RecordQuery, near: Nearness | None, known: AbstractSet[int]) -> list[Match]:
        """Return the next candidates beside the `known` rows, best first: by words, and by meaning where `near` is."""
        found = self._by_words(question.terms, known)
        if near is None:
            return self._rank(question, found, {}, {})
        found += self._by_meaning(near, known | {c.row for c in found})
        rows = [c.row for c in found]
        return self._rank(question, found, near.of(rows), near.crowding(rows))

    def _by_words(self, terms: Sequence[str], known: AbstractSet[int]) -> list[RecordCandidate]:
        """Return `BY_WORDS` candidates beside the known ones: those whose words in common with the query weigh most."""
        if not terms:
            return []
        counts = {} if self._population <= MATCH_BUDGET else {term: self._count_records([term]) for term in terms}
        alternatives = self._alternatives(counts) if counts else [[term] for term in terms]
        listed = [self._find_and_weigh(together, counts) for together in alternatives]
        return best_of(listed, BY_WORDS, lambda rows: self._read([row for row in rows if row not in known]))

    def _by_meaning(self, near: Nearness, known: AbstractSet[int]) -> list[RecordCandidate]:
        """Return `BY_MEANING` candidates beside the known ones: the nearest in meaning."""
        found: list[RecordCandidate] = []
        ranked = islice(near.rank(COSINE_FLOOR), WALKED)
        while (room := BY_MEANING - len(found)) and (rows := [row for row, _ in islice(ranked, room)]):
            found += self._read([row for row in rows if row not in known])
        return found

    def _rank(
        self,
        question: RecordQuery,
        found: Sequence[RecordCandidate],
        cosines: Mapping[int, float],
        crowding: Mapping[int, tuple[float, float]],
    ) -> list[Match]:
        """Return candidates by score, equal ones by id."""
        asked, route = question.asked, question.route
        words = [self._words(candidate) for candidate in found]
        weights = rarity(asked.terms, [own for own, _ in words], self._population)
        records = [
            Scored(
                terms=own,
                gist=gist,
                nearness=NEARNESS[self._scopes[c.seen.scope_id].kind],
                updated_at=c.updated_at,
                standing=c.standing,
                confidence=c.confidence,
                evidence_count=c.evidence_count,
                cosine=cosines.get(c.row),
                crowding=crowded,
                commonness=common,
                is_about_user=is_about_user(c.head),
                is_machine=c.seen.noted_by is not None,
                is_faded=has_faded(self._aging, c.life, self._view.now),
                kind_factor=route.factor(c.kind, c.valid_from, c.created_at),
            )
            for c, (own, gist) in zip(found, words, strict=True)
            for crowded, common in [crowding.get(c.row, (None, None))]
        ]
        scores = score_all(asked, records, weights, self._view.now)
        matches = [
            Match(c.row, c.memory_id, one, c.seen.noted_by is not None) for c, one in zip(found, scores, strict=True)
        ]
        return sorted(matches, key=lambda match: (-match.score.log_odds, match.memory_id))

    def _find_and_weigh(self, together: Sequence[str], counts: Mapping[str, int]) -> tuple[float, list[int]]:
        """Return the weight of some terms, and the rows of records that have all of them."""
        rows = self._rows_with(together)
        return sum(weight_of(counts.get(term, len(rows)), self._population) for term in together), rows

    def _alternatives(self, counts: Mapping[str, int]) -> list[list[str]]:
        """Return the lists of terms to look up, each of which a record must have whole.

        They are the rarest terms one by one, as far as the budget goes, and the fewest of the others together that are
        in few enough records.
        """
        room, rare, common = MATCH_BUDGET, list[str](), list[str]()  # room: entries of the index still to be read
        for term in sorted(counts, key=lambda term: (counts[term], term)):
            room -= counts[term]
            (common if room < 0 else rare).append(term)
        room = MATCH_BUDGET - sum(counts[term] for term in rare)
        together = range(min(2, len(common)), len(common))
        size = next((size for size in together if self._count_records(common[:size]) <= room), len(common))
        return [*([term] for term in rare), *([common[:size]] if common else [])]

    def _count_records(self, together: Sequence[str]) -> int:
        """Return how many records have all of the terms, at most one more than can be looked through."""
        if self._rows_of is not None:
            return len(self._rows_with(together))
        return count_with(self.tx, self.scope_ids, together, MATCH_BUDGET + 1)

    def _rows_with(self, together: Sequence[str]) -> list[int]:
        """Return the newest records that have all of the terms: by the index, or by the records if it is in doubt."""
        if self._rows_of is None:
            return rows_with(self.tx, self.scope_ids, together, MATCH_BUDGET)
        first, *others = (self._rows_of.get(term, ()) for term in together)
        return [row for row in first if all(row in other for other in others)]

    def _read(self, rows: Sequence[int]) -> list[RecordCandidate]:
        """Return those of the rows that may be shown and are asked for, in the order of the rows."""
        view, filters = self._view, self._filters
        # a record whose time is over is stored as active until a sweep stores its expiry
        stored_as = {*view.statuses, *(["active"] if "expired" in view.statuses else [])}
        values = {
            "statuses": ",".join(sorted(stored_as)),
            "shows_regulated": int(view.shows_regulated),
            "categories": to_csv(filters.categories),
            "kinds": to_csv(filters.kinds),
            "voices": to_csv(filters.voices),
            **agents_asked(filters, self._scopes),
        }
        found = read_candidates(self.tx, rows, values)
        return [
            c for row in rows if (c := found.get(row)) is not None and is_visible(c.seen, view) and self._has_tags(c)
        ]

    def _has_tags(self, candidate: RecordCandidate) -> bool:
        if self._filters.tags is None:
            return True
        try:
            return set(msgspec.json.decode(candidate.tags, type=list[str])).issuperset(self._filters.tags)
        except msgspec.DecodeError:  # a damaged record is in no answer
            return False

    def _words(self, candidate: RecordCandidate) -> tuple[frozenset[str], Sequence[str]]:
        """Return a record's terms, and its gist: those without function words."""
        kept = words_of(candidate.terms or b"")
        stored = None if any(kept[0]) else records_by_row(self.tx, [candidate.row]).get(candidate.row)
        if stored is None:
            return kept
        # its kept terms are lost or damaged, and are made again from its words
        own = body_terms(stored.record, stored.alias, self._lexicon)
        return frozenset(own), gist_of(stored.record, self._lexicon)
