"""Pure decisions of a scan: which folders are gone, what counts as a mass, which roots and rules hold."""

from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits, hexdigits, punctuation, whitespace

import pytest
from msgspec import structs

from knowledge.kinds import Kind, kind_of
from knowledge.scan.comparing import find_gone, is_mass
from knowledge.scan.patterns import PatternList, Rules
from knowledge.scan.roots import is_overlapping, problem_of_root
from knowledge.search.addresses import Address, is_anchor_of, read_address, write_address


def test_below_a_folder_that_cannot_be_read_nothing_is_gone():
    known = {"", "a", "a/b", "ab", "shut", "shut/in"}
    assert find_gone(known, {"", "shut"}, ["shut"]) == ["a", "a/b", "ab"]


def test_a_mass_is_more_than_a_hundred_and_half():
    assert not is_mass(100, 0)
    assert is_mass(101, 100)
    assert not is_mass(101, 101)


def test_roots_that_hold_more_than_documents_are_refused():
    home, user = "/srv/pioneer", "/home/ada"
    refused = ("/", "/home", "/home/ada", "/srv", "/srv/pioneer", "/srv/pioneer/logs", "/etc", "/proc/1", "/n/\udcff")
    assert [path for path in refused if problem_of_root(path, home, user) is None] == []
    assert problem_of_root("/home/ada/notes", home, user) is None
    assert problem_of_root("/dev/shm", home, user) is not None  # noqa: S108
    assert problem_of_root("/dev/shm/notes", home, user) is None  # noqa: S108
    assert is_overlapping("/n/a", "/n")
    assert is_overlapping("/n", "/n/a")
    assert not is_overlapping("/n/ab", "/n/a")


def test_the_first_rule_that_matches_decides():
    rules = Rules(["*.md", "*.py"], ["!dist/", "old/"], [], follows_git=True).within("", ["*.py"], ["!keep.py"])

    def why(path: str, *, is_folder: bool = False) -> str | None:
        found = rules.skips(path, is_folder=is_folder)
        return found.reason if found is not None else None

    assert why(".env.local") == "secret_file"
    assert why("Server.PEM") == "secret_file"
    assert why("sub/CLAUDE.md") == "instruction_file"
    assert why("old", is_folder=True) == "excluded"
    assert why("dist", is_folder=True) is None
    assert why("build", is_folder=True) == "excluded"
    assert (why("a.py"), why("keep.py")) == ("ignored", None)
    assert (why("a.md"), why("a.txt")) == (None, "not_included")


def test_named_classes_of_letters_are_those_of_git():
    letters = [chr(code) for code in range(1, 127) if chr(code) not in "/\n\r"]
    classes = {
        "alnum": ascii_letters + digits,
        "alpha": ascii_letters,
        "blank": " \t",
        "cntrl": "".join(map(chr, range(1, 32))),
        "digit": digits,
        "graph": ascii_letters + digits + punctuation,
        "lower": ascii_lowercase,
        "print": ascii_letters + digits + punctuation + " ",
        "punct": punctuation,
        "space": whitespace,
        "upper": ascii_uppercase,
        "xdigit": hexdigits,
    }
    for name, within in classes.items():
        one, other = PatternList("x", "", [f"a[[:{name}:]]b"]), PatternList("x", "", [f"a[^[:{name}:]]b"])
        assert [letter for letter in letters if one.find(f"a{letter}b")] == [at for at in letters if at in within], name
        assert [at for at in letters if other.find(f"a{at}b")] == [at for at in letters if at not in within], name
    listed = PatternList("x", "", ["v[[:digit:]_]*.txt", "\\[[:alpha:]]", "a[[:nothing:]]", f"[[:alpha:]]{'x' * 1100}"])
    assert [listed.find(path) is not None for path in ("v1.txt", "v_.txt", "va.txt", "v:.txt")] == [
        True,
        True,
        False,
        False,
    ]
    assert [one.line for one in listed.bad] == [3, 4]
    alone = PatternList("x", "", ["[:digit:]x"])  # no class without brackets around it
    assert [alone.find(path) is not None for path in ("dx", ":x", "5x", "0-9x")] == [True, True, False, False]


def test_names_say_the_kind():
    assert kind_of("a.MD") == Kind("markdown")
    assert kind_of("README") == Kind("text")
    assert kind_of("x.tsx") == Kind("code", "typescript")
    assert (kind_of(".gitignore"), kind_of("a.bin"), kind_of("none")) == (None, None, None)


def test_an_address_is_read_as_it_is_written():
    written = write_address("notes", "a#b%\n/c:d.md", 3, 9, bytes.fromhex("9f2c4e1a00"))
    assert written == "notes:a%23b%25%0A/c:d.md#L3-L9~9f2c4e1a"
    assert read_address(written) == Address("notes", "a#b%\n/c:d.md", 3, 9, "9f2c4e1a")
    assert read_address("notes:a.md#L7") == Address("notes", "a.md", 7, 7)
    assert read_address("notes:a.md#Q3%20Plan") == Address("notes", "a.md", anchor="Q3%20Plan")
    assert [read_address(text) for text in ("notes", ":a", "notes:", "")] == [None] * 4
    assert is_anchor_of("q3-plan-a", "Q3 Plan: A")
    assert is_anchor_of("Q3%20Plan: A", "Q3 Plan: A")
    assert not is_anchor_of("plan", "Q3 Plan: A")
    assert is_anchor_of("plan-1", "Plan", 1)
    assert not is_anchor_of("plan-1", "Plan")


def test_words_of_patterns_leave_out_no_path_that_a_pattern_matches() -> None:
    """Most paths have no word of any pattern and are not compared: with that look and without it the answer is one."""
    lines = [
        "*.log",
        "/top",
        "a/**/b",
        "x?z",
        "!keep.log",
        "[Dd]raft*",
        "sp ace/",
        "**/deep",
        "*",
        "\\#odd",
        "Ünicode.*",
        "d/",
        "",
        "# no",
        "a//b",
        "**",
        "e*f*g",
    ]
    parts = [
        "a",
        "b",
        "top",
        "deep",
        "x1z",
        "keep.log",
        "Draft1",
        "sp ace",
        "d",
        "ünicode.md",
        "Ünicode.md",
        "#odd",
        "efg",
        "A.PEM",
        ".ENV",
    ]
    paths = [*parts, *(f"{one}/{other}" for one in parts for other in parts)]
    for chosen in [[line] for line in lines] + [lines, lines[:5], lines[9:]]:
        quick, whole = Rules([], chosen, [], follows_git=True), Rules([], chosen, [], follows_git=True)
        quick, whole = quick.within("a", chosen, chosen[:1]), whole.within("a", chosen, chosen[:1])
        whole.deciding = structs.replace(whole.deciding, may_match=bool)
        for path in paths:
            for is_folder in (False, True):
                asked = quick.skips(path, is_folder=is_folder), whole.skips(path, is_folder=is_folder)
                assert asked[0] == asked[1], (chosen, path)


def test_lines_that_are_no_pattern_are_reported_whoever_refuses_them_and_the_others_hold():
    lines = ["", "# a note [", "[z-", "[z-a]", "!", "!+]b[**\t[:alpha:]", "\ud800[", "drafts/", "*.tmp"]
    rules = PatternList(".gitignore", "", lines)
    assert [(one.line, one.pattern) for one in rules.bad] == [
        (3, "[z-"),
        (4, "[z-a]"),
        (5, "!"),
        (6, "!+]b[**\t[:alpha:]"),
        (7, "?["),
    ]
    assert [rules.find(path) is not None for path in ("drafts/", "a.tmp", "a.md")] == [True, True, False]


@pytest.mark.loop("check")
def test_thousands_of_patterns_hold_and_the_last_that_matches_decides():
    lines = ["*.md", *(f"dir{number}/name{number}*.txt" for number in range(9000)), "!name7b*"]
    rules = PatternList(".gitignore", "", lines)
    matched = [rules.find(path) for path in ("dir7/name7b.txt", "dir8/name8a.txt", "x/a.md", "x/a.txt")]
    assert [(one[0], one[1].line) if one else None for one in matched] == [(False, 9002), (True, 10), (True, 1), None]
