"""A turn's end, asked for by a client that does not wait, gives up, or puts everything into one batch."""

import json
from typing import Any

from spawned import Den, journey, refusal

from gateway.wire.client import GatewayClient

TRIES = 8
WRITES = 20
"""What stands before the end of a turn in the writer's queue, so that a cancellation finds it waiting there."""


def asked(request_id: Any, method: str, **params: Any) -> dict[str, Any]:
    """A request."""
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def said(thread_id: str, turn_id: str, text: str = "hello") -> dict[str, Any]:
    """What a turn begins with."""
    return {"thread_id": thread_id, "turn_id": turn_id, "input": [{"type": "text", "text": text}]}


async def answers(client: GatewayClient, *messages: dict[str, Any]) -> dict[Any, dict[str, Any]]:
    """Write everything at once; the replies by id."""
    client.send_line(b"\n".join(json.dumps(message).encode() for message in messages))
    wanted = {message["id"] for message in messages if "id" in message}
    found: dict[Any, dict[str, Any]] = {}
    while wanted - found.keys():
        reply = await client.read_message()
        found[reply["id"]] = reply
    return found


def reason(reply: dict[str, Any]) -> str:
    """Why a request was refused; `ok` where it was not."""
    return reply["error"]["data"]["reason"] if "error" in reply else "ok"


def story(client: GatewayClient, turn_id: str) -> list[tuple[str, int]]:
    """The notifications of a turn with their numbers."""
    return [
        (method, params["seq"])
        for method, params in client.received
        if method.startswith(("turn/", "item/")) and params["turn_id"] == turn_id
    ]


@journey
async def test_a_cancelled_end_ends_the_turn(tmp_path):
    async with Den(tmp_path).client() as client:
        await client.request("thread/start", {"thread_id": "thr"})
        for method in ("turn/finish", "turn/cancel"):
            for number in range(TRIES):
                turn_id = f"{method[5:]}_{number}"
                await client.request("turn/prepare", said("thr", turn_id))
                end = {"turn_id": turn_id} | (
                    {"status": "succeeded", "assistant_text": "done"} if method == "turn/finish" else {}
                )
                busy = [asked(f"w{n}", "memory/remember", content=f"Number {turn_id} {n}") for n in range(WRITES)]
                later = [asked(f"p{n}", "ping") for n in range(number)]
                cancel = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "end"}}
                replies = await answers(client, *busy, asked("end", method, **end), *later, cancel)
                assert reason(replies["end"]) in {"ok", "cancelled"}
                turn = (await client.request(method, end))["turn"]
                assert turn["status"] == {"turn/finish": "completed", "turn/cancel": "cancelled"}[method]
                await client.wait_for("turn/post_completed", lambda told, turn_id=turn_id: told["turn_id"] == turn_id)
        deleted = await client.request("thread/delete", {"thread_id": "thr"})
        assert deleted["removed"]["turns"] == 2 * TRIES


@journey
async def test_a_batch_does_not_wait_for_itself(tmp_path):
    den = Den(tmp_path, scripted=True, config="\n[gateway.limits]\nmax_in_flight = 1\n")
    den.write_script([{"role": "main", "delay_ms": 600_000, "respond": {"text": "too late"}}])
    async with den.client() as client:
        await client.request("thread/start", {"thread_id": "thr"})
        for turn_id, between in (("trn_a", 0), ("trn_b", 98)):
            busy = [asked(n, "memory/remember", content=f"Number {n}") for n in range(between)]
            batch = [
                asked("start", "turn/start", **said("thr", turn_id)),
                *busy,
                asked("end", "turn/cancel", turn_id=turn_id),
            ]
            client.send_line(json.dumps(batch).encode())
            replies = {reply["id"]: reply for reply in await client.read_message()}
            assert len(replies) == len(batch)
            assert replies["start"]["result"]["turn"]["status"] == "in_progress"
            assert replies["end"]["result"]["turn"]["status"] == "cancelled"
            await client.wait_for("turn/post_completed", lambda told, turn_id=turn_id: told["turn_id"] == turn_id)
            told = story(client, turn_id)
            assert (told[0], told[-2][0]) == (("turn/started", 1), "turn/cancelled")
            assert [seq for _, seq in told] == list(range(1, len(told) + 1))
        assert await client.request("ping") == {}


@journey
async def test_what_is_written_at_once_is_done_in_order(tmp_path):
    den = Den(tmp_path, scripted=True)
    den.write_script([{"role": "main", "delay_ms": 600_000, "respond": {"text": "too late"}}])
    async with den.client() as client:
        await client.request("thread/start", {"thread_id": "thr"})
        call = {
            "turn_id": "trn_a",
            "call_id": "c",
            "name": "request_tools",
            "arguments": {"domains": [], "reason": "x"},
        }
        replies = await answers(
            client,
            asked(1, "turn/prepare", **said("thr", "trn_a")),
            asked(2, "turn/tool_call", **call),
            asked(3, "turn/finish", turn_id="trn_a", status="succeeded", assistant_text="done"),
            asked(4, "turn/prepare", **said("thr", "trn_b")),
            asked(5, "turn/finish", turn_id="trn_b", status="failed"),
            asked(6, "turn/start", **said("thr", "trn_c")),
        )
        assert {number: reason(reply) for number, reply in replies.items()} == dict.fromkeys(range(1, 7), "ok")
        assert list(replies) == list(range(1, 7))
        assert replies[3]["result"]["turn"]["status"] == "completed"
        assert (await client.request("turn/cancel", {"turn_id": "trn_c"}))["turn"]["status"] == "cancelled"
        replies = await answers(
            client, asked(1, "turn/start", **said("thr", "trn_d")), asked(2, "turn/cancel", turn_id="trn_d")
        )
        assert replies[2]["result"]["turn"]["status"] == "cancelled"
        started = [p["item_id"] for method, p in client.received if method == "item/started"]
        whole = [p["item_id"] for method, p in client.received if method == "item/completed"]
        assert started == whole
        assert len(whole) == 5
        assert [item["text"] for item in (await client.request("thread/history", {"thread_id": "thr"}))["items"]] == [
            "hello",
            "done",
            "hello",
            "hello",
            "hello",
        ]


@journey
async def test_without_a_provider_only_a_new_turn_is_refused(tmp_path):
    async with Den(tmp_path).client() as client:
        await client.request("thread/start", {"thread_id": "thr"})
        await client.request("turn/prepare", said("thr", "trn"))
        finish = {"turn_id": "trn", "status": "succeeded", "assistant_text": "done"}
        turn = (await client.request("turn/finish", finish))["turn"]
        assert await client.request("turn/start", said("thr", "trn")) == {"turn": turn}
        assert (await refusal(client, "turn/start", said("thr", "trn", "other words"))).reason == "conflict"
        assert (await refusal(client, "turn/start", said("thr", "trn_2"))).reason == "provider_not_configured"
        unknown = await refusal(client, "turn/start", said("thr_none", "trn_2"))
        assert (unknown.code, unknown.reason) == (-32044, "not_found")


ENDS = {"succeeded": "completed", "failed": "failed", "provider_failure": "failed", "interrupted": "interrupted"}


@journey
async def test_a_turn_ends_once_and_another_end_of_it_is_a_conflict(tmp_path):
    den = Den(tmp_path)
    async with den.client() as client:
        for first, became in ENDS.items():
            await client.request("thread/start", {"thread_id": f"thr_{first}"})
            await client.request("turn/prepare", said(f"thr_{first}", f"trn_{first}"))
            end = {"turn_id": f"trn_{first}", "status": first, "assistant_text": "So it is."}
            ended = (await client.request("turn/finish", end))["turn"]
            assert ended["status"] == became
            for status in ENDS:
                if status == first:
                    assert (await client.request("turn/finish", end))["turn"] == ended
                else:
                    assert (await refusal(client, "turn/finish", {**end, "status": status})).reason == "conflict"
            assert (await client.request("turn/get", {"turn_id": f"trn_{first}"}))["turn"] == ended
        await client.request("turn/prepare", said("thr_failed", "trn_stopped"))
        await client.request("turn/cancel", {"turn_id": "trn_stopped"})
        stopped = {"turn_id": "trn_stopped", "status": "interrupted"}
        assert (await client.request("turn/finish", stopped))["turn"]["status"] == "cancelled"
        assert (await refusal(client, "turn/finish", {**stopped, "status": "succeeded"})).reason == "conflict"


@journey
async def test_a_turn_begins_with_a_word_or_a_file(tmp_path):
    async with Den(tmp_path, scripted=True).client() as client:
        await client.request("thread/start", {"thread_id": "thr"})
        for method in ("turn/start", "turn/prepare"):
            for texts in ([""], [" \n"], ["", "\t"]):
                empty = {"thread_id": "thr", "input": [{"type": "text", "text": text} for text in texts]}
                assert (await refusal(client, method, empty)).reason == "invalid_params"
        page = await client.request("thread/history", {"thread_id": "thr"})
        assert page["items"] == []
        picture = {"type": "artifact", "name": "a.txt", "mime": "text/plain", "data_base64": "aGk="}
        alone = {"thread_id": "thr", "input": [{"type": "text", "text": ""}, picture]}
        assert (await client.request("turn/prepare", alone))["turn"]["status"] == "awaiting_host"
