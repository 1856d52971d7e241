"""Homes and configurations, good and bad, as a starting process meets them."""

import json
import os
import random
import stat
import subprocess

import apsw
import pytest
from spawned import Den, clean_environment, hello, journey, on_posix, remember, run_to_end

from gateway.wire.client import GatewayClient, console_script


@pytest.mark.parametrize(
    "config",
    [
        "[gateway.memory\n",
        "[gateway.memory]\nenabled = 3\n",
        "[gateway.thread_episodic]\nmin_relevancy = 2.0\n",
        '[gateway.memory]\ncapsules_dir = "../outside"\n',
        '[gateway.memory]\ncapsules_dir = "/tmp/outside"\n',
        '[gateway.roles]\nmain = "nobody"\n',
    ],
)
def test_a_bad_configuration_ends_with_78_and_one_clear_line(tmp_path, config):
    den = Den(tmp_path)
    den.config.write_text(config)
    ended = run_to_end(den.command())
    assert (ended.returncode, ended.stdout) == (78, b"")
    assert ended.stderr.startswith(b"pioneer: ")
    assert ended.stderr.count(b"\n") == 1
    assert b"Traceback" not in ended.stderr
    assert str(tmp_path).encode() not in ended.stderr


def test_an_unknown_key_is_told_and_does_not_stop_the_start(tmp_path):
    @journey
    async def story():
        den = Den(tmp_path, config="[gateway.memory]\nretention_day = 1\n[theirs]\nx = 1\n[memory]\nenabled = false\n")
        async with den.client() as client:
            degraded = (await client.request("gateway/status"))["degraded"]
        wanted = {"component": "config", "reason": "unknown_key"}
        assert [{name: entry.get(name) for name in (*wanted, "key", "nearest", "line")} for entry in degraded] == [
            wanted | {"key": "gateway.memory.retention_day", "nearest": "gateway.memory.retention_days", "line": 6},
            wanted | {"key": "theirs", "nearest": None, "line": 7},
            wanted | {"key": "memory", "nearest": "gateway.memory", "line": 9},
        ]

    story()


def test_an_unknown_key_stands_in_the_log_of_a_door_that_has_no_status(tmp_path):
    den = Den(tmp_path, config="# mine\n[memory]\nenabled = false\n")
    command = [*console_script(), "mcp", "--home", str(den.home), "--config", str(den.config)]
    served = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=True)
    lines = [json.loads(line) for line in served.stderr.splitlines()]
    told = {
        "event": "config_degraded",
        "reason": "unknown_key",
        "key": "memory",
        "nearest": "gateway.memory",
        "line": 6,  # a den writes five before
    }
    assert [{name: line.get(name) for name in told} for line in lines] == [told]


@pytest.fixture
def used(tmp_path):
    """A home with something in it, and no process."""
    den = Den(tmp_path)

    @journey
    async def story():
        async with den.client() as client:
            for n in range(200):
                await remember(client, f"Shelf {n} holds the books about subject number {n * 7}.")

    story()
    return den


def _garbage(data):
    return b"\x5a" * len(data)


def _half(data):
    return data[: len(data) // 2]


def _no_schema(data):
    return data[:100] + b"\xff" * 3996 + data[4096:]


@pytest.mark.parametrize("damage", [_garbage, _half, _no_schema])
def test_a_damaged_database_ends_with_69_and_stays_as_it_is(used, damage):
    path = used.home / "gateway.db"
    damaged = damage(path.read_bytes())
    path.write_bytes(damaged)
    ended = run_to_end(used.command())
    assert (ended.returncode, ended.stdout) == (69, b""), ended.stderr
    assert b"gateway.db is damaged" in ended.stderr
    assert ended.stderr.count(b"\n") == 1
    assert path.read_bytes() == damaged


def test_a_newer_home_ends_with_69_and_stays_as_it_is(used):
    path = used.home / "gateway.db"
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA user_version = 999").fetchall()
    connection.close()
    before = path.read_bytes()
    ended = run_to_end(used.command())
    assert (ended.returncode, ended.stdout) == (69, b"")
    assert ended.stderr.startswith(b"pioneer: ")
    assert ended.stderr.count(b"\n") == 1
    assert path.read_bytes() == before
    assert used.files().get("gateway.db-wal", b"") == b""  # a look at a database leaves an empty log behind


def test_damage_anywhere_in_the_database_is_told_and_never_a_traceback(used):
    """A start may not notice a damaged page; if it does, it says so and ends as it should."""
    seed = 2026  # chance belongs to the campaigns
    rng = random.Random(seed)
    path = used.home / "gateway.db"
    whole = path.read_bytes()
    for _ in range(6):
        page = rng.randrange(1, len(whole) // 4096)
        path.write_bytes(whole[: page * 4096] + rng.randbytes(4096) + whole[(page + 1) * 4096 :])
        ended = run_to_end(used.command(), send=b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        assert ended.returncode in {0, 69}, f"seed {seed}, page {page}: {ended.stderr!r}"
        assert b"Traceback" not in ended.stderr, f"seed {seed}, page {page}: {ended.stderr!r}"


def test_a_home_that_cannot_be_written_ends_with_69(tmp_path):
    den = Den(tmp_path)
    (tmp_path / "file").write_text("not a folder")
    den.home = tmp_path / "file" / "home"
    ended = run_to_end(den.command())
    assert (ended.returncode, ended.stdout) == (69, b"")
    assert ended.stderr.startswith(b"pioneer: The home cannot be written")
    assert ended.stderr.count(b"\n") == 1


@pytest.mark.parametrize("part", ["gateway.db", "keys/fingerprint.key", "run/migrate.lock", "run", "logs", "keys"])
def test_a_home_whose_parts_are_not_what_they_should_be_ends_with_69(tmp_path, part):
    """A folder where a file belongs, a file where a folder does: one line without a path, never a traceback."""
    den = Den(tmp_path)
    place = den.home / part
    if "/" in part or "." in part:
        place.mkdir(parents=True)
    else:
        den.home.mkdir()
        place.write_text("in the way")
    ended = run_to_end(den.command())
    assert (ended.returncode, ended.stdout) == (69, b""), ended.stderr
    assert ended.stderr.startswith(b"pioneer: ")
    assert ended.stderr.count(b"\n") == 1
    assert str(tmp_path).encode() not in ended.stderr


@pytest.mark.parametrize("part", ["gateway.db", "gateway.db-wal", "keys", "logs/gateway.log", "run/migrate.lock"])
def test_a_home_with_a_link_in_it_ends_with_69_and_names_it(tmp_path, part):
    den, elsewhere = Den(tmp_path / "den"), tmp_path / "elsewhere"
    place = den.home / part
    place.parent.mkdir(parents=True)
    place.symlink_to(elsewhere)
    ended = run_to_end(den.command())
    assert (ended.returncode, ended.stdout) == (69, b""), ended.stderr
    assert ended.stderr.startswith(b"pioneer: ")
    assert part.encode() in ended.stderr
    assert ended.stderr.count(b"\n") == 1
    assert not elsewhere.exists()


@pytest.mark.parametrize("arguments", [["serve", "--no-such-option"], ["fly"]])
def test_a_wrong_command_line_ends_with_64(arguments):
    ended = run_to_end([*console_script(), *arguments])
    assert (ended.returncode, ended.stdout) == (64, b"")


@journey
async def test_two_homes_know_nothing_of_each_other(tmp_path):
    one, two = Den(tmp_path / "one"), Den(tmp_path / "two")
    async with await one.spawn() as first, await two.spawn() as second:
        assert (await hello(first))["home_id"] != (await hello(second))["home_id"]
        kept = await remember(first, "The kettle whistles in F sharp.")
        assert (await second.request("memory/get", {"memory_id": kept}))["record"] is None
        assert (await second.request("memory/list", {}))["records"] == []
        assert (await second.request("gateway/status"))["processes"] == 1
    assert b"kettle" not in b"".join(two.files().values())


@on_posix
@journey
async def test_a_home_is_closed_to_others(tmp_path):
    den = Den(tmp_path)
    os.umask(old := os.umask(0))  # whatever the user's mask is, the process sets its own
    try:
        os.umask(0)
        async with den.client() as client:
            await remember(client, "The safe is behind the painting.")
            await client.request("thread/start", {"thread_id": "thr_a"})
            file = {"type": "artifact", "name": "a.txt", "mime": "text/plain", "data_base64": "YWJj"}
            await client.request("turn/prepare", {"thread_id": "thr_a", "input": [file]})
            modes = {
                path.relative_to(tmp_path).as_posix(): stat.S_IMODE(path.stat().st_mode)
                for path in [den.home, *den.home.rglob("*")]
            }
    finally:
        os.umask(old)
    assert any(name.startswith("home/artifacts/") for name in modes)
    wanted = {name: 0o700 if (tmp_path / name).is_dir() else 0o600 for name in modes if (tmp_path / name).exists()}
    assert {name: mode for name, mode in modes.items() if name in wanted} == wanted


@on_posix
def test_a_home_below_the_users_own_folder_may_be_written_with_a_tilde(tmp_path):
    command = [*console_script(), "serve", "--home", "~/memories"]
    ended = run_to_end(command, env=clean_environment(HOME=str(tmp_path)), cwd=tmp_path)
    assert ended.returncode == 0
    assert (tmp_path / "memories" / "gateway.db").exists()
    assert not (tmp_path / "~").exists()


@journey
async def test_a_configuration_file_that_is_named_and_not_there_is_told_until_it_is(tmp_path):
    den, config = Den(tmp_path), tmp_path / "settings.toml"
    missing = {"component": "config", "reason": "missing"}
    async with await GatewayClient.start([*den.command(), "--config", str(config)]) as client:
        await hello(client)
        assert missing.items() <= (await client.wait_for("gateway/degraded")).items()
        await client.request("settings/update", {"update": {"memory": {"retention_days": 3}}})
        assert config.exists()
        await client.wait_for("gateway/recovered")
