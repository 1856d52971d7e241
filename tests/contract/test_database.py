"""The database: what a transaction and a snapshot can do, and how its errors read."""

import asyncio
import errno
import threading
from pathlib import Path
from typing import Any

import apsw
import pytest
from small_store import ADD, adding, counting, failing, play

from gateway.store import database as database_module
from gateway.store import threads as threads_module
from gateway.store.database import Database
from gateway.store.sqlite import ReadTooLong, connect, sqlite_version, unavailable
from protocol.errors import CallerError, Defect, GatewayError, Refused, Unavailable
from protocol.seams.ports import Tx

# -- what a transaction can do ---------------------------------------------------------------------------------------


def test_writes_notes_and_reads(tmp_path: Path) -> None:
    async def scene(db: Database) -> None:
        assert await db.write(adding("a")) == 1
        assert await db.note(adding("b")) == 2
        assert await db.read(lambda tx: tx.all("SELECT id, a FROM t ORDER BY id")) == [(1, "a"), (2, "b")]
        assert await db.read(lambda tx: tx.one("SELECT a FROM t WHERE id = :id", {"id": 2})) == ("b",)
        assert await db.read(lambda tx: tx.one("SELECT a FROM t WHERE id = 9")) is None
        assert await db.read(lambda tx: [row[0] for row in tx.each("SELECT a FROM t ORDER BY a DESC")]) == ["b", "a"]
        assert await db.write(lambda tx: tx.run("UPDATE t SET a = a || 'x'")) == 2
        assert await db.write(lambda tx: tx.run("DELETE FROM t WHERE id = 7")) == 0
        assert await db.write(lambda tx: tx.all("DELETE FROM t RETURNING a")) == [("ax",), ("bx",)]

    play(scene, tmp_path)


def test_run_counts_rows_of_its_table_alone(tmp_path: Path) -> None:
    async def scene(db: Database) -> None:
        def tables(tx: Tx) -> None:
            tx.run("CREATE TABLE child (t INTEGER NOT NULL REFERENCES t (id) ON DELETE CASCADE) STRICT")
            tx.run("CREATE VIRTUAL TABLE f USING fts5 (x)")
            tx.run("CREATE TABLE log (x INTEGER) STRICT")
            tx.run("CREATE TRIGGER after_t AFTER INSERT ON t BEGIN INSERT INTO log VALUES (1), (2); END")

        await db.write(tables)
        assert await db.write(lambda tx: tx.run(ADD, ("a",))) == 1
        assert await db.write(lambda tx: tx.run("INSERT INTO child VALUES (1), (1), (1)")) == 3
        assert await db.write(lambda tx: tx.run("DELETE FROM t WHERE a = 'none'")) == 0
        assert await db.write(lambda tx: tx.run(ADD + " ON CONFLICT DO NOTHING", ("a",))) == 0
        assert await db.write(lambda tx: tx.run("INSERT INTO f (x) VALUES ('word')")) == 1
        assert await db.write(lambda tx: tx.run("DELETE FROM t")) == 1
        assert await db.read(lambda tx: tx.one("SELECT count(*) FROM child")) == (0,)
        assert await db.write(lambda tx: tx.run("CREATE TABLE more (x INTEGER) STRICT")) == 0

    play(scene, tmp_path)


@pytest.mark.parametrize("bindings", [{}, {"b": 1}, (), (1, 2)])
def test_bindings_that_do_not_fit_are_an_error(bindings: Any, tmp_path: Path) -> None:
    async def scene(db: Database) -> None:
        with pytest.raises((KeyError, GatewayError)):
            await db.read(lambda tx: tx.all("SELECT :a", bindings))

    play(scene, tmp_path)


def test_a_quoted_word_is_never_taken_for_text(tmp_path: Path) -> None:
    async def scene(db: Database) -> None:
        with pytest.raises(Unavailable):
            await db.read(lambda tx: tx.all('SELECT "no such column"'))

    play(scene, tmp_path)


def test_a_read_cannot_write_for_others(tmp_path: Path) -> None:
    async def scene(db: Database) -> None:
        await db.read(lambda tx: tx.run(ADD, ("a",)))
        assert await db.read(counting) == 0

    play(scene, tmp_path)


def test_each_connection_has_the_settings_that_the_promises_need(tmp_path: Path) -> None:
    async def scene(db: Database) -> None:
        def settings(tx: Tx) -> dict[str, Any]:
            names = ("journal_mode", "synchronous", "foreign_keys", "secure_delete", "temp_store", "busy_timeout")
            return {name: (tx.one(f"PRAGMA {name}") or (None,))[0] for name in names}

        common = {"journal_mode": "wal", "foreign_keys": 1, "secure_delete": 1, "temp_store": 2, "busy_timeout": 30_000}
        assert await db.write(settings) == common | {"synchronous": 2}
        assert await db.note(settings) == common | {"synchronous": 1}
        for _ in range(database_module.READERS):
            assert await db.read(settings) == common | {"synchronous": 1}

    play(scene, tmp_path)


def test_its_sqlite_is_new_enough_and_an_older_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sqlite_version() >= (3, 51, 3)
    monkeypatch.setattr(database_module, "sqlite_version", lambda: (3, 51, 2))
    with pytest.raises(Unavailable, match="older than"):
        Database(tmp_path / "x.db")


# -- reading ---------------------------------------------------------------------------------------------------------

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"


@pytest.mark.parametrize("deadline", [0.0, 0.05])
def test_a_long_statement_is_stopped_in_its_middle(deadline: float, tmp_path: Path) -> None:
    async def scene(db: Database) -> None:
        with pytest.raises(ReadTooLong) as caught:
            await db.read(lambda tx: tx.all(ENDLESS), deadline)
        assert caught.value.reason == "unavailable"
        assert caught.value.retryable
        for _ in range(database_module.READERS):
            assert await db.read(counting) == 0

    play(scene, tmp_path)


def test_the_deadline_without_one_is_two_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert threads_module.READ_SECONDS == 2.0
    monkeypatch.setattr(threads_module, "READ_SECONDS", 0.02)

    async def scene(db: Database) -> None:
        with pytest.raises(ReadTooLong):
            await db.read(lambda tx: tx.all(ENDLESS))

    play(scene, tmp_path)


def test_nobody_is_promised_more_time_than_a_snapshot_has(tmp_path: Path) -> None:
    async def scene(db: Database) -> None:
        assert await db.read(counting, database_module.READ_SECONDS) == 0
        with pytest.raises(ValueError, match="short ones"):
            await db.read(counting, database_module.READ_SECONDS + 0.1)

    play(scene, tmp_path)


def test_a_read_is_one_snapshot_and_sees_what_was_acknowledged(tmp_path: Path) -> None:
    async def scene(db: Database) -> None:
        await db.write(adding("a"))
        loop = asyncio.get_running_loop()
        begun, written = asyncio.Event(), threading.Event()

        def work(tx: Tx) -> tuple[int, int]:
            first = counting(tx)
            loop.call_soon_threadsafe(begun.set)
            written.wait(10)
            return first, counting(tx)

        reading = asyncio.ensure_future(db.read(work))
        await begun.wait()
        await db.write(adding("b"))
        assert await db.read(counting) == 2
        written.set()
        assert await reading == (1, 1)

    play(scene, tmp_path)


def test_an_error_of_a_read_travels_and_leaves_no_snapshot_open(tmp_path: Path) -> None:
    async def scene(db: Database) -> None:
        error = CallerError.missing("thing")
        for _ in range(4):
            with pytest.raises(CallerError) as caught:
                await db.read(failing(error))
            assert caught.value is error
        await db.write(adding("a"))
        assert await db.truncate_wal() is True

    play(scene, tmp_path)


def test_the_data_version_tells_of_commits(tmp_path: Path) -> None:
    async def scene(db: Database) -> None:
        first = await db.data_version()
        assert await db.data_version() == first
        other = connect(db.path, synchronous="full")
        other.execute(ADD, ("a",))
        other.close()
        assert await db.data_version() != first

    play(scene, tmp_path)


# -- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (apsw.FullError(), "storage_full"),
        (OSError(errno.ENOSPC, "x"), "storage_full"),
        (apsw.ReadOnlyError(), "storage_read_only"),
        (OSError(errno.EFBIG, "x"), "storage_full"),
        (apsw.BusyError(), "overloaded"),
        (apsw.LockedError(), "overloaded"),
        (apsw.IOError("/secret"), "unavailable"),
        (apsw.CorruptError("/secret"), "unavailable"),
        (apsw.SQLError("secret"), "unavailable"),
        (apsw.InterruptError(), "unavailable"),
        (ValueError("secret"), "internal"),
        (OSError(errno.EIO, "x"), "internal"),
        (Refused("conflict"), "conflict"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_the_words_of_the_contract(error: Exception, reason: str) -> None:
    told = unavailable(error)
    assert told.reason == reason
    assert "secret" not in told.message
    assert isinstance(told, Defect) == (reason == "internal")
