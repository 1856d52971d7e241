"""The database: writes that share a commit, and what happens after it."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from small_store import ADD, COUNT, adding, counting, failing, grouped, hold, play

from gateway.store.database import Database
from gateway.store.sqlite import connect
from protocol.errors import GatewayError, Refused, Unavailable
from protocol.seams.ports import Tx

# -- grouping --------------------------------------------------------------------------------------------------------


def test_writes_that_wait_share_a_commit_and_each_gets_its_own_result(tmp_path: Path) -> None:
    async def scene(db: Database) -> None:
        before = db.durable_commits
        assert await grouped(db, *(adding(str(n)) for n in range(100))) == list(range(1, 101))
        assert db.durable_commits - before == 2
        assert await db.read(counting) == 100

    play(scene, tmp_path)


def test_a_group_is_bounded(tmp_path: Path) -> None:
    async def scene(db: Database) -> None:
        before = db.durable_commits
        await grouped(db, *(adding(str(n)) for n in range(300)))
        assert db.durable_commits - before == 4  # the one that held the others, 128, 128, 44

    play(scene, tmp_path)


def test_writes_one_after_another_are_durable_one_by_one(tmp_path: Path) -> None:
    async def scene(db: Database) -> None:
        for n in range(5):
            before = db.durable_commits
            await db.write(adding(str(n)))
            assert db.durable_commits == before + 1
            await db.note(adding(f"note {n}"))
            await db.read(counting)
            assert db.durable_commits == before + 1

    play(scene, tmp_path)


def test_an_exception_rolls_back_its_own_work_alone(tmp_path: Path) -> None:
    async def scene(db: Database) -> None:
        error = ValueError("mine")
        refused = Refused("conflict")
        found = await grouped(
            db, adding("a"), failing(error, after="gone"), adding("b"), failing(refused, after="gone too"), adding("c")
        )
        assert found == [1, error, 2, refused, 3]
        assert await db.read(lambda tx: tx.all("SELECT a FROM t ORDER BY a")) == [("a",), ("b",), ("c",)]

    play(scene, tmp_path)


def test_who_is_alone_is_rolled_back_whole(tmp_path: Path) -> None:
    async def scene(db: Database) -> None:
        await db.write(adding("a"))
        for error in (ValueError("mine"), Refused("conflict"), apsw.ConstraintError()):
            with pytest.raises(type(error)):
                await db.write(failing(error, after="gone"))
        with pytest.raises(Unavailable):
            await db.write(failing(apsw.SQLError(), after="gone"))
        assert await db.write(adding("b")) == 2
        assert await db.read(lambda tx: tx.all("SELECT a FROM t ORDER BY a")) == [("a",), ("b",)]

    play(scene, tmp_path)


def test_a_broken_constraint_travels_as_it_is_and_breaks_no_other(tmp_path: Path) -> None:
    async def scene(db: Database) -> None:
        one, two, three = await grouped(db, adding("a"), adding("a"), adding("b"))
        assert (one, three) == (1, 2)
        assert isinstance(two, apsw.ConstraintError)

        def caught(tx: Tx) -> str:
            tx.insert(ADD, ("c",))
            try:
                tx.insert(ADD, ("a",))
            except apsw.ConstraintError:
                return "known"
            return "new"

        assert await db.write(caught) == "known"
        assert await db.read(counting) == 3

    play(scene, tmp_path)


def test_wrong_sql_is_unavailable_without_its_text(tmp_path: Path) -> None:
    async def scene(db: Database) -> None:
        one, two = await grouped(db, lambda tx: tx.run("SELEKT secret FROM nowhere"), adding("b"))
        assert isinstance(one, Unavailable)
        assert "SELEKT" not in one.message
        assert "secret" not in one.message
        assert two == 1

    play(scene, tmp_path)


def test_an_error_that_ends_the_transaction_is_told_to_all_of_the_group(tmp_path: Path) -> None:
    async def scene(db: Database) -> None:
        found = await grouped(db, adding("a"), lambda tx: tx.run("ROLLBACK"), adding("b"))
        assert all(isinstance(error, GatewayError) for error in found)
        assert await db.read(counting) == 0
        assert await db.write(adding("a")) == 1

    play(scene, tmp_path)


def test_work_that_is_cancelled_before_it_began_is_not_done(tmp_path: Path) -> None:
    async def scene(db: Database) -> None:
        held, go_on = await hold(db)
        waiting = [asyncio.ensure_future(db.write(adding(text))) for text in ("a", "b", "c")]
        await asyncio.sleep(0)
        waiting[1].cancel()
        await asyncio.sleep(0)
        go_on.set()
        await held
        await asyncio.gather(*waiting, return_exceptions=True)
        assert await db.read(lambda tx: tx.all("SELECT a FROM t")) == [("a",), ("c",)]

    play(scene, tmp_path)


# -- after the commit ------------------------------------------------------------------------------------------------


def test_after_commit_is_called_on_the_loop_once_it_is_committed_and_before_the_answer(tmp_path: Path) -> None:
    async def scene(db: Database) -> None:
        happened: list[Any] = []
        seen = connect(db.path, synchronous="normal")

        def called() -> None:
            happened.append((threading.get_ident(), seen.execute(COUNT).fetchall()[0][0]))

        def work(tx: Tx) -> None:
            tx.insert(ADD, ("a",))
            tx.after_commit(called)
            tx.after_commit(lambda: happened.append("second"))
            assert not happened

        await db.write(work)
        assert happened == [(threading.get_ident(), 1), "second"]
        seen.close()

    play(scene, tmp_path)


def test_after_commit_is_not_called_for_what_was_rolled_back(tmp_path: Path) -> None:
    async def scene(db: Database) -> None:
        happened: list[str] = []

        def telling(text: str, error: Exception | None = None) -> Callable[[Tx], None]:
            def work(tx: Tx) -> None:
                tx.after_commit(lambda: happened.append(text))
                if error is not None:
                    raise error

            return work

        await grouped(db, telling("a"), telling("b", ValueError()), telling("c"))
        assert happened == ["a", "c"]
        await grouped(db, telling("d"), lambda tx: tx.run("ROLLBACK"), telling("e"))
        assert happened == ["a", "c"]

    play(scene, tmp_path)


def test_a_failing_call_after_the_commit_takes_no_answer_away(tmp_path: Path) -> None:
    async def scene(db: Database) -> None:
        happened: list[str] = []

        def fails() -> None:
            raise KeyError

        def work(tx: Tx) -> int:
            tx.after_commit(fails)
            tx.after_commit(lambda: happened.append("still called"))
            return tx.insert(ADD, ("a",))

        assert await db.write(work) == 1
        assert happened == ["still called"]

    play(scene, tmp_path)
