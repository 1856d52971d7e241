"""Turns of a spawned gateway with a model behind a real socket, by the real SDKs, in both vendors' dialects."""

import asyncio
import json
import sys
import time
from contextlib import asynccontextmanager

import pytest
from fake_vendor import Said, recorded, refused, silent, vendor
from spawned import Den, clean_environment, drain, hello, journey, refusal, take_turn

KINDS = ("openai", "anthropic")
KEY = "key-of-this-journey-7be1"
CANARY = "canary-words-of-a-server"
TEXT = "Green tea, as always – 好 ☕."
ROLES = '\n[gateway.roles]\nmain = "vendor"\nextractor = "vendor"\n'
QUIET = '\n[gateway.roles]\nmain = "vendor"\n'


@asynccontextmanager
async def gateway(folder, fake, kind, roles=QUIET, **more):
    """A den whose model is the fake, and a process of it that was initialized."""
    den = Den(folder, config=fake.config(kind, api_key_env="PIONEER_VENDOR_KEY", **more) + roles)
    loud = {"OPENAI_LOG": "debug", "ANTHROPIC_LOG": "debug"}  # what the libraries would say must not be heard either
    surroundings = clean_environment(PIONEER_VENDOR_KEY=KEY, HTTP_PROXY="http://127.0.0.1:9", **loud)
    async with await den.spawn(env=surroundings) as client:
        await hello(client)
        await client.request("thread/start", {"thread_id": "thr"})
        yield den, client


def notices(client, turn_id):
    return [(method, told) for method, told in client.received if told.get("turn_id") == turn_id]


def streamed(client, turn_id):
    """What a host shows: pieces appended, taken back where it is told to."""
    shown = ""
    for method, told in notices(client, turn_id):
        shown = "" if method == "item/agent_message/reset" else shown
        shown += told["delta"] if method == "item/agent_message/delta" else ""
    return shown


def secrets_in(data):
    return [word for word in (KEY, CANARY) if word.encode() in data]


@pytest.mark.parametrize("kind", KINDS)
@journey
async def test_a_conversation_with_everything_that_happens_to_one(kind, tmp_path):
    body = {"error": {"type": "some_error", "message": f"{CANARY} {KEY}"}}
    answers = [
        # a turn with tools, and what is learnt from it
        recorded(f"{kind}_tools"),
        recorded(f"{kind}_text"),
        recorded(f"{kind}_json"),
        # one whose server is busy, breaks off, then answers; nothing is learnt
        refused(429, body, retry_after="0.2"),
        recorded(f"{kind}_text", pieces=4, then="cut"),
        recorded(f"{kind}_text"),
        Said(recorded(f"{kind}_error").pieces),
        recorded(f"{kind}_json"),
        # one whose key is not taken, and two tests
        refused(401, body),
        refused(401, body),
        recorded(f"{kind}_text"),
    ]
    async with vendor(*answers) as fake, gateway(tmp_path, fake, kind, ROLES) as (den, client):
        turn = await take_turn(client, "thr", "I drink green tea every morning. What else?", "trn_1")
        assert (turn["status"], turn["rounds"], turn["error"]) == ("completed", 2, None)
        assert turn["usage"] == {
            "input_tokens": {"openai": 712, "anthropic": 701}[kind],
            "output_tokens": 57,
            "cached_tokens": 0,
        }
        items = (await client.request("turn/items", {"turn_id": "trn_1"}))["items"]
        called = [item for item in items if item["kind"] == "tool_result"]
        assert [item["tool"]["is_error"] for item in called] == [False, False, True]
        assert items[-1]["text"] == TEXT
        deltas = [told["delta"] for m, told in notices(client, "trn_1") if m == "item/agent_message/delta"]
        assert "".join(deltas).endswith(TEXT)
        assert len(deltas) >= 4
        revealed = {tool.get("name") or tool["function"]["name"] for tool in fake.asked[1].body["tools"]}
        assert {"memory_search", "artifact_read"} <= revealed
        await drain(client)
        (kept,) = (await client.request("memory/search", {"query": "tea in the morning", "mode": "lexical"}))["hits"]
        assert kept["record"]["content"] == "The user drinks green tea every morning."
        budgets = {budget["name"]: budget for budget in turn["prompt_manifest"]["budgets"]}
        assert (budgets["history_turns"]["used"], budgets["history_turns"]["limit"]) == (0, 0)

        began = time.monotonic()
        turn = await take_turn(client, "thr", "And again?", "trn_2")
        assert time.monotonic() - began >= 0.15  # clocks differ
        assert (turn["status"], streamed(client, "trn_2")) == ("completed", TEXT)
        resets = [told for method, told in notices(client, "trn_2") if method == "item/agent_message/reset"]
        assert len(resets) == 1
        await drain(client)

        turn = await take_turn(client, "thr", "Once more?", "trn_3")
        assert (turn["error"]["reason"], turn["error"]["retryable"]) == ("provider_unauthorized", False)
        tested = await client.request("provider/test", {"name": "vendor"})
        assert (tested["ok"], tested["error"]) == (False, "auth")
        assert "key" in tested["hint"]
        (listed,) = (await client.request("provider/list", {}))["providers"]
        assert (listed["last_error"], listed["problem"], listed["has_key"], listed["roles"]) == (
            "auth",
            None,
            True,
            ["main", "extractor"],
        )
        assert (await client.request("provider/test", {"name": "vendor"}))["ok"] is True
        (listed,) = (await client.request("gateway/status", {}))["providers"]
        assert (listed["last_error"], listed["hint"]) == (None, None)
        assert (await refusal(client, "provider/test", {"name": "nobody"})).reason == "not_found"
        assert not fake.answers
    assert secrets_in(client.stderr) == []
    assert secrets_in(json.dumps(client.received).encode()) == []
    assert [name for name, data in den.files().items() if secrets_in(data)] == []
    assert all(asked.key in {KEY, f"Bearer {KEY}"} for asked in fake.asked)


@pytest.mark.parametrize("kind", KINDS)
@journey
async def test_a_cancelled_turn_ends_at_once_and_hangs_up(kind, tmp_path):
    """Also while the library is being imported, which blocks nobody."""
    took = []
    async with vendor() as fake, gateway(tmp_path, fake, kind) as (_, client):
        for number in range(4):
            said = silent() if number == 1 else recorded(f"{kind}_text", pieces=4, then="hang")
            fake.answers.append(said)
            fake.begun.clear()
            fake.left.clear()
            turn_id = f"trn_{number}"
            params = {"thread_id": "thr", "turn_id": turn_id, "input": [{"type": "text", "text": "Go on"}]}
            await client.request("turn/start", params)
            if number == 0:
                await client.request("ping", {})
            else:
                await fake.begun.wait()
            if number > 1:
                await client.wait_for(
                    "item/agent_message/delta", lambda told, turn_id=turn_id: told["turn_id"] == turn_id
                )
            began = time.monotonic()
            turn = (await client.request("turn/cancel", {"turn_id": turn_id}))["turn"]
            took.append(time.monotonic() - began)
            assert turn["status"] == "cancelled"
            if number == 0:
                fake.answers.clear()  # nobody was asked
            else:
                await fake.left.wait()
        assert min(took) < 0.1


@pytest.mark.parametrize("kind", KINDS)
@journey
async def test_a_server_that_says_nothing_fails_the_turn_and_not_the_gateway(kind, tmp_path):
    async with vendor(*[silent()] * 3) as fake, gateway(tmp_path, fake, kind, timeout_ms=300) as (_, client):
        turn = await take_turn(client, "thr", "Hello?", "trn_1")
        assert (turn["error"]["reason"], turn["error"]["retryable"]) == ("provider_timeout", True)
        assert "did not answer in time" in turn["error"]["message"]
        assert len(fake.asked) <= 3  # three, where the machine is not too busy to connect in time
        (listed,) = (await client.request("provider/list", {}))["providers"]
        assert listed["last_error"] == "timeout"


@pytest.mark.cold
@journey
async def test_the_library_comes_with_the_first_call_and_a_process_may_end_during_its_import(tmp_path):
    async with vendor() as fake:
        den = Den(tmp_path, config=fake.config("anthropic") + QUIET)
        client = await den.spawn()
        await hello(client)
        await client.request("thread/start", {"thread_id": "thr"})
        if sys.platform == "linux":
            with open(f"/proc/{client.pid}/maps", encoding="utf-8") as maps:  # noqa: ASYNC230, PTH123  # no file of a disk
                assert "pydantic" not in maps.read()
        params = {"thread_id": "thr", "turn_id": "trn", "input": [{"type": "text", "text": "Go on"}]}
        await client.request("turn/start", params)
        assert await client.close() == 0
        assert b"Traceback" not in client.stderr


@journey
async def test_a_long_answer_keeps_the_gateway_answering(tmp_path):
    """Many pieces from a server that is faster than we are: whoever asks meanwhile is not kept waiting."""
    piece = b'data: {"choices": [{"index": 0, "delta": {"content": "words and "}}]}\n\n'
    end = b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
    count = 10_000
    said = Said((*[piece * 100] * (count // 100), end))
    async with vendor(said) as fake, gateway(tmp_path, fake, "openai") as (_, client):
        params = {"thread_id": "thr", "turn_id": "trn_1", "input": [{"type": "text", "text": "Tell me everything"}]}
        await client.request("turn/start", params)
        await client.wait_for("item/agent_message/delta")
        waits = []
        ended = asyncio.ensure_future(client.wait_for("turn/completed"))
        while not ended.done():
            began = time.monotonic()
            await client.request("ping", {})
            waits.append(time.monotonic() - began)
        items = (await client.request("turn/items", {"turn_id": "trn_1"}))["items"]
        assert items[-1]["text"] == "words and " * count
        assert len(waits) > 50  # hundreds; nine where each full buffer is taken in one go


@journey
async def test_characters_cut_in_two_by_a_server_reach_the_host_whole(tmp_path):
    """Some servers in JavaScript send the halves of an emoji apart, and now and then only one of them."""

    def chunk(**delta):
        return b"data: %s\n\n" % json.dumps({"choices": [{"index": 0, "delta": delta}]}).encode()

    def call(name, arguments):
        return chunk(tool_calls=[{"index": 0, "id": "c1", "function": {"name": name, "arguments": arguments}}])

    end = b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
    deep = '{"a":' * 5000 + "1" + "}" * 5000
    answers = [
        Said((chunk(content="Hi "), chunk(content="\ud83d"), chunk(content="\ude00 there\ud83d"), end)),
        Said((call("mem\ud83d", "{}"), end)),
        recorded("openai_text"),
        Said((call("request_tools", deep), end)),
        recorded("openai_text"),
    ]
    async with vendor(*answers) as fake, gateway(tmp_path, fake, "openai") as (_, client):
        texts = ["Hi \U0001f600 there\N{REPLACEMENT CHARACTER}", TEXT, TEXT]
        for number, text in enumerate(texts):
            turn = await take_turn(client, "thr", "Hello?", f"trn_{number}")
            assert (turn["status"], streamed(client, f"trn_{number}")[-len(text) :]) == ("completed", text)
            items = (await client.request("turn/items", {"turn_id": f"trn_{number}"}))["items"]
            assert items[-1]["text"] == text
            told = [one for _, one in notices(client, f"trn_{number}") if "seq" in one]
            assert [one["seq"] for one in told] == list(range(1, len(told) + 1))
        assert not fake.answers
