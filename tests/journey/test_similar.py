"""Memories that look alike, over the wire and by the command line: both are kept and shown, linked, and merged by a
person alone."""

import asyncio
import json
from pathlib import Path

import pytest
from command_line import Ended, run
from spawned import Den, ask_with_meaning, drain, journey, remember
from tiny_model import make_tiny_model

NEAR = Path(__file__).parents[1] / "corpora" / "identity" / "pairs_near.jsonl"
PAIRS = 40
MOVED, AGAIN = "In winter I ride the bus to work.", "I ride the bus to work in winter!"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    make_tiny_model(folder, seed=1)
    return folder


@journey
async def test_no_fact_is_hidden_by_its_twin_that_differs_in_a_word(tmp_path: Path) -> None:
    den = Den(tmp_path)
    pairs = [json.loads(line) for line in NEAR.read_text("utf-8").splitlines()][:PAIRS]
    both, hidden = 0, list[dict[str, str]]()
    async with den.client() as client:
        for number, pair in enumerate(pairs):
            scope = {"kind": "workspace", "key": f"ws_{number}"}
            await client.request("workspace/create", {"workspace_id": scope["key"]})
            context = {"workspace_id": scope["key"]}
            for side in ("a", "b"):
                await client.request("memory/remember", {"content": pair[side], "scope": scope, "context": context})
            opened = await client.request("thread/start", context)
            common = " ".join(word for word in pair["a"].split() if word in pair["b"].split())
            asked = {"thread_id": opened["thread"]["thread_id"], "input": [{"type": "text", "text": common}]}
            turn = await client.request("turn/prepare", asked)
            text = "\n".join(block["text"] for block in turn["context_blocks"])
            hidden += [pair] if (pair["a"] in text) != (pair["b"] in text) else []
            both += pair["a"] in text and pair["b"] in text
    assert hidden == []
    assert both >= 0.9 * PAIRS


@journey
async def test_what_is_near_in_meaning_is_linked_merged_and_parted_again(tmp_path: Path, model: Path) -> None:
    den = Den(tmp_path, model=model)

    async def command(*arguments: str) -> Ended:
        return await asyncio.to_thread(run, *arguments, "--home", str(den.home), "--config", str(den.config))

    async with den.client() as client:
        await ask_with_meaning(client, "memory/search", {"query": "tea"})  # loads the model
        first = await remember(client, "I prefer tea over coffee at breakfast.")
        again = await remember(client, "I prefer some tea over coffee at breakfast.")
        await remember(client, "I prefer tea over coffee at 9 for breakfast.")
        await remember(client, "I never prefer tea over coffee at breakfast.")
        await drain(client)
        page = await client.request("memory/similar")
        assert [(pair["record"]["memory_id"], pair["other"]["memory_id"]) for pair in page["pairs"]] == [(again, first)]
        assert page["pairs"][0]["cosine"] is not None
        told = await client.request("memory/get", {"memory_id": first})
        assert told["similar_to"] == [{"memory_id": again}]
        listed = await command("similar", "--json")
        assert [pair["other"]["memory_id"] for pair in listed.json["pairs"]] == [first]
        assert again in (await command("show", first)).err

        assert (await command("merge", again, first)).code == 0
        await client.wait_for("memory/invalidated")
        assert (await client.request("memory/similar"))["pairs"] == []
        assert (await client.request("memory/get", {"memory_id": again}))["record"]["superseded_by"] == first
        assert (await command("merge", again, first)).code != 0
        assert (await command("restore", again)).code == 0
        assert len((await client.request("memory/similar"))["pairs"]) == 1


@journey
async def test_the_same_words_are_shown_as_one(tmp_path: Path) -> None:
    den = Den(tmp_path)
    async with den.client() as client:
        for words in (MOVED, AGAIN):
            await remember(client, words)
        opened = await client.request("thread/start", {})
        text = "Which bus do I ride to work in winter?"
        asked = {"thread_id": opened["thread"]["thread_id"], "input": [{"type": "text", "text": text}]}
        turn = await client.request("turn/prepare", asked)
        assert len(turn["prompt_manifest"]["recall"]["memory_ids"]) == 1
