"""Bundles and imports on the command line: what goes out comes in again, whatever a shell made of it, and codes tell
what did not."""

import codecs
import json
import os
import re
import subprocess
import zipfile
from pathlib import Path

import pytest
from command_line import ids, new_home, remember, run

from gateway.wire.client import console_script

COFFEE = "I take my coffee without sugar."
TALK = "# User\n\nWhen does the ferry sail?\n\n# Assistant\n\nAt ten.\n"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return new_home(tmp_path, monkeypatch)


def test_a_bundle_goes_out_and_comes_in_again(tmp_path: Path) -> None:
    memory_id = remember(COFFEE)
    assert run("export", "mine.jsonl").code == 0
    assert run("export", "mine.jsonl").code == 64
    assert run("export", "mine.jsonl", "--force").code == 0
    lost = run("export", "nowhere/mine.jsonl")
    assert (lost.code, Path("nowhere").exists()) == (73, False)
    assert "there is no folder" in lost.err
    assert run("backup", "nowhere/mine.zip").code == 73
    other = str(tmp_path / "other")
    assert run("import", "mine.jsonl", "--home", other, "--dry-run", "--json").json["imported"] == 1
    assert not Path(other).exists()
    assert run("import", "mine.jsonl", "--home", other).code == 0
    assert ids("--home", other) == [memory_id]
    assert run("import", "mine.jsonl", "--home", other, "--json").json["skipped"] == 1


def test_several_pages_in_one_file_are_taken_in_one_after_the_other(tmp_path: Path) -> None:
    pages = []
    for n, text in enumerate((COFFEE, "The ferry leaves at ten.")):
        where = ("--home", str(tmp_path / f"page{n}"))
        assert run("remember", text, *where).code == 0
        pages.append(run("export", "-", *where).out)
    taken = run("import", "-", "--json", stdin="".join(pages).encode())
    assert (taken.code, taken.json["imported"]) == (0, 2)


def test_a_bundle_that_was_changed_is_refused() -> None:
    remember(COFFEE)
    Path("mine.jsonl").write_text(run("export", "-").out.replace("coffee", "poison"), encoding="utf-8")
    assert run("import", "mine.jsonl").code == 65
    assert run("import", "-", stdin=b"").code == 66


def test_a_backup_is_no_import_and_the_command_that_restores_it_is_named(tmp_path: Path) -> None:
    remember(COFFEE)
    for name in ("mine.backup", "mine.zip"):
        assert run("backup", name).code == 0
        ended = run("import", name)
        assert ended.code == 65
        (command,) = re.findall(r"`pioneer (restore-backup .*) --home DIR`", ended.err)
        assert run(*command.split(), "--home", str(tmp_path / f"restored-{name}")).code == 0
    with zipfile.ZipFile("talk.zip", "w") as archive:
        archive.writestr("manifest.json", "{}")
        archive.writestr("talk.md", TALK)
    assert run("import", "talk.zip", "--json").json["conversations"]["new"] == 1
    Path("torn.zip").write_bytes(Path("mine.zip").read_bytes()[:-30])
    assert "backup" not in run("import", "torn.zip").err


def as_bytes() -> bytes:
    return run("export", "-").out.encode()


SHELLS = {
    "as it is": lambda data: data,
    "with carriage returns": lambda data: data.replace(b"\n", b"\r\n"),
    "with a mark": lambda data: codecs.BOM_UTF8 + data,
    "PowerShell 5.1": lambda data: codecs.BOM_UTF16_LE + data.decode().replace("\n", "\r\n").encode("utf-16-le"),
    "big end first": lambda data: codecs.BOM_UTF16_BE + data.decode().encode("utf-16-be"),
    "without its last line's end": lambda data: data.removesuffix(b"\n"),
}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("way", ["file", "stdin"])
def test_a_bundle_comes_in_whatever_a_shell_made_of_its_bytes(tmp_path: Path, shell: str, way: str) -> None:
    kept = {remember(COFFEE), remember("Der Tee heißt 茶, sagte sie.\u2028Und der Kaffee?")}
    data = SHELLS[shell](as_bytes() * 2)  # two pages
    if way == "file":
        Path("moved.jsonl").write_bytes(data)
        ended = run("import", "moved.jsonl", "--home", str(tmp_path / "other"), "--json")
    else:
        ended = run("import", "-", "--home", str(tmp_path / "other"), "--json", stdin=data)
    assert (ended.code, ended.json["imported"], ended.json["skipped"]) == (0, 2, 2), ended.err
    assert set(ids("--home", str(tmp_path / "other"))) == kept


@pytest.mark.parametrize("encoding", ["cp437", "cp1252", "ascii"])
def test_a_bundle_goes_out_as_it_is_on_any_console(encoding: str) -> None:
    remember("Der Tee heißt 茶.")
    with_utf_8, other = (
        run("export", "-"),
        subprocess.run(
            [*console_script(), "export", "-"],
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONIOENCODING": encoding},
        ),
    )
    assert "茶" in with_utf_8.out
    first, *_, last = other.stdout.decode().splitlines()
    assert json.loads(last)["type"] == "end"
    assert "茶" in other.stdout.decode()
    assert run("import", "-", "--json", stdin=other.stdout).json["skipped"] == 1
    assert json.loads(first)["counts"]["records"] == 1


@pytest.mark.parametrize("letter", ["\u2028", "\u2029", "\u0085"])
def test_a_letter_that_some_call_a_line_end_is_exported(letter: str) -> None:
    remember(f"The ferry leaves{letter}at ten.")
    ended = run("export", "mine.jsonl")
    assert (ended.code, ended.out.splitlines()[0]) == (
        0,
        "1 memory (with those that were replaced), 0 candidates, 0 tombstones",
    )
    told = run("export", "other.jsonl", "--json").json
    assert (told["records"], told["tombstones"], told["diagnostics"]) == (1, 0, [])
    assert Path(told["file"]).samefile("other.jsonl")


def test_what_belongs_to_another_workspace_is_told_with_the_way_to_take_it_in(tmp_path: Path) -> None:
    remember("The boat is called Tern.", "--scope", "workspace", "--workspace", "boats")
    assert run("export", "boats.jsonl", "--workspace", "boats").code == 0
    other = ("--home", str(tmp_path / "other"))
    ended = run("import", "boats.jsonl", *other)
    assert ended.code == 65
    assert "1 of them belong to workspace:boats: `--workspace boats` takes it in" in ended.out
    assert run("import", "boats.jsonl", *other, "--workspace", "boats").code == 0
    assert run("import", "boats.jsonl", *other, "--workspace", "boats").code == 0  # known already is no fault


def test_a_dash_takes_bundles_alone() -> None:
    ended = run("import", "-", "--json", stdin=b'[{"uuid": "1", "chat_messages": []}]')
    assert ended.code == 65
    assert "takes a bundle" in ended.json["error"]["message"]


@pytest.mark.skipif(os.name == "nt", reason="there are no pipes with names in a folder")
def test_a_pipe_in_place_of_a_file_takes_nothing_in_and_says_so(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    ended = run("import", "pipe.md")
    assert ended.code == 65
    assert "not a regular file" in ended.out


def test_an_import_that_takes_nothing_in_does_not_end_with_0(tmp_path: Path) -> None:
    strange = tmp_path / "strange"
    strange.mkdir()
    assert run("import", "strange").code == 66
    (strange / "picture.png").write_bytes(b"\x89PNG")
    assert run("import", "strange").code == 65
    (strange / "talk.md").write_text(TALK, encoding="utf-8")
    assert run("import", "strange").code == 0
    assert run("import", "strange").code == 0


def test_a_dry_run_makes_no_home(home: Path) -> None:
    Path("talk.md").write_text(TALK, encoding="utf-8")
    assert run("import", "talk.md", "--dry-run", "--json").json["conversations"]["new"] == 1
    assert not home.exists()


def test_errors_of_an_import_are_documents(home: Path) -> None:
    Path("talk.md").write_text(TALK, encoding="utf-8")
    remember(COFFEE)
    for arguments, code in ((["nope"], 66), (["talk.md", "--workspace", "a b"], 64), ([""], 64)):
        ended = run("import", *arguments, "--json")
        assert (ended.code, bool(ended.json["error"]["message"])) == (code, True)
    (home / "gateway.db").write_bytes(b"this is no database at all" * 200)
    ended = run("import", "talk.md", "--json")
    assert ended.code == 69
    assert "damaged" in ended.json["error"]["message"]


def test_a_rehearsal_without_a_home_obeys_the_configuration_that_waits_for_it(home: Path, tmp_path: Path) -> None:
    remember(COFFEE)
    assert run("export", str(tmp_path / "mine.jsonl")).code == 0
    other = tmp_path / "other"
    other.mkdir()
    (other / "config.toml").write_text("[gateway.memory]\nenabeld = true\n", encoding="utf-8")
    for rehearsal in ([], ["--dry-run"]):
        assert run("import", "mine.jsonl", "--home", str(other), *rehearsal).code == 78, rehearsal
    assert sorted(path.name for path in tmp_path.iterdir() if path != home) == ["mine.jsonl", "other"]


def test_a_warning_of_a_backup_stays_out_of_its_json(home: Path) -> None:
    remember(COFFEE)
    (home / "spool").mkdir(exist_ok=True)
    (home / "spool" / "capture-pxy_left.jsonl").touch()
    (home / "config.toml").write_text("[gateway.memory]\nenabled = 'perhaps'\n", encoding="utf-8")
    ended = run("backup", "mine.backup", "--json")
    assert (ended.code, ended.json["has_key"]) == (0, True)
    assert "not in it" in ended.err
