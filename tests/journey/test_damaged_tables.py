"""Tables with a meaning of their own, one damaged leaf page each, or gone as a whole: what is hit is told, the rest is
read, and nothing of it is a defect."""

import json
import random
from pathlib import Path
from typing import Any

import apsw
import pytest
from damages import START, Damage, change, copied, overwrite, page_size, sql
from spawned import Den, drain, every, hello, journey, remember, run_to_end

from gateway.store.copy import find_complaints
from gateway.store.derived import owner_of
from gateway.store.schema_shapes import scripts
from gateway.wire.client import CallFailed, GatewayClient, console_script

THREADS, TURNS, FACTS = 12, 60, 60
NOT_FOUND = -32044
HOLDERS = {"record", "scope", "workspace", "thread", "turn", "item"}
"""Tables without whose rows something cannot be read."""


def tables_of_meaning() -> list[str]:
    model = apsw.Connection(":memory:")
    for script in scripts():
        model.execute(script).fetchall()
    shapes = model.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%' ORDER BY name"
    )
    return [name for (name,) in shapes if owner_of(name) is None]


TABLES = tables_of_meaning()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose larger tables have several pages each."""
    folder = tmp_path_factory.mktemp("prepared")

    @journey
    async def story() -> None:
        den = Den(folder / "den")
        async with den.client() as client:
            for thread in range(THREADS):
                turns = [
                    {
                        "turn_id": f"turn_{thread}_{n}",
                        "at": START + n,
                        "items": [{"role": "user", "text": f"Number {n} of {thread} is {'walnut ' * 20}"}],
                    }
                    for n in range(TURNS // THREADS)
                ]
                place = {"workspace_id": "ws_here", "thread_id": f"thr_{thread}", "name": "walnuts " * 20}
                source = {"kind": "journey", "id": f"said_{thread}"}
                await client.request("thread/import", {**place, "source": source, "turns": turns})
            for n in range(FACTS):
                await remember(client, f"The locker {n} of the station holds {'walnut ' * 30}")
            await drain(client)

    story()
    return folder


def leaf_of(connection: apsw.Connection, table: str) -> int:
    """The page in the middle of those that hold a table's rows."""
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    pages = connection.execute(
        "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' AND pageno > 1 ORDER BY path", (table,)
    ).fetchall()
    page = pages[len(pages) // 2][0]
    assert isinstance(page, int)
    return page


def zero_a_leaf(table: str) -> Damage:
    def damage(connection: apsw.Connection) -> None:
        overwrite(connection, {leaf_of(connection, table): bytes(page_size(connection))})

    return damage


def spoil_a_leaf(table: str) -> Damage:
    def damage(connection: apsw.Connection) -> None:
        noise = random.Random(table).randbytes(page_size(connection))  # no secret
        overwrite(connection, {leaf_of(connection, table): noise})

    return damage


WAYS = {
    "zeros": zero_a_leaf,
    "noise": spoil_a_leaf,
    "dropped": lambda table: sql(f"DROP TABLE {table}"),
}


async def ask(client: GatewayClient) -> dict[str, set[str]]:
    """Everything that is said and known, by the methods that show it."""
    facts = await every(client, "memory/list", "records")
    hits = (await client.request("memory/search", {"query": "walnut locker station", "limit": 50}))["hits"]
    found = [hit["record"] for hit in hits]
    threads = await every(client, "thread/list", "threads", workspace_id="ws_here")
    items: list[dict[str, Any]] = []
    for thread in range(THREADS):
        try:
            items += await every(client, "thread/history", "items", thread_id=f"thr_{thread}")
        except CallFailed as failed:
            assert failed.code == NOT_FOUND, failed
    said = await client.request("thread_episodic/search", {"workspace_id": "ws_here", "query": "walnut number"})
    return {
        "facts": {record["content"] for record in (*facts, *found)},
        "threads": {thread["thread_id"] for thread in threads},
        "texts": {one["text"] for one in (*items, *said["hits"])},
    }


def doctor(den: Den, *more: str) -> tuple[int, str]:
    command = [*console_script(), "doctor", "--json", "--home", str(den.home), "--config", str(den.config), *more]
    ended = run_to_end(command)
    assert ended.returncode in {0, 1, 74}, (ended.returncode, ended.stderr)
    return ended.returncode, " ".join(one["text"] for one in json.loads(ended.stdout)["findings"])


@pytest.mark.loop("campaign")  # minutes
@pytest.mark.matrix
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("table", TABLES)
def test_the_rest_of_a_damaged_table_stays_in_use(prepared: Path, tmp_path: Path, table: str, way: str) -> None:
    if (table, way) == ("sqlite_sequence", "dropped"):
        pytest.skip("SQLite drops it for nobody")

    @journey
    async def story() -> None:
        whole = copied(prepared, tmp_path / "whole")
        async with whole.client() as client:
            before = await ask(client)
        den = copied(prepared, tmp_path)
        change(den, WAYS[way](table))
        code, told = doctor(den)
        assert code == 74
        assert table in told
        async with await den.spawn() as client:
            await hello(client)
            await drain(client)
            assert await lost_tables(client) == {table}
            after = await ask(client)
            assert {name: after[name] - before[name] for name in before} == {name: set() for name in before}
            if table not in HOLDERS:
                assert after == before
            await remember(client, "My new bicycle is a green one.")
            await drain(client)
        code, told = doctor(den)
        assert code == 74
        assert f"the table {table} " in told
        code, told = doctor(den, "--fix", "--yes")
        assert code in {0, 1}, told
        async with den.client() as client:
            await drain(client)
            assert await lost_tables(client) == set()
            await ask(client)
        assert find_complaints(den.home / "gateway.db", is_thorough=True) == []
        logged = "".join(path.read_text(encoding="utf-8") for path in (den.home / "logs").iterdir())
        assert '"incident' not in logged, [line for line in logged.splitlines() if '"incident' in line][:3]

    story()


async def lost_tables(client: GatewayClient) -> set[str]:
    """The tables whose losses are told, and no failure beside them."""
    status = await client.request("gateway/status", {})
    assert not [one for one in status["last_errors"] if one["incident_id"]], status["last_errors"]
    return {one["key"].partition(":")[0] for one in status["degraded"] if one["component"] == "storage"}
