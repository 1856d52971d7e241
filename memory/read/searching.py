"""Search of durable memory: makes a query of words, and returns the records that answer it, in order.

Rule 1: filter first, cut after; a record that is not visible takes no place in a result.
Rule 2: `matching.py` and `ranking.py` decide which records answer a query, and how well.
Rule 3: a query has one order of records: a page of any size is a part of it.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice

import msgspec
from anyio import to_thread
from msgspec import Struct

from memory.ports import Collaborators
from memory.read.gate import RecordGate, at_time
from memory.read.matching import FULL, Match, RecordFinder, RecordQuery
from memory.read.pages import Rankings, mark_of, page_place
from memory.read.ranking import SEARCH_FLOOR, Score, cut_snippet
from memory.rows.listings import workspaces_with_records
from memory.rows.record_columns import to_column
from memory.rows.records import records_by_row
from memory.rows.store import scope_ids_of
from memory.rows.text_scan import is_doubted
from memory.rows.vectors import TABLE, is_any_pending
from memory.rules.routes import ANY_KIND, QueryRoute, find_route
from memory.rules.visibility import ACTIVE, View
from promt.person import speaks_of_self
from promt.person_need import weigh_need
from promt.time_words import find_time, zone_of
from protocol.base import Diagnostic, Elsewhere, Scope
from protocol.cursors import cursor_of
from protocol.errors import IndexDamaged, PagesDamaged, Unavailable
from protocol.memory.reads import Filters, Hit, SearchParams, SearchResult, SearchRoute
from protocol.memory.values import SearchMode, SemanticState
from protocol.record import Provenance, Record
from protocol.seams.ports import Tx, Vector

SNIPPET_CHARS = 280
SEARCH_PATIENCE = 1.5
"""Seconds that a search waits for its query's vector: the first one may have to wait for the model."""
QUERY_SECONDS = 0.25  # a query that takes longer is hostile, or the machine is in trouble: it raises `Unavailable`
MOST_ELSEWHERE = 200
"""The most other workspaces that are searched where a search finds nothing: more than a person has, in one query."""
HITS_ELSEWHERE = 100
"""The most hits that are counted there."""


class FoundRecord(Struct, frozen=True):
    """A hit, its place among the matches of its query, and its match."""

    place: int
    hit: Hit
    match: Match

    @property
    def log_odds(self) -> float:
        """The log odds that its score is made of."""
        return self.match.score.log_odds


class PromptAudience(Struct, frozen=True):
    """The agent whose prompt records are read for; notes are shown to the agent that wrote them."""

    agent_id: str | None


class WantedHits(Struct, frozen=True):
    """The part of a ranking that is wanted."""

    limit: int
    begin: int = 0
    """The place of the first hit."""
    matches: list[Match] | None = None
    """The ranking to go on with; None for a new one."""
    choose: Callable[[Sequence[Match]], Sequence[Match]] | None = None
    """Selects those of the first `limit` matches that are read whole; None: all are."""


class RankedHits(Struct, frozen=True):
    """The wanted hits of a query in order."""

    found: list[FoundRecord]
    matches: list[Match]
    """The whole ranking as far as it was made."""
    may_be_more: bool
    """Further matches may follow."""
    semantic: SemanticState


class RecordSearcher:
    """Answers queries within a list of active scopes."""

    def __init__(self, means: Collaborators, gate: RecordGate) -> None:
        self._means, self._gate = means, gate
        self._rankings = Rankings()

    async def search(self, params: SearchParams, scopes: Sequence[Scope]) -> SearchResult:
        """Return a page of hits, best first. Raises `Unavailable` where the store takes too long."""
        mark = mark_of(params)
        begin, ticket, _ = page_place(params.cursor, (0, 0, mark))
        matches = self._rankings.of(ticket)
        question = await self.ask(
            params.query, params.mode, SEARCH_PATIENCE, params.time_zone, is_routed=params.kinds is None
        )
        floor = SEARCH_FLOOR if params.min_score is None else params.min_score
        wanted = WantedHits(params.limit + 1, begin, matches)  # one more shows that there is a next page
        ranking = await self.rank(question, params, scopes, wanted)
        hits = [found for found in ranking.found if found.hit.score >= floor]
        page = [found.hit for found in hits[: params.limit]]
        if not params.include_provenance:
            page = [_without_provenance(hit) for hit in page]
        following = None
        is_cut = len(hits) > params.limit
        if is_cut or (ranking.may_be_more and len(hits) == len(ranking.found)):
            ticket = ticket if len(matches or ()) == len(ranking.matches) else self._rankings.keep(ranking.matches)
            following = cursor_of(hits[params.limit].place if is_cut else len(ranking.matches), ticket, mark)
        is_asked = params.count_elsewhere and not hits and params.cursor is None
        elsewhere = await self._elsewhere(question, params, scopes, floor) if is_asked else []
        is_off = params.mode != "lexical" and question.vector is None
        if is_off and ranking.semantic != "off":  # a query without a word has no vector, whatever the model's state
            is_off = bool(self._means.lexicon.query_terms(params.query))
        return SearchResult(
            hits=page,
            next_cursor=following,
            semantic=ranking.semantic,
            diagnostics=[Diagnostic(code="semantic_off")] if is_off else [],
            elsewhere=elsewhere,
            route=SearchRoute(**question.route._asdict()),
        )

    async def _elsewhere(
        self, question: RecordQuery, params: SearchParams, scopes: Sequence[Scope], floor: float
    ) -> list[Elsewhere]:
        """Return how many hits other workspaces have, most first; none where the search was not of a workspace."""
        here = [scope for scope in scopes if scope.kind == "workspace"]
        if params.scopes is not None and not here:
            return []
        keys = await self._gate.read(lambda tx: workspaces_with_records(tx, MOST_ELSEWHERE))
        others = [scope for key in keys if (scope := Scope(kind="workspace", key=key)) not in here]
        try:
            found = (await self.rank(question, params, others, WantedHits(HITS_ELSEWHERE))).found
        except Unavailable:  # a hint is not worth an error
            return []
        counts = Counter(one.hit.record.scope.key for one in found if one.hit.score >= floor)
        return [Elsewhere(workspace_id=key, count=count) for key, count in counts.most_common()]

    async def ask(
        self,
        text: str,
        mode: SearchMode,
        patience: float,
        time_zone: str | None,
        *,
        is_routed: bool = True,
        is_prompt: bool = False,
    ) -> RecordQuery:
        """Return the query of a text, with a vector where a model makes one within `patience` seconds.

        `is_routed`: find the kind of memory that it asks for. `is_prompt`: weigh how much it needs the person.
        """
        query = RecordQuery(text, self._means.lexicon.query_terms(text), None, speaks_of_self(text))

        def read_query() -> RecordQuery:
            route = self._route(text, time_zone) if is_routed else ANY_KIND
            return query._replace(route=route, need=weigh_need(text) if is_prompt else None)

        # in a thread: the first named date imports the library that reads dates, the first prompt reads examples
        query = await to_thread.run_sync(read_query) if is_routed or is_prompt else query
        if not query.terms or mode == "lexical":
            return query
        vector = await self._means.meaning.of_query(text, patience)
        return query._replace(terms=[] if mode == "semantic" else query.terms, vector=vector)

    def _route(self, text: str, time_zone: str | None) -> QueryRoute:
        now, zone = self._means.clock.now(), zone_of(time_zone or "UTC")
        return find_route(text, lambda asked: find_time(asked, now, zone, self._means.read_date))

    async def rank(
        self,
        question: RecordQuery,
        filters: Filters,
        scopes: Sequence[Scope],
        wanted: WantedHits,
        prompt: PromptAudience | None = None,
    ) -> RankedHits:
        """Return the wanted hits of a query in some scopes; `prompt`: only those that may go into it.

        Raises `Unavailable` where the store takes too long.
        """
        state = self._means.meaning.state()
        if not question.terms and question.vector is None:
            return RankedHits([], [], may_be_more=False, semantic=state)
        now = self._means.clock.now()
        statuses = frozenset(filters.statuses) if filters.statuses is not None else ACTIVE

        def read(tx: Tx, vector: Vector | None, *, scans_terms: bool) -> RankedHits:
            ids = scope_ids_of(tx, scopes)
            if not ids:
                return RankedHits([], [], may_be_more=False, semantic=state)
            view = _into(View(frozenset(ids), statuses - {"deleted"}, now, filters.include_sensitive), prompt)
            scans_terms = scans_terms or is_doubted(tx)
            finder = RecordFinder(
                tx,
                self._means.lexicon,
                ids,
                view,
                filters,
                aging=self._means.settings().aging,
                scans_terms=scans_terms,
            )
            near = None
            if vector is not None:
                near = self._means.meaning.nearness(tx, TABLE, finder.scope_ids, vector)
            matches = list(wanted.matches or ())
            may_be_more = not matches or len(matches) >= FULL  # behind the last page less fitting records follow
            enough = wanted.begin + (wanted.limit if wanted.matches is None else 1)
            while may_be_more and len(matches) < enough:
                further = finder.find(question._replace(vector=vector), near, {match.row for match in matches})
                matches += further
                may_be_more = len(further) >= FULL
            found = self._find_wanted(tx, question, matches, view, wanted)
            is_behind = (state == "ready" and is_any_pending(tx)) or not (near is None or near.is_whole)
            return RankedHits(found, matches, may_be_more=may_be_more, semantic="pending" if is_behind else state)

        try:
            return await self._gate.read(partial(read, vector=question.vector, scans_terms=False), QUERY_SECONDS)
        except IndexDamaged as failure:  # the database has reported it; the records themselves are whole
            vector = None if isinstance(failure, PagesDamaged) else question.vector
            return await self._gate.read(partial(read, vector=vector, scans_terms=True), QUERY_SECONDS)

    def _find_wanted(
        self, tx: Tx, question: RecordQuery, matches: Sequence[Match], view: View, wanted: WantedHits
    ) -> list[FoundRecord]:
        """Return the wanted hits of a ranking, read whole."""
        if wanted.choose is not None:
            chosen = wanted.choose(matches[: wanted.limit])
            found = list(self._read_matches(tx, question, chosen, view, wanted))
            if len(found) == len(chosen):  # else a hidden record had a part in the choice
                return found
        return list(islice(self._read_matches(tx, question, matches, view, wanted), wanted.limit))

    def _read_matches(
        self, tx: Tx, question: RecordQuery, matches: Sequence[Match], view: View, wanted: WantedHits
    ) -> Iterator[FoundRecord]:
        """Yield the visible matches from `wanted.begin` on, read whole in batches.

        Records of two scopes with the same words and value are one hit.
        """
        words = self._words(question.text, question.terms)
        scope_of: dict[tuple[str, str], int] = {}
        for start in range(0, len(matches), wanted.limit):
            batch = matches[start : start + wanted.limit]
            stored = records_by_row(tx, [match.row for match in batch])
            for place, match in enumerate(batch, start):
                whole = stored.get(match.row)
                if whole is None or whole.record.memory_id != match.memory_id or not self._gate.shows(tx, whole, view):
                    continue
                said = " ".join(whole.record.content.casefold().split()), to_column(whole.record.value)
                if scope_of.setdefault(said, whole.scope_id) != whole.scope_id:
                    continue
                if place >= wanted.begin:
                    yield FoundRecord(place, self._hit(whole.record, match.score, words, view.now), match)

    def _hit(self, record: Record, score: Score, words: Sequence[tuple[str, set[str]]], now: int) -> Hit:
        matched = [word for word, of_word in words if not of_word.isdisjoint(score.shared)]
        return Hit(
            record=at_time(record, now, self._means.settings().aging),
            score=score.total,
            breakdown={name: round(part, 4) for name, part in score.parts.items()},
            snippet=cut_snippet(record.content, matched, SNIPPET_CHARS),
            matched_terms=matched,
        )

    def _words(self, query: str, terms: Sequence[str]) -> list[tuple[str, set[str]]]:
        """Return the query's folded words, each with its terms among those of the query."""
        wanted = set(terms)
        words = dict.fromkeys(word.strip(".,;:!?\"'()[]").casefold() for word in query.split())
        return [(word, set(self._means.lexicon.index_terms(word)) & wanted) for word in words if word]

    def read_ranking(
        self, tx: Tx, question: RecordQuery, matches: Sequence[Match], scopes: Sequence[Scope], prompt: PromptAudience
    ) -> list[FoundRecord]:
        """Return the records of a ranking as they are now, without those that may no longer go into the prompt."""
        ids = scope_ids_of(tx, scopes)
        view = _into(View(frozenset(ids), ACTIVE, self._means.clock.now(), shows_regulated=False), prompt)
        return list(self._read_matches(tx, question, matches, view, WantedHits(len(matches) or 1)))


def _into(view: View, prompt: PromptAudience | None) -> View:
    """Return the view of a prompt; without one, the view as it is."""
    return view if prompt is None else view._replace(is_prompt=True, agent_id=prompt.agent_id)


def _without_provenance(hit: Hit) -> Hit:
    """Return a hit whose record keeps only the kind of its source."""
    bare = Provenance(source_kind=hit.record.provenance.source_kind)
    return msgspec.structs.replace(hit, record=msgspec.structs.replace(hit.record, provenance=bare))
