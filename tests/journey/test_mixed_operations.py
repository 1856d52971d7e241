"""Thousands of mixed operations by two gateways on one home: none fails, each sees the other's work, the home stays
whole."""

import asyncio
import itertools
import random
import statistics
import time
from pathlib import Path

import apsw
import pytest
from sizes import size
from spawned import Den, drain, every, hello, remember

from gateway.wire.client import CallFailed

OPERATIONS = size("operations")
"""In all, by both; the promise is made for 10,000."""

LANES = 100  # of each process: with both, a few hundred requests are on their way at once
WORKSPACES = 4  # of each process
TELL_SECONDS = 1.0
BUSY_SECONDS = 4.0
"""The same with hundreds of requests on their way on a machine that others use as well; the promise is made for one
change."""
PULSE_SECONDS = 0.5
STORY_SECONDS = 60 + OPERATIONS / 20
HIDDEN = {"access_count", "last_accessed_at"}  # reading changes them

WHOLE = {
    "integrity": ("PRAGMA integrity_check", [("ok",)]),
    "foreign keys": ("PRAGMA foreign_key_check", []),
    "terms of every record": (
        (
            "SELECT id FROM record WHERE status <> 'deleted' AND id NOT IN (SELECT row FROM record_terms)"
            " UNION ALL SELECT row FROM record_terms WHERE row NOT IN (SELECT id FROM record WHERE status <> 'deleted')"
        ),
        [],
    ),
    "index rows of all terms": (
        (
            "SELECT row FROM record_terms WHERE row NOT IN (SELECT id FROM memory_fts_docsize)"
            " UNION ALL SELECT id FROM memory_fts_docsize WHERE id NOT IN (SELECT row FROM record_terms)"
        ),
        [],
    ),
    "evidence": ("SELECT id FROM evidence WHERE memory_id NOT IN (SELECT memory_id FROM record)", []),
    "evidence counts": (
        "SELECT id FROM record WHERE evidence_count <> (SELECT count(*) FROM evidence WHERE evidence.memory_id = record.memory_id)",
        [],
    ),
    "scope counts": (
        "SELECT id FROM scope WHERE active <> (SELECT count(*) FROM record WHERE scope_id = scope.id AND status = 'active')",
        [],
    ),
    "chains": (
        (
            "SELECT id FROM record WHERE superseded_by <> '' AND superseded_by NOT IN (SELECT memory_id FROM record)"
            " UNION ALL SELECT id FROM record WHERE supersedes NOT IN (SELECT memory_id FROM record)"
        ),
        [],
    ),
    "marks": ("SELECT id FROM record WHERE index_state <> 'indexed'", []),
    "a history for every record": (
        "SELECT id FROM record WHERE memory_id NOT IN (SELECT memory_id FROM memory_event)",
        [],
    ),
    "no job is left": ("SELECT count(*) FROM job WHERE state IN ('queued', 'leased')", [(0,)]),
}
"""What is true of a whole home: a question and its only answer."""


class Lane:
    """One thing after another through one process, checked through the other."""

    def __init__(self, name, own, other, workspace_id, rng):
        self.name, self.own, self.other, self.rng = name, own, other, rng
        self.context = {"workspace_id": workspace_id}
        self.here = {"kind": "workspace", "key": workspace_id}
        self.thread_id = f"thr_{name}"
        self.active, self.forgotten = {}, {}
        self.numbers = itertools.count()
        self.writes = []

    def ask(self, client, method, **params):
        return client.request(method, {**params, "context": self.context})

    async def write(self, method, **params):
        began = time.monotonic()
        result = await self.ask(self.own, method, **params)
        self.writes.append((self.here["key"], began, time.monotonic()))
        return result

    def words(self):
        return f"Crate {self.name}q{next(self.numbers)} weighs {self.rng.randrange(900)} stone."

    def pick(self, among=None):
        return self.rng.choice(sorted(self.active if among is None else among))

    async def run(self, operations):
        await self.own.request("thread/start", {"thread_id": self.thread_id, "workspace_id": self.here["key"]})
        for _ in range(operations):
            steps = [self.remember, self.remember, self.prepare]
            if self.active:
                steps += [
                    self.correct,
                    self.update,
                    self.forget,
                    self.get,
                    self.search,
                    self.enumerate,
                    self.export,
                    self.stale,
                ]
            if self.forgotten:
                steps += [self.restore, self.miss]
            await self.rng.choice(steps)()

    async def remember(self):
        content = self.words()
        key = {"key": f"crate {self.name} {next(self.numbers)}"} if self.rng.random() < 0.5 else {}
        result = await self.write("memory/remember", content=content, scope=self.here, **key)
        assert result["created"]
        self.active[result["record"]["memory_id"]] = content
        await self.get(result["record"]["memory_id"])

    async def correct(self):
        memory_id, content = self.pick(), self.words()
        result = await self.write("memory/update", memory_id=memory_id, content=content)
        assert result["superseded_memory_id"] == memory_id
        del self.active[memory_id]
        self.active[result["record"]["memory_id"]] = content
        await self.search(result["record"]["memory_id"])

    async def update(self):
        memory_id, importance = self.pick(), round(self.rng.random(), 3)
        await self.write("memory/update", memory_id=memory_id, importance=importance, tags=[f"t{self.name}"])
        record = (await self.ask(self.other, "memory/get", memory_id=memory_id))["record"]
        assert (record["importance"], record["tags"]) == (importance, [f"t{self.name}"])

    async def stale(self):
        with pytest.raises(CallFailed) as refused:
            await self.ask(self.own, "memory/update", memory_id=self.pick(), importance=0.1, expected_updated_at=1)
        assert refused.value.reason == "conflict"

    async def forget(self):
        memory_id = self.pick()
        target = {"kind": "id", "memory_id": memory_id}
        await self.write("memory/forget", target=target, restore_superseded=False)
        self.forgotten[memory_id] = self.active.pop(memory_id)
        await self.miss(memory_id)

    async def restore(self):
        memory_id = self.pick(self.forgotten)
        await self.write("memory/restore", memory_id=memory_id)
        self.active[memory_id] = self.forgotten.pop(memory_id)
        await self.search(memory_id)

    async def get(self, memory_id=None):
        memory_id = memory_id or self.pick()
        record = (await self.ask(self.other, "memory/get", memory_id=memory_id))["record"]
        assert record["content"] == self.active[memory_id]

    async def miss(self, memory_id=None):
        memory_id = memory_id or self.pick(self.forgotten)
        assert (await self.ask(self.other, "memory/get", memory_id=memory_id))["record"] is None
        found = await self.ask(self.other, "memory/search", query=self.forgotten[memory_id], limit=100)
        assert memory_id not in {hit["record"]["memory_id"] for hit in found["hits"]}

    async def search(self, memory_id=None):
        memory_id = memory_id or self.pick()
        found = await self.ask(self.other, "memory/search", query=self.active[memory_id], limit=3)
        assert found["hits"][0]["record"]["memory_id"] == memory_id

    async def enumerate(self):
        listed = await every(self.other, "memory/list", "records", context=self.context, scopes=[self.here])
        assert set(self.active) <= {record["memory_id"] for record in listed}

    async def export(self):
        page = await self.ask(self.other, "memory/export", scopes=[self.here])
        assert page["bundle"]

    async def prepare(self):
        said = [{"type": "text", "text": f"How heavy is crate {self.name}?"}]
        turn_id = f"trn_{self.name}_{next(self.numbers)}"
        await self.own.request("turn/prepare", {"thread_id": self.thread_id, "turn_id": turn_id, "input": said})
        done = {"turn_id": turn_id, "status": "succeeded", "assistant_text": "Heavy."}
        assert (await self.own.request("turn/finish", done))["turn"]["status"] == "completed"


class Listener:
    """What a process is told of others' changes, and when."""

    def __init__(self, client):
        self.client = client
        self.told = []
        self.task = asyncio.create_task(self.listen())

    async def listen(self):
        seen = 0
        while True:
            await self.client.wait_for("memory/invalidated", since=seen)
            for number, (method, params) in enumerate(self.client.received[seen:], seen):
                if method == "memory/invalidated":
                    self.told.append((time.monotonic(), params))
                    seen = number + 1
                    break

    def delays(self, writes):
        """How long after its answer each write was told: the next time that its scope was named after it had begun."""
        at = {}
        for when, params in self.told:
            for scope in params["scopes"]:
                at.setdefault(scope["key"], []).append(when)
        return [
            max(0.0, next((when for when in at.get(key, []) if when >= began), float("inf")) - answered)
            for key, began, answered in writes
        ]


def shown(records):
    return [{name: value for name, value in record.items() if name not in HIDDEN} for record in records]


async def tell_alone(writer, listener):
    """The delay of one write while nothing else goes on."""
    heard = len(listener.told)
    await remember(writer, f"Lamp {heard} flickers.")
    began = time.monotonic()
    while len(listener.told) == heard:
        await asyncio.wait_for(listener.client.wait_for("memory/invalidated", since=len(listener.client.received)), 30)
        await asyncio.sleep(0)
    return listener.told[-1][0] - began


async def play(den, seed):
    """The whole story; what each process was told, and the lanes."""
    clients = [await den.spawn(), await den.spawn()]
    async with clients[0], clients[1]:
        for client in clients:
            await hello(client)
        for side, n in itertools.product("ab", range(WORKSPACES)):
            await clients[0].request("workspace/create", {"workspace_id": f"ws_{side}{n}"})
        listeners = [Listener(client) for client in clients]
        lanes = [
            [
                Lane(f"{side}{n}", own, other, f"ws_{side}{n % WORKSPACES}", random.Random(f"{seed}-{side}-{n}"))
                for n in range(LANES)
            ]
            for side, own, other in (("a", *clients), ("b", *reversed(clients)))
        ]
        began = time.monotonic()
        share = max(1, OPERATIONS // (2 * LANES))
        await asyncio.gather(*(lane.run(share) for of_side in lanes for lane in of_side))
        took = time.monotonic() - began
        for client in clients:
            await drain(client)
        alone = [await tell_alone(clients[0], listeners[1]) for _ in range(3)]
        for listener in listeners:
            listener.task.cancel()
        check_news(listeners, lanes, took, alone)
        await check_answers(clients, lanes)
        for client in clients:
            status = await client.request("gateway/status")
            assert (status["processes"], status["last_errors"], status["degraded"]) == (2, [], [])


def check_news(listeners, lanes, took, alone):
    """Each process was told of the other's scopes, soon, seldom, and of nothing else."""
    assert min(alone) < TELL_SECONDS, alone
    for listener, own, others in zip(listeners, lanes, reversed(lanes), strict=True):
        delays = listener.delays([write for lane in others for write in lane.writes])
        assert max(delays) < float("inf")
        assert statistics.quantiles(delays, n=20)[-1] < BUSY_SECONDS, sorted(delays)
        assert len(listener.told) <= took / PULSE_SECONDS + 10, "one coalesced notification each half second"
        mine = {lane.here["key"] for lane in own}
        for _, params in listener.told:
            assert set(params) == {"scopes"}
            keys = [scope["key"] for scope in params["scopes"]]
            assert all(set(scope) == {"kind", "key"} for scope in params["scopes"])
            assert len(keys) == len(set(keys))
            assert not mine & set(keys), "nobody is told of what it did itself"


async def check_answers(clients, lanes):
    """Both know the same, and it is what was done."""
    by_workspace = {}
    for lane in itertools.chain.from_iterable(lanes):
        by_workspace.setdefault(lane.here["key"], {}).update(lane.active)
    for workspace_id, active in by_workspace.items():
        place = {"context": {"workspace_id": workspace_id}, "scopes": [{"kind": "workspace", "key": workspace_id}]}
        lists = [shown(await every(client, "memory/list", "records", **place)) for client in clients]
        assert lists[0] == lists[1]
        assert {record["memory_id"]: record["content"] for record in lists[0]} == active
        for content in sorted(active.values())[:5]:
            answers = [await client.request("memory/search", {"query": content, **place}) for client in clients]
            for answer in answers:
                answer["hits"] = [(*shown([hit["record"]]), hit["matched_terms"]) for hit in answer["hits"]]
            for answer in answers:
                del answer["next_cursor"]  # a search goes on where it was begun
            assert answers[0] == answers[1]


def check_home(path: Path):
    """The file is whole by itself."""
    connection = apsw.Connection(str(path))
    try:
        for name, (question, answer) in WHOLE.items():
            assert connection.execute(question).fetchall() == answer, name
        connection.execute("INSERT INTO memory_fts (memory_fts, rank) VALUES ('integrity-check', 0)")
    finally:
        connection.close()


@pytest.mark.loop("campaign")
@pytest.mark.timeout(STORY_SECONDS + 300)
def test_two_processes_work_on_one_home_without_an_error(tmp_path):
    seed = random.randrange(2**32)
    den = Den(tmp_path)

    async def told():
        async with asyncio.timeout(STORY_SECONDS):
            await play(den, seed)

    try:
        asyncio.run(told())
        check_home(den.home / "gateway.db")
    except BaseException as failure:
        failure.add_note(f"seed {seed}")
        raise
