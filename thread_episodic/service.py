"""The conversation index as the rest of the gateway meets it: the wire's methods and the feed of items.

Rule 1: takes the protocol's Params and returns its Results; one use case, one transaction.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import partial

from protocol import methods as m
from protocol.errors import CallerError
from protocol.hooks import TurnContext
from protocol.methods import Bound, bind
from protocol.seams.house_facts import ItemFact
from protocol.seams.ports import JobHandle, Tx
from protocol.sizes import ConversationSize
from protocol.thread_episodic import (
    ExcludeParams,
    ExcludeResult,
    JobsParams,
    JobsResult,
    ReindexParams,
    ReindexResult,
    RetryParams,
    RetryResult,
    ThreadStatusParams,
    ThreadStatusResult,
    parts_of_chunk,
)
from retrieval.chunking import overlaps
from thread_episodic.index.indexing import Indexer
from thread_episodic.index.message_plans import source_hash_of
from thread_episodic.index.reasons import Reasons
from thread_episodic.index.reindexing import Reindexer
from thread_episodic.index.repair import IndexRepairer
from thread_episodic.index.repair_checks import Mender
from thread_episodic.index.status import StatusReader
from thread_episodic.ports import EpisodicMeans
from thread_episodic.reading import TurnReader
from thread_episodic.rows.chunks import exclude_chunks, readmit_chunks
from thread_episodic.rows.counts import size_of_workspace
from thread_episodic.rows.exclusions import (
    add_exclusion,
    exclusions_of,
    find_excluded_items,
    find_target,
    remove_exclusion,
)
from thread_episodic.rows.scopes import find_scope
from thread_episodic.search.search import Searcher
from thread_episodic.search.vectors import ChunkVectors
from thread_episodic.searching import ConversationSearch


class EpisodicService:
    """Searchable conversation."""

    def __init__(self, means: EpisodicMeans) -> None:
        self._means = means
        hash_of = self._hash_of = partial(source_hash_of, means.keyed)
        self.vectors = ChunkVectors(
            db=means.db,
            jobs=means.jobs,
            meaning=means.meaning,
            scanner=means.scanner,
            read_items=means.read_items,
            echo_spans=means.echo_spans,
            hash_of=hash_of,
        )
        self._indexer = Indexer(
            db=means.db,
            clock=means.clock,
            keyed=means.keyed,
            lexicon=means.lexicon,
            scanner=means.scanner,
            jobs=means.jobs,
            notify=means.notify,
            settings=means.settings,
            read_items=means.read_items,
            echo_spans=means.echo_spans,
            turn_items=means.turn_items,
            workspace_threads=means.workspace_threads,
            vectors=self.vectors,
        )
        searcher = Searcher(
            lexicon=means.lexicon,
            meaning=means.meaning,
            scanner=means.scanner,
            hash_of=hash_of,
            keyed=means.keyed,
            clock=means.clock,
            read_items=means.read_items,
            echo_spans=means.echo_spans,
            read_thread=means.read_thread,
            read_artifacts=means.read_artifacts,
            workspace_exists=means.workspace_exists,
        )
        self.turns = TurnReader(
            db=means.db,
            scanner=means.scanner,
            settings=means.settings,
            read_items=means.read_items,
            read_thread=means.read_thread,
            echo_spans=means.echo_spans,
            thread_turns=means.thread_turns,
            turn_items=means.turn_items,
        )
        mender = Mender(
            clock=means.clock,
            jobs=means.jobs,
            lexicon=means.lexicon,
            meaning=means.meaning,
            indexer=self._indexer,
            vectors=self.vectors,
            read_items=means.read_items,
            hash_of=hash_of,
            items_after=means.items_after,
            searched_space=means.searched_space,
        )
        self.repair = IndexRepairer(db=means.db, jobs=means.jobs, checks=mender.checks, report=means.report_damage)
        self.searching = ConversationSearch(means, searcher, self.repair)
        self.reasons = Reasons()
        self._reindexer = Reindexer(
            db=means.db,
            clock=means.clock,
            jobs=means.jobs,
            vectors=self.vectors,
            read_thread=means.read_thread,
            thread_turns=means.thread_turns,
            workspace_exists=means.workspace_exists,
            workspace_threads=means.workspace_threads,
            repair=self.repair,
        )
        self._status = StatusReader(
            clock=means.clock,
            jobs=means.jobs,
            settings=means.settings,
            workspace_threads=means.workspace_threads,
            paused=means.paused,
            repair_state=self.repair.state,
        )

    def bindings(self) -> list[Bound]:
        """Return the methods of the wire that are answered here."""
        return [
            bind(m.EPISODIC_SEARCH, self.searching.search),
            bind(m.EPISODIC_STATUS, self.status),
            bind(m.EPISODIC_JOBS, self.list_jobs),
            bind(m.EPISODIC_RETRY, self.retry),
            bind(m.EPISODIC_REINDEX, self.reindex),
            bind(m.EPISODIC_EXCLUDE, self.exclude),
            bind(m.EPISODIC_UNEXCLUDE, self.unexclude),
        ]

    # -- calls of the conversation house, in the transaction that changes its messages ---------------------------

    def on_items(self, tx: Tx, facts: Sequence[ItemFact]) -> None:
        """Queue messages that this transaction stored or replaced; an edited one leaves the index at once."""
        self._indexer.on_items(tx, facts)

    def on_redacted(self, tx: Tx, facts: Sequence[ItemFact]) -> None:
        """Queue messages whose text, or whose thread's name, was redacted.

        Everything that was derived from the old words is removed first.
        """
        self._indexer.on_items_removed(tx, [fact.item_id for fact in facts])
        self._indexer.on_items(tx, facts)

    def on_items_removed(self, tx: Tx, item_ids: Collection[str]) -> None:
        """Remove from the index the messages that this transaction removes."""
        self._indexer.on_items_removed(tx, item_ids)

    def on_thread_deleted(self, tx: Tx, thread_id: str) -> Mapping[str, int]:
        """Remove a thread that this transaction deletes; return how many rows were removed, by kind."""
        return self._indexer.on_thread_deleted(tx, thread_id)

    def on_workspace_deleted(self, tx: Tx, workspace_id: str) -> Mapping[str, int]:
        """Remove a workspace that this transaction deletes; return how many rows were removed, by kind."""
        return self._indexer.on_workspace_deleted(tx, workspace_id)

    def size(self, tx: Tx, turn: TurnContext) -> ConversationSize:
        """Return how much conversation a turn may search. Satisfies `MeasureConversation`."""
        settings = self._means.settings()
        place = find_scope(tx, "workspace", turn.workspace_id)
        if place is None or not (settings.enabled and settings.recall_enabled):
            return ConversationSize(threads=0, chunks=0, oldest_at=None)
        chunks, oldest_at = size_of_workspace(tx, place)
        threads = len(self._means.workspace_threads(tx, turn.workspace_id))
        return ConversationSize(threads=threads, chunks=chunks, oldest_at=oldest_at)

    def marks(self, tx: Tx, chunk_ids: Sequence[str]) -> dict[str, bytes]:
        """Return by chunk id bytes that change when its message, or what is excluded of it, changes.

        Chunks whose message is gone or not indexable are absent.
        """
        places = {chunk_id: parts for chunk_id in chunk_ids if (parts := parts_of_chunk(chunk_id)) is not None}
        items = list(dict.fromkeys(item_id for _, item_id, _ in places.values()))
        facts = {name: fact for name, fact in self._means.read_items(tx, items).items() if fact.indexable}
        excluded = set(find_excluded_items(tx, items, None))
        of_items = {
            item_id: self._hash_of(fact) + repr(exclusions_of(tx, item_id) if item_id in excluded else []).encode()
            for item_id, fact in facts.items()
        }
        return {
            chunk_id: of_items[item_id]
            for chunk_id, (turn_id, item_id, _) in places.items()
            if item_id in facts and facts[item_id].turn_id == turn_id
        }

    async def index(self, handle: JobHandle) -> None:
        """The handler of an `index` job."""
        await self._indexer.index([handle])

    async def index_together(self, handles: Sequence[JobHandle]) -> None:
        """The handler of several `index` jobs at once."""
        await self._indexer.index(handles)

    # -- the state of the index ----------------------------------------------------------------------------------

    async def status(self, params: ThreadStatusParams) -> ThreadStatusResult:
        """`thread_episodic/status`."""
        return await self._means.db.read(partial(self._status.read, params=params))

    async def list_jobs(self, params: JobsParams) -> JobsResult:
        """`thread_episodic/jobs`."""
        return await self._means.db.read(partial(self._status.list_jobs, params=params))

    async def retry(self, params: RetryParams) -> RetryResult:
        """`thread_episodic/retry`. A job that is not dead is left as it is."""
        if params.job_id is None and not params.all_dead:
            raise CallerError.at("$.job_id", "Name a dead job, or ask for all_dead")

        def apply(tx: Tx) -> RetryResult:
            if params.all_dead:
                return RetryResult(requeued=self._means.jobs.requeue(tx, kind="index"))
            if params.job_id is None or self._status.find_job(tx, params.job_id) is None:
                raise CallerError.missing("indexing job")
            return RetryResult(requeued=self._means.jobs.requeue(tx, kind="index", job_id=params.job_id))

        return await self._means.db.write(apply)

    async def reindex(self, params: ReindexParams) -> ReindexResult:
        """`thread_episodic/reindex`."""
        return await self._reindexer.reindex(params)

    # -- exclusion -----------------------------------------------------------------------------------------------

    async def exclude(self, params: ExcludeParams) -> ExcludeResult:
        """`thread_episodic/exclude`: hides an item or one chunk; the exclusion outlives a reindex and an edit."""
        _check_target(params)
        reason = params.reason and self._means.scanner.mask(params.reason)

        def apply(tx: Tx) -> ExcludeResult:
            target = find_target(tx, params.item_id, params.chunk_id)
            add_exclusion(tx, target, reason, self._means.clock.now())
            return ExcludeResult(excluded=exclude_chunks(tx, target.source, target.chunks, self._means.clock.now()))

        return await self._means.db.write(apply)

    async def unexclude(self, params: ExcludeParams) -> ExcludeResult:
        """`thread_episodic/unexclude`: shows an item again, or one chunk unless its whole item is excluded."""
        _check_target(params)

        def apply(tx: Tx) -> ExcludeResult:
            target = find_target(tx, params.item_id, params.chunk_id)
            remove_exclusion(tx, target)
            still = exclusions_of(tx, target.item_id)
            freed = [chunk for chunk in target.chunks if not overlaps(chunk.start, chunk.end, still)]
            awaits_vector = self.vectors.are_made()
            if awaits_vector and freed:
                self.vectors.queue(tx)
            changed = readmit_chunks(tx, target.source, freed, awaits_vector=awaits_vector, now=self._means.clock.now())
            return ExcludeResult(excluded=changed)

        return await self._means.db.write(apply)


def _check_target(params: ExcludeParams) -> None:
    if (params.item_id is None) == (params.chunk_id is None):
        raise CallerError.at("$.chunk_id", "Name either a chunk or an item")
