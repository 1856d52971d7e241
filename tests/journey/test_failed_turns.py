"""A turn whose model fails: a program can tell why, a person can read why, and who asks again asks once."""

import json

import pytest
from fake_vendor import Said, recorded, refused, vendor
from spawned import Den, clean_environment, drain, hello, journey, take_turn

KINDS = ("openai", "anthropic")
ROLES = '\n[gateway.roles]\nmain = "vendor"\n'
CANARY = "canary-words-of-a-server"


def fault(code=None, kind=None):
    """The body of an error as both dialects write it; its text must not come out."""
    return {"type": "error", "error": {"type": kind, "code": code, "message": CANARY}}


def broken_off(kind):
    return recorded(f"{kind}_text", pieces=4, then="cut")


def in_stream(kind, event):
    """An answer that began with 200 and then says that it failed."""
    head = b"event: error\n" if kind == "anthropic" else b""
    return Said((head + b"data: " + json.dumps(event).encode() + b"\n\n",))


FAULTS = {
    "openai": [
        ([refused(429, fault("rate_limit_exceeded"))] * 3, "provider_rate_limited", True),
        ([refused(429, fault("rate_limit_exceeded"), retry_after="600")], "provider_rate_limited", True),
        ([in_stream("openai", fault("rate_limit_exceeded"))] * 3, "provider_rate_limited", True),
        ([refused(429, fault("insufficient_quota"))], "provider_unauthorized", False),
        ([refused(401, fault("invalid_api_key"))], "provider_unauthorized", False),
        ([refused(503, fault(kind="server_error"))] * 3, "provider_unavailable", True),
        ([broken_off("openai")] * 3, "provider_unavailable", True),
        ([refused(404, fault("model_not_found"))], "provider_not_configured", False),
        ([refused(400, fault("context_length_exceeded"))] * 2, "provider_failed", False),
    ],
    "anthropic": [
        ([refused(429, fault(kind="rate_limit_error"))] * 3, "provider_rate_limited", True),
        ([refused(429, fault(kind="rate_limit_error"), retry_after="600")], "provider_rate_limited", True),
        ([in_stream("anthropic", fault(kind="rate_limit_error"))] * 3, "provider_rate_limited", True),
        ([refused(401, fault(kind="authentication_error"))], "provider_unauthorized", False),
        ([refused(403, fault(kind="permission_error"))], "provider_unauthorized", False),
        ([refused(529, fault(kind="overloaded_error"))] * 3, "provider_unavailable", True),
        ([in_stream("anthropic", fault(kind="overloaded_error"))] * 3, "provider_unavailable", True),
        ([broken_off("anthropic")] * 3, "provider_unavailable", True),
        ([refused(400, fault(kind="invalid_request_error"))], "provider_failed", False),
    ],
}
"""What a server does, how a turn fails then, and whether the same may succeed later."""


def said_by_user(asked):
    """The user messages of a request as the vendor got them, each as text."""
    contents = [message["content"] for message in asked.body["messages"] if message["role"] == "user"]
    return [one if isinstance(one, str) else "\n".join(part["text"] for part in one) for one in contents]


@pytest.mark.parametrize("kind", KINDS)
@journey
async def test_why_a_turn_failed_is_told_apart_and_a_retry_asks_once(kind, tmp_path):
    question = "Which night train goes to Trieste?"
    async with vendor() as fake:
        den = Den(tmp_path, config=fake.config(kind, api_key_env="PIONEER_VENDOR_KEY") + ROLES)
        async with await den.spawn(env=clean_environment(PIONEER_VENDOR_KEY="key-7be1")) as client:
            await hello(client)
            await client.request("thread/start", {"thread_id": "thr"})
            fake.answers.append(recorded(f"{kind}_text"))
            await take_turn(client, "thr", "I like trains.", "trn_first")
            for number, (answers, reason, is_passing) in enumerate(FAULTS[kind]):
                fake.answers.extend(answers)
                turn = await take_turn(client, "thr", question, f"trn_{number}")
                error = turn["error"]
                assert (number, turn["status"], error["reason"], error["retryable"]) == (
                    number,
                    "failed",
                    reason,
                    is_passing,
                )
                assert error["message"].endswith(".")
                (told,) = [n for m, n in client.received if m == "turn/failed" and n["turn_id"] == f"trn_{number}"]
                assert told["error"] == error
                assert not fake.answers
            await drain(client)
            fake.answers.append(recorded(f"{kind}_text"))
            turn = await take_turn(client, "thr", question, "trn_last")
            assert turn["status"] == "completed"
            assert said_by_user(fake.asked[-1]) == ["I like trains.", question]
            items = (await client.request("thread/history", {"thread_id": "thr", "limit": 100}))["items"]
            assert sum(item["text"] == question for item in items) == len(FAULTS[kind]) + 1  # what was said stays said
            assert CANARY not in json.dumps(client.received)


@journey
async def test_a_failed_turn_is_not_repeated_by_history_or_recall_but_a_cancelled_one_is(tmp_path):
    den = Den(tmp_path, scripted=True)
    den.write_script([{"role": "main", "input_contains": "violin", "times": 1, "respond": {"error": "bad_json"}}])
    async with den.client() as client:
        await client.request("thread/start", {"thread_id": "thr", "workspace_id": "ws_here"})
        await take_turn(client, "thr", "My cello teacher is called Ines.", "trn_1")
        failed = await take_turn(client, "thr", "What did I say about violin lessons with Ines?", "trn_2")
        assert failed["error"]["reason"] == "provider_failed"
        await drain(client)
        slow = {"thread_id": "thr", "turn_id": "trn_3", "input": [{"type": "text", "text": "Tell me slowly."}]}
        await client.request("turn/prepare", slow)
        await client.request("turn/cancel", {"turn_id": "trn_3"})
        again = await take_turn(client, "thr", "What did I say about violin lessons with Ines?", "trn_4")
        assert again["status"] == "completed"
        assert "trn_2" not in json.dumps(again["prompt_manifest"]["recall"])
        budgets = {one["name"]: one["limit"] for one in again["prompt_manifest"]["budgets"]}
        assert budgets["history_turns"] == 2
    asked = [json.loads(line) for line in den.record.read_text("utf-8").splitlines()]
    last = next(call for call in asked if call["turn_id"] == "trn_4" and call["role"] == "main")
    words = [message["content"] for message in last["messages"] if message["role"] != "system"]
    assert sum("violin" in text for text in words) == 1
    assert "Tell me slowly." in words
