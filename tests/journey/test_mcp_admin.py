"""`pioneer mcp --admin`: the tools of upkeep, which are not there without the flag."""

from typing import Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError
from mcp_stage import REVISIONS, McpDen, data_of, failure_of, text_of
from spawned import every, journey, remember

from gateway.doors.mcp.admin import ADMIN_ANSWERS
from gateway.doors.mcp.answers import ANSWERS

both = pytest.mark.parametrize("revision", REVISIONS)
NOTE = {"content": "The relay clicks twice.", "agent_id": "agt_pilot", "agent_kind": "system", "importance": 0.05}


@journey
async def test_the_tools_of_upkeep_are_absent_without_the_flag(tmp_path: Any) -> None:
    den = McpDen(tmp_path)
    async with den.assistant("auto") as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == list(ANSWERS)
        for name in ADMIN_ANSWERS:
            with pytest.raises(MCPError):
                await client.call_tool(name, {})
    async with den.client() as other:
        assert await every(other, "passes/runs", "runs") == []


@both
@journey
async def test_the_tools_of_upkeep_answer_with_the_flag(tmp_path: Any, revision: str) -> None:
    den = McpDen(tmp_path, config="[gateway.memory]\ncap_knowledge = 10\n")
    async with den.client() as owner:
        for n in range(12):
            await owner.request("memory/note", NOTE | {"content": f"The relay {n} clicks {n} times."})
        old = await remember(owner, "The studio rent is due on the fifth.", key="rent", category="project_fact")
        new = await remember(owner, "The studio rent is due on the tenth.", key="rent", category="project_fact")
        elsewhere = {"workspace_id": "ws_other"}
        await owner.request("workspace/create", elsewhere)
        hidden = await remember(owner, "The gate is green.", category="project_fact", context=elsewhere)
        async with den.assistant(revision, "--admin") as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert list(tools) == [*ANSWERS, *ADMIN_ANSWERS]
            hints = {name: tools[name].annotations or types.ToolAnnotations() for name in ADMIN_ANSWERS}
            reads = [name for name, hint in hints.items() if hint.read_only_hint]
            assert reads == ["memory_passes", "memory_links"]
            rehearsed = (await data_of(client, "memory_consolidate"))["run"]
            assert (rehearsed["dry_run"], rehearsed["changes"]) == (True, 2)
            assert await every(owner, "memory/list", "records", statuses=["archived"]) == []
            done = (await data_of(client, "memory_consolidate", dry_run=False))["run"]
            assert (done["dry_run"], done["state"], done["changes"]) == (False, "completed", 2)
            assert len(await every(owner, "memory/list", "records", statuses=["archived"])) == 2
            passes = await data_of(client, "memory_passes")
            assert passes["passes"][0]["last_run"]["run_id"] == done["run_id"]
            links = await data_of(client, "memory_links", memory_id=new)
            assert links["links"] == [
                {"memory_id": old, "kind": "supersedes", "origin": "explicit", "direction": "out"}
            ]
            assert old in text_of(await client.call_tool("memory_links", {"memory_id": new}))
            assert (await failure_of(client, "memory_links", memory_id=hidden)).startswith("not_found")
            assert (await failure_of(client, "memory_links", memory_id=new, depth=3)).startswith("invalid_params")
            assert (await failure_of(client, "memory_consolidate", dry_run="no")).startswith("invalid_params")
            assert (await failure_of(client, "memory_passes", extra=1)).startswith("invalid_params")
