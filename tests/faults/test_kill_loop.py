"""`kill -9` at random moments of a mixed load: acknowledged means durable, forgotten means gone, once means once."""

import asyncio
import contextlib
import itertools
import random
import time
from dataclasses import dataclass, field

import pytest
from sizes import size
from spawned import Den, drain, every, fact, hello, remember

from gateway.wire.client import CallFailed, ConnectionClosed

KILLS = size("kills")
"""Kills of all homes together; the campaign before a release has 1,000."""
HOMES = 4
ROUNDS = -(-KILLS // HOMES)
REPEATS = max(5, KILLS // 10)
TURNS_EACH = 8
THREADS = ("thr_1", "thr_2", "thr_3")
TURNS_BEFORE_KILL = (0, 1, 3)
"""The turns that end before a kill, in every round the next number of them, however slow the machine is. The kill comes
at a random moment after them, within what the first turn of a process takes alone: some dozens of operations are
answered by then, and some are under way."""

WORKSPACE = {"kind": "workspace", "key": "ws_here"}

SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo zu".split()


def word(number):
    """A word that no other number has."""
    return "".join(SYLLABLES[number // 20**place % 20] for place in range(4))


def turn_text(number):
    """What the user says: the quote, and a mark that stands nowhere else."""
    return f"For the record, I call my {word(number)} by its name. (mark{number:05}x)"


def turn_fact(number):
    """What the extractor makes of it."""
    return fact(f"The user has a {word(number)}.", f"I call my {word(number)} by its name", f"{word(number)}_name")


@dataclass
class Known:
    """What the test was told, and what it asked for and was not told."""

    kept: dict[str, str] = field(default_factory=dict)
    """Acknowledged: content by memory id."""
    unknown: dict[str, str] = field(default_factory=dict)
    """Sent and not acknowledged: content by idempotency key."""
    forgotten: dict[str, str] = field(default_factory=dict)
    unsure: dict[str, str] = field(default_factory=dict)
    """A forget that was sent and not acknowledged."""
    begun: dict[str, int] = field(default_factory=dict)
    """Turns that were asked for: their number by turn id."""
    acknowledged: set[str] = field(default_factory=set)
    ended: set[str] = field(default_factory=set)
    """Turns whose end was told."""
    completed: dict[str, int] = field(default_factory=dict)
    interrupted: set[str] = field(default_factory=set)
    imported: set[int] = field(default_factory=set)
    """Acknowledged imports, by number."""
    importing: set[int] = field(default_factory=set)
    next_number: int = 0

    def number(self):
        self.next_number += 1
        return self.next_number


async def keep_remembering(client, known):
    while True:
        number = known.number()
        content, key = f"The {word(number)} stands on shelf {number}.", f"key-{number}"
        known.unknown[key] = content
        memory_id = await remember(client, content, idempotency_key=key)
        known.kept[memory_id] = known.unknown.pop(key)


async def keep_forgetting(client, known, rng):
    while True:
        if len(known.kept) < 4:
            await client.request("ping")
            continue
        memory_id = rng.choice(list(known.kept))
        content = known.kept.pop(memory_id)
        known.unsure[memory_id] = content
        await forget(client, memory_id)
        known.forgotten[memory_id] = known.unsure.pop(memory_id)


async def forget(client, memory_id):
    return await client.request("memory/forget", {"target": {"kind": "id", "memory_id": memory_id}})


async def keep_talking(client, known, thread_id, numbers):
    for number in numbers:
        turn_id = f"trn_{number}"
        known.begun[turn_id] = number
        said = [{"type": "text", "text": turn_text(number)}]
        await client.request("turn/start", {"thread_id": thread_id, "turn_id": turn_id, "input": said})
        known.acknowledged.add(turn_id)
        await client.wait_for("turn/completed", lambda told, turn_id=turn_id: told["turn_id"] == turn_id)
        known.ended.add(turn_id)


def import_of(number, **more):
    """A conversation of two turns."""
    turns = [
        {
            "at": 1_700_000_000_000 + n,
            "items": [{"role": "user", "text": f"Letter {number}, page {n}: the {word(number)}."}],
        }
        for n in range(2)
    ]
    source = {"kind": "letters", "id": str(number)}
    return {"workspace_id": "ws_here", "thread_id": f"thr_letter_{number}", "source": source, "turns": turns, **more}


async def keep_importing(client, known):
    while True:
        number = known.number()
        known.importing.add(number)
        told = await client.request("thread/import", import_of(number))
        assert (told["imported"], told["skipped"]) == (2, 0)
        known.importing.remove(number)
        known.imported.add(number)


async def first_turn(den, known, number):
    """How long the first turn of a process takes when nothing else goes on, in seconds."""
    async with await den.spawn() as client:
        await hello(client)
        await client.request("thread/start", {"thread_id": THREADS[0]})
        began = time.monotonic()
        await keep_talking(client, known, THREADS[0], [number])
        return time.monotonic() - began


async def kill_later(client, turns, seconds):
    """Kill a process so many seconds after so many of its turns have ended."""
    ended = set()
    while len(ended) < turns:
        told = await client.wait_for("turn/completed", lambda told: told["turn_id"] not in ended)
        ended.add(told["turn_id"])
    asyncio.get_running_loop().call_later(seconds, client.kill)


async def load(client, known, rng, numbers, turns, seconds):
    """Everything at once, until the process is dead: so many turns have ended then, and up to so many seconds more."""
    tasks = [
        asyncio.create_task(work)
        for work in (
            keep_remembering(client, known),
            keep_remembering(client, known),
            keep_forgetting(client, known, rng),
            keep_importing(client, known),
            *(keep_talking(client, known, thread, numbers[n::3]) for n, thread in enumerate(THREADS)),
            kill_later(client, turns, rng.uniform(0.0, seconds)),
        )
    ]
    for ended in await asyncio.gather(*tasks, return_exceptions=True):
        if ended is not None and not isinstance(ended, ConnectionClosed):
            raise ended
    await client.wait()


async def settle(client, known, interrupted):
    """After a restart: learn what became of the turns, and do again what was not acknowledged."""
    named = {turn["turn_id"] for turn in interrupted}
    seen = set()
    for turn_id in sorted(set(known.begun) - set(known.completed) - known.interrupted):
        try:
            status = (await client.request("turn/get", {"turn_id": turn_id}))["turn"]["status"]
        except CallFailed as failed:
            assert failed.reason == "not_found"
            assert turn_id not in known.acknowledged, f"{turn_id} was acknowledged and is lost"
            del known.begun[turn_id]
            continue
        if status == "completed":
            known.completed[turn_id] = known.begun[turn_id]
        else:
            assert status == "interrupted", turn_id
            seen.add(turn_id)
    assert named == seen
    assert not seen & known.ended, "the end of a turn was told before it was durable"
    known.interrupted |= seen
    for key, content in list(known.unknown.items()):
        known.kept[await remember(client, content, idempotency_key=key)] = known.unknown.pop(key)
    for memory_id, content in list(known.unsure.items()):
        await forget(client, memory_id)
        known.forgotten[memory_id] = content
        del known.unsure[memory_id]
    for number in list(known.importing):
        told = await client.request("thread/import", import_of(number))
        assert (told["imported"], told["skipped"]) in {(2, 0), (0, 2)}, "half an import"
        known.importing.remove(number)
        known.imported.add(number)


async def check(client, known, sample):
    """All that was promised holds."""
    records = await every(client, "memory/list", "records")
    by_id = {record["memory_id"]: record["content"] for record in records}
    contents = sorted(record["content"] for record in records)
    assert len(by_id) == len(records)
    assert {memory_id: by_id.get(memory_id) for memory_id in known.kept} == known.kept
    learnt = [turn_fact(number)["content"] for number in known.completed.values()]
    assert contents == sorted([*known.kept.values(), *learnt])
    for memory_id in sample(known.kept):
        assert (await client.request("memory/get", {"memory_id": memory_id}))["record"]["content"] == by_id[memory_id]
        hits = await found(client, known.kept[memory_id])
        assert memory_id in hits
    for memory_id in sample(known.forgotten):
        assert (await client.request("memory/get", {"memory_id": memory_id}))["record"] is None
        assert memory_id not in await found(client, known.forgotten[memory_id])
    for number in sample(known.imported):
        told = await client.request("thread/import", import_of(number, dry_run=True))
        assert (told["imported"], told["skipped"], told["replaced"]) == (0, 2, 0)
    status = await client.request("thread_episodic/status", {"workspace_id": "ws_here"})
    assert (status["chunks"]["pending"], status["chunks"]["failed"], status["dead_jobs"]) == (0, 0, 0)
    for turn_id in sample(known.completed):
        asked = {"workspace_id": "ws_here", "query": f"mark{known.completed[turn_id]:05}x"}
        hits = (await client.request("thread_episodic/search", asked))["hits"]
        assert turn_id in {hit["turn_id"] for hit in hits}


async def found(client, content):
    hits = (await client.request("memory/search", {"query": content, "limit": 5}))["hits"]
    return {hit["record"]["memory_id"] for hit in hits}


@pytest.mark.timeout(300 + 5 * ROUNDS)
@pytest.mark.parametrize("home", range(HOMES))
def test_kills_lose_nothing_and_bring_nothing_back(home, tmp_path):
    seed = random.randrange(2**32)
    print(f"seed {seed}, {ROUNDS} kills")  # noqa: T201  # shown when the test fails
    asyncio.run(kill_again_and_again(tmp_path, seed))


async def kill_again_and_again(tmp_path, seed):
    rng = random.Random(seed)
    numbers = [100_000 + n for n in range(ROUNDS * TURNS_EACH + 1)]
    den = Den(tmp_path, scripted=True)
    den.write_script(
        [
            {"role": "extractor", "input_contains": f"mark{n:05}x", "respond": {"json": {"facts": [turn_fact(n)]}}}
            for n in numbers
        ]
    )
    known = Known()
    seconds = await first_turn(den, known, numbers.pop())
    turns = itertools.cycle(TURNS_BEFORE_KILL)
    for kills in range(ROUNDS + 1):
        client = await den.spawn()
        interrupted = (await hello(client))["interrupted_turns"]
        for thread_id in THREADS:
            await client.request("thread/start", {"thread_id": thread_id})
        await settle(client, known, interrupted)
        await drain(client)
        sizes = 4 if kills < ROUNDS else 200
        await check(client, known, lambda of, most=sizes: rng.sample(sorted(of), min(most, len(of))))
        if kills == ROUNDS:
            assert await client.close() == 0
        else:
            said = numbers[kills * TURNS_EACH : (kills + 1) * TURNS_EACH]
            await load(client, known, rng, said, next(turns), seconds)
    assert min(map(len, (known.kept, known.forgotten, known.completed, known.imported))) >= ROUNDS // 4


@pytest.mark.loop("test", "campaign")  # acknowledged means durable, and once means once
@pytest.mark.timeout(300 + 5 * REPEATS)
def test_a_request_repeated_after_a_kill_makes_one_record(tmp_path):
    """Killed between sending and reading the reply: whether it was done is unknown, and a repeat settles it."""
    seed = random.randrange(2**32)
    print(f"seed {seed}, {REPEATS} kills")  # noqa: T201  # shown when the test fails
    asyncio.run(repeat_after_kills(Den(tmp_path), random.Random(seed)))


async def repeat_after_kills(den, rng):
    made = []
    for attempt in range(REPEATS + 1):
        async with await den.spawn() as client:
            await hello(client)
            for content in made[-1:]:
                asked = asking(attempt - 1, content)
                first, second = [await client.request("memory/remember", asked) for _ in range(2)]
                assert first["record"]["memory_id"] == second["record"]["memory_id"]
                assert (
                    (first["created"], first["relation"]) == (second["created"], second["relation"]) == (True, "novel")
                )
                records = await every(client, "memory/list", "records")
                assert sorted(record["content"] for record in records) == sorted(made)
            if attempt < REPEATS:
                made.append(f"The {word(attempt)} is number {attempt}.")
                lost = asyncio.create_task(client.request("memory/remember", asking(attempt, made[-1])))
                asyncio.get_running_loop().call_later(rng.uniform(0.0, 0.012), client.kill)
                with contextlib.suppress(ConnectionClosed):
                    await lost
                await client.wait()


def asking(attempt, content):
    return {"content": content, "idempotency_key": f"once-{attempt}"}
