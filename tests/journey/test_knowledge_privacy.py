"""What files leave in a home, and who sees them: secrets, sentences, other workspaces, removal, kills."""

import json
import os
import random
import signal
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest
from in_process import Served
from killed import KillPlace, When
from msgspec import structs
from sizes import size
from spawned import Den, drain, hello, journey, on_posix, refusal
from test_knowledge import add, paths, search, write

from gateway.home.starting import Options
from gateway.process import running
from gateway.wire.client import ConnectionClosed, GatewayClient
from knowledge.collections import REMOVED_AT_ONCE

SECRET = "AKIAQ7T5ZPLMN3KXW2VB"  # noqa: S105  # made up
WORDS = "walrus heron pelican otter lantern budget harbour timetable ladder attic window allergy pharmacist neighbour".split()

MOST_LOOKS = 2000
"""Looks for files that wait to be read; a scan that finds them takes some ten."""


@journey
async def test_knowledge_statement_17_importance_filters_topics_raise_and_sources_do_not_leak(tmp_path):
    front = "---\nimportance: {}\ntopics: [{}]\n---\nThe walrus sleeps {}.\n"
    folder = write(
        tmp_path / "notes", {"low.md": front.format(0.3, "ice", "one"), "mid.md": front.format(0.6, "Snow", "two")}
    )
    async with Den(tmp_path / "den").client() as client:
        await add(client, folder)
        await client.request("memory/remember", {"content": "The walrus is called Ada."})
        assert paths(await search(client, "walrus", min_importance=0.6)) == ["mid.md"]
        assert paths(await search(client, "walrus", min_importance=0.61)) == []
        plain = {hit["locations"][0]["path"]: hit for hit in (await search(client, "walrus"))["hits"]}
        raised = {
            hit["locations"][0]["path"]: hit for hit in (await search(client, "walrus", topics=["snow", "x"]))["hits"]
        }
        assert set(raised) == set(plain) == {"low.md", "mid.md"}
        assert raised["mid.md"]["breakdown"]["topics"] == 1.1
        assert raised["mid.md"]["score"] == min(1.0, plain["mid.md"]["score"] * 1.1)
        assert raised["low.md"]["score"] == plain["low.md"]["score"]
        for source, sources in (
            ("file", {"file"}),
            ("memory", {"memory"}),
            ("conversation", set()),
            ("collection:notes", {"file"}),
            ("collection:x", set()),
            ("heartbeat", set()),
            ("consolidation", set()),
        ):
            found = await client.request("knowledge/search", {"query": "walrus", "source": source})
            assert {hit["source"] for hit in found["hits"]} == sources
        whole = await client.request("knowledge/search", {"query": "walrus"})
        assert {hit["source"] for hit in whole["hits"]} == {"file", "memory"}


@journey
async def test_knowledge_statement_22_a_key_in_a_note_is_in_no_answer_and_not_in_the_home(tmp_path):
    fields = ("title", "aliases", "tags", "topics", "related")
    names = "".join(f"{field}: [Router {SECRET}, ice]\n" for field in fields)
    folder = write(
        tmp_path / "notes",
        {
            "keys.md": f"# Keys {SECRET}\n\nThe walrus key is {SECRET} for the ice.\n",
            "named.md": f"---\n{names}---\n# Names\n\nThe heron of [a page]({SECRET}.md).\n",
            "titled.md": f"---\ntitle: The {SECRET}\ntags: password={SECRET}, ice\n---\nThe heron flies.\n",
        },
    )
    den = Den(tmp_path / "den")
    async with den.client() as client:
        name = await add(client, folder)
        herons = await search(client, "heron")
        assert [hit["topics"] for hit in herons["hits"]] == [["ice"]] * 2
        found = await search(client, "walrus key ice", entity="notes:keys.md")
        (hit,) = found["hits"]
        read = await client.request("knowledge/read", {"address": hit["address"]})
        assert (await search(client, SECRET))["hits"] == []
        await client.request("knowledge/explain", {"query": SECRET})
        own = {"collection_id": name}
        listed = [await client.request(f"knowledge/{kind}", own) for kind in ("files", "entities", "changes")]
        listed.append(await client.request("knowledge/edges", {"entity": "notes:named.md"}))
        told = json.dumps([herons, found, read, listed])
        assert SECRET.casefold() not in told.casefold()
        assert "[secret:" in hit["text"]
        assert "[secret:" in read["text"]
        assert read["masked"]
    assert [
        name for name, data in den.files().items() if SECRET.encode() in data or SECRET.lower().encode() in data
    ] == []


@journey
async def test_a_key_in_a_pattern_is_masked_where_the_pattern_is_named(tmp_path):
    folder = write(
        tmp_path / "notes", {".gitignore": f"of-{SECRET}.md\n[z-{SECRET}\n", f"of-{SECRET}.md": "A walrus.\n"}
    )
    den = Den(tmp_path / "den")
    async with den.client() as client:
        preview = (await client.request("knowledge/collections/add", {"path": str(folder), "dry_run": True}))["preview"]
        name = await add(client, folder)
        why = await client.request("knowledge/explain", {"collection_id": name, "path": f"of-{SECRET}.md"})
        (status,) = (await client.request("knowledge/status", {}))["collections"]
    assert why["rule"] == {"file": ".gitignore", "line": 1, "pattern": "of-[secret:aws_access_key].md"}
    assert preview["bad_patterns"] == status["bad_patterns"]
    assert [one["pattern"] for one in status["bad_patterns"]] == ["[z-[secret:aws_access_key]"]
    assert [name for name, data in den.files().items() if SECRET.encode() in data] == []


@journey
async def test_knowledge_statement_23_the_home_holds_no_sentence_of_a_file(tmp_path):
    chance = random.Random(23)
    lines = [" ".join(chance.sample(WORDS, k=9)) for _ in range(100)]
    assert all(len(line) >= 40 and line[:40] != " ".join(sorted(line.split()))[:40] for line in lines)
    headings = [f"# {line}" for line in lines[:20]]
    folder = write(tmp_path / "notes", {f"{n}.md": f"{headings[n % 20]}\n\n{line}\n" for n, line in enumerate(lines)})
    den = Den(tmp_path / "den")
    async with den.client() as client:
        await add(client, folder)
        assert (await search(client, lines[7]))["hits"][0]["text"]
        home = b"".join(den.files().values())
        assert [line for line in lines if line[:40].encode() in home] == []
    home = b"".join(den.files().values())
    assert [line for line in lines if line[:40].encode() in home] == []


@journey
async def test_knowledge_statement_24_a_workspaces_files_are_its_own_and_the_users_are_seen_from_each(tmp_path):
    here, mine = (
        write(tmp_path / "here", {"a.md": "A walrus here.\n"}),
        write(tmp_path / "mine", {"b.md": "A walrus of mine.\n"}),
    )
    async with Den(tmp_path / "den").client() as client:
        await client.request("workspace/create", {"workspace_id": "ws_there"})
        await client.request("thread/start", {"thread_id": "thr_top", "workspace_id": "ws_here"})
        await client.request(
            "thread/start", {"thread_id": "thr_sub", "workspace_id": "ws_here", "parent_thread_id": "thr_top"}
        )
        await add(client, here)
        await add(client, mine, scope="user")
        expected = (
            ({}, {"a.md", "b.md"}),
            ({"workspace_id": "ws_there"}, {"b.md"}),
            ({"thread_id": "thr_sub"}, {"a.md"}),
        )
        for context, seen in expected:
            assert set(paths(await search(client, "walrus", context=context))) == seen
        for address, context, seen in (
            ("here:a.md", {"workspace_id": "ws_there"}, False),
            ("mine:b.md", {"thread_id": "thr_sub"}, False),
            ("mine:b.md", {"workspace_id": "ws_there"}, True),
        ):
            try:
                read = await client.request("knowledge/read", {"address": address, "context": context})
            except Exception as failed:  # noqa: BLE001  # what it says is compared
                read = getattr(failed, "reason", None)
            assert (read != "not_found") == seen
            collection_id, path = address.split(":")
            asked = {"collection_id": collection_id, "path": path, "context": context}
            if seen:
                assert (await client.request("knowledge/explain", asked))["indexed"]
            else:
                assert (await refusal(client, "knowledge/explain", asked)).reason == "not_found"


@pytest.mark.loop("check", "campaign")
@on_posix
@journey
async def test_knowledge_statement_25_kills_while_indexing_leave_the_index_of_an_undisturbed_run(tmp_path):
    """New files come before each start; a kill meets a scan, or a reading where it waits until files are pending."""
    kills, count = size("file_kills"), size("killed_files")
    folder, den, calm = tmp_path / "notes", Den(tmp_path / "den"), Den(tmp_path / "calm")
    chance = random.Random(25)
    met: list[int] = []

    async def count_pending(client: GatewayClient) -> int:
        found = (await client.request("knowledge/status", {}))["collections"]
        return sum(one["collection"]["files"]["pending"] for one in found)

    for turn in range(kills):
        write(
            folder,
            {
                f"d{n % 9}/n{n}.md": f"---\ntags: [t{n % 5}]\n---\n# Note {n}\n\nThe walrus number w{n}x sleeps. See [[n{n // 2}]].\n"
                for n in range(turn, count, kills)
            },
        )
        async with await den.spawn() as client:
            await hello(client)
            if turn == 0:
                await client.request("knowledge/collections/add", {"path": str(folder)})
            looks = 0
            while turn % 2 and not await count_pending(client) and looks < MOST_LOOKS:
                looks += 1
            for _ in range(chance.randrange(1, 12 + count // kills)):
                await client.request("ping", {})
            met.append(await count_pending(client))
            os.kill(client.pid, signal.SIGKILL)
            await client.wait()
    async with calm.client() as client:
        await add(client, folder)
    async with den.client() as client:
        await drain(client)
        for n in chance.sample(range(count), 10):
            assert paths(await search(client, f"w{n}x")) == [f"d{n % 9}/n{n}.md"]
    assert index_of(den) == index_of(calm)
    made = index_of(den)
    assert (made["files"], made["miscounted"], made["mispieced"]) == (count, 0, 0)
    assert any(met)  # else no kill came in the middle of reading


@journey
async def test_a_file_that_goes_while_it_is_read_leaves_nothing_behind(tmp_path):
    folder = write(tmp_path / "notes", {"a.md": "It stays.\n", "b.md": "It goes.\n", "c.md": "It stays, too.\n"})
    den = Den(tmp_path / "den", config="[gateway.knowledge]\nwatch_enabled = false\n")
    async with running(Options(home=den.home, config=den.config, log_level="error")) as app:
        served = Served(app)
        await served.pair.hello("ws_here")
        reader, begin = app.knowledge.house.reader, app.knowledge.house.reader._means.reader

        async def scanned_at() -> int:
            found = await served.pair.call("knowledge/collections/get", collection_id="notes")
            return found["collection"]["scanned_at"]

        @asynccontextmanager
        async def begin_reader():
            async with begin() as read:

                async def read_and_lose(texts: Any) -> Any:
                    structures = await read(texts)  # the very reader; its answer waits until a scan has ended
                    (Path(folder) / "b.md").unlink()
                    before = await scanned_at()
                    await served.pair.call("knowledge/collections/scan", collection_id="notes")
                    while await scanned_at() == before:
                        pass
                    return structures

                yield read_and_lose

        reader._means = structs.replace(reader._means, reader=begin_reader)
        await served.pair.call("knowledge/collections/add", path=str(folder), collection_id="notes")
        assert (await served.pair.call("gateway/drain", timeout_ms=60_000))["idle"]
        files = (await served.pair.call("knowledge/files", collection_id="notes"))["files"]
        assert [(one["path"], one["state"]) for one in files] == [("a.md", "indexed"), ("c.md", "indexed")]
        served.pair.end()
        await served.task
    assert {name: count for name, count in index_of(den).items() if name in {"contents", "orphans", "cards"}} == {
        "contents": 2,
        "orphans": 0,
        "cards": 2,
    }


def index_of(den: Den) -> dict[str, int]:
    """How many rows the index of files has, and how many of them belong to nothing."""
    asked = {
        "files": "knowledge_file WHERE state = 'indexed'",
        "contents": "knowledge_content",
        "chunks": "knowledge_chunk",
        "words": "knowledge_fts_docsize",
        "cards": "knowledge_card_fts_docsize",
        "versions": "file_version",
        "entities": "entity",
        "edges": "edge",
        "leading": "edge WHERE to_entity IS NOT NULL",
        "orphans": "knowledge_content WHERE id NOT IN (SELECT content FROM knowledge_file WHERE content IS NOT NULL)",
        "wordless": "knowledge_chunk WHERE id NOT IN (SELECT id FROM knowledge_fts_docsize)",
        "homeless": "knowledge_fts_docsize WHERE id NOT IN (SELECT id FROM knowledge_chunk)",
        "vectors": "knowledge_vec WHERE chunk NOT IN (SELECT id FROM knowledge_chunk)",
        "mispieced": "knowledge_content AS n WHERE pieces <> (SELECT count(*) FROM knowledge_chunk WHERE content = n.id)",
        "miscounted": "knowledge_owner AS o WHERE pieces <> (SELECT count(*) FROM knowledge_chunk AS k"
        " JOIN knowledge_content AS n ON n.id = k.content WHERE n.owner = o.id)",
    }
    database = den.database()
    try:
        return {name: next(database.execute(f"SELECT count(*) FROM {what}"))[0] for name, what in asked.items()}  # noqa: S608
    finally:
        database.close()


@journey
async def test_knowledge_statement_28_a_removal_leaves_no_byte_and_touches_no_file(tmp_path):
    folder = write(
        tmp_path / "notes", {"zzuniquename.md": "# Heading\n\nThe qqxyzzyword sleeps.\n", "b.md": "Other words.\n"}
    )
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in Path(folder).rglob("*")}
    den = Den(tmp_path / "den")
    terms = (b"zzuniquenam", b"qqxyzzyword")
    async with den.client() as client:
        name = await add(client, folder)
        data = b"".join(data for path, data in den.files().items() if path.startswith("gateway.db"))
        assert terms[1] in data
        receipt = (await client.request("knowledge/collections/remove", {"collection_id": name}))["receipt"]
        assert receipt["complete"]
        assert (receipt["files"], receipt["chunks"], receipt["versions"]) == (2, 2, 2)
        for path, data in den.files().items():
            assert not any(term in data for term in terms), path
    assert (index_of(den)["chunks"], index_of(den)["miscounted"]) == (0, 0)
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in Path(folder).rglob("*")} == before


@journey
async def test_knowledge_statement_28_the_id_of_a_removed_collection_stays_in_the_log_alone(tmp_path):
    """Neither by its own removal nor by that of its workspace, though its jobs were done and a process watched it."""
    den, ids = Den(tmp_path / "den"), ("zzplans", "zzlayoffs")
    async with den.client() as client:
        await client.request("workspace/create", {"workspace_id": "ws_gone"})
        for collection_id, more in zip(ids, ({}, {"workspace_id": "ws_gone"}), strict=True):
            folder = write(tmp_path / collection_id, {"a.md": "The walrus sleeps.\n"})
            await add(client, folder, collection_id=collection_id, **more)
        await drain(client)
        await client.request("knowledge/collections/remove", {"collection_id": ids[0]})
        await client.request("workspace/delete", {"workspace_id": "ws_gone"})
        await drain(client)
    assert [name for name in den.files() if any(one in name for one in ids)] == []
    database = den.database()
    try:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        named = {name for name in tables if any(one in str(row) for row in rows_of(database, name) for one in ids)}
        assert named == {"knowledge_change"}
    finally:
        database.close()


def rows_of(database: apsw.Connection, table: str) -> list[Any]:
    return list(database.execute(f'SELECT * FROM "{table}"'))  # noqa: S608


@pytest.mark.parametrize(
    ("number", "when"), [(1, "after its commit"), (2, "before its commit"), (2, "after its commit")]
)
@on_posix
@journey
async def test_knowledge_statement_28_a_removal_that_is_killed_is_gone_on_with(tmp_path, number: int, when: When):
    """The words of another collection, one of whose files says the same, are found all the while."""
    texts = {f"n{n}.md": f"The qq{n}xyzzy sleeps.\n" for n in range(REMOVED_AT_ONCE + 20)}
    folder = write(tmp_path / "notes", texts)
    kept = write(tmp_path / "kept", {"same.md": texts["n1.md"], "own.md": "The heron stands.\n"})
    den, place = Den(tmp_path / "den"), KillPlace(tmp_path, number, when)
    command = place.command(den.command())
    async with await GatewayClient.start(command, env=place.environment()) as client:
        await hello(client)
        await add(client, folder)
        await add(client, kept)
        place.count_from_now()
        with pytest.raises(ConnectionClosed):
            await client.request("knowledge/collections/remove", {"collection_id": "notes"})
        await client.wait()
    async with den.client() as client:
        for _ in range(2):
            listed = (await client.request("knowledge/collections/list", {}))["collections"]
            assert [one["collection_id"] for one in listed] == ["kept"]
            assert paths(await search(client, "qq1xyzzy")) == ["same.md"]
            assert paths(await search(client, "heron")) == ["own.md"]
            assert (await search(client, "qq2xyzzy"))["hits"] == []
            await drain(client)
        for path, data in den.files().items():
            assert b"qq2xyzzy" not in data, path
        again = await client.request("knowledge/collections/add", {"path": str(folder)})
        assert again["collection"]["collection_id"] == "notes"
        await drain(client)
        assert paths(await search(client, "qq2xyzzy")) == ["n2.md"]
    made = index_of(den)
    assert (made["chunks"], made["words"], made["cards"]) == (len(texts) + 1, len(texts) + 1, len(texts) + 2)
    assert (made["orphans"], made["miscounted"]) == (0, 0)
