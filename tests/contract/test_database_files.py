"""The database and its files: full, gone, broken, shared with others, killed."""

import asyncio
import json
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import anyio
import apsw
import pytest
from small_store import COUNT, adding, counting, grouped, make, play

from gateway.store import database as database_module
from gateway.store import file as database_file
from gateway.store import wiping
from gateway.store.database import Database
from gateway.store.sqlite import connect
from gateway.store.wiping import wipe
from protocol.errors import Unavailable
from protocol.seams.ports import Tx

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
            broken.setattr(database_file, "connect", refuse)
            for _ in range(2 * database_module.READERS):
                with pytest.raises(Unavailable):
                    await db.read(tear)
        for _ in range(2 * database_module.READERS):
            assert await db.read(counting) == 0

    play(scene, tmp_path)


def test_a_writer_that_cannot_reopen_says_so_and_recovers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(db: Database) -> None:
        def refuse(*_: Any, **__: Any) -> Any:
            raise apsw.CantOpenError

        with monkeypatch.context() as broken:
            broken.setattr(database_file, "connect", refuse)
            broken.setattr(db._file, "check", lambda: (_ for _ in ()).throw(apsw.IOError()))
            for text in ("a", "b"):
                with pytest.raises(Unavailable):
                    await db.write(adding(text))
        assert await db.write(adding("c")) == 1

    play(scene, tmp_path)


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
    from gateway.store.database import Database
    from gateway.store.sqlite import connect
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
        timeout=240,
    )
    assert json.loads(done.stdout) == [
        1,
        "storage_full",
        "storage_full",
        [["before"]],
        1,
        1,
        [["before"], ["small"], ["zzzzzz"]],
        ["ok"],
    ]


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
    from gateway.store.database import Database

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
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for name in "abc"
    ]
    for process in started:
        assert process.stdin is not None
        process.stdin.write(b"x")
        process.stdin.flush()
    assert [process.communicate(timeout=240)[1] for process in started] == [b"", b"", b""]
    connection = connect(path, synchronous="full")
    assert connection.execute(COUNT).fetchall() == [(3 * 4 * 40,)]
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


KILLED = """
    import sys
    from pathlib import Path
    import anyio
    from gateway.store.database import Database

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


ERASING = """
import asyncio, sys
from pathlib import Path
from gateway.store.database import Database
from gateway.store.wiping import wipe

async def main():
    db = Database(Path(sys.argv[1]))

    async def erase(name):
        count = 0
        while True:
            count += 1
            await db.write(lambda tx: tx.run("INSERT INTO t (a) VALUES (?)", (f"{name} {count}",)))
            await wipe(db)
            print(name, count, flush=True)

    await asyncio.gather(erase("a"), erase("b"))

asyncio.run(main())
"""


def test_an_erase_comes_to_its_end_while_another_process_erases_all_the_time(tmp_path: Path) -> None:
    """Counted, not timed: the other process goes on all the while, and most tries of ours succeed."""

    async def scene(db: Database) -> None:
        for n in range(40):  # so that each erase of the other takes its time
            await db.write(adding(f"{n} " * 100_000))
        other = await asyncio.create_subprocess_exec(
            sys.executable, "-c", ERASING, str(db.path), stdout=asyncio.subprocess.PIPE
        )
        assert other.stdout is not None
        try:
            await other.stdout.readline()
            succeeded = tries = 0
            while succeeded < 6:
                tries += 1
                assert tries <= 9
                await db.write(adding(f"mine {tries}"))
                succeeded += await wipe(db)
                await other.stdout.readline()  # it, too, comes to an end again and again
        finally:
            other.kill()
            await other.wait()

    play(scene, tmp_path)


class PacedTime:
    """A clock that goes on by what is slept, and by nothing else; the first sleep lasts until it may."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sleeps = threading.Event()
        self.may_go_on = threading.Event()

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.sleeps.set()
        self.may_go_on.wait()
        self.now += seconds


def test_an_erase_that_cannot_end_yields_to_writers_within_two_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paced = PacedTime()
    for module in (database_file, wiping):
        monkeypatch.setattr(module, "time", paced)

    async def scene(db: Database) -> None:
        await db.write(adding("before"))
        reader = apsw.Connection(str(db.path))
        reader.execute("BEGIN").fetchall()
        reader.execute("SELECT count(*) FROM t").fetchall()  # as long as it looks, the log cannot be moved
        await db.write(adding("in the log"))
        erase = asyncio.ensure_future(wipe(db))
        await asyncio.to_thread(paced.sleeps.wait)  # it keeps writers out now
        written = asyncio.ensure_future(db.write(lambda tx: (paced.now, adding("behind the erase")(tx))))
        await asyncio.sleep(0)
        paced.may_go_on.set()
        assert await erase is False
        at, _ = await written
        assert 0 < at <= 2.0 + database_file.ASK_SECONDS
        reader.execute("COMMIT").fetchall()
        reader.close()
        assert await wipe(db)

    play(scene, tmp_path)
