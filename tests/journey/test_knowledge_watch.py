"""Watching: what changes in a collection is found without a request, by one process of those that could."""

import asyncio
import hashlib
import os
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from in_process import Served
from sizes import size
from spawned import Den, every, hello, journey, on_linux
from test_knowledge import add, drain, paths, search, write

from gateway import pulse
from gateway.files.folder_watch import is_on_network
from gateway.home.starting import Options
from gateway.process import running
from gateway.wire.client import GatewayClient, console_script
from gateway.wiring import App
from knowledge.house import KnowledgeHouse
from knowledge.rows.collections import KnownCollection, change_state, find_collection, set_state
from knowledge.rows.files import next_readings
from knowledge.scan import scanning, watching
from knowledge.scan.scanning import Scanner
from knowledge.scan.watching import QuietPaths

NOON = 1_700_000_000_000
HOUR = 3_600_000

QUICK = "[gateway.knowledge]\ndebounce_ms = 300\n"


async def status(client: GatewayClient, name: str) -> dict[str, Any]:
    found = (await client.request("knowledge/status", {}))["collections"]
    return next(one for one in found if one["collection"]["collection_id"] == name)


async def until_live(client: GatewayClient, name: str) -> dict[str, Any]:
    """The status of a collection that some process watches."""
    while True:
        found = await status(client, name)
        if found["collection"]["state"] == "live" and found["watch"]["process"] != "none":
            await drain(client)
            return found
        await drain(client)


async def until_found(client: GatewayClient, query: str, there: list[str]) -> dict[str, Any]:
    """The answer of a search once it finds just these files."""
    while True:
        found = await search(client, query, max_results=50)
        if sorted(paths(found)) == there:
            return found
        await drain(client)


async def known_of(app: App, name: str) -> KnownCollection:
    """A collection as a process has it stored."""
    known = await app.base.database.read(lambda tx: find_collection(tx, name))
    assert known is not None
    return known


async def pending(client: GatewayClient, name: str) -> int:
    """How many files wait to be read."""
    return (await status(client, name))["collection"]["files"]["pending"]


async def events(client: GatewayClient) -> list[tuple[str, str | None]]:
    """What the log says, oldest first."""
    return [(one["event"], one["path"]) for one in reversed(await every(client, "knowledge/changes", "events"))]


@journey
async def test_a_collection_is_live_as_soon_as_its_watch_is(tmp_path):
    folder = write(tmp_path / "notes", {"a.md": "The walrus sleeps.\n"})
    async with Den(tmp_path / "den").client() as client:
        name = await add(client, folder)
        while (await status(client, name))["watch"]["process"] != "this":
            await client.request("ping")
        found = (await client.request("knowledge/collections/get", {"collection_id": name}))["collection"]
        assert (found["state"], found["reason"]) == ("live", None)


@journey
async def test_knowledge_statement_03_ten_saves_at_once_are_one_change(tmp_path):
    folder = write(tmp_path / "notes", {"a.md": "The walrus sleeps.\n", "sub/b.md": "Nothing.\n"})
    async with Den(tmp_path / "den", config=QUICK).client() as client:
        name = await add(client, folder)
        found = await until_live(client, name)
        assert found["watch"] == {"process": "this", "folders": 2}
        for number in range(10):
            (folder / "a.md").write_text(f"The pelican sleeps {number}.\n", encoding="utf-8")
        await client.wait_for("knowledge/indexed", lambda _told: True)
        found = await until_found(client, "pelican 9", ["a.md"])
        assert found["freshness"]["state"] == "live"
        (folder / "sub" / "b.md").unlink()
        write(folder, {"new/deep/c.md": "A heron wakes.\n"})
        await until_found(client, "heron", ["new/deep/c.md"])
        write(folder, {"new/deep/d.md": "A cormorant wakes.\n"})  # in a folder that was not there before
        await until_found(client, "cormorant", ["new/deep/d.md"])
        (folder / "new").rename(folder / "other")
        await until_found(client, "cormorant", ["other/deep/d.md"])
        log = await events(client)
    assert log.count(("changed", "a.md")) == 1
    assert ("moved", "other/deep/d.md") in log
    assert log.count(("added", "new/deep/c.md")) == 1
    assert ("removed", "sub/b.md") in log


@journey
async def test_knowledge_statement_09_a_new_pattern_takes_files_out_without_a_request(tmp_path):
    folder = write(tmp_path / "notes", {"a.md": "A walrus.\n", "drafts/b.md": "A walrus.\n\nAnd more.\n"})
    async with Den(tmp_path / "den", config=QUICK).client() as client:
        name = await add(client, folder)
        await until_live(client, name)
        write(folder, {".gitignore": "drafts/\n"})
        await until_found(client, "walrus", ["a.md"])
        why = await client.request("knowledge/explain", {"collection_id": name, "path": "drafts/b.md"})
        assert why["rule"] == {"file": ".gitignore", "line": 1, "pattern": "drafts/"}
        (folder / ".gitignore").unlink()
        await until_found(client, "walrus", ["a.md", "drafts/b.md"])


@journey
async def test_knowledge_statement_40_watch_is_off_where_it_is_not_wanted(tmp_path):
    folder = write(tmp_path / "notes", {"a.md": "A walrus.\n"})
    async with Den(tmp_path / "den", config=QUICK).client() as client:
        name = await add(client, folder)
        await until_live(client, name)
        await client.request("settings/update", {"update": {"knowledge": {"watch_enabled": False}}})
        while (found := await status(client, name))["collection"]["state"] != "polling":
            await drain(client)
        assert found["collection"]["reason"] == "not_watched"
        assert found["watch"] == {"process": "none", "folders": 0}
        await client.request("settings/update", {"update": {"knowledge": {"watch_enabled": True}}})
        await until_live(client, name)


@on_linux
@journey
async def test_status_says_who_watches_and_that_nobody_does_once_the_process_was_killed(tmp_path):
    folder = write(tmp_path / "notes", {"a.md": "A walrus.\n"})
    den = Den(tmp_path / "den", config=QUICK)
    gateway = await den.spawn()
    await hello(gateway)
    await until_live(gateway, await add(gateway, folder))

    async def told() -> str:
        place = ["--home", str(den.home), "--config", str(den.config), "--workspace", "ws_here"]
        status = [*console_script(), "knowledge", "status", *place]
        command = await asyncio.create_subprocess_exec(*status, stdout=asyncio.subprocess.PIPE)
        return (await command.communicate())[0].decode()

    assert "watched by  a running gateway" in (said := await told())
    assert "state       live\n" in said
    gateway.kill()
    while "watched by  nobody" not in (said := await told()):
        assert "a running gateway" in said
    assert "live: the process that watched it has ended" in said


@pytest.mark.loop("check", "campaign")
@on_linux
@journey
async def test_knowledge_statement_26_one_process_watches_and_another_takes_over(tmp_path):
    count = size("watched_files")
    folder = write(tmp_path / "notes", {f"s{n % 9}/n{n}.md": f"Note {n} of the walrus.\n" for n in range(count)})
    den = Den(tmp_path / "den", config=QUICK)
    first = await den.spawn()
    await hello(first)
    name = await add(first, folder)
    assert (await until_live(first, name))["watch"]["process"] == "this"
    async with await den.spawn() as second:
        await hello(second)
        assert (await until_live(second, name))["watch"]["process"] == "other"
        place = ["--home", str(den.home), "--config", str(den.config), "--workspace", "ws_here"]
        asked = (["search", "pelican", "--source", "file"], ["status"], ["scan", name])
        commands = [
            await asyncio.create_subprocess_exec(
                *console_script(),
                "knowledge",
                *words,
                *place,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            for words in asked
        ]
        for number in range(0, count, 2):
            saved = tmp_path / "saved.md"  # a file that is written in place may be looked at while it is empty
            saved.write_text(f"Note {number} of the pelican.\n", encoding="utf-8")
            saved.replace(folder / f"s{number % 9}" / f"n{number}.md")
        for command, words in zip(commands, asked, strict=True):
            said, _ = await command.communicate()
            assert command.returncode == 0 or (words[0] == "search" and command.returncode == 1), said  # 1: not yet
            assert b"lock" not in said
        while len((await search(second, "pelican", max_results=1))["hits"]) < 1 or await pending(second, name):
            await drain(second)
        log = await events(second)
        while sum(one[0] == "changed" for one in log) < (count + 1) // 2:
            await drain(second)
            log = await events(second)
        assert (await status(second, name))["collection"]["files"]["indexed"] == count
        assert len(set(log)) == len(log)  # every file once
        first.kill()
        while (await status(second, name))["watch"]["process"] != "this":
            await drain(second)
        write(folder, {"after.md": "The heron came.\n"})
        await until_found(second, "heron", ["after.md"])


@journey
async def test_knowledge_statement_40_a_deep_scan_reads_a_sixth_at_a_time_and_all_within_its_hours(tmp_path):
    folder = write(tmp_path / "notes", {f"n{n}.md": f"Note {n} of the walrus.\n" for n in range(12)})
    den = Den(
        tmp_path / "den",
        config="[gateway.knowledge]\nwatch_enabled = false\nscan_minutes = 1440\ndeep_scan_hours = 12\n",
    )
    clock = tmp_path / "clock"
    clock.write_text(str(NOON))
    options = Options(home=den.home, config=den.config, clock_file=clock, log_level="error")
    async with running(options) as app:
        served = Served(app)
        await served.pair.hello("ws_here")
        name = (await served.pair.call("knowledge/collections/add", path=str(folder)))["collection"]["collection_id"]
        await served.pair.call("gateway/drain", timeout_ms=30_000)
        for path in folder.iterdir():  # neither size nor time says that anything changed
            was = path.stat()
            path.write_text(path.read_text(encoding="utf-8").replace("walrus", "urchin"), encoding="utf-8")
            os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
        found: list[int] = []
        for hour in range(1, 8):
            clock.write_text(str(NOON + hour * 2 * HOUR + 1))
            await app.pulse.beat()
            await served.pair.call("gateway/drain", timeout_ms=30_000)
            log = (await served.pair.call("knowledge/changes", limit=100))["events"]
            found.append(sum(one["event"] == "changed" for one in log))
        answer = await served.pair.call("knowledge/search", query="urchin", source=f"collection:{name}", max_results=50)
        served.pair.end()
        await served.task
    assert found == [2, 4, 6, 8, 10, 12, 12]
    assert len(answer["hits"]) == 12


@on_linux
@journey
async def test_a_drain_is_not_over_while_a_reported_change_is_no_job_yet(tmp_path, monkeypatch):
    folder = write(tmp_path / "notes", {"a.md": "A walrus.\n"})
    den = Den(tmp_path / "den", config="[gateway.knowledge]\ndebounce_ms = 60000\n")
    monkeypatch.setattr(watching, "QuietPaths", partial(QuietPaths, latest=600.0))  # nothing is due by itself
    began, goes_on = asyncio.Event(), asyncio.Event()
    async with running(Options(home=den.home, config=den.config, log_level="error")) as app:
        served = Served(app)
        await served.pair.hello("ws_here")
        name = (await served.pair.call("knowledge/collections/add", path=str(folder)))["collection"]["collection_id"]
        while not (found := app.knowledge.house.watchers.state_of(await known_of(app, name))).folders:
            await served.pair.call("gateway/drain", timeout_ms=30_000)
        assert found.process == "this"
        look_at = app.knowledge.house.scanner.look_at

        async def held(*asked: Any) -> Any:
            began.set()
            await goes_on.wait()
            return await look_at(*asked)

        monkeypatch.setattr(app.knowledge.house.scanner, "look_at", held)
        write(folder, {"b.md": "A heron.\n"})
        told = {"idle": True}
        while not began.is_set():  # until the system reported it
            told = await served.pair.call("gateway/drain", timeout_ms=200)
        assert not told["idle"]
        assert not (await served.pair.call("gateway/drain", timeout_ms=0))["idle"]
        goes_on.set()
        assert (await served.pair.call("gateway/drain", timeout_ms=30_000))["idle"]
        answer = await served.pair.call("knowledge/search", query="heron", source="file")
        served.pair.end()
        await served.task
    assert paths(answer) == ["b.md"]


@journey
async def test_files_of_a_folder_that_was_away_wait_for_nothing_once_it_is_back(tmp_path: Path) -> None:
    folder, den = write(tmp_path / "notes", {f"{n}.md": f"The walrus {n}.\n" for n in range(4)}), Den(tmp_path / "den")
    async with running(Options(home=den.home, config=den.config, log_level="error")) as app:
        served = Served(app)
        call = served.pair.call
        await served.pair.hello("ws_here")
        await call("knowledge/collections/add", path=str(folder), watch=False)
        await call("gateway/drain", timeout_ms=30_000)
        folder.rename(tmp_path / "away")
        folder.mkdir()  # a mount without its disk
        await call("knowledge/search", query="walrus", source="file")
        for _ in range(2):
            await app.pulse.beat()
            await call("gateway/drain", timeout_ms=30_000)
        folder.rmdir()
        (tmp_path / "away").rename(folder)
        await call("knowledge/collections/scan", collection_id="notes")
        await call("gateway/drain", timeout_ms=30_000)
        found = await call("knowledge/search", query="walrus", source="file", max_results=50)
        files = (await call("knowledge/files", collection_id="notes"))["files"]
        served.pair.end()
        await served.task
    assert (found["freshness"]["pending_files"], len(found["hits"])) == (0, 4)
    assert [(one["state"], one["attempt_count"]) for one in files] == [("indexed", 0)] * 4


@journey
async def test_a_first_scan_ends_with_one_notice_that_all_is_indexed(tmp_path: Path, monkeypatch) -> None:
    folder = write(tmp_path / "notes", {f"f{n}/a.md": f"The walrus {n}.\n" for n in range(3)})
    den = Den(tmp_path / "den")
    async with running(Options(home=den.home, config=den.config, log_level="error")) as app:
        store, wanted = Scanner._store, list[list[str]]()

        async def store_and_look(scanner: Scanner, *given: Any) -> Any:
            held = await store(scanner, *given)
            wanted.append(await app.base.database.read(lambda tx: list(next_readings(tx))))
            return held

        monkeypatch.setattr(Scanner, "_store", store_and_look)
        monkeypatch.setattr(scanning, "FOLDERS_AT_ONCE", 2)  # of the four: two lots have files
        served = Served(app)
        await served.pair.hello("ws_here")
        await served.pair.call("knowledge/collections/add", path=str(folder))
        await served.pair.call("gateway/drain", timeout_ms=30_000)
        await served.pair.call("knowledge/collections/scan", collection_id="notes")
        await served.pair.call("gateway/drain", timeout_ms=30_000)
        told = [params["collection_id"] for method, params in served.pair.news if method == "knowledge/indexed"]
        served.pair.end()
        await served.task
    assert wanted == [[]] * 2  # the first reading begins when the first scan has ended
    assert told == ["notes"]


@journey
async def test_a_process_that_only_watches_takes_no_look_without_a_reason(tmp_path: Path, monkeypatch) -> None:
    folder = write(tmp_path / "notes", {"a.md": "The walrus sleeps.\n"})
    den = Den(tmp_path / "den", config=QUICK)
    monkeypatch.setattr(pulse, "KNOWLEDGE_MS", 0)
    look, looks = KnowledgeHouse.look, list[float]()

    async def look_and_count(house: KnowledgeHouse, *, is_first: bool) -> float:
        looks.append(await look(house, is_first=is_first))
        return looks[-1]

    monkeypatch.setattr(KnowledgeHouse, "look", look_and_count)
    async with running(Options(home=den.home, config=den.config, log_level="error")) as app:
        served = Served(app)
        await served.pair.hello("ws_here")
        name = (await served.pair.call("knowledge/collections/add", path=str(folder)))["collection"]["collection_id"]
        seen = -1
        while seen != len(looks) or (await known_of(app, name)).state != "live":  # until three beats go without one
            seen = len(looks)
            for _ in range(3):
                await app.pulse.metronome.until(lambda: True)
        assert not app.pulse._has_reason()
        known = await known_of(app, name)
        assert known.scanned_at is not None
        assert looks[-1] == known.scanned_at + app.base.config.config.knowledge.scan_minutes * 60_000
        assert app.knowledge.needs_look(int(looks[-1]))
        await served.pair.call("settings/update", update={"knowledge": {"watch_enabled": False}})
        while (await known_of(app, name)).state != "polling":
            await app.pulse.metronome.until(lambda: True)
        assert len(looks) > seen
        served.pair.end()
        await served.task


def test_a_watch_that_is_refused_says_why(tmp_path: Path) -> None:
    mounts = tmp_path / "mountinfo"
    device = tmp_path.stat().st_dev
    line = f"36 35 {os.major(device)}:{os.minor(device)} / /somewhere rw - {{}} server:/x rw\n"
    mounts.write_text(line.format("nfs4"))
    assert is_on_network(str(tmp_path), mounts)
    mounts.write_text(line.format("ext4"))
    assert not is_on_network(str(tmp_path), mounts)


def test_knowledge_statement_40_a_path_is_due_when_it_is_quiet_or_was_noisy_for_long() -> None:
    quiet = QuietPaths(latest=10)
    quiet.note(["a", "b"], 0.0)
    quiet.note(["a"], 0.9)
    assert quiet.take(1.0, 1.0) == {"b"}
    assert quiet.wait(1.0, 1.0) == pytest.approx(0.9)
    for tenth in range(10, 100, 5):
        quiet.note(["a"], tenth / 10)
        assert quiet.take(tenth / 10, 1.0) == set()
    assert quiet.take(10.0, 1.0) == {"a"}
    assert quiet.wait(10.0, 1.0) is None


@journey
async def test_a_lost_folder_is_not_called_live_by_a_look_that_began_before(tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", {"a.md": "The walrus sleeps.\n"})
    den = Den(tmp_path / "den", config="[gateway.knowledge]\nwatch_enabled = false\n")
    async with running(Options(home=den.home, config=den.config, log_level="error")) as app:
        served = Served(app)
        await served.pair.hello("ws_here")
        name = (await served.pair.call("knowledge/collections/add", path=str(folder)))["collection"]["collection_id"]
        await served.pair.call("gateway/drain", timeout_ms=30_000)
        database = app.base.database
        seen = await database.read(lambda tx: find_collection(tx, name))
        assert seen is not None
        await database.write(lambda tx: set_state(tx, seen.id, "unavailable", "root_missing"))
        await database.write(lambda tx: change_state(tx, seen, "live", None))
        after = await database.read(lambda tx: find_collection(tx, name))
        assert after is not None
        assert (after.state, after.reason) == ("unavailable", "root_missing")
        await database.write(lambda tx: change_state(tx, after, "live", None))
        again = await database.read(lambda tx: find_collection(tx, name))
        assert again is not None
        assert (again.state, again.reason) == ("live", None)
        served.pair.end()
        await served.task


@journey
async def test_a_file_that_grows_rests_for_a_multiple_of_what_it_cost(tmp_path):
    """What changed meanwhile is told to be pending, and is read when the time is over; a drain reads it at once."""
    log = write(tmp_path / "notes", {"log.txt": "A line of the log.\n" * 20_000}) / "log.txt"

    async def row() -> dict[str, Any]:
        return (await client.request("knowledge/files", {"collection_id": name}))["files"][0]

    def grow() -> None:
        with log.open("a", encoding="utf-8") as file:
            file.write("One more line of the log.\n")

    async with Den(tmp_path / "den", config=QUICK).client() as client:
        name = await add(client, log.parent)
        await until_live(client, name)
        for _ in range(2):  # the second after an index that nobody asked for
            before, due = await row(), 0
            grow()
            while (now := await row())["sha256"] == before["sha256"]:
                due = max(due, now["next_run_at"] or 0)
            assert before["indexed_at"] < due <= now["indexed_at"]
        grow()
        while not await pending(client, name):
            pass
        await drain(client)
        assert (await row())["sha256"] == hashlib.sha256(log.read_bytes()).hexdigest()


@journey
async def test_a_drain_ends_beside_a_file_that_never_rests(tmp_path):
    """Its index takes longer than the half second for which changes are gathered: some wait whenever it is done."""
    folder = write(tmp_path / "notes", {"a.md": "A walrus.\n", "log.txt": "A line of the log.\n" * 50_000})
    is_over = threading.Event()
    async with Den(tmp_path / "den", config=QUICK).client() as client:
        name = await add(client, folder)
        await until_live(client, name)

        def grow() -> None:
            with (folder / "log.txt").open("a", encoding="utf-8", buffering=1) as log:
                while not is_over.wait(0.005):
                    log.write("One more line of the log.\n")

        writer = threading.Thread(target=grow)
        writer.start()
        try:
            while not await pending(client, name):  # until it is seen to grow
                pass
            drained = await client.request("gateway/drain", {"timeout_ms": 60_000})
            is_writing = writer.is_alive()
        finally:
            is_over.set()
            writer.join()
    assert drained["idle"]
    assert is_writing
