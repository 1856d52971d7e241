"""What was said before, in turns and searches: pointed to, plainly asked for, by a time, by a tool; over a spawned
gateway."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from spawned import Den, drain, journey, remember

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "tests" / "corpora" / "lookback"
MODEL = Path(os.environ.get("PIONEER_TEST_MODEL", ROOT.parent / "shared" / "models" / "all-MiniLM-L6-v2"))
AT_LEAST = 8
OTHERS = {"words": 1000, "model": 150}
"""Other messages of the home; `python -m benchmarks lookback --sets tests/corpora/lookback` asks beside 5,000."""
THINGS = ("the fence", "a ladder", "two crates", "the lamp", "some paint", "her bike", "the shelf")


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CORPUS / name).read_text(encoding="utf-8").splitlines()]


def yesterday() -> datetime:
    return datetime.now(UTC).replace(hour=9, minute=0) - timedelta(days=1)


async def tell(client: Any, others: int) -> None:
    """The corpus as said yesterday, and other talk of the weeks before."""
    threads: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows("messages.jsonl"):
        threads.setdefault((row["thread"], row["thread_name"]), []).append(row)
    for (thread, name), said in threads.items():
        turns = [
            {
                "at": int((yesterday() + timedelta(minutes=n)).timestamp() * 1000),
                "items": [{"role": one["role"], "text": one["text"], "item_id": one["id"]}],
            }
            for n, one in enumerate(said)
        ]
        source = {"kind": "corpus", "id": thread}
        await client.request(
            "thread/import", {"workspace_id": "ws_here", "name": name, "source": source, "turns": turns}
        )
    talk = [
        {
            "at": int((yesterday() - timedelta(hours=n + 30)).timestamp() * 1000),
            "items": [
                {
                    "role": ("user", "assistant")[n % 2],
                    "text": f"Number {n}: we moved {THINGS[n % 7]} to place {n % 31}.",
                }
            ],
        }
        for n in range(others)
    ]
    if talk:
        source = {"kind": "corpus", "id": "others"}
        await client.request("thread/import", {"workspace_id": "ws_here", "source": source, "turns": talk})
    await drain(client)


async def shown_for(client: Any, text: str) -> tuple[list[str], str]:
    """The messages that a turn of a new thread is shown, and its block."""
    thread_id = (await client.request("thread/start", {"workspace_id": "ws_here"}))["thread"]["thread_id"]
    prepared = await client.request("turn/prepare", {"thread_id": thread_id, "input": [{"type": "text", "text": text}]})
    await client.request("turn/cancel", {"turn_id": prepared["turn"]["turn_id"]})
    await client.request("thread/delete", {"thread_id": thread_id})
    blocks = [block for block in prepared["context_blocks"] if block["domain"] == "thread"]
    refs = [ref["id"].split("/")[1] for block in blocks for ref in block["source_refs"] if ref["kind"] == "chunk"]
    return refs, "".join(block["text"] for block in blocks)


@journey
@pytest.mark.parametrize("mode", ["words", "model"])
async def test_sentences_that_point_to_the_past_find_it(tmp_path: Path, mode: str) -> None:
    if mode == "model" and not MODEL.is_dir():
        pytest.skip("the model is not there")
    async with Den(tmp_path, model=MODEL if mode == "model" else None).client() as client:
        await tell(client, OTHERS[mode])
        missed = [
            row["text"]
            for row in rows("sentences.jsonl")
            if not {*row["wanted"]} & {*(await shown_for(client, row["text"]))[0]}
        ]
    assert len(rows("sentences.jsonl")) - len(missed) >= AT_LEAST, missed


@journey
async def test_a_plain_question_is_shown_its_answer_once(tmp_path: Path) -> None:
    async with Den(tmp_path).client() as client:
        await tell(client, 0)
        question = "How many requests a minute for each key?"
        items, block = await shown_for(client, question)
        assert "api_1" in items
        assert "60 requests a minute" in block
        for stray in ("Who painted The Night Watch?", "Write a haiku about rain.", "How tall is the Eiffel Tower?"):
            assert (await shown_for(client, stray))[0] == []
        await remember(client, "Fine, we keep to these API constraints then.")
        items, _ = await shown_for(client, "Do we keep to the API constraints?")
        assert "api_2" not in items


@journey
async def test_a_search_reads_the_time_from_its_query(tmp_path: Path) -> None:
    async with Den(tmp_path).client() as client:
        await tell(client, 60)
        asked = {"workspace_id": "ws_here", "query": "what did we move yesterday", "min_score": 0.0}
        found = await client.request("thread_episodic/search", asked)
        day = yesterday().date()
        read = found["understood"]
        begin, end = (datetime.fromtimestamp(read[name] / 1000).astimezone() for name in ("from_at", "to_at"))
        assert (read["text"], begin.date(), end.date()) == ("yesterday", day, day)
        only = await client.request("thread_episodic/search", asked | {"query": "yesterday", "limit": 50})
        assert {hit["thread_id"] for hit in only["hits"]}
        assert all(read["from_at"] <= hit["at"] <= read["to_at"] for hit in only["hits"])
        given = asked | {"from_at": 0, "to_at": read["from_at"] - 1}
        explicit = await client.request("thread_episodic/search", given)
        assert explicit["understood"] is None
        assert explicit["hits"]
        assert all(hit["at"] < read["from_at"] for hit in explicit["hits"])
        assert (await client.request("thread_episodic/search", asked | {"query": "the fence"}))["understood"] is None


@journey
async def test_what_a_tool_did_is_found_and_stands_in_no_transcript(tmp_path: Path) -> None:
    async with Den(tmp_path).client() as client:
        thread_id = (await client.request("thread/start", {"workspace_id": "ws_here"}))["thread"]["thread_id"]
        prepared = await client.request(
            "turn/prepare", {"thread_id": thread_id, "input": [{"type": "text", "text": "Run the checks, please."}]}
        )
        turn_id = prepared["turn"]["turn_id"]
        events = [
            {
                "name": "run_tests",
                "summary": "3 of 214 tests failed, all in test_gearbox: the clutch ratio is off by one.",
            },
            {"name": "format", "summary": "done"},
            {"name": "memory_search", "summary": "The gearbox fact: the user drives an old automobile."},
            {"name": "deploy"},
        ]
        finish = {"turn_id": turn_id, "status": "succeeded", "assistant_text": "Some failed.", "tool_events": events}
        await client.request("turn/finish", finish)
        await drain(client)
        search = {"workspace_id": "ws_here", "query": "clutch ratio gearbox", "min_score": 0.0}
        hits = (await client.request("thread_episodic/search", search))["hits"]
        assert [(hit["role"], hit["text"]) for hit in hits] == [
            ("tool", "run_tests: 3 of 214 tests failed, all in test_gearbox: the clutch ratio is off by one.")
        ]
        assert (await client.request("thread_episodic/search", search | {"roles": ["user"]}))["hits"] == []
        items = (await client.request("turn/items", {"turn_id": turn_id}))["items"]
        assert [item["role"] for item in items] == ["user", "assistant"]
        await client.request("thread/update", {"thread_id": thread_id, "memory_mode": "ignored"})
        assert (await client.request("thread_episodic/search", search))["hits"] == []
        await client.request("thread/update", {"thread_id": thread_id, "memory_mode": "normal"})
        await drain(client)
        assert len((await client.request("thread_episodic/search", search))["hits"]) == 1
        await client.request("thread/delete", {"thread_id": thread_id})
        assert (await client.request("thread_episodic/search", search))["hits"] == []
