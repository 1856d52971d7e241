"""A host that asks again is told what it was told before, but for what was forgotten meanwhile."""

import base64
import json
from typing import Any

from spawned import Den, drain, journey, remember

from gateway.wire.client import GatewayClient

FACT = "The user's favourite tea is kukicha."
SAID = "My locker at the pool is the one with the quokka sticker."
QUESTION = "What did I tell you about the locker with the sticker? And my favourite tea?"
FILE = {
    "type": "artifact",
    "artifact_id": "art",
    "name": "note.txt",
    "mime": "text/plain",
    "data_base64": base64.b64encode(b"The okapi sleeps at noon.").decode(),
}
SECRETS = ("kukicha", "quokka", "okapi")


async def prepared(client: GatewayClient) -> dict[str, Any]:
    """The turn that waits for its host, as it is told now."""
    asked = {"thread_id": "thr", "turn_id": "trn", "input": [{"type": "text", "text": QUESTION}, FILE]}
    return await client.request("turn/prepare", asked)


async def called(client: GatewayClient, call_id: str, name: str, **arguments: Any) -> dict[str, Any]:
    """What a tool answers in that turn."""
    call = {"turn_id": "trn", "call_id": call_id, "name": name, "arguments": arguments}
    return (await client.request("turn/tool_call", call))["result"]


async def told(client: GatewayClient) -> dict[str, list[str]]:
    """Which of the secrets each answer holds."""
    answers = {
        "prompt": (await prepared(client))["context_blocks"],
        "memory_list": await called(client, "c1", "memory_list"),
        "memory_search": await called(client, "c2", "memory_search", query="favourite tea"),
        "artifact_read": await called(client, "c3", "artifact_read", artifact_id="art"),
    }
    texts = {name: json.dumps(answer) for name, answer in answers.items()}
    return {name: [word for word in SECRETS if word in text] for name, text in texts.items()}


@journey
async def test_a_host_is_not_told_again_what_was_forgotten(tmp_path):
    async with Den(tmp_path).client() as client:
        memory_id = await remember(client, FACT)
        items = [{"item_id": "itm_said", "role": "user", "text": SAID}]
        await client.request(
            "thread/import",
            {
                "thread_id": "thr_old",
                "workspace_id": "ws_here",
                "source": {"kind": "notes", "id": "1"},
                "turns": [{"at": 1_760_000_000_000, "items": items}],
            },
        )
        await drain(client)
        await client.request("thread/start", {"thread_id": "thr"})
        first = await prepared(client)
        whole = {"prompt": ["kukicha", "quokka"], "memory_list": ["kukicha"], "memory_search": ["kukicha"]}
        whole["artifact_read"] = ["okapi"]
        assert await prepared(client) == first
        await called(client, "c0", "request_tools", domains=["artifact"], reason="to read it")
        assert await told(client) == whole

        forget = {"target": {"kind": "id", "memory_id": memory_id}}
        await client.request("memory/forget", forget)
        assert await told(client) == whole | {"prompt": ["quokka"], "memory_list": [], "memory_search": []}
        await client.request("memory/restore", {"memory_id": memory_id})
        assert await told(client) == whole

        await client.request("thread_episodic/exclude", {"item_id": "itm_said"})
        assert await told(client) == whole | {"prompt": ["kukicha"]}
        await client.request("thread_episodic/unexclude", {"item_id": "itm_said"})
        assert await told(client) == whole

        await client.request("memory/forget", forget | {"mode": "erase"})
        await client.request("thread/delete", {"thread_id": "thr_old"})
        await client.request("artifact/delete", {"artifact_id": "art"})
        assert await told(client) == {name: [] for name in whole}
