"""Damage that a person is told of: altered messages and evidence are quoted nowhere and named, and a command that meets
a damaged page says what to run."""

import json
from pathlib import Path
from typing import Any

import apsw
import pytest
from damages import QUERIES, SAID, change, fill, sql, zero_pages
from sealed import sealed
from spawned import Den, drain, every, journey, remember, run_to_end

from gateway.wire.client import GatewayClient, console_script

ALTERED = "The boiler in the cellar was sold to Zephyr."


def findings(den: Den, *levels: str) -> list[dict[str, Any]]:
    place = ["--home", str(den.home), "--config", str(den.config)]
    ended = run_to_end([*console_script(), "doctor", "--json", *place])
    return [one for one in json.loads(ended.stdout)["findings"] if one["level"] in (levels or ("error",))]


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
                (item, *_) = (await client.request("turn/items", {"turn_id": turn_id}))["items"]
                assert (item["text"], item.get("altered", False)) == (text if was_kept else "[altered]", not was_kept)
                item_id = item["item_id"]
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


def test_a_conversation_that_holds_an_altered_message_says_so(tmp_path: Path) -> None:
    @journey
    async def story() -> None:
        den = Den(tmp_path / "den")
        await fill(den)
        async with den.client() as client:
            threads = {
                item["text"]: (item["thread_id"], item["item_id"])
                for number, _ in enumerate(SAID)
                for item in (await client.request("turn/items", {"turn_id": f"turn_{number}"}))["items"]
            }
        thread_id, item_id = threads[SAID[0]]
        change(den, sql(f"UPDATE item SET text = '{ALTERED}', tool = '{{' WHERE item_id = '{item_id}'"))  # noqa: S608
        async with den.client() as client:
            told = await every(client, "thread/history", "items", thread_id=thread_id)
            (hit,) = (one for one in told if one["item_id"] == item_id)
            assert (hit["text"], hit["altered"], hit["tool"]) == ("[altered]", True, None)
            assert ["altered" in one for one in told].count(True) == 1
            degraded = (await client.request("gateway/status"))["degraded"]
            assert ("conversation", "altered_messages") in {(one["component"], one["reason"]) for one in degraded}
            # what an erase takes out of it makes it no message that the gateway vouches for
            memory_id = await remember(client, "The boiler was sold to Zephyr.", value="Zephyr")
            target = {"kind": "id", "memory_id": memory_id}
            await client.request("memory/forget", {"target": target, "mode": "erase", "include_sources": True})
            (item, *_) = (await client.request("turn/items", {"turn_id": "turn_0"}))["items"]
            assert item["altered"]
        assert [told["check"] for told in findings(den)] == ["conversation"]
        connection = apsw.Connection(str(den.home / "gateway.db"))
        ((text,),) = connection.execute("SELECT text FROM item WHERE item_id = ?", (item_id,)).fetchall()
        connection.close()
        assert text == ALTERED.replace("Zephyr", "[forgotten]")

    story()


BAD = "CAST(x'ff41' AS TEXT)"


def test_a_text_that_is_no_utf_8_is_named_and_its_list_goes_on(tmp_path: Path) -> None:
    @journey
    async def story() -> None:
        den = Den(tmp_path / "den")
        await fill(den)
        async with den.client() as client:
            names = [one["thread_id"] for one in await every(client, "thread/list", "threads")]
            (hit, *_) = (await client.request("turn/items", {"turn_id": "turn_0"}))["items"]
        bad_name = f"UPDATE thread SET name = {BAD} WHERE thread_id = '{names[0]}'"  # noqa: S608
        bad_text = f"UPDATE item SET text = {BAD} WHERE item_id = '{hit['item_id']}'"  # noqa: S608
        change(den, sql(bad_name, bad_text))
        told = " ".join(one["text"] for one in findings(den))
        assert f"thread {names[0]}" in told
        assert f"turn {hit['turn_id']}" in told
        async with den.client() as client:
            listed = await every(client, "thread/list", "threads")
            assert [one["thread_id"] for one in listed] == names
            assert [one["name"] for one in listed if one["thread_id"] == names[0]] == ["\ufffdA"]
            (item, *_) = await every(client, "thread/history", "items", thread_id=hit["thread_id"], order="asc")
            assert item["altered"]
            await drain(client)
            lost = [one for one in (await client.request("gateway/status"))["degraded"] if one["reason"] == "rows_lost"]
            assert {one["key"].partition(":")[0] for one in lost} == {"thread", "item"}
            await client.request("thread/update", {"thread_id": names[0], "name": "Whole"})
        assert {one["check"] for one in findings(den)} == {"losses", "conversation"}

    story()


def test_a_home_that_may_only_be_read_lists_what_is_no_utf_8(tmp_path: Path) -> None:
    class SealedDen(Den):
        prefix: list[str]

        def command(self) -> list[str]:
            return [*self.prefix, *super().command()]

    @journey
    async def story() -> None:
        den = SealedDen(tmp_path / "den")
        den.prefix = []
        await fill(den)
        change(den, sql(f"UPDATE workspace SET name = {BAD} WHERE workspace_id = 'ws_here'"))  # noqa: S608
        with sealed(den.home) as den.prefix:
            async with den.client() as client:
                listed = await every(client, "workspace/list", "workspaces")
                assert [one["name"] for one in listed if one["workspace_id"] == "ws_here"] == ["\ufffdA"]
                told = await client.wait_for("gateway/degraded", lambda told: told["reason"] == "damaged_pages")
                assert told["component"] == "storage"

    story()


def test_messages_of_a_lost_turn_or_conversation_are_named(tmp_path: Path) -> None:
    def lost(den: Den) -> list[str]:
        texts = [one["text"] for one in findings(den, "warning") if "lost" in one["text"]]
        return [text.rpartition(": ")[2] for text in texts]

    @journey
    async def story() -> None:
        den = Den(tmp_path / "den")
        await fill(den)
        assert findings(den) == []
        change(den, sql("DELETE FROM turn WHERE turn_id = 'turn_0'"))
        assert lost(den) == ["turn turn_0"]
        change(den, sql("DELETE FROM thread"))
        of_threads, of_turn = lost(den)
        assert of_threads.startswith("thread ")
        assert of_turn == "turn turn_0"

    story()


LOSSES = {
    "a row": sql("DELETE FROM thread WHERE thread_id = 'thr_a'"),
    "the table": sql("DROP TABLE thread"),
    "its pages": zero_pages("thread"),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_a_lost_conversation_is_made_again_of_its_turns(tmp_path: Path, loss: str) -> None:
    async def shown(client: GatewayClient, thread_id: str) -> list[str]:
        items = await every(client, "thread/history", "items", thread_id=thread_id, order="asc")
        return [one["text"] for one in items]

    @journey
    async def story() -> None:
        den = Den(tmp_path / "den")
        async with den.client() as client:
            for thread_id, mode in (("thr_a", "normal"), ("thr_b", "ignored")):
                place = {"thread_id": thread_id, "name": "A talk", "memory_mode": mode}
                await client.request("thread/start", place)
                said = [{"type": "text", "text": f"The zebra crossing beside {thread_id} needs paint."}]
                await client.request(
                    "turn/prepare", {"thread_id": thread_id, "turn_id": f"{thread_id}_1", "input": said}
                )
                end = {"turn_id": f"{thread_id}_1", "status": "succeeded", "assistant_text": "I see."}
                await client.request("turn/finish", end)
            await drain(client)
            before = await shown(client, "thr_a")
        change(den, LOSSES[loss])
        if loss == "a row":  # a start looks for none; the other two are met by one
            (told,) = (one["text"] for one in findings(den, "warning"))
            assert told == "conversations are lost whose turns are there, and shown nowhere: thread thr_a"
            fixing = ["doctor", "--fix", "--yes", "--home", str(den.home), "--config", str(den.config)]
            assert b"1 conversations are made again" in run_to_end([*console_script(), *fixing]).stdout
        async with den.client() as client:
            await drain(client)
            assert await shown(client, "thr_a") == before
            thread = (await client.request("thread/get", {"thread_id": "thr_a"}))["thread"]
            assert (thread["workspace_id"], thread["name"], thread["turn_count"]) == ("ws_here", None, 1)
            assert thread["memory_mode"] == "read_only"  # nobody knows whether anything might be learnt in it
            found = await client.request(
                "thread_episodic/search", {"workspace_id": "ws_here", "query": "zebra crossing"}
            )
            assert [hit["turn_id"] for hit in found["hits"]] == ["thr_a_1"]
            said = [{"type": "text", "text": "Please remember that I like green tea."}]
            await client.request("turn/prepare", {"thread_id": "thr_a", "turn_id": "thr_a_2", "input": said})
            await client.request("turn/finish", {"turn_id": "thr_a_2", "status": "succeeded", "assistant_text": "So."})
            await drain(client)
            assert await every(client, "memory/list", "records") == []
        left = " ".join(one["text"] for one in findings(den, "warning"))
        assert "thread thr_a" not in left
        assert ("thread thr_b" in left) is (loss != "a row")  # nothing tells of its workspace: it is shown nowhere

    story()
