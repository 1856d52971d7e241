"""The small print of requests: ids, a workspace that is told more, a configuration that somebody else holds."""

import asyncio
import json

from filelock import FileLock
from spawned import Den, journey, refusal, run_to_end

from gateway.wire.client import CallFailed

LARGE_IDS = [2**53 + 1, 2**64 - 1, -(2**63), 2**64]


def test_an_id_of_64_bits_comes_back_digit_by_digit(tmp_path):
    den = Den(tmp_path)
    lines = [{"jsonrpc": "2.0", "id": number, "method": "ping"} for number in LARGE_IDS]
    done = run_to_end(den.command(), send="".join(json.dumps(line) + "\n" for line in lines).encode())
    told = [json.loads(line) for line in done.stdout.splitlines()]
    replies = {reply["id"]: reply for reply in told if "id" in reply}
    assert all("result" in replies[number] for number in LARGE_IDS[:3])
    assert replies[None]["error"]["code"] == -32600


@journey
async def test_an_id_ends_where_it_ends(tmp_path):
    async with Den(tmp_path).client() as client:
        for method, member in (("workspace/create", "workspace_id"), ("thread/start", "thread_id")):
            refused = await refusal(client, method, {member: "looks_right\n"})
            assert (refused.reason, refused.data["details"]["path"]) == ("invalid_params", f"$.{member}")


@journey
async def test_a_workspace_made_by_initialize_can_be_described_once(tmp_path):
    async with Den(tmp_path).client("ws_new") as client:
        place = {"workspace_id": "ws_new"}
        await client.request("workspace/create", {**place, "name": "Boat"})
        await client.request("workspace/create", {**place, "root_path": "/srv/boat"})
        told = (await client.request("workspace/create", place))["workspace"]
        assert (told["name"], told["root_path"]) == ("Boat", "/srv/boat")
        assert (await refusal(client, "workspace/create", {**place, "name": "Ship"})).reason == "conflict"


@journey
async def test_a_configuration_that_somebody_holds_keeps_nothing_else_waiting(tmp_path):
    den = Den(tmp_path)
    async with den.client() as client:
        with FileLock(den.config.with_name(f".{den.config.name}.lock")):
            update = asyncio.create_task(
                client.request("settings/update", {"update": {"memory": {"retention_days": 3}}})
            )
            for _ in range(5):
                await client.request("ping")
            assert not update.done()
        try:
            assert (await update)["settings"]["memory"]["retention_days"] == 3
        except CallFailed as failed:  # the lock was held for longer than anybody waits
            assert failed.reason == "unavailable"
