"""Forgetting against what is under way, and deletions that are interrupted, from outside."""

import asyncio
import base64
import contextlib

import pytest
from spawned import Den, drain, every, fact, hello, journey, refusal, remember
from test_forgetting import holding, needle
from timed_den import TimedDen

from gateway.wire.client import ConnectionClosed

USER = {"kind": "user", "key": "default"}
SECONDS_LATER = 60_000


async def running_extraction(client, turn_id):
    """The run that learns from a turn, once it is at work."""
    while True:
        runs = (await client.request("hooks/runs", {"turn_id": turn_id}))["runs"]
        found = next((run for run in runs if run["phase"] == "TurnPostTurn"), None)
        if found is not None and found["status"] == "running":
            return found


@pytest.mark.parametrize("kind", ["turn", "thread", "scope", "thread/delete"])
@journey
async def test_nothing_is_learnt_by_an_extraction_that_a_forgetting_meets(tmp_path, kind):
    den = Den(tmp_path, scripted=True)
    learnt = fact("The user likes green tea.", "I like green tea in the morning", "tea")
    den.write_script([{"role": "extractor", "delay_ms": 4000, "respond": {"json": {"facts": [learnt]}}}])
    target = {
        "turn": {"kind": "turn", "turn_id": "trn_a"},
        "thread": {"kind": "thread", "thread_id": "thr_a"},
        "scope": {"kind": "scope", "scope": USER},
    }
    async with den.client() as client, await den.spawn() as other:
        await hello(other)
        await client.request("thread/start", {"thread_id": "thr_a"})
        said = [{"type": "text", "text": "I like green tea in the morning."}]
        await client.request("turn/start", {"thread_id": "thr_a", "turn_id": "trn_a", "input": said})
        run = await running_extraction(client, "trn_a")
        if kind == "thread/delete":
            forgotten = await other.request("thread/delete", {"thread_id": "thr_a"})
        else:
            forgotten = await other.request("memory/forget", {"target": target[kind]})
        reached = {"run_id": run["run_id"], "thread_id": "thr_a", "turn_id": "trn_a"}
        assert forgotten["cancelled"] == [{**reached, "scope": USER if kind == "scope" else None}]
        if kind != "thread/delete":
            (after,) = (await client.request("hooks/runs", {"turn_id": "trn_a", "phase": "TurnPostTurn"}))["runs"]
            assert after["status"] == ("running" if kind == "scope" else "skipped")
        await drain(client)
        assert await every(client, "memory/list", "records") == []
        assert await every(client, "memory/candidates/list", "candidates") == []
        if kind in {"turn", "thread"}:
            (after,) = (await client.request("hooks/runs", {"turn_id": "trn_a", "phase": "TurnPostTurn"}))["runs"]
            assert (after["status"], [one["code"] for one in after["diagnostics"]]) == ("skipped", ["source_forgotten"])
        if kind == "scope":
            told = await client.request("memory/explain", {"target": {"kind": "turn", "id": "trn_a"}})
            assert "source_forgotten" in str(told)


@pytest.mark.parametrize("kind", ["turn", "thread"])
@journey
async def test_a_model_notes_nothing_in_a_turn_that_was_forgotten(tmp_path, kind):
    den, word = Den(tmp_path), needle()
    target = {"turn": {"kind": "turn", "turn_id": "trn_a"}, "thread": {"kind": "thread", "thread_id": "thr_a"}}[kind]
    async with den.client() as client:
        await client.request("settings/update", {"update": {"memory": {"agent_notes": "all"}}})
        await client.request("thread/start", {"thread_id": "thr_a", "workspace_id": "ws_here"})
        said = [{"type": "text", "text": f"What do you think of {word}?"}]
        await client.request("turn/prepare", {"thread_id": "thr_a", "turn_id": "trn_a", "input": said})

        async def call(call_id, name, arguments):
            asked = {"turn_id": "trn_a", "call_id": call_id, "name": name, "arguments": arguments}
            return (await client.request("turn/tool_call", asked))["result"]

        async def note(call_id, content):
            await call(call_id, "memory_remember", {"content": content, "category": "project_fact"})
            return [record["content"] for record in await every(client, "memory/list", "records")]

        await call("c0", "request_tools", {"domains": ["memory"], "reason": "to keep it"})
        assert await note("c1", "The project has a mast.") == ["The project has a mast."]
        await client.request("memory/forget", {"target": target})
        assert await note("c2", f"The project uses {word}.") == []
        assert await every(client, "memory/candidates/list", "candidates") == []


@journey
async def test_the_same_words_said_after_the_forgetting_are_learnt(tmp_path):
    den = Den(tmp_path, scripted=True)
    learnt = fact("The user likes green tea.", "I like green tea in the morning", "tea", intent="explicit_store")
    den.write_script([{"role": "extractor", "respond": {"json": {"facts": [learnt]}}}])
    async with den.client() as client:
        await client.request("thread/start", {"thread_id": "thr_a"})
        await client.request("memory/forget", {"target": {"kind": "scope", "scope": USER}})
        said = [{"type": "text", "text": "Please remember: I like green tea in the morning."}]
        await client.request("turn/start", {"thread_id": "thr_a", "turn_id": "trn_a", "input": said})
        await client.wait_for("turn/post_completed")
        assert len(await every(client, "memory/list", "records")) == 1


def turns(word, count):
    """A conversation of another program."""
    return [{"at": n + 1, "items": [{"role": "user", "text": f"Line {n} is about {word}."}]} for n in range(count)]


async def bring(client, thread_id, workspace_id, word, count, **more):
    """Import a conversation; the answer."""
    source = {"kind": "chat", "id": thread_id}
    asked = {
        "workspace_id": workspace_id,
        "thread_id": thread_id,
        "source": source,
        "turns": turns(word, count),
        **more,
    }
    return await client.request("thread/import", asked)


@journey
async def test_an_interrupted_deletion_of_a_workspace_is_told_and_comes_to_its_end(tmp_path):
    den, word = TimedDen(tmp_path), needle()
    scope = {"kind": "workspace", "key": "ws_gone"}
    context = {"workspace_id": "ws_gone"}
    first, second = await den.spawn(), await den.spawn()
    async with second:
        await hello(first, "ws_here")
        await hello(second, "ws_here")
        await first.request("workspace/create", {"workspace_id": "ws_gone"})
        for n in range(3):
            await bring(first, f"thr_{n}", "ws_gone", word, 400)
        kept = [await remember(first, f"Rule {n} of {word}.", scope=scope, context=context) for n in range(120)]
        await first.request("memory/forget", {"target": {"kind": "id", "memory_id": kept[0]}, "context": context})
        await drain(second)
        deleting = asyncio.ensure_future(first.request("workspace/delete", {"workspace_id": "ws_gone"}))
        state = "active"
        while state == "active":
            state = (await second.request("workspace/get", {"workspace_id": "ws_gone"}))["workspace"]["state"]
        first.kill()
        with contextlib.suppress(ConnectionClosed):
            await deleting
        told = await every(second, "workspace/list", "workspaces")
        assert [(one["workspace_id"], one["state"]) for one in told if one["workspace_id"] == "ws_gone"] == [
            ("ws_gone", "deleting")
        ]
        for method, params in (
            ("thread/start", {"workspace_id": "ws_gone"}),
            ("memory/remember", {"content": f"One more of {word}.", "scope": scope, "context": context}),
            ("workspace/create", {"workspace_id": "ws_gone"}),
        ):
            assert (await refusal(second, method, params)).reason in {"not_found", "conflict"}
        den.forward(SECONDS_LATER)
        gone = None
        while gone is None:
            await drain(second)
            with contextlib.suppress(AssertionError):
                gone = await refusal(second, "workspace/get", {"workspace_id": "ws_gone"})
        assert gone.reason == "not_found"
        await drain(second)
        await second.request("workspace/create", {"workspace_id": "ws_gone"})
        for memory_id in kept:
            assert (await refusal(second, "memory/restore", {"memory_id": memory_id, "context": context})).reason == (
                "not_found"
            )
        assert await every(second, "thread/list", "threads", workspace_id="ws_gone") == []
    assert holding(den, word) == []


@journey
async def test_a_deleted_workspace_leaves_nothing_to_restore_and_no_byte(tmp_path):
    den, word = Den(tmp_path), needle()
    scope, context = {"kind": "workspace", "key": "ws_gone"}, {"workspace_id": "ws_gone"}
    async with den.client() as client:
        await client.request("workspace/create", {"workspace_id": "ws_gone"})
        await bring(client, "thr_a", "ws_gone", word, 5)
        kept = [await remember(client, f"Rule {n} of {word}.", scope=scope, context=context) for n in range(3)]
        await client.request("memory/forget", {"target": {"kind": "id", "memory_id": kept[0]}, "context": context})
        await drain(client)
        done = await client.request("workspace/delete", {"workspace_id": "ws_gone"})
        assert (done["removed"]["memories"], done["complete"]) == (2, True)
        assert holding(den, word) == []
        await client.request("workspace/create", {"workspace_id": "ws_gone"})
        for memory_id in kept:
            failed = await refusal(client, "memory/restore", {"memory_id": memory_id, "context": context})
            assert failed.reason == "not_found"


@journey
async def test_deleting_a_thread_or_a_file_leaves_no_byte_of_it(tmp_path):
    den, word, name = Den(tmp_path), needle(), needle()
    async with den.client() as client:
        await client.request("thread/start", {"thread_id": "thr_a", "name": word})
        await client.request("thread/start", {"thread_id": "thr_b"})
        data = base64.b64encode(b"a file").decode()
        said = [
            {"type": "text", "text": "Look at this."},
            {
                "type": "artifact",
                "name": f"{name}.txt",
                "mime": "text/plain",
                "data_base64": data,
                "artifact_id": "art_1",
            },
        ]
        await client.request("turn/prepare", {"thread_id": "thr_b", "turn_id": "trn_b", "input": said})
        await client.request("turn/finish", {"turn_id": "trn_b", "status": "succeeded", "assistant_text": "Yes."})
        await bring(client, "thr_a", "ws_here", word, 30)
        await drain(client)
        assert holding(den, word)
        assert holding(den, name)
        assert (await client.request("artifact/delete", {"artifact_id": "art_1"}))["complete"]
        assert holding(den, name) == []
        assert (await client.request("thread/delete", {"thread_id": "thr_a"}))["complete"]
        assert holding(den, word) == []


@journey
async def test_an_import_does_not_bring_back_what_was_deleted_since(tmp_path):
    den, word = Den(tmp_path), needle()
    async with den.client() as client:
        looked = await bring(client, "thr_a", "ws_here", word, 4, dry_run=True)
        await bring(client, "thr_a", "ws_here", word, 4, generation=looked["generation"])
        await client.request("thread/delete", {"thread_id": "thr_a"})
        source = {"kind": "chat", "id": "thr_a"}
        late = {"workspace_id": "ws_here", "thread_id": "thr_a", "source": source, "turns": turns(word, 4)}
        late |= {"mode": "append", "generation": looked["generation"]}
        assert (await refusal(client, "thread/import", late)).reason == "conflict"
        assert await every(client, "thread/list", "threads") == []
        assert (await bring(client, "thr_a", "ws_here", word, 4))["imported"] == 4
