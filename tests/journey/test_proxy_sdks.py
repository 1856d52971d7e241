"""Whole turns of the vendors' own SDKs and of programs through the chat proxy: streamed, with a call of a tool."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from proxy_stage import FakeModel, ProxyDen, Reply, ended, fake_model, fetch, kept, said
from spawned import clean_environment, journey, run_to_end
from test_proxy import BOAT, den_of, fill

SCHEMA = {"type": "object", "properties": {"of": {"type": "string"}}}
CALL = ("look_up", {"of": "boat"})


def openai_at(den: ProxyDen) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"http://127.0.0.1:{den.port}/t/{den.token}/v1", api_key="pioneer", max_retries=0)


def by_chat(den: ProxyDen, text: str) -> str:
    client = openai_at(den)
    messages: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}]
    tools: Any = [{"type": "function", "function": {"name": "look_up", "parameters": SCHEMA}}]

    def ask() -> tuple[str, list[Any]]:
        found, calls = "", list[Any]()
        for event in client.chat.completions.create(model="m", messages=messages, tools=tools, stream=True):
            for choice in event.choices:
                found += choice.delta.content or ""
                calls += choice.delta.tool_calls or []
        return found, calls

    found, calls = ask()
    wishes = [
        {"id": one.id, "type": "function", "function": {"name": one.function.name, "arguments": one.function.arguments}}
        for one in calls
    ]
    messages.append({"role": "assistant", "content": found or None, "tool_calls": wishes})
    messages.append({"role": "tool", "tool_call_id": calls[0].id, "content": "Marigold"})
    return ask()[0]


def by_responses(den: ProxyDen, text: str) -> str:
    client = openai_at(den)
    given: list[Any] = [{"role": "user", "content": text}]
    tools: Any = [{"type": "function", "name": "look_up", "parameters": SCHEMA}]

    def ask() -> tuple[str, list[Any]]:
        found, output = "", list[Any]()
        for event in client.responses.create(
            model="m", input=given, instructions="Be brief.", tools=tools, stream=True, store=False
        ):
            if event.type == "response.output_text.delta":
                found += event.delta
            elif event.type == "response.completed":
                output = [one.model_dump(exclude_none=True) for one in event.response.output]
        return found, output

    given += ask()[1]
    given.append({"type": "function_call_output", "call_id": "c1", "output": "Marigold"})
    return ask()[0]


def by_messages(den: ProxyDen, text: str) -> str:
    client = anthropic.Anthropic(
        base_url=f"http://127.0.0.1:{den.port}/t/{den.token}", api_key="sk-client", max_retries=0
    )
    messages: list[Any] = [{"role": "user", "content": text}]
    tools: Any = [{"name": "look_up", "input_schema": SCHEMA}]

    def ask() -> list[Any]:
        return list(
            client.messages.create(
                model="m", max_tokens=99, system="Be brief.", messages=messages, tools=tools, stream=True
            )
        )

    (block,) = [event.content_block for event in ask() if event.type == "content_block_start"]
    messages.append(
        {"role": "assistant", "content": [{"type": "tool_use", "id": block.id, "name": block.name, "input": CALL[1]}]}
    )
    messages.append(
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": block.id, "content": "Marigold"}]}
    )
    return "".join(event.delta.text for event in ask() if event.type == "content_block_delta")


@journey
async def test_proxy_statement_28_the_vendors_sdks_complete_a_turn_with_a_call_of_a_tool(tmp_path):
    ways = {"chat": by_chat, "responses": by_responses, "messages": by_messages}
    async with fake_model() as model:
        den = den_of(tmp_path, model)
        await fill(den, BOAT)
        async with den.proxy(), den.client("ws_default") as client:
            for number, (dialect, way) in enumerate(ways.items(), 1):
                model.replies.append(Reply(said(dialect, "", CALL)))
                answer = await asyncio.to_thread(way, den, f"What is my sailing boat called, by {dialect}?")
                assert answer == f"Answer {2 * number}."
            found = await kept(client, 3)
            assert found == [
                [f"What is my sailing boat called, by {dialect}?", f"Answer {2 * number}."]
                for number, dialect in enumerate(ways, 1)
            ]
        assert blocks_of(model) == [1] * 6


def blocks_of(model: FakeModel) -> list[int]:
    """How often the fact stands in each request."""
    return [one.body.count(b"boat is called Marigold") for one in model.seen]


PROGRAMS = Path(__file__).parents[1] / "samples" / "programs"
"""Requests of programs in the form in which a version of each sent them to a recording upstream, with words of our own.
"""
READ_BOAT = ("read_file", {"path": "boat.txt"})
RECORDED = {
    "claude_code": ("messages", ("Read", {"file_path": "boat.txt"})),
    "codex": ("responses", ("exec_command", {"cmd": "cat boat.txt"})),
    "langchain_openai": ("chat", READ_BOAT),
    "litellm_chat": ("chat", READ_BOAT),
    "litellm_messages": ("messages", READ_BOAT),
    "pydantic_ai_chat": ("chat", READ_BOAT),
    "pydantic_ai_messages": ("messages", READ_BOAT),
    "pydantic_ai_responses": ("responses", READ_BOAT),
}
"""Each recording's dialect, and the call that its model makes."""
PRINTED_FOR = {"claude_code": ["claude-code"], "codex": ["codex"], "aider": ["aider"]}
"""The client whose printed lines a program reads; libraries are given an address."""
LIBRARY = {"chat": ["openai"], "responses": ["openai"], "messages": list[str]()}


def printed_address(den: ProxyDen, program: str, dialect: str = "chat") -> str:
    """The path of the address in the lines that `pioneer proxy url` prints for a program."""
    client = PRINTED_FOR.get(program, LIBRARY[dialect])
    printed = run_to_end([*den.proxy_command("url", *client, "--port", str(den.port))], env=clean_environment()).stdout
    return re.findall(rb"http://127\.0\.0\.1:\d+(/[^\s\"]*)", printed)[0].decode()


@pytest.mark.parametrize("program", sorted(RECORDED))
@journey
async def test_proxy_statement_28_recorded_requests_complete_a_turn_with_a_call_of_a_tool(tmp_path, program):
    recorded = json.loads((PROGRAMS / f"{program}.json").read_text(encoding="utf-8"))
    dialect, call = RECORDED[program]
    async with fake_model() as model:
        den = den_of(tmp_path, model)
        await fill(den, BOAT)
        came = {}
        async with den.proxy(), den.client("ws_default") as client:
            base = printed_address(den, program, dialect)
            for one in recorded["requests"]:
                model.replies.append(Reply(said(dialect, one["is"], call if one["is"] == "call" else None)))
                body = json.dumps(one["body"]).encode()
                came[one["is"]] = await fetch(den.port, "POST", base + one["path"], body, one["headers"])
                if one["is"] == "title":
                    assert (model.seen[-1].body, came["title"].memory) == (body, "skipped")
                else:
                    assert model.seen[-1].body.count(b"boat is called Marigold") == 1
            assert [one.status for one in came.values()] == [200] * len(came)
            turn = came["answer"].headers["x-pioneer-turn"]
            assert came["call"].headers["x-pioneer-turn"] == turn
            assert (await ended(client, turn))["status"] == "completed"
            assert await kept(client, 1) == [["What is my sailing boat called? It stands in boat.txt.", "answer"]]
            assert (await client.request("gateway/drain", {"timeout_ms": 60_000}))["idle"]
        first, second = (one.json["input" if dialect == "responses" else "messages"] for one in model.seen[-2:])
        without_marks = [json.dumps(part).replace(', "cache_control": {"type": "ephemeral"}', "") for part in first]
        assert [json.dumps(part) for part in second[: len(first)]] == without_marks


@journey
async def test_proxy_statement_28_a_program_that_sets_rules_behind_the_users_words_and_names_no_program(tmp_path):
    """aider: its requests name the vendor's SDK, and only the newest message is followed by its rules."""
    recorded = json.loads((PROGRAMS / "aider.json").read_text(encoding="utf-8"))["requests"]
    async with fake_model() as model:
        den = den_of(tmp_path, model)
        await fill(den, BOAT)
        async with den.proxy(), den.client("ws_default") as client:
            base = printed_address(den, "aider")
            assert base.endswith("/a/aider/v1")
            came = {}
            for one in recorded:
                model.replies.append(Reply(said("chat", one["is"])))
                body = json.dumps(one["body"]).encode()
                came[one["is"]] = await fetch(den.port, "POST", base + one["path"], body, one["headers"])
            assert [one.memory for one in came.values()] == ["recalled", "recalled", "skipped"]
            asked = ["What is my sailing boat called?", "And how long is that boat?"]
            assert await kept(client, 2) == [[asked[0], "first", asked[1], "second"]]
            turn = await ended(client, came["second"].headers["x-pioneer-turn"])
            assert turn["prompt_manifest"]["policy"]["extraction"]["reason_code"] != "unknown_client"
        first, second = (one.json["messages"] for one in model.seen[:2])
        assert first[-1]["content"].startswith(second[len(first) - 1]["content"])
