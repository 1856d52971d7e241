"""One wish leaves one memory, whoever keeps it: a model by its tool, or the rules that read the turn afterwards."""

from pathlib import Path
from typing import Any

import pytest
from spawned import Den, drain, journey, remember, run_to_end

from gateway.wire.client import GatewayClient, console_script


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
async def test_what_is_kept_as_it_was_said_is_kept_without_the_request(tmp_path: Path) -> None:
    async with Den(tmp_path).client() as client:
        found = await wished(
            client, "Remember I'm left-handed.", "The user writes with the left hand.", "I'm left-handed"
        )
        assert found == ["I'm left-handed"]
        await client.request("memory/remember", {"content": "My blood type is 0 positive."})
        listed = (await client.request("memory/list", {"include_sensitive": True}))["records"]
        assert {one["content"]: one["sensitivity"] for one in listed} == {
            "I'm left-handed": "normal",
            "My blood type is 0 positive.": "regulated",
        }


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


# -- where a tool kept a wish in other words, or more than one fact of a sentence, several memories rest on it ------------

TWICE = ("Remember I play the violin on Sundays.", "The user plays violin on Sunday.", "I play the violin on Sundays")
THRICE = ("My name is Ana and I live in Porto, remember that.", "The user lives in Porto.", "I live in Porto")


async def kept(client: GatewayClient) -> dict[str, str]:
    """The ids of what is remembered, by its words."""
    return {one["content"]: one["memory_id"] for one in (await client.request("memory/list", {}))["records"]}


async def told_to_forget(client: GatewayClient, said: str, memory_id: str) -> dict[str, Any]:
    """The answer to a model's forgetting of one memory, in a turn of its user's."""
    await client.request(
        "turn/prepare", {"thread_id": "thr", "turn_id": "trn_f", "input": [{"type": "text", "text": said}]}
    )
    call = {"turn_id": "trn_f", "call_id": "c1", "name": "memory_forget", "arguments": {"memory_id": memory_id}}
    answer: dict[str, Any] = (await client.request("turn/tool_call", call))["result"]["data"]
    return answer


@journey
async def test_forget_that_takes_all_that_rests_on_the_sentence(tmp_path: Path) -> None:
    for wish, by_tool in ((TWICE, TWICE[1]), (THRICE, THRICE[0])):
        async with Den(tmp_path / str(len(wish[0]))).client() as client:
            assert len(await wished(client, *wish)) > 1
            found = await kept(client)
            await client.request("memory/remember", {"content": "The canoe lies behind the house."})
            answer = await told_to_forget(client, "Forget that memory.", found[by_tool])
            assert answer["status"] == "forgotten"
            assert {*answer["forgotten_memory_ids"]} == {*found.values()}
            assert [*await kept(client)] == ["The canoe lies behind the house."]


@journey
async def test_forget_that_alone_takes_the_memory_that_was_kept_last(tmp_path: Path) -> None:
    for said in ("Forget that.", "Please forget that", "Vergiss das."):
        async with Den(tmp_path / said[:6]).client() as client:
            await wished(client, *TWICE)
            found = await kept(client)
            answer = await told_to_forget(client, said, found[TWICE[1]])
            assert answer["status"] == "forgotten"
            assert {*answer["forgotten_memory_ids"]} == {*found.values()}  # all of the sentence, as "that memory" does


@pytest.mark.parametrize("way", ["shown", "recalled"])
@pytest.mark.parametrize("facts", [["The canoe is red."], ["The canoe is red.", "The canoe is long."]])
@journey
async def test_forget_that_alone_asks_where_several_memories_were_shown(
    tmp_path: Path, way: str, facts: list[str]
) -> None:
    async with Den(tmp_path).client() as client:
        ids = [await remember(client, fact) for fact in facts]
        await client.request("thread/start", {"thread_id": "thr"})
        asked = [{"type": "text", "text": "What do you know of my canoe?"}]
        prepared = await client.request("turn/prepare", {"thread_id": "thr", "turn_id": "trn_a", "input": asked})
        assert {*prepared["prompt_manifest"]["recall"]["memory_ids"]} == {*ids}
        if way == "shown":
            call = {"turn_id": "trn_a", "call_id": "c1", "name": "memory_search", "arguments": {"query": "canoe"}}
            hits = (await client.request("turn/tool_call", call))["result"]["data"]["hits"]
            assert {one["memory_id"] for one in hits} == {*ids}
        finish = {"turn_id": "trn_a", "status": "succeeded", "assistant_text": " ".join(facts)}
        await client.request("turn/finish", finish)
        await remember(client, "The kettle is blue.")
        answer = await told_to_forget(client, "Forget that.", ids[0])
        assert answer["status"] == ("forgotten" if len(facts) == 1 else "confirmation_needed")
        assert len(await kept(client)) == (1 if len(facts) == 1 else 3)


@pytest.mark.parametrize(
    "said", ["Never mind.", "Forget it.", "Don't forget that.", "Did you forget that?", "I forget that."]
)
@journey
async def test_what_is_no_wish_to_forget_forgets_nothing(tmp_path: Path, said: str) -> None:
    async with Den(tmp_path).client() as client:
        await wished(client, *TWICE)
        found = await kept(client)
        prepared = {"thread_id": "thr", "turn_id": "trn_f", "input": [{"type": "text", "text": said}]}
        await client.request("turn/prepare", prepared)
        wanted = {"domains": ["memory"], "reason": "to forget it"}
        call = {"turn_id": "trn_f", "call_id": "c0", "name": "request_tools", "arguments": wanted}
        await client.request("turn/tool_call", call)
        call |= {"call_id": "c1", "name": "memory_forget", "arguments": {"memory_id": found[TWICE[1]]}}
        answer = (await client.request("turn/tool_call", call))["result"]
        assert answer["data"]["status"] == "confirmation_needed"
        assert await kept(client) == found


@journey
async def test_a_forgetting_that_names_one_takes_what_it_names_and_tells_of_the_others(tmp_path: Path) -> None:
    async with Den(tmp_path).client() as client:
        await wished(client, *THRICE)
        found = await kept(client)
        name, home, whole = found["My name is Ana"], found["I live in Porto"], found[THRICE[0]]
        answer = await told_to_forget(client, "Please forget that I live in Porto.", home)
        assert (answer["forgotten_memory_ids"], answer["same_sentence"]) == ([home, whole], [name])
        assert [*await kept(client)] == ["My name is Ana"]


@journey
async def test_a_forgetting_by_id_takes_one_and_names_the_others(tmp_path: Path) -> None:
    async with Den(tmp_path).client() as client:
        await wished(client, *TWICE)
        found = await kept(client)
        by_tool, by_rules = found[TWICE[1]], found["I play the violin on Sundays"]
        target = {"target": {"kind": "id", "memory_id": by_tool}}
        for more in ({"dry_run": True}, {}):
            answer = await client.request("memory/forget", {**target, **more})
            assert (answer["forgotten_memory_ids"], answer["same_sentence"]) == ([by_tool], [by_rules])
        await client.request("memory/restore", {"memory_id": by_tool})
        erased = await client.request("memory/forget", {**target, "mode": "erase", "include_sources": True})
        assert erased["same_sentence"] == [by_rules]
        assert not erased["receipt"]["complete"]
        assert by_rules in {one["id"] for one in erased["receipt"]["remaining"]["places"]}
        last = {"target": {"kind": "id", "memory_id": by_rules}, "mode": "erase", "include_sources": True}
        erased = await client.request("memory/forget", last)
        assert (erased["same_sentence"], erased["receipt"]["complete"]) == ([], True)
        (item, *_) = (await client.request("turn/items", {"turn_id": "trn"}))["items"]
        assert "violin" not in item["text"]


def test_the_command_line_says_what_stays_of_a_sentence(tmp_path: Path) -> None:
    den = Den(tmp_path)

    @journey
    async def story() -> None:
        async with den.client() as client:
            await wished(client, *TWICE)
            ids.update(await kept(client))

    ids: dict[str, str] = {}
    story()
    ended = run_to_end(
        [*console_script(), "forget", ids[TWICE[1]], "--home", str(den.home), "--config", str(den.config)]
    )
    assert ended.returncode == 0
    assert f"pioneer forget {ids['I play the violin on Sundays']}" in ended.stderr.decode()
