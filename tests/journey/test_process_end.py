"""How a process ends: in order, torn, orphaned."""

import asyncio
import os
import select
import signal
import subprocess
import sys
import textwrap

import pytest
from spawned import Den, hello, journey, on_posix, refusal, remember

pytestmark = pytest.mark.cold  # the end of an interpreter, too

GONE_SECONDS = 30.0  # what would hold the end takes a minute, or for ever
HELLO = [{"type": "text", "text": "Hello"}]


def has_ended(pipe, seconds=GONE_SECONDS):
    """Whether every process that could write to the pipe is gone in time."""
    while select.select([pipe], [], [], seconds)[0]:
        if not os.read(pipe, 65536):
            return True
    return False


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


@journey
async def test_no_thread_stays_taken_by_a_process_that_ended_in_order(tmp_path):
    den = Den(tmp_path)
    threads = [f"thr_{n}" for n in range(16)]
    client = await den.spawn()
    await hello(client)
    for thread_id in threads:
        await client.request("thread/start", {"thread_id": thread_id})
    asked = [
        asyncio.create_task(
            client.request("turn/prepare", {"thread_id": thread_id, "turn_id": f"trn_{thread_id}", "input": HELLO})
        )
        for thread_id in threads
    ]
    await asked[0]
    assert await client.end_of_input() == 0
    await asyncio.gather(*asked, return_exceptions=True)
    async with den.client() as after:
        for thread_id in threads:
            place = {"thread_id": thread_id, "turn_id": f"trn_new_{thread_id}"}
            await after.request("turn/prepare", {**place, "input": HELLO})
            await after.request("turn/finish", {"turn_id": place["turn_id"], "status": "failed"})


@on_posix
@journey
async def test_a_store_that_is_gone_at_the_end_is_no_defect(tmp_path):
    den = Den(tmp_path)
    client = await den.spawn()
    await hello(client)
    await remember(client, "The lamp is lit.")
    (den.home / "gateway.db").rename(den.home / "elsewhere.db")
    assert await client.end_of_input() == 0
    assert b"Traceback" not in client.stderr


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
        assert process.stdin is not None
        assert process.stdout is not None
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
        assert parent.stdin is not None
        assert parent.stdout is not None
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
