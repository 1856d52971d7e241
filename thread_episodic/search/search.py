"""Answers a search: filter, find, rank, cut, gate, budget, in this order.

Rule 1: what is returned went through the visibility gate in the same snapshot.
Rule 2: what could be about the question is found in `finding.py`, how well it fits is decided in `ranking.py`, and what
of it is shown in `display.py`.
"""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field, structs

from protocol.conversation.artifacts import ArtifactRef
from protocol.seams.house_facts import EchoSpans, ItemFact, ReadItems, ReadThread, WorkspaceExists
from protocol.seams.ports import Clock, KeyedHash, Lexicon, Meaning, SecretScanner, Tx
from protocol.thread_episodic import DiagnosticCode, SearchStatus, ThreadHit
from thread_episodic.ports import ReadArtifacts
from thread_episodic.rows import lookups
from thread_episodic.rows.scopes import find_scope
from thread_episodic.search.display import Display, KnownSecrets, Limits, RankedChunks
from thread_episodic.search.finding import SESSION_GAP_MS, ChunkFinder, ChunkQuery
from thread_episodic.search.kept_rankings import KeptRankings
from thread_episodic.search.ranking import Ranked, rank
from thread_episodic.search.text_scan import IndexedWords, ScannedWords, TermScan
from thread_episodic.values import ChunkCandidate, Filter, Places

TOOL_PART = 0.7  # of the score: what a tool did is seldom what was said about it
TELLING_WORD = "zebrafish"  # any word that is no function word in any language


class ChunkSearch(Struct, frozen=True, kw_only=True):
    """A search with its budgets."""

    wanted: Filter
    asked: ChunkQuery
    limits: Limits
    work: int
    max_segments: int
    is_newest: bool = False
    """The newest is wanted: what has any of the words comes first, and the rest after it."""
    cache_seconds: int = 0
    """The age up to which a ranking of the same question is used again."""
    scans_chunks: bool = False
    """The words are looked for in the chunks themselves, because the full-text index is in doubt."""


class FoundChunks(Struct, frozen=True, kw_only=True):
    """Hits, best first, with what explains them."""

    hits: list[ThreadHit]
    status: SearchStatus
    diagnostics: list[DiagnosticCode]
    cut_reason: str
    candidates: int = 0
    whole: frozenset[str] = frozenset()
    """The chunk ids whose snippet is the whole chunk."""
    shown: frozenset[str] = frozenset()
    """The chunk ids that the hits are of, joined ones too."""
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    """The hits' threads by id: their names, or the ids of those without."""


def is_vague(lexicon: Lexicon, query: str) -> bool:
    """Return whether a query has function words only.

    The lexicon drops function words beside a telling word: a query that adds nothing to one has no other words.
    """
    return lexicon.query_terms(f"{TELLING_WORD} {query}") == lexicon.query_terms(TELLING_WORD)


def add_answers(tx: Tx, places: Places, request: ChunkSearch, ranking: RankedChunks) -> RankedChunks:
    """Return the ranking with an assistant's answer behind each of the best messages of a user, of the same score.

    Only speakers without a name are meant: people who have names answer each other.
    """
    best = [ranking.candidates[one.row] for one in ranking.ranked[: request.limits.hits]]
    said = [one.id for one in best if one.role == "user" and not one.is_named]
    after = {row: beside.after for row, beside in lookups.chunks_beside(tx, said, SESSION_GAP_MS).items()}
    missing = [row for row in after.values() if row is not None and row not in ranking.candidates]
    candidates = {**ranking.candidates, **lookups.chunks_by_row(tx, missing, places, request.wanted)}
    ranked: list[Ranked] = []
    taken: set[int] = set()
    for one in ranking.ranked:
        answer = candidates.get(after.get(one.row) or 0)
        pair = [one] if answer is None or answer.role != "assistant" else [one, one._replace(row=answer.id)]
        ranked += [part for part in pair if part.row not in taken]
        taken.update(part.row for part in pair)
    return ranking._replace(ranked=ranked, candidates=candidates)


class Searcher:
    """Searches in a read snapshot; reads messages through the ports of their owner."""

    def __init__(
        self,
        *,
        lexicon: Lexicon,
        meaning: Meaning,
        scanner: SecretScanner,
        hash_of: Callable[[ItemFact], bytes],
        keyed: KeyedHash,
        clock: Clock,
        read_items: ReadItems,
        echo_spans: EchoSpans,
        read_thread: ReadThread,
        read_artifacts: ReadArtifacts,
        workspace_exists: WorkspaceExists,
    ) -> None:
        self._keyed = keyed
        self._kept = KeptRankings(clock)
        self._lexicon = lexicon
        self._meaning = meaning
        self._scanner = scanner
        self._secrets = KnownSecrets(scanner)
        self._hash_of = hash_of
        self._read_items = read_items
        self._echo_spans = echo_spans
        self._read_thread = read_thread
        self._read_artifacts = read_artifacts
        self._workspace_exists = workspace_exists

    def search(self, tx: Tx, request: ChunkSearch) -> FoundChunks:
        """Return the hits of a request, by a kept ranking of the same question where one holds."""
        places = self._places(tx, request.wanted)
        if places is None:
            return FoundChunks(
                hits=[], whole=frozenset(), status="empty", diagnostics=["no_match"], cut_reason="nothing_there"
            )
        is_kept = request.cache_seconds > 0 and not (request.is_newest or request.scans_chunks)
        key = self._key_of(request) if is_kept else b""
        terms = request.asked.terms
        reused = self._kept.find(tx, key, places, request.wanted, terms, request.cache_seconds) if is_kept else None
        if reused is not None:
            shown = self._build_display(tx, request, reused.ranking)
            if not (shown.is_exhausted and reused.is_cut):  # else a row that was not kept could be shown
                shown.candidates = reused.found
                return self._build_found_chunks(tx, places, request, shown, is_limited=reused.ranking.is_limited)
        ranking = self._rank(tx, places, request)
        if request.limits.has_answers:
            ranking = add_answers(tx, places, request, ranking)
        if is_kept and not ranking.is_limited:  # else vectors are still being read, or there are too many
            self._kept.keep(tx, key, places, request.wanted, terms, ranking, request.limits)
        shown = self._build_display(tx, request, ranking)
        return self._build_found_chunks(tx, places, request, shown, is_limited=ranking.is_limited)

    def _build_display(self, tx: Tx, request: ChunkSearch, ranking: RankedChunks) -> Display:
        shown = Display(
            tx,
            request.wanted,
            request.limits,
            ranking,
            lexicon=self._lexicon,
            secrets=self._secrets,
            hash_of=self._hash_of,
            read_items=self._read_items,
            echo_spans=self._echo_spans,
        )
        shown.fill()
        return shown

    def _key_of(self, request: ChunkSearch) -> bytes:
        """Return a keyed digest of all that a ranking depends on, but for what the home holds."""
        limits, asked = request.limits, request.asked
        wanted = structs.replace(request.wanted, excluded_turns=())
        question = wanted, asked, request.work, request.max_segments, limits.hits, limits.floor, limits.has_answers
        return self._keyed.digest("lookback", repr(question))

    def _places(self, tx: Tx, wanted: Filter) -> Places | None:
        """Return where to search; None where nothing can be found."""
        if not self._workspace_exists(tx, wanted.workspace_id):
            return None
        workspace = find_scope(tx, "workspace", wanted.workspace_id)
        if workspace is None:
            return None
        if wanted.mode == "workspace_threads" or wanted.thread_id is None:
            return Places(workspace)
        fact = self._read_thread(tx, wanted.thread_id)
        if fact is None or fact.workspace_id != wanted.workspace_id:
            return None
        thread = find_scope(tx, "thread", wanted.thread_id)
        if wanted.mode == "related_threads":
            return Places(workspace, other_than=thread)
        return Places(workspace, thread=thread) if thread is not None else None

    def _rank(self, tx: Tx, places: Places, request: ChunkSearch) -> RankedChunks:
        words = ScannedWords(tx, places.workspace) if request.scans_chunks else IndexedWords(tx)
        if request.is_newest:
            newest = self._newest(tx, words, places, request)
            return RankedChunks(
                [Ranked(one.id, 1.0, {"time": 1.0}) for one in newest], {one.id: one for one in newest}, {}
            )
        finder = ChunkFinder(
            tx, self._meaning, words, places, request.wanted, work=request.work, max_segments=request.max_segments
        )
        found = finder.find(request.asked)
        ranked = rank(found.question, found.passages, has_meaning=request.asked.vector is not None)
        if any(one.role == "tool" for one in found.candidates.values()):
            ranked = sorted(
                (
                    one._replace(score=one.score * TOOL_PART) if found.candidates[one.row].role == "tool" else one
                    for one in ranked
                ),
                key=lambda one: -one.score,
            )
        return RankedChunks(ranked, found.candidates, found.question.weights, found.is_limited)

    @staticmethod
    def _newest(tx: Tx, words: TermScan, places: Places, request: ChunkSearch) -> list[ChunkCandidate]:
        """Return the newest chunks: those that say any of the words, then the others."""
        workspace = Places(places.workspace)
        saying = {row for term in request.asked.terms for row in words.rows(workspace, term, lookups.NEWEST_LOOKED_AT)}
        rows = sorted(saying, reverse=True)[: lookups.NEWEST_LOOKED_AT]
        return lookups.newest_chunks(tx, places, request.wanted, rows, request.work)

    def _build_found_chunks(
        self, tx: Tx, places: Places, request: ChunkSearch, shown: Display, *, is_limited: bool
    ) -> FoundChunks:
        """Return the hits with the reasons why there are no more."""
        is_pending = lookups.has_pending(tx, places, request.wanted)
        is_partial = shown.has_partial if shown.hits else lookups.has_partial(tx, places)
        reasons: tuple[tuple[bool, DiagnosticCode], ...] = (
            (is_pending, "index_pending"),
            (shown.skipped > 0, "budget_too_small"),
            (not shown.hits and not shown.skipped and shown.below > 0, "below_floor"),
            (not shown.hits and not shown.skipped and not shown.below, "no_match"),
            (is_partial, "partial_item"),
            (is_limited, "segments_limited"),
            (request.asked.vector is None and self._meaning.state() == "off", "semantic_off"),
        )
        artifacts = self._read_artifacts(tx, [hit.item_id for hit in shown.hits])
        return FoundChunks(
            hits=[
                structs.replace(hit, artifacts=self._mask_names(artifacts.get(hit.item_id, []))) for hit in shown.hits
            ],
            whole=frozenset(shown.whole),
            shown=frozenset(shown.shown),
            names={hit.thread_id: self._name_of(tx, hit.thread_id) for hit in shown.hits},
            status="partial" if is_pending else "completed" if shown.hits else "empty",
            diagnostics=[code for applies, code in reasons if applies],
            candidates=shown.candidates,
            cut_reason=shown.cut_reason,
        )

    def _mask_names(self, refs: Sequence[ArtifactRef]) -> list[ArtifactRef]:
        """Return file references as they are shown: a secret in a name is masked like one in a text."""
        return [structs.replace(ref, name=self._scanner.mask(ref.name)) for ref in refs]

    def _name_of(self, tx: Tx, thread_id: str) -> str:
        fact = self._read_thread(tx, thread_id)
        return (fact.name if fact else None) or thread_id
