"""Mends each kind of damage of the conversation index.

Rule 1: messages are the source: where a digest does not fit, chunks are cut anew from their message.
Rule 2: the order of the checks counts: messages, then what is kept of their terms, then the full-text index, which is
compared with that, then sums and vectors.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from protocol.seams.checks import Check, Find, LookResult, Mend
from protocol.seams.house_facts import ItemFact, ReadItems
from protocol.seams.ports import Clock, JobKind, JobQueue, Lexicon, Meaning, Tx
from thread_episodic.index.indexing import Indexer
from thread_episodic.ports import ItemsAfter, SearchedSpace
from thread_episodic.rows.chunks import remove_source
from thread_episodic.rows.damage import add_texts, clear_texts, drop_orphans, index_finds
from thread_episodic.rows.scopes import find_scope, restore_scope
from thread_episodic.rows.segments import move_to_own_segment, renew_sums
from thread_episodic.rows.sources import find_sources, pending_turns_after, repeat_sources, turns_of_sources
from thread_episodic.rows.vectors import await_vectors_of, drop_vectors, missing_vectors
from thread_episodic.search.vectors import ChunkVectors
from thread_episodic.values import IndexSource, lexicon_digest

MESSAGES = 300  # messages of one look: each is asked for by its id


def _end_of(page: Sequence[tuple[Any, ...]]) -> int | None:
    """Return the row after which the next look goes on; None where this page was the last."""
    return page[-1][0] if len(page) == MESSAGES else None


def missing_sources(items_after: ItemsAfter, read_items: ReadItems) -> Find:
    """Return a look that finds the turns of messages that ought to be in the index and that it does not know."""

    def find(tx: Tx, after: int) -> LookResult:
        page = items_after(tx, after, MESSAGES)
        known = find_sources(tx, [item_id for _, item_id in page])
        lacking = read_items(tx, [item_id for _, item_id in page if item_id not in known])
        turns = dict.fromkeys(fact.turn_id for fact in lacking.values() if fact.indexable)
        return LookResult(list(turns), _end_of(page))

    return find


class WithoutJob(Protocol):
    """`JobQueue.without_job`."""

    def __call__(self, tx: Tx, *, kind: JobKind, subjects: Sequence[str]) -> list[str]:
        """Return those of the subjects that no job of the kind is about."""
        ...


def jobless_turns(without_job: WithoutJob) -> Find:
    """Return a look that finds turns that wait to be indexed, and no job that would do it."""

    def find(tx: Tx, after: int) -> LookResult:
        page = pending_turns_after(tx, after, MESSAGES)
        threads = {turn_id: thread_id for _, turn_id, thread_id in page}
        jobless = without_job(tx, kind="index", subjects=list(threads))
        return LookResult([(turn_id, threads[turn_id]) for turn_id in jobless], _end_of(page))

    return find


class Mender:
    """Mends what the looks find. Turns whose messages are pending again are indexed once a check has ended."""

    def __init__(
        self,
        *,
        clock: Clock,
        jobs: JobQueue,
        lexicon: Lexicon,
        meaning: Meaning,
        indexer: Indexer,
        vectors: ChunkVectors,
        read_items: ReadItems,
        hash_of: Callable[[ItemFact], bytes],
        items_after: ItemsAfter,
        searched_space: SearchedSpace,
    ) -> None:
        self._clock = clock
        self._jobs = jobs
        self._lexicon = lexicon
        self._meaning = meaning
        self._indexer = indexer
        self._vectors = vectors
        self._read_items = read_items
        self._hash_of = hash_of
        self._items_after = items_after
        self._searched_space = searched_space
        self._turns: list[str] = []

    def checks(self) -> list[Check]:
        """Return every check, in the order in which they are run."""
        looks = index_finds(lexicon_digest(self._lexicon))
        remade: Sequence[tuple[str, Find, Mend]] = (
            ("orphans", looks["orphans"], drop_orphans),
            ("scopes", looks["scopes"], self._restore_scopes),
            ("source_rows", looks["source_rows"], self._renew_sources),
            ("lost_segments", looks["lost_segments"], _restore_segments),
            ("chunk_rows", looks["chunk_rows"], self._recut_sources),
            ("terms", looks["terms"], self._recut_chunks),
            ("lexicon", looks["lexicon"], self._recut_sources),
            ("missing_sources", missing_sources(self._items_after, self._read_items), self._adopt_turns),
        )
        return [
            *(Check(name, find, mend, then=self._remake) for name, find, mend in remade),
            Check("changed_sources", self._find_changed_sources, self._adopt_turns, "deep", self._remake),
            Check("jobs", jobless_turns(self._jobs.without_job), self._queue_turns),
            Check("texts", looks["texts"], _clear_texts),
            Check("missing_texts", looks["missing_texts"], add_texts),
            Check("segments", looks["segments"], _count_segments),
            Check("vectors", looks["vectors"], self._drop_vectors),
            Check("missing_vectors", self._find_missing_vectors, self._await_vectors),
        ]

    # -- messages and their chunks ---------------------------------------------------------------------------------

    async def _remake(self) -> None:
        turns, self._turns = self._turns, []
        await self._indexer.remake(list(dict.fromkeys(turns)))

    def _recut_sources(self, tx: Tx, rows: Sequence[Any]) -> int:
        return self._recut(tx, [row[0] for row in rows])

    def _recut_chunks(self, tx: Tx, rows: Sequence[Any]) -> int:
        self._recut(tx, [row[1] for row in rows])
        return len(rows)

    def _recut(self, tx: Tx, sources: Sequence[int]) -> int:
        self._turns += turns_of_sources(tx, sources)
        return repeat_sources(tx, sources, self._clock.now())

    def _restore_scopes(self, tx: Tx, rows: Sequence[Any]) -> int:
        """Give workspaces and threads the integers that their messages' rows name; return how many were mended.

        Where another workspace or thread has taken the integer, the row is written anew.
        """
        for row, item_id, workspace, thread in rows:
            fact = self._read_items(tx, [item_id]).get(item_id)
            if fact is None:
                remove_source(tx, IndexSource(row, workspace, thread))
                continue
            restore_scope(tx, "workspace", fact.workspace_id, workspace)
            restore_scope(tx, "thread", fact.thread_id, thread)
            place = find_scope(tx, "workspace", fact.workspace_id), find_scope(tx, "thread", fact.thread_id)
            if place != (workspace, thread):
                self._indexer.put(tx, fact)
                self._turns.append(fact.turn_id)
        return len(rows)

    def _renew_sources(self, tx: Tx, rows: Sequence[Any]) -> int:
        """Write rows of messages anew, and remove those whose message is gone or muted; return how many."""
        for row, item_id, _, workspace, thread, *_ in rows:
            fact = self._read_items(tx, [item_id]).get(item_id)
            if fact is None or not fact.indexable:
                remove_source(tx, IndexSource(row, workspace, thread))
            else:
                self._indexer.put(tx, fact)
                self._turns.append(fact.turn_id)
        return len(rows)

    def _find_changed_sources(self, tx: Tx, after: int) -> LookResult:
        """Return the turns of the next messages whose text is not the one that was indexed."""
        page = self._items_after(tx, after, MESSAGES)
        known = find_sources(tx, [item_id for _, item_id in page])
        turns = dict.fromkeys(
            fact.turn_id
            for item_id, fact in self._read_items(tx, list(known)).items()
            if not fact.indexable or known[item_id].known.source_hash != self._hash_of(fact)
        )
        return LookResult(list(turns), _end_of(page))

    def _adopt_turns(self, tx: Tx, rows: Sequence[Any]) -> int:
        for turn_id in rows:
            self._indexer.adopt(tx, turn_id)
        self._turns += rows
        return len(rows)

    # -- jobs ------------------------------------------------------------------------------------------------------

    def _queue_turns(self, tx: Tx, rows: Sequence[Any]) -> int:
        for turn_id, thread_id in rows:
            self._jobs.enqueue(tx, "index", turn_id, thread_id=thread_id, turn_id=turn_id)
        return len(rows)

    # -- vectors ---------------------------------------------------------------------------------------------------

    def _drop_vectors(self, tx: Tx, rows: Sequence[Any]) -> int:
        """Remove wrong vectors; where a model is loaded, their chunks wait for new ones. Returns how many went."""
        dropped = drop_vectors(tx, [row[0] for row in rows])
        if self._vectors.are_made():
            self._await_vectors(tx, [(row[1],) for row in rows])
        return dropped

    def _find_missing_vectors(self, tx: Tx, after: int) -> LookResult:
        space = self._searched_space(tx) if self._meaning.state() != "off" else None
        if space is None:
            return LookResult((), None)
        return missing_vectors(space)(tx, after)

    def _await_vectors(self, tx: Tx, rows: Sequence[Any]) -> int:
        changed = await_vectors_of(tx, [row[0] for row in rows], self._searched_space(tx))
        self._vectors.queue(tx)
        return changed


def _restore_segments(tx: Tx, rows: Sequence[Any]) -> int:
    for row, segment, workspace in rows:
        move_to_own_segment(tx, row, segment, workspace)
    return len(rows)


def _clear_texts(tx: Tx, rows: Sequence[Any]) -> int:  # noqa: ARG001  # the whole index is one row of it
    """Empty the full-text index and return 1; the check of missing rows, which comes next, adds them again."""
    clear_texts(tx)
    return 1


def _count_segments(tx: Tx, rows: Sequence[Any]) -> int:
    for (row,) in rows:
        renew_sums(tx, row)
    return len(rows)
