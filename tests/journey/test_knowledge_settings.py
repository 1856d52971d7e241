"""Settings of `[gateway.knowledge]` that decide what is indexed, and when: each changes what comes of a folder."""

from pathlib import Path
from typing import Any

from in_process import Served
from spawned import Den, journey
from test_knowledge import add, drain, paths, search, write
from test_knowledge_watch import until_live

from gateway.home.starting import Options
from gateway.process import running

NOON = 1_700_000_000_000

TEXTS = {
    "a.md": "# One\n\nThe walrus sleeps.\n\n# Two\n\nThe heron wakes.\n",
    "b.md": "A pelican.\n",
    "c.txt": "An urchin.\n",
}


async def outcome(folder: Path, den: Path, setting: str) -> dict[str, Any]:
    """A collection's state and the counts of its files, with a setting."""
    config = f"[gateway.knowledge]\nwatch_enabled = false\n{setting}\n"
    async with Den(den, config=config).client() as client:
        name = await add(client, folder)
        got = (await client.request("knowledge/collections/get", {"collection_id": name}))["collection"]
        return {"state": got["state"], **{one: count for one, count in got["files"].items() if count}}


@journey
async def test_knowledge_statement_40_settings_decide_what_is_indexed(tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", TEXTS)
    rows: dict[str, dict[str, Any]] = {
        "": {"state": "polling", "indexed": 3},
        "indexing_enabled = false": {"state": "new"},
        "max_files = 2": {"state": "over_limit", "indexed": 2, "skipped": {"over_limit": 1}},
        "max_file_bytes = 30": {"state": "polling", "indexed": 2, "skipped": {"too_large": 1}},
        "max_chunks_per_file = 1": {"state": "polling", "indexed": 2, "partial": 1},
    }
    for number, (setting, expected) in enumerate(rows.items()):
        found = await outcome(folder, tmp_path / f"den{number}", setting)
        assert found == found | expected, setting
        assert found.keys() - {"pending", "indexed"} <= expected.keys(), setting


@journey
async def test_knowledge_statement_40_files_beyond_max_files_are_left_out_in_the_order_of_names(tmp_path: Path) -> None:
    texts = {f"d{n}/f{n}{m}.md": f"# F\n\nThe numbat{n}{m} sleeps.\n" for n in range(3) for m in range(3)}
    folder = write(tmp_path / "notes", texts)
    config = "[gateway.knowledge]\nmax_files = 4\n"
    async with Den(tmp_path / "den", config=config).client() as client:

        async def indexed() -> list[str]:
            await client.request("knowledge/collections/scan", {"collection_id": name})
            await drain(client)
            files = (await client.request("knowledge/files", {"collection_id": name, "limit": 100}))["files"]
            return sorted(one["path"] for one in files)

        asked = {"path": str(folder), "dry_run": True}
        preview = (await client.request("knowledge/collections/add", asked))["preview"]
        name = await add(client, folder)
        assert preview["files"] == 4
        assert preview["skipped"] == {"over_limit": 5}
        assert await indexed() == sorted(texts)[:4]
        assert sorted(paths(await search(client, "numbat sleeps", max_results=50))) == sorted(texts)[:4]
        why = await client.request("knowledge/explain", {"collection_id": name, "path": "d2/f22.md"})
        assert (why["indexed"], why["reason"]) == (False, "over_limit")
        write(folder, {"a.md": "# A\n\nThe numbat is first.\n"})
        assert await indexed() == ["a.md", *sorted(texts)[:3]]
        for path in sorted(texts)[:6]:
            (folder / path).unlink()
        assert await indexed() == ["a.md", *sorted(texts)[6:]]
        got = (await client.request("knowledge/collections/get", {"collection_id": name}))["collection"]
        assert (got["state"], got["files"]["skipped"]) == ("polling", {})


@journey
async def test_knowledge_statement_40_a_watched_collection_takes_no_file_beyond_max_files(tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", TEXTS)
    config = "[gateway.knowledge]\nmax_files = 3\ndebounce_ms = 100\n"
    async with Den(tmp_path / "den", config=config).client() as client:
        name = await add(client, folder)
        await until_live(client, name)
        write(folder, {"z.md": "The last walrus.\n"})
        await client.wait_for("gateway/degraded", lambda told: told["reason"] == "over_limit")
        await drain(client)
        files = (await client.request("knowledge/files", {"collection_id": name}))["files"]
        assert [one["path"] for one in files] == sorted(TEXTS)


@journey
async def test_knowledge_statement_40_a_folder_that_moves_in_a_full_collection_counts_once(tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", {f"in/{name}": text for name, text in TEXTS.items()})
    config = "[gateway.knowledge]\nwatch_enabled = false\nmax_files = 3\n"
    async with Den(tmp_path / "den", config=config).client() as client:
        name = await add(client, folder)
        (folder / "in").rename(folder / "moved")
        await client.request("knowledge/collections/scan", {"collection_id": name})
        await client.request("gateway/drain", {"timeout_ms": 20_000})
        got = (await client.request("knowledge/collections/get", {"collection_id": name}))["collection"]
        files = (await client.request("knowledge/files", {"collection_id": name}))["files"]
    assert (got["state"], got["files"]["indexed"]) == ("polling", 3)
    assert [one["path"] for one in files] == [f"moved/{name}" for name in TEXTS]


@journey
async def test_knowledge_statement_40_a_folder_is_compared_after_scan_minutes(tmp_path: Path) -> None:
    config = "[gateway.knowledge]\nwatch_enabled = false\nscan_minutes = 3\n"
    folder, den = write(tmp_path / "notes", TEXTS), Den(tmp_path / "den", config=config)
    clock = tmp_path / "clock"
    clock.write_text(str(NOON))
    async with running(Options(home=den.home, config=den.config, clock_file=clock, log_level="error")) as app:
        served = Served(app)
        await served.pair.hello("ws_here")
        await served.pair.call("knowledge/collections/add", path=str(folder))
        await served.pair.call("gateway/drain", timeout_ms=30_000)
        write(folder, {"d.md": "An otter came.\n"})
        found: list[int] = []
        for second in (100, 179, 181):
            clock.write_text(str(NOON + second * 1000))
            await app.pulse.beat()
            await served.pair.call("gateway/drain", timeout_ms=30_000)
            hits = (await served.pair.call("knowledge/search", query="otter", source="file"))["hits"]
            found.append(len(hits))
        served.pair.end()
        await served.task
    assert found == [0, 0, 1]
