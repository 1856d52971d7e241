"""An erase with its sources against what says the same elsewhere: files of the user, earlier versions, other scopes,
and turns and extractions that are under way."""

import zipfile
from pathlib import Path
from typing import Any

import pytest
from home_bytes import faces, files_holding, needles, tables_holding
from spawned import Den, drain, every, fact, hello, journey, remember, run_to_end, take_turn
from test_knowledge import add, write
from test_late_forgetting import running_extraction
from timed_den import TimedDen

from gateway.wire.client import GatewayClient, console_script

WITH_SOURCES = {"mode": "erase", "include_sources": True}


def text(said: str) -> list[dict[str, str]]:
    """The input of a turn."""
    return [{"type": "text", "text": said}]


async def erase(client: GatewayClient, memory_id: str, **more: Any) -> dict[str, Any]:
    """The answer to an erase with sources of one memory."""
    target = {"kind": "id", "memory_id": memory_id}
    return await client.request("memory/forget", {"target": target, **WITH_SOURCES, **more})


async def erase_alone(client: GatewayClient, memory_id: str, **more: Any) -> dict[str, Any]:
    """The answer to an erase of one memory, without its sources."""
    return await erase(client, memory_id, include_sources=False, **more)


# -- earlier versions -------------------------------------------------------------------------------------------------


@journey
async def test_an_erase_with_sources_takes_every_earlier_version(tmp_path: Path) -> None:
    (word,) = needles(1)
    den = Den(tmp_path, scripted=True)
    first = f"The user's boat lies beside the {word} bridge."
    learnt = fact(first, f"My boat lies beside the {word} bridge", "place")
    den.write_script([{"role": "extractor", "times": 1, "respond": {"json": {"facts": [learnt]}}}])
    async with den.client() as client:
        await client.request("thread/start", {"thread_id": "thr_a"})
        await take_turn(client, "thr_a", f"My boat lies beside the {word} bridge.", "trn_a")
        (record,) = await every(client, "memory/list", "records")
        versions = [record["memory_id"]]
        for place in ("old", "new"):
            edit = {"memory_id": versions[-1], "content": f"The user's boat lies behind the {place} mill."}
            versions.append((await client.request("memory/update", edit))["record"]["memory_id"])
        neighbour = await remember(client, "The canoe lies behind the house.")
        kept = await erase_alone(client, versions[-1], dry_run=True)
        assert kept["forgotten_memory_ids"] == versions[-1:]
        done = await erase(client, versions[-1])
        assert sorted(done["forgotten_memory_ids"]) == sorted(versions)
        assert (done["receipt"]["remaining"]["places"], done["receipt"]["complete"]) == ([], True)
        everything = {"statuses": ["active", "superseded", "expired", "archived", "deleted"]}
        assert [one["memory_id"] for one in await every(client, "memory/list", "records", **everything)] == [neighbour]
        (item, *_) = (await client.request("turn/items", {"turn_id": "trn_a"}))["items"]
        assert item["text"] == "[forgotten]."
        await drain(client)
        assert tables_holding(den, [word]) == set()
    assert files_holding(den, [word]) == set()


@journey
async def test_an_erase_with_sources_takes_what_earlier_values_said(tmp_path: Path) -> None:
    first, second, last = needles(3)
    den = Den(tmp_path, scripted=True)
    async with den.client() as client:
        await client.request("thread/start", {"thread_id": "thr_a"})
        await take_turn(client, "thr_a", f"Our boat lies in {first}, and {second} is far.", "trn_a")
        memory_id = await remember(client, "The boat lies in a harbour.", value=first)
        for value in (second, {"harbour": last}):
            await client.request("memory/update", {"memory_id": memory_id, "value": value})
        sailed = await remember(client, "The canoe lies elsewhere.", value=f"near {first}")
        await client.request("memory/update", {"memory_id": sailed, "value": None})
        kept = (await erase_alone(client, memory_id, dry_run=True))["receipt"]["remaining"]["places"]
        assert {(one["place"], one["reason"]) for one in kept} == {
            ("message", "sources_kept"),
            ("earlier_value", "sources_kept"),
        }
        receipt = (await erase(client, memory_id))["receipt"]
        assert (receipt["remaining"]["places"], receipt["complete"]) == ([], True)
        assert {one["place"] for one in receipt["sources"]} >= {"message", "earlier_value"}
        (item, *_) = (await client.request("turn/items", {"turn_id": "trn_a"}))["items"]
        assert item["text"] == "Our boat lies in [forgotten], and [forgotten] is far."
        assert tables_holding(den, [first, second, last]) == set()
    assert files_holding(den, [first, second, last]) == set()


# -- turns that are under way -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_elsewhere", [False, True])
@journey
async def test_a_turn_says_nothing_that_was_erased_since_it_began(tmp_path: Path, *, is_elsewhere: bool) -> None:
    (word,) = needles(1)
    den = Den(tmp_path)
    async with den.client() as client, await den.spawn() as other:
        await hello(other)
        await client.request("thread/start", {"thread_id": "thr_a"})
        memory_id = await remember(client, f"The vault is called {word}.")
        said = [{"type": "text", "text": "What is my vault called?"}]
        await client.request("turn/prepare", {"thread_id": "thr_a", "turn_id": "trn_a", "input": said})
        receipt = (await erase(other if is_elsewhere else client, memory_id))["receipt"]
        assert receipt["complete"]
        events = [{"name": "shell", "call_id": "c", "status": "ok", "summary": f"Opened {word}, then left."}]
        answer = f"Your vault is called **{word.upper()}**, as you know."
        finish = {"turn_id": "trn_a", "status": "succeeded", "assistant_text": answer, "tool_events": events}
        await client.request("turn/finish", finish)
        await drain(client)
        items = (await client.request("turn/items", {"turn_id": "trn_a"}))["items"]
        assert [one["text"] for one in items] == ["What is my vault called?", "Your [forgotten]**, as you know."]
        assert tables_holding(den, [word]) == set()
        again = {"thread_id": "thr_a", "turn_id": "trn_b", "input": [{"type": "text", "text": f"It is {word} anew."}]}
        await client.request("turn/prepare", again)  # a new message may say it
        await client.request(
            "turn/finish", {"turn_id": "trn_b", "status": "succeeded", "assistant_text": f"So {word}."}
        )
        items = (await client.request("turn/items", {"turn_id": "trn_b"}))["items"]
        assert [word in one["text"] for one in items] == [True, True]


@journey
async def test_an_extraction_that_is_repeated_after_an_erase_keeps_no_mark(tmp_path: Path) -> None:
    (word,) = needles(1)
    den = TimedDen(tmp_path, scripted=True)
    nothing = {"role": "extractor", "respond": {"json": {"facts": []}}}
    den.write_script([{**nothing, "delay_ms": 60_000}])
    first = await den.spawn()
    await hello(first)
    await first.request("thread/start", {"thread_id": "thr_a"})
    memory_id = await remember(first, f"My vault is called {word}.")
    said = [{"type": "text", "text": f"Please remember that my vault is called {word}, and that my cellar is deep."}]
    await first.request("turn/start", {"thread_id": "thr_a", "turn_id": "trn_a", "input": said})
    await running_extraction(first, "trn_a")
    assert (await erase(first, memory_id))["receipt"]["complete"]
    first.kill()
    await first.wait()
    den.write_script([nothing])
    den.forward(10 * 60_000)
    async with den.client() as client:
        await drain(client)
        (run,) = (await client.request("hooks/runs", {"turn_id": "trn_a", "phase": "TurnPostTurn"}))["runs"]
        assert run["status"] in {"succeeded", "completed"}
        texts = [one["content"] for one in await every(client, "memory/list", "records")]
        waiting = [one["content"] for one in await every(client, "memory/candidates/list", "candidates")]
        assert [text for text in (*texts, *waiting) if "forgotten" in text] == []
        assert tables_holding(den, [word]) == set()


# -- what a turn keeps beside its messages ----------------------------------------------------------------------------


@journey
async def test_a_tool_of_a_turn_that_began_before_an_erase_is_not_called_by_its_words(tmp_path: Path) -> None:
    (word,) = needles(1)
    den = Den(tmp_path)
    async with den.client() as client:
        await client.request("thread/start", {"thread_id": "thr_a"})
        memory_id = await remember(client, f"The vault is called {word}.")
        await client.request("turn/prepare", {"thread_id": "thr_a", "turn_id": "trn_a", "input": text("Open it.")})
        assert (await erase(client, memory_id))["receipt"]["complete"]
        event = {"name": f"open {word}", "call_id": "c", "status": f"{word} is open", "summary": f"Opened {word}."}
        finish = {"turn_id": "trn_a", "status": "succeeded", "assistant_text": "Done.", "tool_events": [event]}
        await client.request("turn/finish", finish)
        await drain(client)
        (kept,) = (await client.request("turn/get", {"turn_id": "trn_a"}))["turn"]["tool_events"]
        clean = {"name": "open [forgotten]", "status": "[forgotten] is open", "summary": "Opened [forgotten]."}
        assert kept == event | clean
        assert tables_holding(den, [word]) == set()
    assert files_holding(den, [word]) == set()


@journey
async def test_the_plan_of_a_turn_that_began_before_an_erase_names_no_key(tmp_path: Path) -> None:
    (word,) = needles(1)
    den = Den(tmp_path, scripted=True)
    wanted = {"status": "recall", "modes": ["key"], "targets": [f"vault {word}"]}
    plan = {"tools": {"visible_tools": []}, "memory": {"active_recall": {"durable": wanted}}}
    den.write_script([{"role": "preflight", "respond": {"json": plan}}])
    async with den.client() as client:
        await client.request("settings/update", {"update": {"roles": {"preflight": "scripted"}}})
        await client.request("thread/start", {"thread_id": "thr_a"})
        memory_id = await remember(client, f"The vault is called {word}.")
        asked = {"thread_id": "thr_a", "turn_id": "trn_a", "input": text("Can you write it again in French?")}
        manifest = (await client.request("turn/prepare", asked))["prompt_manifest"]
        assert manifest["preflight"]["source"] == "model"
        assert manifest["preflight"]["plan"]["memory"]["active_recall"]["durable"]["modes"] == ["key"]
        assert (await erase(client, memory_id))["receipt"]["complete"]
        await client.request("turn/finish", {"turn_id": "trn_a", "status": "succeeded", "assistant_text": "Oui."})
        await drain(client)
        assert tables_holding(den, [word]) == set()
    assert files_holding(den, [word]) == set()


# -- conversations that are brought in --------------------------------------------------------------------------------


def brought(said: str, source: str, **more: Any) -> dict[str, Any]:
    """An import of a conversation of another program, in which somebody asked to keep something."""
    items = [{"role": "user", "text": said, "name": said}, {"role": "assistant", "text": f"Noted: {said}"}]
    turns = [{"at": 1_700_000_000_000, "items": items}]
    source_of = {"kind": "chat", "id": source}
    return {"workspace_id": "ws_here", "source": source_of, "turns": turns, "name": f"About: {said}", **more}


def passed_on(said: str, session: str, at: int) -> dict[str, Any]:
    """A conversation that a known program passes on while it is held."""
    source = {"client": "codex", "agent_id": "codex", "door": "ingest", "session_id": session}
    turns = [{"at": at, "messages": [{"role": "user", "text": said}, {"role": "assistant", "text": "Noted."}]}]
    return {"source": source | {"workspace_id": "ws_here"}, "live": True, "turns": turns}


@journey
async def test_an_import_that_began_before_an_erase_brings_none_of_its_words(tmp_path: Path) -> None:
    (word,) = needles(1)
    said = f"The vault is called {word}."
    den = Den(tmp_path)
    async with den.client() as client:
        began = (await client.request("thread/import", brought(said, "one", dry_run=True)))["generation"]
        memory_id = await remember(client, said)
        assert (await erase(client, memory_id))["receipt"]["complete"]
        done = await client.request("thread/import", brought(said, "one", generation=began))
        assert (done["imported"], done["thread"]["name"]) == (1, "About: [forgotten].")
        items = (await client.request("thread/history", {"thread_id": done["thread"]["thread_id"]}))["items"]
        assert sorted(one["text"] for one in items) == ["Noted: [forgotten].", "[forgotten]."]
        again = await client.request("thread/import", brought(said, "one"))  # it is there already, as it is
        assert (again["imported"], again["skipped"]) == (0, 1)
        await drain(client)
        assert tables_holding(den, [word]) == set()
    assert files_holding(den, [word]) == set()


@journey
async def test_a_conversation_that_is_brought_in_again_brings_no_memory_back(tmp_path: Path) -> None:
    (word,) = needles(1)
    said = f"Remember that my vault is called {word}."
    async with TimedDen(tmp_path).client() as client:
        await client.request("thread/start", {"thread_id": "thr_a"})
        turn = {"thread_id": "thr_a", "turn_id": "trn_a", "input": text(said)}
        await client.request("turn/prepare", turn)
        await client.request("turn/finish", {"turn_id": "trn_a", "status": "succeeded", "assistant_text": "Noted."})
        await client.request("thread/import", brought(said, "one"))
        await drain(client)
        bundle = (await client.request("memory/export", {}))["bundle"]
        (record,) = await every(client, "memory/list", "records")
        assert word in record["content"]
        assert (await erase(client, record["memory_id"]))["receipt"]["complete"]

        async def found() -> tuple[int, int]:
            """Return the number of turns that say it, and those of memories and of proposals."""
            await drain(client)
            asked = {"workspace_id": "ws_here", "query": word}
            hits = (await client.request("thread_episodic/search", asked))["hits"]
            kept = await every(client, "memory/list", "records")
            waiting = await every(client, "memory/candidates/list", "candidates")
            return len({hit["turn_id"] for hit in hits}), len([*kept, *waiting])

        await client.request("thread/import", brought(said, "one", mode="replace"))
        assert await found() == (0, 0)  # it was there, and stays as the erase left it
        assert (await client.request("memory/import", {"bundle": bundle}))["tombstoned"] == 1
        assert await found() == (0, 0)
        await client.request("thread/import", brought(said, "two"))
        assert await found() == (1, 0)  # a conversation that is new here can be read, and teaches nothing
        await client.request("capture/ingest", passed_on(said, "one", record["created_at"] - 1))
        assert await found() == (2, 0)  # the wish in it is older than the forgetting
        await client.request("capture/ingest", passed_on(said, "two", record["created_at"] + 60_000))
        assert await found() == (3, 1)  # whoever asks anew is heard


# -- other workspaces -------------------------------------------------------------------------------------------------


@journey
async def test_words_in_another_workspace_are_taken_out_or_named(tmp_path: Path) -> None:
    (word,) = needles(1)
    said = f"My blue door opens with the phrase {word}."
    den = Den(tmp_path)
    there = {"workspace_id": "ws_there"}
    async with den.client() as client:
        await client.request("workspace/create", there | {"name": f"Where {word} is said"})
        await client.request("thread/start", there | {"thread_id": "thr_there", "name": said, "instructions": said})
        await client.request("turn/prepare", {"thread_id": "thr_there", "turn_id": "trn_there", "input": text(said)})
        finish = {"turn_id": "trn_there", "status": "succeeded", "assistant_text": f"I see: {said}"}
        await client.request("turn/finish", finish)
        await client.request("turn/prepare", {"thread_id": "thr_there", "turn_id": "trn_open", "input": text("Go on.")})
        in_scope = {"scope": {"kind": "workspace", "key": "ws_there"}, "context": there}
        beside = await remember(client, "The lock there is brass.", value=word, **in_scope)
        await drain(client)
        memory_id = await remember(client, said)
        receipt = (await erase(client, memory_id))["receipt"]
        assert [(one["id"], one["reason"]) for one in receipt["remaining"]["places"] if one["place"] == "memory"] == [
            (beside, "another_memory")
        ]
        assert not receipt["complete"]
        last = {"target": {"kind": "id", "memory_id": beside}, **WITH_SOURCES, "context": there}
        receipt = (await client.request("memory/forget", last))["receipt"]
        assert (receipt["remaining"]["places"], receipt["complete"]) == ([], True)
        finish = {"turn_id": "trn_open", "status": "succeeded", "assistant_text": f"It opens with {word}."}
        await client.request("turn/finish", finish)  # a turn there had begun before
        await drain(client)
        for query in (said, word):
            assert word not in str((await client.request("thread_episodic/search", there | {"query": query}))["hits"])
            assert (await client.request("memory/search", {"query": query, "context": there}))["hits"] == []
        assert tables_holding(den, [word]) == set()
    assert files_holding(den, [word]) == set()
    backup = den.folder / "after.backup"
    assert run_to_end([*console_script(), "backup", str(backup), "--home", str(den.home)]).returncode == 0
    with zipfile.ZipFile(backup) as archive:
        kept = {name: archive.read(name) for name in archive.namelist()}
    assert {"gateway.db", "manifest.json"} <= {*kept}
    assert [name for name, data in kept.items() if any(face in data for face in faces(word))] == []


# -- other scopes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["tombstone", "erase"])
@journey
async def test_what_a_user_forgot_is_noted_in_no_scope_that_they_see_it_in(tmp_path: Path, mode: str) -> None:
    said = "The cat is called Mitzi."
    async with Den(tmp_path).client() as client:
        for n, (scope, other) in enumerate(
            [
                ({"kind": "user", "key": "default"}, {"kind": "workspace", "key": "ws_here"}),
                ({"kind": "workspace", "key": "ws_here"}, {"kind": "agent", "key": "codex"}),
            ]
        ):
            words = f"{said[:-1]} {n}."
            context = {"workspace_id": "ws_here", "agent_id": "codex"}
            memory_id = await remember(client, words, scope=scope, context=context)
            forgetting = {"target": {"kind": "id", "memory_id": memory_id}, "mode": mode, "context": context}
            await client.request("memory/forget", forgetting)
            note = {
                "content": words,
                "agent_id": "codex",
                "scope": other,
                "context": context,
                "category": "project_fact",
            }
            answer = await client.request("memory/note", note)
            assert (answer["status"], answer["reason_code"]) == ("rejected", "suppressed_by_rejection")
        assert await every(client, "memory/list", "records") == []
        kept = await remember(client, said[:-1] + " 0.", scope={"kind": "workspace", "key": "ws_here"})  # a new word
        assert [one["memory_id"] for one in await every(client, "memory/list", "records")] == [kept]


# -- files of the user ------------------------------------------------------------------------------------------------


@journey
async def test_an_erase_is_not_complete_while_a_file_says_it(tmp_path: Path) -> None:
    said = "The bicycle is locked with the number 8841."
    here = write(tmp_path / "notes", {"lock.md": f"# Lock\n\n- {said}\n", "other.md": "The bicycle is red.\n"})
    there = write(tmp_path / "theirs", {"theirs.md": f"{said}\n"})
    async with Den(tmp_path / "den").client() as client:
        await add(client, here)
        await client.request("workspace/create", {"workspace_id": "ws_other"})
        await add(client, there, workspace_id="ws_other")
        memory_id = await remember(client, said)
        rehearsed = (await erase(client, memory_id, dry_run=True))["receipt"]
        receipt = (await erase(client, memory_id))["receipt"]
        left = receipt["remaining"]
        assert left["files"] == [{"collection_id": "notes", "path": "lock.md", "reason": "own_file"}]
        assert (left["places"], left["more"], receipt["wal"], receipt["complete"]) == ([], 1, "truncated", False)
        assert rehearsed["remaining"] == left
        write(here, {"lock.md": "Nothing.\n"})
        write(there, {"theirs.md": "Nothing.\n"})
        await drain(client)
        again = (await erase(client, await remember(client, said)))["receipt"]
        assert (again["remaining"]["files"], again["remaining"]["more"], again["complete"]) == ([], 0, True)
