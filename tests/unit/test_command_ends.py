"""How commands end: the codes of docs/cli.md, errors as documents, streams that are closed, signals, and homes that are
none."""

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import new_home, run

from gateway.doors.terminal.exits import reading, writing
from gateway.wire.client import console_script

COFFEE = "I take my coffee without sugar."
on_posix = pytest.mark.skipif(
    sys.platform == "win32", reason="another platform has other signals, permissions and devices"
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return new_home(tmp_path, monkeypatch)


# -- documents ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["search"],
        ["list", "--nonsense"],
        ["serach", "x"],
        ["list", "--status", "deleted"],
        ["forget", "--everything", "--key", "x"],
        ["list", "--home", ""],
        ["export", ""],
    ],
)
def test_wrong_usage_is_a_document_where_one_is_asked_for(arguments: list[str]) -> None:
    ended = run(*arguments, "--json")
    assert (ended.code, bool(ended.json["error"]["message"])) == (64, True)
    assert run(*arguments).out == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_an_answer_that_has_no_room_ends_with_73_and_no_traceback() -> None:
    assert run("remember", COFFEE).code == 0
    for arguments in (["list", "--json"], ["list"], ["export", "-"]):
        with Path("/dev/full").open("w", encoding="utf-8") as full:
            ended = subprocess.run(
                [*console_script(), *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        assert ended.returncode == 73
        assert "Traceback" not in ended.stderr
        assert "No space left" in ended.stderr


def test_one_setting_is_one_setting() -> None:
    told = run("settings", "get", "memory.retention_days", "--json").json
    assert told == {"key": "memory.retention_days", "value": 30, "default": 30}
    assert run("settings", "get", "providers.kind").code == 64


@pytest.mark.parametrize("value", ["NaN", "Infinity", '{"a": NaN}', "[" * 100_000, "tea"])
def test_a_value_that_is_no_json_is_refused(value: str) -> None:
    assert run("remember", COFFEE, "--value", value).code == 65


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "code"), [(errno.ENOSPC, 73), (errno.EACCES, 73), (errno.ENOENT, 73), (errno.EROFS, 73), (errno.EIO, 74)]
)
def test_a_file_that_cannot_be_written_is_named(monkeypatch: pytest.MonkeyPatch, number: int, code: int) -> None:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number), "elsewhere")

    assert run("remember", COFFEE).code == 0
    monkeypatch.setattr("gateway.doors.commands.bundles.publish", fail)
    ended = run("export", "mine.jsonl", "--json")
    assert ended.code == code
    assert ended.json["error"]["message"] == f"mine.jsonl cannot be written: {os.strerror(number)}"


def test_a_folder_that_is_not_there_is_no_disk_that_failed() -> None:
    assert run("remember", COFFEE).code == 0
    ended = run("backup", str(Path("nowhere", "mine.backup")))
    assert ended.code == 73
    assert "mine.backup cannot be written" in ended.err
    assert run("restore-backup", "nowhere.backup").code == 66
    Path("taken").write_text("x", encoding="utf-8")
    assert run("export", str(Path("taken", "mine.jsonl"))).code == 73
    assert run("config", "init", "--config", str(Path("taken", "c.toml"))).code == 73


@pytest.mark.parametrize(("number", "code"), [(errno.EACCES, 66), (errno.ENOENT, 66), (errno.EIO, 74)])
def test_a_file_that_cannot_be_read_is_named(number: int, code: int) -> None:
    with pytest.raises(Exception, match=r"mine\.backup cannot be read") as told, reading(Path("mine.backup")):
        raise OSError(number, os.strerror(number))
    assert getattr(told.value, "code", None) == code
    with writing(Path("mine.backup")):
        pass


# -- arguments and streams ---------------------------------------------------------------------------------------------


def test_bytes_that_are_no_utf_8_are_told() -> None:
    for arguments in (["remember", "bad \udcff"], ["search", "bad \udcff"], ["list", "--tag", "\udcff", "--json"]):
        ended = run(*arguments)
        assert (ended.code, "not UTF-8" in ended.err) == (65, True)


@on_posix
@pytest.mark.parametrize(
    ("arguments", "closed", "code"),
    [
        ("remember -", "<&-", 66),
        ("import -", "<&-", 66),
        ("forget --everything --scope user", "<&-", 64),
        ("list", ">&-", 0),
        ("list --home /nowhere/at/all", "2>&-", 66),
    ],
)
def test_a_stream_that_the_shell_has_closed_is_no_defect(arguments: str, closed: str, code: int) -> None:
    for text in (COFFEE, "The ferry leaves at ten."):
        assert run("remember", text).code == 0
    ended = subprocess.run(
        ["/bin/sh", "-c", f"{' '.join(console_script())} {arguments} {closed}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == code, ended.stderr
    assert "inc_" not in ended.stderr


def test_an_incident_is_only_promised_where_a_log_holds_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    assert run("remember", COFFEE).code == 0
    monkeypatch.setattr("gateway.doors.commands.memories.show_table", fail)
    ended = run("list")
    assert ended.code == 70
    [incident] = [word for word in ended.err.split() if word.startswith("inc_")]
    assert incident in (home / "logs" / "gateway.log").read_text(encoding="utf-8")
    monkeypatch.setattr("gateway.doors.commands.embedding_models.choose", fail)
    ended = run("models")
    assert (ended.code, "inc_" in ended.err) == (70, False)
    assert "ZeroDivisionError, test_command_ends.py:" in ended.err


# -- signals -----------------------------------------------------------------------------------------------------------


@on_posix
@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129)])
@pytest.mark.parametrize("command", ["backup", "restore-backup"])
def test_who_is_ended_in_the_middle_leaves_no_copy_behind(tmp_path: Path, command: str, name: str, code: int) -> None:
    assert run("remember", COFFEE).code == 0
    assert run("backup", "first.backup").code == 0
    code_of_it = (
        "import os, signal, sys; from gateway.care import backup; from gateway.cli import main\n"
        "def end(*_): os.kill(os.getpid(), signal." + name + ")\n"
        "backup._find_needed_digests = backup._move_in = end\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    place = ["second.backup"] if command == "backup" else ["first.backup", "--home", "again"]
    before = sorted(tmp_path.iterdir())
    ended = subprocess.run(
        [sys.executable, "-c", code_of_it, command, *place], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (code, "")
    assert sorted(tmp_path.iterdir()) == before


@on_posix
def test_what_a_killed_backup_left_goes_with_the_next_one(tmp_path: Path) -> None:
    assert run("remember", COFFEE).code == 0
    code_of_it = (
        "import os, signal, sys; from gateway.care import backup; from gateway.cli import main\n"
        "def end(*_): os.kill(os.getpid(), signal.SIGKILL)\n"
        "backup._find_needed_digests = end\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    ended = subprocess.run([sys.executable, "-c", code_of_it, "backup", "mine.backup"], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert len(list(tmp_path.glob(".pioneer-staging.*/gateway.db"))) == 1
    assert run("backup", "mine.backup").code == 0
    assert list(tmp_path.glob(".*")) == []
    assert (tmp_path / "mine.backup").stat().st_mode & 0o777 == 0o600


# -- homes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["README.md", "models.py", ".bashrc"])
def test_the_folder_in_which_somebody_stands_becomes_no_home(tmp_path: Path, name: str) -> None:
    project = tmp_path / "project"
    project.mkdir(mode=0o755)
    (project / name).write_text("mine", encoding="utf-8")
    before = project.stat().st_mode
    ended = run("remember", COFFEE, "--home", str(project), "--json")
    assert ended.code == 69
    assert "holds other things" in ended.json["error"]["message"]
    assert run("doctor", "--fix", "--home", str(project)).code == 66
    assert run("remember", COFFEE).code == 0
    assert run("backup", "mine.backup").code == 0
    assert run("restore-backup", "mine.backup", "--home", str(project), "--force").code == 65
    assert [path.name for path in project.iterdir()] == [name]
    assert project.stat().st_mode == before
    for command in (["list"], ["remember", "x"], ["doctor"], ["serve"], ["backup", "f"]):
        assert run(*command, "--home", "").code == 64


@pytest.mark.parametrize(
    "names", [[], ["config.toml"], ["lost+found"], ["models", "logs"], [".config.toml.lock", ".DS_Store"]]
)
def test_a_folder_that_was_made_ready_becomes_a_home(tmp_path: Path, names: list[str]) -> None:
    ready = tmp_path / "ready"
    ready.mkdir()
    for name in names:
        (ready / name).touch() if "." in name else (ready / name).mkdir()
    assert run("remember", COFFEE, "--home", str(ready)).code == 0
    (ready / "notes.txt").touch()  # a home stays one
    assert json.loads(run("list", "--json", "--home", str(ready)).out)["records"][0]["content"] == COFFEE
