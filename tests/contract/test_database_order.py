"""The database: who waits for whom."""

import asyncio
import threading
from pathlib import Path

import pytest
from small_store import adding, counting, failing, hold, play

from gateway import database as database_module
from gateway import foreground as foreground_module
from gateway.database import READERS, Database
from gateway.foreground import Foreground
from protocol.errors import Unavailable
from protocol.ports import Tx

# -- traces ----------------------------------------------------------------------------------------------------------


def test_a_trace_is_not_waited_for_and_what_is_written_later_comes_after_it(tmp_path: Path) -> None:
    async def scene(db: Database) -> None:
        held, go_on = await hold(db)
        db.trace(adding("trace"))
        assert await db.read(counting) == 0  # a read does not wait for a writer that is at work
        later = asyncio.ensure_future(db.write(counting))
        await asyncio.sleep(0)
        go_on.set()
        await held
        assert await later == 1
        db.trace(adding("another"))
        assert await db.note(counting) == 2

    play(scene, tmp_path)


def test_a_trace_that_cannot_be_written_fails_nobody(tmp_path: Path) -> None:
    async def scene(db: Database) -> None:
        for error in (Unavailable("storage_full"), ValueError("mine")):
            db.trace(failing(error, after="gone"))
        db.trace(adding("a"))
        assert await db.write(counting) == 1
        db.close()
        db.trace(adding("b"))

    play(scene, tmp_path)


# -- giving way ------------------------------------------------------------------------------------------------------


def test_who_gives_way_goes_on_when_nobody_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_module, "CALM_SECONDS", 3600.0)

    async def scene(db: Database) -> None:
        await db.calm()
        held, go_on = await hold(db)
        giving_way = asyncio.ensure_future(db.calm())
        assert await db.read(counting) == 0
        assert not giving_way.done()
        go_on.set()
        await held
        await giving_way

    play(scene, tmp_path)


def test_who_gives_way_goes_on_in_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_module, "CALM_SECONDS", 0.01)

    async def scene(db: Database) -> None:
        held, go_on = await hold(db)
        await db.calm()
        assert not held.done()
        go_on.set()
        await held

    play(scene, tmp_path)


# -- readers ---------------------------------------------------------------------------------------------------------


def test_a_long_read_holds_up_no_other_while_a_reader_is_free(tmp_path: Path) -> None:
    async def scene(db: Database) -> None:
        go_on = threading.Event()

        def long(_tx: Tx) -> bool:
            return go_on.wait(10)

        held = [asyncio.ensure_future(db.read(long)) for _ in range(READERS - 1)]
        assert await asyncio.gather(*(db.read(counting) for _ in range(3 * READERS))) == [0] * 3 * READERS
        go_on.set()
        assert all(await asyncio.gather(*held))

    play(scene, tmp_path)


@pytest.mark.parametrize(("ahead", "order"), [(60.0, ["second", "first"]), (0.0, ["first", "second"])])
def test_what_somebody_waits_for_is_read_as_if_it_had_been_asked_earlier(
    ahead: float, order: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreground_module, "HEAD_START_SECONDS", ahead)
    monkeypatch.setattr(database_module, "READERS", 1)

    async def scene(db: Database) -> None:
        go_on, served = threading.Event(), list[str]()
        held = asyncio.ensure_future(db.read(lambda _: go_on.wait(10)))
        first = asyncio.ensure_future(db.read(lambda _: served.append("first")))
        await asyncio.sleep(0)
        with Foreground().asked():
            second = asyncio.ensure_future(db.read(lambda _: served.append("second")))
            await asyncio.sleep(0)
        go_on.set()
        await asyncio.gather(held, first, second)
        assert served == order

    play(scene, tmp_path)
