"""State of the index: chunks, jobs, segments, waiting messages, and the reason why they wait.

Rule 1: reads only; the counts are of one snapshot.
Rule 2: an unknown thread or workspace has nothing, it is no error.
"""

import re
from collections import Counter
from collections.abc import Sequence

from protocol.base import ID_TEXT
from protocol.errors import CallerError
from protocol.seams.ports import Clock, Job, JobQueue, JobState, Tx
from protocol.thread_episodic import (
    ChunkCounts,
    IndexJob,
    JobCounts,
    JobError,
    JobsParams,
    JobsResult,
    PausedQueue,
    ThreadStatusParams,
    ThreadStatusResult,
)
from thread_episodic.ports import Paused, RepairState, Settings, WorkspaceThreads
from thread_episodic.rows import counts as index_counts
from thread_episodic.rows.exclusions import find_excluded_items
from thread_episodic.rows.scopes import ScopeKind, find_scope

NOWHERE = -1  # no row has it: an unknown id in a filter matches nothing
LISTED_PARTIAL_ITEMS = 100  # newest first; the count says how many there are
DEAD_PAGE = 1000  # dead jobs that are read at once
AFTER_ANY_ID = "~"  # sorts behind every character of an id


class StatusReader:
    """Reads the state of the index."""

    def __init__(
        self,
        *,
        clock: Clock,
        jobs: JobQueue,
        settings: Settings,
        workspace_threads: WorkspaceThreads,
        paused: Paused,
        repair_state: RepairState,
    ) -> None:
        self._clock = clock
        self._jobs = jobs
        self._settings = settings
        self._workspace_threads = workspace_threads
        self._paused = paused
        self._repair_state = repair_state
        self._seen_paused: PausedQueue | None = None

    def read(self, tx: Tx, params: ThreadStatusParams) -> ThreadStatusResult:
        """Return the state of a thread's index, a workspace's, or all of it."""
        workspace = self._scope(tx, "workspace", params.workspace_id)
        thread = self._scope(tx, "thread", params.thread_id)
        chain = workspace  # segments are the workspace's: a thread has none of its own
        if chain is None and thread is not None:
            found = index_counts.workspace_of_thread(tx, thread)
            chain = NOWHERE if found is None else found
        by_status = index_counts.counts_by_status(tx, workspace, thread)
        turns = index_counts.pending_turns(tx, workspace, thread)
        dead = self._dead_turns(tx) if turns else frozenset[str]()
        waiting = [(count, since) for turn_id, count, since in turns if turn_id not in dead]
        partial_count, partial_items = index_counts.partial_items(tx, workspace, thread, LISTED_PARTIAL_ITEMS)
        threads = self._threads_asked(tx, params)
        jobs = self._job_counts(tx, threads)
        return ThreadStatusResult(
            chunks=ChunkCounts(
                pending=sum(count for count, _ in waiting),
                indexed=by_status.get("indexed", 0),
                failed=sum(count for turn_id, count, _ in turns if turn_id in dead),
                retired=by_status.get("retired", 0),
                excluded=by_status.get("excluded", 0),
                partial=partial_count,
            ),
            jobs=JobCounts(**jobs),
            oldest_pending_age_ms=max((self._clock.now() - since for _, since in waiting), default=None),
            segments=index_counts.segment_counts(tx, chain, self._settings().segment_capacity_chunks),
            partial_items=partial_items,
            dead_jobs=jobs["dead"],
            paused=self._hold(),
            repair=self._repair_state(tx),
            excluded_items=find_excluded_items(tx, params.item_ids, threads),
        )

    def _scope(self, tx: Tx, kind: ScopeKind, key: str | None) -> int | None:
        if key is None:
            return None
        found = find_scope(tx, kind, key)
        return NOWHERE if found is None else found

    def _threads_asked(self, tx: Tx, params: ThreadStatusParams) -> list[str] | None:
        """Return the threads that are asked about; None where it is all of them."""
        if params.workspace_id is None:
            return None if params.thread_id is None else [params.thread_id]
        inside = self._workspace_threads(tx, params.workspace_id)
        return [thread for thread in inside if params.thread_id in {None, thread}]

    def _job_counts(self, tx: Tx, threads: Sequence[str] | None) -> dict[JobState, int]:
        total: Counter[JobState] = Counter()
        for thread_id in threads if threads is not None else (None,):
            total.update(self._jobs.counts(tx, kind="index", thread_id=thread_id))
        return {state: total[state] for state in ("queued", "leased", "retry_wait", "dead", "cancelled", "done")}

    def _dead_turns(self, tx: Tx) -> frozenset[str]:
        """Return the turns whose indexing job is dead."""
        turns: set[str] = set()
        before: str | None = None
        while page := self._jobs.jobs(tx, kind="index", states=["dead"], before=before, limit=DEAD_PAGE):
            turns.update(job.turn_id or job.subject for job in page)
            before = page[-1].job_id
        return frozenset(turns)

    def _hold(self) -> PausedQueue | None:
        """Return why the queue is paused, with the time at which that was first seen here; None while it runs."""
        settings = self._settings()
        is_off = not (settings.enabled and settings.indexing_enabled)
        held = ("thread_episodic", "indexing_disabled") if is_off else self._paused()
        seen = self._seen_paused
        if held is None:
            self._seen_paused = None
        elif seen is None or (seen.component, seen.reason) != held:
            self._seen_paused = PausedQueue(component=held[0], reason=held[1], since=self._clock.now())
        return self._seen_paused

    # -- jobs ----------------------------------------------------------------------------------------------------

    def list_jobs(self, tx: Tx, params: JobsParams) -> JobsResult:
        """Return a page of jobs, newest first; the cursor is the last job's id."""
        if params.cursor is not None and not re.fullmatch(ID_TEXT, params.cursor):
            raise CallerError.at("$.cursor", "This is not a cursor of a page before")
        states: list[JobState] = [params.status] if params.status else []
        page = self._jobs.jobs(tx, kind="index", states=states, before=params.cursor, limit=params.limit + 1)
        shown = page[: params.limit]
        return JobsResult(
            jobs=[_wire_job(tx, job) for job in shown],
            next_cursor=shown[-1].job_id if len(page) > params.limit else None,
        )

    def find_job(self, tx: Tx, job_id: str) -> Job | None:
        """Return an indexing job by id."""
        page = self._jobs.jobs(tx, kind="index", before=job_id + AFTER_ANY_ID, limit=1)
        return page[0] if page and page[0].job_id == job_id else None


def _wire_job(tx: Tx, job: Job) -> IndexJob:
    return IndexJob(
        job_id=job.job_id,
        kind=job.kind,
        thread_id=job.thread_id,
        turn_id=job.turn_id,
        chunk_ids=index_counts.chunk_ids_of_turn(tx, job.turn_id or job.subject),
        status=job.state,
        attempt_count=job.attempt_count,
        next_run_at=job.next_run_at,
        last_error=JobError(code=job.last_error) if job.last_error else None,
    )
