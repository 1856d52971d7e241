"""A home that may only be read: every door opens, questions are answered, turns go on, and not a byte of it changes."""

import json
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest
from guidance_stage import agent, put
from mcp_stage import McpDen
from sealed import sealed
from spawned import Den, clean_environment, drain, hello, journey, refusal, remember, take_turn

from gateway.wire.client import GatewayClient, console_script

FACT = "The lighthouse keeper is called Ada."
SAID = "Which ferry goes to the lighthouse on Tuesday?"
ANSWER = "The noon ferry."
PLACE = {"workspace_id": "ws_here"}


class SealedDen(McpDen):
    """A home that holds a memory and a conversation, and that processes may only read."""

    prefix: list[str]

    def command(self) -> list[str]:
        return [*self.prefix, *super().command()]

    def command_of(self, *more: str) -> list[str]:
        return [*self.prefix, *super().command_of(*more)]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """A command at its end."""
        return subprocess.run(
            [*self.prefix, *console_script(), *words, "--home", str(self.home)],
            check=False,
            capture_output=True,
            text=True,
            timeout=240,
            stdin=subprocess.DEVNULL,
            env=clean_environment(),
        )


async def fill(den: Den) -> str:
    async with den.client() as client:
        memory_id = await remember(client, FACT, key="keeper")
        await client.request("thread/start", {"thread_id": "thr_old", **PLACE})
        await take_turn(client, "thr_old", SAID, "turn_old")
        await drain(client)
    return memory_id


@pytest.fixture
def den(tmp_path: Path) -> SealedDen:
    made = SealedDen(tmp_path, scripted=True)
    made.write_script([{"role": "main", "respond": {"text": ANSWER}}])
    made.prefix = []
    return made


@asynccontextmanager
async def sealed_client(den: SealedDen) -> AsyncIterator[GatewayClient]:
    """A gateway on the sealed home; when it has ended the home is byte for byte as before."""
    before = den.files()
    with sealed(den.home) as prefix:
        den.prefix = prefix
        async with den.client() as client:
            yield client
        den.prefix = []
    assert den.files() == before


async def everything(client: GatewayClient) -> dict[str, Any]:
    """What questions are answered, of both houses."""
    found = await client.request("memory/search", {"query": "lighthouse keeper"})
    episodes = await client.request("thread_episodic/search", {**PLACE, "query": "ferry Tuesday"})
    asked = {
        "memory/list": {},
        "memory/export": {},
        "thread/list": PLACE,
        "thread/history": {"thread_id": "thr_old"},
        "turn/get": {"turn_id": "turn_old"},
        "workspace/list": {},
        "memory/stats": {},
        "thread_episodic/status": PLACE,
    }
    told = {method: await client.request(method, params) for method, params in asked.items()}
    told["memory/export"].pop("exported_at", None)
    return {
        "memory": [hit["record"]["content"] for hit in found["hits"]],
        "episodes": [hit["text"] for hit in episodes["hits"]],
        **{method: json.loads(json.dumps(answer)) for method, answer in told.items() if method != "memory/export"},
        "exported": FACT in json.dumps(told["memory/export"]),
    }


@journey
async def test_questions_are_answered_as_before_and_what_writes_is_refused(den):
    memory_id = await fill(den)
    async with den.client() as client:
        before = await everything(client)
    async with sealed_client(den) as client:
        status = await client.request("gateway/status")
        assert [(one["component"], one["reason"]) for one in status["degraded"]] == [("storage", "storage_read_only")]
        assert status["processes"] == 1
        assert await everything(client) == before
        assert (await client.request("memory/get", {"memory_id": memory_id}))["record"]["content"] == FACT
        writes = {
            "memory/remember": {"content": "The tea is Assam."},
            "memory/note": {"content": "The harbour office closes at four.", "agent_id": "agt_pilot"},
            "memory/update": {"memory_id": memory_id, "content": "The keeper is called Bo."},
            "memory/forget": {"target": {"kind": "id", "memory_id": memory_id}},
            "thread/delete": {"thread_id": "thr_old"},
            "thread/update": {"thread_id": "thr_old", "name": "Ferries"},
            "workspace/create": {"workspace_id": "ws_more"},
            "workspace/delete": PLACE,
            "thread_episodic/reindex": PLACE,
            "gateway/drain": {},
        }
        for method, params in writes.items():
            failed = await refusal(client, method, params)
            assert (failed.reason, failed.code, failed.data["retryable"]) == ("storage_read_only", -32046, False), (
                method,
                failed,
            )
        assert await everything(client) == before


@journey
async def test_turns_go_on_and_nothing_of_them_is_stored(den):
    await fill(den)
    async with sealed_client(den) as client:
        started = await client.request("thread/start", {"thread_id": "thr_new", **PLACE})
        assert started["thread"]["not_stored"] == "storage_read_only"
        for thread_id, turn_id in (("thr_new", "turn_1"), ("thr_old", "turn_2"), ("thr_new", "turn_3")):
            turn = await take_turn(client, thread_id, "How is the lighthouse keeper called?", turn_id)
            assert (turn["status"], turn["not_stored"]) == ("completed", "storage_read_only")
            policy = turn["prompt_manifest"]["policy"]
            assert policy["recall"]["allowed"]
            for name in ("remember", "forget", "extraction"):
                assert policy[name] == {"allowed": False, "reason_code": "storage_read_only"}
            assert turn["prompt_manifest"]["recall"]["memory_ids"]
        again = {"thread_id": "thr_new", "turn_id": "turn_1", "input": [{"type": "text", "text": "Else"}]}
        assert (await refusal(client, "turn/start", again)).reason == "conflict"
        assert (await client.request("thread/history", {"thread_id": "thr_new"}))["items"] == []
        assert [one["thread_id"] for one in (await client.request("thread/list", PLACE))["threads"]] == ["thr_old"]
        said = [params["item"]["text"] for name, params in client.received if name == "item/completed"]
        assert said.count(ANSWER) == 3
    async with den.client() as client:
        assert (await refusal(client, "turn/get", {"turn_id": "turn_2"})).reason == "not_found"
        assert (await refusal(client, "thread/get", {"thread_id": "thr_new"})).reason == "not_found"


@journey
async def test_a_helper_that_is_not_stored_is_a_helper(den):
    await fill(den)
    put(den.home / "agents", agent("keeper", soul="SOUL", memory="SEED"))
    async with sealed_client(den) as client:
        asked = {"slug": "keeper", "parts": ["soul", "memory"]}
        helper = {"thread_id": "thr_helper", "parent_thread_id": "thr_old"}
        assert (await client.request("thread/start", helper))["thread"]["not_stored"] == "storage_read_only"
        failed = await refusal(client, "agents/get", {**asked, "context": {"thread_id": "thr_helper", **PLACE}})
        assert failed.reason == "forbidden"
        own = await client.request("agents/get", {**asked, "context": {"thread_id": "thr_old", **PLACE}})
        assert own["texts"] == {"soul": "SOUL", "memory": "SEED"}


@journey
async def test_a_host_drives_a_turn_that_is_not_stored(den):
    await fill(den)
    async with sealed_client(den) as client:
        params = {
            "thread_id": "thr_old",
            "turn_id": "turn_host",
            "input": [{"type": "text", "text": "How is the lighthouse keeper called?"}],
        }
        prepared = await client.request("turn/prepare", params)
        assert FACT in json.dumps([prepared["context_blocks"], prepared["prompt_sections"]])
        assert (await client.request("turn/prepare", params))["context_blocks"] == prepared["context_blocks"]
        other = {**params, "turn_id": "turn_beside"}
        assert (await refusal(client, "turn/prepare", other)).reason == "turn_in_progress"
        reveal = {
            "turn_id": "turn_host",
            "call_id": "call_0",
            "name": "request_tools",
            "arguments": {"domains": ["memory"], "reason": "x"},
        }
        await client.request("turn/tool_call", reveal)
        call = {
            "turn_id": "turn_host",
            "call_id": "call_1",
            "name": "memory_search",
            "arguments": {"query": "lighthouse keeper"},
        }
        assert FACT in json.dumps((await client.request("turn/tool_call", call))["result"])
        ended = {"turn_id": "turn_host", "status": "succeeded", "assistant_text": ANSWER}
        first = (await client.request("turn/finish", ended))["turn"]
        assert (first["status"], first["not_stored"]) == ("completed", "storage_read_only")
        assert (await client.request("turn/finish", ended))["turn"] == first
        assert await client.wait_for("turn/post_completed", lambda told: told["turn_id"] == "turn_host")


@journey
async def test_what_a_killed_process_left_in_its_log_is_read(den):
    await fill(den)
    async with await den.spawn() as client:
        await hello(client)
        await remember(client, "The harbour master is called Bo.")
        client.kill()
    assert (den.home / "gateway.db-wal").stat().st_size
    async with sealed_client(den) as client:
        hits = (await client.request("memory/search", {"query": "harbour master"}))["hits"]
        assert [hit["record"]["content"] for hit in hits] == ["The harbour master is called Bo."]
        turn = await take_turn(client, "thr_old", "Who is the harbour master?", "turn_1")
        assert turn["status"] == "completed"
    (den.home / "gateway.db-shm").unlink()
    with sealed(den.home) as prefix:
        den.prefix = prefix
        told = den.run("search", "harbour")
    assert told.returncode == 73
    assert "log" in told.stderr


@journey
async def test_who_only_reads_sees_what_another_process_writes(den):
    await fill(den)
    with sealed(den.home) as prefix:
        if not prefix:
            pytest.skip("permissions would stop the process that writes as well")
        writer = Den(den.folder)
        den.prefix = prefix
        async with den.client() as early:
            assert (await early.request("memory/search", {"query": "harbour master"}))["hits"] == []
            async with writer.client() as client:
                await remember(client, "The harbour master is called Bo.")
                async with den.client() as late:
                    for reader in (early, late):
                        hits = (await reader.request("memory/search", {"query": "harbour master"}))["hits"]
                        assert [hit["record"]["content"] for hit in hits] == ["The harbour master is called Bo."]


@journey
async def test_the_command_line_reads_and_says_what_it_cannot_do(den):
    memory_id = await fill(den)
    before = den.files()
    bundle = den.folder / "bundle.json"
    with sealed(den.home) as prefix:
        den.prefix = prefix
        for words, shown in (
            (("search", "lighthouse keeper", "--workspace", "ws_here"), FACT),
            (("list",), FACT),
            (("show", memory_id), FACT),
            (("why", memory_id), "nothing speaks against it"),
            (("threads", "thr_old"), SAID),
            (("status",), "storage: storage read only"),
            (("export", str(bundle)), ""),
        ):
            told = den.run(*words)
            assert (told.returncode, shown in told.stdout) == (0, True), (words, told)
        for words in (
            ("remember", "The tea is Assam."),
            ("forget", memory_id, "--yes"),
            ("threads", "thr_old", "--rename", "x"),
        ):
            told = den.run(*words)
            assert (told.returncode, "cannot be written" in told.stderr) == (73, True), (words, told)
    assert FACT in bundle.read_text(encoding="utf-8")
    assert den.files() == before


@journey
async def test_an_assistant_reads_over_mcp(den):
    await fill(den)
    before = den.files()
    with sealed(den.home) as prefix:
        den.prefix = prefix
        for workspace in ("ws_here", "ws_never_seen"):
            async with den.assistant("auto", workspace=workspace) as assistant:
                found = await assistant.call_tool("memory_search", {"query": "lighthouse keeper"})
                assert FACT in str(found.content)
                kept = await assistant.call_tool("memory_remember", {"content": "The tea is Assam."})
                assert "cannot be written" in str(kept.content), kept
    assert den.files() == before


@journey
async def test_a_home_of_another_version_is_not_read_by_guess(den):
    await fill(den)
    connection = apsw.Connection(str(den.home / "gateway.db"))
    connection.execute("PRAGMA user_version = 99").fetchall()
    connection.close(True)
    before = den.files()
    with sealed(den.home) as prefix:
        den.prefix = prefix
        told = den.run("list")
    assert (told.returncode, "newer version" in told.stderr) == (69, True), told
    assert den.files() == before
