"""`pioneer knowledge`, from outside: a folder is added, searched, read, explained and forgotten by the command line."""

import json
import subprocess
import sys
from pathlib import Path

from spawned import WITHOUT_MODEL

from gateway.base.exit_codes import DATA, NEGATIVE, NO_INPUT
from gateway.wire.client import console_script


def place_in(tmp_path: Path) -> list[str]:
    """The options of a home with a configuration without a model, and of a workspace."""
    config = tmp_path / "config.toml"
    config.write_text(WITHOUT_MODEL, encoding="utf-8")
    return ["--home", str(tmp_path / "home"), "--config", str(config), "--workspace", "ws_here"]


def test_a_folder_lives_its_life_by_the_command_line(tmp_path: Path) -> None:
    folder, home, config = tmp_path / "notes", tmp_path / "home", tmp_path / "config.toml"
    (folder / "drafts").mkdir(parents=True)
    (folder / "release.md").write_text("# Release\n\n## Checklist\n\nTag the walrus commit.\n", encoding="utf-8")
    (folder / "drafts" / "old.md").write_text("An old walrus.\n", encoding="utf-8")
    (folder / ".gitignore").write_text("drafts/\n", encoding="utf-8")
    config.write_text(WITHOUT_MODEL, encoding="utf-8")

    def run(*words: str, code: int = 0) -> str:
        place = ["--home", str(home), "--config", str(config), "--workspace", "ws_here"]
        done = subprocess.run(
            [*console_script(), "knowledge", *words, *place], capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stderr
        return done.stdout

    assert "1 file" in run("add", str(folder), "--dry-run")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["config.toml", "notes"]  # a preview makes no home
    run("list", code=NO_INPUT)
    run("add", str(tmp_path / "nowhere"), code=NO_INPUT)
    run("add", str(config), code=NO_INPUT)
    assert run("add", str(folder)).startswith("notes\t1 file indexed")
    (hit,) = json.loads(run("search", "walrus commit", "--json"))["hits"]
    assert hit["heading"] == ["Release", "Checklist"]
    assert hit["address"] in run("search", "walrus commit", "--max-results", "1", "--topic", "x", "--related")
    assert "Tag the walrus commit." in run("read", hit["address"])
    assert "`drafts/`" in run("why", "notes:drafts/old.md", code=1)
    run("why", "a walrus", code=1)
    (folder / "swim.md").write_text("".join(f"# Lake {n}\n\nThe seal swims.\n\n" for n in range(4)), encoding="utf-8")
    assert len(run("search", "seal").splitlines()) == 2
    assert [line.split("\t")[2] for line in run("why", "of whom: the seal").splitlines()] == ["already shown"] * 2
    (folder / "swim.md").unlink()
    (folder / "release.md").write_text("# Release\n\nTag the pelican commit.\n", encoding="utf-8")
    assert run("search", "walrus", code=1).strip() == ""
    assert "pelican" in run("search", "pelican")
    assert "changed" in run("changes", "notes")
    assert "release.md" in run("files", "notes")
    assert run("retry", "notes", code=1).startswith("0 files")
    assert run("update", "notes", "--exclude", "release.md").count("notes")
    assert run("search", "pelican", code=1).strip() == ""
    run("update", "notes", "--no-exclude")
    assert "pelican" in run("search", "pelican")
    folder.rename(tmp_path / "away")
    assert "unavailable (root missing)" in run("scan", "notes")
    (tmp_path / "away").rename(folder)
    assert "removed" in run("remove", "notes")
    assert (folder / "release.md").exists()


HURRIED = (
    "import sys; from gateway.cli import main; from gateway.doors.commands import door;"
    " door.STEP_SECONDS = 0.01; sys.exit(main())"
)
"""The command line with no time for what need not be waited for."""


def test_a_folder_is_read_to_its_end_where_no_gateway_runs(tmp_path: Path) -> None:
    folder, place = tmp_path / "notes", place_in(tmp_path)
    folder.mkdir()
    for number in range(300):
        (folder / f"n{number}.md").write_text(f"# Note {number}\n\nA walrus.\n", encoding="utf-8")

    def run(*words: str) -> str:
        command = [sys.executable, "-c", HURRIED, "knowledge", *words, *place]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    run("add", str(folder))
    files = json.loads(run("list", "--json"))["collections"][0]["files"]
    assert (files["indexed"], files["pending"]) == (300, 0)


def test_a_stranger_is_told_in_words(tmp_path: Path) -> None:
    """The id that a name becomes, what was skipped, a folder, an agent's folder, a file that is gone, lines that are not, or are left out."""
    folder, home, config = tmp_path / "my notes", tmp_path / "home", tmp_path / "config.toml"
    (folder / "sub").mkdir(parents=True)
    (folder / "agents" / "strict").mkdir(parents=True)
    (folder / "a.md").write_text("The walrus sleeps.\n", encoding="utf-8")
    (folder / "sub" / "b.txt").write_text("One line.\n", encoding="utf-8")
    (folder / "sub" / "d.md").write_text("# One\n\nThe otter.\n\n# Two\n\nThe heron.\n", encoding="utf-8")
    (folder / "c.pdf").write_bytes(b"no document")
    (folder / "agents" / "strict" / "AGENTS.md").write_text("Be strict.\n", encoding="utf-8")
    (folder / "agents" / "strict" / "config.yaml").write_text("name: Strict\ndescription: It is.\n", encoding="utf-8")
    config.write_text(f"{WITHOUT_MODEL}\n[gateway.knowledge]\nmax_chunks_per_file = 1\n", encoding="utf-8")

    def run(*words: str) -> tuple[int, str, str]:
        command = [*console_script(), *words, "--home", str(home), "--config", str(config)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    code, out, told = run("knowledge", "add", str(folder))
    assert (code, out) == (0, "my-notes\t3 files indexed\n")
    assert "begin with its id, my-notes" in told
    assert "agent_folder 1" in told
    assert ("broken 1" in told) != ("no_reader 1" in told)  # with the extra, and without
    assert "broken" in (why := run("knowledge", "why", "my-notes:c.pdf")[1]) or "the extra `pdf`" in why
    assert "a folder, whose files are judged" in run("knowledge", "why", "my-notes:sub")[1]
    assert run("knowledge", "why", "my-notes:sub/d.md")[1] == "indexed in part: lines 5 to 7 left out\n"
    assert "partial\tlines 5 to 7 left out\t7\tsub/d.md\n" in run("knowledge", "files", "my-notes")[1]
    assert "agent folder" in run("knowledge", "why", "my-notes:agents/strict")[1]
    assert run("knowledge", "read", "my-notes:sub/b.txt#L4-L5")[2] == "sub/b.txt has 1 line, and none there\n"
    (folder / "a.md").unlink()
    assert run("knowledge", "read", "my-notes:a.md") == (1, "", "a.md: gone\n")
    code, out, told = run("import", str(folder / "sub" / "b.txt"))
    assert code == DATA
    assert "pioneer knowledge add" in out + told


def test_a_search_that_finds_nothing_says_which_workspace_has_hits(tmp_path: Path) -> None:
    folder, home, config = tmp_path / "notes", tmp_path / "home", tmp_path / "config.toml"
    folder.mkdir()
    (folder / "a.md").write_text("The walrus sleeps.\n", encoding="utf-8")
    config.write_text(WITHOUT_MODEL, encoding="utf-8")

    def run(workspace: str, *words: str) -> tuple[int, str, str]:
        place = ["--home", str(home), "--config", str(config), "--workspace", workspace]
        command = [*console_script(), "knowledge", *words, *place]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    assert run("ws_here", "add", str(folder))[0] == 0
    code, out, told = run("ws_there", "search", "walrus")
    assert (code, out) == (1, "")
    assert "1 hit in another project" in told
    assert "--workspace ws_here" in told
    assert "another project" not in run("ws_there", "search", "pelican")[2]
    assert run("ws_there", "why", "notes:a.md")[0] == 1
    assert run("ws_here", "why", "notes:a.md")[:2] == (0, "indexed\n")


def test_a_folder_that_cannot_be_a_collection_is_named_with_the_code_of_its_mistake(tmp_path: Path) -> None:
    folder, home = tmp_path / "notes", tmp_path / "home"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.md").write_text("The walrus sleeps.\n", encoding="utf-8")

    def run(*words: str) -> tuple[int, str]:
        done = subprocess.run(
            [*console_script(), *words, "--home", str(home)], capture_output=True, text=True, cwd=tmp_path, check=False
        )
        return done.returncode, done.stderr

    for more in ([], ["--dry-run"]):
        assert run("knowledge", "add", "gone", *more) == (
            NO_INPUT,
            "pioneer knowledge: there is no such folder: gone\n",
        )
    assert run("import", "gone")[0] == NO_INPUT
    told = "pioneer knowledge: notes/a.md is a file; a folder is wanted\n"
    assert run("knowledge", "add", "notes/a.md") == (NO_INPUT, told)
    assert not home.exists()
    assert run("knowledge", "add", "notes")[0] == 0
    assert run("knowledge", "update", "notes", "--path", "notes/a.md") == (NO_INPUT, told)
    assert run("knowledge", "add", "notes/sub")[0] == DATA  # inside another
    assert run("knowledge", "add", "/")[0] == DATA
    for empty in (
        ["candidates"],
        ["agents"],
        ["knowledge", "edges", "a.md"],
    ):
        assert (run(*empty)[0], run(*empty, "--json")[0]) == (NEGATIVE, NEGATIVE), empty
    assert "No page, folder, tag or file of code has that name." in run("knowledge", "edges", "gone")[1]
    assert "No collection has that id." in run("knowledge", "changes", "gone")[1]


def test_what_a_list_of_files_leaves_out_is_said_and_can_be_asked_for(tmp_path: Path) -> None:
    folder, place = tmp_path / "notes", place_in(tmp_path)
    folder.mkdir()
    for number in range(102):
        (folder / f"{number}.md").write_text(f"# Walrus {number}\n\nAs [the first](0.md) says.\n", encoding="utf-8")

    def run(*words: str) -> tuple[int, bool]:
        """Return the number of lines, and whether more is told of."""
        done = subprocess.run(
            [*console_script(), "knowledge", *words, *place], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return len(done.stdout.splitlines()), "there are more" in done.stderr

    run("add", str(folder))
    assert run("changes", "--limit", "1") == (1, True)
    for verb in (["files", "notes"], ["entities"], ["edges", "notes:0.md"]):
        assert run(*verb) == (100, True), verb
        lines, is_cut = run(*verb, "--all")
        assert (lines >= 102, is_cut) == (True, False), verb
