"""The database's promises: durable, grouped, alone with its own failure, never locked, never lying."""

import asyncio
import errno
import json
import subprocess
import sys
import textwrap
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import apsw
import pytest

from gateway import database as database_module
from gateway.database import Database, ReadTooLong, connect, sqlite_version, unavailable
from protocol.errors import CallerError, Defect, GatewayError, Refused, Unavailable
from protocol.ports import Tx

TABLES = "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT NOT NULL UNIQUE) STRICT"
ADD = "INSERT INTO t (a) VALUES (?)"
COUNT = "SELECT count(*) FROM t"


def make(path: Path) -> Database:
    connection = connect(path, synchronous="full")
    connection.execute(TABLES)
    connection.close()
    return Database(path)


def play(scene: Callable[[Database], Awaitable[None]], tmp_path: Path) -> None:
    async def main() -> None:
        db = make(tmp_path / "x.db")
        try:
            with anyio.fail_after(20):
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


# -- grouping --------------------------------------------------------------------------------------------------------


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


def failing(error: Exception, *, after: str | None = None) -> Callable[[Tx], None]:
    def work(tx: Tx) -> None:
        if after is not None:
            tx.insert(ADD, (after,))
        raise error

    return work


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

        def work(tx: Tx) -> int:
            tx.after_commit({}.popitem)
            tx.after_commit(lambda: happened.append("still called"))
            return tx.insert(ADD, ("a",))

        assert await db.write(work) == 1
        assert happened == ["still called"]

    play(scene, tmp_path)


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
    assert database_module.READ_SECONDS == 2.0
    monkeypatch.setattr(database_module, "READ_SECONDS", 0.02)

    async def scene(db: Database) -> None:
        with pytest.raises(ReadTooLong):
            await db.read(lambda tx: tx.all(ENDLESS))

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


# -- the files -------------------------------------------------------------------------------------------------------


def test_the_wal_is_cut_unless_someone_reads(tmp_path: Path) -> None:
    async def scene(db: Database) -> None:
        await db.write(adding("a" * 10_000))
        assert db.sizes()[1] > 10_000
        assert await db.truncate_wal() is True
        assert db.sizes()[1] == 0
        foreign = connect(db.path, synchronous="normal")
        foreign.execute("BEGIN").fetchall()
        foreign.execute(COUNT).fetchall()
        await db.write(adding("b"))
        assert await db.truncate_wal() is False
        foreign.execute("ROLLBACK").fetchall()
        foreign.close()
        assert await db.truncate_wal() is True

    play(scene, tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps an open file where it is")
@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_is_gone_takes_no_writes(replaced: bool, tmp_path: Path) -> None:  # noqa: FBT001
    async def scene(db: Database) -> None:
        await db.write(adding("a"))
        db.path.rename(tmp_path / "moved.db")
        if replaced:
            make(db.path).close()
        for call in (db.write, db.note):
            with pytest.raises(Unavailable, match="moved or deleted") as caught:
                await call(adding("lost"))
            assert str(tmp_path) not in caught.value.message
        if not replaced:
            (tmp_path / "moved.db").replace(db.path)
            assert await db.write(adding("b")) == 2

    play(scene, tmp_path)


def test_a_closed_store_answers_that_it_is_closed(tmp_path: Path) -> None:
    async def scene(db: Database) -> None:
        last = asyncio.ensure_future(db.write(adding("a")))
        await asyncio.sleep(0)
        db.close()
        assert await last == 1
        for call in (db.write, db.note, db.read):
            with pytest.raises(Unavailable):
                await call(counting)

    play(scene, tmp_path)


def test_a_reader_whose_connection_broke_opens_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(db: Database) -> None:
        def tear(_tx: Tx) -> None:
            raise apsw.IOError

        def refuse(*_: Any, **__: Any) -> Any:
            raise apsw.CantOpenError

        with monkeypatch.context() as broken:
            broken.setattr(database_module, "connect", refuse)
            for _ in range(2 * database_module.READERS):
                with pytest.raises(Unavailable):
                    await db.read(tear)
        for _ in range(database_module.READERS):
            with pytest.raises(Unavailable):
                await db.read(counting)
        for _ in range(database_module.READERS):
            assert await db.read(counting) == 0

    play(scene, tmp_path)


def test_a_writer_that_cannot_reopen_says_so_and_recovers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(db: Database) -> None:
        def refuse(*_: Any, **__: Any) -> Any:
            raise apsw.CantOpenError

        with monkeypatch.context() as broken:
            broken.setattr(database_module, "connect", refuse)
            broken.setattr(db._writer, "_guard", lambda: (_ for _ in ()).throw(apsw.IOError()))
            with pytest.raises(Unavailable):
                await db.write(adding("a"))
        with pytest.raises(Unavailable):
            await db.write(adding("b"))
        assert await db.write(adding("c")) == 1

    play(scene, tmp_path)


# -- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (apsw.FullError(), "storage_full"), (OSError(errno.ENOSPC, "x"), "storage_full"), (apsw.ReadOnlyError(), "storage_read_only"),
        (OSError(errno.EFBIG, "x"), "storage_full"), (apsw.BusyError(), "overloaded"), (apsw.LockedError(), "overloaded"),
        (apsw.IOError("/secret"), "unavailable"), (apsw.CorruptError("/secret"), "unavailable"), (apsw.SQLError("secret"), "unavailable"),
        (apsw.InterruptError(), "unavailable"), (ValueError("secret"), "internal"), (OSError(errno.EIO, "x"), "internal"),
        (Refused("conflict"), "conflict"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)  # fmt: skip
def test_the_words_of_the_contract(error: Exception, reason: str) -> None:
    told = unavailable(error)
    assert told.reason == reason
    assert "secret" not in told.message
    assert isinstance(told, Defect) == (reason == "internal")


def test_a_full_store_says_so_and_works_again(tmp_path: Path) -> None:
    async def scene(db: Database) -> None:
        await db.write(adding("a"))
        await db.write(lambda tx: tx.one("PRAGMA max_page_count = 10"))
        one, two, three = await grouped(db, adding("b"), adding("x" * 100_000), adding("c"))
        for told in (two, three):  # the statement took the whole transaction with it
            assert isinstance(told, Unavailable)
            assert told.reason == "storage_full"
        assert one == 2 or one.reason == "storage_full"
        assert await db.read(lambda tx: tx.one("SELECT a FROM t WHERE id = 1")) == ("a",)
        kept = await db.read(counting)
        await db.write(lambda tx: tx.one("PRAGMA max_page_count = 100000"))
        await db.write(adding("x" * 100_000))
        assert await db.read(counting) == kept + 1

    play(scene, tmp_path)


LIMITED = """
    import json, resource, sys
    from pathlib import Path
    import anyio
    from gateway.database import Database, connect
    from protocol.errors import GatewayError

    async def main():
        path = Path(sys.argv[1])
        connection = connect(path, synchronous="full")
        connection.execute("CREATE TABLE t (a TEXT NOT NULL) STRICT")
        connection.close()
        db = Database(path)
        add = lambda text: db.write(lambda tx: tx.run("INSERT INTO t VALUES (?)", (text,)))
        said = [await add("before")]
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
        for text in ("x" * 400_000, "y" * 400_000):
            try:
                said.append(await add(text))
            except GatewayError as error:
                said.append(error.reason)
        said.append(await db.read(lambda tx: tx.all("SELECT substr(a, 1, 6) FROM t")))
        said.append(await add("small"))
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        said.append(await add("z" * 400_000))
        said.append(await db.read(lambda tx: tx.all("SELECT substr(a, 1, 6) FROM t")))
        said.append(await db.read(lambda tx: tx.one("PRAGMA integrity_check")))
        print(json.dumps(said))
        db.close()

    anyio.run(main)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limit of a file's size there")
def test_a_file_that_may_not_grow_is_a_full_store(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(LIMITED), str(tmp_path / "x.db")],
        capture_output=True,
        check=True,
        timeout=30,
    )
    assert json.loads(done.stdout) == [
        1, "storage_full", "storage_full", [["before"]], 1, 1, [["before"], ["small"], ["zzzzzz"]], ["ok"],
    ]  # fmt: skip


# -- others in the same file -----------------------------------------------------------------------------------------


def test_two_stores_on_one_file_never_see_a_lock(tmp_path: Path) -> None:
    async def scene(db: Database) -> None:
        other = Database(db.path)

        async def fill(store: Database, prefix: str) -> None:
            for n in range(60):
                await store.write(adding(f"{prefix} {n}"))
                await store.note(adding(f"{prefix} note {n}"))
                assert await store.read(counting) >= 2 * (n + 1)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fill, db, "a")
            tasks.start_soon(fill, other, "b")
        assert await db.read(counting) == 240
        other.close()

    play(scene, tmp_path)


BUSY = """
    import sys
    from pathlib import Path
    import anyio
    from gateway.database import Database

    async def main():
        for turn in range(4):  # opening and closing race too
            db = Database(Path(sys.argv[1]))
            for n in range(20):
                await db.write(lambda tx: tx.run("INSERT INTO t (a) VALUES (?)", (f"{sys.argv[2]} {turn} {n}",)))
                await db.note(lambda tx: tx.run("INSERT INTO t (a) VALUES (?)", (f"{sys.argv[2]} {turn} note {n}",)))
                await db.read(lambda tx: tx.all("SELECT count(*) FROM t"))
            await db.truncate_wal()
            db.close()

    sys.stdin.read(1)
    anyio.run(main)
"""


def test_processes_on_one_file_never_see_a_lock(tmp_path: Path) -> None:
    path = tmp_path / "x.db"

    async def prepare() -> None:
        make(path).close()

    anyio.run(prepare)
    started = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(BUSY), str(path), name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for name in "abc"
    ]  # fmt: skip
    for process in started:
        assert process.stdin is not None
        process.stdin.write(b"x")
        process.stdin.flush()
    assert [process.communicate(timeout=60)[1] for process in started] == [b"", b"", b""]
    connection = connect(path, synchronous="full")
    assert connection.execute(COUNT).fetchall() == [(3 * 4 * 40,)]
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


KILLED = """
    import sys
    from pathlib import Path
    import anyio
    from gateway.database import Database

    async def main():
        db = Database(Path(sys.argv[1]))
        async def fill(prefix):
            n = 0
            while True:
                await db.write(lambda tx: tx.run("INSERT INTO t (a) VALUES (?)", (f"{prefix} {n}",)))
                print(f"{prefix} {n}", flush=True)
                n += 1
        async with anyio.create_task_group() as tasks:
            for prefix in "abcd":
                tasks.start_soon(fill, prefix)

    anyio.run(main)
"""


def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "x.db"

    async def prepare() -> None:
        make(path).close()

    anyio.run(prepare)
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(KILLED), str(path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    acknowledged = [process.stdout.readline().strip() for _ in range(100)]
    process.kill()
    acknowledged += [line.strip() for line in process.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
    process.wait(10)
    process.stdout.close()
    connection = connect(path, synchronous="full")
    stored = {text for (text,) in connection.execute("SELECT a FROM t").fetchall()}
    assert set(acknowledged) <= stored
    assert len(stored) <= len(acknowledged) + 4
    connection.close()
