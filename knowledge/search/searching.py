"""Search over files, conversation and memory: find in each house's own index, verify files on the disk, show.

Rule 1: a hit of a file is shown only as its file says it now; what was dropped is counted, never hidden.
Rule 2: secrets are masked whatever was masked before.
"""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import anyio.to_thread

from knowledge.index.reading import hash_of
from knowledge.ports import KnowledgeMeans
from knowledge.rows.collections import KnownCollection
from knowledge.rows.files import count_pending, hurry_files
from knowledge.search.addresses import write_address
from knowledge.search.finding import RankedPiece, find_pieces
from knowledge.search.others import SNIPPET_CHARS, in_order, of_conversation, of_memory
from knowledge.search.verifying import Disk, ShownPiece
from knowledge.search.visible import Part, chosen, part_of, visible_collections, workspace_of
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
)
from protocol.memory import Context, SearchParams
from protocol.seams.ports import Tx
from protocol.thread_episodic import ThreadSearchParams

HITS_OF_A_FILE = 2
"""Of one file in one answer, unless it is the one that was asked for: other files have something to say as well."""


class FoundFiles(NamedTuple):
    """Hits of files, the rows of files that say something else now, and how many pieces were dropped."""

    hits: list[KnowledgeHit]
    stale: set[int]
    dropped: int
    crowded: int


class _Snapshot(NamedTuple):
    collections: list[KnownCollection]
    ranked: list[RankedPiece]
    pending: int


class KnowledgeSearcher:
    """Answers `knowledge/search`."""

    def __init__(self, means: KnowledgeMeans) -> None:
        self._means = means

    async def search(self, params: KnowledgeSearchParams) -> KnowledgeSearchResult:
        """Return hits of all houses that the options let through."""
        snapshot, found = await self.find_files(params)
        hits = [*found.hits, *await self._memory(params), *await self._conversation(params)]
        ordered = in_order(hits)[: params.max_results]
        return KnowledgeSearchResult(
            hits=ordered, freshness=_freshness(snapshot), semantic="off",
            diagnostics=_diagnostics(snapshot, found, ordered)
        )  # fmt: skip

    async def find_files(self, params: KnowledgeSearchParams) -> tuple[_Snapshot, FoundFiles]:
        """Return the hits of files, verified; files that changed are queued to be read again first."""
        means = self._means
        part = part_of(params.entity) if params.entity is not None else None
        asks_files = params.source in {None, "file"} or (params.source or "").startswith("collection:")
        is_known = params.entity is None or part is not None
        terms = means.lexicon.query_terms(params.query)

        def read(tx: Tx) -> _Snapshot:
            every = visible_collections(tx, means, params.context)
            wanted = chosen(every, params.source) if asks_files else []
            ranked = find_pieces(tx, terms, wanted, part, params) if is_known else []
            return _Snapshot(wanted, ranked, count_pending(tx, [known.id for known in wanted]))

        snapshot = await means.db.read(read)
        work = partial(self._verify, snapshot.ranked, params.max_results, part, terms)
        found = await anyio.to_thread.run_sync(work)
        if found.stale:
            now = means.clock.now()
            await means.db.jot(lambda tx: self._hurry(tx, snapshot.collections, sorted(found.stale), now))
        return snapshot, found

    def _hurry(self, tx: Tx, collections: Sequence[KnownCollection], files: Sequence[int], now: int) -> None:
        hurry_files(tx, files, now)
        for known in collections:
            self._means.jobs.enqueue(tx, "scan", known.collection_id)

    def _verify(
        self, ranked: Sequence[RankedPiece], most: int, part: Part | None, terms: Sequence[str]
    ) -> FoundFiles:  # fmt: skip
        hits: list[KnowledgeHit] = []
        of_content: Counter[int] = Counter()
        dropped = crowded = 0
        with Disk(self._means.open_root, partial(hash_of, self._means)) as disk:
            for one in ranked:
                if len(hits) >= most:
                    break
                is_asked = part is not None and any(place.path == part.path for place in one.places)
                if of_content[one.piece.content] >= HITS_OF_A_FILE and not is_asked:
                    crowded += 1
                    continue
                shown = disk.show(one.piece, one.places)
                if shown is None:
                    dropped += 1
                    continue
                of_content[one.piece.content] += 1
                hits.append(self._hit(one, shown, terms))
            return FoundFiles(hits, disk.stale, dropped, crowded)

    def _hit(self, one: RankedPiece, shown: ShownPiece, terms: Sequence[str]) -> KnowledgeHit:
        mask = self._means.scanner.mask
        place = shown.places[0]
        address = write_address(
            place.collection_id, place.path, shown.from_line, shown.to_line, one.piece.text_hash
        )  # fmt: skip
        text = mask(shown.text)
        headings = [mask(heading) for heading in shown.headings]
        return KnowledgeHit(
            ref=HitRef(kind="chunk", id=address), chunk_id=f"piece:{one.piece.id}", source="file", trust="untrusted",
            address=address,
            title=headings[0] if headings else mask(place.name), heading=headings,
            anchor=headings[-1] if headings else None,
            locations=[
                Location(collection_id=at.collection_id, path=at.path, from_line=shown.from_line, to_line=shown.to_line)
                for at in shown.places
            ],
            snippet=self._snippet(text, terms), text=text, score=one.score, breakdown=one.parts,
            importance=one.piece.importance,
            topics=one.topics, entities=[], at=place.mtime_ns // 1_000_000,
        )  # fmt: skip

    def _snippet(self, text: str, terms: Sequence[str]) -> str:
        """Return the part of a text around the line that has most of the question's terms."""
        lines = text.splitlines(keepends=True)
        asked = set(terms)
        scores = [len(asked.intersection(self._means.lexicon.index_terms(line))) for line in lines]
        best = max(range(len(lines)), key=lambda place: (scores[place], -place), default=0)
        return shorten("".join(lines[best:]).strip() or text.strip(), SNIPPET_CHARS)

    async def _memory(self, params: KnowledgeSearchParams) -> list[KnowledgeHit]:
        is_asked = params.source in {None, "memory", "heartbeat", "consolidation"} and params.entity is None
        if not is_asked or not self._means.has_memory():
            return []
        limit = min(100, params.max_results * 2)
        context = Context(workspace_id=workspace_of(params.context), thread_id=params.context.thread_id,
                          agent_id=params.context.agent_id, task_id=params.context.task_id,
                          include_user=params.context.include_user)  # fmt: skip
        try:
            found = await self._means.search_memory(SearchParams(query=params.query, limit=limit, context=context))
        except GatewayError as error:
            if error.reason in {"memory_ignored", "memory_disabled", "scope_out_of_context"}:
                return []
            raise
        return [hit for one in found.hits if (hit := of_memory(one, params)) is not None]

    async def _conversation(self, params: KnowledgeSearchParams) -> list[KnowledgeHit]:
        if params.source not in {None, "conversation"} or params.entity is not None:
            return []
        asked = ThreadSearchParams(
            workspace_id=workspace_of(params.context), query=params.query, limit=params.max_results
        )
        found = await self._means.search_conversation(asked)
        return [hit for one in found.hits if (hit := of_conversation(one, params)) is not None]


def _freshness(snapshot: _Snapshot) -> Freshness:
    """Return how new the index of the searched collections is; that of none is whole."""
    scanned = [known.scanned_at for known in snapshot.collections]
    is_stale = snapshot.pending > 0 or any(at is None for at in scanned)
    known_at = [at for at in scanned if at is not None]
    return Freshness(
        state="stale" if is_stale else "scanned", scanned_at=min(known_at) if known_at else None,
        pending_files=snapshot.pending
    )  # fmt: skip


def _diagnostics(snapshot: _Snapshot, found: FoundFiles, hits: Sequence[KnowledgeHit]) -> list[Diagnostic]:
    told: list[Diagnostic] = []
    if found.dropped:
        told.append(Diagnostic(code="stale_dropped", data={"count": found.dropped}))
    gone = [known.collection_id for known in snapshot.collections if known.state == "unavailable"]
    if gone:
        told.append(Diagnostic(code="collection_unavailable", data={"collection_ids": gone}))
    if snapshot.pending or any(known.scanned_at is None for known in snapshot.collections):
        told.append(Diagnostic(code="index_pending", data={"count": snapshot.pending}))
    if snapshot.collections:
        told.append(Diagnostic(code="semantic_off"))
    if not hits:
        told.append(Diagnostic(code="no_match"))
    return told
