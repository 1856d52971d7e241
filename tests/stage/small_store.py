"""A database with one table, and writes that wait for each other, for the tests of the database."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio

from gateway.store.database import Database
from gateway.store.sqlite import connect
from protocol.seams.ports import Tx

TABLES = "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT NOT NULL UNIQUE) STRICT"
ADD = "INSERT INTO t (a) VALUES (?)"
COUNT = "SELECT count(*) FROM t"


def make(path: Path) -> Database:
    connection = connect(path, synchronous="full")
    connection.execute(TABLES)
    connection.close()
    return Database(path)


def play(
    scene: Callable[[Database], Awaitable[None]], tmp_path: Path, opened: Callable[[Path], Database] | None = None
) -> None:
    """A scene on a database of its own: the small one, or what `opened` makes of the path."""

    async def main() -> None:
        db = (opened or make)(tmp_path / "x.db")
        try:
            with anyio.fail_after(120):
                await scene(db)
        finally:
            db.close()

    anyio.run(main)


def adding(text: str) -> Callable[[Tx], int]:
    return lambda tx: tx.insert(ADD, (text,))


def counting(tx: Tx) -> int:
    row = tx.one(COUNT)
    assert row is not None
    return row[0]


async def hold(db: Database) -> tuple["asyncio.Task[None]", threading.Event]:
    """A write that keeps the writer busy until the event is set, so that what follows is a group."""
    loop, begun, go_on = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    def work(_tx: Tx) -> None:
        loop.call_soon_threadsafe(begun.set)
        go_on.wait(10)

    held = asyncio.ensure_future(db.write(work))
    await begun.wait()
    return held, go_on


async def grouped(db: Database, *works: Callable[[Tx], Any]) -> list[Any]:
    """Have all of them wait behind one write; their results and errors in order."""
    held, go_on = await hold(db)
    waiting = [asyncio.ensure_future(db.write(work)) for work in works]
    await asyncio.sleep(0)
    go_on.set()
    await held
    return await asyncio.gather(*waiting, return_exceptions=True)


def failing(error: Exception, *, after: str | None = None) -> Callable[[Tx], None]:
    def work(tx: Tx) -> None:
        if after is not None:
            tx.insert(ADD, (after,))
        raise error

    return work
