"""What was not done is told with its reason: a secret that is not kept, a fact that its user declined, a memory that is
not there, a query without a word."""

from pathlib import Path

import mcp_types as types
import pytest
from mcp_stage import REVISIONS, McpDen, data_of
from spawned import Den, drain, journey, run_to_end, take_turn

from gateway.wire.client import console_script

PASSWORD = "hunter2-Kestrel"  # noqa: S105  # of no account
SAID = f"Remember that my wifi password is {PASSWORD}."


def test_why_tells_that_a_secret_is_not_kept(tmp_path: Path) -> None:
    den = Den(tmp_path, scripted=True)
    place = ["--home", str(den.home), "--config", str(den.config), "--workspace", "ws_here"]

    @journey
    async def story() -> None:
        async with den.client() as client:
            await client.request("thread/start", {"thread_id": "thr_1", "workspace_id": "ws_here"})
            await take_turn(client, "thr_1", SAID, "trn_1")
            await take_turn(client, "thr_1", "Which cable leads to the wifi?", "trn_2")
            await drain(client)
            told = await client.request("memory/explain", {"query": SAID, "context": {"workspace_id": "ws_here"}})
            (gate,) = (one for one in told["gates"] if one["gate"] == "secret")
            assert (gate["passed"], gate["reason_code"]) == (False, "secret_detected")
            told = await client.request("memory/explain", {"query": "wifi", "context": {"workspace_id": "ws_here"}})
            assert [one for one in told["gates"] if one["gate"] == "secret"] == []

    story()
    for asked, lines in ((SAID, 2), ("wifi password", 1), ("cable", 0)):
        ended = run_to_end([*console_script(), "why", asked, *place])
        told = ended.stdout.decode()
        assert told.count("hold a secret") + told.count("not kept: it holds a secret") == lines, told
        assert PASSWORD not in told


@pytest.mark.parametrize("revision", REVISIONS)
@journey
async def test_a_fact_that_was_declined_has_its_reason(tmp_path: Path, revision: str) -> None:
    async def declines(_question: str) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"keep": False})

    async with McpDen(tmp_path).assistant(revision, ask=declines) as client:
        told = await data_of(client, "memory_remember", content="The user has a canoe.")
        assert (told["status"], told["reason_code"]) == ("rejected", "no_memory_requested")
        assert told["why"].startswith("pioneer why ")


@journey
async def test_a_memory_that_is_not_there_is_not_forgotten(tmp_path: Path) -> None:
    async with McpDen(tmp_path).assistant("auto") as client:
        told = await data_of(client, "memory_forget", memory_id="mem_nowhere")
        assert (told["status"], told["forgotten_memory_ids"]) == ("not_found", [])


@journey
async def test_a_query_without_a_word_says_one_thing_of_meaning(tmp_path: Path) -> None:
    async with Den(tmp_path).client() as client:
        for query in ("", " ", "?!", "the"):
            told = await client.request("memory/search", {"query": query})
            is_off = "semantic_off" in [one["code"] for one in told["diagnostics"]]
            assert is_off == (told["semantic"] == "off"), (query, told)
