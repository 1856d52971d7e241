"""Finds chunks by their words: filter, rank, cut, gate, budget, in this order.

Rule 1: user text is never query syntax: only terms of the lexicon, quoted, in a bound parameter.
Rule 2: what is returned went through the visibility gate in the same snapshot.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec import structs

from protocol.hooks import ItemFact, ReadItems, ReadThread, WorkspaceExists
from protocol.ports import Lexicon, SecretScanner, SecretSpan, Tx
from protocol.thread_episodic import DiagnosticCode, SearchStatus, ThreadHit
from protocol.threads import ArtifactRef
from thread_episodic import store
from thread_episodic.budget import Floor, snippet_of
from thread_episodic.model import Candidate, Filter, Places
from thread_episodic.ports import ReadArtifacts
from thread_episodic.ranking import Ranked, Statistics, rank
from thread_episodic.visibility import is_visible, mask_range

TERM_CAP = 10_000  # counting further would not change a term's weight much, and costs time with every search
TELLING_WORD = "zebrafish"  # any word that is no function word in any language
MATCH_BUDGET = 20_000  # rows that the full-text query may score: the rarest terms choose, all terms rank


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """A search with its budgets."""

    wanted: Filter
    terms: tuple[str, ...]
    floor: Floor
    limit: int
    room: int
    snippet_chars: int
    work: int
    known_chunks: frozenset[str] = frozenset()
    """Chunk ids that the asker has already."""
    browses: bool = False
    """Whether no words are asked for, but all that was said in the time range."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """Hits, best first, with what explains them."""

    hits: list[ThreadHit]
    status: SearchStatus
    diagnostics: list[DiagnosticCode]
    cut_reason: str
    candidates: int = 0
    whole: frozenset[str] = frozenset()
    """The chunk ids whose snippet is the whole chunk."""
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    """The hits' threads by id: their names, or the ids of those without."""


class Ranking(NamedTuple):
    """Candidates, best first, and the weights of the terms that they were ranked by."""

    ranked: list[Ranked]
    weights: dict[str, float]


def is_vague(lexicon: Lexicon, query: str) -> bool:
    """Whether a query has function words at most: beside a word that tells something, none of them is asked for."""
    return lexicon.query_terms(f"{TELLING_WORD} {query}") == lexicon.query_terms(TELLING_WORD)


def scope_match(places: Places) -> str:
    """The part of a full-text expression that says where."""
    thread = f' AND "t{places.thread}"' if places.thread is not None else ""
    return f'scope : ("w{places.workspace}"{thread})'


def match_of(places: Places, terms: Sequence[str]) -> str:
    """The full-text expression for any of the terms. Terms have no quotes: the lexicon's alphabet has none."""
    any_term = " OR ".join(f'"{term}"' for term in terms)
    match = f"{scope_match(places)} AND body : ({any_term})"
    return match if places.other_than is None else f'({match}) NOT scope : "t{places.other_than}"'


def telling_terms(terms: Sequence[str], frequencies: Mapping[str, int]) -> list[str]:
    """The terms worth matching by: those that occur, rarest first, while the rows to score stay bounded."""
    chosen: list[str] = []
    rows = 0
    for term in sorted((term for term in terms if frequencies[term]), key=lambda term: (frequencies[term], term)):
        rows += frequencies[term]
        if chosen and rows > MATCH_BUDGET:
            break
        chosen.append(term)
    return chosen


class Searcher:
    """Searches in a read snapshot. What it needs of the messages it asks their owner for."""

    def __init__(
        self, *, lexicon: Lexicon, scanner: SecretScanner, hash_of: Callable[[ItemFact], bytes], read_items: ReadItems,
        read_thread: ReadThread, read_artifacts: ReadArtifacts, workspace_exists: WorkspaceExists,
    ) -> None:  # fmt: skip
        self.lexicon = lexicon
        self.scanner = scanner
        self.hash_of = hash_of
        self.read_items = read_items
        self.read_thread = read_thread
        self.read_artifacts = read_artifacts
        self.workspace_exists = workspace_exists

    def search(self, tx: Tx, request: Request) -> Found:
        """The hits of a request."""
        places = self._places(tx, request.wanted)
        if places is None:
            return Found(
                hits=[], whole=frozenset(), status="empty", diagnostics=["no_match"], cut_reason="nothing_there"
            )
        ranking = self._rank(tx, places, request)
        shown = _Display(self, tx, request, ranking)
        shown.fill()
        return self._told(tx, places, request, shown)

    def _places(self, tx: Tx, wanted: Filter) -> Places | None:
        """Where to look; None where nothing can be."""
        if not self.workspace_exists(tx, wanted.workspace_id):
            return None
        workspace = store.find_scope(tx, "workspace", wanted.workspace_id)
        if workspace is None:
            return None
        if wanted.mode == "workspace_threads" or wanted.thread_id is None:
            return Places(workspace)
        fact = self.read_thread(tx, wanted.thread_id)
        if fact is None or fact.workspace_id != wanted.workspace_id:
            return None
        thread = store.find_scope(tx, "thread", wanted.thread_id)
        if wanted.mode == "related_threads":
            return Places(workspace, other_than=thread)
        return Places(workspace, thread=thread) if thread is not None else None

    def _rank(self, tx: Tx, places: Places, request: Request) -> Ranking:
        if request.browses:  # newest first; each of it is what was asked for
            newest = store.find_chunks_by_time(tx, places, request.wanted, request.work)
            return Ranking([Ranked(candidate=chunk, score=1.0, breakdown={"time": 1.0}) for chunk in newest], {})
        frequencies = {
            term: store.count_matches(tx, match_of(Places(places.workspace), [term]), TERM_CAP)
            for term in request.terms
        }
        chunks, terms = store.totals_of(tx, places.workspace)
        known = Statistics(chunks=chunks, average_terms=terms / max(chunks, 1), frequencies=frequencies)
        weights = {term: known.weight(term) for term in request.terms}
        chosen = telling_terms(request.terms, frequencies)
        if not chosen:
            return Ranking([], weights)
        candidates = store.find_chunks(tx, match_of(places, chosen), request.wanted, request.work)
        return Ranking(rank(candidates, weights, known.average_terms), weights)

    def _told(self, tx: Tx, places: Places, request: Request, shown: "_Display") -> Found:
        """The hits with the reasons why there are no more."""
        is_pending = store.has_pending(tx, places, request.wanted)
        is_partial = shown.has_partial if shown.hits else store.has_partial(tx, places)
        reasons: tuple[tuple[bool, DiagnosticCode], ...] = (
            (is_pending, "index_pending"),
            (shown.skipped > 0, "budget_too_small"),
            (not shown.hits and not shown.skipped and shown.below > 0, "below_floor"),
            (not shown.hits and not shown.skipped and not shown.below, "no_match"),
            (is_partial, "partial_item"),
            (True, "semantic_off"),
        )
        artifacts = self.read_artifacts(tx, [hit.item_id for hit in shown.hits])
        return Found(
            hits=[
                structs.replace(hit, artifacts=self._named_safely(artifacts.get(hit.item_id, []))) for hit in shown.hits
            ],
            whole=frozenset(shown.whole),
            names={hit.thread_id: self._name_of(tx, hit.thread_id) for hit in shown.hits},
            status="partial" if is_pending else "completed" if shown.hits else "empty",
            diagnostics=[code for applies, code in reasons if applies],
            candidates=shown.candidates,
            cut_reason=shown.cut_reason,
        )

    def _named_safely(self, refs: Sequence[ArtifactRef]) -> list[ArtifactRef]:
        """File references as they are shown: a secret in a name is masked like one in a text."""
        return [structs.replace(ref, name=self.scanner.mask(ref.name)) for ref in refs]

    def _name_of(self, tx: Tx, thread_id: str) -> str:
        fact = self.read_thread(tx, thread_id)
        return (fact.name if fact else None) or thread_id


class _Display:
    """Fills the room with hits, best first: the gate, the floor, the number, the snippet, the room."""

    def __init__(self, searcher: Searcher, tx: Tx, request: Request, ranking: Ranking) -> None:
        self._searcher = searcher
        self._tx = tx
        self._request = request
        self._ranking = ranking
        self._items: dict[str, tuple[ItemFact | None, bytes | None]] = {}
        self._secrets: dict[str, list[SecretSpan]] = {}
        self.hits: list[ThreadHit] = []
        self.whole: set[str] = set()
        self.candidates = len(ranking.ranked)
        self.skipped = 0
        self.below = 0
        self.has_partial = False
        self.cut_reason = "none"

    def fill(self) -> None:
        """Take what fits."""
        request, room, passed = self._request, self._request.room, 0
        for item in self._ranking.ranked:
            if len(self.hits) == request.limit:
                self.cut_reason = "limit"
                return
            if item.candidate.chunk_id in request.known_chunks:
                continue
            fact = self._visible_item(item.candidate)
            if fact is None:
                continue
            if item.score < request.floor.score and passed >= request.floor.kept:
                self.below += 1
                self.cut_reason = "floor"
                return
            passed += 1
            hit = self._hit(item, fact)
            if len(hit.snippet) > room:
                self.skipped += 1
                self.cut_reason = "room"
                continue
            room -= len(hit.snippet)
            self.hits.append(hit)
            self.has_partial = self.has_partial or item.candidate.is_partial

    def _visible_item(self, candidate: Candidate) -> ItemFact | None:
        if candidate.item_id not in self._items:
            fact = self._searcher.read_items(self._tx, [candidate.item_id]).get(candidate.item_id)
            self._items[candidate.item_id] = (fact, self._searcher.hash_of(fact) if fact else None)
        fact, source_hash = self._items[candidate.item_id]
        return fact if is_visible(candidate, fact, source_hash, self._request.wanted) else None

    def _hit(self, item: Ranked, fact: ItemFact) -> ThreadHit:
        chunk = item.candidate
        if fact.item_id not in self._secrets:
            self._secrets[fact.item_id] = self._searcher.scanner.find(fact.text)
        text = mask_range(fact.text, self._secrets[fact.item_id], chunk.start, chunk.end)
        snippet = snippet_of(text, self._request.snippet_chars, self._weigh)
        if snippet.is_whole:
            self.whole.add(chunk.chunk_id)
        return ThreadHit(
            chunk_id=chunk.chunk_id, source_id=chunk.chunk_id, thread_id=chunk.thread_id, turn_id=chunk.turn_id,
            item_id=chunk.item_id, chunk_index=chunk.position, role=chunk.role, at=chunk.at, snippet=snippet.text,
            text=text, score=round(item.score, 6), breakdown=dict(item.breakdown), artifacts=[],
        )  # fmt: skip

    def _weigh(self, text: str) -> float:
        """What a part of a chunk holds of the query."""
        held = set(self._searcher.lexicon.index_terms(text))
        return sum(weight for term, weight in self._ranking.weights.items() if term in held)
