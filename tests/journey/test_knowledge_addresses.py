"""Old addresses of files, from outside: after a rename, after a deletion, and those of places that are not there."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from spawned import Den, drain, every, journey, refusal
from test_knowledge import add, paths, search, write
from test_knowledge_meaning import meant
from tiny_model import make_tiny_model

from gateway.wire.client import GatewayClient, console_script

pytestmark = pytest.mark.followed


async def rescan(client: GatewayClient, name: str) -> None:
    await client.request("knowledge/collections/scan", {"collection_id": name})
    await drain(client)


async def address_of(client: GatewayClient, query: str) -> str:
    return (await search(client, query))["hits"][0]["address"]


async def read(client: GatewayClient, **place: Any) -> dict[str, Any]:
    return await client.request("knowledge/read", place)


@journey
async def test_knowledge_statement_05_old_addresses_lead_to_where_their_files_are_now(tmp_path: Path) -> None:
    files = {
        "old/one.md": "# One\n\nThe walrus sleeps.\n",
        "old/two.md": "# Two\n\nThe heron wakes.\n",
        "alone.md": "# Alone\n\nThe pelican flies.\n",
    }
    folder = write(tmp_path / "notes", files)
    async with Den(tmp_path / "den", config="[gateway.knowledge]\nwatch_enabled = false\n").client() as client:
        name = await add(client, folder)
        walrus, pelican = await address_of(client, "walrus"), await address_of(client, "pelican")
        (folder / "old").rename(folder / "mid")
        (folder / "alone.md").rename(folder / "solo.md")
        await rescan(client, name)
        (folder / "mid").rename(folder / "new")
        await rescan(client, name)

        found = await read(client, address=walrus)
        assert (found["path"], found["state"], found["text"]) == ("new/one.md", "moved", files["old/one.md"])
        for place in ({"address": "notes:old/one.md#one"}, {"collection_id": name, "path": "mid/one.md"}):
            found = await read(client, **place)
            assert (found["path"], found["state"]) == ("new/one.md", "moved"), place
        for entity in ("notes:old/one.md", "notes:old", "notes:mid"):
            hits = await search(client, "walrus", entity=entity)
            assert paths(hits) == ["new/one.md"], entity
        entities = (await client.request("knowledge/entities", {}))["entities"]
        (page,) = [one for one in entities if one["path"] == "new/one.md"]
        write(folder, {"link.md": "[[one]]\n"})
        await rescan(client, name)
        (edge,) = (await client.request("knowledge/edges", {"entity": "notes:old/one.md", "kinds": ["links"]}))["edges"]
        assert edge["to"] == page["entity_id"]

        # another file takes the old path: the piece is found by its hash, the bare path means the new file
        write(folder, {"alone.md": "# Other\n\nA stork.\n"})
        await rescan(client, name)
        found = await read(client, address=pelican)
        assert (found["path"], found["state"], found["text"]) == ("solo.md", "moved", files["alone.md"])
        found = await read(client, address="notes:alone.md")
        assert (found["path"], found["state"]) == ("alone.md", "same")
        # it is edited above the piece, and the log says that it changed
        write(folder, {"solo.md": "# New\n\nA top.\n\n" + files["alone.md"]})
        await rescan(client, name)
        found = await read(client, address=pelican)
        assert (found["path"], found["state"], found["from_line"]) == ("solo.md", "moved", 5)
        events = await every(client, "knowledge/changes", "events", collection_id=name)
        assert (events[0]["event"], events[0]["path"]) == ("changed", "solo.md")


@journey
async def test_knowledge_an_address_of_a_deleted_file_is_gone_for_good_and_an_ignored_one_is_not_there(
    tmp_path: Path,
) -> None:
    folder = write(tmp_path / "notes", {f"{name}.md": f"The {name} walrus.\n" for name in ("grey", "blue", "shy")})
    async with Den(tmp_path / "den", config="[gateway.knowledge]\nwatch_enabled = false\n").client() as client:
        name = await add(client, folder)
        at = {word: await address_of(client, word) for word in ("grey", "blue", "shy")}
        (folder / "blue.md").rename(folder / "sky.md")
        await rescan(client, name)
        for one in ("grey", "sky"):
            (folder / f"{one}.md").unlink()
        write(folder, {".gitignore": "shy.md\n"})
        for _ in range(2):  # at once, and when the index has seen it
            for word in ("grey", "blue"):
                gone = await read(client, address=at[word])
                assert (gone["state"], gone["text"], gone["total_lines"]) == ("gone", "", 0), word
            for place in ({"address": at["shy"]}, {"address": "notes:never.md"}):
                assert (await refusal(client, "knowledge/read", place)).reason == "not_found"
            await rescan(client, name)
        write(folder, {"grey.md": "Another one.\n"})
        await rescan(client, name)
        assert (await read(client, address=at["grey"]))["state"] == "changed"


@journey
async def test_knowledge_lines_that_a_file_does_not_have_are_never_replaced_by_others(tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", {"a.md": "One.\nTwo.\nThree.\n", "b.md": "Else.\n", "empty.md": ""})
    async with Den(tmp_path / "den").client() as client:
        await add(client, folder)
        here = {"collection_id": "notes", "path": "a.md"}
        for place in ({"address": "notes:a.md#L900-L901"}, {**here, "from_line": 4}):
            found = await read(client, **place)
            assert (found["state"], found["text"], found["from_line"]) == ("gone", "", 0), place
            assert (found["total_lines"], found["next_line"]) == (3, None)
        changed = await read(client, address="notes:a.md#L900-L901~00000000")
        assert (changed["state"], changed["text"], changed["total_lines"]) == ("changed", "", 3)
        assert (await read(client, address="notes:a.md#L3-L900"))["text"] == "Three.\n"
        assert (await read(client, address="notes:empty.md"))["state"] == "same"
        assert (await read(client, address="notes:a.md#L2", **here))["text"] == "Two.\n"
        for place in (
            {**here, "from_line": 3, "to_line": 1},
            {"address": "notes:a.md#L3-L1"},
            {"address": "notes:a.md#L3", "to_line": 1},
            {"address": "notes:a.md", "collection_id": "notes", "path": "b.md"},
            {"address": "notes:a.md", "collection_id": "other"},
        ):
            assert (await refusal(client, "knowledge/read", place)).reason == "invalid_params", place


@journey
async def test_knowledge_an_anchor_names_a_heading_below_another_one(tmp_path: Path) -> None:
    apple = "# Apple\n\n## Budget Plan!\n\nOf apples.\n\n## Next\n\nx\n\n"
    folder = write(tmp_path / "notes", {"a.md": f"{apple}# Pear\n\n## Budget Plan!\n\nOf pears.\n\n## C#\n\ny\n"})
    async with Den(tmp_path / "den").client() as client:
        await add(client, folder)
        for anchor, text in {
            "Apple#Budget Plan!": "## Budget Plan!\n\nOf apples.\n\n",
            "Pear#Budget Plan!": "## Budget Plan!\n\nOf pears.\n\n",
            "pear#budget-plan": "## Budget Plan!\n\nOf pears.\n\n",
            "C#": "## C#\n\ny\n",
            "Pear#C#": "## C#\n\ny\n",
        }.items():
            assert (await read(client, address=f"notes:a.md#{anchor}"))["text"] == text, anchor
        for anchor in ("Apple#C#", "Budget Plan!#Apple", "Nut#Next", "#" * 4000):
            failed = await refusal(client, "knowledge/read", {"address": f"notes:a.md#{anchor}"})
            assert failed.reason == "not_found", anchor
            assert "heading" in str(failed), anchor


@journey
async def test_knowledge_an_address_with_a_wrong_hash_or_wrong_lines_is_told_as_such(tmp_path: Path) -> None:
    files = {"a.md": "# L0\n\nOne.\n\n# L2-L0~cache\n\nTwo.\n", "b.md": "# B\n\nOne.\n", "c.txt": "One.\n"}
    async with Den(tmp_path / "den").client() as client:
        await add(client, write(tmp_path / "notes", files))
        for place in (
            "L1~zz",
            "L1-L3~9F2C4E1A",
            "L1-L3~9f2c4e1",
            "L1-L3~9f2c4e1a0",
            "L1-L3~",
            "L0",
            "L3-",
            "L0-L3~9f2c4e1a",
        ):
            for path in ("b.md", "c.txt"):
                failed = await refusal(client, "knowledge/read", {"address": f"notes:{path}#{place}"})
                assert (failed.reason, failed.data["details"]["path"]) == ("invalid_params", "$.address"), place
                assert "nor lines" in str(failed), place
        for anchor, text in {"L0": "# L0\n\nOne.\n\n", "L2-L0~cache": "# L2-L0~cache\n\nTwo.\n"}.items():
            assert (await read(client, address=f"notes:a.md#{anchor}"))["text"] == text, anchor


@journey
async def test_knowledge_evidence_follows_its_file_and_an_erase_names_every_file_that_says_it(tmp_path: Path) -> None:
    said = "The walrus deadline is Friday 14 March."
    folder = write(
        tmp_path / "notes", {"x.md": f"# A\n\n{said}\n", "copy.md": f"# A\n\n{said}\n", "no.md": "Friday.\n"}
    )
    other = write(tmp_path / "more", {"other.md": f"# O\n\nAlso: {said} Yes.\n"})
    theirs = write(tmp_path / "theirs", {"secret.md": f"{said}\n"})
    async with Den(tmp_path / "den").client() as client:
        name = await add(client, folder)
        await add(client, other, scope="user")
        await client.request("workspace/create", {"workspace_id": "ws_there"})
        await add(client, theirs, workspace_id="ws_there")
        sha256 = (await read(client, collection_id=name, path="x.md"))["sha256"]
        place = {"source_kind": "file", "collection_id": name, "path": "x.md", "from_line": 3, "to_line": 3}
        kept = {"content": said, "category": "project_fact"}
        failed = await refusal(
            client, "memory/remember", {**kept, "key": "wrong", "provenance": {**place, "sha256": "0" * 64}}
        )
        assert failed.data["details"]["decision"]["reason_code"] == "quote_not_found"
        record = (await client.request("memory/remember", {**kept, "provenance": {**place, "sha256": sha256}}))[
            "record"
        ]

        async def state() -> str:
            target = {"kind": "memory", "id": record["memory_id"]}
            return (await client.request("memory/explain", {"target": target}))["files"][0]["state"]

        assert await state() == "same"
        (folder / "x.md").rename(folder / "x2.md")
        await rescan(client, name)
        assert await state() == "moved"
        forgetting = {"target": {"kind": "id", "memory_id": record["memory_id"]}, "mode": "erase"}
        for more in ({"dry_run": True}, {}):
            told = await client.request("memory/forget", {**forgetting, **more})
            left = {(one["collection_id"], one["path"]) for one in told["receipt"]["remaining"]["files"]}
            assert left == {("notes", "x2.md"), ("notes", "copy.md"), ("more", "other.md")}


def test_knowledge_statement_16_the_command_line_finds_by_meaning_as_every_other_door(tmp_path: Path) -> None:
    car = "An old automobile stands behind the shed.\n"
    folder = write(tmp_path / "notes", {"car.md": car, "tea.md": "Oolong in the afternoon.\n"})
    den = Den(tmp_path / "den", model=make_tiny_model(tmp_path / "model", seed=1))

    def run(*words: str) -> dict[str, Any]:
        place = ["--home", str(den.home), "--config", str(den.config), "--workspace", "ws_here", "--json"]
        done = subprocess.run([*console_script(), "knowledge", *words, *place], capture_output=True, check=True)
        return json.loads(done.stdout)

    run("add", str(folder))
    alone = run("search", "vehicle", "--source", "file")  # no gateway ever ran in this home
    assert (alone["semantic"], paths(alone)[:1]) == ("ready", ["car.md"])
    assert alone["hits"][0]["breakdown"]["meaning"] > 0
    write(folder, {"new.md": car * 2})
    assert "new.md" in paths(run("search", "vehicle", "--source", "file"))

    @journey
    async def beside() -> None:
        async with den.client() as client:
            await drain(client)
            found = await meant(client, "vehicle")
            printed = run("search", "vehicle", "--source", "file")
            assert found["hits"]
            assert [(hit["address"], hit["score"]) for hit in printed["hits"]] == [
                (hit["address"], hit["score"]) for hit in found["hits"]
            ]
            assert printed["semantic"] == found["semantic"] == "ready"

    beside()
