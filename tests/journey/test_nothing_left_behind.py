"""An erase with its sources against what says the same elsewhere: files of the user, earlier versions, other scopes,
and turns and extractions that are under way."""

from pathlib import Path
from typing import Any

from spawned import Den, drain, every, journey, remember
from test_knowledge import add, write

from gateway.wire.client import GatewayClient

WITH_SOURCES = {"mode": "erase", "include_sources": True}


async def erase(client: GatewayClient, memory_id: str, **more: Any) -> dict[str, Any]:
    """The answer to an erase with sources of one memory."""
    target = {"kind": "id", "memory_id": memory_id}
    return await client.request("memory/forget", {"target": target, **WITH_SOURCES, **more})


# -- files of the user -----------------------------------------------------------------------------------------------


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
