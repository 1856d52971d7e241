"""Search over files, conversation and memory: each house's own index finds hits, and those of files are verified.

Rule 1: a hit of a file has the file's present text. Hits that were dropped for it are counted in the diagnostics.
Rule 2: secrets are masked in every shown text, also where the index masked them.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import anyio.to_thread
import msgspec
from msgspec import Struct

from knowledge.index.reading import hash_of
from knowledge.ports import KnowledgeMeans
from knowledge.rows.collections import KnownCollection
from knowledge.rows.contents import read_packed_texts
from knowledge.rows.files import count_pending, hurry_files
from knowledge.rows.vectors import has_waiting
from knowledge.scan.returning import ReturnLooks
from knowledge.search.addresses import write_address
from knowledge.search.demands import NO_DEMANDS, SearchDemands
from knowledge.search.entities import find_part
from knowledge.search.finding import FileQuestion, RankedPiece, find_pieces
from knowledge.search.others import SNIPPET_CHARS, drop_repeated, order_hits, to_conversation_hit, to_memory_hit
from knowledge.search.related import (
    Related,
    RelatedPieces,
    add_related_score,
    entities_of,
    find_related,
    read_related,
    show_related,
    titles_of_hits,
)
from knowledge.search.verifying import Disk, ShownPiece
from knowledge.search.visible import Part, collections_from, select_by_source, viewpoint_of
from knowledge.walk.current_rules import CurrentRules
from promt.render import shorten
from protocol.base import Diagnostic
from protocol.errors import GatewayError
from protocol.files.knowledge import (
    Freshness,
    HitRef,
    KnowledgeHit,
    KnowledgeSearchParams,
    KnowledgeSearchResult,
    Location,
    ScoreParts,
)
from protocol.hooks import TurnContext
from protocol.memory.reads import SearchParams
from protocol.memory.values import SemanticState
from protocol.seams.ports import Tx
from protocol.thread_episodic import ThreadSearchParams

SEARCH_PATIENCE = 1.5
"""Seconds that a search waits for its question's vector: the first search may wait for the model to load."""
MOST_PDFS = 50
"""PDF files whose text is read for one answer, those of the best hits."""
HITS_OF_A_FILE = 2
"""The most hits of one file in an answer, so that other files are shown, too; the file that was asked for has more."""


class FoundFiles(NamedTuple):
    """The verified hits of files."""

    hits: list[KnowledgeHit]
    stale: set[int]
    """The rows of files that changed since they were indexed."""
    dropped: frozenset[int]
    """Pieces that no file has any more."""
    crowded: frozenset[int]
    """Pieces beyond `HITS_OF_A_FILE`."""


class _Snapshot(Struct, frozen=True):
    """Everything that a search reads of the database, in one transaction."""

    workspace_id: str
    collections: list[KnownCollection]
    ranked: list[RankedPiece]
    pending: int
    semantic: SemanticState
    packed: Mapping[int, bytes]
    """The compressed texts of PDF files, by the rows of their contents."""
    rules: CurrentRules
    part: Part | None = None
    """The files of the entity that was asked for."""
    unknown: str | None = None
    """The sentence that says which name is unknown here, or that there is no collection; None otherwise."""

    @property
    def away(self) -> list[KnownCollection]:
        """Return the collections whose folder is away: nothing of them is shown."""
        return [known for known in self.collections if known.state == "unavailable"]


class KnowledgeSearcher:
    """Answers `knowledge/search`."""

    def __init__(self, means: KnowledgeMeans, returns: ReturnLooks) -> None:
        self._means = means
        self._returns = returns

    async def search(self, params: KnowledgeSearchParams, turn: TurnContext | None = None) -> KnowledgeSearchResult:
        """Return hits of all houses that the options let through, for a client or for the tool of a turn."""
        snapshot, found = await self.find_files(params, SearchDemands(turn))
        if params.include_related:
            found = await self._with_related(params, snapshot, found)
        hits = [
            *found.hits,
            *await self._search_memory(params, turn),
            *await self._search_conversation(params, snapshot.workspace_id),
        ]
        ordered = await self._with_entities(drop_repeated(order_hits(hits))[: params.max_results])
        return KnowledgeSearchResult(
            hits=ordered,
            freshness=_describe_freshness(snapshot),
            semantic=snapshot.semantic,
            diagnostics=_list_diagnostics(snapshot, found, ordered),
        )

    async def find_files(
        self, params: KnowledgeSearchParams, demands: SearchDemands = NO_DEMANDS
    ) -> tuple[_Snapshot, FoundFiles]:
        """Return the verified hits of files; changed files are queued to be read before others, and what is back."""
        means = self._means
        asks_files = params.source in {None, "file"} or (params.source or "").startswith("collection:")
        terms = means.lexicon.query_terms(params.query)
        vector = await means.meaning.of_query(params.query, SEARCH_PATIENCE) if asks_files else None
        asked = FileQuestion(terms, vector)

        def read(tx: Tx) -> _Snapshot:
            viewpoint = viewpoint_of(tx, means, params.context, demands.turn)
            every = collections_from(tx, viewpoint)
            wanted = select_by_source(every, params.source) if asks_files else []
            wanted = [known for known in wanted if known.recall or not demands.recalled_only]
            part = find_part(tx, every, params.entity) if params.entity is not None else None
            is_known = params.entity is None or part is not None
            ranked = find_pieces(tx, asked, means.meaning, wanted, part, params) if is_known else []
            ranked = [one for one in ranked if one.score >= demands.floor and one.address() not in demands.shown]
            pending = count_pending(tx, [known.id for known in wanted])
            packed = read_packed_texts(tx, (one.piece for one in ranked), MOST_PDFS)
            semantic = self._state_of_meaning(tx, wanted, asked)
            rules = CurrentRules(wanted, self._means.settings())
            unknown = _find_unknown(params, every, wanted, is_known=is_known) if asks_files else None
            return _Snapshot(viewpoint.workspace_id, wanted, ranked, pending, semantic, packed, rules, part, unknown)

        snapshot = await means.db.read(read)
        self._returns.begin(snapshot.collections)
        work = partial(self._verify, snapshot, params.max_results, terms)
        found = await anyio.to_thread.run_sync(work, abandon_on_cancel=True)  # it only reads
        await self._hurry_files(snapshot, found.stale)
        return snapshot, found

    def _state_of_meaning(self, tx: Tx, wanted: Sequence[KnownCollection], asked: FileQuestion) -> SemanticState:
        """Return the model's state where all pieces were compared by meaning, `pending` where some were, else `off`."""
        state = self._means.meaning.state()
        if state == "off" or not any(known.meaning != "off" for known in wanted):
            return "off"
        is_behind = asked.vector is None or has_waiting(tx, sorted({known.owner for known in wanted}))
        return "pending" if is_behind else state

    async def _with_related(self, params: KnowledgeSearchParams, snapshot: _Snapshot, found: FoundFiles) -> FoundFiles:
        """Return the hits of files with their neighbours; a neighbour that changed since it was indexed is dropped."""
        terms = self._means.lexicon.query_terms(params.query)
        least = min((hit.score for hit in found.hits), default=0.0) if len(found.hits) >= params.max_results else 0.0

        def read(tx: Tx) -> tuple[dict[tuple[str, str], Related], list[RelatedPieces], dict[int, bytes]]:
            related = find_related(tx, found.hits, snapshot.collections, snapshot.part)
            hit_files = {(at.collection_id, at.path) for hit in found.hits for at in hit.locations}
            fresh = [one for key, one in related.items() if key not in hit_files and one.score >= least]
            pieces = [one for each in fresh if (one := read_related(tx, each, params)) is not None]
            return related, pieces, read_packed_texts(tx, (one.pieces[0] for one in pieces), MOST_PDFS)

        def show(others: Sequence[RelatedPieces], packed: Mapping[int, bytes]) -> FoundFiles:
            hits: list[KnowledgeHit] = []
            dropped: set[int] = set()
            with self._open_disk(snapshot, packed) as disk:
                for one in others:
                    shown = show_related(disk, one)
                    if shown is None:
                        dropped.add(one.pieces[0].id)
                        continue
                    piece = RankedPiece(shown[0], one.places, ScoreParts(related=one.related.score), [])
                    hit = self._to_hit(piece, shown[1], terms)
                    hits.append(msgspec.structs.replace(hit, via=one.related.via))
                return FoundFiles(hits, disk.stale, frozenset(dropped), frozenset())

        related, others, packed = await self._means.db.read(read)
        hits = [
            add_related_score(hit, related[key])
            if (key := (hit.locations[0].collection_id, hit.locations[0].path)) in related
            else hit
            for hit in found.hits
        ]
        linked = await anyio.to_thread.run_sync(show, others, packed, abandon_on_cancel=True)
        await self._hurry_files(snapshot, linked.stale)
        stale, dropped = found.stale | linked.stale, found.dropped | linked.dropped
        return FoundFiles([*hits, *linked.hits], stale, dropped, found.crowded)

    def _open_disk(self, snapshot: _Snapshot, packed: Mapping[int, bytes]) -> Disk:
        return Disk(self._means.open_root, partial(hash_of, self._means), snapshot.rules, packed)

    async def _with_entities(self, hits: Sequence[KnowledgeHit]) -> list[KnowledgeHit]:
        """Return the hits; those of files with their entities and the titles of the front matter."""
        of_files = [hit for hit in hits if hit.source == "file"]
        if not of_files:
            return list(hits)
        known, titles = await self._means.db.read(lambda tx: (entities_of(tx, of_files), titles_of_hits(tx, of_files)))
        mask = self._means.scanner.mask
        return [
            msgspec.structs.replace(
                hit,
                entities=known.get(hit.address, hit.entities),
                title=mask(titles[hit.address]) if hit.address in titles else hit.title,
            )
            for hit in hits
        ]

    async def _hurry_files(self, snapshot: _Snapshot, files: Collection[int]) -> None:
        """Queue changed files to be read before others, and scans of the searched collections."""
        now = self._means.clock.now()

        def write(tx: Tx) -> None:
            hurry_files(tx, sorted(files), now)
            for known in snapshot.collections:
                self._means.jobs.enqueue(tx, "scan", known.collection_id)

        if files:
            await self._means.db.jot(write)

    def _verify(self, snapshot: _Snapshot, most: int, terms: Sequence[str]) -> FoundFiles:
        """Return the first `most` ranked pieces that their files still have, as hits."""
        part = snapshot.part
        hits: list[KnowledgeHit] = []
        of_content: Counter[int] = Counter()
        crowded: set[int] = set()
        addresses: set[str] = set()
        dropped: set[int] = set()
        with self._open_disk(snapshot, snapshot.packed) as disk:
            for one in snapshot.ranked:
                if len(hits) >= most:
                    break
                is_asked = part is not None and any(place.path == part.path for place in one.places)
                if of_content[one.piece.content] >= HITS_OF_A_FILE and not is_asked:
                    crowded.add(one.piece.id)
                    continue
                shown = disk.show(one.piece, one.places)
                if shown is None:
                    dropped.add(one.piece.id)
                    continue
                hit = self._to_hit(one, shown, terms)
                if hit.address in addresses:  # a line that says the same over and over is in several pieces
                    crowded.add(one.piece.id)
                    continue
                addresses.add(hit.address)
                of_content[one.piece.content] += 1
                hits.append(hit)
            return FoundFiles(hits, disk.stale, frozenset(dropped), frozenset(crowded))

    def _to_hit(self, one: RankedPiece, shown: ShownPiece, terms: Sequence[str]) -> KnowledgeHit:
        mask = self._means.scanner.mask
        place = shown.places[0]
        address = write_address(place.collection_id, place.path, shown.from_line, shown.to_line, one.piece.text_hash)
        text = mask(shown.text)
        headings = [mask(heading) for heading in shown.headings]
        return KnowledgeHit(
            ref=HitRef(kind="chunk", id=address),
            chunk_id=f"piece:{one.piece.id}",
            source="file",
            trust="untrusted",
            address=address,
            title=headings[0] if headings else mask(place.name),
            heading=headings,
            anchor=headings[-1] if headings else None,
            locations=[
                Location(
                    collection_id=at.collection_id,
                    path=at.path,
                    from_line=shown.from_line,
                    to_line=shown.to_line,
                    page=one.piece.page,
                )
                for at in shown.places
            ],
            snippet=self._cut_snippet(text, terms),
            text=text,
            score=one.score,
            breakdown=one.parts,
            importance=one.piece.importance,
            topics=one.topics,
            entities=[],
            at=place.mtime_ns // 1_000_000,
        )

    def _cut_snippet(self, text: str, terms: Sequence[str]) -> str:
        """Return the part of a text around the line that has most of the question's terms."""
        lines = text.splitlines(keepends=True)
        asked = set(terms)
        scores = [len(asked.intersection(self._means.lexicon.index_terms(line))) for line in lines]
        best = max(range(len(lines)), key=lambda place: (scores[place], -place), default=0)
        return shorten("".join(lines[best:]).strip() or text.strip(), SNIPPET_CHARS)

    async def _search_memory(self, params: KnowledgeSearchParams, turn: TurnContext | None) -> list[KnowledgeHit]:
        is_asked = params.source in {None, "memory", "heartbeat", "consolidation"} and params.entity is None
        if not is_asked or not self._means.has_memory():
            return []
        limit = min(100, params.max_results * 2)
        asked = SearchParams(query=params.query, limit=limit, context=params.context)
        try:
            if turn is None:
                found = await self._means.search_memory(asked)
            else:
                found = await self._means.search_memory_in_turn(turn, asked)
        except GatewayError as error:
            if error.reason in {"memory_ignored", "memory_disabled", "scope_out_of_context"}:
                return []
            raise
        return [hit for one in found.hits if (hit := to_memory_hit(one, params)) is not None]

    async def _search_conversation(self, params: KnowledgeSearchParams, workspace_id: str) -> list[KnowledgeHit]:
        if params.source not in {None, "conversation"} or params.entity is not None:
            return []
        asked = ThreadSearchParams(workspace_id=workspace_id, query=params.query, limit=params.max_results)
        found = await self._means.search_conversation(asked)
        return [hit for one in found.hits if (hit := to_conversation_hit(one, params)) is not None]


def _describe_freshness(snapshot: _Snapshot) -> Freshness:
    """Return how new the index of the searched collections is; without any it is `scanned`.

    It is `stale` also while a folder is out of reach, or files that are gone from it are withheld.
    """
    scanned = [known.scanned_at for known in snapshot.collections]
    is_withholding = bool(snapshot.away) or any(known.withheld_at is not None for known in snapshot.collections)
    is_stale = snapshot.pending > 0 or is_withholding or any(at is None for at in scanned)
    is_live = bool(scanned) and all(known.state == "live" for known in snapshot.collections)
    known_at = [at for at in scanned if at is not None]
    return Freshness(
        state="stale" if is_stale else "live" if is_live else "scanned",
        scanned_at=min(known_at) if known_at else None,
        pending_files=snapshot.pending,
    )


def _find_unknown(
    params: KnowledgeSearchParams,
    every: Sequence[KnownCollection],
    wanted: Sequence[KnownCollection],
    *,
    is_known: bool,
) -> str | None:
    """Return the sentence that says which name is unknown here, or that no folder is indexed; None otherwise."""
    if not every:
        return "No folder is indexed for this workspace."
    if not wanted and (params.source or "").startswith("collection:"):
        return "This workspace has no collection of that id."
    return None if is_known else "No file, folder or collection has that name."


def _list_diagnostics(snapshot: _Snapshot, found: FoundFiles, hits: Sequence[KnowledgeHit]) -> list[Diagnostic]:
    diagnostics: list[Diagnostic] = []
    if found.dropped:
        diagnostics.append(Diagnostic(code="stale_dropped", data={"count": len(found.dropped)}))
    away = [known.collection_id for known in snapshot.away]
    if away:
        diagnostics.append(Diagnostic(code="collection_unavailable", data={"collection_ids": away}))
    if snapshot.pending or any(known.scanned_at is None for known in snapshot.collections):
        diagnostics.append(Diagnostic(code="index_pending", data={"count": snapshot.pending}))
    if snapshot.collections and snapshot.semantic == "off":
        diagnostics.append(Diagnostic(code="semantic_off"))
    if not hits:
        diagnostics.append(Diagnostic(code="no_match", message=snapshot.unknown))
    return diagnostics
