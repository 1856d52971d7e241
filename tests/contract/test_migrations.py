"""Opening a home's database: at the newest version, or exactly as it was."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import apsw
import pytest
from filelock import FileLock

from gateway.home.folder import Home
from gateway.store import migrations
from gateway.store.migrations import SCHEMA_VERSION, migrate, read_stored
from gateway.store.sqlite import connect
from protocol.errors import GatewayError, Refused, Unavailable


def open_home(path: Path) -> Home:
    home = Home(path / "home")
    migrate(home.database, home.run, home.backups)
    return home


def again(home: Home) -> None:
    migrate(home.database, home.run, home.backups)


def bytes_of(home: Home) -> dict[str, bytes]:
    """What the database's files hold; a look may leave an empty log and the shared memory, which hold nothing."""
    found = {path.name: path.read_bytes() for path in home.root.glob("gateway.db*") if path.suffix != ".db-shm"}
    return {name: content for name, content in found.items() if content}


def tables_of(path: Path) -> list[str]:
    connection = connect(path, synchronous="full")
    found = [
        name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    ]
    connection.close()
    return found


def change(path: Path, *statements: str) -> None:
    connection = connect(path, synchronous="full")
    for statement in statements:
        connection.execute(statement).fetchall()
    connection.close()


def next_step(connection: Any) -> None:
    for statement in ("CREATE TABLE later (x INTEGER) STRICT", "INSERT INTO later VALUES (1)"):
        connection.execute(statement).fetchall()


def failing_step(connection: Any) -> None:
    next_step(connection)
    raise ValueError


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Pretend that there is one more migration."""

    def add(step: Any) -> None:
        monkeypatch.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, step))
        monkeypatch.setattr(migrations, "SCHEMA_VERSION", SCHEMA_VERSION + 1)

    return add


def test_a_fresh_home_gets_every_table_of_every_house(tmp_path: Path) -> None:
    home = open_home(tmp_path)
    assert read_stored(home.database)[0] == SCHEMA_VERSION
    assert {"job", "owner", "home"} <= set(tables_of(home.database))
    assert not home.backups.exists()
    connection = connect(home.database, synchronous="full")
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()


def test_a_home_of_this_version_is_not_touched(tmp_path: Path) -> None:
    home = open_home(tmp_path)
    before = bytes_of(home)
    again(home)
    assert bytes_of(home) == before
    assert not home.backups.exists()


def test_an_empty_file_is_a_new_database(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.database.touch()
    again(home)
    assert read_stored(home.database)[0] == SCHEMA_VERSION


def test_an_older_home_is_copied_and_brought_forward(tmp_path: Path, newer: Any) -> None:
    home = open_home(tmp_path)
    change(home.database, "INSERT INTO home VALUES ('kept', 'yes')")
    newer(next_step)
    again(home)
    assert read_stored(home.database)[0] == SCHEMA_VERSION + 1
    assert "later" in tables_of(home.database)
    (copy,) = home.backups.iterdir()
    assert read_stored(copy)[0] == SCHEMA_VERSION
    connection = connect(copy, synchronous="full")
    assert connection.execute("SELECT value FROM home").fetchall() == [("yes",)]
    connection.close()


def test_a_second_try_replaces_a_copy_that_was_cut_off(tmp_path: Path, newer: Any) -> None:
    home = open_home(tmp_path)
    newer(next_step)
    home.backups.mkdir()
    (home.backups / f"gateway-before-{SCHEMA_VERSION + 1}-from-{SCHEMA_VERSION}.db").write_bytes(b"half a copy")
    again(home)
    (copy,) = home.backups.iterdir()
    assert read_stored(copy)[0] == SCHEMA_VERSION


def test_a_failing_migration_leaves_the_old_version(tmp_path: Path, newer: Any) -> None:
    home = open_home(tmp_path)
    newer(failing_step)
    with pytest.raises(ValueError, match=r"^$"):
        again(home)
    assert read_stored(home.database)[0] == SCHEMA_VERSION
    assert "later" not in tables_of(home.database)


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_newer_home_is_refused_and_not_touched(mode: str, tmp_path: Path) -> None:
    home = open_home(tmp_path)
    change(home.database, f"PRAGMA user_version = {SCHEMA_VERSION + 1}", f"PRAGMA journal_mode = {mode}")
    before = bytes_of(home)
    with pytest.raises(Refused) as caught:
        again(home)
    assert caught.value.reason == "schema_too_new"
    assert bytes_of(home) == before


def test_a_newer_home_that_was_killed_keeps_its_write_ahead_log(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    source = connect(tmp_path / "x.db", synchronous="full")
    source.execute("CREATE TABLE t (a TEXT) STRICT").fetchall()
    source.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}").fetchall()
    for suffix in ("", "-wal"):
        (home.root / f"gateway.db{suffix}").write_bytes((tmp_path / f"x.db{suffix}").read_bytes())
    source.close()
    before = bytes_of(home)
    assert len(before["gateway.db-wal"]) > 0
    with pytest.raises(Refused):
        again(home)
    assert bytes_of(home) == before


def damaged(good: bytes, how: str) -> bytes:
    return {
        "not a database": b"this is a text file, not a database " * 200,
        "header": b"\x00" * 100 + good[100:],
        "first page": good[:100] + b"\xff" * (len(good) - 100),
    }[how]


@pytest.mark.parametrize("how", ["not a database", "header", "first page"])
def test_a_damaged_home_is_told_and_not_touched(how: str, tmp_path: Path, newer: Any) -> None:
    home = open_home(tmp_path)
    home.database.write_bytes(damaged(home.database.read_bytes(), how))
    newer(next_step)
    before = bytes_of(home)
    with pytest.raises(Unavailable, match="damaged") as caught:
        again(home)
    assert str(tmp_path) not in caught.value.message
    assert bytes_of(home) == before


def test_a_folder_in_its_place_is_told(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.database.mkdir()
    with pytest.raises(GatewayError) as caught:
        again(home)
    assert caught.value.reason == "unavailable"
    assert str(tmp_path) not in caught.value.message


def test_a_home_that_another_process_migrates_is_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home(tmp_path / "home")
    monkeypatch.setattr(migrations, "MIGRATE_SECONDS", 0.05)
    with FileLock(home.run / "migrate.lock"), pytest.raises(Refused) as caught:
        again(home)
    assert caught.value.reason == "home_locked"
    assert not home.database.exists()
    again(home)
    assert read_stored(home.database)[0] == SCHEMA_VERSION


OPEN = """
    import sys
    from pathlib import Path
    from gateway.home.folder import Home
    from gateway.store.migrations import migrate, read_stored
    sys.stdin.read(1)
    home = Home(Path(sys.argv[1]))
    migrate(home.database, home.run, home.backups)
    print(read_stored(home.database)[0])
"""


def test_processes_that_start_together_all_succeed(tmp_path: Path) -> None:
    started = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(OPEN), str(tmp_path / "home")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for process in started:
        assert process.stdin is not None
        process.stdin.write("x")
        process.stdin.flush()
    assert [process.communicate(timeout=240) for process in started] == [(f"{SCHEMA_VERSION}\n", "")] * 4


KILL = """
    import os, signal, sys
    from pathlib import Path
    from gateway.store import migrations
    from gateway.home.folder import Home

    def die():
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))

    def step(connection):
        connection.execute("PRAGMA cache_size = 1").fetchall()  # spills into the file before the commit
        connection.execute("CREATE TABLE later (x TEXT) STRICT").fetchall()
        for n in range(200):
            connection.execute("INSERT INTO later VALUES (?)", ("x" * 4000,)).fetchall()
            if sys.argv[2] == str(n):
                die()

    migrations.MIGRATIONS = (*migrations.MIGRATIONS, step)
    migrations.SCHEMA_VERSION += 1
    home = Home(Path(sys.argv[1]))
    migrations.migrate(home.database, home.run, home.backups)
    if sys.argv[2] == "after":
        die()
"""


@pytest.mark.parametrize("moment", ["0", "199", "after"])
def test_a_kill_in_the_middle_leaves_the_old_or_the_new(moment: str, tmp_path: Path) -> None:
    home = open_home(tmp_path)
    script = [sys.executable, "-c", textwrap.dedent(KILL), str(home.root)]
    assert subprocess.run([*script, moment], capture_output=True, check=False, timeout=240).returncode != 0
    is_new = moment == "after"
    assert read_stored(home.database)[0] == SCHEMA_VERSION + is_new
    assert ("later" in tables_of(home.database)) is is_new
    assert subprocess.run([*script, "never"], capture_output=True, check=False, timeout=240).returncode == 0
    connection = connect(home.database, synchronous="full")
    assert connection.execute("SELECT count(*) FROM later").fetchall() == [(200,)]
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_cannot_be_written_is_told(tmp_path: Path, newer: Any) -> None:  # pragma: no cover  # not as root
    home = open_home(tmp_path)
    newer(next_step)
    home.database.chmod(0o400)
    with pytest.raises(GatewayError):
        again(home)


def test_errors_of_the_library_do_not_come_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_path: Path, **_: Any) -> Any:
        raise apsw.ReadOnlyError

    home = Home(tmp_path / "home")
    monkeypatch.setattr(migrations, "connect", refuse)
    with pytest.raises(Unavailable) as caught:
        again(home)
    assert caught.value.reason == "storage_read_only"
