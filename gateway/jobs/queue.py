"""The durable work queue: rows in the caller's own transaction. Satisfies `JobQueue`; the runner is next door."""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import get_args

import anyio

from gateway.home.owners import SQL
from protocol.seams.ports import Clock, Ids, Job, JobKind, JobState, Row, Tx

STATES: tuple[JobState, ...] = get_args(JobState)


def job_of(row: Row) -> Job:
    """Return a row of the queue as a Job."""
    job_id, kind, subject, thread_id, turn_id, state, attempts, next_run_at, created_at, last_error, deaths = row
    return Job(
        job_id=job_id,
        kind=kind,
        subject=subject,
        thread_id=thread_id,
        turn_id=turn_id,
        state=state,
        attempt_count=attempts,
        next_run_at=next_run_at,
        created_at=created_at,
        last_error=last_error,
        death_count=deaths,
    )


def subjects_without_job(tx: Tx, *, kind: JobKind, subjects: Sequence[str]) -> list[str]:
    """Return the subjects without a job of the kind, unfinished or dead."""
    values = {"kind": kind, "subjects": json.dumps(list(subjects))}
    return [subject for (subject,) in tx.all(SQL["subjects_without_job"], values)]


class Bell:
    """Wakes the runner: jobs that are queued ring it, and the runner waits for it."""

    def __init__(self) -> None:
        self._rung = anyio.Event()

    def ring(self) -> None:
        """Make the runner look for work now. Called on the event loop."""
        self._rung.set()

    def hush(self) -> Callable[[], Awaitable[None]]:
        """Forget earlier rings; return a function that waits for the next one."""
        self._rung = anyio.Event()
        return self._rung.wait


class Jobs:
    """Enqueues and inspects work; when a transaction that queued work is committed, the bell rings."""

    def __init__(self, ids: Ids, clock: Clock, owner: str, bell: Bell | None = None) -> None:
        self._owner = owner
        self._ids = ids
        self._clock = clock
        self.bell = bell or Bell()

    def enqueue(
        self,
        tx: Tx,
        kind: JobKind,
        subject: str,
        *,
        thread_id: str | None = None,
        turn_id: str | None = None,
        delay_ms: int = 0,
    ) -> str | None:
        """Queue work and return its job id; None when the same (kind, subject) waits already."""
        job_id, now = self._ids.new("job"), self._clock.now()
        values = {
            "job_id": job_id,
            "kind": kind,
            "subject": subject,
            "thread_id": thread_id,
            "turn_id": turn_id,
            "maker": self._owner,
            "now": now,
            "due": now + delay_ms,
        }
        tx.after_commit(self.bell.ring)
        return job_id if tx.run(SQL["add_job"], values) else None

    def hurry(self, tx: Tx, *, kinds: Sequence[JobKind]) -> int:
        """Make jobs that wait for a retry due now; return how many there were."""
        tx.after_commit(self.bell.ring)
        return sum(tx.run(SQL["hurry_jobs"], {"kind": kind, "now": self._clock.now()}) for kind in kinds)

    def cancel(self, tx: Tx, *, kind: JobKind, thread_id: str | None = None, subject: str | None = None) -> int:
        """Cancel unfinished jobs of a thread, or of a subject; return how many there were."""
        if thread_id is not None:
            return tx.run(SQL["cancel_jobs_of_thread"], {"kind": kind, "thread_id": thread_id})
        return tx.run(SQL["cancel_jobs_of_subject"], {"kind": kind, "subject": subject})

    def remove(self, tx: Tx, *, kind: JobKind, subject: str) -> int:
        """Remove a subject's jobs in every state; return how many there were."""
        return tx.run(SQL["remove_jobs_of_subject"], {"kind": kind, "subject": subject})

    def requeue(self, tx: Tx, *, kind: JobKind, job_id: str | None = None) -> int:
        """Make a dead job runnable again, or every dead job of the kind; return how many there were."""
        tx.after_commit(self.bell.ring)
        now = self._clock.now()
        if job_id is not None:
            return tx.run(SQL["requeue_job"], {"kind": kind, "job_id": job_id, "now": now})
        return tx.run(SQL["requeue_dead_jobs"], {"kind": kind, "now": now})

    def jobs(
        self, tx: Tx, *, kind: JobKind, states: Sequence[JobState] = (), before: str | None = None, limit: int = 20
    ) -> list[Job]:
        """Return jobs of a kind, newest first."""
        listed = f",{','.join(states)}," if states else ""
        rows = tx.all(SQL["list_jobs"], {"kind": kind, "states": listed, "before": before, "limit": limit})
        return [job_of(row) for row in rows]

    def without_job(self, tx: Tx, *, kind: JobKind, subjects: Sequence[str]) -> list[str]:
        """Return the subjects without a job of the kind, unfinished or dead."""
        return subjects_without_job(tx, kind=kind, subjects=subjects)

    def counts(self, tx: Tx, *, kind: JobKind, thread_id: str | None = None) -> dict[JobState, int]:
        """Return how many jobs of the kind are in each state."""
        values = {"kind": kind} if thread_id is None else {"kind": kind, "thread_id": thread_id}
        found = dict(tx.all(SQL["count_jobs" if thread_id is None else "count_jobs_of_thread"], values))
        return {state: int(found.get(state, 0)) for state in STATES}

    def oldest_waiting(self, tx: Tx, *, kind: JobKind, thread_id: str | None = None) -> int | None:
        """Return when the oldest unfinished job of the kind was made, in Unix milliseconds; None without one."""
        row = tx.one(SQL["oldest_waiting"], {"kind": kind, "thread_id": thread_id})
        return row[0] if row else None
