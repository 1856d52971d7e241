"""Whatever of the indexes is damaged in the file: the start after it notices, a job mends, and searches find what they found."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import pytest
from spawned import Den, drain, hello, journey, remember, run_to_end
from tiny_model import make_tiny_model

from gateway.client import CallFailed, Client, console_script

START = 1_772_366_400_000
Damage = Callable[[apsw.Connection], None]

SAID = (
    "The boiler in the cellar leaks since Tuesday.",
    "Our accountant is called Marguerite.",
    "The harbour ferry leaves at seven.",
    "The zebra crossing needs new paint.",
)
QUERIES = ("boiler cellar", "accountant Marguerite", "harbour ferry", "zebra paint")
FACTS = ("Likes green tea", "Keeps bees behind the barn", "Plays the violin on Sundays")
FACT_QUERIES = ("green tea", "bees barn", "violin Sundays")
FOUND = [*([(f"turn_{number}", text)] for number, text in enumerate(SAID)), *([content] for content in FACTS)]
"""What the queries find, of each the first."""


def sql(*statements: str) -> Damage:
    """Statements that nothing of ours would run upon the file."""

    def damage(connection: apsw.Connection) -> None:
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        connection.execute("PRAGMA foreign_keys = off").fetchall()
        connection.execute("PRAGMA ignore_check_constraints = on").fetchall()
        for statement in statements:
            connection.execute(statement).fetchall()

    return damage


def lose_rows(connection: apsw.Connection) -> None:
    """Take two rows out of the full-text index by their own terms."""
    rows = connection.execute("SELECT doc, group_concat(term, ' ') FROM chunk_terms GROUP BY doc LIMIT 2").fetchall()
    for row, body in rows:
        connection.execute("INSERT INTO chunk_fts (chunk_fts, rowid, body) VALUES ('delete', ?, ?)", (row, body))


DAMAGES: dict[str, tuple[str, Damage]] = {
    "full text emptied": ("texts", sql("INSERT INTO chunk_fts (chunk_fts) VALUES ('delete-all')")),
    "full text rows dropped": ("texts", lose_rows),
    "a full-text row of nothing": ("texts", sql("INSERT INTO chunk_fts (rowid, body) VALUES (7777, 't2 w1·boiler w1·strange')")),
    "a full-text row with more": ("texts", sql("INSERT INTO chunk_fts (rowid, body) VALUES (1, 't2 w1·boiler w1·strange')")),
    "shadow data gone": ("texts", sql("DELETE FROM chunk_fts_data")),
    "shadow pages gone": ("texts", sql("DELETE FROM chunk_fts_data WHERE id > 10")),
    "shadow sizes gone": ("texts", sql("DELETE FROM chunk_fts_docsize")),
    "shadow format gone": ("", sql("DELETE FROM chunk_fts_config")),
    "full text dropped": ("texts", sql("DROP TABLE chunk_terms", "DROP TABLE chunk_fts")),
    "terms null": ("terms", sql("UPDATE chunk SET terms = NULL")),
    "terms garbage": ("terms", sql("UPDATE chunk SET terms = randomblob(40)")),
    "terms of another": ("terms", sql("UPDATE chunk SET terms = (SELECT terms FROM chunk WHERE id = 1)")),
    "terms garbage, full text emptied": (
        "terms", sql("UPDATE chunk SET terms = randomblob(9)", "INSERT INTO chunk_fts (chunk_fts) VALUES ('delete-all')")
    ),
    "chunks gone": ("chunk_rows", sql("DELETE FROM chunk_vec", "DELETE FROM chunk WHERE id % 2")),
    "messages gone": ("missing_sources", sql("DELETE FROM chunk_vec", "DELETE FROM chunk", "DELETE FROM chunk_source")),
    "chunk ranges wrong": ("terms", sql("UPDATE chunk SET from_char = 3, to_char = 5")),
    "vectors zeroed": ("vectors", sql("UPDATE chunk_vec SET vector = zeroblob(length(vector))")),
    "vectors random": ("vectors", sql("UPDATE chunk_vec SET vector = randomblob(length(vector))")),
    "vectors short": ("vectors", sql("UPDATE chunk_vec SET vector = substr(vector, 1, 5)")),
    "vectors missing": ("missing_vectors", sql("DELETE FROM chunk_vec")),
    "vectors of another partition": ("vectors", sql("INSERT INTO segment (workspace, position, state) VALUES (1, 50, 'sealed')", "UPDATE chunk_vec SET segment = last_insert_rowid()")),
    "segment counts 0": ("segments", sql("UPDATE segment SET chunk_count = 0, term_count = 0")),
    "segment counts huge": ("segments", sql("UPDATE segment SET chunk_count = 1000000000000, term_count = 1000000000000")),
    "segment times wrong": ("segments", sql("UPDATE segment SET first_at = 5, last_at = 7")),
    "segment times null": ("segments", sql("UPDATE segment SET first_at = NULL, last_at = NULL")),
    "source hashes wrong": ("source_rows", sql("UPDATE chunk_source SET source_hash = randomblob(32)")),
    "speakers wrong": ("source_rows", sql("UPDATE chunk_source SET speaker = 'nobody'")),
    "pending without a job": ("jobs", sql("UPDATE chunk_source SET state = 'pending'", "DELETE FROM job")),
    "another lexicon": ("lexicon", sql("UPDATE chunk_source SET lexicon = 7")),
    "triggers gone": ("", sql("DROP TRIGGER chunk_hidden", "DROP TRIGGER chunk_vec_lost", "DROP INDEX chunk_source_time")),
    "memory: full text emptied": ("wrong_texts", sql("INSERT INTO memory_fts (memory_fts) VALUES ('delete-all')")),
    "memory: shadow data gone": ("wrong_texts", sql("DELETE FROM memory_fts_data")),
    "memory: shadow sizes gone": ("wrong_texts", sql("DELETE FROM memory_fts_docsize")),
    "memory: shadow format gone": ("", sql("DELETE FROM memory_fts_config")),
    "memory: a row of nothing": ("wrong_texts", sql("INSERT INTO memory_fts (rowid, body) VALUES (7777, 's1·tea')")),
    "memory: terms garbage": ("unvouched_texts", sql("UPDATE record_terms SET terms = randomblob(30)")),
    "memory: terms of another": ("unvouched_texts", sql("UPDATE record_terms SET terms = (SELECT terms FROM record_terms WHERE row = 1)")),
    "memory: terms gone": ("missing_texts", sql("DELETE FROM record_terms")),
    "memory: another lexicon": ("stale_texts", sql("UPDATE record_terms SET lexicon = 'old'")),
    "memory: vectors zeroed": ("wrong_vectors", sql("UPDATE memory_vec SET vector = zeroblob(length(vector))")),
    "memory: vectors random": ("wrong_vectors", sql("UPDATE memory_vec SET vector = randomblob(length(vector))")),
    "memory: vectors short": ("wrong_vectors", sql("UPDATE memory_vec SET vector = substr(vector, 1, 4)")),
    "memory: scope counts wrong": ("scope_counts", sql("UPDATE scope SET active = 70")),
    "memory: triggers gone": ("", sql("DROP TRIGGER record_added", "DROP TRIGGER memory_vec_lost")),
}  # fmt: skip
"""Each kind of damage with the reason that is told of it; without one it is mended before anybody could be told."""


async def fill(den: Den) -> None:
    async with den.client() as client:
        turns = [
            {"turn_id": f"turn_{number}", "at": START + number, "items": [{"role": "user", "text": text}]}
            for number, text in enumerate(SAID)
        ]
        place = {"workspace_id": "ws_here", "thread_id": "thr_said", "source": {"kind": "journey", "id": "said"}}
        await client.request("thread/import", {**place, "turns": turns})
        await client.request("memory/search", {"query": FACT_QUERIES[0], "mode": "semantic"})  # loads the model
        for content in FACTS:
            await remember(client, content)
        await drain(client)


async def answers(client: Client) -> list[Any]:
    """What searches find, in both houses."""
    found: list[Any] = []
    for query in QUERIES:
        told = await client.request("thread_episodic/search", {"workspace_id": "ws_here", "query": query})
        found.append([(hit["turn_id"], hit["text"]) for hit in told["hits"]][:1])
    for query in FACT_QUERIES:
        told = await client.request("memory/search", {"query": query, "limit": 5})
        found.append([hit["record"]["content"] for hit in told["hits"]][:1])
    return found


def derived(den: Den) -> dict[str, list[Any]]:
    """All that is derived, without the numbers of its rows."""
    connection = den.database()
    shown = {
        name: connection.execute(statement).fetchall()
        for name, statement in {
            "chunks": "SELECT item_id, position, from_char, to_char, status, terms, term_count, asks, dated, index_state, chunk.digest "
            "FROM chunk JOIN chunk_source AS s ON s.id = source WHERE status <> 'retired' ORDER BY 1, 2",
            "sources": "SELECT item_id, turn_id, role, at, speaker, source_hash, state, lexicon, digest, chunk_count FROM chunk_source ORDER BY 1",
            "words": "SELECT term, count(*) FROM chunk_terms GROUP BY term ORDER BY term",
            "listed": "SELECT count(*) FROM chunk_fts_docsize",
            "vectors": "SELECT item_id, position, vector, v.digest FROM chunk_vec AS v JOIN chunk ON chunk.id = v.chunk "
            "JOIN chunk_source AS s ON s.id = source ORDER BY 1, 2",
            "segments": "SELECT workspace, position, state, chunk_count, term_count, first_at, last_at FROM segment WHERE chunk_count > 0",
            "facts": "SELECT term, doc FROM memory_terms ORDER BY term, doc",
            "fact terms": "SELECT * FROM record_terms ORDER BY row",
            "fact vectors": "SELECT record_id, vector, digest FROM memory_vec ORDER BY record_id",
            "scopes": "SELECT * FROM scope ORDER BY id",
            "shapes": "SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name",
        }.items()
    }
    connection.close()
    return shown


def change(den: Den, damage: Damage) -> None:
    connection = apsw.Connection(str(den.home / "gateway.db"))
    connection.set_busy_timeout(10_000)
    damage(connection)
    connection.close()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which something was said and kept, and the model of its vectors."""
    folder = tmp_path_factory.mktemp("prepared")

    @journey
    async def story() -> None:
        den = Den(folder / "den", model=make_tiny_model(folder / "model"))
        await fill(den)
        await start_and_drain(den)  # the first one notes by which lexicon the home was written

    story()
    return folder


class Seen(NamedTuple):
    """What a start after the damage told, and what there is after its first drain."""

    reasons: set[str]
    status: dict[str, Any]
    answers: list[Any]


def copied(prepared: Path, folder: Path) -> Den:
    """A home of its own, like the prepared one."""
    den = Den(folder / "den", model=prepared / "model")
    shutil.copytree(prepared / "den" / "home", den.home)
    return den


async def start_and_drain(den: Den) -> Seen:
    async with await den.spawn() as client:
        await hello(client)
        await drain(client)
        told = [params for method, params in client.received if method == "gateway/degraded"]
        status = await client.request("gateway/status", {})
        episodic = await client.request("thread_episodic/status", {"workspace_id": "ws_here"})
        assert episodic["repair"] == {"state": "ok", "reasons": [], "done": 0, "total": 0}
        return Seen({one["reason"] for one in told if one["component"] == "index"}, status, await answers(client))


@pytest.mark.parametrize("name", DAMAGES)
def test_a_start_and_a_drain_mend_each_damage(prepared: Path, tmp_path: Path, name: str) -> None:
    @journey
    async def story() -> None:
        den = copied(prepared, tmp_path)
        before = derived(den)
        reason, damage = DAMAGES[name]
        change(den, damage)
        seen = await start_and_drain(den)
        assert seen.answers == FOUND
        assert seen.reasons & {reason or "schema_restored", "texts" if name.startswith("memory") else reason}
        assert seen.status["degraded"] == []
        assert derived(den) == before

    story()


def test_a_home_without_damage_is_left_alone(prepared: Path, tmp_path: Path) -> None:
    @journey
    async def story() -> None:
        den = copied(prepared, tmp_path)
        before = derived(den)
        seen = await start_and_drain(den)
        assert (seen.answers, seen.reasons, seen.status["degraded"]) == (FOUND, set(), [])
        assert derived(den) == before
        connection = den.database()
        assert not connection.execute(
            "SELECT 1 FROM job WHERE kind = 'repair' AND subject = 'thread_episodic'"
        ).fetchall()
        connection.close()

    story()


@pytest.mark.parametrize("name", ["full text emptied", "shadow data gone", "terms garbage", "memory: shadow data gone"])
def test_damage_under_a_running_gateway_is_no_defect(prepared: Path, tmp_path: Path, name: str) -> None:
    @journey
    async def story() -> None:
        den = copied(prepared, tmp_path)
        before = derived(den)
        async with den.client() as client:
            await drain(client)
            change(den, DAMAGES[name][1])
            await answers_or_says_so(client)
        seen = await start_and_drain(den)
        assert (seen.answers, seen.status["degraded"]) == (FOUND, [])
        assert derived(den) == before

    story()


async def answers_or_says_so(client: Client) -> None:
    """No search ends as a defect, and none that lacks something says that it is whole; a damage of words alone is noticed later."""
    for query in QUERIES:
        told = await client.request("thread_episodic/search", {"workspace_id": "ws_here", "query": query})
        assert told["status"] in {"completed", "partial", "empty"}
    for query in FACT_QUERIES:
        try:
            await client.request("memory/search", {"query": query})
        except CallFailed as failed:
            assert failed.code == -32046


@pytest.mark.parametrize("name", ["full text emptied", "terms garbage", "shadow format gone", "triggers gone", "source hashes wrong", "segment counts 0", "memory: terms garbage"])  # fmt: skip
def test_the_doctor_shows_and_mends(prepared: Path, tmp_path: Path, name: str) -> None:
    den = copied(prepared, tmp_path)
    before = derived(den)
    change(den, DAMAGES[name][1])
    command = [*console_script(), "doctor", "--json", "--home", str(den.home), "--config", str(den.config)]
    shown = run_to_end(command)
    assert shown.returncode == 1, shown.stdout + shown.stderr
    assert "backup" not in json.dumps([one for one in json.loads(shown.stdout)["findings"] if one["level"] == "error"])
    mended = run_to_end([*command, "--fix"])
    assert mended.returncode == 0, mended.stdout + mended.stderr
    assert derived(den) == before
    assert run_to_end(command).returncode == 0


def test_reindexing_makes_everything_anew(prepared: Path, tmp_path: Path) -> None:
    @journey
    async def story() -> None:
        den = copied(prepared, tmp_path)
        before = derived(den)
        async with den.client() as client:
            await drain(client)
            for name in ("full text emptied", "terms garbage", "segment counts 0", "vectors random"):
                change(den, DAMAGES[name][1])
            await client.request("thread_episodic/reindex", {"workspace_id": "ws_here"})
            await drain(client)
            assert await answers(client) == FOUND
        assert derived(den) == before

    story()
