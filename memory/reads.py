"""Reading durable memory: search, recall, get, list. Every record passes the one visibility gate.

Rule 1: filter first, cut after; what is not visible takes no place in a result.
Rule 2: user text is never query syntax: it becomes quoted terms, at most 32 of them.
"""

import time
import zlib
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from memory.identity import key_part
from memory.ports import Collaborators
from memory.ranking import INJECTION_FLOOR, SEARCH_FLOOR, Scored, rarity, score, snippet
from memory.scopes import NEARNESS, required
from memory.store import (
    SQL,
    Stored,
    body_terms,
    encoded,
    get_record,
    record_by_key,
    scope_id_of,
    scope_ids_of,
    stored_of,
)
from memory.visibility import ACTIVE, ALL, KEPT, View, effective_status, hidden_by, is_visible
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
    Provenance,
    RankedCandidate,
    Record,
    SearchParams,
    SearchResult,
)
from protocol.ports import Tx

SNIPPET_CHARS = 280
WORK_LIMIT = 120
"""Matches that are read and scored; BM25 has put the best of them first, and a page has at most a hundred."""
QUERY_SECONDS = 0.25  # a query that takes longer is hostile or the machine is in trouble; either way the caller is told
LIST_BATCH = 200
LAST = 2**62
NEAR_MISSES = 20


class Recall(NamedTuple):
    """What is worth showing a model, and what was considered."""

    hits: list[Hit]
    floor: float
    considered: list[RankedCandidate]
    reason: str


class Ranking(NamedTuple):
    """Every match in order, with the gate that hides it where one does."""

    hits: list[Hit]
    hidden: list[tuple[str, str]]


def match_of(scope_ids: Sequence[int], terms: Sequence[str]) -> str:
    """The MATCH of a query: scopes and terms as quoted strings, nothing else."""
    scopes = " OR ".join(f'"s{scope_id}"' for scope_id in scope_ids)
    words = " OR ".join(f'"{term}"' for term in terms)
    return f"scope:({scopes}) AND body:({words})"


def at_time(record: Record, now: int) -> Record:
    """The record as it is at this moment: what has expired says so."""
    status = effective_status(record.status, record.expires_at, now)
    return record if status == record.status else msgspec.structs.replace(record, status=status)


def passes(record: Record, filters: Filters) -> bool:
    """Whether a visible record is asked for."""
    return (
        (filters.categories is None or record.category in filters.categories)
        and (filters.kinds is None or record.kind in filters.kinds)
        and (filters.tags is None or set(filters.tags) <= set(record.tags))
    )


class Reader:
    """Answers reads within a list of active scopes."""

    def __init__(self, means: Collaborators) -> None:
        self._means = means

    # -- search ----------------------------------------------------------------------------------------------------

    async def search(self, params: SearchParams, scopes: Sequence[Scope]) -> SearchResult:
        """Hits, best first."""
        digest = zlib.crc32(params.query.encode("utf-8", "surrogatepass"))
        offset, of_query = place_of(params.cursor, (0, digest))
        if of_query != digest:
            raise CallerError.at("$.cursor", "This cursor belongs to another query")
        terms = self._means.lexicon.query_terms(params.query)
        diagnostics: list[Diagnostic] = []
        if params.mode == "semantic":
            diagnostics, terms = [Diagnostic(code="semantic_off")], []
        floor = SEARCH_FLOOR if params.min_score is None else params.min_score
        ranking = await self._rank(params.query, terms, params, scopes)
        hits = [hit for hit in ranking.hits if hit.score >= floor]
        page = hits[offset : offset + params.limit]
        if not params.include_provenance:
            page = [_without_provenance(hit) for hit in page]
        following = cursor_of(offset + len(page), digest) if offset + len(page) < len(hits) else None
        return SearchResult(hits=page, next_cursor=following, semantic="off", diagnostics=diagnostics)

    async def _rank(self, query: str, terms: Sequence[str], filters: Filters, scopes: Sequence[Scope]) -> Ranking:
        if not terms:
            return Ranking([], [])
        now = self._means.clock.now()
        statuses = frozenset(filters.statuses) if filters.statuses is not None else ACTIVE

        def read(tx: Tx) -> Ranking:
            ids = scope_ids_of(tx, scopes)
            if not ids:
                return Ranking([], [])
            view = View(frozenset(ids), statuses - {"deleted"}, now, filters.include_sensitive)
            stored_as = {*view.statuses, *(["active"] if "expired" in view.statuses else [])}  # until a sweep comes by
            rows = tx.all(SQL["search_records"], {
                "match": match_of(list(ids), terms), "limit": WORK_LIMIT, "statuses": ",".join(sorted(stored_as)),
                "categories": f",{','.join(filters.categories)}," if filters.categories is not None else None,
                "shows_regulated": int(filters.include_sensitive),
            })  # fmt: skip
            found = [stored_of(row) for row in rows]
            hidden = [(s.record.memory_id, why[0]) for s in found if (why := hidden_by(s.seen, view)) is not None]
            visible = [s for s in found if is_visible(s.seen, view) and passes(s.record, filters)]
            population = sum(_count(tx, scope_id) for scope_id in ids)
            return Ranking(self._scored(query, terms, visible, population, now), hidden)

        return await self._means.db.read(read, deadline=QUERY_SECONDS)

    def _scored(
        self, query: str, terms: Sequence[str], found: Sequence[Stored], population: int, now: int
    ) -> list[Hit]:
        bodies = [body_terms(s.record, s.alias, self._means.lexicon) for s in found]
        weights = rarity(terms, bodies, population)
        words = self._words(query, terms)
        hits: list[tuple[float, Hit]] = []
        for stored, body in zip(found, bodies, strict=True):
            r = stored.record
            gist = self._means.lexicon.query_terms(r.content)
            given = Scored(
                body, gist, NEARNESS[r.scope.kind], r.updated_at, r.importance, r.confidence, r.evidence_count
            )
            got = score(terms, given, weights, now)
            matched = [word for word, of_word in words if of_word & set(got.shared)]
            hit = Hit(
                record=at_time(r, now),
                score=got.total,
                breakdown=dict(got.parts),
                snippet=snippet(r.content, matched, SNIPPET_CHARS),
                matched_terms=matched,
            )
            hits.append((got.place, hit))
        ordered = sorted(hits, key=lambda entry: (-entry[0], entry[1].record.memory_id))
        return _collapsed([hit for _, hit in ordered])

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
        terms = self._means.lexicon.query_terms(text)
        ranking = await self._rank(text, terms, Filters(), scopes)
        hits = [hit for hit in ranking.hits if hit.score >= INJECTION_FLOOR and hit.record.memory_id not in exclude]
        considered = [
            _considered(n, hit, self._cut(hit, hits[:limit], exclude)) for n, hit in enumerate(ranking.hits, 1)
        ]
        reason = "recalled" if hits else ("below_floor" if ranking.hits else "no_match")
        result = Recall(hits[:limit], INJECTION_FLOOR, considered[:NEAR_MISSES], reason)
        if is_rehearsal:  # an explanation shows what would happen; it leaves no trace
            return result
        await self._note_recall(text, result, turn_id, int((time.perf_counter() - begun) * 1_000_000))
        return result

    @staticmethod
    def _cut(hit: Hit, kept: Sequence[Hit], exclude: Sequence[str]) -> str | None:
        if hit in kept:
            return None
        if hit.record.memory_id in exclude:
            return "already_shown"
        return "floor" if hit.score < INJECTION_FLOOR else "budget"

    async def _note_recall(self, text: str, recall: Recall, turn_id: str | None, latency_us: int) -> None:
        means = self._means
        ranked = encoded(recall.considered) if means.settings().debug_trace_enabled else None
        values = {
            "at": means.clock.now(), "turn_id": turn_id, "query_hash": means.keyed.digest("query", text),
            "mode": "lexical", "candidates": len(recall.considered), "returned": len(recall.hits),
            "latency_us": latency_us, "cut_reason": None if recall.hits else recall.reason, "ranked": ranked,
        }  # fmt: skip

        def note(tx: Tx) -> None:
            tx.run(SQL["add_recall_event"], values)
            for hit in recall.hits:
                tx.run(SQL["note_access"], {"memory_id": hit.record.memory_id, "now": values["at"]})

        await means.db.note(note)

    # -- get and list ----------------------------------------------------------------------------------------------

    async def get(self, params: GetParams, scopes: Sequence[Scope]) -> GetResult:
        """One record by id or key, or null."""
        now = self._means.clock.now()
        statuses = ALL if params.include_deleted else KEPT

        def read(tx: Tx) -> Record | None:
            view = View(frozenset(scope_ids_of(tx, scopes)), statuses, now, shows_regulated=True)
            stored = _find(tx, params, scopes)
            return at_time(stored.record, now) if stored is not None and is_visible(stored.seen, view) else None

        record = await self._means.db.read(read)
        if record is not None:
            values = {"memory_id": record.memory_id, "now": now}
            await self._means.db.note(lambda tx: tx.run(SQL["note_access"], values))
        return GetResult(record=record)

    async def list_records(self, params: ListParams, scopes: Sequence[Scope]) -> ListResult:
        """Records in an order, each exactly once over all pages."""
        now = self._means.clock.now()
        statuses = frozenset(params.statuses) - {"deleted"} if params.statuses is not None else ACTIVE
        start = place_of(params.cursor, (LAST, LAST))

        def read(tx: Tx) -> ListResult:
            ids = scope_ids_of(tx, scopes)
            view = View(frozenset(ids), statuses, now, params.include_sensitive)
            listed = f",{','.join(map(str, ids))}," if ids else ""
            page: list[tuple[Record, tuple[int, int]]] = []
            place = start
            while len(page) <= params.limit:
                values = {
                    "scope_ids": listed,
                    "order": params.order,
                    "place": place[0],
                    "row": place[1],
                    "limit": LIST_BATCH,
                }
                rows = tx.all(SQL["list_records"], values)
                for row in rows:
                    stored, place = stored_of(row), (row[-1], row[0])
                    if is_visible(stored.seen, view) and passes(stored.record, params):
                        page.append((at_time(stored.record, now), place))
                if len(rows) < LIST_BATCH:
                    break
            following = cursor_of(*page[params.limit - 1][1]) if len(page) > params.limit else None
            return ListResult(records=[record for record, _ in page[: params.limit]], next_cursor=following)

        return await self._means.db.read(read)


def _find(tx: Tx, params: GetParams, scopes: Sequence[Scope]) -> Stored | None:
    if params.memory_id is not None:
        return get_record(tx, params.memory_id)
    if params.scope is None or params.key is None:
        raise CallerError.at("$", "Give `memory_id`, or `scope` and `key`")
    scope_id = scope_id_of(tx, required(scopes, params.scope))
    return record_by_key(tx, scope_id, params.key, key_part(params.key)) if scope_id is not None else None


def _count(tx: Tx, scope_id: int) -> int:
    row = tx.one(SQL["count_in_scope"], {"scope_id": scope_id})
    return row[0] if row else 0


def _collapsed(hits: Sequence[Hit]) -> list[Hit]:
    """Hits without those that say the very same in another scope; the better one stays."""
    seen: set[str] = set()
    kept: list[Hit] = []
    for hit in hits:
        words = " ".join(hit.record.content.casefold().split())
        if words not in seen:
            seen.add(words)
            kept.append(hit)
    return kept


def _without_provenance(hit: Hit) -> Hit:
    bare = Provenance(source_kind=hit.record.provenance.source_kind)
    return msgspec.structs.replace(hit, record=msgspec.structs.replace(hit.record, provenance=bare))


def _considered(rank: int, hit: Hit, cut_by: str | None) -> RankedCandidate:
    return RankedCandidate(
        rank=rank, score=hit.score, factors=hit.breakdown, cut_by=cut_by, memory_id=hit.record.memory_id, lexical_rank=rank
    )  # fmt: skip
