"""Large, many and hostile messages."""

import json
import random
import subprocess
import sys

import pytest
from spawned import RSS_MIB, Den, drain, journey, on_linux, proc_status

pytestmark = pytest.mark.cold  # what a process holds is measured


@pytest.mark.loop("campaign")
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
        assert process.stdin is not None
        assert process.stdout is not None
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
    b"",
    b"   ",
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf{}",
    b'"\\ud800"',
    b'{"a":"\\ud800"}',
    b"NaN",
    b"[NaN]",
    b"-Infinity",
    b"1e400",
    b"1" * 5000,
    b'{"id":1e400}',
    b"{}",
    b"[]",
    b"[[]]",
    b"[1,2,3]",
    b"null",
    b"true",
    b'"text"',
    b'{"jsonrpc":"2.0"}',
    b'{"jsonrpc":"1.0","id":"a","method":"ping"}',
    b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":{},"method":"ping"}',
    b'{"jsonrpc":"2.0","id":[1],"method":"ping"}',
    b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":"a","method":7}',
    b'{"jsonrpc":"2.0","id":"a","method":"ping","params":[1]}',
    b'{"jsonrpc":"2.0","id":"a","method":"ping","params":7}',
    b'{"jsonrpc":"2.0","id":"a","id":"b","method":"ping"}',
    b'{"jsonrpc":"2.0","id":"a","result":1}',
    b'{"jsonrpc":"2.0","id":"a","error":{"code":1,"message":"x"}}',
    b'{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":[]}}',
    b'{"jsonrpc":"2.0","method":"no/such"}',
    b'{"jsonrpc":"2.0","id":"a","method":"no/such"}',
    b'{"jsonrpc":"2.0","id":"a","method":"memory/remember"}',
    b'{"jsonrpc":"2.0","id":"a","method":"memory/search","params":{"query":"\\u0000 \\" OR NEAR( *"}}',
    b'{"jsonrpc":"2.0","id":"a","method":"memory/list","params":{"cursor":"%%%"}}',
    b'{"jsonrpc":"2.0","id":"a","method":"memory/list","params":{"limit":99999999999999999999999}}',
    b'{"jsonrpc":"2.0","id":99999999999999999999999999,"method":"ping"}',
    b"[" * 100_000,
    b'{"a":' * 50_000,
    b"[" * 100_000 + b"]" * 100_000,
    b'[{"jsonrpc":"2.0","id":"a","method":"ping"},1,{"foo":"bar"}]',
    b"[" + b",".join([b'{"jsonrpc":"2.0","id":"a","method":"ping"}'] * 101) + b"]",
    b'{"jsonrpc":"2.0","id":"' + b"a" * 100_000 + b'","method":"ping"}',
]


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
