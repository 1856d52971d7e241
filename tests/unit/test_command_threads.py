"""Conversations, workspaces and candidates on the command line: all of them, one of them, and what becomes of it."""

from pathlib import Path

import pytest
from command_line import ids, new_home, propose, remember, run


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return new_home(tmp_path, monkeypatch)


@pytest.fixture
def talks(tmp_path: Path) -> list[str]:
    """Conversations, more than a list shows unasked, and one with more messages than a page holds."""
    folder = tmp_path / "talks"
    folder.mkdir()
    for number in range(23):
        turns = 60 if number == 7 else 1
        talk = "".join(f"# User\n\nTide {number} of {turn}?\n\n# Assistant\n\nAt {turn}.\n\n" for turn in range(turns))
        (folder / f"talk{number}.md").write_text(talk, encoding="utf-8")
    assert run("import", "talks").code == 0
    return [thread["thread_id"] for thread in run("threads", "--all", "--json").json["threads"]]


def test_lists_are_as_long_as_one_likes_and_say_when_there_is_more(talks: list[str]) -> None:
    assert len(set(talks)) == 23
    shown = run("threads")
    assert (len(shown.out.splitlines()), shown.err) == (20, "there are more: --limit N, or --all\n")
    assert len(run("threads", "--limit", "22").out.splitlines()) == 22
    assert len(run("threads", "--limit", "23").out.splitlines()) == 23
    assert run("threads", "--limit", "0").code == 64


@pytest.mark.loop("check")
@pytest.mark.usefixtures("talks")
def test_a_talk_is_shown_over_as_many_pages_as_it_has() -> None:
    [long] = [one["thread_id"] for one in run("threads", "--all", "--json").json["threads"] if one["turn_count"] == 60]
    assert len(run("threads", long, "--all", "--json").json["items"]) == 120
    items = run("threads", long, "--limit", "101", "--json").json["items"]
    assert len({item["item_id"] for item in items}) == 101
    ended = run("threads", long, "--limit", "119")
    assert "--all" in ended.err
    assert ended.out.count("Tide 7 of") == 59
    assert "--all" not in run("threads", long, "--limit", "120").err


def test_a_thread_is_renamed_and_deleted_with_a_yes(talks: list[str]) -> None:
    one = talks[0]
    assert run("threads", "--rename", "x").code == 64
    assert run("threads", one, "--rename", "Tides of May", "--json").json["thread"]["name"] == "Tides of May"
    assert any(
        line.startswith(one) and line.endswith("Tides of May") for line in run("threads", "--all").out.splitlines()
    )
    assert run("threads", one, "--delete").code == 64  # nobody can be asked
    assert run("threads", one, "--delete", "--yes", "--json").json["deleted"] is True
    assert run("threads", one).code == 1
    assert run("threads", one, "--delete", "--yes").code == 1
    assert len(run("threads", "--all").out.splitlines()) == 22


def test_workspaces_are_listed_and_an_export_says_which_it_is_of() -> None:
    for name in ("ws_harbour", "ws_cafe"):
        remember("The ferry leaves at ten.", "--workspace", name)
    told = run("workspaces", "--json").json["workspaces"]
    assert [workspace["workspace_id"] for workspace in told] == ["ws_harbour", "ws_cafe"]
    assert [line.split("\t")[0] for line in run("workspaces").out.splitlines()] == ["ws_harbour", "ws_cafe"]
    assert "workspace ws_harbour" in run("export", "b.jsonl", "--workspace", "ws_harbour").err


def test_a_workspace_is_deleted_with_its_memory_and_a_yes() -> None:
    mine = remember("I take my coffee without sugar.")
    theirs = remember("The boat is called Tern.", "--scope", "workspace", "--workspace", "boats")
    assert set(ids("--workspace", "boats")) == {mine, theirs}
    assert run("workspaces", "--delete", "--yes").code == 64
    assert run("workspaces", "boats", "--delete").code == 64
    assert run("workspaces", "boats").out.startswith("boats\t")
    assert run("workspaces", "boats", "--delete", "--yes").code == 0
    assert run("workspaces", "boats").code == 1
    assert ids() == [mine]


def test_what_waits_is_approved_or_rejected() -> None:
    assert run("candidates").code == 66
    mine = remember("The ferry leaves at ten.")
    assert run("candidates").code == 1
    kept, refused = propose("Prefers green tea."), propose("Prefers seat four.")
    assert {line.split("\t")[0] for line in run("candidates").out.splitlines()} == {kept, refused}
    assert "there are more" in run("candidates", "--limit", "1").err
    assert run("candidates", "--approve", kept, "--reject", refused).code == 64
    record = run("candidates", "--approve", kept, "--json").json["record"]
    assert set(ids()) == {mine, record["memory_id"]}
    assert "rejected" in run("candidates", "--reject", refused, "--reason", "a joke").out
    assert run("candidates", "--approve", refused).code == 65
    assert run("candidates").code == 1
    assert {one["candidate_id"] for one in run("candidates", "--status", "rejected", "--json").json["candidates"]} == {
        refused
    }
