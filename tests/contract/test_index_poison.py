"""A message that can never be indexed: it is tried, given up and told, and everybody else's words are found meanwhile."""

import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path

import anyio
import pytest
from episodic_home import Home
from job_yard import with_runner

from gateway.jobs.retry import limits_of
from gateway.jobs.runner import CONCURRENCY, JobRunner, Work
from protocol.thread_episodic import JobsParams, RetryParams, ThreadStatusParams
from retrieval.terms import SnowballLexicon

MOST_SECONDS = 1.0
"""That a message may wait longer for its index because of others that fail."""

POISONED = CONCURRENCY["index"] + 4


class Allergic(SnowballLexicon):
    """A lexicon that one word breaks."""

    is_cured = False

    def index_terms(self, text: str) -> list[str]:
        if "poison" in text and not self.is_cured:
            raise ValueError
        return super().index_terms(text)


@pytest.fixture
def lexicon() -> Allergic:
    return Allergic()


@pytest.fixture
def home(tmp_path: Path, lexicon: Allergic) -> Iterator[Home]:
    home = Home(tmp_path, lexicon)
    yield home
    home.close()


def run(home: Home, story: Callable[[JobRunner], Awaitable[None]]) -> None:
    async def main() -> None:
        runner = JobRunner(
            db=home.db,
            clock=home.clock,
            owner="own_test",
            bell=home.jobs.bell,
            work={"index": Work(home.service.index, together=home.service.index_together)},
            limits=lambda kind: limits_of(kind, home.settings),
            on_paused=lambda *_: None,
            on_resumed=lambda _: None,
        )
        with anyio.fail_after(120):
            await with_runner(runner, partial(story, runner))

    anyio.run(main)


async def seconds_to_find(home: Home, name: str) -> float:
    """How long it takes from saying something until it is in the index."""
    told = len(home.told)
    began = time.monotonic()
    await home.say(name, f"The brass valve number {name}.")
    while all(notice.turn_id != f"t_{name}" for _, notice in home.told[told:]):  # noqa: ASYNC110  # the notice is a call
        await anyio.sleep(0.001)
    return time.monotonic() - began


def test_messages_that_fail_every_time_do_not_hold_up_the_others(home: Home) -> None:
    async def story(runner: JobRunner) -> None:
        took: list[float] = []
        for attempt in range(home.settings.max_attempts):
            for n in range(POISONED if attempt == 0 else 0):  # more than run at once
                await home.say(f"p{n}", "This is poison.")
            took += [await seconds_to_find(home, f"v{attempt}_{n}") for n in range(3)]
            waiting = (await runner.drain(10)).waiting
            if waiting:
                home.clock.at = waiting[0].next_run_at + 100_000  # all of them are due at once
        assert (
            min(took) < MOST_SECONDS
        )  # the machine is shared: the best is the gateway's own; the others came while the clock stood
        state = await home.service.status(ThreadStatusParams(workspace_id="a"))
        assert (state.dead_jobs, state.chunks.failed, state.chunks.indexed) == (POISONED, POISONED, len(took))

    run(home, story)


def test_what_was_given_up_is_told_by_code_and_found_after_it_is_tried_again(home: Home, lexicon: Allergic) -> None:
    async def story(runner: JobRunner) -> None:
        home.change(max_attempts=1)
        await home.say("p", "This is poison in the brass valve.")
        assert (await runner.drain(10)).waiting == []
        (job,) = (await home.service.list_jobs(JobsParams(status="dead"))).jobs
        assert job.last_error is not None
        assert (job.last_error.code, job.attempt_count) == ("internal", 1)
        assert await home.found("brass valve") == []
        lexicon.is_cured = True
        assert (await home.service.retry(RetryParams(job_id=job.job_id))).requeued == 1
        await runner.drain(10)
        assert await home.found("brass valve") == ["p"]
        assert (await home.service.status(ThreadStatusParams())).dead_jobs == 0

    run(home, story)


@pytest.mark.parametrize(
    ("settings", "delays"),
    [
        ({}, [30, 60, 120, 240]),
        ({"max_attempts": 3}, [30, 60]),
        ({"retry_base_delay_secs": 5}, [5, 10, 20, 40]),
        ({"retry_max_delay_secs": 100}, [30, 60, 100, 100]),
    ],
    ids=["usual", "attempts", "base", "most"],
)
def test_the_tries_follow_the_settings(home: Home, settings: dict[str, int], delays: list[int]) -> None:
    async def story(runner: JobRunner) -> None:
        home.change(**settings)
        await home.say("p", "This is poison.")
        for delay in delays:
            (waits,) = (await runner.drain(10)).waiting
            assert delay * 1000 <= waits.next_run_at - home.clock.at <= delay * 1200
            home.clock.at = waits.next_run_at
        assert (await runner.drain(10)).waiting == []
        assert (await home.service.status(ThreadStatusParams())).dead_jobs == 1

    run(home, story)
