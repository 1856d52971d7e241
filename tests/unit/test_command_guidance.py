"""`pioneer instructions` and `pioneer agents`."""

from pathlib import Path

import pytest
from command_line import run
from guidance_stage import agent, put

from agent.guidance.agents import MOST_LISTED


@pytest.fixture(autouse=True)
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with rules, in which one works; and a home."""
    monkeypatch.setenv("PIONEER_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.delenv("PIONEER_WORKSPACE", raising=False)
    assert run("remember", "I live in Graz.").code == 0
    folder = put(tmp_path / "repo", {".git/HEAD": "ref: refs/heads/main\n", "in/": ""})
    put(folder, {"AGENTS.md": "Use tabs.\n@~/mine.md\n" + "A rule.\n\n" * 2000, "CLAUDE.md": "Use\u200b spaces.\n"})
    monkeypatch.chdir(folder)
    return folder


def test_a_preview_shows_the_text_and_what_is_missing_of_it(repo: Path) -> None:
    shown = run("instructions")
    assert shown.code == 0
    assert "### AGENTS.md\n\nUse tabs.\n" in shown.out
    assert "not loaded: @~/mine.md (home)" in shown.err
    assert "cut: AGENTS.md, lines " in shown.err
    assert "1 files, " in shown.err
    assert "boundary: git" in shown.err
    claude = run("instructions", str(repo / "in"), "--profile", "claude")
    assert "Use spaces." in claude.out
    assert "hidden characters: CLAUDE.md: lines 1" in claude.err
    whole = run("instructions", "--json")
    assert whole.json["budget"]["limit"] == 12_000


def test_a_preview_shows_each_letter_that_a_turn_is_given(repo: Path) -> None:
    kept = "soft\u00adhyphen\u00a0blank \u3000 \ue0b0"
    put(repo, {"AGENTS.md": f"{kept}\r\n\x1b[31mred\x9b \rover\n"})
    assert f"{kept}\r\n\ufffd[31mred\ufffd \ufffdover\n" in run("instructions").out


def test_files_are_switched_off_and_on(repo: Path) -> None:
    assert run("instructions", "--off").code == 0
    off = run("instructions")
    assert (off.code, off.out) == (1, "")
    assert "instructions off: workspace" in off.err
    assert run("instructions", "--on").code == 0
    assert run("instructions").code == 0
    assert run("instructions", str(repo / "gone")).code == 64


def test_agents_beyond_those_of_one_list_are_counted_and_shown_by_name(tmp_path: Path) -> None:
    files = [agent(f"a{number:03}") for number in range(MOST_LISTED + 2)]
    put(tmp_path / "home" / "agents", {name: text for some in files for name, text in some.items()})
    listed = run("agents", "--json")
    assert listed.json["left_out"] == 2
    assert "2 more are not listed" in run("agents").err
    assert run("agents", "show", f"a{MOST_LISTED + 1}").code == 0


def test_agents_are_listed_and_shown_part_by_part(tmp_path: Path) -> None:
    none = run("agents")
    assert (none.code, none.out) == (1, "")
    put(
        tmp_path / "home" / "agents",
        {**agent("clerk", config="hooks: x\n", soul="Calm.", memory="Seed."), "bad/AGENTS.md": "x"},
    )
    put(tmp_path / "home" / "agents", {"twice/AGENTS.md": "x", "twice/config.yaml": "name: x\nname: y\n"})
    listed = run("agents")
    assert (listed.code, listed.out) == (0, "clerk\tClerk\tDoes clerk things.\tignored key hooks\n")
    assert "not valid: bad: missing config.yaml" in listed.err
    assert "not valid: twice: config invalid config.yaml, line 2 (double key)" in listed.err
    shown = run("agents", "show", "clerk")
    assert "Work carefully." in shown.out
    assert "Calm." not in shown.out
    assert "Seed." not in shown.out
    both = run("agents", "show", "clerk", "--soul", "--memory")
    assert "Calm." in both.out
    assert "Seed." in both.out
    assert run("agents", "show").code == 64
    assert run("agents", "show", "bad").code != 0
    assert run("agents", "--json").json["invalid"][0]["slug"] == "bad"
