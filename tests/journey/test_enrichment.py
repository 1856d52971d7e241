"""What a model made of records: shown when asked for, gone with the words it was made of, and in no bundle.

No pass asks a model yet, so the rows are planted as its answer will be stored.
"""

from typing import Any

import apsw
from spawned import drain, hello, journey, remember
from timed_den import START, TimedDen

ENTITIES = '[{"name":"Quokkamarine","type":"organization"}]'
MODEL = "test-model"


def plant(den: TimedDen, memory_id: str, summary: str) -> None:
    """Store an enrichment of a record, with a link between two names of its text."""
    connection = apsw.Connection(str(den.home / "gateway.db"))
    with connection:
        connection.execute(
            "INSERT INTO enrichment SELECT id, ?, '[\"boats\"]', ?, ?, 1, ? FROM record WHERE memory_id = ?",
            (ENTITIES, summary, MODEL, START, memory_id),
        ).fetchall()
        for row, name in ((1, "Quokkamarine"), (2, "Ines")):
            connection.execute(
                "INSERT INTO entity (id, entity_id, house, place, kind, name, folded) VALUES (?, ?, 'memory', 'user:default', 'thing', ?, ?)",
                (row, f"ent_{row}", name, name.casefold()),
            ).fetchall()
        connection.execute(
            "INSERT INTO edge (house, subject, from_entity, to_entity, kind, strength, origin, created_at, confirmed_at)"
            " VALUES ('memory', ?, 2, 1, 'works_for', 0.5, 'inferred', ?, ?)",
            (memory_id, START, START),
        ).fetchall()
    connection.close()


async def enriched(client: Any, memory_id: str) -> Any:
    asked = {"memory_id": memory_id, "include_enrichment": True}
    return (await client.request("memory/get", asked))["enrichment"]


@journey
async def test_an_enrichment_is_shown_when_it_is_asked_for_and_goes_with_an_erase(tmp_path: Any) -> None:
    den = TimedDen(tmp_path)
    async with den.client() as client:
        memory_id = await remember(client, "Ines works for the boat builders in town.")
        assert await enriched(client, memory_id) is None
        await drain(client)
    plant(den, memory_id, "About a zanzibarquilt.")
    async with den.client() as client:
        assert (await client.request("memory/get", {"memory_id": memory_id}))["enrichment"] is None
        assert await enriched(client, memory_id) == {
            "entities": [{"name": "Quokkamarine", "type": "organization"}],
            "topics": ["boats"],
            "summary": "About a zanzibarquilt.",
            "model": MODEL,
            "at": START,
            "edges": [
                {"from": "Ines", "kind": "works_for", "to": "Quokkamarine", "strength": 0.5, "origin": "inferred"}
            ],
        }
        bundle = (await client.request("memory/export", {}))["bundle"]
        assert "boat builders" in bundle
        assert "zanzibarquilt" not in bundle
        assert "Quokkamarine" not in bundle
        assert (await client.request("memory/search", {"query": "zanzibarquilt"}))["hits"] == []
        target = {"kind": "id", "memory_id": memory_id}
        erased = await client.request("memory/forget", {"target": target, "mode": "erase"})
        assert erased["receipt"]["complete"]
    for word in (b"zanzibarquilt", b"Quokkamarine", b"quokkamarine"):
        assert [name for name, held in den.files().items() if word in held] == []


@journey
async def test_what_is_forgotten_comes_back_with_its_enrichment(tmp_path: Any) -> None:
    den = TimedDen(tmp_path)
    async with den.client() as client:
        memory_id = await remember(client, "Ines works for the boat builders in town.")
        await drain(client)
    plant(den, memory_id, "About boats.")
    async with den.client() as client:
        await client.request("memory/forget", {"target": {"kind": "id", "memory_id": memory_id}})
        assert await enriched(client, memory_id) is None
        await client.request("memory/restore", {"memory_id": memory_id})
        assert (await enriched(client, memory_id))["summary"] == "About boats."


@journey
async def test_links_lead_to_records_that_the_caller_may_read_alone(tmp_path: Any) -> None:
    den = TimedDen(tmp_path)
    async with den.client() as client, await den.spawn() as other:
        await hello(other, "ws_other")
        here = await remember(client, "The pump stands in hall 3.", scope={"kind": "workspace", "key": "ws_here"})
        there = await remember(other, "The pump was made in Graz.", scope={"kind": "workspace", "key": "ws_other"})
        common = await remember(client, "I like pumps.", scope={"kind": "user", "key": "default"})
        await drain(client)
        await drain(other)
    connection = apsw.Connection(str(den.home / "gateway.db"))
    for row, memory_id in enumerate((here, there, common), 1):
        connection.execute(
            "INSERT INTO entity (id, entity_id, house, place, kind, name, folded, subject)"
            " VALUES (?, ?, 'memory', 'vault', 'page', 'x', 'x', ?)",
            (row, f"ent_{row}", memory_id),
        ).fetchall()
    for start, end in ((1, 2), (1, 3)):
        connection.execute(
            "INSERT INTO edge (house, subject, from_entity, to_entity, kind, strength, origin, created_at, confirmed_at)"
            " VALUES ('memory', ?, ?, ?, 'links', 0.6, 'explicit', 1, 1)",
            (here, start, end),
        ).fetchall()
    connection.close()
    async with den.client() as client:
        links = (await client.request("memory/links", {"memory_id": here, "depth": 2}))["links"]
        assert links == [{"memory_id": common, "kind": "links", "origin": "explicit", "direction": "out"}]
        back = (await client.request("memory/links", {"memory_id": common}))["links"]
        assert [(one["memory_id"], one["direction"]) for one in back] == [(here, "in")]
