"""The workers: nothing is lost, nothing runs twice at once, nothing is tried for ever."""

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import apsw
import pytest
from job_yard import Yard, play, with_runner

from gateway.base.clock import SystemClock
from gateway.home.owners import SQL
from gateway.jobs.runner import CONCURRENCY, free_jobs_of
from protocol.errors import Refused, Unavailable
from protocol.seams.ports import GiveUpJob, JobHandle, JobKind, PauseQueue, RetryJob, Tx

# -- claiming --------------------------------------------------------------------------------------------------------


def test_runners_never_work_on_the_same_job(tmp_path: Path) -> None:
    async def scene(yard: Yard) -> None:
        worked: list[str] = []

        async def work(held: JobHandle) -> None:
            worked.append(held.job.subject)
            await anyio.lowlevel.checkpoint()

        for n in range(60):
            await yard.enqueue(f"s{n}", "hook_run")
        one, other = yard.runner("own_a", hook_run=work), yard.runner("own_b", hook_run=work)

        async def both() -> None:
            await with_runner(other, lambda: yard.settled(one))

        await with_runner(one, both)
        assert sorted(worked) == sorted(f"s{n}" for n in range(60))
        assert await yard.counts("hook_run") == {"done": 60}

    play(scene, tmp_path)


RUN = """
    import sys
    from pathlib import Path
    import anyio
    from gateway.base.clock import SystemClock
    from gateway.store.database import Database
    from gateway.jobs.runner import JobRunner, Work
    from gateway.jobs.queue import Bell
    from gateway.jobs.retry import RetryLimits

    async def main():
        db = Database(Path(sys.argv[1]))
        clock = SystemClock()
        async def work(held):
            await db.write(lambda tx: (tx.run("INSERT INTO home VALUES (?, ?)", (held.job.subject, sys.argv[2])), held.finish(tx)))

        runner = JobRunner(db=db, clock=clock, owner=sys.argv[2], bell=Bell(), limits=lambda _: RetryLimits(1, 1, 1),
                           work={"hook_run": Work(work)}, on_paused=lambda *_: None, on_resumed=lambda _: None)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runner.run)
            assert (await runner.drain(30)).idle
            tasks.cancel_scope.cancel()
        db.close()

    sys.stdin.read(1)
    anyio.run(main)
"""


def test_processes_share_a_queue_without_doubling(tmp_path: Path) -> None:
    async def scene(yard: Yard) -> None:
        yard.clock.at = SystemClock().now()  # theirs is the machine's

        def fill(tx: Tx) -> None:
            for n in range(150):
                yard.jobs.enqueue(tx, "hook_run", f"s{n}")

        await yard.db.write(fill)
        started = [
            await anyio.open_process(
                [sys.executable, "-c", textwrap.dedent(RUN), str(yard.db.path), f"own_{name}"], stdin=subprocess.PIPE
            )
            for name in "ab"
        ]
        for process in started:
            assert process.stdin is not None
            await process.stdin.send(b"x")
        for process in started:
            assert await process.wait() == 0
            await process.aclose()
        assert await yard.counts("hook_run") == {"done": 150}
        # a job that ran twice would have broken the key of `home` and be dead
        assert await yard.db.read(lambda tx: tx.one("SELECT count(*) FROM home")) == (150,)

    play(scene, tmp_path)


def test_no_more_than_its_concurrency_run_at_once(tmp_path: Path) -> None:
    async def scene(yard: Yard) -> None:
        running: dict[str, int] = {"index": 0, "hook_run": 0}
        most = dict(running)

        async def work(held: JobHandle) -> None:
            running[held.job.kind] += 1
            most[held.job.kind] = max(most[held.job.kind], running[held.job.kind])
            for _ in range(5):
                await anyio.lowlevel.checkpoint()
            running[held.job.kind] -= 1

        runner = yard.runner(index=work, hook_run=work)
        kinds: tuple[JobKind, ...] = ("index", "hook_run")
        for kind in kinds:
            for n in range(2 * CONCURRENCY[kind] + 1):
                await yard.enqueue(f"s{n}", kind)
        await with_runner(runner, lambda: yard.settled(runner))
        assert most == {kind: CONCURRENCY[kind] for kind in kinds}

    play(scene, tmp_path)


def test_work_queued_while_the_runner_sleeps_wakes_it(tmp_path: Path) -> None:
    async def scene(yard: Yard) -> None:
        worked = anyio.Event()

        async def work(_held: JobHandle) -> None:
            worked.set()

        runner = yard.runner(index=work)

        async def later() -> None:
            await yard.settled(runner)
            await yard.enqueue("a")
            await worked.wait()

        await with_runner(runner, later)

    play(scene, tmp_path)


# -- outcomes --------------------------------------------------------------------------------------------------------


def test_a_handler_can_finish_in_its_own_transaction(tmp_path: Path) -> None:
    async def scene(yard: Yard) -> None:
        seen: list[Any] = []

        async def work(held: JobHandle) -> None:
            def both(tx: Tx) -> None:
                tx.run(SQL["put_home"], {"name": "effect", "value": held.job.subject})
                held.finish(tx)

            await yard.db.write(both)
            seen.append(await yard.counts())
            seen.append(await yard.db.read(lambda tx: tx.one("SELECT value FROM home")))

        runner = yard.runner(index=work)
        await yard.enqueue("a")
        await with_runner(runner, lambda: yard.settled(runner))
        assert seen == [{"done": 1}, ("a",)]
        assert await yard.rows() == [("a", "done", 1)]

    play(scene, tmp_path)


def test_a_finish_that_is_rolled_back_is_none(tmp_path: Path) -> None:
    async def scene(yard: Yard) -> None:
        async def work(held: JobHandle) -> None:
            def both(tx: Tx) -> None:
                held.finish(tx)
                raise RetryJob("model_busy")

            await yard.db.write(both)

        runner = yard.runner(index=work)
        await yard.enqueue("a")
        await with_runner(runner, lambda: yard.settled(runner))
        assert await yard.rows() == [("a", "retry_wait", 1)]

    play(scene, tmp_path)


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (RetryJob("model_busy"), "model_busy"),
        (Unavailable("provider_failed"), "provider_failed"),
        (ValueError("a secret"), "internal"),
        (Refused("conflict"), "internal"),
        (apsw.ConstraintError("text"), "internal"),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else type(value).__name__,
)
def test_a_failure_is_retried_after_a_while_and_in_the_end_dead(failure: Exception, code: str, tmp_path: Path) -> None:
    async def scene(yard: Yard) -> None:
        async def work(_held: JobHandle) -> None:
            raise failure

        runner = yard.runner(index=work)
        await yard.enqueue("a")

        async def attempts() -> None:
            for attempt, delay in ((1, 1_000), (2, 2_000)):
                result = await runner.drain(10)
                assert (result.idle, result.pending) == (True, 0)
                (waits,) = result.waiting
                assert (waits.kind, waits.count) == ("index", 1)
                assert yard.clock.at + delay <= waits.next_run_at <= yard.clock.at + delay * 1.2
                assert await yard.rows() == [("a", "retry_wait", attempt)]
                yard.clock.at = waits.next_run_at - 1
                assert (await runner.drain(10)).waiting != []
                yard.clock.at += 1
            result = await runner.drain(10)
            assert (result.idle, result.waiting) == (True, [])
            assert await yard.rows() == [("a", "dead", 3)]

        await with_runner(runner, attempts)
        (job,) = await yard.db.read(lambda tx: yard.jobs.jobs(tx, kind="index"))
        assert job.last_error == code

    play(scene, tmp_path)


def test_a_job_without_hope_is_dead_at_once_and_works_after_a_requeue(tmp_path: Path) -> None:
    async def scene(yard: Yard) -> None:
        errors: list[Exception] = [GiveUpJob("too_large")]

        async def work(_held: JobHandle) -> None:
            if errors:
                raise errors.pop()

        runner = yard.runner(index=work)
        await yard.enqueue("a")

        async def story() -> None:
            await yard.settled(runner)
            assert await yard.rows() == [("a", "dead", 1)]
            await yard.db.write(lambda tx: yard.jobs.requeue(tx, kind="index"))
            await yard.settled(runner)
            assert await yard.rows() == [("a", "done", 1)]

        await with_runner(runner, story)

    play(scene, tmp_path)


@pytest.mark.parametrize(
    "failure", [RetryJob("x"), PauseQueue("embedder", "down"), ValueError()], ids=lambda e: type(e).__name__
)
def test_a_failing_job_whose_subject_was_queued_again_leaves_the_work_to_the_new_one(
    failure: Exception, tmp_path: Path
) -> None:
    async def scene(yard: Yard) -> None:
        errors = [failure]

        async def work(held: JobHandle) -> None:
            if errors:
                await yard.enqueue(held.job.subject)
                raise errors.pop()

        runner = yard.runner(index=work)
        await yard.enqueue("a")

        async def story() -> None:
            await yard.settled(runner)
            yard.clock.seconds += 60
            runner.wake()
            await yard.settled(runner)

        await with_runner(runner, story)
        assert await yard.rows() == [("a", "cancelled", 1), ("a", "done", 1)]

    play(scene, tmp_path)


def test_a_job_that_was_cancelled_meanwhile_stays_so(tmp_path: Path) -> None:
    async def scene(yard: Yard) -> None:
        async def work(held: JobHandle) -> None:
            await yard.db.write(lambda tx: yard.jobs.cancel(tx, kind="index", subject=held.job.subject))
            if held.job.subject == "b":
                raise RetryJob("x")

        runner = yard.runner(index=work)
        await yard.enqueue("a")
        await yard.enqueue("b")
        await with_runner(runner, lambda: yard.settled(runner))
        assert await yard.rows() == [("a", "cancelled", 1), ("b", "cancelled", 1)]

    play(scene, tmp_path)


def test_a_lease_that_another_took_over_is_not_ours_to_end(tmp_path: Path) -> None:
    async def scene(yard: Yard) -> None:
        taken: list[Any] = []

        async def work(_held: JobHandle) -> None:
            await yard.db.write(lambda tx: free_jobs_of(tx, "own_a"))
            taken.extend(await yard.lease("own_b"))

        runner = yard.runner("own_a", index=work)
        await yard.enqueue("a")

        async def story() -> None:
            result = await runner.drain(0.1)
            assert (result.idle, result.pending, taken) == (False, 1, [("a", 1)])

        await with_runner(runner, story)
        assert await yard.db.read(lambda tx: tx.all("SELECT state, owner FROM job")) == [("leased", "own_b")]

    play(scene, tmp_path)
