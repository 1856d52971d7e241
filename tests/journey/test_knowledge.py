"""Files as evidence, from outside: collections, search, reading, and what happens on the disk meanwhile."""

import json
import os
import random
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from spawned import Den, drain, every, hello, journey, on_posix, refusal

from gateway.wire.client import GatewayClient

pytestmark = pytest.mark.followed


def write(folder: Path, files: dict[str, str]) -> Path:
    """Files below a folder, which is made."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


async def add(client: GatewayClient, folder: Path, **more: Any) -> str:
    """A collection, scanned and read; its id."""
    added = await client.request("knowledge/collections/add", {"path": str(folder), **more})
    await drain(client)
    return added["collection"]["collection_id"]


async def search(client: GatewayClient, query: str, **more: Any) -> dict[str, Any]:
    """What a search of files answers."""
    return await client.request("knowledge/search", {"query": query, "source": "file", **more})


def paths(answer: dict[str, Any]) -> list[str]:
    """Where the hits stand, best first."""
    return [location["path"] for hit in answer["hits"] for location in hit["locations"]]


@journey
async def test_knowledge_statement_01_each_file_is_found_and_an_entity_finds_its_own_part(tmp_path):
    kinds = ("Projects", "Areas", "Resources", "Archive", "Inbox")
    folder = write(
        tmp_path / "notes", {f"{kind}/x/{kind}.md": f"# {kind}\n\nThe walrus of {kind}.\n" for kind in kinds}
    )
    async with Den(tmp_path / "den").client() as client:
        name = await add(client, folder)
        assert name == "notes"
        for kind in kinds:
            assert paths(await search(client, f"walrus {kind}"))[0] == f"{kind}/x/{kind}.md"
        found = await search(client, "walrus", entity="notes:Projects/x", max_results=50)
        assert paths(found) == ["Projects/x/Projects.md"]


def table_counts(den: Den) -> dict[str, int]:
    """How many rows each table of the home has."""
    database = den.database()
    try:
        names = [
            name
            for (name,) in database.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'owner'"
            )
        ]
        return {name: next(database.execute(f'SELECT count(*) FROM "{name}"'))[0] for name in names}  # noqa: S608
    finally:
        database.close()


@journey
async def test_knowledge_statement_02_a_preview_stores_nothing_and_counts_as_the_scan_does(tmp_path):
    folder = write(tmp_path / "notes", {f"f{n % 7}/n{n}.md": f"# Note {n}\n" for n in range(40)})
    write(
        folder,
        {
            "a.py": "x = 1\n",
            "b.txt": "plain\n",
            "copy.txt": "plain\n",
            "node_modules/x.js": "1",
            "node_modules/deep/y.js": "1",
            "node_modules/deep/z.txt": "1",
            "drafts/a/b.md": "1",
            "drafts/c.md": "1",
            "drafts/empty.d/keep": "1",
            ".gitignore": "*.log\ndrafts/\n",
            "c.log": "x",
            ".env": "KEY=1",
        },
    )
    (folder / "bin.md").write_bytes(bytes(range(256)) * 40)
    den = Den(tmp_path / "den")
    async with den.client() as client:
        await drain(client)
        before = table_counts(den)
        asked = {"path": str(folder), "dry_run": True}
        preview = (await client.request("knowledge/collections/add", asked))["preview"]
        assert {name: n for name, n in table_counts(den).items() if before[name] != n} == {}
        name = await add(client, folder)
        known = (await client.request("knowledge/collections/get", {"collection_id": name}))["collection"]
    files = known["files"]
    assert preview["files"] == files["indexed"] == 43
    assert preview["bytes"] == known["bytes"]
    assert (
        preview["skipped"]
        == files["skipped"]
        == {"excluded": 3, "ignored": 4, "unknown_kind": 1, "secret_file": 1, "binary": 1}
    )
    assert preview["by_kind"] == {"markdown": 40, "code": 1, "text": 2}


async def preview_whole(client: GatewayClient, folder: Path) -> dict[str, Any]:
    """The preview of a folder; on a busy machine the first may end before it has seen all."""
    while True:
        added = await client.request("knowledge/collections/add", {"path": str(folder), "dry_run": True})
        if not added["preview"]["partial"]:
            return added["preview"]


@journey
async def test_knowledge_statement_02_a_preview_counts_what_only_the_reader_knows(tmp_path):
    folder = write(
        tmp_path / "notes",
        {
            "a.md": "# A\n\nThe walrus.\n",
            "off.md": "---\nknowledge: false\n---\nNothing.\n",
            "quoted.md": '---\n"\\x6bnowledge": "off"\n---\nNothing.\n',
            "on.md": "---\nknowledge: true\n---\nThe walrus.\n",
            "said.md": "---\ntitle: knowledge\n---\nThe walrus.\n",
            "long.md": "walrus " * 1000,
            "long.js": "walrus();" * 1000,
        },
    )
    (folder / "old.txt").write_bytes("Der Bär schläft über Tag, der Fuchs wäre müde.\r\n".encode("cp1252") * 20)
    (folder / "rnd.md").write_bytes(bytes(byte or 1 for byte in random.Random(1).randbytes(3000)))
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 nothing of it")
    async with Den(tmp_path / "den").client() as client:
        preview = await preview_whole(client, folder)
        name = await add(client, folder)
        files = (await client.request("knowledge/collections/get", {"collection_id": name}))["collection"]["files"]
    assert preview["files"] == files["indexed"] == 5
    assert preview["skipped"] == files["skipped"]
    assert files["skipped"].items() >= {"opted_out": 2, "generated": 1, "encoding_unknown": 1}.items()
    assert sum(files["skipped"].values()) == 5


@on_posix
@journey
async def test_a_collection_is_named_by_an_absolute_path_that_an_answer_can_hold(tmp_path):
    odd = tmp_path / os.fsdecode(b"no\xff")
    try:
        odd.mkdir()
    except OSError:
        pytest.skip("names of this disk are UTF-8")
    (tmp_path / "link").symlink_to(odd)
    folder = write(tmp_path / "notes", {"a.md": "A walrus.\n"})
    async with Den(tmp_path / "den").client() as client:
        name = await add(client, folder)
        relative = os.path.relpath(folder)  # of this process and of the gateway, which it started
        for path, reason in ((relative, "invalid_params"), (str(tmp_path / "link"), "unsafe_root")):
            for method, more in (("add", {"dry_run": True}), ("update", {"collection_id": name})):
                failed = await refusal(client, f"knowledge/collections/{method}", {"path": path, **more})
                assert (failed.reason, failed.code) == (reason, -32602), (method, path)


@journey
async def test_knowledge_statement_03_what_changed_while_no_process_ran_is_found_after_the_next_start(tmp_path):
    folder, den = write(tmp_path / "notes", {"a.md": "The walrus sleeps.\n"}), Den(tmp_path / "den")
    async with den.client() as client:
        await add(client, folder)
    write(folder, {"a.md": "The pelican sleeps.\n", "b.md": "A heron wakes.\n"})
    async with den.client() as client:
        await client.wait_for("knowledge/indexed", lambda _told: True)
        assert paths(await search(client, "pelican")) == ["a.md"]
        assert paths(await search(client, "heron")) == ["b.md"]
        events = (await client.request("knowledge/changes", {}))["events"]
    assert [(one["event"], one["path"]) for one in events[:2]] in (
        [("added", "b.md"), ("changed", "a.md")],
        [("changed", "a.md"), ("added", "b.md")],
    )


@journey
async def test_knowledge_statement_04_a_search_at_once_shows_no_old_text(tmp_path):
    folder = write(
        tmp_path / "notes", {f"{name}.md": f"The walrus of {name}.\n" for name in ("edit", "gone", "swap", "stay")}
    )
    async with Den(tmp_path / "den").client() as client:
        await add(client, folder)
        (folder / "edit.md").write_text("A pelican now.\n", encoding="utf-8")
        (folder / "gone.md").unlink()
        (folder / "new.md").write_text("A heron now.\n", encoding="utf-8")
        (folder / "new.md").replace(folder / "swap.md")
        found = await search(client, "walrus", max_results=50)
        assert paths(found) == ["stay.md"]
        told = {one["code"]: one["data"] for one in found["diagnostics"]}
        assert told["stale_dropped"] == {"count": 3}
        await drain(client)
        again = await search(client, "walrus", max_results=50)
        assert paths(again) == ["stay.md"]
        assert "stale_dropped" not in {one["code"] for one in again["diagnostics"]}
        assert paths(await search(client, "pelican")) == ["edit.md"]


@journey
async def test_knowledge_statement_05_a_renamed_folder_is_moved_and_old_addresses_work(tmp_path):
    folder = write(
        tmp_path / "notes", {f"old/n{n}.md": f"# Note {n}\n\nThe walrus number w{n}x.\n" for n in range(200)}
    )
    async with Den(tmp_path / "den").client() as client:
        name = await add(client, folder)
        (hit,) = (await search(client, "w7x"))["hits"]
        before = await every(client, "knowledge/files", "files", collection_id=name)
        (folder / "old").rename(folder / "new")
        await client.request("knowledge/collections/scan", {"collection_id": name})
        await drain(client)
        after = await every(client, "knowledge/files", "files", collection_id=name)
        assert {one["file_id"]: one["path"].removeprefix("old/") for one in before} == {
            one["file_id"]: one["path"].removeprefix("new/") for one in after
        }
        events = await every(client, "knowledge/changes", "events", collection_id=name)
        assert [one["event"] for one in events].count("moved") == 200
        assert {one["event"] for one in events} == {"moved", "baseline", "collection_added"}
        (moved,) = (await search(client, "w7x"))["hits"]
        assert moved["locations"][0]["path"] == "new/n7.md"
        assert moved["address"].rpartition("~")[2] == hit["address"].rpartition("~")[2]
        assert moved["chunk_id"] == hit["chunk_id"]


@journey
async def test_knowledge_statement_05_a_move_that_changes_the_inode_is_found_by_its_content(tmp_path):
    folder = write(tmp_path / "notes", {"a/one.md": "The walrus sleeps.\n", "other.md": "x\n"})
    async with Den(tmp_path / "den").client() as client:
        name = await add(client, folder)
        before = (await client.request("knowledge/files", {"collection_id": name, "prefix": "a/"}))["files"][0][
            "file_id"
        ]
        write(folder, {"b/two.md": "The walrus sleeps.\n"})
        (folder / "a" / "one.md").unlink()
        await client.request("knowledge/collections/scan", {"collection_id": name})
        await drain(client)
        (file,) = (await client.request("knowledge/files", {"collection_id": name, "prefix": "b/"}))["files"]
        assert file["file_id"] == before
        (event, *_) = (await client.request("knowledge/changes", {}))["events"]
        assert (event["event"], event["from_path"], event["path"]) == ("moved", "a/one.md", "b/two.md")


@journey
async def test_knowledge_names_of_a_file_stay_when_it_is_read_again_moved_or_copied(tmp_path):
    front = "---\ntitle: Quarterly Zeppelin\naliases: [Hangar Papers]\ntags: [aviation]\n---\nThe walrus sleeps.\n"
    folder = write(tmp_path / "notes", {"a.md": front, "b.md": "Nothing of it.\n"})

    async def found_at() -> set[tuple[str, str, bool]]:
        """Where each name leads to, and whether it does as a name."""
        asked = ("zeppelin", "hangar", "aviation")
        answers = [(query, await search(client, query)) for query in asked]
        return {
            (query, path, hit["breakdown"]["card"] > 0)
            for query, found in answers
            for hit in found["hits"]
            for path in paths({"hits": [hit]})
        }

    def at(*where: str) -> set[tuple[str, str, bool]]:
        return {(query, path, True) for query in ("zeppelin", "hangar", "aviation") for path in where}

    async with Den(tmp_path / "den", config="[gateway.knowledge]\nwatch_enabled = false\n").client() as client:
        name = await add(client, folder)
        assert await found_at() == at("a.md")

        async def scan(*, deep: bool = False) -> None:
            await client.request("knowledge/collections/scan", {"collection_id": name, "deep": deep})
            await drain(client)

        await scan(deep=True)
        assert await found_at() == at("a.md")
        (folder / "a.md").touch()
        await scan()
        assert await found_at() == at("a.md")
        (folder / "a.md").rename(folder / "c.md")  # found again by its inode
        await scan()
        assert await found_at() == at("c.md")
        (folder / "c.md").unlink()
        write(folder, {"sub/d.md": front})  # found again by what it says
        await scan()
        assert await found_at() == at("sub/d.md")
        write(folder, {"e.md": front})
        await scan()
        assert await found_at() == at("sub/d.md", "e.md")
        (folder / "sub" / "d.md").unlink()
        await scan()
        assert await found_at() == at("e.md")


@journey
async def test_knowledge_files_of_one_batch_are_one_segment_of_each_full_text_table(tmp_path):
    folder = write(tmp_path / "notes", {f"n{n}.md": f"The walrus {n} sleeps. See [[n{n // 2}]].\n" for n in range(50)})
    den = Den(tmp_path / "den")
    async with den.client() as client:
        await add(client, folder)
    database = den.database()
    try:
        counted = {
            table: next(database.execute(f"SELECT count(DISTINCT segid) FROM {table}_idx"))[0]  # noqa: S608
            for table in ("knowledge_fts", "knowledge_card_fts")
        }
    finally:
        database.close()
    assert counted == {"knowledge_fts": 1, "knowledge_card_fts": 1}


@journey
async def test_knowledge_statement_06_a_copy_is_one_hit_with_two_locations(tmp_path):
    folder = write(tmp_path / "notes", {"a.md": "The walrus sleeps.\n", "copy/b.md": "The walrus sleeps.\n"})
    async with Den(tmp_path / "den").client() as client:
        name = await add(client, folder)
        (hit,) = (await search(client, "walrus"))["hits"]
        assert sorted(at["path"] for at in hit["locations"]) == ["a.md", "copy/b.md"]
        (folder / "a.md").unlink()
        assert paths(await search(client, "walrus")) == ["copy/b.md"]
        await client.request("knowledge/collections/scan", {"collection_id": name})
        await drain(client)
        assert paths(await search(client, "walrus")) == ["copy/b.md"]


@journey
async def test_knowledge_statement_07_a_root_that_is_gone_deletes_nothing(tmp_path):
    folder = write(tmp_path / "notes", {f"{n}.md": f"The walrus {n}.\n" for n in range(3)})
    den = Den(tmp_path / "den")
    async with den.client() as client:
        name = await add(client, folder)
        for away in ("renamed", "emptied"):
            folder.rename(tmp_path / "away")
            if away == "emptied":
                folder.mkdir()
            before = table_counts(den)["knowledge_file"], table_counts(den)["knowledge_chunk"]
            await client.request("knowledge/collections/scan", {"collection_id": name})
            await drain(client)
            collection = (await client.request("knowledge/collections/get", {"collection_id": name}))["collection"]
            assert (collection["state"], collection["reason"]) == (
                "unavailable",
                "root_missing" if away == "renamed" else "root_empty",
            )
            found = await search(client, "walrus")
            assert found["hits"] == []
            assert "collection_unavailable" in {one["code"] for one in found["diagnostics"]}
            assert (table_counts(den)["knowledge_file"], table_counts(den)["knowledge_chunk"]) == before == (3, 3)
            if away == "emptied":
                folder.rmdir()
            (tmp_path / "away").rename(folder)
            await client.request("knowledge/collections/scan", {"collection_id": name})
            await drain(client)
            assert len((await search(client, "walrus"))["hits"]) == 3


@journey
async def test_knowledge_statement_07_many_files_gone_at_once_are_withheld_until_a_later_scan_agrees(tmp_path):
    folder = write(tmp_path / "notes", {f"{n}.md": f"The walrus {n}.\n" for n in range(250)})
    den, clock = Den(tmp_path / "den"), tmp_path / "clock"
    clock.write_text("1800000000000", encoding="utf-8")
    async with await GatewayClient.start([*den.command(), "--clock-file", str(clock)]) as client:
        await hello(client)
        name = await add(client, folder)
        for n in range(200):
            (folder / f"{n}.md").unlink()
        for now, rows in ((1800000000000, 250), (1800000060000, 250), (1800000000000 + 700_000, 50)):
            clock.write_text(str(now), encoding="utf-8")
            await client.request("knowledge/collections/scan", {"collection_id": name})
            await drain(client)
            found = await search(client, "walrus", max_results=50)
            assert len(paths(found)) == 50
            assert (found["freshness"]["state"] == "stale") == (rows == 250)
            assert table_counts(den)["knowledge_file"] == rows
            files = (await client.request("knowledge/status", {}))["collections"][0]["collection"]["files"]
            assert files["skipped"] == ({"missing": 200} if rows == 250 else {})


def listed_by_git(folder: Path) -> set[str]:
    """The files of a new repository as git sees them, one more left out in its own file."""
    git = ["git", "-C", str(folder)]
    subprocess.run([*git, "init", "-q"], check=True)
    write(folder, {".git/info/exclude": "excluded.md\n"})
    told = subprocess.run(
        [*git, "ls-files", "--cached", "--others", "--exclude-standard"], check=True, capture_output=True
    )
    return set(told.stdout.decode().split())


@journey
async def test_knowledge_statement_08_the_rules_of_git_hold(tmp_path):
    folder = write(
        tmp_path / "repo",
        {
            ".gitignore": "*.txt\n!keep.txt\nbuilt/\n",
            "sub/.gitignore": "deep.md\n/only.md\n",
            "sub/more/.gitignore": "!deep.md\n",
            "a.txt": "a",
            "keep.txt": "a",
            "sub/keep.txt": "a",
            "sub/b.txt": "a",
            "built/keep.txt": "a",
            "sub/deep.md": "a",
            "sub/only.md": "a",
            "sub/more/deep.md": "a",
            "sub/more/only.md": "a",
            "excluded.md": "a",
            "top.md": "a",
            "ours.md": "a",
            ".pioneerignore": "!\n\n# [\n[z-a]\n[z-\nours.md\n",
        },
    )
    listed = listed_by_git(folder)
    ours = {".gitignore", "sub/.gitignore", "sub/more/.gitignore", ".pioneerignore", "ours.md"}
    async with Den(tmp_path / "den").client() as client:
        name = await add(client, folder)
        files = await every(client, "knowledge/files", "files", collection_id=name)
        assert {one["path"] for one in files} == listed - ours
        (status,) = (await client.request("knowledge/status", {}))["collections"]
        assert status["bad_patterns"] == [
            {"file": ".pioneerignore", "line": line, "pattern": pattern}
            for line, pattern in ((1, "!"), (4, "[z-a]"), (5, "[z-"))
        ]


@journey
async def test_knowledge_statement_08_a_folder_of_a_repository_has_the_rules_above_it(tmp_path):
    repository = write(
        tmp_path / "repo",
        {
            ".gitignore": "priv/\n/docs/*.txt\n",
            "docs/priv/p.md": "A walrus in private.\n",
            "docs/a.md": "A walrus.\n",
            "docs/b.md": "A second walrus.\n",
            "docs/c.txt": "A third walrus.\n",
            "docs/excluded.md": "A fourth walrus.\n",
        },
    )
    listed = {path.removeprefix("docs/") for path in listed_by_git(repository) if path.startswith("docs/")}
    async with Den(tmp_path / "den").client() as client:
        name = await add(client, repository / "docs")
        files = await every(client, "knowledge/files", "files", collection_id=name)
        assert {one["path"] for one in files} == listed == {"a.md", "b.md"}
        why = await client.request("knowledge/explain", {"collection_id": name, "path": "priv/p.md"})
        assert why["rule"] == {"file": "../.gitignore", "line": 1, "pattern": "priv/"}
        write(repository, {".gitignore": "b.md\n"})
        assert "b.md" not in paths(await search(client, "walrus", max_results=50))


@on_posix
@journey
async def test_a_list_of_patterns_that_is_not_read_is_told_and_no_line_of_another_file_stands_in_it(tmp_path):
    folder = write(
        tmp_path / "notes",
        {
            ".env": "SECRET=[swordfish\n",
            "linked/a.md": "A walrus.\n",
            "large/.gitignore": "#" * (1 << 18) + "\na.md\n",
            "large/a.md": "A walrus.\n",
            "large/inner/b.md": "A walrus.\n",
        },
    )
    (folder / "linked" / ".gitignore").symlink_to("../.env")
    async with Den(tmp_path / "den").client() as client:
        name = await add(client, folder)
        assert paths(await search(client, "walrus", max_results=50)) == ["linked/a.md"]
        status = await client.request("knowledge/status", {})
        assert "swordfish" not in json.dumps(status)
        assert status["collections"][0]["bad_patterns"] == [
            {"file": "large/.gitignore", "line": 0, "pattern": "", "reason": "too_large"},
            {"file": "linked/.gitignore", "line": 0, "pattern": "", "reason": "link"},
        ]
        why = await client.request("knowledge/explain", {"collection_id": name, "path": "large/inner/b.md"})
        assert (why["indexed"], why["reason"]) == (False, "ignored")
        assert why["rule"] == {"file": "large/.gitignore", "line": 0, "pattern": "", "reason": "too_large"}
        write(folder, {"large/.gitignore": "a.md\n"})
        await client.request("knowledge/collections/scan", {"collection_id": name})
        await drain(client)
        found = paths(await search(client, "walrus", max_results=50))
        assert sorted(found) == ["large/inner/b.md", "linked/a.md"]


@journey
async def test_chosen_patterns_that_match_nothing_are_told_and_open_nothing(tmp_path):
    folder = write(tmp_path / "notes", {"a.md": "A walrus.\n"})
    patterns = ["zz\na.md", "a\0.md", "# a", "!", " "]
    async with Den(tmp_path / "den").client() as client:
        name = await add(client, folder, include=["[a-"], exclude=patterns)
        assert paths(await search(client, "walrus")) == []
        (status,) = (await client.request("knowledge/status", {}))["collections"]
        told = [(one["file"], one["line"], one["pattern"]) for one in status["bad_patterns"]]
        expected = [("exclude", number, pattern) for number, pattern in enumerate(patterns, 1)]
        assert told == [*expected, ("include", 1, "[a-")]
        await client.request("knowledge/collections/update", {"collection_id": name, "include": []})
        await drain(client)
        assert paths(await search(client, "walrus")) == ["a.md"]


@journey
async def test_knowledge_statement_09_a_new_pattern_removes_files_and_is_named(tmp_path):
    folder = write(tmp_path / "notes", {"drafts/a.md": "The walrus sleeps.\n", "b.md": "A walrus wakes.\n"})
    async with Den(tmp_path / "den").client() as client:
        name = await add(client, folder)
        write(folder, {".gitignore": "# mine\ndrafts/\n"})
        await client.request("knowledge/collections/scan", {"collection_id": name})
        await drain(client)
        assert paths(await search(client, "walrus")) == ["b.md"]
        why = await client.request("knowledge/explain", {"collection_id": name, "path": "drafts/a.md"})
        assert (why["indexed"], why["reason"]) == (False, "ignored")
        assert why["rule"] == {"file": ".gitignore", "line": 2, "pattern": "drafts/"}
        (event, *_) = (await client.request("knowledge/changes", {}))["events"]
        assert (event["event"], event["path"]) == ("ignored", "drafts/a.md")


@on_posix
@journey
async def test_knowledge_statement_10_nothing_leads_out_and_nothing_hangs(tmp_path):
    folder = write(tmp_path / "notes", {"a.md": "The walrus sleeps.\n", "shut/x.md": "hidden walrus\n"})
    write(tmp_path, {"outside.md": "outside walrus\n"})
    for name, target in {
        "passwd.md": "/etc/passwd",
        "up": "..",
        "loop.md": "loop.md",
        "out.md": "../outside.md",
        "down": "shut",
    }.items():
        (folder / name).symlink_to(target)
    (folder / "near.md").symlink_to("a.md")
    os.mkfifo(folder / "pipe.md")
    with (folder / "huge.md").open("wb") as file:
        file.truncate(10 * 1024**3)
    (folder / "shut" / "y.md").write_text("walrus\n", encoding="utf-8")
    async with Den(tmp_path / "den").client() as client:
        name = await add(client, folder)
        found = await search(client, "walrus", max_results=50)
        assert sorted(set(paths(found))) == ["a.md", "near.md", "shut/x.md", "shut/y.md"]
        assert "outside" not in json.dumps(found["hits"])
        collection = (await client.request("knowledge/collections/get", {"collection_id": name}))["collection"]
        assert collection["files"]["skipped"] == {"link": 5, "not_regular": 1, "too_large": 1}


@on_posix
@on_posix
@journey
async def test_knowledge_statement_10_a_device_and_a_folder_without_rights_are_counted(tmp_path):
    folder = write(tmp_path / "notes", {"a.md": "The walrus sleeps.\n", "shut/b.md": "A walrus behind a door.\n"})
    expected = {}
    try:
        os.mknod(folder / "null.md", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
        expected["not_regular"] = 1
    except PermissionError:
        assert os.geteuid() != 0 or sys.platform != "linux"  # only the system's administrator makes devices
    (folder / "shut").chmod(0)
    if os.geteuid() == 0:
        (folder / "shut").chmod(0o700)  # whom no folder is closed to
    else:
        expected["permission_denied"] = 1
    try:
        async with Den(tmp_path / "den").client() as client:
            name = await add(client, folder)
            found = set(paths(await search(client, "walrus", max_results=50)))
            assert found == ({"a.md", "shut/b.md"} if os.geteuid() == 0 else {"a.md"})
            collection = (await client.request("knowledge/collections/get", {"collection_id": name}))["collection"]
            assert collection["files"]["skipped"] == expected
    finally:
        (folder / "shut").chmod(0o700)


@on_posix
@journey
async def test_knowledge_statement_02_a_preview_counts_no_file_that_may_not_be_opened(tmp_path):
    folder = write(tmp_path / "notes", {"a.md": "The walrus sleeps.\n", "shut.md": "A walrus behind a door.\n"})
    (folder / "shut.pdf").write_bytes(b"%PDF-1.4")
    for name in ("shut.md", "shut.pdf"):
        (folder / name).chmod(0)
    if os.access(folder / "shut.md", os.R_OK):
        pytest.skip("no file is closed to this user")
    async with Den(tmp_path / "den").client() as client:
        preview = await preview_whole(client, folder)
    assert (preview["files"], preview["skipped"]) == (1, {"permission_denied": 2})


@journey
async def test_knowledge_statement_11_strange_names_are_indexed_or_skipped_with_a_reason(tmp_path):
    folder = write(
        tmp_path / "notes",
        {
            "new\nline.md": "The walrus sleeps.\n",
            "caf\u00e9.md": "walrus composed\n",
            "cafe\u0301.md": "walrus decomposed\n",
            "a#b%.md": "walrus signs\n",
        },
    )
    (folder / os.fsdecode(b"bad\xff.md")).write_text("walrus bytes\n", encoding="utf-8")
    async with Den(tmp_path / "den").client() as client:
        name = await add(client, folder)
        found = await search(client, "walrus", max_results=50)
        assert sorted(paths(found)) == sorted(["new\nline.md", "caf\u00e9.md", "cafe\u0301.md", "a#b%.md"])
        assert all("\n" not in hit["address"] for hit in found["hits"])
        for hit in found["hits"]:
            read = await client.request("knowledge/read", {"address": hit["address"]})
            assert (read["text"], read["state"]) == (hit["text"], "same")
        collection = (await client.request("knowledge/collections/get", {"collection_id": name}))["collection"]
        assert collection["files"]["skipped"] == {"name_not_utf8": 1}


@journey
async def test_knowledge_statement_12_texts_of_other_encodings_are_found_by_their_words(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    russian = "Вчера мы долго говорили о погоде и о том, что весной морж спит на льду. Потом все пошли домой.\n" * 3
    japanese = "これは日本語の文章です。昨日、海象が氷の上で眠っていました。とても寒い日でした。\n" * 3
    for name, text, encoding in (
        ("a.txt", russian, "utf-16"),
        ("b.txt", russian.replace("морж", "тюлень"), "cp1251"),
        ("c.txt", japanese, "shift_jis"),
        ("d.txt", "The walrus sleeps.\n", "utf-8-sig"),
    ):
        (folder / name).write_bytes(text.encode(encoding))
    (folder / "noise.md").write_bytes(random.Random(7).randbytes(9000))
    async with Den(tmp_path / "den").client() as client:
        name = await add(client, folder)
        for word, path in (("морж", "a.txt"), ("тюлень", "b.txt"), ("海象", "c.txt"), ("walrus", "d.txt")):
            (hit, *_) = (await search(client, word))["hits"]
            assert hit["locations"][0]["path"] == path
            assert word in hit["text"]
            assert not hit["text"].startswith("\ufeff")
        (noise,) = (await client.request("knowledge/files", {"collection_id": name, "states": ["skipped"]}))["files"]
        assert (noise["path"], noise["reason"]) == ("noise.md", "binary")


@journey
async def test_knowledge_an_address_gives_back_the_text_that_was_shown_with_it(tmp_path: Path) -> None:
    long_line = " ".join(f"walrus{number} swims" for number in range(400))
    twice = "## Again\n\nThe walrus says it twice.\n\n"
    files = {"long.md": f"# Long\n\n{long_line}\n\nAn end.\n", "twice.md": f"# Twice\n\n{twice}{twice}", "bom.md": ""}
    folder = write(tmp_path / "notes", files)
    (folder / "bom.md").write_bytes("\ufeff# Bom\r\n\r\nThe walrus é.\r\n".encode())
    async with Den(tmp_path / "den").client() as client:
        await add(client, folder)
        addresses = set[str]()
        for query, entity in (
            ("walrus", "notes:twice.md"),
            ("walrus7 swims", "notes:long.md"),
            ("walrus", "notes:bom.md"),
        ):
            for hit in (await search(client, query, entity=entity, max_results=50))["hits"]:
                read = await client.request("knowledge/read", {"address": hit["address"]})
                place = hit["locations"][0]
                assert (read["text"], read["state"]) == (hit["text"], "same")
                assert (read["from_line"], read["to_line"]) == (place["from_line"], place["to_line"])
                addresses.add(hit["address"])
        assert len(addresses) > 7
        begun = await client.request("knowledge/read", {"collection_id": "notes", "path": "long.md", "max_chars": 100})
        assert (begun["text"], begun["next_line"]) == ("# Long\n\n", 3)
        cut = await client.request(
            "knowledge/read", {"collection_id": "notes", "path": "long.md", "from_line": 3, "max_chars": 100}
        )
        assert (cut["text"], cut["next_line"]) == (long_line[:100], 4)
        assert (begun["cut_chars"], cut["cut_chars"]) == (0, len(long_line) + 1 - 100)  # with the end of its line


@on_posix
@journey
async def test_a_second_name_of_a_file_is_a_copy_and_a_third_one_in_place_of_the_first_is_a_move(tmp_path):
    folder = Path(write(tmp_path / "notes", {"a.md": "The walrus sleeps.\n"}))
    async with Den(tmp_path / "den").client() as client:
        name = await add(client, folder)
        (folder / "b.md").hardlink_to(folder / "a.md")
        await client.request("knowledge/collections/scan", {"collection_id": name})
        await drain(client)
        files = (await client.request("knowledge/files", {"collection_id": name}))["files"]
        first = next(one["file_id"] for one in files if one["path"] == "a.md")
        assert [one["path"] for one in files] == ["a.md", "b.md"]
        (folder / "a.md").rename(folder / "c.md")
        await client.request("knowledge/collections/scan", {"collection_id": name})
        await drain(client)
        files = (await client.request("knowledge/files", {"collection_id": name}))["files"]
        assert sorted((one["path"], one["file_id"] == first) for one in files) == [("b.md", False), ("c.md", True)]
        (hit,) = (await search(client, "walrus"))["hits"]
        assert sorted(place["path"] for place in hit["locations"]) == ["b.md", "c.md"]


@journey
async def test_who_has_asked_the_same_before_finds_the_file_that_tells_it_first(tmp_path):
    folder = write(tmp_path / "notes", {"quibblex.md": "# Quibblex\n\nThe Quibblex sorts nine crates a minute.\n"})
    asked = ["What do my notes say about Quibblex?"] * 4 + ["Is Quibblex fast?", "How fast is Quibblex again?"]
    told = "The fair is over. Is Quibblex there?"
    turns = [{"at": n, "items": [{"role": "user", "text": text}]} for n, text in enumerate([*asked, told], 1_700_000)]
    async with Den(tmp_path / "den").client() as client:
        await add(client, folder)
        source = {"kind": "test", "id": "asked"}
        await client.request("thread/import", {"workspace_id": "ws_here", "source": source, "turns": turns})
        await drain(client)
        found = await client.request("knowledge/search", {"query": "Quibblex", "max_results": 10})
        hits = [(hit["source"], hit["text"].strip()) for hit in found["hits"]]
        tells = "# Quibblex\n\nThe Quibblex sorts nine crates a minute."
        assert sorted(hits[:2]) == [("conversation", told), ("file", tells)], found
        assert sorted(text for _, text in hits[2:]) == sorted(set(asked))


@journey
async def test_an_empty_answer_says_which_name_is_unknown(tmp_path):
    async with Den(tmp_path / "den").client() as client:

        async def reason(**options: Any) -> str | None:
            answer = await client.request("knowledge/search", {"query": "walrus", **options})
            return next(one["message"] for one in answer["diagnostics"] if one["code"] == "no_match")

        assert await reason() == "No folder is indexed for this workspace."
        await add(client, write(tmp_path / "notes", {"a.md": "The otter swims.\n"}))
        assert await reason() is None
        assert await reason(source="collection:zz") == "This workspace has no collection of that id."
        assert await reason(entity="zz") == "No file, folder or collection has that name."
        assert await reason(entity="notes:a.md") is None
        for method, member, known, unknown in (
            ("knowledge/edges", "entity", "notes:a.md", "zz:a.md"),
            ("knowledge/changes", "collection_id", "notes", "zz"),
        ):
            assert (await client.request(method, {member: known}))["diagnostics"] == []
            answer = await client.request(method, {member: unknown})
            assert [one["code"] for one in answer["diagnostics"]] == ["no_match"], method
        for method, place in (("knowledge/versions", {"path": "a.md"}), ("knowledge/entities", {})):
            missing = await refusal(client, method, {"collection_id": "zz", **place})
            assert (missing.reason, missing.message) == ("not_found", "There is no such collection."), method
        await client.request("knowledge/collections/remove", {"collection_id": "notes"})
        assert (await client.request("knowledge/changes", {"collection_id": "notes"}))["diagnostics"] == []
        wrong = await refusal(client, "knowledge/search", {"query": "walrus", "source": "files"})
        assert "collection:ID" in str(wrong.data)


@journey
async def test_a_line_that_says_the_same_over_and_over_is_one_hit(tmp_path):
    folder = write(tmp_path / "notes", {"long.txt": "tok " * 40_000 + "\n" + "A short line.\n" * 2000})
    async with Den(tmp_path / "den").client() as client:
        await add(client, folder)
        addresses = [hit["address"] for hit in (await search(client, "tok"))["hits"]]
        assert 0 < len(addresses) == len(set(addresses))
