"""Repair in a home that was used for years: it gets through after a kill, and mends what was wrong."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest
from sizes import size
from spawned import WITHOUT_MODEL, hello

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # `benchmarks` is not installed

from benchmarks.search_scale import SEED, Words, fill, spread
from gateway.wire.client import GatewayClient, console_script

HELD = size("repair_records")
"""The defect that this is about began at 30,000; a hundred thousand take two minutes, most of it to make them."""
LOST = 400  # more than one step mends


async def ended_repairs(client: GatewayClient) -> dict[str, Any]:
    """What `gateway/status` says when no work is left that can run now."""
    while not (await client.request("gateway/drain", {"timeout_ms": 60_000}))["idle"]:
        pass
    return await client.request("gateway/status", {})


async def story(home: Path) -> None:
    await fill(home, list(spread(Words(SEED), HELD)))
    config = home.parent / "config.toml"
    config.write_text(WITHOUT_MODEL, encoding="utf-8")
    command = [*console_script(), "serve", "--home", str(home), "--config", str(config)]
    async with await GatewayClient.start(command) as client:
        await hello(client, "told")
        os.kill(client.pid, signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
    connection = apsw.Connection(str(home / "gateway.db"))
    row, content = next(iter(connection.execute("SELECT id, content FROM record ORDER BY id DESC LIMIT 1")))
    connection.execute("INSERT INTO memory_fts (memory_fts) VALUES ('delete-all')").fetchall()
    connection.execute("DELETE FROM record_terms WHERE row > ?", (row - LOST,)).fetchall()
    connection.close()
    async with await GatewayClient.start(command) as client:
        await hello(client, "told")
        status = await ended_repairs(client)
        assert (status["repair"]["texts"], status["repair"]["damaged"]) == (0, 0), status
        assert {state: count for state, count in status["queues"]["repair"].items() if count} == {}, status
        found = await client.request("memory/search", {"query": content, "limit": 3})
        assert content in [hit["record"]["content"] for hit in found["hits"]]


@pytest.mark.loop("check", "campaign")
def test_repair_gets_through_after_a_kill(tmp_path: Path) -> None:
    asyncio.run(story(tmp_path / "home"))
