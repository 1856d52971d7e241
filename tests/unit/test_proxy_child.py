"""The gateway that a proxy has spawned, as the proxy sees it."""

import asyncio
import sys
import textwrap
from pathlib import Path

from gateway.doors.proxy.child import FIRST_PAUSE, LONGEST_PAUSE, Child, pause_after
from gateway.wire.client import GatewayClient

GATEWAY = textwrap.dedent(
    """
    import json, sys
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        if asked["method"] == "exit":
            break
        for number in range(20):
            print(json.dumps({"jsonrpc": "2.0", "method": "memory/changed", "params": {"number": number}}))
        result = {"home_id": "home_1"} if asked["method"] == "initialize" else {}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
    """
)


def test_pauses_double_up_to_the_longest_and_begin_anew_after_a_long_life():
    pauses = [0.0]
    for _ in range(8):
        pauses.append(pause_after(pauses[-1], lived=0.1))
    assert pauses[1:] == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    assert pause_after(LONGEST_PAUSE, lived=LONGEST_PAUSE + 1) == FIRST_PAUSE


def test_notifications_of_the_child_are_not_kept(tmp_path: Path, monkeypatch):
    (tmp_path / "gateway.py").write_text(GATEWAY, encoding="utf-8")
    started: list[GatewayClient] = []
    start = GatewayClient.start

    async def start_and_note(command):
        started.append(await start(command))
        return started[-1]

    monkeypatch.setattr(GatewayClient, "start", start_and_note)

    async def story() -> None:
        child = Child([sys.executable, str(tmp_path / "gateway.py")], lambda: None)
        running = asyncio.create_task(child.run())
        await child.live.wait()
        for _ in range(3):
            await child.ask("capture/prepare", {}, 60)
            await child.deliver("capture/finish", {})
        assert len(started) == 1
        assert started[0].received == []
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(story())
