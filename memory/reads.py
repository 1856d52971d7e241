"""Reading durable memory: search, recall, get, list. Every record passes the one visibility gate.

Rule 1: filter first, cut after; what is not visible takes no place in a result.
Rule 2: which records answer a question, and how well, is decided in `matching.py` and `ranking.py`.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import NamedTuple, TypeVar

import msgspec

from memory.identity import key_part
from memory.matching import USUAL, Finder, Match, Question, room_for
from memory.pages import Rankings, listed, mark_of
from memory.ports import Collaborators
from memory.ranking import INJECTION_FLOOR, SEARCH_FLOOR, Score, snippet
from memory.scopes import required
from memory.store import (
    SQL,
    Stored,
    encoded,
    get_record,
    record_by_key,
    scope_id_of,
    scope_ids_of,
)
from memory.vectors import TABLE, records_by_row
from memory.visibility import ACTIVE, ALL, KEPT, View, effective_status, is_visible
from memory.withheld import holds_number, is_looked_through
from protocol.base import Diagnostic, Scope
from protocol.cursors import cursor_of, place_of
from protocol.errors import CallerError
from protocol.memory import (
    Filters,
    GetParams,
    GetResult,
    Hit,
    ListParams,
    ListResult,
    Order,
    Provenance,
    RankedCandidate,
    Record,
    SearchMode,
    SearchParams,
    SearchResult,
    SemanticState,
)
from protocol.ports import Tx

T = TypeVar("T")

SNIPPET_CHARS = 280
SEARCH_PATIENCE = (
    1.5  # seconds that a search waits for its query's vector: the first one may have to wait for the model
)
RECALL_PATIENCE = 0.25  # a turn waits less: it has its words
QUERY_SECONDS = 0.25  # a query that takes longer is hostile or the machine is in trouble; either way the caller is told
LAST = 2**62
ORDERS: dict[Order, str] = {
    "updated_at": "list_by_update", "created_at": "list_by_creation", "importance": "list_by_importance",
}  # fmt: skip
"""The statement of each order; each has an index."""
NEAR_MISSES = 20


class Recall(NamedTuple):
    """What is worth showing a model, and what was considered."""

    hits: list[Hit]
    floor: float
    considered: list[RankedCandidate]
    reason: str


class Found(NamedTuple):
    """A hit and its place among the matches."""

    place: int
    hit: Hit


class Wanted(NamedTuple):
    """How many hits, from which place, of which ranking; None: of a new one."""

    limit: int
    begin: int = 0
    matches: list[Match] | None = None


class Ranking(NamedTuple):
    """As many of the best hits as were wanted, in order, of which matches, and how far meaning took part."""

    found: list[Found]
    matches: list[Match]
    semantic: SemanticState


def at_time(record: Record, now: int) -> Record:
    """The record as it is at this moment: what has expired says so."""
    status = effective_status(record.status, record.expires_at, now)
    return record if status == record.status else msgspec.structs.replace(record, status=status)


class Reader:
    """Answers reads within a list of active scopes."""

    def __init__(self, means: Collaborators) -> None:
        self._means = means
        self._has_met_damage = False
        self._has_told_damage = False
        self._is_looked_through = False
        self._rankings = Rankings()

    def _shows(self, tx: Tx, stored: Stored, view: View) -> bool:
        self._has_met_damage |= not stored.is_intact and stored.scope_id in view.scope_ids
        if not is_visible(stored.seen, view):
            return False
        self._is_looked_through = self._is_looked_through or is_looked_through(tx)
        return self._is_looked_through or not holds_number(stored.record, self._means.scanner)

    async def _read(self, read: Callable[[Tx], T], deadline: float | None = None) -> T:
        """Run a read, and tell of damage that it met for the first time."""
        result = await self._means.db.read(read, deadline)
        if self._has_met_damage and not self._has_told_damage:
            self._has_told_damage = True
            self._means.report_damage(1)
            await self._means.db.jot(lambda tx: self._means.jobs.enqueue(tx, "repair", "deep"))
        return result

    # -- search ----------------------------------------------------------------------------------------------------

    async def search(self, params: SearchParams, scopes: Sequence[Scope]) -> SearchResult:
        """Hits, best first."""
        mark = mark_of(params)
        begin, ticket, _ = _place(params.cursor, (0, 0, mark))
        matches = self._rankings.of(ticket)
        question = await self._question(params.query, params.mode, SEARCH_PATIENCE)
        diagnostics = [Diagnostic(code="semantic_off")] if params.mode != "lexical" and question.vector is None else []
        floor = SEARCH_FLOOR if params.min_score is None else params.min_score
        wanted = Wanted(params.limit + 1, begin, matches)  # one more tells of a next page
        ranking = await self._rank(question, params, scopes, wanted)
        hits = [found for found in ranking.found if found.hit.score >= floor]
        page = [found.hit for found in hits[: params.limit]]
        if not params.include_provenance:
            page = [_without_provenance(hit) for hit in page]
        known = len(ranking.matches)
        # fewer than the least room were not cut off; of more it is not known, and the last page may be empty
        may_be_more = known >= min(USUAL) and known > begin and len(hits) == len(ranking.found)
        following = None
        if len(hits) > params.limit or may_be_more:
            ticket = ticket if matches is ranking.matches else self._rankings.keep(ranking.matches)
            following = cursor_of(hits[params.limit].place if len(hits) > params.limit else known, ticket, mark)
        return SearchResult(hits=page, next_cursor=following, semantic=ranking.semantic, diagnostics=diagnostics)

    async def _question(self, text: str, mode: SearchMode, patience: float) -> Question:
        terms = self._means.lexicon.query_terms(text)
        if not terms or mode == "lexical":
            return Question(text, terms, None)
        vector = await self._means.meaning.of_query(text, patience)
        return Question(text, [] if mode == "semantic" else terms, vector)

    async def _rank(self, question: Question, filters: Filters, scopes: Sequence[Scope], wanted: Wanted) -> Ranking:
        state = self._means.meaning.state()
        if not question.terms and question.vector is None:
            return Ranking([], [], state)
        now = self._means.clock.now()
        statuses = frozenset(filters.statuses) if filters.statuses is not None else ACTIVE

        def read(tx: Tx) -> Ranking:
            ids = scope_ids_of(tx, scopes)
            if not ids:
                return Ranking([], [], state)
            view = View(frozenset(ids), statuses - {"deleted"}, now, filters.include_sensitive)
            finder = Finder(tx, self._means.lexicon, ids, view, filters)
            matches, is_whole = wanted.matches or [], True
            while len(matches) <= wanted.begin:  # who turned every page so far is shown what fits less
                more, is_whole = self._matches(question, finder, wanted.limit, {match.row for match in matches})
                if not more:
                    break
                matches = [*matches, *more]
            waits = tx.one(SQL["has_pending"]) if state == "ready" else None
            found = list(islice(self._found(tx, question, matches, view, wanted), wanted.limit))
            return Ranking(found, matches, "pending" if (waits and waits[0]) or not is_whole else state)

        return await self._read(read, QUERY_SECONDS)

    def _matches(
        self, question: Question, finder: Finder, wanted: int, known: AbstractSet[int]
    ) -> tuple[list[Match], bool]:  # fmt: skip
        """What fits beside the known ones, and whether everything was compared."""
        room = room_for(wanted, known)
        found = finder.by_words(question.terms, room.by_words, known)
        if question.vector is None:
            return finder.rank(question.terms, found, {}), True
        near = self._means.meaning.nearness(finder.tx, TABLE, finder.scope_ids, question.vector)
        found += finder.by_meaning(near, room.by_meaning, known | {c.row for c in found})
        return finder.rank(question.terms, found, near.of([c.row for c in found])), near.is_whole

    def _found(
        self, tx: Tx, question: Question, matches: Sequence[Match], view: View, wanted: Wanted
    ) -> Iterator[Found]:
        """The best matches, read whole; what another scope says in the same words of the same value is shown once."""
        words = self._words(question.text, question.terms)
        told: dict[tuple[str, str], int] = {}
        for start in range(0, len(matches), wanted.limit):
            batch = matches[start : start + wanted.limit]
            stored = records_by_row(tx, [match.row for match in batch])
            for place, (row, memory_id, score) in enumerate(batch, start):
                whole = stored.get(row)
                if whole is None or whole.record.memory_id != memory_id or not self._shows(tx, whole, view):
                    continue
                said = " ".join(whole.record.content.casefold().split()), encoded(whole.record.value)
                if told.setdefault(said, whole.scope_id) != whole.scope_id:
                    continue
                if place >= wanted.begin:
                    yield Found(place, self._hit(whole.record, score, words, view.now))

    def _hit(self, record: Record, score: Score, words: Sequence[tuple[str, set[str]]], now: int) -> Hit:
        matched = [word for word, of_word in words if not of_word.isdisjoint(score.shared)]
        return Hit(
            record=at_time(record, now),
            score=score.total,
            breakdown={name: round(part, 4) for name, part in score.parts.items()},
            snippet=snippet(record.content, matched, SNIPPET_CHARS),
            matched_terms=matched,
        )

    def _words(self, query: str, terms: Sequence[str]) -> list[tuple[str, set[str]]]:
        """The query's words as the user wrote them, each with its terms."""
        wanted = set(terms)
        words = dict.fromkeys(word.strip(".,;:!?\"'()[]").casefold() for word in query.split())
        return [(word, set(self._means.lexicon.index_terms(word)) & wanted) for word in words if word]

    # -- recall ----------------------------------------------------------------------------------------------------

    async def recall(
        self,
        text: str,
        scopes: Sequence[Scope],
        *,
        limit: int,
        exclude: Sequence[str],
        turn_id: str | None,
        is_rehearsal: bool = False,
    ) -> Recall:
        """Hits above the injection floor; nothing relevant gives nothing."""
        begun = time.perf_counter()
        question = await self._question(text, "hybrid", RECALL_PATIENCE)
        ranking = await self._rank(question, Filters(), scopes, Wanted(max(NEAR_MISSES, limit + len(exclude))))
        seen = [found.hit for found in ranking.found]
        hits = [hit for hit in seen if hit.score >= INJECTION_FLOOR and hit.record.memory_id not in exclude]
        considered = [_considered(n, hit, self._cut(hit, hits[:limit], exclude)) for n, hit in enumerate(seen, 1)]
        reason = "recalled" if hits else ("below_floor" if seen else "no_match")
        result = Recall(hits[:limit], INJECTION_FLOOR, considered[:NEAR_MISSES], reason)
        if is_rehearsal:  # an explanation shows what would happen; it leaves no trace
            return result
        micros = int((time.perf_counter() - begun) * 1_000_000)
        await self._note_recall(question, result, turn_id, micros)
        return result

    @staticmethod
    def _cut(hit: Hit, kept: Sequence[Hit], exclude: Sequence[str]) -> str | None:
        if hit in kept:
            return None
        if hit.record.memory_id in exclude:
            return "already_shown"
        return "floor" if hit.score < INJECTION_FLOOR else "budget"

    async def _note_recall(self, question: Question, recall: Recall, turn_id: str | None, latency_us: int) -> None:
        means = self._means
        ranked = encoded(recall.considered) if means.settings().debug_trace_enabled else None
        values = {
            "at": means.clock.now(), "turn_id": turn_id, "query_hash": means.keyed.digest("query", question.text),
            "mode": "lexical" if question.vector is None else "hybrid", "candidates": len(recall.considered), "returned": len(recall.hits),
            "latency_us": latency_us, "cut_reason": None if recall.hits else recall.reason, "ranked": ranked,
        }  # fmt: skip

        def note(tx: Tx) -> None:
            tx.run(SQL["add_recall_event"], values)
            for hit in recall.hits:
                tx.run(SQL["note_access"], {"memory_id": hit.record.memory_id, "now": values["at"]})

        means.db.trace(note)

    # -- get and list ----------------------------------------------------------------------------------------------

    async def get(self, params: GetParams, scopes: Sequence[Scope]) -> GetResult:
        """One record by id or key, or null."""
        now = self._means.clock.now()
        statuses = ALL if params.include_deleted else KEPT

        def read(tx: Tx) -> Record | None:
            view = View(frozenset(scope_ids_of(tx, scopes)), statuses, now, shows_regulated=True)
            stored = _find(tx, params, scopes)
            return at_time(stored.record, now) if stored is not None and self._shows(tx, stored, view) else None

        record = await self._read(read)
        if record is not None:
            values = {"memory_id": record.memory_id, "now": now}
            await self._means.db.jot(lambda tx: tx.run(SQL["note_access"], values))
        return GetResult(record=record)

    async def list_records(self, params: ListParams, scopes: Sequence[Scope]) -> ListResult:
        """Records in an order, each exactly once over all pages."""
        now = self._means.clock.now()
        statuses = frozenset(params.statuses) - {"deleted"} if params.statuses is not None else ACTIVE
        mark = mark_of(params)
        start = _place(params.cursor, (LAST, LAST, mark))[:2]

        def read(tx: Tx) -> ListResult:
            view = View(frozenset(scope_ids_of(tx, scopes)), statuses, now, params.include_sensitive)
            page = list(islice(self._listed(tx, params, view, start), params.limit + 1))
            following = cursor_of(*page[params.limit - 1][1], mark) if len(page) > params.limit else None
            return ListResult(records=[record for record, _ in page[: params.limit]], next_cursor=following)

        return await self._read(read)

    def _listed(
        self, tx: Tx, params: ListParams, view: View, place: tuple[int, int]
    ) -> Iterator[tuple[Record, tuple[int, int]]]:
        """Records after a place with their places: of each scope the first ones, of these the first of all."""
        limit = params.limit + 1
        asked = {
            "statuses": listed(view.statuses), "categories": listed(params.categories), "kinds": listed(params.kinds),
            "tags": encoded(params.tags) if params.tags is not None else None, "now": view.now,
            "shows_regulated": int(view.shows_regulated), "limit": limit,
        }  # fmt: skip
        places = [place]
        while places:
            asked |= {"place": places[-1][0], "row": places[-1][1]}
            found = [tx.all(SQL[ORDERS[params.order]], {**asked, "scope_id": scope_id}) for scope_id in view.scope_ids]
            places = sorted(((at, row) for rows in found for at, row in rows), reverse=True)[:limit]
            stored = records_by_row(tx, [row for _, row in places])
            for at, row in places:
                if self._shows(tx, stored[row], view):
                    yield at_time(stored[row].record, view.now), (at, row)


def _place(cursor: str | None, start: tuple[int, int, int]) -> tuple[int, int, int]:
    """Where a page begins; the last part of `start` is the mark of what was asked."""
    first, second, mark = place_of(cursor, start)
    if mark != start[-1]:
        raise CallerError.at("$.cursor", "This cursor belongs to another query")
    return first, second, mark


def _find(tx: Tx, params: GetParams, scopes: Sequence[Scope]) -> Stored | None:
    if params.memory_id is not None:
        return get_record(tx, params.memory_id)
    if params.scope is None or params.key is None:
        raise CallerError.at("$", "Give `memory_id`, or `scope` and `key`")
    scope_id = scope_id_of(tx, required(scopes, params.scope))
    return record_by_key(tx, scope_id, params.key, key_part(params.key)) if scope_id is not None else None


def _without_provenance(hit: Hit) -> Hit:
    bare = Provenance(source_kind=hit.record.provenance.source_kind)
    return msgspec.structs.replace(hit, record=msgspec.structs.replace(hit.record, provenance=bare))


def _considered(rank: int, hit: Hit, cut_by: str | None) -> RankedCandidate:
    return RankedCandidate(
        rank=rank, score=hit.score, factors=hit.breakdown, cut_by=cut_by, memory_id=hit.record.memory_id, lexical_rank=rank
    )  # fmt: skip
