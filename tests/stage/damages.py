"""Homes with words and facts in them, and every kind of damage that is done to what is derived of those."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw
from spawned import Den, drain, remember

from gateway.wire.client import GatewayClient

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
"""The first hit of each query."""


def sql(*statements: str) -> Damage:
    """Statements that nothing of ours would run upon the file."""

    def damage(connection: apsw.Connection) -> None:
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        connection.execute("PRAGMA foreign_keys = off").fetchall()
        connection.execute("PRAGMA ignore_check_constraints = on").fetchall()
        for statement in statements:
            connection.execute(statement).fetchall()

    return damage


def zero_pages(*names: str) -> Damage:
    """Every page of tables or indexes becomes zeros but for the schema's own."""

    def damage(connection: apsw.Connection) -> None:
        pages = pages_of(connection, names)
        overwrite(connection, dict.fromkeys(pages, bytes(page_size(connection))))

    return damage


def page_size(connection: apsw.Connection) -> int:
    (size,) = connection.execute("PRAGMA page_size").fetchall()[0]
    assert isinstance(size, int)
    return size


def pages_of(connection: apsw.Connection, names: Sequence[str]) -> list[int]:
    """The numbers of the pages that tables and indexes have."""
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    found = [
        page
        for name in names
        for (page,) in connection.execute("SELECT pageno FROM dbstat WHERE name = ? AND pageno > 1", (name,))
    ]
    assert found, names
    return found


def overwrite(connection: apsw.Connection, pages: Mapping[int, bytes]) -> None:
    with Path(connection.filename).open("r+b") as file:
        for number, written in pages.items():
            file.seek((number - 1) * len(written))
            file.write(written)


def lose_rows(connection: apsw.Connection) -> None:
    """Take two rows out of the full-text index by their own terms."""
    rows = connection.execute("SELECT doc, group_concat(term, ' ') FROM chunk_terms GROUP BY doc LIMIT 2").fetchall()
    for row, body in rows:
        connection.execute("INSERT INTO chunk_fts (chunk_fts, rowid, body) VALUES ('delete', ?, ?)", (row, body))


DAMAGES: dict[str, tuple[str, Damage]] = {
    "full text emptied": ("texts", sql("INSERT INTO chunk_fts (chunk_fts) VALUES ('delete-all')")),
    "full text rows dropped": ("texts", lose_rows),
    "a full-text row of nothing": (
        "texts",
        sql("INSERT INTO chunk_fts (rowid, body) VALUES (7777, 't2 w1·boiler w1·strange')"),
    ),
    "a full-text row with more": (
        "texts",
        sql("INSERT INTO chunk_fts (rowid, body) VALUES (1, 't2 w1·boiler w1·strange')"),
    ),
    "shadow data gone": ("texts", sql("DELETE FROM chunk_fts_data")),
    "shadow pages gone": ("texts", sql("DELETE FROM chunk_fts_data WHERE id > 10")),
    "shadow sizes gone": ("texts", sql("DELETE FROM chunk_fts_docsize")),
    "shadow format gone": ("", sql("DELETE FROM chunk_fts_config")),
    "full text dropped": ("texts", sql("DROP TABLE chunk_terms", "DROP TABLE chunk_fts")),
    "terms null": ("terms", sql("UPDATE chunk SET terms = NULL")),
    "terms garbage": ("terms", sql("UPDATE chunk SET terms = randomblob(40)")),
    "terms garbage, pending without a job": (
        "terms",
        sql("UPDATE chunk_source SET state = 'pending'", "DELETE FROM job", "UPDATE chunk SET terms = randomblob(40)"),
    ),
    "terms of another": ("terms", sql("UPDATE chunk SET terms = (SELECT terms FROM chunk WHERE id = 1)")),
    "terms garbage, full text emptied": (
        "terms",
        sql("UPDATE chunk SET terms = randomblob(9)", "INSERT INTO chunk_fts (chunk_fts) VALUES ('delete-all')"),
    ),
    "chunks gone": ("chunk_rows", sql("DELETE FROM chunk_vec", "DELETE FROM chunk WHERE id % 2")),
    "messages gone": ("missing_sources", sql("DELETE FROM chunk_vec", "DELETE FROM chunk", "DELETE FROM chunk_source")),
    "chunk ranges wrong": ("terms", sql("UPDATE chunk SET from_char = 3, to_char = 5")),
    "vectors zeroed": ("vectors", sql("UPDATE chunk_vec SET vector = zeroblob(length(vector))")),
    "vectors random": ("vectors", sql("UPDATE chunk_vec SET vector = randomblob(length(vector))")),
    "vectors short": ("vectors", sql("UPDATE chunk_vec SET vector = substr(vector, 1, 5)")),
    "vectors missing": ("missing_vectors", sql("DELETE FROM chunk_vec")),
    "vectors of another partition": (
        "vectors",
        sql(
            # a number that no partition had: under that of a lost one it would be that one, sealed too early
            "INSERT INTO segment (id, workspace, position, state) VALUES (5050, 1, 50, 'sealed')",
            "UPDATE chunk_vec SET segment = last_insert_rowid()",
        ),
    ),
    "segment counts 0": ("segments", sql("UPDATE segment SET chunk_count = 0, term_count = 0")),
    "segment counts huge": (
        "segments",
        sql("UPDATE segment SET chunk_count = 1000000000000, term_count = 1000000000000"),
    ),
    "segment times wrong": ("segments", sql("UPDATE segment SET first_at = 5, last_at = 7")),
    "segment times null": ("segments", sql("UPDATE segment SET first_at = NULL, last_at = NULL")),
    "source hashes wrong": ("source_rows", sql("UPDATE chunk_source SET source_hash = randomblob(32)")),
    "speakers wrong": ("source_rows", sql("UPDATE chunk_source SET speaker = 'nobody'")),
    "pending without a job": ("jobs", sql("UPDATE chunk_source SET state = 'pending'", "DELETE FROM job")),
    "another lexicon": ("lexicon", sql("UPDATE chunk_source SET lexicon = 7")),
    "triggers gone": (
        "",
        sql("DROP TRIGGER chunk_hidden", "DROP TRIGGER chunk_vec_lost", "DROP INDEX chunk_source_time"),
    ),
    "pieces dropped": ("chunk_rows", sql("DROP TABLE chunk")),
    "messages dropped": ("orphans", sql("DROP TABLE chunk_source")),
    "messages gone, their pieces left": ("orphans", sql("DELETE FROM chunk_source")),
    "partitions gone": ("lost_segments", sql("DELETE FROM segment")),
    "partitions dropped": ("lost_segments", sql("DROP TABLE segment")),
    "one partition gone": ("lost_segments", sql("DELETE FROM segment WHERE id = 1")),
    "workspaces and threads gone": ("scopes", sql("DELETE FROM chunk_scope")),
    "workspaces and threads dropped": ("scopes", sql("DROP TABLE chunk_scope")),
    "vectors dropped": ("missing_vectors", sql("DROP TABLE chunk_vec")),
    "losses of vectors dropped": ("", sql("DROP TABLE chunk_vec_loss")),
    "vectors of nothing": (
        "vectors",
        sql(
            "INSERT INTO chunk_vec (space_id, segment, chunk, vector, digest) SELECT space_id, segment, 9999, vector, digest FROM chunk_vec LIMIT 1"
        ),
    ),
    "vectors of an unknown space": (
        "vectors",
        sql(
            "INSERT INTO chunk_vec (space_id, segment, chunk, vector, digest) SELECT 77, segment, chunk, vector, digest FROM chunk_vec LIMIT 1"
        ),
    ),
    "pieces of nothing": (
        "orphans",
        sql(
            "INSERT INTO chunk SELECT 7777, 8888, position, from_char, to_char, status, terms, term_count, asks, dated, index_state, segment, digest, created_at, updated_at FROM chunk LIMIT 1"
        ),
    ),
    "one piece more": (
        "chunk_rows",
        sql(
            "INSERT INTO chunk SELECT 7777, source, 9, from_char, to_char, status, terms, term_count, asks, dated, index_state, segment, digest, created_at, updated_at FROM chunk LIMIT 1"
        ),
    ),
    "a shadow table dropped": ("", sql("DROP TABLE chunk_fts_docsize")),
    "pages of pieces zeroed": ("damaged_pages", zero_pages("chunk")),
    "pages of messages zeroed": ("damaged_pages", zero_pages("chunk_source")),
    "pages of partitions zeroed": ("damaged_pages", zero_pages("segment")),
    "pages of vectors zeroed": ("damaged_pages", zero_pages("chunk_vec")),
    "pages of full text zeroed": ("damaged_pages", zero_pages("chunk_fts_data")),
    "pages of full text's list zeroed": ("damaged_pages", zero_pages("chunk_fts_docsize", "chunk_fts_idx")),
    "pages of full text's format zeroed": ("damaged_pages", zero_pages("chunk_fts_config")),
    "pages of an index zeroed": ("damaged_pages", zero_pages("chunk_source_time")),
    "pages of an implied index zeroed": ("damaged_pages", zero_pages("sqlite_autoindex_chunk_source_1")),
    "memory: pages of an index zeroed": ("damaged_pages", zero_pages("record_by_update", "record_text")),
    "memory: pages of an implied index zeroed": ("damaged_pages", zero_pages("sqlite_autoindex_record_1")),
    "memory: pages of terms zeroed": ("damaged_pages", zero_pages("record_terms")),
    "memory: pages of full text zeroed": ("damaged_pages", zero_pages("memory_fts_data", "memory_fts_idx")),
    "memory: pages of vectors zeroed": ("damaged_pages", zero_pages("memory_vec", "memory_vec_scope")),
    "memory: full text dropped": ("wrong_texts", sql("DROP TABLE memory_terms", "DROP TABLE memory_fts")),
    "memory: terms dropped": ("missing_texts", sql("DROP TABLE record_terms")),
    "memory: vectors dropped": ("lacking_vectors", sql("DROP TABLE memory_vec")),
    "memory: vectors missing": ("lacking_vectors", sql("DELETE FROM memory_vec")),
    "memory: vectors of nothing": (
        "wrong_vectors",
        sql(
            "INSERT INTO memory_vec (space_id, scope_id, record_id, vector, digest) SELECT space_id, scope_id, 999, vector, digest FROM memory_vec LIMIT 1"
        ),
    ),
    "memory: vectors of another scope": ("wrong_vectors", sql("UPDATE memory_vec SET scope_id = scope_id + 50")),
    "memory: terms of nothing": (
        "forgotten_texts",
        sql("INSERT INTO record_terms SELECT 999, scope, terms, lexicon, digest FROM record_terms LIMIT 1"),
    ),
    "memory: full text emptied": ("wrong_texts", sql("INSERT INTO memory_fts (memory_fts) VALUES ('delete-all')")),
    "memory: shadow data gone": ("wrong_texts", sql("DELETE FROM memory_fts_data")),
    "memory: shadow sizes gone": ("wrong_texts", sql("DELETE FROM memory_fts_docsize")),
    "memory: shadow format gone": ("", sql("DELETE FROM memory_fts_config")),
    "memory: a row of nothing": ("wrong_texts", sql("INSERT INTO memory_fts (rowid, body) VALUES (7777, 's1·tea')")),
    "memory: terms garbage": ("unvouched_texts", sql("UPDATE record_terms SET terms = randomblob(30)")),
    "memory: terms of another": (
        "unvouched_texts",
        sql("UPDATE record_terms SET terms = (SELECT terms FROM record_terms WHERE row = 1)"),
    ),
    "memory: terms gone": ("missing_texts", sql("DELETE FROM record_terms")),
    "memory: another lexicon": ("stale_texts", sql("UPDATE record_terms SET lexicon = 'old'")),
    "memory: vectors zeroed": ("wrong_vectors", sql("UPDATE memory_vec SET vector = zeroblob(length(vector))")),
    "memory: vectors random": ("wrong_vectors", sql("UPDATE memory_vec SET vector = randomblob(length(vector))")),
    "memory: vectors short": ("wrong_vectors", sql("UPDATE memory_vec SET vector = substr(vector, 1, 4)")),
    "memory: scope counts wrong": ("scope_counts", sql("UPDATE scope SET active = 70")),
    "memory: triggers gone": ("", sql("DROP TRIGGER record_added", "DROP TRIGGER memory_vec_lost")),
}
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


async def answers(client: GatewayClient) -> list[Any]:
    """Return the answers of searches in both houses."""
    found: list[Any] = []
    for query in QUERIES:
        told = await client.request("thread_episodic/search", {"workspace_id": "ws_here", "query": query})
        found.append([(hit["turn_id"], hit["text"]) for hit in told["hits"]][:1])
    for query in FACT_QUERIES:
        told = await client.request("memory/search", {"query": query, "limit": 5})
        found.append([hit["record"]["content"] for hit in told["hits"]][:1])
    return found


def derived(den: Den) -> dict[str, list[Any]]:
    """All that is derived, without the numbers of its rows; of partitions their order alone."""
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
            "segments": "SELECT workspace, row_number() OVER (PARTITION BY workspace ORDER BY position), state, chunk_count, "
            "term_count, first_at, last_at FROM segment WHERE chunk_count > 0",
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


def copied(prepared: Path, folder: Path) -> Den:
    """A home of its own, like the prepared one."""
    den = Den(folder / "den", model=prepared / "model")
    shutil.copytree(prepared / "den" / "home", den.home)
    return den
