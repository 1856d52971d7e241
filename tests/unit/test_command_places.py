"""Where a command looks: the project of a folder as `pioneer mcp` has it, and what it leaves alone while it looks."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from command_line import Ended, run

from gateway.commands.door import through_door
from gateway.commands.parsing import parser
from gateway.repository import project_of

BOAT = "The boat is called Tern."


@pytest.fixture(autouse=True)
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's folder, in which one works."""
    monkeypatch.setenv("PIONEER_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("PIONEER_WORKSPACE", raising=False)
    folder = tmp_path / "boats"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def own_id(folder: Path) -> str:
    project = project_of(folder)
    assert project is not None
    return project.workspace_id


def keep_there(folder: Path) -> Ended:
    return run("remember", BOAT, "--scope", "workspace", "--folder", str(folder))


def test_a_folder_is_the_project_that_mcp_has_there(shop: Path) -> None:
    assert keep_there(shop).code == 0
    for place in (["--folder", "."], ["--workspace", own_id(shop)]):
        assert BOAT in run("search", "boat", *place).out
    assert run("search", "boat").code == 1
    names = {made["workspace_id"]: made["name"] for made in run("workspaces", "--json").json["workspaces"]}
    assert names[own_id(shop)] == "boats"


def test_a_folder_that_is_none_and_two_places_are_refused() -> None:
    assert run("list", "--folder", "nowhere").code == 64
    assert run("list", "--folder", ".", "--workspace", "boats").code == 64


@pytest.mark.parametrize(
    "command", [["search", "boat"], ["list"], ["recall", "boat"], ["why", "what is the boat called"]]
)
def test_who_finds_nothing_is_told_of_the_folder_s_own_project(shop: Path, command: list[str]) -> None:
    assert run("remember", "It rains.", "--scope", "workspace", "--workspace", "elsewhere").code == 0
    assert "--workspace" not in run(*command).err  # nothing is kept here yet
    assert keep_there(shop).code == 0
    ended = run(*command)
    assert f"boats: --workspace {own_id(shop)}" in ended.err
    assert ended.err.count("--workspace") == 1
    assert "--workspace" not in run(*command, "--folder", ".").err


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
