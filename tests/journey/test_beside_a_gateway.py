"""Commands on a home that a gateway serves: each sees the other's work, and nobody waits for anybody."""

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest
from command_line import Ended, run
from spawned import Den, drain, journey
from tiny_model import make_tiny_model

from gateway.wire.client import console_script


async def beside(den: Den, *arguments: str) -> Ended:
    """A command in a thread of its own, as the loop of the test is busy with the client."""
    return await asyncio.to_thread(run, *arguments, "--home", str(den.home), "--config", str(den.config))


@journey
async def test_what_a_command_writes_the_client_hears_of_and_finds(tmp_path: Path) -> None:
    den = Den(tmp_path / "den")
    async with den.client() as client:
        kept = (await beside(den, "remember", "The ferry to Pellworm leaves at ten.", "--json")).json["record"][
            "memory_id"
        ]
        await client.wait_for("memory/invalidated", lambda said: {"kind": "user", "key": "default"} in said["scopes"])
        hits = (await client.request("memory/search", {"query": "ferry"}))["hits"]
        assert [hit["record"]["memory_id"] for hit in hits] == [kept]

        await client.request("memory/update", {"memory_id": kept, "content": "The ferry to Pellworm leaves at noon."})
        assert "noon" in (await beside(den, "search", "ferry")).out
        status = (await beside(den, "status", "--json")).json
        assert status["processes"] == 2
        assert (await beside(den, "doctor")).code == 0

        assert (await beside(den, "settings", "set", "memory.enabled", "false")).code == 0
        while (await client.request("settings/get"))["settings"]["memory"]["enabled"]:
            await drain(client)  # the file is looked at twice a second, and nothing is told of it
        refused = await beside(den, "remember", "Another thing.")
        assert (refused.code, "switched off" in refused.err) == (69, True)


@journey
async def test_what_a_command_writes_gets_its_vector_from_the_gateway(tmp_path: Path) -> None:
    make_tiny_model(tmp_path / "model", seed=1)
    den = Den(tmp_path / "den", model=tmp_path / "model")
    async with den.client() as client:
        await client.request("memory/remember", {"content": "The user works as a gardener."})
        await drain(client)
        await client.request("memory/search", {"query": "gardener"})  # the model is loaded by now
        assert (await beside(den, "remember", "The user drives an old automobile.")).code == 0
        while (await client.request("memory/stats", {}))["index"]["pending"]:
            await drain(client)
        found = await client.request("memory/search", {"query": "a car", "mode": "semantic"})
        assert found["hits"][0]["record"]["content"] == "The user drives an old automobile."
    assert (await beside(den, "search", "car", "--words")).code == 1
    by_meaning = await beside(den, "search", "which car is driven", "--json")
    assert by_meaning.json["hits"][0]["record"]["content"] == "The user drives an old automobile."
    assert by_meaning.json["semantic"] == "ready"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_terminal_shows_tables_and_asks_before_it_destroys(tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    assert run("remember", "The ferry leaves at ten.", "--home", home).code == 0
    out, code = in_terminal(["list", "--home", home])
    assert code == 0
    assert "─" in out
    assert "content" in out
    assert "\x1b[36m" in out
    out, _ = in_terminal(["list", "--home", home], NO_COLOR="1")
    assert "\x1b[36m" not in out
    out, code = in_terminal(["forget", "--everything", "--scope", "user", "--erase", "--home", home], said=b"n\n")
    assert code == 1
    assert "erase for ever 1 memory?" in out
    out, code = in_terminal(
        ["forget", "--everything", "--scope", "user", "--erase", "--home", home], said=b"\x03", after="[y/N] "
    )
    assert code == 130
    assert "Traceback" not in out
    assert list((tmp_path / "home" / "run").glob("own_*.lock")) == []
    out, code = in_terminal(["forget", "--everything", "--scope", "user", "--erase", "--home", home], said=b"y\n")
    assert code == 0
    assert run("list", "--home", home).out == ""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
@pytest.mark.parametrize("width", [80, 60])
def test_a_small_terminal_shows_ids_that_can_be_used_and_the_words(
    tmp_path: Path, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # no project: what was imported without one lies where this folder looks
    home = str(tmp_path / "home")
    (tmp_path / "talk.md").write_text("# User\n\nWhen does it sail?\n\n# Assistant\n\nAt ten.\n", encoding="utf-8")
    kept = run("remember", "Releases go out on Thursdays.", "--category", "project_policy", "--home", home, "--json")
    assert run("import", str(tmp_path / "talk.md"), "--home", home).code == 0
    thread = run("threads", "--home", home, "--json").json["threads"][0]["thread_id"]
    for arguments, shown in (
        (["list"], [kept.json["record"]["memory_id"], "Releases go out"]),
        (["threads"], [thread, "talk"]),
        (["recall", "sail"], [thread, "When does it sail?"]),
        (
            ["settings", "get", "memory.background_extraction_enabled"],
            ["memory.background_extraction_enabled", "Whether facts are taken"],
        ),
    ):
        out, code = in_terminal([*arguments, "--home", home], COLUMNS=str(width), NO_COLOR="1")
        assert code == 0
        assert all(text in out for text in shown), out
        assert max(len(re.sub(r"\x1b\[[\d;]*m", "", line)) for line in out.splitlines()) <= width


def in_terminal(arguments: list[str], said: bytes = b"", after: str = "", **env: str) -> tuple[str, int]:
    """A command in a process of its own whose streams are a terminal; something is said once it has shown a text."""
    import pty  # noqa: PLC0415  # not on every platform

    child, terminal = pty.fork()
    if child == 0:
        surroundings = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        command = [*console_script(), *arguments]
        os.execve(command[0], command, surroundings | {"TERM": "xterm-256color", "COLUMNS": "120"} | env)  # noqa: S606
    out = b""
    try:
        while after.encode() not in out:
            out += os.read(terminal, 65536)
        os.write(terminal, said)
        while data := os.read(terminal, 65536):
            out += data
    except OSError:  # Linux says so when the other side is closed
        pass
    os.close(terminal)
    return out.decode(), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
