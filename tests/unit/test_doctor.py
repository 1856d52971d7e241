"""The doctor: what it finds in homes of every kind of bad luck, that it only looks, and what --fix mends."""

import os
import shutil
import stat
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest
from command_line import Ended, run
from guidance_stage import agent, put

from gateway.care.checkup import CHECKS
from gateway.care.findings import Finding
from gateway.doors.commands.health import code_of
from gateway.home.owners import living_owners
from gateway.store.migrations import SCHEMA_VERSION
from gateway.store.staging import PREFIX, find_stale, staging, sweep


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PIONEER_HOME", str(tmp_path / "home"))
    assert run("remember", "The ferry leaves at ten.").code == 0
    return tmp_path / "home"


def doctor(*more: str) -> Ended:
    ended = run("doctor", "--json", *more)
    assert ended.err == ""
    return ended


def of(ended: Ended, check: str) -> list[dict[str, Any]]:
    return [one for one in ended.json["findings"] if one["check"] == check]


def change(home: Path, statement: str, *values: object) -> None:
    connection = apsw.Connection(str(home / "gateway.db"))
    connection.execute(statement, values).fetchall()
    connection.close()


def state_of(home: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(home)): (path.stat().st_mode, path.read_bytes() if path.is_file() else b"")
        for path in sorted(home.rglob("*"))
    }


def test_a_sound_home_has_every_check_and_nothing_is_changed(home: Path) -> None:
    before = state_of(home)
    ended = doctor()
    assert ended.code == 0
    assert {one["check"] for one in ended.json["findings"]} == {name for name, _ in CHECKS}
    assert ended.json["worst"] == "note"  # no embedding model
    assert state_of(home) == before
    assert "ok      database" in run("doctor").out


def test_there_is_no_home(tmp_path: Path) -> None:
    ended = run("doctor", "--home", str(tmp_path / "none"))
    assert ended.code == 66
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("damage", ["nothing of it", "torn", "cut"])
def test_a_damaged_database_is_told_and_left_alone(home: Path, damage: str) -> None:
    path = home / "gateway.db"
    data = path.read_bytes()
    if damage == "nothing of it":
        path.write_bytes(b"this is no database at all" * 200)
    elif damage == "torn":
        path.write_bytes(data[:8192] + bytes(len(data) - 8192))
    else:
        path.write_bytes(data[: len(data) // 2])
    before = state_of(home)
    ended = doctor("--fix")
    assert ended.code == 74
    assert of(ended, "database")[0]["level"] == "error"
    assert of(ended, "memory")[0]["text"].startswith("not looked at")
    assert ended.json["done"] == []
    assert state_of(home) == before


def test_a_newer_schema_is_told_and_left_alone(home: Path) -> None:
    change(home, f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    ended = doctor("--fix")
    assert ended.code == 69  # it is sound: no disk has failed
    assert "newer version" in of(ended, "schema")[0]["text"]
    assert of(ended, "jobs")[0]["text"].startswith("not looked at")
    assert ended.json["done"] == []


def test_a_wrong_configuration_is_told_with_its_line(home: Path) -> None:
    (home / "config.toml").write_text("[gateway.memory]\nretention_days = 0\n", encoding="utf-8")
    ended = doctor()
    assert ended.code == 78
    assert of(ended, "config")[0]["text"].startswith("line 2: gateway.memory.retention_days")


def test_a_key_is_missed_and_a_provider_without_its_variable(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "keys" / "fingerprint.key").unlink()
    (home / "config.toml").write_text(
        '[gateway.roles]\nmain = "a"\n[gateway.providers.a]\nkind = "openai"\nmodel = "m"\napi_key_env = "PIONEER_TEST_KEY"\n'
        '[gateway.providers.b]\nkind = "scripted"\nscript = "none.jsonl"\n',
        encoding="utf-8",
    )
    monkeypatch.delenv("PIONEER_TEST_KEY", raising=False)
    ended = doctor()
    assert ended.code == 1
    assert of(ended, "key")[0]["level"] == "warning"
    assert [one["level"] for one in of(ended, "providers")] == ["warning", "note"]
    monkeypatch.setenv("PIONEER_TEST_KEY", "hush")
    ended = doctor()
    assert [one["text"] for one in of(ended, "providers")] == ["b: its script is not there"]
    assert "hush" not in ended.out


def test_an_agent_that_is_not_valid_is_told(home: Path) -> None:
    put(home / "agents", {**agent("clerk"), "broken/AGENTS.md": "x"})
    assert [one["text"] for one in of(doctor(), "agents")] == ["broken: missing config.yaml"]


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are kept in another way there")
def test_an_open_home_is_closed_by_fix(home: Path) -> None:
    home.chmod(0o755)
    assert doctor().code == 1
    ended = doctor("--fix")
    assert ended.code == 0
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert not (home / "backups").exists()  # nothing was made anew, so nothing is copied that an erase would miss


def test_fix_makes_derived_data_anew_after_a_backup(home: Path, tmp_path: Path) -> None:
    change(home, "DELETE FROM record_terms")
    found = doctor()
    assert of(found, "memory")[0]["mend"] == "memory"
    assert found.code == 1
    fixed = doctor("--fix")
    assert fixed.code == 0, fixed.out
    assert run("search", "ferry").code == 0
    [backup] = (home / "backups").glob("before-fix-*.backup")
    assert run("restore-backup", str(backup), "--home", str(tmp_path / "again")).code == 0


@pytest.mark.parametrize(
    "change_of", ["content = 'The ferry leaves at nine.'", "status = 'archived'", "provenance = '{}'"]
)
def test_a_record_that_was_altered_in_the_file_is_named(home: Path, change_of: str) -> None:
    [(memory_id,)] = apsw.Connection(str(home / "gateway.db")).execute("SELECT memory_id FROM record").fetchall()
    change(home, f"UPDATE record SET {change_of}")  # noqa: S608  # names of our schema
    ended = doctor()
    assert ended.code == 69
    assert memory_id in next(one["text"] for one in of(ended, "memory") if one["level"] == "error")


def test_messages_that_wait_to_be_indexed_are_counted(home: Path) -> None:
    change(home, "INSERT INTO chunk_scope (id, kind, key) VALUES (71, 'workspace', 'ws'), (72, 'thread', 'thr')")
    change(
        home,
        "INSERT INTO chunk_source (item_id, turn_id, workspace, thread, role, at, turn_seq, item_seq, speaker, "
        "source_hash, state, queued_at) VALUES ('itm', 'trn', 71, 72, 'user', 0, 0, 0, 'user', zeroblob(32), "
        "'pending', 0)",
    )
    found = [one for one in of(doctor(), "conversation") if one["level"] == "note"]
    assert [one["text"] for one in found] == ["1 messages wait to be indexed"]


def test_dead_jobs_and_processes_are_put_right(home: Path) -> None:
    change(
        home,
        "INSERT INTO job (job_id, kind, subject, maker, state, next_run_at, created_at) "
        "VALUES ('job_1', 'index', 'trn_1', 'own_gone', 'dead', 0, 0)",
    )
    change(home, "INSERT INTO owner (owner, started_at) VALUES ('own_gone', 0)")
    found = doctor()
    assert [one["mend"] for one in [*of(found, "jobs"), *of(found, "processes")]] == ["jobs", "processes"]
    fixed = doctor("--fix")
    assert of(fixed, "jobs") == [{"check": "jobs", "level": "ok", "text": "", "advice": "", "mend": None}]
    assert of(fixed, "processes")[0]["level"] == "ok"


def test_an_ended_process_is_buried_without_a_copy_of_the_home(home: Path) -> None:
    change(home, "INSERT INTO owner (owner, started_at) VALUES ('own_gone', 0)")
    ended = doctor("--fix")
    assert (ended.code, len(ended.json["done"])) == (0, 1)
    assert not (home / "backups").exists()


def test_what_an_interrupted_backup_left_is_found_and_removed_by_fix(home: Path, tmp_path: Path) -> None:
    for parent in (tmp_path, home / "backups"):
        left = parent / f"{PREFIX}abc"
        left.mkdir(parents=True)
        (left / "lock").touch()
        (left / "gateway.db").write_bytes(b"plain text")
    (tmp_path / f"{PREFIX}of somebody else").mkdir()
    with staging(tmp_path / "home" / "backups") as used:  # removes the one that was left there
        assert doctor().code == 1
        assert [one["text"][:8] for one in of(doctor(), "leftovers")] == ["1 copies"]
        assert doctor("--fix").code == 0
        assert used.is_dir()
    assert not used.exists()
    assert [path.name for path in tmp_path.glob(f"{PREFIX}*")] == [f"{PREFIX}of somebody else"]


def test_a_folder_that_was_left_is_known_again_where_looking_takes_its_lock_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_free(lock: Path) -> bool:  # as on Windows
        lock.unlink()
        return True

    monkeypatch.setattr("gateway.store.staging.is_free", is_free)
    left = tmp_path / f"{PREFIX}abc"
    left.mkdir()
    (left / "lock").touch()
    assert find_stale(tmp_path) == find_stale(tmp_path) == [left]
    assert sweep(tmp_path) == 1
    assert not left.exists()


@pytest.mark.parametrize("command", ["doctor", "models", "settings", "list", "status"])
def test_a_configuration_that_somebody_names_is_there(home: Path, command: str) -> None:
    assert run(command, "--config", str(home / "none.toml"), "--home", str(home)).code == 78


def test_a_folder_is_no_configuration(home: Path) -> None:
    (home / "config.toml").mkdir()
    assert doctor().code == 78
    assert run("settings").code == 78


def test_who_lives_in_a_home_is_known_by_the_locks(home: Path) -> None:
    (home / "run" / "own_left.lock").touch()
    assert living_owners(home / "run") == []


def test_the_worst_decides_the_code() -> None:
    note, warning, error = (Finding("disk", level, "") for level in ("note", "warning", "error"))
    assert [code_of(found) for found in ([], [note], [note, warning], [warning, error])] == [0, 0, 1, 69]


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_home_that_cannot_be_written_is_told(home: Path) -> None:
    home.chmod(0o500)
    try:
        assert doctor().code == 69
    finally:
        home.chmod(0o700)


def test_status_tells_of_the_home(home: Path) -> None:
    assert run("status", "--json").json["processes"] == 1
    assert "others in it  0" in run("status").out
    shutil.rmtree(home)
    assert run("status").code == 66
    assert not home.exists()
