"""`pioneer knowledge`: who goes on, states in words, places, lists that are emptied."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from command_line import Ended, new_home
from filelock import FileLock
from spawned import WITHOUT_MODEL

from gateway.doors.commands.files import states
from gateway.wire.client import console_script
from knowledge.scan.scanning import LOST
from knowledge.scan.watching import POLLED

HURRIED = (
    "import sys; from gateway.cli import main; from gateway.doors.commands.files import collections;"
    " collections.COMPARE_SECONDS = 0.0; sys.exit(main())"
)
"""The command line with no time to compare folders."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = new_home(tmp_path, monkeypatch)
    made.mkdir()
    (made / "config.toml").write_text(WITHOUT_MODEL, encoding="utf-8")
    return made


def run(*words: str) -> Ended:
    return _spawn(*console_script(), *words)


def run_hurried(*words: str) -> Ended:
    return _spawn(sys.executable, "-c", HURRIED, *words)


def _spawn(*command: str) -> Ended:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return Ended(done.returncode, done.stdout, done.stderr)


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_a_search_without_time_says_who_goes_on(tmp_path: Path, home: Path) -> None:
    write(tmp_path / "notes", {"a.md": "A walrus.\n"})
    assert run("knowledge", "add", "notes").out == "notes\t1 file indexed\n"
    assert "`pioneer knowledge scan COLLECTION` goes on with it" in run_hurried("knowledge", "search", "walrus").err
    with FileLock(home / "run" / "own_gateway.lock"):
        assert "the rest is found later" in run_hurried("knowledge", "search", "walrus").err


def test_where_indexing_is_off_it_is_said(tmp_path: Path, home: Path) -> None:
    write(tmp_path / "notes", {"a.md": "A walrus.\n"})
    off = WITHOUT_MODEL + "[gateway.knowledge]\nindexing_enabled = false\n"
    (home / "config.toml").write_text(off, encoding="utf-8")
    for verb in (["add", "notes"], ["scan", "notes"], ["status"]):
        assert "indexing is switched off (gateway.knowledge.indexing_enabled)" in run("knowledge", *verb).err


def test_retry_reads_at_once(tmp_path: Path, home: Path) -> None:
    write(tmp_path / "notes", {"a.md": "A walrus.\n"})
    assert run("knowledge", "add", "notes").code == 0
    with closing(sqlite3.connect(home / "gateway.db")) as database, database:
        database.execute("UPDATE knowledge_file SET state = 'failed', attempts = 8, error = 'permission_denied'")

    def count() -> tuple[int, int, int]:
        files = run("knowledge", "list", "--json").json["collections"][0]["files"]
        return files["indexed"], files["pending"], files["failed"]

    assert count() == (0, 0, 1)
    assert run("knowledge", "retry", "notes").out == "1 file read again\n"
    assert count() == (1, 0, 0)


@pytest.mark.skipif(sys.platform == "win32", reason="no name has a line break there")
def test_a_line_break_in_a_name_is_shown(tmp_path: Path) -> None:
    write(tmp_path / "notes", {"new\nline.md": "A walrus.\n"})
    assert run("knowledge", "add", "notes").code == 0
    assert run("knowledge", "files", "notes").out.endswith("\tnew\\nline.md\n")


def test_list_and_status_say_the_name_the_state_and_its_reason(tmp_path: Path, home: Path) -> None:
    folder = write(tmp_path / "notes", {"a.md": "A walrus.\n", "b.png": "x", ".pioneerignore": "[[\n"})
    assert run("knowledge", "add", "notes").code == 0
    assert run("knowledge", "update", "notes", "--name", "Field notes").code == 0
    assert run("knowledge", "list").out.startswith("notes\tField notes\tpolling (not watched)\t1\t0\t0\t")
    told = run("knowledge", "status").out
    assert told.startswith("notes (Field notes)\n")
    for line in (
        f"folder      {folder}",
        "polling: no process watches it; a gateway compares it every 10 minutes",
        "watched by  nobody",
        "indexed     1 file, 1 piece",
        "skipped     unknown_kind 2",
        "patterns    .pioneerignore line 1, no pattern: `[[`",
    ):
        assert line in told
    folder.rename(tmp_path / "away")
    assert "\tunavailable (root missing)\t" in run("knowledge", "scan", "notes").out
    assert "unavailable: the folder is not there; nothing is deleted" in run("knowledge", "status").out
    (home / "config.toml").write_text(WITHOUT_MODEL + "[gateway.knowledge]\nenabled = false\n", encoding="utf-8")
    assert "files are switched off" in run("knowledge", "status").err


def test_every_reason_of_a_state_has_words() -> None:
    assert {*LOST, *POLLED, "max_files", "not_watched"} == set(states.REASONS)


def test_patterns_are_taken_away_by_update(tmp_path: Path) -> None:
    write(tmp_path / "notes", {"a.md": "A walrus.\n", "b.txt": "A seal.\n"})
    added = run("knowledge", "add", "notes", "--exclude", "*.md", "--include", "*.txt", "--json").json["collection"]
    assert (added["exclude"], added["include"], added["files"]["indexed"]) == (["*.md"], ["*.txt"], 1)
    emptied = run("knowledge", "update", "notes", "--no-exclude", "--no-include", "--json").json["collection"]
    assert (emptied["exclude"], emptied["include"], emptied["files"]["indexed"]) == ([], [], 2)
    replaced = run("knowledge", "update", "notes", "--no-exclude", "--exclude", "b.txt", "--json").json["collection"]
    assert replaced["exclude"] == ["b.txt"]


def test_an_address_is_known_in_every_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path / "project" / "docs", {"z.md": "# Zebra\n\nAs [the yak](y.md) says.\n"})
    write(tmp_path / "project" / ".git", {"HEAD": "ref: refs/heads/main\n"})
    monkeypatch.chdir(tmp_path / "project")
    workspace = run("knowledge", "add", "docs", "--json").json["collection"]["workspace_id"]
    assert workspace != "ws_default"
    monkeypatch.chdir(tmp_path)
    for verb, there in (
        (["read", "docs:z.md#L1"], "# Zebra"),
        (["read", str(folder / "z.md")], "# Zebra"),
        (["why", "docs:z.md"], "indexed"),
        (["why", "project/docs/z.md"], "indexed"),
        (["edges", "docs:z.md"], "y.md (not there)"),
        (["entities", "--collection", "docs"], "z\tpage"),
    ):
        ended = run("knowledge", *verb)
        assert (ended.code, there in ended.out) == (0, True), verb
        assert f"pioneer: of another project (project): --workspace {workspace}\n" in ended.err
        assert "another project" not in run("knowledge", *verb, "--workspace", workspace).err
    assert run("remember", "The boat is sold.", "--workspace", "ws_boat").code == 0
    elsewhere = run("knowledge", "read", "docs:z.md", "--workspace", "ws_boat")
    assert (elsewhere.code, elsewhere.out) == (1, "")  # a workspace that is named is not left, but told of the other
    assert f"--workspace {workspace}" in elsewhere.err


def test_a_path_that_exists_names_a_file(tmp_path: Path) -> None:
    write(tmp_path / "notes", {"a#1.md": "A walrus.\n", "pic.png": "x"})
    write(tmp_path / "other", {"b.md": "A seal.\n"})
    assert run("knowledge", "add", "notes").code == 0
    assert run("knowledge", "why", "notes/pic.png").out == "not indexed: unknown kind\n"
    assert run("knowledge", "why", "notes/a#1.md").out == "indexed\n"
    assert run("knowledge", "read", "./notes/a#1.md").out == "A walrus.\n"
    ended = run("knowledge", "why", "other/b.md")
    assert (ended.code, ended.err) == (
        1,
        "pioneer knowledge: no collection holds other/b.md; `pioneer knowledge add DIR` makes one of a folder\n",
    )
    assert "is the folder of collection notes" in run("knowledge", "why", "notes/").err
    assert "no piece came near" in run("knowledge", "why", "notes").err  # one word is a question


def test_a_newcomer_is_led_to_the_first_collection(tmp_path: Path, home: Path) -> None:
    for verb in (["list"], ["status"], ["search", "walrus"]):
        ended = run("knowledge", *verb)
        assert ended.code == 66
        assert "`pioneer remember`, `pioneer import` or `pioneer knowledge add` makes one" in ended.err
    assert not (home / "gateway.db").exists()
    assert "pioneer knowledge add" in run().out
    assert run("remember", "The boat is sold.").code == 0
    for verb in (["list"], ["status"], ["search", "walrus"]):
        ended = run("knowledge", *verb)
        assert (ended.code, "there is no collection here: `pioneer knowledge add DIR` makes one" in ended.err) == (
            1,
            True,
        )
    assert "No folder is indexed" not in run("knowledge", "search", "walrus").err  # it is said once
    write(tmp_path / "notes", {"sub/a.md": "A walrus.\n"})
    assert run("knowledge", "add", "notes").code == 0
    assert "no collection" not in run("knowledge", "search", "pelican").err
    inside = run("knowledge", "add", "notes/sub", "--json")
    assert (inside.code, inside.json["error"]["data"]["details"]) == (65, {"collection_id": "notes"})
    assert "collection notes" in inside.err
    assert "baseline\tnotes\t1 file\n" in run("knowledge", "changes").out
