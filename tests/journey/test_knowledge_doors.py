"""Answers about files at the doors of assistants and of the command line: they say what the method says."""

import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp_stage import McpDen, data_of, failure_of, text_of
from small_pdf import pdf
from spawned import drain, journey, on_linux, refusal
from test_knowledge import add, search, write

from gateway.wire.client import GatewayClient, console_script

UNWATCHED = "[gateway.knowledge]\nwatch_enabled = false\n"


class Turn:
    """A turn of a host, with the tools of files."""

    def __init__(self, client: GatewayClient, name: str) -> None:
        self._client, self._name, self._calls = client, name, 0

    async def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The answer of a tool."""
        self._calls += 1
        asked = {"turn_id": self._name, "call_id": f"c{self._calls}", "name": tool, "arguments": arguments}
        return (await self._client.request("turn/tool_call", asked))["result"]


@asynccontextmanager
async def turn_of(client: GatewayClient, name: str = "trn_1") -> AsyncIterator[Turn]:
    thread = (await client.request("thread/start", {}))["thread"]["thread_id"]
    said = [{"type": "text", "text": "Hello there."}]
    await client.request("turn/prepare", {"thread_id": thread, "turn_id": name, "input": said})
    turn = Turn(client, name)
    await turn.call("request_tools", {"domains": ["knowledge"], "reason": "to look"})
    yield turn


def run(den: McpDen, *words: str) -> subprocess.CompletedProcess[str]:
    """A command about files, in the workspace of the assistants."""
    place = ["--home", str(den.home), "--config", str(den.config), "--workspace", "ws_here"]
    command = [*console_script(), "knowledge", *words, *place]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@journey
async def test_a_name_of_several_is_refused_with_what_it_may_mean_at_every_door(tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", {"a/dup.md": "The walrus.\n", "b/dup.md": "A walrus.\n", "c.md": "An otter.\n"})
    den, wanted = McpDen(tmp_path / "den", config=UNWATCHED), ["notes:a/dup.md", "notes:b/dup.md"]
    asked = {"query": "walrus", "entity": "dup"}
    async with den.client() as client:
        await add(client, folder)
        refused = await refusal(client, "knowledge/search", asked)
        assert [one["entity"] for one in refused.data["details"]["candidates"]] == wanted
        async with turn_of(client) as turn:
            told = await turn.call("knowledge_search", asked)
            assert (told["error"]["code"], told["data"]) == ("invalid_params", {"candidates": wanted})
            found = await turn.call("knowledge_search", {**asked, "entity": wanted[0]})
            assert len(found["data"]["hits"]) == 1
    async with den.assistant("auto") as assistant:
        told = await failure_of(assistant, "knowledge_search", **asked)
        said, _, block = told.partition("\n\n")
        assert said == "invalid_params: Several have that name - at `$.entity`"
        assert block.startswith("<")  # names of files are data, and stand in the block
        assert all(one in block for one in wanted)
    for words in (["search", "walrus", "--entity", "dup"], ["edges", "dup"]):
        done = run(den, *words)
        assert done.returncode != 0
        assert f"entity: Several have that name: {', '.join(wanted)}" in done.stderr, words


@on_linux
@journey
async def test_so_many_candidates_are_named_as_fit(tmp_path: Path) -> None:
    long = "/".join(["x" * 200] * 5)
    folder = write(tmp_path / "notes", {f"{n}/{long}/dup.md": f"Walrus {n}.\n" for n in range(12)})
    den = McpDen(tmp_path / "den", config=UNWATCHED)
    async with den.client() as client:
        await add(client, folder)
        async with turn_of(client) as turn:
            told = await turn.call("knowledge_search", {"query": "walrus", "entity": "dup"})
            assert 1 < len(told["data"]["candidates"]) < 12


@journey
async def test_an_assistant_is_told_the_page_and_what_was_not_searched(tmp_path: Path) -> None:
    pytest.importorskip("pypdf")
    folder = write(tmp_path / "notes", {"a.md": "The otter swims.\n", "b.md": "The otter sleeps.\n"})
    (folder / "report.pdf").write_bytes(pdf(["The walrus of page one.", "The heron of page two."]))
    den = McpDen(tmp_path / "den", config=UNWATCHED)
    async with den.client() as client:
        await add(client, folder)
        unknown = (await search(client, "heron", source="collection:zz"))["diagnostics"]
        async with turn_of(client) as turn:
            told = (await turn.call("knowledge_search", {"query": "heron", "source": "collection:zz"}))["data"]
            assert (told["hits"], told["diagnostics"]) == ([], unknown)
            found = (await turn.call("knowledge_search", {"query": "heron"}))["data"]
            assert found["hits"][0]["locations"][0]["page"] == 2
            assert found["freshness"] == (await search(client, "heron"))["freshness"]
    command = run(den, "search", "heron")
    assert "page 2" in command.stdout
    async with den.assistant("auto") as assistant:
        found = await assistant.call_tool("knowledge_search", {"query": "heron", "source": "file"})
        assert found.structured_content["hits"][0]["locations"][0]["page"] == 2
        assert "page 2" in text_of(found)
        unknown = await assistant.call_tool("knowledge_search", {"query": "heron", "source": "collection:zz"})
        (reason,) = unknown.structured_content["diagnostics"]
        assert (reason["code"], reason["message"]) == ("no_match", "This workspace has no collection of that id.")
        assert text_of(unknown) == f"Nothing was found. {reason['message']}"
        unknown = await data_of(assistant, "knowledge_search", query="heron", entity="zz")
        assert unknown["diagnostics"][-1]["message"] == "No file, folder or collection has that name."

        write(folder, {"b.md": "Nothing.\n"})
        stale = await assistant.call_tool("knowledge_search", {"query": "otter", "source": "file"})
        counts = {one["code"]: one["data"] for one in stale.structured_content["diagnostics"]}
        assert counts["stale_dropped"] == {"count": 1}
        assert set(stale.structured_content["freshness"]) == {"state", "scanned_at", "pending_files"}
        assert "stale_dropped: 1" in text_of(stale)


@journey
async def test_every_door_says_in_the_same_words_that_files_are_off(tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", {"a.md": "The walrus sleeps.\n"})
    den = McpDen(tmp_path / "den", config=UNWATCHED)
    async with den.client() as client:
        await add(client, folder)
        await drain(client)
    den.config.write_text(den.config.read_text("utf-8").replace(UNWATCHED, f"{UNWATCHED}enabled = false\n"), "utf-8")
    async with den.client() as client:
        said = (await refusal(client, "knowledge/search", {"query": "walrus"})).message
    async with den.assistant("auto") as assistant:
        assert await failure_of(assistant, "knowledge_search", query="walrus") == f"knowledge_disabled: {said}"
    assert said in run(den, "search", "walrus").stderr
