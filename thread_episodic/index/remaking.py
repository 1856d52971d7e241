"""Work of repair that the indexer does as if a job had asked for it."""

from protocol.seams.ports import Job, Tx


class Remake:
    """A turn that is indexed anew without a job of its own: the repair that asks for it is one.

    Satisfies `JobHandle`.
    """

    def __init__(self, turn_id: str) -> None:
        self.job = Job(
            job_id="",
            kind="index",
            subject=turn_id,
            thread_id=None,
            turn_id=turn_id,
            state="leased",
            attempt_count=1,
            next_run_at=0,
            created_at=0,
            last_error=None,
        )

    def finish(self, tx: Tx) -> None:
        """Do nothing: this turn has no row in the queue."""
