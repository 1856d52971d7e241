"""Settings of `[gateway.knowledge]` that decide what is indexed, and when: each changes what comes of a folder."""

from pathlib import Path
from typing import Any

from in_process import Served
from spawned import Den, journey
from test_knowledge import add, write

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
        "max_files = 2": {"state": "over_limit"},
        "max_file_bytes = 30": {"state": "polling", "indexed": 2, "skipped": {"too_large": 1}},
        "max_chunks_per_file = 1": {"state": "polling", "indexed": 2, "partial": 1},
    }
    for number, (setting, expected) in enumerate(rows.items()):
        found = await outcome(folder, tmp_path / f"den{number}", setting)
        assert found == found | expected, setting
        assert found.keys() - {"pending", "indexed"} <= expected.keys(), setting


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
