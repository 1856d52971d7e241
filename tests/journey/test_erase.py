"""Erasing to the last byte: every table, the vocabulary of both indexes, and the bytes of every file of a copy of the
home."""

import json

import apsw
import pytest
from home_bytes import files_holding, needles, tables_holding
from spawned import Den, drain, every, fact, hello, journey, refusal, remember, take_turn


async def erase(client, memory_id, **more):
    """The answer to an erase of one memory."""
    asked = {"target": {"kind": "id", "memory_id": memory_id}, "mode": "erase", **more}
    return await client.request("memory/forget", asked)


async def completed(client, receipt):
    """Wait until the files have forgotten as well."""
    if not receipt["complete"]:
        await client.wait_for("memory/erased", lambda told: {*receipt["memory_ids"]} <= {*told["memory_ids"]})


@journey
async def test_nothing_of_an_erased_memory_is_left_while_another_process_reads(tmp_path):
    words = needles(7)
    content, tag, value, note, alias, key, replaced = words
    den = Den(tmp_path)
    first, second = await den.spawn(), await den.spawn()
    async with first, second:
        await hello(first)
        await hello(second)
        for n in range(200):  # pages fill, split and are balanced around it
            await remember(first, f"Neighbour {n} stays {'where it is ' * (n % 40)}.")
        old = await remember(first, f"The vault opened with {replaced}.", key=f"vault {alias}")
        kept = {
            "tags": [tag],
            "value": {"word": value},
            "metadata": {"note": note},
            "key": f"vault {alias}",
            "idempotency_key": f"once-{key}",
        }
        memory_id = await remember(first, f"The vault opens with {content}.", **kept)
        await first.request("memory/update", {"memory_id": memory_id, "importance": 0.9})
        for client in (first, second):
            await client.request("memory/search", {"query": f"vault {content} {alias}"})
            await client.request("memory/explain", {"query": f"vault {content}"})
        assert {word for _, word in files_holding(den, words)} == {*words} - {key}  # an idempotency key is only hashed
        reader = apsw.Connection(str(den.home / "gateway.db"))
        reader.execute("BEGIN").fetchall()
        reader.execute("SELECT count(*) FROM record").fetchall()
        forgotten = await erase(first, memory_id, restore_superseded=False)
        receipt = forgotten["receipt"]
        assert (receipt["wal"], receipt["complete"]) == ("pending", False)
        assert tables_holding(den, {content, tag, value, note}) == set()
        older = (await erase(second, old))["receipt"]
        reader.execute("COMMIT").fetchall()
        reader.close()
        await completed(first, receipt)
        await completed(second, older)
        assert files_holding(den, words) == set()
        assert tables_holding(den, words) == set()
        assert len(await every(second, "memory/list", "records")) == 200
    assert files_holding(den, words) == set()


@journey
async def test_who_cancels_an_erase_after_its_commit_has_it_finished_all_the_same(tmp_path):
    (word,) = needles(1)
    den = Den(tmp_path)
    async with den.client() as client:
        memory_id = await remember(client, f"The vault opens with {word}.")
        reader = apsw.Connection(str(den.home / "gateway.db"))
        reader.execute("BEGIN").fetchall()
        reader.execute("SELECT count(*) FROM record").fetchall()  # the log cannot be emptied meanwhile
        asked = {"target": {"kind": "id", "memory_id": memory_id}, "mode": "erase"}
        client.send_line(
            json.dumps({"jsonrpc": "2.0", "id": "erase", "method": "memory/forget", "params": asked}).encode()
        )
        while (await client.request("memory/get", {"memory_id": memory_id}))["record"] is not None:
            pass
        await client.notify("$/cancelRequest", {"id": "erase"})
        reader.execute("COMMIT").fetchall()
        reader.close()
        await client.wait_for("memory/erased", lambda told: told["memory_ids"] == [memory_id])
        assert files_holding(den, [word]) == set()
        assert (await client.request("gateway/status", {}))["repair"]["erases"] == 0


@journey
async def test_a_receipt_names_the_backups_that_lie_in_the_home(tmp_path):
    den = Den(tmp_path)
    async with den.client() as client:
        memory_id = await remember(client, "The vault opens with a song.")
        assert (await erase(client, memory_id))["receipt"]["remaining"]["backups"] == []
        (den.home / "backups").mkdir(exist_ok=True)
        (den.home / "backups" / "before-fix-1.backup").write_bytes(b"what a backup holds")
        receipt = (await erase(client, await remember(client, "The vault opens with a dance.")))["receipt"]
        assert receipt["remaining"]["backups"] == ["before-fix-1.backup"]
        await completed(client, receipt)


@pytest.mark.loop("test")
@journey
async def test_with_its_sources_a_memory_is_gone_from_messages_tools_and_indexes(tmp_path):
    words = needles(2)
    word, other = words
    den = Den(tmp_path, scripted=True)
    learnt = fact(f"The user's vault is called {word}.", f"my vault is called {word}", "vault")
    den.write_script(
        [
            {"role": "extractor", "times": 1, "respond": {"json": {"facts": [learnt]}}},
            {
                "role": "main",
                "input_contains": "Do you know",
                "round": 1,
                "respond": {"tool_calls": [{"name": "memory_search", "arguments": {"query": "vault called"}}]},
            },
        ]
    )
    async with den.client() as client:
        await client.request("thread/start", {"thread_id": "thr_a"})
        await take_turn(client, "thr_a", f"Hello {other}. Yesterday MY vault  is called {word}. It stuck.", "trn_a")
        (record,) = await every(client, "memory/list", "records")
        await take_turn(client, "thr_a", "Do you know what I call my vault? Search your memory.", "trn_b")
        await drain(client)
        held = tables_holding(den, [word])
        assert ("item", word) in held
        found = await client.request("thread_episodic/search", {"workspace_id": "ws_here", "query": word})
        assert found["hits"]
        rehearsed = (await erase(client, record["memory_id"], include_sources=True, dry_run=True))["receipt"]
        assert ("item", word) in tables_holding(den, [word])
        receipt = (await erase(client, record["memory_id"], include_sources=True))["receipt"]
        assert receipt["remaining"]["items"] == rehearsed["remaining"]["items"] == []
        assert receipt["removed"] == rehearsed["removed"]
        assert receipt["removed"]["evidence"] == 1
        await completed(client, receipt)
        await drain(client)
        assert tables_holding(den, [word]) == set()
        items = await every(client, "thread/history", "items", thread_id="thr_a", order="asc")
        assert items[0]["text"] == f"Hello {other}. Yesterday [forgotten]. It stuck."
        assert (await client.request("thread_episodic/search", {"workspace_id": "ws_here", "query": word}))[
            "hits"
        ] == []
        found = await client.request("thread_episodic/search", {"workspace_id": "ws_here", "query": other})
        assert [hit["turn_id"] for hit in found["hits"]] == ["trn_a"]
    assert files_holding(den, [word]) == set()


@journey
async def test_no_word_of_a_value_is_taken_for_a_function_word(tmp_path):
    """Function words are known by asking the lexicon for them beside a word that is none: once it was `zebrafish`."""
    async with Den(tmp_path, scripted=True).client() as client:
        await client.request("thread/start", {"thread_id": "thr_a"})
        await take_turn(client, "thr_a", "A zebrafish swam by, and an otter.", "trn_a")
        await drain(client)
        for value in ("zebrafish", "otter"):
            memory_id = await remember(client, f"The vault opens with {len(value)} letters.", value=value)
            await completed(client, (await erase(client, memory_id, include_sources=True))["receipt"])
        items = await every(client, "thread/history", "items", thread_id="thr_a", order="asc")
        assert items[0]["text"] == "A [forgotten] swam by, and an [forgotten]."


@journey
async def test_what_a_tool_showed_of_a_memory_goes_with_it(tmp_path):
    """A host's tool call keeps its answer; the answer is a copy of the memory, not the user's message."""
    (word,) = needles(1)
    den = Den(tmp_path)
    async with den.client() as client:
        await client.request("thread/start", {"thread_id": "thr_a"})
        memory_id = await remember(client, f"The vault is called {word}.")
        said = {
            "thread_id": "thr_a",
            "turn_id": "trn_a",
            "input": [{"type": "text", "text": "What do I call my vault?"}],
        }
        await client.request("turn/prepare", said)
        asked = {"domains": ["memory"], "reason": "to look it up"}
        await client.request(
            "turn/tool_call", {"turn_id": "trn_a", "call_id": "call_0", "name": "request_tools", "arguments": asked}
        )
        call = {"turn_id": "trn_a", "call_id": "call_1", "name": "memory_get", "arguments": {"memory_id": memory_id}}
        shown = await client.request("turn/tool_call", call)
        assert word in json.dumps(shown)
        await client.request(
            "turn/finish", {"turn_id": "trn_a", "status": "succeeded", "assistant_text": "A good name."}
        )
        await drain(client)
        receipt = (await erase(client, memory_id))["receipt"]
        assert receipt["removed"]["snapshots"] >= 1
        await completed(client, receipt)
        assert tables_holding(den, [word]) == set()
        assert files_holding(den, [word]) == set()


@pytest.mark.parametrize("kind", ["turn", "thread", "scope"])
@journey
async def test_every_target_takes_all_that_it_names(tmp_path, kind):
    word, stays = needles(2)
    den = Den(tmp_path, scripted=True)
    learnt = fact(f"The user's vault is called {word}.", f"my vault called {word} stuck", "vault")
    den.write_script([{"role": "extractor", "times": 1, "respond": {"json": {"facts": [learnt]}}}])
    async with den.client() as client:
        await client.request("thread/start", {"thread_id": "thr_a"})
        await take_turn(client, "thr_a", f"Yesterday my vault called {word} stuck.", "trn_a")
        scope = {"kind": "workspace", "key": "ws_here"}
        kept = await remember(client, f"The cellar is called {stays}.", scope=scope, category="project_fact")
        (record,) = [entry for entry in await every(client, "memory/list", "records") if entry["memory_id"] != kept]
        target = {
            "turn": {"kind": "turn", "turn_id": "trn_a"},
            "thread": {"kind": "thread", "thread_id": "thr_a"},
            "scope": {"kind": "scope", "scope": record["scope"]},
        }[kind]
        asked = {"target": target, "mode": "erase", "include_sources": True}
        rehearsed = await client.request("memory/forget", {**asked, "dry_run": True})
        assert (rehearsed["dry_run"], rehearsed["forgotten_memory_ids"]) == (True, [record["memory_id"]])
        assert len(await every(client, "memory/list", "records")) == 2
        done = await client.request("memory/forget", asked)
        assert done["forgotten_memory_ids"] == rehearsed["forgotten_memory_ids"]
        assert done["receipt"]["removed"] == rehearsed["receipt"]["removed"]
        await completed(client, done["receipt"])
        await drain(client)
        assert tables_holding(den, [word]) == set()
        assert [entry["memory_id"] for entry in await every(client, "memory/list", "records")] == [kept]
        again = await client.request("memory/forget", asked)
        assert (again["forgotten_memory_ids"], again.get("receipt")) == ([], None)
    assert files_holding(den, [word]) == set()


@pytest.mark.loop("test")
@journey
async def test_messages_are_changed_by_an_erase_only(tmp_path):
    async with Den(tmp_path).client() as client:
        memory_id = await remember(client, "Tea.")
        asked = {"target": {"kind": "id", "memory_id": memory_id}, "include_sources": True}
        assert (await refusal(client, "memory/forget", asked)).code == -32602
        assert len(await every(client, "memory/list", "records")) == 1


# -- repair ----------------------------------------------------------------------------------------------------------


@journey
async def test_a_home_without_its_index_answers_at_once_and_is_whole_after_a_while(tmp_path):
    word, *_ = needles(1)
    den = Den(tmp_path)
    async with den.client() as client:
        memory_id = await remember(client, f"The vault is called {word}.")
    connection = apsw.Connection(str(den.home / "gateway.db"))
    connection.execute("INSERT INTO memory_fts (memory_fts) VALUES ('delete-all')").fetchall()
    connection.close()
    async with den.client() as client:
        assert (await client.request("memory/get", {"memory_id": memory_id}))["record"]
        await drain(client)
        assert [
            hit["record"]["memory_id"] for hit in (await client.request("memory/search", {"query": word}))["hits"]
        ] == [memory_id]
        status = await client.request("gateway/status")
        assert status["repair"] == {"damaged": 0, "texts": 0, "erases": 0}


@journey
async def test_a_damaged_record_is_told_and_hidden_and_can_be_erased(tmp_path):
    word, other = needles(2)
    den = Den(tmp_path)
    async with den.client() as client:
        memory_id = await remember(client, f"The vault is called {word}.")
        await remember(client, f"The cellar is called {other}.")
    connection = apsw.Connection(str(den.home / "gateway.db"))
    connection.execute(
        "UPDATE record SET content = CAST(x'ff' || content AS TEXT) WHERE memory_id = ?", (memory_id,)
    ).fetchall()
    connection.close()
    async with den.client() as client:
        assert len(await every(client, "memory/list", "records")) == 1
        told = await client.wait_for("gateway/degraded", lambda told: told["component"] == "memory")
        assert told["reason"] == "damaged_records"
        await drain(client)
        status = await client.request("gateway/status")
        assert status["repair"]["damaged"] == 1
        assert ("memory", "damaged_records") in [(entry["component"], entry["reason"]) for entry in status["degraded"]]
        assert (await client.request("memory/get", {"memory_id": memory_id}))["record"] is None
        explained = await client.request("memory/explain", {"target": {"kind": "memory", "id": memory_id}})
        assert [gate["gate"] for gate in explained["gates"] if not gate["passed"]] == ["integrity"]
    async with den.client() as client:  # the next process knows it without meeting it
        await drain(client)
        status = await client.request("gateway/status")
        assert ("memory", "damaged_records") in [(entry["component"], entry["reason"]) for entry in status["degraded"]]
        forgotten = await erase(client, memory_id)
        assert forgotten["forgotten_memory_ids"] == [memory_id]
        await completed(client, forgotten["receipt"])
    assert files_holding(den, [word]) == set()
