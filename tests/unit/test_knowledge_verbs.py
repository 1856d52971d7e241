"""`pioneer knowledge` in this process: what waits and who reads it, states in words, places, lists that are emptied."""

from pathlib import Path

import pytest
from command_line import new_home, run
from filelock import FileLock
from spawned import WITHOUT_MODEL

from gateway.doors.commands import door
from gateway.doors.commands.files import states
from knowledge.scan.scanning import LOST
from knowledge.scan.watching import POLLED


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = new_home(tmp_path, monkeypatch)
    made.mkdir()
    (made / "config.toml").write_text(WITHOUT_MODEL, encoding="utf-8")
    return made


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_what_waits_is_said_and_a_scan_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "notes", {f"{n}.md": f"Walrus {n}.\n" for n in range(3)})
    with monkeypatch.context() as hurried:
        hurried.setattr(door, "COMPARE_SECONDS", 0.0)
        added = run("knowledge", "add", "notes")
        assert (added.code, added.out.split("\t")[0]) == (0, "notes")
        assert "wait: they are read while a gateway runs, or now with `pioneer knowledge scan notes`" in added.out
        assert "`pioneer knowledge scan COLLECTION` goes on with it" in run("knowledge", "search", "walrus").err
    scanned = run("knowledge", "scan", "notes", "--json")
    assert scanned.json["collection"]["files"]["indexed"] == 3
    assert scanned.err == ""
    assert run("knowledge", "add", "notes").out == "notes\t3 files indexed\n"


def test_what_another_process_goes_on_with_is_in_the_background(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "notes", {"a.md": "A walrus.\n"})
    assert run("remember", "The boat is sold.").code == 0
    monkeypatch.setattr(door, "COMPARE_SECONDS", 0.0)
    with FileLock(home / "run" / "own_gateway.lock"):
        assert "in the background; `pioneer knowledge status` tells" in run("knowledge", "add", "notes").out
    assert "while a gateway runs" in run("knowledge", "add", "notes").out


def test_where_indexing_is_off_nothing_is_promised(tmp_path: Path, home: Path) -> None:
    write(tmp_path / "notes", {"a.md": "A walrus.\n"})
    off = WITHOUT_MODEL + "[gateway.knowledge]\nindexing_enabled = false\n"
    (home / "config.toml").write_text(off, encoding="utf-8")
    assert "indexing is switched off (gateway.knowledge.indexing_enabled)" in run("knowledge", "add", "notes").out
    assert "indexing is switched off" in run("knowledge", "scan", "notes").err


def test_list_and_status_say_the_name_the_state_and_its_reason(tmp_path: Path, home: Path) -> None:
    folder = write(tmp_path / "notes", {"a.md": "A walrus.\n", "b.png": "x"})
    assert run("knowledge", "add", "notes").code == 0
    assert run("knowledge", "update", "notes", "--name", "Field notes", "--exclude", "[[").code == 0
    assert run("knowledge", "list").out.startswith("notes\tField notes\tpolling (not watched)\t1\t0\t0\t")
    told = run("knowledge", "status").out
    assert told.startswith("notes (Field notes)\n")
    for line in (
        f"folder      {folder}",
        "polling: no process watches it; a gateway compares it every 10 minutes",
        "watched by  nobody",
        "indexed     1 file, 1 piece",
        "skipped     unknown_kind 1",
        "no pattern  exclude line 1, `[[`",
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
