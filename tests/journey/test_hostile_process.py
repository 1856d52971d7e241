"""A spawned gateway whose hooks misbehave in every way: it serves its client, ends its turns, and ends itself."""

import json
import sys
import time
from pathlib import Path

from spawned import Den, drain, every, hello, journey, remember

from gateway.wire.client import GatewayClient

KIT = Path(__file__).resolve().parents[1] / "stage"

PROGRAM = """
import sys
sys.path.append({kit!r})
from hostile_hooks import KIT, subscribed
from protocol.hooks import PHASES
from agent.hooks.registration import Registry
whole = Registry.__init__
hostile = [one for one in KIT if {only!r} in (None, one.name)]
def with_hostile(self, subscriptions):
    whole(self, [*subscriptions, *(one for kind in hostile for one in subscribed(kind, *{phases}))])
Registry.__init__ = with_hostile
from gateway.cli import main
sys.exit(main(sys.argv[1:]))
"""


def command(den: Den, *, only: str | None = None, phases: str = "PHASES") -> list[str]:
    """The gateway, with hooks added as a host's own build would add them."""
    program = PROGRAM.format(kit=str(KIT), only=only, phases=phases)
    return [sys.executable, "-c", program, *den.command()[-5:]]


@journey
async def test_a_gateway_full_of_hostile_hooks_serves_and_ends(tmp_path):
    den = Den(tmp_path, scripted=True)
    async with await GatewayClient.start(command(den)) as client:
        await hello(client)
        await client.request("thread/start", {"thread_id": "thr_1"})
        memory_id = await remember(client, "The user's favourite tea is Lapsang Souchong")
        said = {
            "thread_id": "thr_1",
            "turn_id": "trn_1",
            "input": [{"type": "text", "text": "Which tea do I like best?"}],
        }
        await client.request("turn/start", said)
        waits = []
        while (await client.request("turn/get", {"turn_id": "trn_1"}))["turn"]["status"] == "in_progress":
            begun = time.monotonic()
            await client.request("ping", {})
            waits.append(time.monotonic() - begun)
        turn = (await client.request("turn/get", {"turn_id": "trn_1"}))["turn"]
        assert turn["status"] == "completed"
        assert turn["prompt_manifest"]["recall"]["status"] == "partial"
        assert memory_id in turn["prompt_manifest"]["recall"]["memory_ids"]
        assert sorted(waits)[len(waits) // 2] < sum(waits) / 4  # many came through while the turn went on
        await client.wait_for("turn/post_completed", lambda told: told["turn_id"] == "trn_1")
        await drain(client)
        runs = await every(client, "hooks/runs", "runs", turn_id="trn_1")
        assert {run["status"] for run in runs} <= {"succeeded", "failed", "timed_out", "skipped"}
        assert "what nobody may read" not in json.dumps(runs)
        await client.close()
        assert await client.wait() == 0  # what swallows its cancellation holds nothing up


@journey
async def test_an_extraction_that_is_killed_happens_once(tmp_path):
    den = Den(tmp_path, scripted=True)
    learnt = {
        "semantic": {
            "intent": "implicit_candidate",
            "explicitness": "explicit",
            "category": "preference",
            "subject": "current_user",
            "attribute": "drink",
            "durability": "long_lived",
            "sensitivity": "none",
            "certainty": "high",
        },
        "content": "The user prefers green tea",
        "evidence": {"quote": "I prefer green tea"},
    }
    answer = {"role": "extractor", "respond": {"json": {"facts": [learnt]}}}
    den.write_script([{**answer, "delay_ms": 600_000}])
    async with await den.spawn() as client:
        await hello(client)
        await client.request("thread/start", {"thread_id": "thr_1"})
        said = {"thread_id": "thr_1", "turn_id": "trn_1", "input": [{"type": "text", "text": "I prefer green tea."}]}
        await client.request("turn/start", said)
        await client.wait_for("turn/completed", lambda told: told["turn_id"] == "trn_1")
        while not (running := await every(client, "hooks/runs", "runs", turn_id="trn_1", status="running")):
            await client.request("ping", {})
        assert [run["hook_id"] for run in running] == ["memory.post_turn_extractor"]
        while '"role":"extractor"' not in (den.record.read_text(encoding="utf-8") if den.record.exists() else ""):
            await client.request("ping", {})
        client.kill()
        await client.wait()
    den.write_script([answer])
    for _ in range(2):  # the second finds nothing to do
        async with den.client() as client:
            await drain(client)
            (run,) = await every(client, "hooks/runs", "runs", turn_id="trn_1", phase="TurnPostTurn")
            assert (run["run_id"], run["status"], run["attempt_count"]) == (running[0]["run_id"], "succeeded", 2)
            (record,) = await every(client, "memory/list", "records")
            assert record["content"] == "The user prefers green tea"
    asked = [json.loads(line) for line in den.record.read_text(encoding="utf-8").splitlines()]
    assert [one["role"] for one in asked].count("extractor") == 2


@journey
async def test_a_host_that_dies_leaves_an_interrupted_turn_that_the_next_is_told_of(tmp_path):
    den = Den(tmp_path, scripted=True)
    async with await den.spawn() as client:
        await hello(client)
        await client.request("thread/start", {"thread_id": "thr_1"})
        said = {"thread_id": "thr_1", "turn_id": "trn_1", "input": [{"type": "text", "text": "I prefer green tea."}]}
        assert (await client.request("turn/prepare", said))["turn"]["status"] == "awaiting_host"
        client.kill()  # a host that dies takes its gateway along
        await client.wait()
    for named in ([{"thread_id": "thr_1", "turn_id": "trn_1"}], []):
        async with await den.spawn() as client:
            assert (await hello(client))["interrupted_turns"] == named
            turn = (await client.request("turn/get", {"turn_id": "trn_1"}))["turn"]
            assert (turn["status"], turn["driver"]) == ("interrupted", "host")
            await drain(client)
            runs = await every(client, "hooks/runs", "runs", turn_id="trn_1", phase="TurnPostTurn")
            assert {run["status"] for run in runs} <= {"skipped"}
            assert await every(client, "memory/list", "records") == []
