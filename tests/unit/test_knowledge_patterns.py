"""Lines of patterns and files of them, beside git's own answers; git itself runs here, as it is the measure."""

import os
import random
import subprocess
from pathlib import Path

import pytest
from spawned import on_posix

from gateway.files.safe_open import SafeFolder
from knowledge.walk import pattern_files
from knowledge.walk.patterns import LeftOut, PatternList
from knowledge.walk.walking import Walk, WalkLimits, rules_of

CHOICES: dict[str, list[str]] = {"include": [], "exclude": []}
LINES = (
    *("*", "!*", "/*", "!/*", "**", "!**", "/**", "*/", "!*/", "**/", "!**/", "*/*", "?", "/", "//", "!", "", "# no"),
    *("*.md", "!*.md", "*.md/", "keep.md/", "!keep.md", "!*/keep.md", "bar/**/keep.md", "/a.md", "!a.md", "*.d/", ".*"),
    *("foo", "/foo", "foo/", "foo/*", "foo/**", "foo/**/", "foo/***", "foo/*/", "!foo/*/", "foo//", "foo\\", "foo/ "),
    *("!foo", "!foo/", "!/foo/", "!foo/bar/", "!foo/bar/**", "**/foo/bar", "/*/foo", "bar/*", "!bar/keep.md", "!bar/"),
    *("doc", "!doc/", "**/doc", "doc/**", "!doc/**", "a/**/b", "**/b/**", "!**/b/", "a**b", "a//b", "a b/", " a"),
    *("t.md  ", "t.md\t", "t.md\t ", "t.md\\ ", "\\#h", "#h", "\\!n", "!!n", "!\\!n", "/!n", "\\", "*\\", "back\\\\s"),
    *("x?", "?.md", "??.md", "é/", "é.*", "[é].md", "[a-c]", "[!a-c]*", "[fb]oo", "[^f]oo", "[!/]oo", "[!f]*", "a[/]b"),
    *("[x]", "\\[x]", "[]-]x", "[\\]x]", "[[]x]", "f[*]o", "[-a].md", "a/[^b]", "[a-", "[\\", "ba[r", "[[:foo:]]"),
    *("[[:upper:]]oo", "[[:alpha:]", "[[:alpha:][:digit:]]*", "x[^1].md"),
)
FILES = (
    "keep.md",
    "a.md",
    "x1.md",
    "t.md",
    "t.md\t",
    ".h.md",
    "Foo.md",
    "é.md",
    "#h",
    "!n",
    "[x].md",
    "-.md",
    "foo",
    "a",
)
FOLDERS = (
    "a",
    "b",
    "foo",
    "bar",
    "doc",
    "x1",
    "Foo",
    "a b",
    "é",
    "t.d",
    "!n",
    "[x]",
    "f*o",
    "back\\s",
    "]x",
    "a\nb",
    "keep.md",
)


def fill(folder: Path, dice: random.Random, depth: int = 0) -> None:
    """Make some files and folders, and lists of patterns among them."""
    folder.mkdir(exist_ok=True)
    for name in dice.sample(FILES, dice.randint(2, 7)):
        (folder / name).write_text("x", encoding="utf-8")
    if dice.random() < 0.6:
        (folder / ".gitignore").write_bytes(draw_list(dice))
    for name in dice.sample(FOLDERS, dice.randint(1, 4)) if depth < 3 else ():
        if not (folder / name).exists():
            fill(folder / name, dice, depth + 1)


def draw_list(dice: random.Random) -> bytes:
    """A file of patterns, with or without a mark of bytes, of either kind of lines."""
    end = dice.choice(("\n", "\r\n"))
    lines = end.join(dice.choices(LINES, k=dice.randint(1, 7)))
    return (dice.choice(("", "\ufeff")) + lines + dice.choice(("", end))).encode()


def listed_by_git(folder: Path) -> set[str]:
    """The files of a folder as git sees them."""
    git = ["git", "-c", "core.excludesFile=/dev/null", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    told = subprocess.run(git, cwd=folder, check=True, capture_output=True).stdout
    return {path for path in told.decode().split("\0") if path}


def make_repository(folder: Path) -> Path:
    """A folder with an empty repository."""
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


def walk(folder: Path) -> tuple[set[str], Walk]:
    """The files that no rule of a person leaves out, of whatever kind, and the walk."""
    with SafeFolder(folder) as root:
        walked = Walk(root, rules_of(root, CHOICES, follows_git=True), WalkLimits(1 << 30, 1 << 30))
        found: set[str] = set()
        for sight in walked:
            names = [name for name, left in sight.left_out.items() if left.reason == "unknown_kind"]
            found |= {f"{sight.folder}/{name}" if sight.folder else name for name in (*sight.files, *names)}
        return found, walked


def judge(folder: Path, path: str) -> LeftOut | None:
    """The reason for which a path of a folder is left out."""
    with SafeFolder(folder) as root:
        rules = rules_of(root, CHOICES, follows_git=True)
        return Walk(root, rules, WalkLimits(1 << 30, 1 << 30)).judge_path(path)


@on_posix  # names that Windows does not allow
@pytest.mark.loop("check")
def test_knowledge_statement_08_what_is_left_out_of_random_trees_is_what_git_leaves_out(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "r")
    for number in range(60):
        dice = random.Random(number)
        tree = tmp_path / f"r{number}"
        fill(tree, dice)
        (repository / ".git").rename(tree / ".git")
        (tree / ".git" / "info" / "exclude").write_bytes(draw_list(dice) if dice.random() < 0.5 else b"")
        assert walk(tree)[0] == listed_by_git(tree), number
        for below in (path for path in tree.iterdir() if path.is_dir() and path.name != ".git"):
            if judge(tree, below.name) == LeftOut("folder"):  # a collection in a repository has the lists above it
                assert walk(below)[0] == listed_by_git(below), number
        (tree / ".git").rename(repository / ".git")


@pytest.mark.parametrize(
    ("lines", "kept"),
    [
        (["*", "!*/", "!keep.md"], {"keep.md", "bar/keep.md", "foo/keep.md"}),
        (["foo/**", "!foo/bar/", "!foo/bar/**", "/bar/", "/*.md"], {"foo/bar/a.md"}),
        (["*/", "!foo/"], {"a.md", "keep.md", "foo/a.md", "foo/keep.md"}),
        (["foo/**/", "bar/"], {"a.md", "keep.md", "foo/a.md", "foo/keep.md"}),
        (["keep.md\t", "a.md  ", "bar/", "foo"], {"keep.md"}),
    ],
)
def test_a_pattern_of_folders_matches_the_folders_alone(tmp_path: Path, lines: list[str], kept: set[str]) -> None:
    for path in ("a.md", "keep.md", "foo/a.md", "foo/keep.md", "foo/bar/a.md", "bar/keep.md", "bar/a.md"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x", encoding="utf-8")
    (tmp_path / ".gitignore").write_text("\n".join([*lines, ".gitignore"]), encoding="utf-8")
    assert walk(tmp_path)[0] == kept


def test_an_include_takes_what_lies_below_the_folders_that_it_names() -> None:
    listed = PatternList("include", "", ["docs/", "src", "!*.tmp"], with_below=True)
    found = {path: listed.find(path) for path in ("docs/a/b.md", "src/x.py", "src", "docs", "docs/a.tmp", "x.md")}
    assert {path: one[0] if one else None for path, one in found.items()} == {
        "docs/a/b.md": True,
        "src/x.py": True,
        "src": True,
        "docs": None,
        "docs/a.tmp": False,
        "x.md": None,
    }


def test_texts_that_can_match_nothing_are_no_patterns() -> None:
    refused = [
        "[a-",
        "zz\na.md",
        "a\r",
        "a\0.md",
        "# a",
        "",
        "  ",
        "!",
        "/",
        "a//",
        "[/]",
        "foo\\",
        "[z-a]",
        "x" * 2000,
    ]
    told = PatternList("exclude", "", refused, is_chosen=True).bad
    assert [one.line for one in told] == [*range(1, len(refused) + 1)]
    assert PatternList("exclude", "", ["a", "\\#a", "\t", "!a", "**", "[!a]", "a "], is_chosen=True).bad == []


def test_a_file_of_patterns_that_cannot_be_read_whole_is_told_and_shuts_its_folder(tmp_path: Path) -> None:
    tops = {
        "bytes": "#" * pattern_files.MAX_BYTES + "\nx",
        "lines": "x\n" * (pattern_files.MAX_LINES + 1),
        "right": "#" * (pattern_files.MAX_BYTES - 2) + "\nx",
    }
    for name, text in tops.items():
        (tmp_path / name / "inner").mkdir(parents=True)
        (tmp_path / name / "inner" / "a.md").write_text("x", encoding="utf-8")
        (tmp_path / name / ".gitignore").write_text(text, encoding="utf-8")
    found, walked = walk(tmp_path)
    assert found == {"right/.gitignore", "right/inner/a.md"}
    assert [(one.file, one.line, one.pattern, one.reason) for one in walked.bad] == [
        ("bytes/.gitignore", 0, "", "too_large"),
        ("lines/.gitignore", 0, "", "too_large"),
    ]
    left = judge(tmp_path, "bytes/inner/a.md")
    assert left is not None
    assert left.rule is not None
    assert (left.reason, left.rule.file, left.rule.reason) == ("ignored", "bytes/.gitignore", "too_large")


@on_posix
def test_a_link_or_folder_of_that_name_is_told_and_has_no_effect_as_for_git(tmp_path: Path) -> None:
    make_repository(tmp_path)
    for name in ("linked", "folder/.gitignore"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("linked/a.md", "folder/a.md", "folder/.gitignore/x.md"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    (tmp_path / ".env").write_text("a.md\nSECRET=[a-\n", encoding="utf-8")
    (tmp_path / "linked" / ".gitignore").symlink_to("../.env")
    found, walked = walk(tmp_path)
    assert {path for path in listed_by_git(tmp_path) if path.endswith(".md")} == found - {"linked/.gitignore"}
    assert {(one.file, one.pattern, one.reason) for one in walked.bad} == {
        ("folder/.gitignore", "", "not_regular"),
        ("linked/.gitignore", "", "link"),
    }


@pytest.mark.parametrize("is_marked", [False, True])
def test_lines_are_cut_as_git_cuts_them(tmp_path: Path, *, is_marked: bool) -> None:
    (tmp_path / "x").write_bytes(b"\xef\xbb\xbf" * is_marked + b"a\r\nb\x0cc\x85\r\r\nd\0e\n\xff")
    with SafeFolder(tmp_path) as root:
        assert pattern_files.lines_of(root, "x") == ["a", "b\x0cc\udc85\r", "d", "\udcff"]


def test_a_worktree_and_a_collection_in_it_have_the_lists_of_its_repository(tmp_path: Path) -> None:
    git = ["git", "-c", "user.name=x", "-c", "user.email=x", "-c", "commit.gpgsign=false", "-C", str(tmp_path / "repo")]
    make_repository(tmp_path / "repo")
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", str(tmp_path / "tree")], check=True, capture_output=True)
    (tmp_path / "repo" / ".git" / "info").mkdir(exist_ok=True)
    (tmp_path / "repo" / ".git" / "info" / "exclude").write_text("q.md\n/docs/own.md\n[a-\n", encoding="utf-8")
    tree = tmp_path / "tree"
    (tree / ".gitignore").write_text("priv/\n", encoding="utf-8")
    for path in ("q.md", "t.md", "docs/q.md", "docs/own.md", "docs/priv/p.md", "docs/a.md"):
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text("x", encoding="utf-8")
    assert walk(tree)[0] == listed_by_git(tree) - {".git"} == {".gitignore", "t.md", "docs/a.md"}
    found, walked = walk(tree / "docs")
    assert found == listed_by_git(tree / "docs") == {"a.md"}
    assert [(one.file, one.line) for one in walked.bad] == [("../.git/info/exclude", 3)]
    left = judge(tree / "docs", "priv/p.md")
    assert left is not None
    assert left.rule is not None
    assert (left.rule.file, left.rule.line, left.rule.pattern) == ("../.gitignore", 1, "priv/")


def test_above_the_users_own_folder_and_without_a_repository_nothing_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "user" / "notes").mkdir(parents=True)
    (tmp_path / "user" / "notes" / "a.md").write_text("x", encoding="utf-8")
    for folder in (tmp_path, tmp_path / "user"):
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    assert walk(tmp_path / "user" / "notes")[0] == {"a.md"}
    make_repository(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "user"))
    assert walk(tmp_path / "user" / "notes")[0] == {"a.md"}
    monkeypatch.setenv("HOME", os.devnull)
    monkeypatch.setenv("USERPROFILE", os.devnull)
    assert walk(tmp_path / "user" / "notes")[0] == set()
