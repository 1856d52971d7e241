"""Damage that a person is told of: altered messages and evidence are quoted nowhere and named, and a command that meets
a damaged page says what to run."""

import json
from pathlib import Path
from typing import Any

from damages import QUERIES, SAID, change, fill, sql, zero_pages
from spawned import Den, drain, journey, refusal, run_to_end

from gateway.wire.client import GatewayClient, console_script

ALTERED = "The boiler in the cellar was sold to Zephyr."


def findings(den: Den) -> list[dict[str, Any]]:
    place = ["--home", str(den.home), "--config", str(den.config)]
    ended = run_to_end([*console_script(), "doctor", "--json", *place])
    return [one for one in json.loads(ended.stdout)["findings"] if one["level"] == "error"]


async def said_hits(client: GatewayClient, query: str) -> list[str]:
    told = await client.request("thread_episodic/search", {"workspace_id": "ws_here", "query": query})
    return [hit["text"] for hit in told["hits"]]


def test_an_altered_message_is_recalled_nowhere_and_named(tmp_path: Path) -> None:
    @journey
    async def story() -> None:
        den = Den(tmp_path / "den")
        await fill(den)
        assert findings(den) == []
        change(den, sql(f"UPDATE item SET text = '{ALTERED}' WHERE text = '{SAID[0]}'"))  # noqa: S608  # of ours
        (told,) = findings(den)
        assert told["check"] == "conversation"
        assert "turn_0/" in told["text"]
        assert ALTERED not in told["text"]
        async with den.client() as client:
            await drain(client)
            assert not {ALTERED, SAID[0]} & {
                *await said_hits(client, "boiler cellar"),
                *await said_hits(client, "Zephyr"),
            }
            assert SAID[1] in await said_hits(client, QUERIES[1])
            for turn_id, text, was_kept in (("turn_0", ALTERED, False), ("turn_1", SAID[1], True)):
                items = (await client.request("turn/items", {"turn_id": turn_id}))["items"]
                item_id = next(item["item_id"] for item in items if item["text"] == text)
                proposed = {
                    "content": text,
                    "semantic": {"intent": "implicit_candidate", "explicitness": "explicit", "certainty": "high"},
                    "evidence": [{"quote": text, "item_id": item_id}],
                    "context": {"workspace_id": "ws_here"},
                }
                decision = (await client.request("memory/write", proposed))["decision"]
                assert (decision["reason_code"] != "quote_not_found") == was_kept

    story()


def test_altered_evidence_is_not_shown_and_its_record_is_named(tmp_path: Path) -> None:
    @journey
    async def story() -> None:
        den = Den(tmp_path / "den")
        await fill(den)
        async with den.client() as client:
            records = (await client.request("memory/list", {}))["records"]
            shown = {one["memory_id"]: await evidence(client, one["memory_id"]) for one in records}
        assert all(shown.values())
        hit, *others = shown
        change(den, sql(f"UPDATE evidence SET at = at + 1, quote = '{ALTERED}' WHERE memory_id = '{hit}'"))  # noqa: S608
        (told,) = findings(den)
        assert (told["check"], told["text"].rpartition(": ")[2]) == ("memory", hit)
        async with den.client() as client:
            assert await evidence(client, hit) == []
            assert [await evidence(client, one) for one in others] == [shown[one] for one in others]

    story()


async def evidence(client: GatewayClient, memory_id: str) -> list[dict[str, Any]]:
    told = await client.request("memory/get", {"memory_id": memory_id, "include_evidence": True})
    found: list[dict[str, Any]] = told["evidence"]
    return found


def test_a_command_that_meets_a_damaged_page_says_what_to_run(tmp_path: Path) -> None:
    den = Den(tmp_path / "den")
    journey(lambda: fill(den))()
    change(den, zero_pages("record"))
    place = ["--home", str(den.home), "--config", str(den.config)]
    ended = run_to_end([*console_script(), "list", *place])
    assert ended.returncode != 0
    assert len(ended.stderr.splitlines()) == 1
    assert b"pioneer doctor --fix" in ended.stderr
    run_to_end([*console_script(), "doctor", "--fix", "--yes", *place])
    ended = run_to_end([*console_script(), "list", *place])
    assert (ended.returncode in {0, 1}, b"damaged" in ended.stderr) == (True, False), ended.stderr


def test_a_text_that_is_no_utf_8_is_a_failure_of_the_store_and_no_defect(tmp_path: Path) -> None:
    @journey
    async def story() -> None:
        den = Den(tmp_path / "den")
        await fill(den)
        change(den, sql("UPDATE thread SET name = CAST(x'ff41' AS TEXT)"))
        async with den.client() as client:
            failed = await refusal(client, "thread/list", {"workspace_id": "ws_here"})
            assert (failed.code, failed.reason) == (-32046, "unavailable")
            assert (await client.request("memory/list", {}))["records"]

    story()
