"""One wish leaves one memory, whoever keeps it: a model by its tool, or the rules that read the turn afterwards."""

from pathlib import Path

import pytest
from spawned import Den, drain, journey

from gateway.wire.client import GatewayClient


async def wished(client: GatewayClient, said: str, kept: str, quote: str) -> list[str]:
    """The memories after a turn in which a model kept something by its tool."""
    await client.request("thread/start", {"thread_id": "thr"})
    asked = {"thread_id": "thr", "turn_id": "trn", "input": [{"type": "text", "text": said}]}
    await client.request("turn/prepare", asked)
    arguments = {"content": kept, "quote": quote}
    call = {"turn_id": "trn", "call_id": "c1", "name": "memory_remember", "arguments": arguments}
    answer = (await client.request("turn/tool_call", call))["result"]
    assert (answer["data"]["status"], answer["ok"]) == ("saved", True)
    await client.request("turn/finish", {"turn_id": "trn", "status": "succeeded", "assistant_text": "Noted."})
    await drain(client)
    return [one["content"] for one in (await client.request("memory/list", {}))["records"]]


@journey
@pytest.mark.parametrize(
    ("said", "kept", "quote"),
    [
        ("Remember that I like strong tea.", "The user likes strong tea.", "I like strong tea"),
        (
            "Please remember my sister Ana lives in Graz.",
            "The user's sister Ana lives in Graz.",
            "my sister Ana lives in Graz",
        ),
        ("Merk dir, dass ich in Graz wohne.", "Merk dir, dass ich in Graz wohne.", "ich in Graz wohne"),
        (
            "Remember that my favourite colour is teal.",
            "The user's favourite colour is teal.",
            "my favourite colour is teal",
        ),
        ("I'm vegan, remember that.", "The user is vegan.", "I'm vegan"),
    ],
)
async def test_what_a_tool_kept_is_not_kept_again_by_the_rules(
    tmp_path: Path, said: str, kept: str, quote: str
) -> None:
    async with Den(tmp_path).client() as client:
        assert await wished(client, said, kept, quote) == [kept]


@journey
async def test_what_a_tool_left_out_is_kept_by_the_rules(tmp_path: Path) -> None:
    said = "Remember that I like strong tea. Remember that I like green tea."
    async with Den(tmp_path).client() as client:
        found = await wished(client, said, "The user likes strong tea.", "I like strong tea")
        assert sorted(found) == ["I like green tea", "The user likes strong tea."]


@journey
async def test_what_a_tool_kept_of_one_value_gives_way_to_the_next(tmp_path: Path) -> None:
    said = "Remember that my favourite colour is teal."
    async with Den(tmp_path).client() as client:
        await wished(client, said, "The user's favourite colour is teal.", "my favourite colour is teal")
        asked = {
            "thread_id": "thr",
            "turn_id": "trn_2",
            "input": [{"type": "text", "text": "Remember that my favourite colour is red."}],
        }
        await client.request("turn/prepare", asked)
        await client.request("turn/finish", {"turn_id": "trn_2", "status": "succeeded", "assistant_text": "Noted."})
        await drain(client)
        found = (await client.request("memory/list", {}))["records"]
        assert [one["content"] for one in found] == ["My favourite colour is red"]
