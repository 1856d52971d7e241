"""What the nightly census and the daily sweep drop: what is due, and nothing else."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import apsw
import pytest
from spawned import drain, every, journey, remember, take_turn
from timed_den import DAY, TimedDen

from gateway.wire.client import GatewayClient

EDGES = {"inferred": (181, 179), "explicit": (400,)}
"""Days since edges were confirmed, by their origin."""
ORPHANS = (
    "INSERT INTO enrichment VALUES (9001, '[]', '[]', 'lone', 'm', 1, 1)",
    "INSERT INTO entity (id, entity_id, house, place, kind, name, folded) VALUES (9001, 'ent_lone', 'memory', 'p', 'thing', 'lone', 'lone')",
    "INSERT INTO alias VALUES (9002, 'lone', 'lone')",
    "INSERT INTO edge VALUES (9001, 'memory', 'mem_lone', 9003, 9004, NULL, NULL, 'links', 0.5, 'explicit', NULL, 1, 1)",
    "INSERT INTO record_terms SELECT 9001, scope, terms, lexicon, digest FROM record_terms LIMIT 1",
    "INSERT INTO memory_vec (space_id, scope_id, record_id, vector) VALUES (1, 1, 9001, x'00')",
    "INSERT INTO chunk_vec (space_id, segment, chunk, vector) VALUES (1, 1, 9001, x'00')",
    "UPDATE chunk SET source = 9001 WHERE id = (SELECT max(id) FROM chunk)",
)
"""Rows whose other rows are gone, as damage leaves them."""
TABLES = (
    "enrichment",
    "entity",
    "alias",
    "edge",
    "record_terms",
    "memory_vec",
    "chunk_vec",
    "record",
    "evidence",
    "item",
    "tombstone",
)


@contextmanager
def opened(den: TimedDen) -> Iterator[apsw.Connection]:
    connection = apsw.Connection(str(den.home / "gateway.db"))
    try:
        yield connection
    finally:
        connection.close()


def sizes(den: TimedDen) -> dict[str, int]:
    with opened(den) as connection:
        found: dict[str, Any] = {
            name: connection.execute(f"SELECT count(*) FROM {name}").fetchall()[0][0]  # noqa: S608
            for name in TABLES
        }
        return found


def add_edges(den: TimedDen) -> None:
    """Link two pages of the home by edges of different ages."""
    with opened(den) as connection:
        for row in (1, 2):
            connection.execute(
                "INSERT INTO entity (id, entity_id, house, place, kind, name, folded, subject)"
                " VALUES (?, ?, 'memory', 'p', 'page', 'x', 'x', ?)",
                (row, f"ent_{row}", f"fil_{row}"),
            ).fetchall()
        for origin, ages in EDGES.items():
            for age in ages:
                connection.execute(
                    "INSERT INTO edge (house, subject, from_entity, to_entity, kind, strength, origin, created_at, confirmed_at)"
                    " VALUES ('memory', 'fil_1', 1, 2, 'links', 0.5, ?, 1, ?)",
                    (origin, den.now - age * DAY),
                ).fetchall()


async def furnish(den: TimedDen) -> None:
    """Make a home with a record, a conversation and edges; it has no other work to do."""
    den.write_script([{"role": "main", "respond": {"text": "Noted."}}])
    async with den.client() as client:
        await remember(client, "My locker has the number 4711.")
        await client.request(
            "memory/forget",
            {"target": {"kind": "id", "memory_id": await remember(client, "I like figs.")}, "mode": "erase"},
        )
        await client.request("thread/start", {"thread_id": "thr_one"})
        await take_turn(client, "thr_one", "The boiler in the cellar leaks.", "trn_one")
        await drain(client)
    add_edges(den)


def plant_orphans(den: TimedDen) -> None:
    with opened(den) as connection:
        connection.execute("PRAGMA foreign_keys = off").fetchall()
        for statement in ORPHANS:
            connection.execute(statement).fetchall()


def edges_left(den: TimedDen) -> list[tuple[str, int]]:
    with opened(den) as connection:
        found: list[Any] = connection.execute("SELECT origin, confirmed_at FROM edge ORDER BY id").fetchall()
    return [(origin, (den.now - at) // DAY) for origin, at in found]


async def dream(client: GatewayClient) -> dict[str, Any]:
    return (await client.request("passes/run", {"pass": "dream"}))["run"]


@journey
async def test_17_a_census_drops_exactly_what_is_due(tmp_path: Any) -> None:
    den = TimedDen(tmp_path, scripted=True)
    await furnish(den)
    before = sizes(den)
    async with den.client() as client:
        await drain(client)  # what follows a start mends such rows as well
        plant_orphans(den)
        run = await dream(client)
        assert run["state"] == "completed"
        assert (run["llm_enriched"], run["model"]) == (0, None)
        assert run["stages"][1]["counts"] == {
            "chunks": 1,
            "terms": 1,
            "vectors": 1,
            "chunk_vectors": 1,
            "enrichment": 1,
            "inferred_edges": 1,
            "edges": 1,
            "entities": 1,
            "aliases": 1,
        }
        assert run["stages"][0]["counts"]["edges_explicit"] == 2
        assert (await dream(client))["stages"][1]["counts"] == {}
        await drain(client)
        assert (
            len(
                (await client.request("thread_episodic/search", {"workspace_id": "ws_here", "query": "boiler cellar"}))[
                    "hits"
                ]
            )
            == 1
        )
    assert edges_left(den) == [("inferred", 179), ("explicit", 400)]
    assert sizes(den) == before | {"edge": 2}


@journey
async def test_17_the_daily_sweep_drops_the_same_while_the_census_is_off(tmp_path: Any) -> None:
    den = TimedDen(tmp_path, scripted=True, config="[gateway.passes]\nenabled = false\n")
    await furnish(den)
    before = sizes(den)
    plant_orphans(den)
    den.forward(DAY // 2)
    async with den.client() as client:
        await drain(client)
    assert ("inferred", 181) in edges_left(den)  # not yet
    den.forward(DAY)
    async with den.client() as client:
        await drain(client)
        assert await every(client, "passes/runs", "runs") == []
    assert edges_left(den) == [("explicit", 401)]  # that of 179 days is over 180 by now
    assert sizes(den) == before | {"edge": 1}


async def night_of(client: GatewayClient) -> int:
    """Return when the census is planned, in Unix milliseconds."""
    await drain(client)
    plans = {one["name"]: one["next_run_at"] for one in (await client.request("passes/list", {}))["passes"]}
    return plans["dream"]


def clock_in(zone: str, at: int) -> str:
    return datetime.fromtimestamp(at / 1000, ZoneInfo(zone)).strftime("%H:%M")


@journey
async def test_a_census_waits_for_the_night_of_the_client(tmp_path: Any) -> None:
    den = TimedDen(tmp_path, config="[gateway.passes]\ndream = true\n")
    info = {"name": "journey", "version": "1", "time_zone": "Pacific/Auckland"}
    async with await den.spawn() as client:
        await client.request("initialize", {"protocol_version": "2026-11", "client": info})
        planned = await night_of(client)
        assert clock_in("Pacific/Auckland", planned) == "03:00"
        assert den.now < planned <= den.now + DAY


@journey
async def test_without_a_zone_of_the_client_the_night_is_that_of_the_machine(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/Lima")
    den = TimedDen(tmp_path, config="[gateway.passes]\ndream = true\n")
    async with den.client() as client:
        assert clock_in("America/Lima", await night_of(client)) == "03:00"
