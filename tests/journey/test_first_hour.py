"""What a newcomer meets in the first hour, from outside: the installed command, its words and its configuration."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from spawned import journey

from gateway.client import Client, console_script


class Newcomer:
    """A person at a shell with a home of their own, whose output goes into a pipe."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PIONEER_")}
        self.environ = {**kept, "PIONEER_HOME": str(self.home)}

    def run(self, *arguments: str, stdin: bytes = b"", **environ: str) -> subprocess.CompletedProcess[str]:
        ended = subprocess.run(
            [*console_script(), *arguments], cwd=self.folder, env=self.environ | environ, input=stdin, capture_output=True,
            check=False,
        )  # fmt: skip
        out, err = ended.stdout.decode(), ended.stderr.decode()
        assert "Traceback" not in err
        return subprocess.CompletedProcess(ended.args, ended.returncode, out, err)

    def json(self, *arguments: str, **environ: str) -> Any:
        return json.loads(self.run(*arguments, "--json", **environ).stdout)

    def configure(self, text: str) -> None:
        self.home.mkdir(exist_ok=True)
        (self.home / "config.toml").write_text(text, encoding="utf-8")


@pytest.fixture
def newcomer(tmp_path: Path) -> Iterator[Newcomer]:
    return Newcomer(tmp_path)


# -- configuration -----------------------------------------------------------------------------------------------------

FORGOT_GATEWAY = "# mine\n[memory]\nretention_days = 3\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["config", "check"], ["remember", "Tea."], ["search", "tea", "--words"], ["settings"], ["models"], ["status"], ["doctor"],
        ["import", "."], ["settings", "set", "memory.enabled", "false"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_table_without_gateway_in_front_is_told_by_every_command(newcomer: Newcomer, arguments: list[str]) -> None:
    if arguments[0] in {"search", "status", "doctor"}:
        newcomer.run("remember", "Coffee.")
    newcomer.configure(FORGOT_GATEWAY)
    ended = newcomer.run(*arguments)
    told = ended.stdout + ended.stderr
    assert ended.returncode == 78, told
    assert "line 2" in told
    assert "did you mean gateway.memory?" in told
    assert (newcomer.home / "config.toml").read_text() == FORGOT_GATEWAY


def test_the_environment_is_a_layer_above_the_file(newcomer: Newcomer) -> None:
    newcomer.configure("[gateway.memory]\nretention_days = 5\n[gateway.agent]\nmax_rounds = 2\n")
    shown = newcomer.json("settings", "--origin", PIONEER_MEMORY__RETENTION_DAYS="7")
    assert shown["settings"]["memory"]["retention_days"] == 7
    assert shown["settings"]["agent"]["max_rounds"] == 2
    named = ("memory.retention_days", "agent.max_rounds", "memory.enabled")
    assert [shown["origins"][key] for key in named] == ["environment", "file", "default"]
    one = newcomer.json(
        "settings", "get", "gateway.memory.retention_days", "--origin", PIONEER_MEMORY__RETENTION_DAYS="7"
    )
    assert (one["value"], one["origin"]) == (7, "environment")
    assert newcomer.run("settings", "get", "agent.max_rounds", "--origin").stdout.split("\t")[1:3] == ["2", "file"]

    ended = newcomer.run("settings", "set", "memory.retention_days", "9", PIONEER_MEMORY__RETENTION_DAYS="7")
    assert ended.returncode == 0
    assert "PIONEER_MEMORY__RETENTION_DAYS" in ended.stderr
    assert newcomer.json("settings")["settings"]["memory"]["retention_days"] == 9

    wrong = newcomer.run("settings", PIONEER_MEMORY__RETENTION_DAYS="hunter2")
    assert (wrong.returncode, "hunter2" in wrong.stderr) == (78, False)
    assert "PIONEER_MEMORY__RETENTION_DAYS: takes whole number, 1 to 3650" in wrong.stderr
    wrong = newcomer.run("config", "check", PIONEER_MEMRY__ENABLED="true")
    assert (wrong.returncode, "did you mean PIONEER_MEMORY__ENABLED?" in wrong.stdout) == (78, True)


def test_a_served_home_names_the_origins_of_its_settings(newcomer: Newcomer, monkeypatch: pytest.MonkeyPatch) -> None:
    newcomer.configure("[gateway.memory]\nretention_days = 5\n")
    monkeypatch.setenv("PIONEER_AGENT__MAX_ROUNDS", "3")

    @journey
    async def story():
        async with await Client.start([*console_script(), "serve", "--home", str(newcomer.home)]) as client:
            hello = {"protocol_version": "2026-11", "client": {"name": "app", "version": "1"}}
            await client.request("initialize", hello)
            assert (await client.request("settings/get", {}))["origins"] is None
            got = await client.request("settings/get", {"origins": True})
            assert got["settings"]["agent"]["max_rounds"] == 3
            named = ("agent.max_rounds", "memory.retention_days", "memory.enabled")
            assert [got["origins"][key] for key in named] == ["environment", "file", "default"]
            updated = await client.request("settings/update", {"update": {"agent": {"max_rounds": 5}}})
            assert updated["settings"]["agent"]["max_rounds"] == 3
            assert "max_rounds = 5" in (newcomer.home / "config.toml").read_text()

    story()
