"""Files that move more than once, or while they are looked at: their ids, entities and addresses go with them."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from in_process import Served
from spawned import Den, journey, on_linux
from test_knowledge import paths, write

from gateway import pulse
from gateway.home.starting import Options
from gateway.process import running
from gateway.wiring import App
from knowledge.index.reading import FileReader
from knowledge.rows.collections import find_collection
from knowledge.scan import watching
from knowledge.scan.scanning import Scanner
from knowledge.scan.watching import QuietPaths
from knowledge.walk.walking import Walk

NAMES = ("ann.md", "bob.md", "cid.md")
NOON = 1_700_000_000_000
SLOW = "[gateway.knowledge]\ndebounce_ms = 60000\n"


class Notes:
    """A collection of the folder `d` with three files and of one more file, in a process."""

    def __init__(self, app: App, served: Served, root: Path) -> None:
        self.app = app
        self.root = root
        self.call = served.pair.call

    async def add(self, *, watch: bool) -> None:
        for name in NAMES:
            write(self.root, {f"d/{name}": f"# Of {name}\n\nThe walrus of {name}.\n"})
        write(self.root, {"other.md": "A heron.\n", "m/more.md": "Another heron.\n"})
        await self.call("knowledge/collections/add", path=str(self.root), collection_id="notes", watch=watch)
        await self.drain()
        self.ids = await self.ids_of_files()
        self.hit = (await self.search())["hits"][0]

    async def drain(self) -> None:
        assert (await self.call("gateway/drain", timeout_ms=30_000))["idle"]

    async def scan(self) -> None:
        await self.call("knowledge/collections/scan", collection_id="notes")
        await self.drain()

    async def search(self, **more: Any) -> dict[str, Any]:
        return await self.call("knowledge/search", query="walrus", source="file", max_results=50, **more)

    async def files(self) -> list[dict[str, Any]]:
        found = (await self.call("knowledge/files", collection_id="notes", limit=100))["files"]
        return [one for one in found if one["path"] not in {"other.md", "m/more.md"}]

    async def ids_of_files(self) -> list[str]:
        return sorted(one["file_id"] for one in await self.files())

    async def events(self) -> list[str]:
        return [one["event"] for one in (await self.call("knowledge/changes", limit=100))["events"]]

    async def state(self) -> str:
        return (await self.call("knowledge/collections/get", collection_id="notes"))["collection"]["state"]

    async def until_at(self, folder: str) -> None:
        """Return when files lie in a folder; nothing but a scan that was asked for is waited for."""
        while not any(one["path"].startswith(f"{folder}/") for one in await self.files()):
            pass

    async def move_by_scan(self) -> None:
        """Rename `d` to `e`, and return when a scan has moved the files; the watch may not know of it."""
        (self.root / "d").rename(self.root / "e")
        await self.call("knowledge/collections/scan", collection_id="notes")
        await self.until_at("e")

    async def check(self, folder: str) -> None:
        """Require that all known of the files is known of those in this folder, and that there are no others."""
        there = [f"{folder}/{name}" for name in NAMES]
        assert sorted((one["path"], one["state"]) for one in await self.files()) == [(one, "indexed") for one in there]
        assert await self.ids_of_files() == self.ids
        assert sorted(paths(await self.search())) == there
        assert (await self.search(entity=self.hit["entities"][0]["entity_id"]))["hits"]
        assert (await self.call("knowledge/read", address=self.hit["address"]))["state"] == "moved"
        assert not {"added", "removed"} & set(await self.events())


@asynccontextmanager
async def notes_in(
    folder: Path, *, watch: bool = False, config: str = "", clock: Path | None = None
) -> AsyncIterator[Notes]:
    den = Den(folder / "den", config=config)
    async with running(Options(home=den.home, config=den.config, log_level="error", clock_file=clock)) as app:
        served = Served(app)
        await served.pair.hello("ws_here")
        notes = Notes(app, served, folder / "notes")
        await notes.add(watch=watch)
        yield notes
        served.pair.end()
        await served.task


@asynccontextmanager
async def watched_notes_in(folder: Path, monkeypatch: Any) -> AsyncIterator[Notes]:
    """The same with a watch that looks at what was reported only in a drain."""
    monkeypatch.setattr(watching, "QuietPaths", partial(QuietPaths, latest=600.0))
    async with notes_in(folder, watch=True, config=SLOW) as notes:
        watchers = notes.app.knowledge.house.watchers
        known = await notes.app.base.database.read(lambda tx: find_collection(tx, "notes"))
        assert known is not None
        while not watchers.state_of(known).folders:
            await notes.drain()
        yield notes


@on_linux
@journey
async def test_knowledge_statement_05_a_folder_that_a_scan_moved_moves_on_before_its_watch_knows_it(
    tmp_path: Path, monkeypatch: Any
) -> None:
    async with watched_notes_in(tmp_path, monkeypatch) as notes:
        await notes.move_by_scan()
        (notes.root / "e").rename(notes.root / "f")
        while "f" not in {one["path"][0] for one in await notes.files()}:
            await notes.drain()
        await notes.check("f")
        assert (await notes.events()).count("moved") == 2 * len(NAMES)


@on_linux
@journey
async def test_knowledge_statement_05_a_file_is_looked_for_where_it_was_whatever_was_reported(
    tmp_path: Path, monkeypatch: Any
) -> None:
    """Of a move between folders the one that it came from is reported alone, or the other one alone."""
    async with notes_in(tmp_path) as notes:
        (notes.root / "d").rename(notes.root / "e")
        await notes.app.knowledge.house.scanner.look_at("notes", ["", "d"], {"", "d", "m"})
        (notes.root / "e").rename(notes.root / "m" / "f")
        await notes.app.knowledge.house.scanner.look_at("notes", ["m"], {"", "d", "m"})
        await notes.drain()
        await notes.check("m/f")
        (notes.root / "m" / "f").rename(notes.root / "e")
        await notes.app.knowledge.house.scanner.look_at("notes", ["m/f"], {"", "m", "m/f"})
        await notes.drain()
        await notes.check("e")


@on_linux
@journey
async def test_files_of_a_folder_that_its_watch_never_knew_are_missed_when_it_goes(
    tmp_path: Path, monkeypatch: Any
) -> None:
    async with watched_notes_in(tmp_path, monkeypatch) as notes:
        await notes.move_by_scan()
        shutil.rmtree(notes.root / "e")
        write(notes.root, {"after.md": "A walrus.\n"})
        while "after.md" not in {one["path"] for one in await notes.files()}:
            await notes.drain()
        await notes.drain()
        assert [one["path"] for one in await notes.files()] == ["after.md"]


@journey
async def test_knowledge_statement_05_a_folder_that_moves_behind_a_scan_is_no_other(
    tmp_path: Path, monkeypatch: Any
) -> None:
    async with notes_in(tmp_path) as notes:
        look = Walk._look
        (notes.root / "d").rename(notes.root / "z")
        await notes.scan()

        def look_and_move(walk: Walk, folder: str, above: Any) -> Any:
            if folder == "z" and (notes.root / "z").exists():
                (notes.root / "z").rename(notes.root / "m" / "a")  # the scan has been there
            return look(walk, folder, above)

        monkeypatch.setattr(Walk, "_look", look_and_move)
        await notes.scan()
        await notes.check("m/a")


@journey
async def test_knowledge_statement_05_a_folder_that_moves_behind_a_look_is_no_other(
    tmp_path: Path, monkeypatch: Any
) -> None:
    async with notes_in(tmp_path) as notes:
        look = Walk._look

        def look_and_move(walk: Walk, folder: str, above: Any) -> Any:
            if folder == "d" and (notes.root / "d").exists():
                (notes.root / "d").rename(notes.root / "a")
            return look(walk, folder, above)

        monkeypatch.setattr(Walk, "_look", look_and_move)
        await notes.app.knowledge.house.scanner.look_at("notes", ["d", ""], {"", "d", "m"})
        await notes.drain()
        await notes.check("a")


@journey
async def test_a_file_that_is_deleted_is_no_reason_for_a_scan(tmp_path: Path, monkeypatch: Any) -> None:
    """A root with nothing but folders in it is not empty; were it, the drive might be lost."""
    async with notes_in(tmp_path) as notes:
        (notes.root / "other.md").unlink()
        await notes.scan()
        monkeypatch.setattr(Scanner, "scan", None)
        (notes.root / "d" / NAMES[0]).unlink()
        await notes.app.knowledge.house.scanner.look_at("notes", ["d"], {"", "d", "m"})
        await notes.drain()
        assert [one["path"] for one in await notes.files()] == [f"d/{name}" for name in NAMES[1:]]


@journey
async def test_a_scan_misses_no_file_that_another_process_has_found_at_its_new_place(
    tmp_path: Path, monkeypatch: Any
) -> None:
    async with notes_in(tmp_path) as notes:
        house, end = notes.app.knowledge.house, Scanner._end
        other = Scanner(notes.app.knowledge._means, house.vectors, notes.app.knowledge.notices)

        async def end_late(scanner: Scanner, *given: Any) -> None:
            if (notes.root / "e").exists():
                await other.look_at("notes", ["", "d"], {"", "d", "m"})
                (notes.root / "e").rename(notes.root / "f")
                await other.look_at("notes", ["", "e"], {"", "e", "m"})
            await end(scanner, *given)

        monkeypatch.setattr(Scanner, "_end", end_late)
        (notes.root / "d").rename(notes.root / "e")
        await notes.scan()
        monkeypatch.undo()
        await notes.check("f")


@journey
async def test_a_scan_and_a_look_of_one_collection_take_turns(tmp_path: Path, monkeypatch: Any) -> None:
    """A scan stores at its end what it saw; a look in between would move the files on to where they are."""
    async with notes_in(tmp_path) as notes:
        scanner, end = notes.app.knowledge.house.scanner, Scanner._end
        looks: list[Any] = []

        async def end_late(scanner: Scanner, *given: Any) -> None:
            if (notes.root / "e").exists():
                (notes.root / "e").rename(notes.root / "f")
                notes.app.spawner.spawn(look, "look")
            await end(scanner, *given)

        async def look() -> None:
            looks.append(await scanner.look_at("notes", ["", "d", "e"], {"", "d", "m"}))

        monkeypatch.setattr(Scanner, "_end", end_late)
        (notes.root / "d").rename(notes.root / "e")
        await notes.scan()
        while not looks:
            await notes.drain()
        await notes.drain()
        await notes.check("f")


@journey
async def test_what_waits_where_its_collection_was_is_read_where_that_is_now(tmp_path: Path, monkeypatch: Any) -> None:
    """The reading that is at work when a collection gets another folder has that of before, and reads no more of it."""
    async with notes_in(tmp_path) as notes:
        read_some, has_moved = FileReader._read_some, list[bool]()

        async def read_late(reader: FileReader, *given: Any) -> Any:
            if not has_moved:
                has_moved.append(True)
                await notes.call("knowledge/collections/update", collection_id="notes", path=str(notes.root / "d"))
                while "new.md" not in {one["path"] for one in await notes.files()}:
                    pass  # until its scan has been there
            return await read_some(reader, *given)

        monkeypatch.setattr(FileReader, "_read_some", read_late)
        write(notes.root, {"d/new.md": "A walrus.\n"})
        await notes.scan()
        await notes.drain()
        there = [(name, "indexed") for name in (*NAMES, "new.md")]
        assert sorted((one["path"], one["state"]) for one in await notes.files()) == there


async def lose(notes: Notes) -> None:
    """Take the folder away, until that is known, and bring it back."""
    notes.root.rename(notes.root.with_name("away"))
    await notes.scan()
    assert await notes.state() == "unavailable"
    notes.root.with_name("away").rename(notes.root)


@journey
async def test_knowledge_statement_07_a_folder_that_is_back_is_found_by_a_search_or_a_read(
    tmp_path: Path, monkeypatch: Any
) -> None:
    async with notes_in(tmp_path) as notes:
        monkeypatch.setattr(pulse.Pulse, "_may_look_at_files", lambda *_given: False)
        await lose(notes)
        assert not (await notes.search())["hits"]
        while await notes.state() == "unavailable":
            await notes.drain()
        assert len((await notes.search())["hits"]) == len(NAMES)
        await lose(notes)
        assert (await notes.call("knowledge/read", address=notes.hit["address"]))["state"] == "same"
        await notes.drain()
        assert len((await notes.search())["hits"]) == len(NAMES)


@journey
async def test_knowledge_statement_07_a_folder_that_is_back_is_noticed_within_seconds(
    tmp_path: Path, monkeypatch: Any
) -> None:
    scan, scans = Scanner.scan, list[int]()

    async def scan_and_count(scanner: Scanner, handle: Any) -> None:
        scans.append(int(clock.read_text()))
        await scan(scanner, handle)

    monkeypatch.setattr(Scanner, "scan", scan_and_count)
    clock = tmp_path / "clock"
    clock.write_text(str(NOON))
    async with notes_in(tmp_path, clock=clock) as notes:
        notes.root.rename(notes.root.with_name("away"))
        await notes.scan()
        for second in range(0, 200, 2):
            clock.write_text(str(NOON + second * 1000))
            await notes.app.pulse.beat()
        await notes.drain()
        assert await notes.state() == "unavailable"
        assert max(scans) < NOON + 20_000  # while it is away nothing is scanned
        notes.root.with_name("away").rename(notes.root)
        clock.write_text(str(NOON + 200_000))
        await notes.app.pulse.beat()
        while await notes.state() == "unavailable":
            await notes.drain()
        assert len((await notes.search())["hits"]) == len(NAMES)
