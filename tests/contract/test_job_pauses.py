"""The workers when a component is down, when their process ends, and when someone waits for them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from job_yard import Yard, dead, done, play, with_runner

from gateway.base.ids import SortableIds
from gateway.home.owners import Owners
from gateway.jobs import runner as runner_module
from gateway.jobs.runner import free_jobs_of
from protocol.errors import Unavailable
from protocol.seams.ports import JobHandle, PauseQueue, Tx

# -- pausing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (PauseQueue("embedder", "model_missing"), ("embedder", "model_missing")),
        (Unavailable("storage_full"), ("storage", "storage_full")),
        (Unavailable("storage_read_only"), ("storage", "storage_read_only")),
    ],
    ids=["component", "full", "read only"],
)
def test_a_queue_pauses_without_costing_an_attempt_and_resumes(
    failure: Exception, told: tuple[str, str], tmp_path: Path
) -> None:
    async def scene(yard: Yard) -> None:
        is_down = True
        tries: list[str] = []

        async def work(held: JobHandle) -> None:
            tries.append(held.job.subject)
            if is_down:
                raise failure

        runner = yard.runner(graph=work, embed=done)
        await yard.enqueue("a", "graph")
        await yard.enqueue("b", "graph")

        async def story() -> None:
            nonlocal is_down
            await yard.settled(runner)
            assert runner.pause_of("graph") == told
            assert runner.pause_of("embed") is None
            assert await yard.rows("graph") == [("a", "queued", 0), ("b", "queued", 0)]
            assert tries == ["a"]
            await yard.enqueue("c", "embed")  # another queue goes on
            await yard.settled(runner)
            assert await yard.counts("embed") == {"done": 1}
            assert tries == ["a"]
            yard.clock.seconds += runner_module.PAUSE_SECONDS  # it looks again, and is told once
            runner.wake()
            await yard.settled(runner)
            assert tries == ["a", "a"]
            assert (yard.paused, yard.resumed) == ([told], [])
            is_down = False
            runner.resume("embed")
            runner.resume("graph")
            await yard.settled(runner)
            assert runner.pause_of("graph") is None
            assert (yard.paused, yard.resumed) == ([told], [told[0]])
            assert await yard.rows("graph") == [("a", "done", 1), ("b", "done", 1)]

        await with_runner(runner, story)

    play(scene, tmp_path)


def test_a_store_that_fails_does_not_end_the_runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(yard: Yard) -> None:
        note = yard.db.note
        broken = 3

        async def failing(work: Callable[[Tx], Any]) -> Any:
            nonlocal broken
            if broken:
                broken -= 1
                raise Unavailable("storage_full")
            return await note(work)

        monkeypatch.setattr(yard.db, "note", failing)
        monkeypatch.setattr(runner_module, "POLL_SECONDS", 0.01)
        runner = yard.runner(index=done)
        await yard.enqueue("a")
        await with_runner(runner, lambda: yard.settled(runner))
        assert broken == 0
        assert await yard.counts() == {"done": 1}

    play(scene, tmp_path)


def test_a_lease_that_could_not_be_given_back_does_not_wait_for_the_stuck_timer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(yard: Yard) -> None:
        note = yard.db.note
        is_full = False
        tries: list[str] = []

        async def failing(work: Callable[[Tx], Any]) -> Any:
            if is_full:
                raise Unavailable("storage_full")
            return await note(work)

        async def work(held: JobHandle) -> None:
            nonlocal is_full
            is_full = not tries
            tries.append(held.job.subject)

        monkeypatch.setattr(yard.db, "note", failing)
        monkeypatch.setattr(runner_module, "POLL_SECONDS", 0.01)
        runner = yard.runner(index=work)
        await yard.enqueue("a")

        async def story() -> None:
            nonlocal is_full
            while runner.pause_of("index") is None:
                await anyio.lowlevel.checkpoint()
            assert await yard.rows() == [("a", "leased", 1)]
            is_full = False
            runner.resume_all("embedding")
            assert runner.pause_of("index") == ("storage", "storage_full")
            runner.resume_all("storage")
            await yard.settled(runner)
            assert await yard.rows() == [("a", "done", 1)]
            assert (tries, yard.resumed) == (["a", "a"], ["storage"])

        await with_runner(runner, story)

    play(scene, tmp_path)


# -- the end of a process --------------------------------------------------------------------------------------------


def test_what_is_leased_when_the_runner_ends_is_queued_again(tmp_path: Path) -> None:
    async def scene(yard: Yard) -> None:
        begun = anyio.Event()

        async def work(_held: JobHandle) -> None:
            begun.set()
            await anyio.sleep_forever()

        runner = yard.runner(index=work)
        await yard.enqueue("a")
        await with_runner(runner, begun.wait)
        assert await yard.rows() == [("a", "queued", 0)]
        assert await yard.lease("own_b") == [("a", 1)]

    play(scene, tmp_path)


def test_a_dead_owner_s_jobs_are_free_at_once(tmp_path: Path) -> None:
    async def scene(yard: Yard) -> None:
        ids = SortableIds(yard.clock)
        ours, theirs = (Owners(tmp_path, ids, yard.clock) for _ in range(2))
        for owners in (ours, theirs):
            await owners.enter(yard.db)
        await yard.enqueue("a")
        await yard.enqueue("b")
        assert len(await yard.lease(theirs.owner)) == 2
        await yard.enqueue("b")
        assert await yard.lease(ours.owner) == []
        theirs.release()  # as its death does

        def rescue(tx: Tx) -> int:
            freed = 0
            for owner in ours.others(tx):
                if ours.is_dead(owner):
                    freed += free_jobs_of(tx, owner)
                    ours.remove_dead(tx, owner)
            return freed

        assert await yard.db.note(rescue) == 2
        assert await yard.db.note(rescue) == 0
        assert sorted(await yard.rows()) == [("a", "queued", 0), ("b", "cancelled", 1), ("b", "queued", 0)]
        assert sorted(await yard.lease(ours.owner)) == [("a", 1), ("b", 1)]
        ours.release()

    play(scene, tmp_path)


def test_only_real_time_frees_a_stuck_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(yard: Yard) -> None:
        await yard.enqueue("a")
        await yard.lease("own_stuck")
        yard.clock.at += 10 * 86_400_000  # a simulated week costs no lease
        assert await yard.lease("own_b") == []
        monkeypatch.setattr(runner_module, "STUCK_MS", -1)
        assert await yard.lease("own_b") == [("a", 2)]

    play(scene, tmp_path)


def test_a_stuck_lease_does_not_hold_up_the_same_work_that_was_queued_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(yard: Yard) -> None:
        await yard.enqueue("a")
        await yard.lease("own_stuck")
        await yard.enqueue("a")  # a subject that all of a house's jobs share is queued again soon
        assert await yard.lease("own_b") == []
        monkeypatch.setattr(runner_module, "STUCK_MS", -1)
        assert await yard.lease("own_b") == [("a", 1)]
        assert sorted(await yard.rows()) == [("a", "cancelled", 1), ("a", "leased", 1)]

    play(scene, tmp_path)


def test_finished_jobs_are_forgotten_after_a_week(tmp_path: Path) -> None:
    async def scene(yard: Yard) -> None:
        runner = yard.runner(index=done)
        await yard.enqueue("old")
        await with_runner(runner, lambda: yard.settled(runner))
        await yard.db.write(lambda tx: dead(tx, "old and dead", []))
        yard.clock.at += runner_module.KEEP_FINISHED_MS + 1
        await yard.enqueue("new")
        await runner.forget_finished()
        await with_runner(runner, lambda: yard.settled(runner))
        assert {row[:2] for row in await yard.rows()} == {("new", "done"), ("old and dead", "dead")}

    play(scene, tmp_path)


# -- draining --------------------------------------------------------------------------------------------------------


def test_drain_of_nothing_is_idle(tmp_path: Path) -> None:
    async def scene(yard: Yard) -> None:
        result = await yard.runner().drain(0)
        assert (result.idle, result.pending, result.waiting) == (True, 0, [])

    play(scene, tmp_path)


def test_drain_tells_what_is_still_pending(tmp_path: Path) -> None:
    async def scene(yard: Yard) -> None:
        release = anyio.Event()

        async def work(_held: JobHandle) -> None:
            await release.wait()

        runner = yard.runner(index=work)
        for subject in "abc":
            await yard.enqueue(subject)
        await yard.enqueue("not ours", "embed")

        async def story() -> None:
            for seconds in (0, 0.02):
                result = await runner.drain(seconds)
                assert (result.idle, result.pending) == (False, 3)
            assert runner._idle_waiters == []
            release.set()
            await yard.settled(runner)

        await with_runner(runner, story)
        assert await yard.counts() == {"done": 3}
        assert await yard.counts("embed") == {"queued": 1}

    play(scene, tmp_path)


def test_drain_does_not_wait_for_a_due_job_that_nobody_here_handles(tmp_path: Path) -> None:
    async def scene(yard: Yard) -> None:
        await yard.enqueue("a", "embed")
        await yard.db.write(lambda tx: tx.run("UPDATE job SET state = 'retry_wait'"))
        runner = yard.runner(index=done)
        result = await runner.drain(0.05)
        assert (result.idle, result.pending, [(w.kind, w.count) for w in result.waiting]) == (True, 0, [("embed", 1)])

    play(scene, tmp_path)


def test_drain_runs_what_a_resumed_queue_can_do(tmp_path: Path) -> None:
    async def scene(yard: Yard) -> None:
        errors: list[Exception] = [PauseQueue("embedder", "down")]

        async def work(_held: JobHandle) -> None:
            if errors:
                raise errors.pop()

        runner = yard.runner(index=work)
        await yard.enqueue("a")

        async def story() -> None:
            assert (await runner.drain(10)).idle
            assert await yard.counts() == {"queued": 1}
            runner.resume("index")
            assert (await runner.drain(10)).idle
            assert await yard.counts() == {"done": 1}

        await with_runner(runner, story)

    play(scene, tmp_path)
