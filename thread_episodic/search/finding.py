"""Finds candidates for a question: chunks by their words, by meaning, and those beside the best of them.

Rule 1: user text is never query syntax: only terms of the lexicon, quoted, in a bound parameter.
Rule 2: filter first, cut after; no statistic of another workspace has a part in an answer.
Rule 3: what a question costs is bounded by the work that a request allows, however large the index.
Rule 4: candidates by meaning are candidates of their own, whatever words they have.
Rule 5: a neighbour's words are read where they are, at every search: nothing of them is stored with a chunk, so that
what is edited, excluded or deleted is not found through its neighbours either.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import NamedTuple

from msgspec import Struct

from protocol.seams.ports import Meaning, Nearness, Tx, Vector
from retrieval.packing import unpack
from retrieval.weights import best_of, first_of
from thread_episodic.rows import lookups
from thread_episodic.rows.vectors import TABLE
from thread_episodic.search.ranking import SESSION_GAP_MS, USUAL_COSINE, Passage, Statistics, WeightedQuery
from thread_episodic.search.text_scan import TermScan
from thread_episodic.values import Beside, ChunkCandidate, Filter, Places

TERM_CAP = 10_000  # counting further would not change a term's weight much, and costs time with every search
RAREST = 64  # terms of a question that are looked for: a text without blanks has two for each word and more
MATCH_BUDGET = 20_000  # postings that are read: the rarest terms choose the candidates, all terms rank them
FEW = 2000
"""Chunks of a thread or a time that are compared one by one; of more, the nearest of all partitions are filtered."""
WALKED = 4000  # of the nearest, how many are filtered in search of some that pass
BESIDE_PART = 8  # of the work: the best chunks whose neighbours are looked at, two for each
NEAR_PART = 4  # of the work: chunks that are found by their meaning alone


class ChunkQuery(NamedTuple):
    """A question to the index: its terms, whether it asks for a time, and its vector where a model is loaded."""

    terms: Sequence[str]
    asks_when: bool
    vector: Vector | None = None


class FoundCandidates(Struct, frozen=True):
    """Candidates, the features that relate each to the question, and whether some vectors could not be compared."""

    question: WeightedQuery
    candidates: Mapping[int, ChunkCandidate]
    passages: Sequence[Passage]
    is_limited: bool = False


def rarest(terms: Sequence[str], frequencies: Mapping[str, int]) -> list[str]:
    """Return the terms that a question is ranked by, in their order.

    Where there are too many, they are the rarest that occur.
    """
    if len(terms) <= RAREST:
        return list(terms)
    kept = set(sorted(terms, key=lambda term: (not frequencies[term], frequencies[term], term))[:RAREST])
    return [term for term in terms if term in kept]


def telling_terms(terms: Sequence[str], frequencies: Mapping[str, int]) -> list[str]:
    """Return the terms worth matching by: those that occur, rarest first, while the rows to score stay bounded."""
    chosen: list[str] = []
    rows = 0
    for term in sorted((term for term in terms if frequencies[term]), key=lambda term: (frequencies[term], term)):
        rows += frequencies[term]
        if chosen and rows > MATCH_BUDGET:
            break
        chosen.append(term)
    return chosen


def _find_held_terms(packed: bytes | None, spaced: Sequence[tuple[str, str]]) -> frozenset[str]:
    """Return those of some terms that stand among packed words."""
    words = f" {unpack(packed)} "
    return frozenset([term for term, between_blanks in spaced if between_blanks in words])


class ChunkFinder:
    """Finds candidates within one snapshot and one filter."""

    def __init__(
        self, tx: Tx, meaning: Meaning, words: TermScan, places: Places, wanted: Filter, *, work: int, max_segments: int
    ) -> None:
        self._tx = tx
        self._meaning = meaning
        self._words = words
        self._places = places
        self._wanted = wanted
        self._work = work
        self._max_segments = max_segments

    def find(self, asked: ChunkQuery) -> FoundCandidates:
        """Return the candidates of a question with their features, at most as many as the work allows."""
        statistics = self._statistics(asked.terms)
        asked = asked._replace(terms=rarest(asked.terms, statistics.frequencies))
        names_time = self._wanted.from_at is not None and self._wanted.to_at is not None
        question = WeightedQuery({term: statistics.weight(term) for term in asked.terms}, asked.asks_when, names_time)
        near, is_limited = self._nearness(asked.vector)
        near_room = self._work // NEAR_PART if near is not None else 0
        beside_room = self._work // BESIDE_PART
        by_words = self._by_words(asked.terms, statistics, self._work - near_room - 2 * beside_room)
        candidates = {one.id: one for one in by_words}
        if near is not None:
            by_meaning = self._by_meaning(near, near_room)
            candidates |= {one.id: one for one in by_meaning}
        beside = self._beside(candidates.values())
        best = (beside[one.id] for one in by_words[:beside_room] if one.id in beside)
        wanted = {row for row in chain.from_iterable(best) if row is not None} - candidates.keys()
        if wanted:
            added = lookups.chunks_by_row(self._tx, sorted(wanted), self._places, self._wanted)
            candidates |= added
            beside |= self._beside(added.values())
        return FoundCandidates(question, candidates, self._passages(asked, candidates, beside, near), is_limited)

    def _beside(self, candidates: Iterable[ChunkCandidate]) -> dict[int, Beside]:
        """Return, by chunk, what stands beside those candidates that do not stand alone."""
        named = [one.id for one in candidates if one.is_named]
        return lookups.chunks_beside(self._tx, named, SESSION_GAP_MS) if named else {}

    def _statistics(self, terms: Sequence[str]) -> Statistics:
        workspace = Places(self._places.workspace)
        frequencies = {term: self._words.count(workspace, term, TERM_CAP) for term in terms}
        return Statistics(chunks=lookups.chunks_in(self._tx, self._places.workspace), frequencies=frequencies)

    def _by_words(self, terms: Sequence[str], statistics: Statistics, limit: int) -> list[ChunkCandidate]:
        """Return the best by the weights of their words, after every filter."""
        chosen = telling_terms(terms, statistics.frequencies)
        return best_of(self._list_chunks(chosen, statistics), limit, self._read)

    def _by_meaning(self, near: Nearness, limit: int) -> list[ChunkCandidate]:
        """Return the nearest in meaning that pass the filter, nearest first."""
        few = lookups.chunks_within(self._tx, self._places, self._wanted, FEW)
        ranked = (row for row, _ in islice(near.rank(USUAL_COSINE, few), WALKED))
        return first_of(ranked, limit, self._read)

    def _read(self, rows: Sequence[int]) -> list[ChunkCandidate]:
        """Return those of some chunks that pass the filter, in the order of the rows."""
        found = lookups.chunks_by_row(self._tx, rows, self._places, self._wanted)
        return [found[row] for row in rows if row in found]

    def _list_chunks(self, terms: Sequence[str], statistics: Statistics) -> list[tuple[float, list[int]]]:
        """Return for each term its weight and the chunks that hold it.

        Under a filter no term is capped: the cap counts the newest chunks first, and would hide what the filter wants.
        """
        wanted, few = self._wanted, None
        is_filtered = wanted.from_at is not None or wanted.to_at is not None or bool(wanted.roles)
        if is_filtered:
            few = lookups.chunks_within(self._tx, self._places, wanted, MATCH_BUDGET)
        cap = lookups.ALL if is_filtered else TERM_CAP
        listed = [(statistics.weight(term), list(self._words.rows(self._places, term, cap))) for term in terms]
        if few is None:
            return listed
        within = frozenset(few)
        return [(weight, [row for row in rows if row in within]) for weight, rows in listed]

    def _nearness(self, vector: Vector | None) -> tuple[Nearness | None, bool]:
        """Return what compares chunks with the vector, and whether some of them are left out of it."""
        if vector is None:
            return None, False
        segments, is_limited = lookups.segments_to_compare(self._tx, self._places, self._wanted, self._max_segments)
        near = self._meaning.nearness(self._tx, TABLE, segments, vector)
        return near, is_limited or not near.is_whole

    def _passages(
        self,
        asked: ChunkQuery,
        candidates: Mapping[int, ChunkCandidate],
        beside: Mapping[int, Beside],
        near: Nearness | None,
    ) -> list[Passage]:
        outside = {row for row in chain.from_iterable(beside.values()) if row is not None} - candidates.keys()
        spaced = [(term, f" {term} ") for term in asked.terms]
        held: dict[int | None, frozenset[str]] = {
            row: _find_held_terms(one.terms, spaced) for row, one in candidates.items()
        }
        asking = {row for row, one in candidates.items() if one.asks}
        for row, packed, asks in lookups.words_by_row(self._tx, sorted(outside)):
            held[row] = _find_held_terms(packed, spaced)
            if asks:
                asking.add(row)
        alone, nothing, terms = Beside(), frozenset[str](), frozenset(asked.terms)
        cosines = near.of(list(candidates)) if near is not None else {}
        passages: list[Passage] = []
        for row, one in candidates.items():
            before, after = beside.get(row, alone)
            passages.append(
                Passage(
                    row=row,
                    thread_id=one.thread_id,
                    at=one.at,
                    own=held[row],
                    around=held[row].union(held.get(before, nothing), held.get(after, nothing)),
                    answered=held.get(before, nothing) if before in asking else nothing,
                    speaker=terms.intersection(one.speaker.split(" ")),
                    asks=bool(one.asks),
                    is_dated=bool(one.is_dated),
                    length=one.end - one.start,
                    is_named=one.is_named,
                    is_reply=not one.is_named and one.role != "user",
                    cosine=cosines.get(row),
                )
            )
        return [passage for passage in passages if passage.is_about]
