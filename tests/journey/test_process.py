"""The process as a desktop app meets it: spawned, spoken to, torn at, ended."""

import asyncio
import json
import os
import random
import re
import select
import signal
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import apsw
import pytest
from spawned import Den, clean_environment, drain, hello, journey, refusal, remember, take_turn

from gateway.client import console_script

GONE_SECONDS = 5.0
START_CPU_SECONDS = 1.5
RSS_MIB = 160
"""A process without a model has about 50; what is queued for a reader who does not read is bounded by 16."""

on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
on_posix = pytest.mark.skipif(os.name != "posix", reason="POSIX signals and permissions")


def proc_status(pid, name):
    """A figure of /proc/PID/status in KiB."""
    text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(re.search(rf"^{name}:\s+(\d+)", text, re.MULTILINE)[1])


def has_ended(pipe, seconds=GONE_SECONDS):
    """Whether every process that could write to the pipe is gone in time."""
    while select.select([pipe], [], [], seconds)[0]:
        if not os.read(pipe, 65536):
            return True
    return False


def run_to_end(command, *, send=b"", **how):
    """A process that is given all its input at once."""
    return subprocess.run(command, input=send, capture_output=True, timeout=30, check=False, **how)


# -- handshake, streams ----------------------------------------------------------------------------------------------


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


# -- foreign packages ------------------------------------------------------------------------------------------------


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


# -- the end ---------------------------------------------------------------------------------------------------------


@journey
async def test_the_end_of_input_answers_what_is_in_flight_and_ends_with_0(tmp_path):
    den = Den(tmp_path)
    client = await den.spawn()
    await hello(client)
    kept = [asyncio.create_task(remember(client, f"The {n}th lamp is lit.")) for n in range(20)]
    await asyncio.sleep(0)  # let the tasks send; nothing is waited for
    assert await client.end_of_input() == 0
    ids = [await task for task in kept]
    async with den.client() as after:
        for memory_id in ids:
            assert (await after.request("memory/get", {"memory_id": memory_id}))["record"]["memory_id"] == memory_id


@journey
async def test_the_end_of_input_interrupts_a_running_turn(tmp_path):
    den = Den(tmp_path, scripted=True)
    den.write_script([{"role": "main", "delay_ms": 60_000, "respond": {"text": "late"}}])
    client = await den.spawn()
    await hello(client)
    await client.request("thread/start", {"thread_id": "thr_a"})
    await client.request(
        "turn/start", {"thread_id": "thr_a", "turn_id": "trn_a", "input": [{"type": "text", "text": "Hello"}]}
    )
    await client.wait_for("turn/started")
    async with asyncio.timeout(GONE_SECONDS):
        assert await client.end_of_input() == 0
    async with den.client() as after:
        assert (await after.request("turn/get", {"turn_id": "trn_a"}))["turn"]["status"] == "interrupted"


@on_posix
@journey
async def test_sigterm_ends_with_0(tmp_path):
    client = await Den(tmp_path).spawn()
    await hello(client)
    os.kill(client.pid, signal.SIGTERM)
    async with asyncio.timeout(GONE_SECONDS):
        assert await client.wait() == 0
    assert list((tmp_path / "home" / "run").glob("own_*")) == []


@journey
async def test_exit_without_shutdown_ends_with_1(tmp_path):
    client = await Den(tmp_path).spawn()
    await hello(client)
    await client.notify("exit")
    assert await client.wait() == 1


@journey
async def test_after_shutdown_only_exit_is_accepted(tmp_path):
    client = await Den(tmp_path).spawn()
    await hello(client)
    await client.request("shutdown")
    assert (await refusal(client, "ping")).reason == "shutting_down"
    await client.notify("exit")
    assert await client.wait() == 0


@on_posix
def test_a_reader_who_goes_away_ends_the_process(tmp_path):
    errors, errors_end = os.pipe()
    with subprocess.Popen(
        Den(tmp_path).command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors_end
    ) as process:
        os.close(errors_end)
        process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        process.stdin.flush()
        assert b'"result"' in process.stdout.readline()
        process.stdout.close()
        process.stdin.write(b'{"jsonrpc":"2.0","id":2,"method":"ping"}\n')
        process.stdin.flush()
        assert has_ended(errors)
        assert process.wait() == 0
    os.close(errors)


PARENT = textwrap.dedent(
    """
    import subprocess, sys
    inherits = sys.argv[1] == "inherit"
    given = {} if inherits else {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    child = subprocess.Popen(sys.argv[2:], **given)
    if not inherits:
        child.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\\n')
        child.stdin.flush()
        child.stdout.readline()
        print("up", flush=True)
    child.wait()
    """
)


@on_posix
@pytest.mark.parametrize("pipes", ["own", "inherit"])
def test_a_killed_parent_leaves_no_orphan(tmp_path, pipes):
    """Also when somebody else still holds the other end of the gateway's stdin, so that no end of input comes."""
    errors, errors_end = os.pipe()
    command = [sys.executable, "-c", PARENT, pipes, *Den(tmp_path).command()]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors_end) as parent:
        os.close(errors_end)
        if pipes == "inherit":
            parent.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
            parent.stdin.flush()
        assert parent.stdout.readline()
        os.kill(parent.pid, signal.SIGKILL)
        assert has_ended(errors)
    os.close(errors)


@on_posix
@journey
async def test_a_host_that_is_named_takes_the_process_with_it(tmp_path):
    host = await asyncio.create_subprocess_exec(sys.executable, "-c", "input()", stdin=asyncio.subprocess.PIPE)
    client = await Den(tmp_path).spawn()
    named = {"protocol_version": "2026-11", "client": {"name": "x", "version": "1"}, "parent_pid": host.pid}
    await client.request("initialize", named)
    host.kill()
    await host.wait()
    async with asyncio.timeout(GONE_SECONDS):
        assert await client.wait() == 0


# -- homes and configurations that do not do -------------------------------------------------------------------------


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
        async with Den(tmp_path, config="[gateway.memory]\nno_such_key = 1\n").client() as client:
            degraded = (await client.request("gateway/status"))["degraded"]
            assert [(entry["component"], entry["reason"]) for entry in degraded] == [("config", "unknown_key")]

    story()


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
    seed = random.randrange(2**32)
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


@pytest.mark.parametrize("arguments", [[], ["serve", "--no-such-option"], ["fly"]])
def test_a_wrong_command_line_ends_with_64(arguments):
    ended = run_to_end([*console_script(), *arguments])
    assert (ended.returncode, ended.stdout) == (64, b"")


@journey
async def test_two_homes_know_nothing_of_each_other(tmp_path):
    one, two = Den(tmp_path / "one"), Den(tmp_path / "two")
    async with await one.spawn() as first, await two.spawn() as second:
        assert (await hello(first))["home_id"] != (await hello(second))["home_id"]
        kept = await remember(first, "The kettle whistles in F sharp.")
        assert (await second.request("memory/get", {"memory_id": kept})) == {"record": None}
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


# -- sizes and floods ------------------------------------------------------------------------------------------------


@journey
async def test_a_message_of_eight_megabytes_passes_whole(tmp_path):
    async with Den(tmp_path).client() as client:
        assert await client.request("ping", {"_meta": {"padding": "x" * 8_000_000}}) == {}
        said = ("Größe zählt: " + "wörter und zeilen\n" * 220_000)[:3_700_000]
        source = {"kind": "test", "id": "large"}
        turns = [{"at": 1_780_000_000_000, "items": [{"role": "user", "text": said}]}]
        await client.request(
            "thread/import", {"workspace_id": "ws_here", "thread_id": "thr_big", "source": source, "turns": turns}
        )
        items = (await client.request("thread/history", {"thread_id": "thr_big"}))["items"]
        assert items[0]["text"] == said


@journey
async def test_a_line_that_is_too_long_is_refused_and_the_stream_goes_on(tmp_path):
    async with Den(tmp_path).client() as client:
        for size in (8 * 1024 * 1024, 30 * 1024 * 1024):
            client.send_line(b'{"jsonrpc":"2.0","id":"long","method":"ping","params":{"_meta":{"x":"' + b"x" * size)
            refused = await client.read_message()
            assert (refused["id"], refused["error"]["code"]) == (None, -32600)
            assert refused["error"]["data"]["reason"] == "message_too_large"
            assert await client.request("ping") == {}
        if sys.platform.startswith("linux"):
            assert proc_status(client.pid, "VmHWM") < RSS_MIB * 1024


@on_linux
def test_ten_thousand_requests_sent_without_reading_are_all_answered_in_bounded_memory(tmp_path):
    count = 10_000
    with subprocess.Popen(
        Den(tmp_path).command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        for n in range(count):
            process.stdin.write(b'{"jsonrpc":"2.0","id":"%s-%d","method":"ping"}\n' % (b"x" * 100, n))
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(count)]
        assert proc_status(process.pid, "VmHWM") < RSS_MIB * 1024
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait() == 0
    assert sorted(int(answer["id"].split("-")[1]) for answer in answers) == list(range(count))
    assert all(answer["result"] == {} for answer in answers)


SCRAPS = [
    b"", b"   ", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf{}", b'"\\ud800"', b'{"a":"\\ud800"}', b"NaN", b"[NaN]", b"-Infinity",
    b"1e400", b"1" * 5000, b'{"id":1e400}', b"{}", b"[]", b"[[]]", b"[1,2,3]", b"null", b"true", b'"text"',
    b'{"jsonrpc":"2.0"}', b'{"jsonrpc":"1.0","id":"a","method":"ping"}', b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":{},"method":"ping"}', b'{"jsonrpc":"2.0","id":[1],"method":"ping"}',
    b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":"a","method":7}', b'{"jsonrpc":"2.0","id":"a","method":"ping","params":[1]}',
    b'{"jsonrpc":"2.0","id":"a","method":"ping","params":7}', b'{"jsonrpc":"2.0","id":"a","id":"b","method":"ping"}',
    b'{"jsonrpc":"2.0","id":"a","result":1}', b'{"jsonrpc":"2.0","id":"a","error":{"code":1,"message":"x"}}',
    b'{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":[]}}', b'{"jsonrpc":"2.0","method":"no/such"}',
    b'{"jsonrpc":"2.0","id":"a","method":"no/such"}', b'{"jsonrpc":"2.0","id":"a","method":"memory/remember"}',
    b'{"jsonrpc":"2.0","id":"a","method":"memory/search","params":{"query":"\\u0000 \\" OR NEAR( *"}}',
    b'{"jsonrpc":"2.0","id":"a","method":"memory/list","params":{"cursor":"%%%"}}',
    b'{"jsonrpc":"2.0","id":"a","method":"memory/list","params":{"limit":99999999999999999999999}}',
    b'{"jsonrpc":"2.0","id":99999999999999999999999999,"method":"ping"}', b"[" * 100_000, b'{"a":' * 50_000,
    b"[" * 100_000 + b"]" * 100_000, b'[{"jsonrpc":"2.0","id":"a","method":"ping"},1,{"foo":"bar"}]',
    b"[" + b",".join([b'{"jsonrpc":"2.0","id":"a","method":"ping"}'] * 101) + b"]",
    b'{"jsonrpc":"2.0","id":"' + b"a" * 100_000 + b'","method":"ping"}',
]  # fmt: skip


def hostile_line(rng):
    """A scrap, or scraps cut, joined and bitten."""
    line = bytearray(rng.choice(SCRAPS))
    for _ in range(rng.randrange(4)):
        kind = rng.randrange(4)
        place = rng.randrange(len(line) + 1)
        if kind == 0:
            line[place:] = b""
        elif kind == 1:
            line[place:place] = rng.choice(SCRAPS)
        elif kind == 2 and line:
            line[min(place, len(line) - 1)] ^= 1 << rng.randrange(8)
        else:
            line[place:place] = rng.randbytes(3)
    return bytes(line).replace(b"\n", b" ")


@journey
async def test_after_every_hostile_line_a_ping_is_answered(tmp_path):
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    lines = SCRAPS + [hostile_line(rng) for _ in range(300 - len(SCRAPS))]
    async with Den(tmp_path).client() as client:
        for line in lines:
            client.send_line(line)
            assert await client.request("ping") == {}, f"seed {seed}: {line[:200]!r}"
        await drain(client)
        if sys.platform.startswith("linux"):
            assert proc_status(client.pid, "VmHWM") < RSS_MIB * 1024
        client.send_line(b'{"jsonrpc":"2.0","id":"last","method":"ping"}')
        while (answer := await client.read_message()) != {"jsonrpc": "2.0", "id": "last", "result": {}}:
            for one in answer if isinstance(answer, list) else [answer]:
                assert one["jsonrpc"] == "2.0", f"seed {seed}"
                assert ("result" in one) != ("error" in one), f"seed {seed}"
                assert one.get("error", {}).get("code") != -32603, f"seed {seed}: {one}"


# -- what a start costs ----------------------------------------------------------------------------------------------

LATE = {"fastembed", "usearch", "numpy", "onnxruntime", "rich", "tomlkit", "httpx", "detect_secrets"}
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
