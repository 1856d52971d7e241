"""The durable queue: what waits, waits once, and is as durable as the transaction that queued it."""

from pathlib import Path

import apsw
import pytest
from clock import START
from job_yard import Yard, dead, play

from gateway.jobs.queue import STATES, Bell
from protocol.seams.ports import Tx

# -- the queue -------------------------------------------------------------------------------------------------------


def test_what_waits_already_is_not_queued_again(tmp_path: Path) -> None:
    async def scene(yard: Yard) -> None:
        first = await yard.enqueue("a", thread_id="t", turn_id="u")
        assert first is not None
        assert first.startswith("job_")
        assert await yard.enqueue("a") is None
        assert await yard.enqueue("a", "embed") is not None
        assert await yard.enqueue("b") is not None
        assert await yard.counts() == {"queued": 2}
        (job,) = await yard.db.read(lambda tx: yard.jobs.jobs(tx, kind="index", before=None, limit=20)[1:])
        assert (job.job_id, job.thread_id, job.turn_id, job.created_at, job.next_run_at) == (
            first,
            "t",
            "u",
            START,
            START,
        )
        assert (job.attempt_count, job.last_error, job.state) == (0, None, "queued")

    play(scene, tmp_path)


def test_what_is_being_worked_on_can_be_queued_again_but_runs_later(tmp_path: Path) -> None:
    async def scene(yard: Yard) -> None:
        await yard.enqueue("a")
        assert await yard.lease("own_a") == [("a", 1)]
        assert await yard.enqueue("a") is not None
        assert await yard.lease("own_b") == []
        assert await yard.counts() == {"leased": 1, "queued": 1}

    play(scene, tmp_path)


def test_a_job_is_as_durable_as_the_transaction_that_queued_it(tmp_path: Path) -> None:
    async def scene(yard: Yard) -> None:
        woken: list[int] = []

        class Counted(Bell):
            def ring(self) -> None:
                woken.append(1)

        yard.bells.append(Counted())

        def work(tx: Tx) -> None:
            yard.jobs.enqueue(tx, "index", "a")
            assert woken == []
            raise ValueError

        with pytest.raises(ValueError, match=r"^$"):
            await yard.db.write(work)
        assert (await yard.counts(), woken) == ({}, [])
        await yard.enqueue("a")
        assert (await yard.counts(), woken) == ({"queued": 1}, [1])

    play(scene, tmp_path)


def test_jobs_are_listed_newest_first_in_pages(tmp_path: Path) -> None:
    async def scene(yard: Yard) -> None:
        for n in range(7):
            await yard.enqueue(f"s{n}")
        await yard.enqueue("other", "embed")
        await yard.db.write(lambda tx: yard.jobs.cancel(tx, kind="index", subject="s3"))
        found: list[str] = []
        before: str | None = None
        while page := await yard.db.read(lambda tx: yard.jobs.jobs(tx, kind="index", before=before, limit=2)):  # noqa: B023
            found += [job.subject for job in page]
            before = page[-1].job_id
        assert found == [f"s{n}" for n in range(6, -1, -1)]
        only = await yard.db.read(lambda tx: yard.jobs.jobs(tx, kind="index", states=("cancelled", "dead")))
        assert [job.subject for job in only] == ["s3"]

    play(scene, tmp_path)


def test_counts_name_every_state(tmp_path: Path) -> None:
    async def scene(yard: Yard) -> None:
        await yard.enqueue("a", thread_id="t")
        await yard.enqueue("b")
        assert await yard.db.read(lambda tx: yard.jobs.counts(tx, kind="index")) == dict.fromkeys(STATES, 0) | {
            "queued": 2
        }
        assert (await yard.db.read(lambda tx: yard.jobs.counts(tx, kind="index", thread_id="t")))["queued"] == 1
        assert await yard.db.read(lambda tx: yard.jobs.oldest_waiting(tx, kind="index")) == START
        assert await yard.db.read(lambda tx: yard.jobs.oldest_waiting(tx, kind="embed")) is None

    play(scene, tmp_path)


def test_cancelling_reaches_every_unfinished_state_and_no_other_job(tmp_path: Path) -> None:
    async def scene(yard: Yard) -> None:
        await yard.enqueue("leased", thread_id="t")
        await yard.lease("own_a")
        await yard.enqueue("queued", thread_id="t")
        await yard.enqueue("other", thread_id="u")
        await yard.enqueue("kind", "embed", thread_id="t")
        assert await yard.db.write(lambda tx: yard.jobs.cancel(tx, kind="index", thread_id="t")) == 2
        assert await yard.db.write(lambda tx: yard.jobs.cancel(tx, kind="index", thread_id="t")) == 0
        assert await yard.db.write(lambda tx: yard.jobs.cancel(tx, kind="index", subject="other")) == 1
        assert await yard.db.write(lambda tx: yard.jobs.cancel(tx, kind="index")) == 0
        assert await yard.counts() == {"cancelled": 3}
        await yard.enqueue("other")
        assert await yard.db.write(lambda tx: yard.jobs.remove(tx, kind="index", subject="other")) == 2
        assert await yard.counts() == {"cancelled": 2}
        assert await yard.counts("embed") == {"queued": 1}

    play(scene, tmp_path)


def test_dead_jobs_come_back_only_by_a_person(tmp_path: Path) -> None:
    async def scene(yard: Yard) -> None:
        ids: list[str] = []
        for subject in ("a", "a", "b", "c"):
            await yard.db.write(lambda tx: dead(tx, subject, ids))  # noqa: B023
        assert await yard.lease("own_a") == []
        assert await yard.enqueue("c") is not None  # queued anew, so the dead one stays dead
        assert await yard.db.write(lambda tx: yard.jobs.requeue(tx, kind="index", job_id=ids[2])) == 1
        assert await yard.db.write(lambda tx: yard.jobs.requeue(tx, kind="index", job_id=ids[2])) == 0
        assert await yard.db.write(lambda tx: yard.jobs.requeue(tx, kind="index", job_id=ids[3])) == 0
        assert await yard.db.write(lambda tx: yard.jobs.requeue(tx, kind="embed", job_id=ids[0])) == 0
        assert await yard.db.write(lambda tx: yard.jobs.requeue(tx, kind="index")) == 1  # the newer of the two "a"
        assert sorted(await yard.lease("own_a")) == [("a", 1), ("b", 1), ("c", 1)]
        assert (await yard.counts())["dead"] == 2

    play(scene, tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE job SET state = 'asleep'",
        "UPDATE job SET state = 'leased'",
        "UPDATE job SET owner = 'own_a'",
        "INSERT INTO job (job_id, kind, subject, maker, state, next_run_at, created_at) SELECT 'j', kind, subject, maker, 'retry_wait', 0, 0 FROM job",
    ],
)
def test_the_tables_refuse_what_must_not_be(change: str, tmp_path: Path) -> None:
    async def scene(yard: Yard) -> None:
        await yard.enqueue("a")
        with pytest.raises(apsw.ConstraintError):
            await yard.db.write(lambda tx: tx.run(change))

    play(scene, tmp_path)
