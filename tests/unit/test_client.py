import asyncio
import json
import sys
import textwrap

import pytest

from gateway.wire.client import CallFailed, ConnectionClosed, GatewayClient, console_script
from protocol import methods as call
from protocol.base import Empty, Nothing
from protocol.conversation.threads import ThreadParams

PEER = textwrap.dedent(
    '''
    """A stand-in for the gateway, driven by what it is asked."""
    import json, os, sys
    def say(value):
        sys.stdout.buffer.write(json.dumps(value).encode() + b"\\n")
        sys.stdout.buffer.flush()
    def result(ask, value):
        say({"jsonrpc": "2.0", "id": ask["id"], "result": value})
    is_shut_down = False
    for line in sys.stdin.buffer:
        ask = json.loads(line)
        if isinstance(ask, list):
            say([{"jsonrpc": "2.0", "id": item["id"], "result": 1} for item in ask])
            continue
        method, params = ask["method"], ask.get("params")
        if method == "ping":
            result(ask, {})
        elif method == "thread/get":
            data = {"reason": "not_found", "retryable": False, "details": {"id": params["thread_id"]}}
            say({"jsonrpc": "2.0", "id": ask["id"], "error": {"code": -32044, "message": "None such.", "data": data}})
        elif method == "echo":
            result(ask, params)
        elif method == "notify":
            say({"jsonrpc": "2.0", "method": params["method"], "params": params["params"]})
            if "id" in ask:
                result(ask, None)
        elif method == "babble":
            sys.stderr.buffer.write(b"x" * params + b"end")
            sys.stderr.buffer.flush()
            result(ask, os.environ.get("PEER"))
        elif method == "tear":
            sys.stdout.buffer.write(b"Traceback\\n")
            sys.stdout.buffer.flush()
        elif method == "die":
            sys.exit(7)
        elif method == "shutdown":
            is_shut_down = True
            result(ask, None)
        elif method == "exit":
            sys.exit(0 if is_shut_down else 1)
    sys.exit(3)
    '''
)


@pytest.fixture
def command(tmp_path):
    peer = tmp_path / "peer.py"
    peer.write_text(PEER)
    return [sys.executable, str(peer)]


def with_client(command, talk, **options):
    async def main():
        async with await GatewayClient.start(command, **options) as client:
            return await talk(client)

    return asyncio.run(main())


def test_a_call_gives_the_methods_own_type_and_errors_carry_their_reason(command):
    async def talk(client):
        assert await client.call(call.PING, Empty()) == Nothing()
        with pytest.raises(CallFailed) as caught:
            await client.call(call.THREAD_GET, ThreadParams(thread_id="thr_1"))
        error = caught.value
        assert (error.code, error.reason, error.message) == (-32044, "not_found", "None such.")
        assert error.data["details"] == {"id": "thr_1"}

    with_client(command, talk)


def test_a_message_may_be_large_in_both_directions_and_many_may_be_under_way(command):
    async def talk(client):
        texts = [str(n) * 2_000_000 for n in range(4)]
        assert await asyncio.gather(*(client.request("echo", [text]) for text in texts)) == [[text] for text in texts]

    with_client(command, talk)


def test_stderr_never_blocks_and_its_end_is_kept(command):
    async def talk(client):
        assert await client.request("babble", 1_000_000) is None
        assert await client.close() == 0
        assert len(client.stderr) == 64 * 1024
        assert client.stderr.endswith(b"xend")

    with_client(command, talk)


def test_the_environment_is_replaced_when_given(command):
    async def talk(client):
        assert await client.request("babble", 0) == "here"

    with_client(command, talk, env={"PEER": "here", "SYSTEMROOT": "C:\\Windows"})


def test_notifications_are_found_past_and_to_come_from_any_place_on(command):
    async def talk(client):
        async def notice(n):
            await client.request("notify", {"method": "m", "params": {"n": n}})

        waiting = asyncio.create_task(client.wait_for("m", lambda p: p["n"] == 2))
        await notice(1)
        assert await client.wait_for("m") == {"n": 1}
        assert not waiting.done()
        await notice(2)
        assert await waiting == {"n": 2}
        assert client.received == [("m", {"n": 1}), ("m", {"n": 2})]

        later = asyncio.create_task(client.wait_for("m", since=len(client.received)))
        await client.notify("notify", {"method": "m", "params": {"n": 3}})
        assert await later == {"n": 3}

    with_client(command, talk)


def test_raw_lines_are_answered_to_the_raw_reader(command):
    async def talk(client):
        client.send_line(b'{"id": "mine", "method": "echo", "params": 1}')
        client.send_line(b'[{"id": 1}, {"id": 2}]')
        assert (await client.read_message())["id"] == "mine"
        assert [reply["id"] for reply in await client.read_message()] == [1, 2]

    with_client(command, talk)


@pytest.mark.parametrize(("last", "code"), [("die", 7), ("tear", None)])
def test_all_who_wait_are_told_when_no_answer_can_come(command, last, code):
    async def talk(client):
        waiting = [client.request(last), client.wait_for("m"), client.read_message(), client.request("silence")]
        ends = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(end) for end in ends] == [ConnectionClosed] * 4
        with pytest.raises(ConnectionClosed):
            await client.call(call.PING, Empty())
        ended = await client.close()
        assert ended == code if code is not None else ended != 0

    with_client(command, talk)


def test_the_ways_to_end_give_the_exit_code(command):
    async def main():
        client = await GatewayClient.start(command)
        assert await client.close() == 0
        assert await client.close() == 0

        client = await GatewayClient.start(command)
        assert await client.end_of_input() == 3

        client = await GatewayClient.start(command)
        await client.notify("exit")
        assert await client.wait() == 1

        client = await GatewayClient.start(command)
        assert client.pid > 0
        client.kill()
        assert await client.wait() != 0
        client.kill()

    asyncio.run(main())


def test_a_process_that_does_not_end_is_ended(command, tmp_path, monkeypatch):
    monkeypatch.setattr("gateway.wire.client.CLOSE_SECONDS", 0.3)
    (tmp_path / "deaf.py").write_text("import threading; threading.Event().wait()")

    async def main():
        client = await GatewayClient.start([sys.executable, str(tmp_path / "deaf.py")])
        return await client.close()

    assert asyncio.run(main()) != 0


def test_an_exception_in_the_block_ends_the_process_at_once(command):
    seen = []

    async def talk(client):
        seen.append(client)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        with_client(command, talk)
    with pytest.raises(ConnectionClosed):
        seen[0].send_line(json.dumps({"id": 1}).encode())


def test_a_call_that_is_given_up_leaves_the_connection_usable(command):
    async def talk(client):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await client.request("silence")
        assert await client.request("echo", 1) == 1

    with_client(command, talk)


def test_the_default_command_is_the_console_script():
    assert console_script()[0].rpartition("/")[2].rpartition("\\")[2] in {"pioneer", "pioneer.exe"}
