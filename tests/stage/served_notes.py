"""A collection of notes in a process that watches nothing, and its rows as failures and looks leave them."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from in_process import Served
from spawned import Den

from gateway.home.starting import Options
from gateway.process import running
from gateway.wiring import App
from knowledge.rows.collections import find_collection
from knowledge.rows.files import FileRow, fail_file, find_file, miss_file, renew_files
from protocol.seams.ports import Tx

LATER = 2**50
"""A time at which nothing is due in any test."""


class ServedNotes:
    """The collection `notes` of a folder, read whole."""

    def __init__(self, app: App, served: Served, folder: Path) -> None:
        self.folder = folder
        self.call = served.pair.call
        self._app = app

    async def drain(self) -> None:
        assert (await self.call("gateway/drain", timeout_ms=30_000))["idle"]

    async def files(self, **more: Any) -> list[dict[str, Any]]:
        return (await self.call("knowledge/files", collection_id="notes", **more))["files"]

    async def fail(self, path: str, error: str, *, deaths: int = 0) -> None:
        """Leave a file as a failed reading does: known by its present stamp, it waits for its next attempt."""
        seen = (self.folder / path).stat()
        stamp = {"device": seen.st_dev, "inode": seen.st_ino, "size": seen.st_size, "mtime_ns": seen.st_mtime_ns}

        def change(tx: Tx, file: FileRow) -> None:
            renew_files(tx, [{"id": file.id, "kind": "markdown", "language": None, "now": 0, **stamp}])
            values = {"id": file.id, "state": "pending", "reason": None, "error": error}
            fail_file(tx, {**values, "attempts": 1, "deaths": deaths, "next_run_at": LATER})

        await self._change(path, change)

    async def miss(self, path: str) -> None:
        """Leave a file as a look does that did not find it."""
        await self._change(path, lambda tx, file: miss_file(tx, file.id, None))

    async def _change(self, path: str, change: Callable[[Tx, FileRow], object]) -> None:
        def write(tx: Tx) -> None:
            known = find_collection(tx, "notes")
            file = find_file(tx, known.id, path) if known is not None else None
            assert file is not None
            change(tx, file)

        await self._app.base.database.write(write)


@asynccontextmanager
async def serve_notes(folder: Path, den: Den) -> AsyncIterator[ServedNotes]:
    """Serve a folder as the collection `notes` until the block ends."""
    async with running(Options(home=den.home, config=den.config, log_level="error")) as app:
        served = Served(app)
        await served.pair.hello("ws_here")
        notes = ServedNotes(app, served, folder)
        await notes.call("knowledge/collections/add", path=str(folder), collection_id="notes")
        await notes.drain()
        yield notes
        served.pair.end()
        await served.task
