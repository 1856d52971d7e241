"""Where a command looks: the project of a folder as `pioneer mcp` has it, and what it leaves alone while it looks."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from command_line import Ended, run

from gateway.doors.commands.door import through_door
from gateway.doors.commands.parsing import parser
from gateway.home.repository import Project, project_of, workspace_of

BOAT = "The boat is called Tern."


@pytest.fixture(autouse=True)
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, in which one works."""
    monkeypatch.setenv("PIONEER_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("PIONEER_WORKSPACE", raising=False)
    folder = tmp_path / "boats"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    monkeypatch.chdir(folder)
    return folder


def own_id(folder: Path) -> str:
    project = project_of(folder)
    assert project is not None
    return project.workspace_id


def keep_there(folder: Path) -> Ended:
    return run("remember", BOAT, "--scope", "workspace", "--folder", str(folder))


def test_a_command_is_about_the_repository_that_one_stands_in(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("remember", BOAT, "--scope", "workspace").code == 0
    names = {made["workspace_id"]: made["name"] for made in run("workspaces", "--json").json["workspaces"]}
    assert names[own_id(shop)] == "boats"
    (shop / "hull").mkdir()
    monkeypatch.chdir(shop / "hull")
    assert BOAT in run("search", "boat").out
    assert ["workspace:" + own_id(shop)] == [
        f"{record['scope']['kind']}:{record['scope']['key']}" for record in run("list", "--json").json["records"]
    ]
    monkeypatch.chdir(tmp_path)  # no repository
    assert run("search", "boat").code == 1
    for place in (["--folder", str(shop)], ["--workspace", own_id(shop)]):
        assert BOAT in run("search", "boat", *place).out
    monkeypatch.setenv("PIONEER_WORKSPACE", own_id(shop))
    assert BOAT in run("search", "boat").out
    assert run("search", "boat", "--folder", ".").code == 1
    assert run("remember", "It rains.", "--scope", "workspace", "--workspace", "ws_new").code == 0
    names = {made["workspace_id"]: made["name"] for made in run("workspaces", "--json").json["workspaces"]}
    assert names["ws_new"] is None


def test_a_folder_that_is_none_and_two_places_are_refused() -> None:
    assert run("list", "--folder", "nowhere").code == 64
    assert run("list", "--folder", ".", "--workspace", "boats").code == 64


def test_who_finds_nothing_is_told_of_other_workspaces(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("remember", "It rains.", "--scope", "workspace", "--workspace", "elsewhere").code == 0
    assert "project" not in run("search", "boat", "--workspace", "elsewhere").err  # nothing is kept anywhere yet
    assert keep_there(shop).code == 0
    assert run("remember", "The boat needs paint.", "--scope", "workspace", "--workspace", "painters").code == 0
    assert (
        run("remember", "A boat in May, a boat in June.", "--scope", "workspace", "--workspace", "painters").code == 0
    )
    ended = run("search", "boat", "--workspace", "elsewhere")
    assert ended.code == 1
    assert [line for line in ended.err.splitlines() if "project" in line] == [
        "pioneer: 2 hits in another project: --workspace painters",
        f"pioneer: 1 hit in another project (boats): --workspace {own_id(shop)}",
    ]
    asked = run("search", "boat", "--workspace", "elsewhere", "--json")
    assert asked.json["elsewhere"] == [
        {"workspace_id": "painters", "count": 2},
        {"workspace_id": own_id(shop), "count": 1},
    ]
    assert "paint." not in asked.out + ended.out + ended.err
    assert (
        run("search", "boat", "--workspace", "elsewhere", "--scope", "user").err.count("project") == 0
    )  # no project was meant
    assert run("search", "rains", "--workspace", "elsewhere", "--json").json["elsewhere"] == []


def test_a_repository_is_looked_up_only_for_who_names_no_workspace(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Path | None] = []

    def look(folder: Path | None = None, *, named: str | None = None) -> Project:
        looked.append(folder)
        return workspace_of(folder, named=named)

    monkeypatch.setattr("gateway.home.repository.workspace_of", look)
    whole = parser()  # as completion and help have it
    assert whole.parse_args(["list", "--workspace", "ws_x"]).workspace == "ws_x"
    assert whole.parse_args(["list", "--workspace", "(here)"]).workspace == "(here)"
    assert whole.parse_args(["import", "talk.json"]).workspace is None
    assert looked == []
    assert whole.parse_args(["list", "--folder", str(shop)]).workspace == own_id(shop)
    assert looked == [shop]
    assert whole.parse_args(["list"]).workspace == own_id(shop)
    assert looked == [shop, None]


def test_mcp_takes_the_workspace_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parser("mcp").parse_args(["mcp"]).workspace is None
    monkeypatch.setenv("PIONEER_WORKSPACE", "boats")
    assert parser("mcp").parse_args(["mcp"]).workspace == "boats"
    assert parser("mcp").parse_args(["mcp", "--workspace", "ws_other"]).workspace == "ws_other"


def test_who_asks_indexes_what_waits_and_leaves_other_work_alone(tmp_path: Path) -> None:
    assert run("remember", BOAT).code == 0
    with closing(sqlite3.connect(tmp_path / "home" / "gateway.db")) as database:
        for kind in ("index", "hook_run", "sweep"):
            database.execute(
                "INSERT INTO job (job_id, kind, subject, maker, state, next_run_at, created_at) "
                "VALUES (?, ?, 'gone', 'own_gone', 'queued', 0, 0)",
                (f"job_{kind}", kind),
            )
        database.commit()
    asked = parser("recall").parse_args(["recall", "ferry"])
    through_door(asked, lambda door: door.catch_up())
    with closing(sqlite3.connect(tmp_path / "home" / "gateway.db")) as database:
        states = dict(database.execute("SELECT job_id, state FROM job WHERE subject = 'gone'"))
    assert states == {"job_index": "done", "job_hook_run": "queued", "job_sweep": "queued"}
