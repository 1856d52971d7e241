"""Memory that moves: out of one gateway's home, into another one's, over stdio."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from spawned import Den, every, hello, journey, remember

from gateway.wire.client import GatewayClient

KEPT = ["active", "superseded", "expired", "archived"]


async def exported(client: GatewayClient, **params: Any) -> list[str]:
    """Every page of an export."""
    pages: list[str] = []
    cursor = None
    while True:
        page = await client.request("memory/export", {**params, **({"cursor": cursor} if cursor else {})})
        pages.append(page["bundle"])
        cursor = page["next_cursor"]
        if cursor is None:
            return pages


async def contents(client: GatewayClient) -> list[str]:
    """What the home remembers."""
    records = await every(client, "memory/list", "records", statuses=KEPT)
    return sorted(record["content"] for record in records)


@journey
async def test_a_move_to_a_new_machine(tmp_path: Path) -> None:
    old, new = Den(tmp_path / "old"), Den(tmp_path / "new")
    async with old.client() as client:
        first = await remember(client, "The harbour office closes at noon.", key="harbour office")
        second = await remember(client, "The harbour office closes at four.", key="harbour office")
        gone = await remember(client, "The porter's name is Oblomov.")
        await client.request("memory/forget", {"target": {"kind": "id", "memory_id": gone}})
        (text,) = await exported(client)
        known = await contents(client)
    assert "Oblomov" not in text
    async with new.client() as client:
        took = await client.request("memory/import", {"bundle": text})
        assert took == {"imported": 2, "skipped": 0, "conflicts": [], "tombstoned": 1}
        told = await client.wait_for("memory/invalidated", lambda params: bool(params["scopes"]))
        assert told["scopes"] == [{"kind": "user", "key": "default"}]
        assert await contents(client) == known
        events = (await client.request("memory/history", {"memory_id": second}))["events"]
        assert [(e["memory_id"], e["event"]) for e in events] == [
            (first, "created"),
            (first, "superseded"),
            (second, "created"),
            (first, "imported"),
            (second, "imported"),
        ]
    async with new.client() as client:  # and it is still there in the morning
        hits = (await client.request("memory/search", {"query": "harbour office"}))["hits"]
        assert [hit["record"]["memory_id"] for hit in hits] == [second]
        assert (await client.request("memory/import", {"bundle": text}))["imported"] == 0
    keys = [(den.home / "keys" / "fingerprint.key").read_bytes() for den in (old, new)]
    assert keys[0] != keys[1]


@pytest.mark.loop("campaign")
@journey
async def test_an_import_that_is_killed_is_completed_by_importing_again(tmp_path: Path) -> None:
    old, new = Den(tmp_path / "old"), Den(tmp_path / "new")
    async with old.client() as client:
        words = "Маяк светит, пока стоит скала. " * 200
        wishes = [{"content": f"Fact {n}: {words}"} for n in range(120)]
        await asyncio.gather(*(client.request("memory/remember", wish) for wish in wishes))
        pages = await exported(client)
        known = await contents(client)
    assert len(pages) > 1
    assert all(len(page.encode()) < 4 * 1024 * 1024 for page in pages)
    client = await new.spawn()
    async with client:
        await hello(client)
        await client.request("memory/import", {"bundle": pages[-1]})
        cut_off = asyncio.ensure_future(client.request("memory/import", {"bundle": pages[0]}))
        await client.request("ping", {})
        client.kill()
        await asyncio.gather(cut_off, return_exceptions=True)
    async with new.client() as again:
        for page in pages:
            await again.request("memory/import", {"bundle": page})
        assert await contents(again) == known
