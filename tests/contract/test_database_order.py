"""The database: who waits for whom."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from small_store import adding, counting, failing, hold, play

from gateway.store import database as database_module
from gateway.store import priority as foreground_module
from gateway.store.database import READERS, Database
from gateway.store.priority import Foreground
from protocol.errors import Unavailable
from protocol.seams.ports import Tx

T = TypeVar("T")

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
        assert await db.calm() is False
        held, go_on = await hold(db)
        giving_way = asyncio.ensure_future(db.calm())
        assert await db.read(counting) == 0
        assert not giving_way.done()
        go_on.set()
        await held
        assert await giving_way is True

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
        with Foreground().count_waiting_caller():
            second = asyncio.ensure_future(db.read(lambda _: served.append("second")))
            await asyncio.sleep(0)
        go_on.set()
        await asyncio.gather(held, first, second)
        assert served == order

    play(scene, tmp_path)


# -- the right of way ------------------------------------------------------------------------------------------------


def asked_by_a_person(db: Database, work: Callable[[Tx], T]) -> "asyncio.Future[T]":
    with Foreground().count_waiting_caller():
        return asyncio.ensure_future(db.read(work))


@pytest.mark.parametrize("ahead", [3600.0, 0.01])
def test_while_somebody_waits_for_a_read_the_others_wait_so_long_and_no_longer(
    ahead: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreground_module, "HEAD_START_SECONDS", ahead)

    async def scene(db: Database) -> None:
        begun, go_on, served = threading.Event(), threading.Event(), list[str]()
        held = asked_by_a_person(db, lambda _: (begun.set(), go_on.wait(10), served.append("held")))
        await asyncio.to_thread(begun.wait, 10)
        other = asyncio.ensure_future(db.read(lambda _: served.append("other")))
        if ahead < 1:
            await other
        else:
            assert await asked_by_a_person(db, counting) == 0  # on the other reader, which has seen `other` in its line
        assert ("other" in served) == (ahead < 1)
        go_on.set()
        await asyncio.gather(held, other)
        assert set(served) == {"held", "other"}

    play(scene, tmp_path)


@pytest.mark.parametrize("case", ["lets it go first", "not for ever", "not while others wait", "not when it is short"])
def test_a_long_write_lets_a_read_go_first_that_somebody_waits_for(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreground_module, "COURTESY_SECONDS", 0.01 if case == "not for ever" else 3600.0)
    monkeypatch.setattr(foreground_module, "SHORT_SECONDS", 3600.0 if case == "not when it is short" else 0.0)
    waits, wait = threading.Event(), foreground_module.RightOfWay.wait

    def told_wait(way: foreground_module.RightOfWay, seconds: float) -> float:
        waits.set()
        return wait(way, seconds)

    monkeypatch.setattr(foreground_module.RightOfWay, "wait", told_wait)

    async def scene(db: Database) -> None:
        begun, may_write, written, order = threading.Event(), threading.Event(), threading.Event(), list[str]()
        gave_way: list[bool] = []

        def write(tx: Tx) -> None:
            begun.set()
            may_write.wait(10)
            adding("a")(tx)
            gave_way.append(waits.is_set())  # a write behind it may do so later
            order.append("write")
            written.set()

        def read(_tx: Tx) -> None:
            may_write.set()
            (waits if case == "lets it go first" else written).wait(10)
            order.append("read")

        writes: list[asyncio.Future[Any]] = [asyncio.ensure_future(db.write(write))]
        await asyncio.to_thread(begun.wait, 10)
        if case == "not while others wait":
            writes.append(asyncio.ensure_future(db.write(adding("b"))))
            await asyncio.sleep(0)
        await asyncio.gather(asked_by_a_person(db, read), *writes)
        assert order == (["read", "write"] if case == "lets it go first" else ["write", "read"])
        assert gave_way == [case in {"lets it go first", "not for ever"}]

    play(scene, tmp_path)
