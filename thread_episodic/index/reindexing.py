"""Makes all that is derived of a thread or a workspace anew: terms, full-text rows, vectors, sums."""

from collections.abc import Sequence
from functools import partial

from protocol.errors import CallerError
from protocol.seams.house_facts import ReadThread, WorkspaceExists
from protocol.seams.ports import Clock, JobQueue, Transact, Tx
from protocol.thread_episodic import ReindexParams, ReindexResult
from thread_episodic.index.repair import IndexRepairer
from thread_episodic.ports import ThreadTurns, WorkspaceThreads
from thread_episodic.rows.sources import repeat_turn
from thread_episodic.search.vectors import ChunkVectors

REINDEX_TURNS = 500  # turns queued in one transaction, so that a large thread does not hold the writer


class Reindexer:
    """Queues every turn again, and the repair of what belongs to none."""

    def __init__(
        self,
        *,
        db: Transact,
        clock: Clock,
        jobs: JobQueue,
        vectors: ChunkVectors,
        read_thread: ReadThread,
        thread_turns: ThreadTurns,
        workspace_exists: WorkspaceExists,
        workspace_threads: WorkspaceThreads,
        repair: IndexRepairer,
    ) -> None:
        self._db = db
        self._clock = clock
        self._jobs = jobs
        self._vectors = vectors
        self._read_thread = read_thread
        self._thread_turns = thread_turns
        self._workspace_exists = workspace_exists
        self._workspace_threads = workspace_threads
        self._repair = repair

    async def reindex(self, params: ReindexParams) -> ReindexResult:
        """`thread_episodic/reindex`: make anew all that is derived of every turn.

        Searches find the turns meanwhile by the terms that they have.

        Raises:
            CallerError: the thread or workspace is unknown, or neither is named.

        """
        turns = await self._db.read(partial(self._turns_of, params=params))
        created = 0
        for first in range(0, len(turns), REINDEX_TURNS):
            created += await self._db.write(partial(self._queue_again, turns=turns[first : first + REINDEX_TURNS]))
        await self._db.write(self._repair.queue)  # the full-text index as a whole, and the sums, are no turn's own
        return ReindexResult(jobs_created=created)

    def _turns_of(self, tx: Tx, params: ReindexParams) -> list[tuple[str, str]]:
        """Return (thread id, turn id) of every turn that is asked for."""
        if params.thread_id is not None:
            fact = self._read_thread(tx, params.thread_id)
            if fact is None or params.workspace_id not in {None, fact.workspace_id}:
                raise CallerError.missing("thread")
            threads = [params.thread_id]
        elif params.workspace_id is not None:
            if not self._workspace_exists(tx, params.workspace_id):
                raise CallerError.missing("workspace")
            threads = self._workspace_threads(tx, params.workspace_id)
        else:
            raise CallerError.at("$.thread_id", "Name a thread or a workspace")
        return [(thread_id, turn_id) for thread_id in threads for turn_id in self._thread_turns(tx, thread_id)]

    def _queue_again(self, tx: Tx, turns: Sequence[tuple[str, str]]) -> int:
        now, created = self._clock.now(), 0
        for thread_id, turn_id in turns:
            repeat_turn(tx, turn_id, now)
            self._vectors.renew(tx, turn_id)
            created += self._jobs.enqueue(tx, "index", turn_id, thread_id=thread_id, turn_id=turn_id) is not None
        return created
