"""Workers killed in the middle of their index jobs, again and again: every job is done, and none is done twice."""

import asyncio
import contextlib
import random
from collections import Counter

import pytest
from sizes import size
from spawned import Den, drain, every, hello

from gateway.wire.client import ConnectionClosed

KILLS = size("job_kills")
JOBS = size("jobs")
"""Of both homes together; the campaign before a release has 300 kills over 5,000 jobs."""
HOMES = 2
ROUNDS = -(-KILLS // HOMES)
SHARE = -(-JOBS // HOMES // ROUNDS)
"""Messages that a worker brings before it is killed."""

SMALL_BATCHES = """
[gateway.thread_episodic]
index_batch_limit = 2
chunk_target_min_chars = 50
chunk_target_max_chars = 80
chunk_max_chars = 100
retry_base_delay_secs = 1
"""
"""Most jobs have several transactions, so that kills come between them."""

LATEST_KILL_SECONDS = 0.05
"""Of a worker that is killed while it takes messages in."""


def text_of(number):
    """A message of one to six chunks, with a word that no other has."""
    return f"Parcel mark{number:05}x is here. " + "It waits on the long shelf by the door of the hall. " * (number % 7)


def batch(number):
    """The messages of a round, each a turn and so a job of its own."""
    turns = [
        {"turn_id": f"trn_{n}", "at": 1_700_000_000_000 + n, "items": [{"role": "user", "text": text_of(n)}]}
        for n in range(number * SHARE, (number + 1) * SHARE)
    ]
    source = {"kind": "parcels", "id": str(number)}
    return {"workspace_id": "ws_here", "thread_id": f"thr_{number}", "source": source, "turns": turns}


def told_by(client):
    return [params["turn_id"] for method, params in client.received if method == "thread_episodic/indexed"]


async def work_until_killed(client, number, rng):
    """Bring a round's messages and work, until a random job is done; what was told is returned."""
    most = rng.randint(0, 2 * SHARE)
    loop = asyncio.get_running_loop()
    if most == 0:
        loop.call_later(rng.uniform(0, LATEST_KILL_SECONDS), client.kill)

    async def watch():
        await client.wait_for("thread_episodic/indexed", lambda _: len(told_by(client)) >= most > 0)

    async def bring():
        await client.request("thread/import", batch(number))
        await drain(client)

    tasks = [asyncio.create_task(watch()), asyncio.create_task(bring())]
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    client.kill()
    for ended in await asyncio.gather(*tasks, return_exceptions=True):
        if ended is not None and not isinstance(ended, ConnectionClosed):
            raise ended
    await client.wait()
    assert done
    return told_by(client)


async def check(client, told):
    """Every message is in the index once, by one job that was told at most once."""
    assert max(told.values()) == 1, [turn_id for turn_id, times in told.items() if times > 1]
    jobs = await every(client, "thread_episodic/jobs", "jobs")
    assert Counter(job["turn_id"] for job in jobs) == Counter(f"trn_{n}" for n in range(ROUNDS * SHARE))
    assert {(job["status"], job["attempt_count"]) for job in jobs} == {("done", 1)}
    status = await client.request("thread_episodic/status", {"workspace_id": "ws_here"})
    chunks = sum(len(job["chunk_ids"]) for job in jobs)
    assert status["chunks"] == {"pending": 0, "indexed": chunks, "failed": 0, "retired": 0, "excluded": 0, "partial": 0}
    for number in {0, ROUNDS * SHARE - 1, *random.sample(range(ROUNDS * SHARE), 10)}:
        asked = {"workspace_id": "ws_here", "query": f"mark{number:05}x", "limit": 100}
        assert [hit["turn_id"] for hit in (await client.request("thread_episodic/search", asked))["hits"]] == [
            f"trn_{number}"
        ]
    return chunks


def check_tables(den, chunks):
    """The index has a row for each chunk and no more, and the chunks of each message are all of it."""
    rows = den.database().execute(
        "SELECT source, position, from_char, to_char FROM chunk WHERE status = 'indexed' ORDER BY source, position"
    )
    pieces = {}
    for source, position, start, end in rows:
        known = pieces.setdefault(source, [])
        assert (position, start) == (len(known), known[-1] if known else 0)
        known.append(end)
    assert sum(map(len, pieces.values())) == chunks
    assert sorted(ends[-1] for ends in pieces.values()) == sorted(len(text_of(n)) for n in range(ROUNDS * SHARE))
    for count in ("SELECT count(*) FROM chunk_fts_docsize", "SELECT sum(chunk_count) FROM segment"):
        assert den.database().execute(count).fetchall() == [(chunks,)]


async def kill_again_and_again(den, rng, *, is_watched):
    """`is_watched`: another gateway lives all the time, and takes over at once what a killed worker leaves."""
    told = Counter()
    torn = 0
    async with contextlib.AsyncExitStack() as stack:
        witness = await stack.enter_async_context(den.client()) if is_watched else None
        for number in range(ROUNDS):
            client = await den.spawn()
            await hello(client)
            if number:
                await client.request("thread/import", batch(number - 1))
            told.update(await work_until_killed(client, number, rng))
            torn += den.database().execute("SELECT count(*) FROM job WHERE state = 'leased'").fetchall()[0][0]
        last = witness or await stack.enter_async_context(den.client())
        await last.request("thread/import", batch(ROUNDS - 1))
        await drain(last)
        told.update(told_by(last))
        chunks = await check(last, told)
    check_tables(den, chunks)
    print(f"{torn} jobs were under way at a kill, {chunks} chunks")  # noqa: T201
    assert torn >= ROUNDS // 10


@pytest.mark.timeout(300 + 5 * ROUNDS)
@pytest.mark.parametrize("is_watched", [False, True], ids=["alone", "with another"])
def test_kills_lose_no_job_and_double_none(is_watched, tmp_path):
    seed = random.randrange(2**32)
    print(f"seed {seed}, {ROUNDS} kills, {ROUNDS * SHARE} jobs")  # noqa: T201  # shown when the test fails
    den = Den(tmp_path, config=SMALL_BATCHES)
    asyncio.run(kill_again_and_again(den, random.Random(seed), is_watched=is_watched))
