"""Indexes messages, and removes them from the index.

Rule 1: the transaction that stores a message only marks it as pending; a durable job cuts it and finds its terms.
Rule 2: every step of the job is idempotent: it compares with what is there, so a crash between any two converges.
Rule 3: how a message is cut, and what of it is indexed, is decided in `message_plans.py`.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import accumulate, chain, groupby
from typing import NamedTuple

import anyio.to_thread
from msgspec import Struct

from protocol.notifications import ThreadIndexed
from protocol.seams.house_facts import EchoSpans, ItemFact, ReadItems
from protocol.seams.ports import (
    Clock,
    JobHandle,
    JobQueue,
    KeyedHash,
    Lexicon,
    Notify,
    PauseQueue,
    SecretScanner,
    Transact,
    Tx,
)
from protocol.settings import ThreadEpisodicSettings
from retrieval.chunking import ChunkSizes, overlaps
from thread_episodic.index.message_plans import (
    ItemPlan,
    WaitingMessage,
    plan_item,
    segment_room,
    sizes_of,
    source_hash_of,
)
from thread_episodic.index.remaking import Remake
from thread_episodic.ports import Settings, TurnItems, WorkspaceThreads
from thread_episodic.rows.chunks import ChunkEntry, add_chunks, chunks_of, remove_source, renew_chunk, retire_chunks
from thread_episodic.rows.exclusions import exclusions_of, remove_exclusions_of_thread
from thread_episodic.rows.recall_events import remove_events_of_thread, remove_events_of_workspace
from thread_episodic.rows.scopes import ScopeKind, find_scope, remove_scope, threads_in
from thread_episodic.rows.sources import (
    Finished,
    IndexedSource,
    find_source,
    find_sources,
    finish_sources,
    place_source,
    put_source,
    sources_in,
)
from thread_episodic.search.vectors import ChunkVectors
from thread_episodic.values import NewChunk, lexicon_digest

PLANNED_AT_ONCE = 2000  # characters: about a millisecond that the loop is held for
PLANNED_TOGETHER = 50_000  # bytes of text at which no further turn is added: some twenty milliseconds of work
SECONDS_TO_GATHER = 2.0  # that reading a few turns may take; a read that takes longer fails, and so does the job


def turn_of(handle: JobHandle) -> str:
    """Return the turn that an index job is about."""
    return handle.job.turn_id or handle.job.subject


class _Turn(Struct, frozen=True):
    """A job's turn: its messages that wait, and whether the index knows the turn's messages as they are."""

    handle: JobHandle
    waiting: Sequence[WaitingMessage]
    is_known: bool = True

    @property
    def chars(self) -> int:
        return sum(len(item.fact.text) for item in self.waiting)


class _Done(Struct, frozen=True):
    """A turn that is complete with its last step: its job, and the notification of it."""

    handle: JobHandle
    notice: ThreadIndexed


class _Step(NamedTuple):
    """A chunk to be stored; `is_last` of its message, `ends` its turn.

    A message without chunks has one step without one.
    """

    plan: ItemPlan
    chunk: NewChunk | None
    is_last: bool
    ends: _Done | None = None


def _steps_of(turn: _Turn, plans: Sequence[ItemPlan]) -> list[_Step]:
    """Return a step for each chunk of a turn, in order; the last one ends the turn."""
    steps: list[_Step] = []
    for plan in plans:
        last = len(plan.chunks) - 1
        steps += [_Step(plan, chunk, chunk.position == last) for chunk in plan.chunks] or [_Step(plan, None, True)]
    notice = ThreadIndexed(
        thread_id=turn.waiting[0].fact.thread_id,
        turn_id=turn_of(turn.handle),
        chunk_count=sum(len(p.chunks) for p in plans),
    )
    steps[-1] = steps[-1]._replace(ends=_Done(turn.handle, notice))
    return steps


class Indexer:
    """Keeps the index in step with the items."""

    def __init__(
        self,
        *,
        db: Transact,
        clock: Clock,
        keyed: KeyedHash,
        lexicon: Lexicon,
        scanner: SecretScanner,
        jobs: JobQueue,
        notify: Notify,
        settings: Settings,
        read_items: ReadItems,
        echo_spans: EchoSpans,
        turn_items: TurnItems,
        workspace_threads: WorkspaceThreads,
        vectors: ChunkVectors,
    ) -> None:
        self._vectors = vectors
        self._db = db
        self._clock = clock
        self._keyed = keyed
        self._lexicon = lexicon
        self._scanner = scanner
        self._jobs = jobs
        self._notify = notify
        self._settings = settings
        self._read_items = read_items
        self._echo_spans = echo_spans
        self._turn_items = turn_items
        self._workspace_threads = workspace_threads

    # -- in the transactions of others ---------------------------------------------------------------------------

    def on_items(self, tx: Tx, facts: Sequence[ItemFact]) -> None:
        """Mark messages as pending and queue their turns; an edited one leaves the index at once."""
        turns: dict[str, str] = {}
        for fact in facts:
            if self._note_item(tx, fact):
                turns[fact.turn_id] = fact.thread_id
        for turn_id, thread_id in turns.items():
            self._jobs.enqueue(tx, "index", turn_id, thread_id=thread_id, turn_id=turn_id)

    def _note_item(self, tx: Tx, fact: ItemFact) -> bool:
        """Bring a message's row up to date; return whether the message has to be indexed."""
        known = find_source(tx, fact.item_id)
        if not fact.indexable:
            if known is not None:
                remove_source(tx, known.source)
            return False
        source_hash = source_hash_of(self._keyed, fact)
        if known is not None and known.source_hash == source_hash:
            place_source(tx, fact)
            return not known.is_indexed
        if known is not None:
            retire_chunks(tx, known.source, chunks_of(tx, known.source), self._clock.now())
        self.put(tx, fact)
        return True

    def put(self, tx: Tx, fact: ItemFact) -> None:
        """Store a message's row as pending, with the hash of its present text."""
        said_by = " ".join(self._lexicon.index_terms(fact.name or fact.role))
        put_source(tx, fact, said_by, source_hash_of(self._keyed, fact), self._clock.now())

    def on_items_removed(self, tx: Tx, item_ids: Collection[str]) -> None:
        """Remove messages from the index. Their exclusions stay: the same message may be imported again."""
        for item_id in item_ids:
            known = find_source(tx, item_id)
            if known is not None:
                remove_source(tx, known.source)

    def on_thread_deleted(self, tx: Tx, thread_id: str) -> Mapping[str, int]:
        """Remove all of a thread; return how many rows were removed, by kind."""
        removed = self._remove_scope(tx, "thread", thread_id)
        removed["exclusions"] = remove_exclusions_of_thread(tx, thread_id)
        removed["index_jobs"] = self._jobs.cancel(tx, kind="index", thread_id=thread_id)
        removed["recall_events"] = remove_events_of_thread(tx, thread_id)
        return removed

    def on_workspace_deleted(self, tx: Tx, workspace_id: str) -> Mapping[str, int]:
        """Remove all of a workspace; return how many rows were removed, by kind."""
        threads = dict.fromkeys((*self._workspace_threads(tx, workspace_id), *threads_in(tx, workspace_id)))
        removed: Counter[str] = Counter()
        for thread_id in threads:
            removed.update(self.on_thread_deleted(tx, thread_id))
        removed.update(self._remove_scope(tx, "workspace", workspace_id))
        removed["recall_events"] += remove_events_of_workspace(tx, workspace_id)
        return removed

    def _remove_scope(self, tx: Tx, kind: ScopeKind, key: str) -> dict[str, int]:
        removed = {"chunks": 0, "chunk_fts_rows": 0}
        scope = find_scope(tx, kind, key)
        if scope is None:
            return removed
        for source in sources_in(tx, kind, scope):
            chunks, rows = remove_source(tx, source)
            removed["chunks"] += chunks
            removed["chunk_fts_rows"] += rows
        remove_scope(tx, kind, key, scope)
        return removed

    # -- the job -------------------------------------------------------------------------------------------------

    async def index(self, handles: Sequence[JobHandle]) -> None:
        """Index the pending messages of some turns, and finish their jobs.

        Any other error than this one does not say which of the turns caused it.

        Raises:
            PauseQueue: indexing is switched off.

        """
        settings = self._settings()
        if not (settings.enabled and settings.indexing_enabled):
            raise PauseQueue("thread_episodic", "indexing_disabled")
        await self._work(handles, settings)

    async def remake(self, turn_ids: Sequence[str]) -> None:
        """Index the pending messages of some turns for a repair: no notification, and even where indexing is off."""
        await self._work([Remake(turn_id) for turn_id in turn_ids], self._settings())

    async def _work(self, handles: Sequence[JobHandle], settings: ThreadEpisodicSettings) -> None:
        rest = handles
        while rest:
            turns = await self._db.read(partial(self._gather, handles=rest), SECONDS_TO_GATHER)
            rest = rest[len(turns) :]
            await self._index([turn for turn in turns if turn.is_known], settings)
            for unknown in (turn for turn in turns if not turn.is_known):
                await self._db.write(partial(self.adopt, turn_id=turn_of(unknown.handle)))
                known = await self._db.read(partial(self._gather, handles=[unknown.handle]), SECONDS_TO_GATHER)
                await self._index(known, settings)

    async def _index(self, turns: Sequence[_Turn], settings: ThreadEpisodicSettings) -> None:
        if nothing := [turn.handle for turn in turns if not turn.waiting]:
            await self._db.note(partial(_finish, handles=nothing))
        if waiting := [turn for turn in turns if turn.waiting]:
            await self._store(await self._plan_steps(waiting, sizes_of(settings)), settings.index_batch_limit)

    async def _store(self, steps: Sequence[_Step], limit: int) -> None:
        """Store the steps, at most `limit` a transaction, and notify of each turn that is complete."""
        for first in range(0, len(steps), limit):
            batch = steps[first : first + limit]
            await self._db.write(partial(self._apply, steps=batch))
            for step in batch:
                if step.ends is not None and not isinstance(step.ends.handle, Remake):
                    self._notify("thread_episodic/indexed", step.ends.notice)
            await self._db.calm()

    def _gather(self, tx: Tx, handles: Sequence[JobHandle]) -> list[_Turn]:
        """Return the first of the turns, at least one, and no more once they have `PLANNED_TOGETHER` bytes of text."""
        items = self._turn_items(tx, [turn_of(handle) for handle in handles])
        before = accumulate((sum(items[turn_of(handle)].values()) for handle in handles), initial=0)
        taken = [handle for handle, size in zip(handles, before, strict=False) if size < PLANNED_TOGETHER]
        facts = self._read_items(tx, list(chain.from_iterable(items[turn_of(handle)] for handle in taken)))
        sources = find_sources(tx, list(facts))
        said: dict[str, list[ItemFact]] = {}
        for fact in facts.values():
            said.setdefault(fact.turn_id, []).append(fact)
        return [self._turn(tx, handle, said.get(turn_of(handle), []), sources) for handle in taken]

    def _turn(
        self, tx: Tx, handle: JobHandle, facts: Sequence[ItemFact], sources: Mapping[str, IndexedSource]
    ) -> _Turn:
        found: list[WaitingMessage] = []
        is_known = True
        for fact in facts:
            known = sources[fact.item_id].known if fact.item_id in sources else None
            source_hash = source_hash_of(self._keyed, fact) if fact.indexable else None
            is_known = is_known and (known.source_hash if known else None) == source_hash
            if known is not None and source_hash is not None and not known.is_indexed:
                found.append(WaitingMessage(fact, source_hash, self._echo_spans(tx, fact.workspace_id, fact.text)))
        return _Turn(handle, found, is_known)

    def adopt(self, tx: Tx, turn_id: str) -> None:
        """Mark messages of a turn that came, changed or were muted without a call of `on_items`."""
        for fact in self._read_items(tx, self._turn_items(tx, [turn_id])[turn_id]).values():
            self._note_item(tx, fact)

    async def _plan_steps(self, turns: Sequence[_Turn], sizes: ChunkSizes) -> list[_Step]:
        """Return the steps. Little text is cut on the event loop: a worker thread costs more than a short message."""
        if sum(turn.chars for turn in turns) <= PLANNED_AT_ONCE:
            return self._plan(turns, sizes)
        return await anyio.to_thread.run_sync(self._plan, turns, sizes)

    def _plan(self, turns: Sequence[_Turn], sizes: ChunkSizes) -> list[_Step]:
        steps: list[_Step] = []
        for turn in turns:
            steps += _steps_of(turn, [plan_item(item, sizes, self._lexicon, self._scanner) for item in turn.waiting])
        return steps

    def _apply(self, tx: Tx, steps: Sequence[_Step]) -> None:
        """Store some steps; a message that was edited, muted or deleted meanwhile is left to its next job."""
        now, awaits_vector = self._clock.now(), self._vectors.are_made()
        sources = find_sources(tx, list(dict.fromkeys(step.plan.waiting.fact.item_id for step in steps)))
        entries: list[ChunkEntry] = []
        finished: list[Finished] = []
        for item_id, group in groupby(steps, key=lambda step: step.plan.waiting.fact.item_id):
            batch = list(group)
            found = sources.get(item_id)
            if found is not None and found.known.source_hash == batch[0].plan.waiting.source_hash:
                entries += self._fresh(tx, found, batch, now)
                if batch[-1].is_last:
                    finished.append(Finished(found.known.source, batch[-1].plan.left_out))
        capacity = segment_room(self._settings())
        add_chunks(tx, entries, awaits_vector=awaits_vector, capacity=capacity, now=now)
        finish_sources(tx, finished, now, lexicon_digest(self._lexicon))
        if awaits_vector:
            self._vectors.queue(tx)
        _finish(tx, [step.ends.handle for step in steps if step.ends is not None])

    def _fresh(self, tx: Tx, found: IndexedSource, batch: Sequence[_Step], now: int) -> list[ChunkEntry]:
        """Return the chunks that are to be added; those that they replace, and those that are too many, are retired."""
        source, plan = found.known.source, batch[0].plan
        stored = {chunk.position: chunk for chunk in chunks_of(tx, source)} if found.has_chunks else {}
        exclusions = exclusions_of(tx, plan.waiting.fact.item_id) if found.has_exclusions else []
        fresh: list[ChunkEntry] = []
        for chunk in (step.chunk for step in batch if step.chunk is not None):
            old = stored.get(chunk.position)
            if old is not None:
                if old.is_sound and old.digest == chunk.digest:
                    continue
                if (old.start, old.end) == (chunk.start, chunk.end) or not old.is_known:
                    renew_chunk(tx, source, old, chunk, now)
                    continue
                retire_chunks(tx, source, [old], now)
            is_excluded = overlaps(chunk.start, chunk.end, exclusions)
            fresh.append(ChunkEntry(source, plan.waiting.fact.at, chunk, is_excluded))
        if batch[-1].is_last:
            surplus = [chunk for position, chunk in stored.items() if position >= len(plan.chunks)]
            retire_chunks(tx, source, surplus, now)
        return fresh


def _finish(tx: Tx, handles: Sequence[JobHandle]) -> None:
    for handle in handles:
        handle.finish(tx)
