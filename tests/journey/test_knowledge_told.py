"""Answers and notices about files: of a folder out of reach, of files that wait or are withheld, of changes."""

from collections import Counter
from pathlib import Path
from typing import Any

from mcp_stage import McpDen, data_of, failure_of
from served_notes import serve_notes
from spawned import Den, drain, every, hello, journey, refusal
from test_knowledge import add, search, write

from gateway.wire.client import GatewayClient

KINDS = ("added", "changed", "moved", "removed")


async def scan(client: GatewayClient, name: str) -> dict[str, Any]:
    """A collection after a scan."""
    await client.request("knowledge/collections/scan", {"collection_id": name})
    await drain(client)
    return (await client.request("knowledge/collections/get", {"collection_id": name}))["collection"]


@journey
async def test_a_folder_that_is_away_is_told_so_by_every_answer_about_its_files(tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", {"a.md": "The walrus sleeps.\n"})
    async with Den(tmp_path / "den", config="[gateway.knowledge]\nwatch_enabled = false\n").client() as client:
        name = await add(client, folder)
        address = (await search(client, "walrus"))["hits"][0]["address"]
        folder.rename(tmp_path / "away")
        for is_known in (False, True):
            if is_known:
                assert (await scan(client, name))["state"] == "unavailable"
            told = await client.request("knowledge/explain", {"collection_id": name, "path": "a.md"})
            assert (told["indexed"], told["state"], told["reason"]) == (True, "unavailable", "root_missing")
            told = await client.request("knowledge/explain", {"collection_id": name, "path": "none.md"})
            assert (told["indexed"], told["state"], told["reason"]) == (False, "unavailable", "root_missing")
            refused = await refusal(client, "knowledge/read", {"address": address})
            assert (refused.reason, refused.message) == ("unavailable", "The collection is unavailable: root_missing")
            assert refused.data["details"] == {"reason": "root_missing"}
        found = await search(client, "walrus")
        assert found["freshness"]["state"] == "stale"
        told = await client.request("knowledge/explain", {"query": "walrus"})
        assert (told["state"], told["reason"]) == ("unavailable", "root_missing")
        folder.mkdir()
        refused = await refusal(client, "knowledge/read", {"address": address})
        assert refused.data["details"] == {"reason": "root_empty"}
        folder.rmdir()
        (tmp_path / "away").rename(folder)
        assert (await scan(client, name))["state"] != "unavailable"
        assert (await client.request("knowledge/read", {"address": address}))["state"] == "same"
        told = await client.request("knowledge/explain", {"collection_id": name, "path": "a.md"})
        assert (told["indexed"], told["state"], told["reason"]) == (True, "indexed", None)


@journey
async def test_an_assistant_is_not_told_that_a_file_is_gone_whose_folder_is_away(tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", {"a.md": "The walrus sleeps.\n", "b.md": "The walrus wakes.\n"})
    den = McpDen(tmp_path / "den")
    async with den.client() as client:
        await add(client, folder)
    (folder / "b.md").unlink()
    async with den.assistant("auto") as assistant:
        assert (await data_of(assistant, "knowledge_read", address="notes:b.md"))["state"] == "gone"
        folder.rename(tmp_path / "away")
        told = await failure_of(assistant, "knowledge_read", address="notes:a.md")
        assert told.startswith("unavailable: The collection is unavailable: root_missing")


@journey
async def test_a_file_that_waits_after_a_failure_is_tried_again_on_request(tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", {"a.md": "The walrus sleeps.\n", "b.md": "The walrus wakes.\n"})
    den = Den(tmp_path / "den", config="[gateway.knowledge]\nwatch_enabled = false\n")
    async with serve_notes(folder, den) as notes:
        await notes.fail("b.md", "permission_denied")
        assert [one["state"] for one in await notes.files()] == ["indexed", "pending"]
        assert (await notes.call("knowledge/retry", collection_id="notes"))["requeued"] == 1
        await notes.drain()
        files = await notes.files()
        assert [(one["state"], one["attempt_count"], one["last_error"]) for one in files] == [("indexed", 0, None)] * 2
        assert (await notes.call("knowledge/retry", file_id=files[1]["file_id"]))["requeued"] == 0
        for deaths, state in ((0, "indexed"), (1, "pending")):  # a scan tries no file at which readers ended
            await notes.fail("b.md", "permission_denied", deaths=deaths)
            await notes.call("knowledge/collections/scan", collection_id="notes")
            await notes.drain()
            assert [one["state"] for one in await notes.files(prefix="b.md")] == [state]


@journey
async def test_a_file_that_is_back_is_read_before_a_scan_finds_it_again(tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", {"a.md": "The walrus sleeps.\n", "b.md": "The walrus wakes.\n"})
    den = Den(tmp_path / "den", config="[gateway.knowledge]\nwatch_enabled = false\n")
    async with serve_notes(folder, den) as notes:
        await notes.miss("a.md")
        read = await notes.call("knowledge/read", collection_id="notes", path="a.md")
        assert (read["text"], read["state"]) == ("The walrus sleeps.\n", "same")
        (folder / "a.md").unlink()
        read = await notes.call("knowledge/read", collection_id="notes", path="a.md")
        assert (read["text"], read["state"]) == ("", "gone")


@journey
async def test_a_notice_comes_when_the_log_has_its_changes(tmp_path: Path) -> None:
    texts = {f"{name}.md": f"The {name} sleeps.\n" for name in ("walrus", "heron", "pelican", "stoat")}
    folder, den = write(tmp_path / "notes", texts), Den(tmp_path / "den")
    async with den.client() as client:
        await add(client, folder)
        await client.wait_for("knowledge/changed", lambda told: told["added"] == len(texts))
        assert next(one["event"] for one in await every(client, "knowledge/changes", "events")) == "baseline"
    write(folder, {"new.md": "A cormorant.\n", "walrus.md": "The walrus wakes.\n"})
    (folder / "heron.md").rename(folder / "moved.md")
    (folder / "pelican.md").unlink()
    told: Counter[str] = Counter()
    async with den.client() as client:
        seen = 0
        while told.total() < len(KINDS):
            await client.wait_for("knowledge/changed", since=seen)
            log = Counter(one["event"] for one in await every(client, "knowledge/changes", "events"))
            news = client.received[seen:]
            seen += len(news)
            for method, params in news:
                if method == "knowledge/changed":
                    told.update({kind: params[kind] for kind in KINDS})
                    assert not any((told - log).values())
        await drain(client)
    assert told == Counter(KINDS)


@journey
async def test_every_process_tells_its_clients_what_any_of_them_found(tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", {"a.md": "The walrus sleeps.\n", "sub/b.md": "The walrus wakes.\n"})
    den = Den(tmp_path / "den", config="[gateway.knowledge]\nwatch_enabled = false\n")
    async with await den.spawn() as first, await den.spawn() as second:
        for client in (first, second):
            await hello(client)
        name = await add(first, folder)
        await second.wait_for("knowledge/changed", lambda told: told["added"] == 2)
        (folder / "a.md").rename(folder / "c.md")
        (folder / "sub/b.md").unlink()
        await scan(first, name)
        for client in (first, second):
            await client.wait_for("knowledge/changed", lambda told: told["moved"] == 1)
            await client.wait_for("knowledge/changed", lambda told: told["removed"] == 1)


@journey
async def test_a_path_has_a_version_of_what_moved_there(tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", {"a.md": "The walrus sleeps.\n"})

    async def versions(path: str) -> list[tuple[str, int]]:
        asked = {"collection_id": "notes", "path": path}
        return [(one["sha256"], one["bytes"]) for one in await every(client, "knowledge/versions", "versions", **asked)]

    async with Den(tmp_path / "den", config="[gateway.knowledge]\nwatch_enabled = false\n").client() as client:
        name = await add(client, folder)
        (first,) = await versions("a.md")
        (folder / "sub").mkdir()
        (folder / "a.md").rename(folder / "sub/b.md")
        await scan(client, name)
        assert await versions("sub/b.md") == [first]
        assert await versions("a.md") == [first]
        write(folder, {"sub/b.md": "The walrus wakes, and looks about.\n"})
        await scan(client, name)
        second, *rest = await versions("sub/b.md")
        assert (second[1], rest) == (35, [first])
        log = await every(client, "knowledge/changes", "events")
        assert [(one["event"], one["from_path"]) for one in log[:2]] == [("changed", None), ("moved", "a.md")]
        (folder / "sub/b.md").rename(folder / "a.md")
        await scan(client, name)
        (folder / "a.md").rename(folder / "sub/b.md")
        await scan(client, name)
        assert await versions("a.md") == [second, first]
        assert await versions("sub/b.md") == [second, first]
