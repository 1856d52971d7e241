"""Damage at random: tables by SQL beside a running gateway, pages of the file while none runs; everything derived comes
back."""

import asyncio
import os
import random
import shutil
from pathlib import Path

import apsw
import pytest
from damages import (
    DAMAGES,
    FACT_QUERIES,
    FOUND,
    QUERIES,
    Damage,
    answers,
    change,
    derived,
    fill,
    overwrite,
    page_size,
    pages_of,
)
from sizes import size
from spawned import Den, drain, hello
from tiny_model import make_tiny_model

from gateway.store.copy import find_complaints
from gateway.store.derived import TABLES, add_shadows
from gateway.wire.client import CallFailed, GatewayClient

ROUNDS = size("damage_rounds")
SEED = int(os.environ.get("PIONEER_DAMAGE_SEED", random.randrange(1 << 32)))
ROUND_SECONDS = 300
"""A round takes seconds; what hangs is told with its seed."""
BY_SQL = [damage for reason, damage in DAMAGES.values() if reason != "damaged_pages"]
ONLY_UNAVAILABLE = -32046


def damage_pages(chance: random.Random) -> Damage:
    """Some pages of a few derived tables become zeros or noise."""

    def damage(connection: apsw.Connection) -> None:
        present = [name for (name,) in connection.execute("SELECT DISTINCT name FROM dbstat").fetchall()]
        tables = [name for name in add_shadows(TABLES) if name in present]
        pages = pages_of(connection, chance.sample(tables, chance.randint(1, 3)))
        length = page_size(connection)
        hit = chance.sample(pages, chance.randint(1, len(pages)))
        overwrite(connection, {page: chance.choice((bytes(length), chance.randbytes(length))) for page in hit})

    return damage


async def search_all(client: GatewayClient) -> None:
    """Ask everything: an answer holds no wrong text, and a failure says that the store is at fault."""
    for n, query in enumerate((*QUERIES, *FACT_QUERIES)):
        method, params = (
            ("thread_episodic/search", {"workspace_id": "ws_here", "query": query})
            if n < len(QUERIES)
            else ("memory/search", {"query": query, "limit": 1})
        )
        try:
            told = await client.request(method, params)
        except CallFailed as failed:
            assert failed.code == ONLY_UNAVAILABLE, failed
            continue
        if n < len(QUERIES):
            assert told["hits"] or told["status"] != "completed", told
        assert all(text in str(FOUND) for text in texts_of(told)), told


def texts_of(told: dict) -> list[str]:
    return [hit["text"] if "text" in hit else hit["record"]["content"] for hit in told["hits"]]


async def one_round(den: Den, chance: random.Random) -> str:
    """Damage a home, start a gateway, drain: all that is derived is as it was."""
    before = derived(den)
    if chance.random() < 0.5:
        chosen = chance.sample(range(len(BY_SQL)), chance.randint(1, 3))
        async with den.client() as client:
            await drain(client)
            for place in chosen:
                try:
                    await asyncio.to_thread(change, den, BY_SQL[place])
                except apsw.Error:  # what was to be damaged is gone already
                    continue
                await search_all(client)
            await client.request("gateway/status", {})
        kind = f"sql {chosen}"
    else:
        await asyncio.to_thread(change, den, damage_pages(chance))
        kind = "pages"
    async with await den.spawn() as client:
        await hello(client)
        await search_all(client)
        await drain(client)
        status = await client.request("gateway/status", {})
        assert {one["component"] for one in status["degraded"]} <= {"index"}, (kind, status["degraded"])
        assert not [one for one in status["last_errors"] if one["incident_id"]], (kind, status["last_errors"])
        assert await answers(client) == FOUND, kind
    after = derived(den)
    assert [name for name in before if before[name] != after[name]] == [], kind
    return kind


@pytest.mark.timeout(0)  # each round has a limit of its own
def test_what_is_derived_comes_back_from_any_damage(tmp_path: Path) -> None:
    print(f"seed {SEED}, {ROUNDS} rounds")  # noqa: T201  # what a failure is repeated with
    chance = random.Random(SEED)  # no secret

    async def story() -> None:
        den = Den(tmp_path / "den", model=make_tiny_model(tmp_path / "model"))
        await fill(den)
        async with den.client() as client:
            await drain(client)
        for number in range(ROUNDS):
            kept = tmp_path / "kept"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(den.home, kept)
            try:
                async with asyncio.timeout(ROUND_SECONDS):
                    kind = await one_round(den, chance)
            except BaseException as failure:
                failure.add_note(f"round {number}, seed {SEED}")
                raise
            print(f"round {number}: {kind}")  # noqa: T201  # as above
        async with den.client() as client:  # the last pages that are in no use go
            await drain(client)
        assert find_complaints(den.home / "gateway.db", is_thorough=True) == []
        logged = "".join(path.read_text(encoding="utf-8") for path in (den.home / "logs").iterdir())
        assert '"level":"error"' not in logged.replace(" ", ""), [
            line for line in logged.splitlines() if '"error"' in line
        ][:3]

    asyncio.run(story())
