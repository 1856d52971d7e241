"""Jobs that are worked on together, and jobs that processes die of: only the guilty one bears it."""

import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

import anyio
import anyio.lowlevel
from job_yard import Yard, play, with_runner

from gateway.base.clock import SystemClock
from gateway.jobs.retry import MOST_DEATHS
from gateway.jobs.runner import CONCURRENCY, Work, free_jobs_of, free_jobs_of_dead
from protocol.seams.ports import JobHandle, Tx

POISON = "poison"


class Worker:
    """Handlers that note what they were given, and fail where the poison is."""

    def __init__(self, yard: Yard) -> None:
        self._yard = yard
        self.is_cured = False
        self.together: list[list[str]] = []
        self.alone: list[str] = []

    async def work(self, held: JobHandle) -> None:
        self.alone.append(held.job.subject)
        if held.job.subject == POISON and not self.is_cured:
            raise ValueError

    async def work_together(self, handles: Sequence[JobHandle]) -> None:
        self.together.append([held.job.subject for held in handles])

        def finish(tx: Tx) -> None:
            for held in handles:
                held.finish(tx)
            if POISON in self.together[-1] and not self.is_cured:
                raise ValueError

        await self._yard.db.write(finish)


async def fill(yard: Yard, subjects: Sequence[str]) -> None:
    def add(tx: Tx) -> None:
        for subject in subjects:
            yard.jobs.enqueue(tx, "index", subject)

    await yard.db.write(add)


def test_fresh_jobs_are_worked_on_together_up_to_their_concurrency(tmp_path: Path) -> None:
    async def scene(yard: Yard) -> None:
        worker = Worker(yard)
        runner = yard.runner(index=Work(worker.work, together=worker.work_together))
        subjects = [f"s{n:03}" for n in range(2 * CONCURRENCY["index"] + 3)]
        await fill(yard, subjects)
        await with_runner(runner, lambda: yard.settled(runner))
        assert worker.alone == []
        assert [subject for group in worker.together for subject in sorted(group)] == subjects
        assert [len(group) for group in worker.together] == [CONCURRENCY["index"], CONCURRENCY["index"], 3]
        assert await yard.counts() == {"done": len(subjects)}

    play(scene, tmp_path)


def test_where_a_group_fails_each_is_tried_alone_and_only_the_guilty_one_fails(tmp_path: Path) -> None:
    async def scene(yard: Yard) -> None:
        worker = Worker(yard)
        runner = yard.runner(index=Work(worker.work, together=worker.work_together))
        subjects = ["a", "b", POISON, "c", "d"]
        await fill(yard, subjects)

        async def story() -> None:
            (waits,) = (await runner.drain(10)).waiting
            assert sorted(await yard.rows()) == [
                ("a", "done", 1),
                ("b", "done", 1),
                ("c", "done", 1),
                ("d", "done", 1),
                (POISON, "retry_wait", 1),
            ]
            assert sorted(worker.alone) == sorted(subjects)
            yard.clock.at = waits.next_run_at
            await fill(yard, ["e", "f"])
            (waits,) = (await runner.drain(10)).waiting
            assert [sorted(group) for group in worker.together[1:]] == [["e", "f"]]  # what failed is in no group again
            assert worker.alone[len(subjects) :] == [POISON]
            yard.clock.at = waits.next_run_at
            assert (await runner.drain(10)).waiting == []
            assert (POISON, "dead", 3) in await yard.rows()
            worker.is_cured = True
            await yard.db.write(lambda tx: yard.jobs.requeue(tx, kind="index"))
            await yard.settled(runner)
            assert await yard.counts() == {"done": 7}

        await with_runner(runner, story)

    play(scene, tmp_path)


def test_what_a_group_finished_before_it_failed_is_not_done_again(tmp_path: Path) -> None:
    async def scene(yard: Yard) -> None:
        worker = Worker(yard)

        async def half(handles: Sequence[JobHandle]) -> None:
            await yard.db.write(handles[0].finish)
            raise ValueError

        runner = yard.runner(index=Work(worker.work, together=half))
        await fill(yard, ["a", "b", "c"])
        await with_runner(runner, lambda: yard.settled(runner))
        assert len(worker.alone) == 2
        assert await yard.counts() == {"done": 3}

    play(scene, tmp_path)


# -- processes that die ----------------------------------------------------------------------------------------------


async def die(yard: Yard, owner: str) -> list[str]:
    """A process claims what it may, and dies."""
    leased = [subject for subject, _ in await yard.lease(owner)]
    await yard.db.note(lambda tx: free_jobs_of_dead(tx, owner))
    return leased


def test_a_job_that_processes_die_of_is_given_up_after_so_many(tmp_path: Path) -> None:
    async def scene(yard: Yard) -> None:
        await yard.enqueue(POISON)
        await yard.enqueue("other kind", "hook_run")
        for death in range(MOST_DEATHS["index"]):
            assert await yard.rows() == [(POISON, "queued", 0)]
            assert await die(yard, f"own_{death}") == [POISON]
        (job,) = await yard.db.read(lambda tx: yard.jobs.jobs(tx, kind="index"))
        assert (job.state, job.last_error, job.attempt_count) == ("dead", "process_died", 0)
        assert job.death_count == MOST_DEATHS["index"]
        await yard.db.write(lambda tx: yard.jobs.requeue(tx, kind="index", job_id=job.job_id))
        for death in range(MOST_DEATHS["index"] - 1):
            await die(yard, f"own_again_{death}")
        assert await yard.rows() == [(POISON, "queued", 0)]

    play(scene, tmp_path)


def test_an_end_in_order_is_no_death_and_other_kinds_have_none(tmp_path: Path) -> None:
    async def scene(yard: Yard) -> None:
        await yard.enqueue("a")
        await yard.enqueue("b", "embed")
        for n in range(MOST_DEATHS["index"] + 1):
            await yard.lease(f"own_{n}")
            await yard.db.note(lambda tx, n=n: free_jobs_of(tx, f"own_{n}"))
            await yard.lease(f"own_dying_{n}", "embed")
            await yard.db.note(lambda tx, n=n: free_jobs_of_dead(tx, f"own_dying_{n}"))
        assert await yard.rows() == [("a", "queued", 0)]
        assert await yard.rows("embed") == [("b", "queued", 0)]

    play(scene, tmp_path)


def test_what_a_process_died_of_is_worked_on_alone_and_one_after_another(tmp_path: Path) -> None:
    async def scene(yard: Yard) -> None:
        suspects = [f"s{n}" for n in range(5)]
        await fill(yard, suspects)
        assert sorted(await die(yard, "own_dead")) == suspects
        await fill(yard, ["a", "b", "c"])
        runner, worker = yard.runner(), Worker(yard)
        running: set[str] = set()
        most = 0

        async def work(held: JobHandle) -> None:
            nonlocal most
            running.add(held.job.subject)
            most = max(most, len(running))
            for _ in range(5):
                await anyio.lowlevel.checkpoint()
            running.remove(held.job.subject)
            await worker.work(held)

        runner = yard.runner(index=Work(work, together=worker.work_together))
        await with_runner(runner, lambda: yard.settled(runner))
        assert (most, worker.alone) == (1, suspects)
        assert [sorted(group) for group in worker.together] == [["a", "b", "c"]]
        assert await yard.counts() == {"done": 8}

    play(scene, tmp_path)


LIFE = """
    import os
    import sys
    from pathlib import Path
    import anyio
    from gateway.base.clock import SystemClock
    from gateway.store.database import Database
    from gateway.jobs.runner import JobRunner, Work, free_jobs_of_dead
    from gateway.jobs.queue import Bell
    from gateway.jobs.retry import RetryLimits

    async def main():
        db = Database(Path(sys.argv[1]))
        life = int(sys.argv[2])
        await db.write(lambda tx: free_jobs_of_dead(tx, f"own_{life - 1}"))

        def finish(tx, handles):
            for held in handles:
                if held.job.subject == "poison":
                    os._exit(9)
                held.finish(tx)

        async def together(handles):
            await db.write(lambda tx: finish(tx, handles))

        async def alone(held):
            await together([held])

        runner = JobRunner(db=db, clock=SystemClock(), owner=f"own_{life}", bell=Bell(), limits=lambda _: RetryLimits(1, 1, 1),
                           work={"index": Work(alone, together=together)},
                           on_paused=lambda *_: None, on_resumed=lambda _: None)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runner.run)
            assert (await runner.drain(30)).idle
            tasks.cancel_scope.cancel()
        db.close()

    anyio.run(main)
"""


def test_the_one_job_that_kills_its_process_is_found_among_many(tmp_path: Path) -> None:
    async def scene(yard: Yard) -> None:
        yard.clock.at = SystemClock().now()  # theirs is the machine's
        innocent = [f"s{n}" for n in range(20)]
        await fill(yard, [*innocent[:4], POISON, *innocent[4:]])
        codes: list[int] = []
        while not codes or (codes[-1] == 9 and len(codes) < 2 * MOST_DEATHS["index"]):
            process = await anyio.open_process(
                [sys.executable, "-c", textwrap.dedent(LIFE), str(yard.db.path), str(len(codes))],
                stdin=subprocess.DEVNULL,
            )
            codes.append(await process.wait())
            await process.aclose()
        assert codes == [9] * MOST_DEATHS["index"] + [0]
        rows = await yard.rows()
        assert {(subject, state) for subject, state, _ in rows} == {
            (POISON, "dead"),
            *((one, "done") for one in innocent),
        }

    play(scene, tmp_path)
