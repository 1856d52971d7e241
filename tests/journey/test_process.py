"""The process as a desktop app meets it: spawned, spoken to, torn at, ended."""

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest
from spawned import (
    RSS_MIB,
    Den,
    clean_environment,
    hello,
    journey,
    on_linux,
    on_posix,
    proc_status,
    refusal,
    run_to_end,
    take_turn,
)

pytestmark = [
    pytest.mark.loop("test"),
    pytest.mark.cold,
]  # the door of desktop apps, from the first byte that is loaded

START_CPU_SECONDS = 1.5
"""Generous: what is aimed at is a quarter of it, on a machine that is shared."""


# -- handshake, streams
# -------------------------------------------------------------------------------------------------


@journey
async def test_the_handshake_says_what_there_is(tmp_path):
    async with await Den(tmp_path).spawn() as client:
        assert await client.request("ping") == {}
        failed = await refusal(client, "memory/list", {})
        assert (failed.code, failed.reason) == (-32002, "not_initialized")
        told = await hello(client)
        assert told["protocol_version"] == "2026-11"
        assert told["workspace_id"] == "ws_here"
        assert {"initialize", "ping", "shutdown", "memory/remember"} <= set(told["capabilities"]["methods"])
        assert told["limits"]["max_message_bytes"] == 8 * 1024 * 1024
        again = await refusal(client, "initialize", {"protocol_version": "1", "client": {"name": "x", "version": "1"}})
        assert again.reason == "already_initialized"
        assert await client.close() == 0


@journey
async def test_logs_are_json_lines_on_stderr_and_in_the_home_and_never_on_stdout(tmp_path):
    den = Den(tmp_path)
    command = [*den.command(), "--log-level", "debug"]
    ping = b'{"jsonrpc":"2.0","id":"p","method":"ping"}\n'
    ended = await asyncio.to_thread(run_to_end, command, send=ping + b"not json\n" + ping)
    assert ended.returncode == 0
    for line in ended.stdout.splitlines():
        assert json.loads(line)["jsonrpc"] == "2.0"
    assert len(ended.stdout.splitlines()) == 3
    for line in ended.stderr.splitlines():
        json.loads(line)
    for line in (den.home / "logs" / "gateway.log").read_bytes().splitlines():
        json.loads(line)


# -- foreign packages
# ---------------------------------------------------------------------------------------------------


@pytest.fixture
def hostile(tmp_path):
    """A folder whose packages are called like ours, and tell when they are imported."""
    folder = tmp_path / "project"
    for name in ("memory", "agent", "protocol", "gateway", "promt", "thread_episodic"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(
            f"from pathlib import Path\nPath({str(tmp_path / 'imported')!r}).write_text({name!r})\n"
        )
    return folder


def test_packages_of_the_working_folder_are_not_imported(tmp_path, hostile):
    ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    ended = run_to_end(Den(tmp_path).command(), send=ping, cwd=hostile, env=clean_environment())
    assert ended.returncode == 0
    assert json.loads(ended.stdout) == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert not (tmp_path / "imported").exists()


@pytest.mark.parametrize("houses", [("memory",), ("protocol", "agent"), ("promt", "thread_episodic")])
def test_a_search_path_with_packages_like_ours_is_refused(tmp_path, hostile, houses):
    """Not `gateway`: with that name before ours nothing of ours runs at all."""
    for folder in hostile.iterdir():
        if folder.name not in houses:
            (folder / "__init__.py").unlink()
            folder.rmdir()
    ended = run_to_end(Den(tmp_path).command(), cwd=hostile, env=clean_environment(PYTHONPATH="."))
    assert ended.returncode == 70
    assert ended.stdout == b""
    said = ended.stderr.decode()
    assert said.startswith("pioneer: The module search path")
    assert all(f"`{name}`" in said for name in houses)
    assert said.count("\n") == 1
    assert not (tmp_path / "imported").exists()
    assert not (tmp_path / "home").exists()


@on_posix
def test_a_stray_module_run_from_a_workspace_is_refused(tmp_path, hostile):
    """`python -c` puts the working folder first, as `python -m` would."""
    (hostile / "gateway" / "__init__.py").unlink()
    (hostile / "gateway").rmdir()
    code = "import sys; from gateway.cli import main; sys.exit(main(['serve', '--home', sys.argv[1]]))"
    home = tmp_path / "home"
    ended = run_to_end([sys.executable, "-c", code, str(home)], cwd=hostile, env=clean_environment())
    assert ended.returncode == 70, ended.stderr
    assert not (tmp_path / "imported").exists()
    assert not home.exists()


# -- what a start costs
# -------------------------------------------------------------------------------------------------

LATE = {"fastembed", "usearch", "numpy", "onnxruntime", "rich", "tomlkit", "httpx", "detect_secrets", "dateparser"}
"""Heavy, or needed by few: imported on first use."""


@journey
async def test_nothing_heavy_is_imported_before_it_is_used(tmp_path):
    async with await Den(tmp_path, scripted=True).spawn(env=clean_environment(PYTHONPROFILEIMPORTTIME="1")) as client:
        await hello(client)
        await client.request("thread/start", {"thread_id": "thr_a"})
        await take_turn(client, "thr_a", "Hello there", "trn_a")
    imported = {
        line.split(b"|")[-1].strip().decode().split(".")[0]
        for line in client.stderr.splitlines()
        if line.startswith(b"import time:")
    }
    assert len(imported) > 50, "the profile was not printed, or its beginning was cut off"
    assert imported & LATE == set()


@pytest.mark.loop("check")
@on_linux
@journey
async def test_a_start_costs_little(tmp_path):
    den = Den(tmp_path)
    costs = []
    for _ in range(3):
        async with await den.spawn() as client:
            await hello(client)
            ticks = Path(f"/proc/{client.pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
            costs.append((int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK"))
            assert proc_status(client.pid, "VmRSS") < RSS_MIB * 1024
    assert min(costs) < START_CPU_SECONDS, costs
