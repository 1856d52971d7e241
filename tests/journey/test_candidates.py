"""Review of what the extractor is not sure about, over stdio: waiting, deciding, and what comes of it."""

import asyncio
import subprocess
from typing import Any

from spawned import Den, drain, fact, hello, journey, refusal, take_turn

from gateway.wire.client import CallFailed, console_script

REVIEWED = "[gateway.memory]\nreview_enabled = true\n"
UNSURE = {"explicitness": "implicit", "durability": "unknown", "certainty": "medium"}
TEA, BREW = "Prefers green tea in the afternoon", "Loves hiking in the Harz mountains"
ASKED = "Which tea do I prefer in the afternoon?"


def rule(text: str, content: str, attribute: str = "drink") -> dict[str, Any]:
    """The extractor's answer to a message."""
    learnt = fact(content, text, attribute, **UNSURE)
    return {"role": "extractor", "input_contains": text, "respond": {"json": {"facts": [learnt]}}}


SCRIPT = [
    rule("prefer green tea in the afternoon", TEA),
    rule("love hiking in the Harz mountains", BREW, "hobby"),
    {"role": "extractor", "respond": {"json": {"facts": []}}},
    {"role": "main", "respond": {"text": "I see."}},
]


def den_of(folder, config=REVIEWED):
    den = Den(folder, scripted=True, config=config)
    den.write_script(SCRIPT)
    return den


async def started(client, thread_id="thr_talk"):
    await client.request("thread/start", {"thread_id": thread_id})


async def waiting(client, **more):
    return (await client.request("memory/candidates/list", more))["candidates"]


async def recalled(client, turn_id, asked=ASKED):
    """Ids of the memories that were put into a new turn's prompt."""
    turn = await take_turn(client, "thr_talk", asked, turn_id)
    return turn["prompt_manifest"]["recall"]["memory_ids"]


@journey
async def test_a_middle_score_is_told_listed_approved_found_and_recalled(tmp_path):
    async with den_of(tmp_path).client() as client:
        await started(client)
        await take_turn(client, "thr_talk", "I prefer green tea in the afternoon.", "trn_1")
        told = await client.wait_for("memory/candidate_created")
        (candidate,) = await waiting(client)
        assert told["candidate"] == candidate
        assert (candidate["content"], candidate["status"], candidate["bucket"]) == (TEA, "pending", "middle")
        assert (await client.request("memory/search", {"query": "green tea"}))["hits"] == []
        assert await recalled(client, "trn_2", "Is there a tea that I prefer?") == []
        why = await client.request("memory/explain", {"target": {"kind": "turn", "id": "trn_1"}})
        assert (why["outcome"], why["decision"]["reason_code"]) == ("candidate", "candidate_created")

        by_id = {"candidate_id": candidate["candidate_id"]}
        done = await client.request("memory/candidates/approve", by_id)
        record = done["record"]
        changed = await client.wait_for("memory/changed")
        assert (changed["change_kind"], changed["record"]) == ("created", record)
        assert (done["candidate"]["status"], done["candidate"]["promoted_memory_id"]) == (
            "approved",
            record["memory_id"],
        )
        assert (record["provenance"]["turn_id"], record["evidence_count"]) == ("trn_1", 1)
        (hit,) = (await client.request("memory/search", {"query": "green tea"}))["hits"]
        assert hit["record"]["memory_id"] == record["memory_id"]
        assert await recalled(client, "trn_3") == [record["memory_id"]]
        for kind, identifier in (
            ("candidate", candidate["candidate_id"]),
            ("memory", record["memory_id"]),
            ("turn", "trn_1"),
        ):
            why = await client.request("memory/explain", {"target": {"kind": kind, "id": identifier}})
            assert (why["outcome"], why["decision"]["reason_code"]) == ("saved", "active_created"), kind
        failed = await refusal(client, "memory/candidates/approve", by_id)
        assert (failed.code, failed.reason, failed.data["details"]["status"]) == (-32045, "already_decided", "approved")
        assert (await client.request("memory/stats"))["candidates"] == {"approved": 1}


@journey
async def test_said_in_three_turns_it_is_believed_without_anybody(tmp_path):
    async with den_of(tmp_path).client() as client:
        await started(client)
        candidate: Any = None
        for n in range(3):
            await take_turn(client, "thr_talk", f"Day {n}. I prefer green tea in the afternoon again.", f"trn_{n}")
            (candidate,) = await waiting(client, statuses=["pending", "approved"])
            assert candidate["status"] == ("approved" if n == 2 else "pending")
        found = await client.request("memory/candidates/get", {"candidate_id": candidate["candidate_id"]})
        assert (found["candidate"]["decided_by"], found["record"]["content"]) == ("admission", TEA)
        assert found["record"]["evidence_count"] == 3
        assert await recalled(client, "trn_asked") == [found["record"]["memory_id"]]


@journey
async def test_what_was_rejected_is_not_asked_again_until_the_user_says_it(tmp_path):
    async with den_of(tmp_path).client() as client:
        await started(client)
        await take_turn(client, "thr_talk", "I prefer green tea in the afternoon.", "trn_0")
        (candidate,) = await waiting(client)
        decision = {"candidate_id": candidate["candidate_id"], "decision": "reject", "reason": "Only that once."}
        done = await client.request("memory/candidates/decide", decision)
        assert (done["candidate"]["status"], done["record"]) == ("rejected", None)
        for n in range(1, 4):
            await take_turn(client, "thr_talk", f"Day {n}. I prefer green tea in the afternoon.", f"trn_{n}")
        assert await waiting(client) == []
        why = await client.request("memory/explain", {"target": {"kind": "turn", "id": "trn_3"}})
        assert (why["outcome"], why["decision"]["reason_code"]) == ("rejected", "suppressed_by_rejection")
        assert (await client.request("memory/remember", {"content": TEA}))["created"]


@journey
async def test_review_is_switched_off_and_on_while_it_runs(tmp_path):
    async with den_of(tmp_path, config="").client() as client:
        await started(client)
        await take_turn(client, "thr_talk", "I prefer green tea in the afternoon.", "trn_0")
        assert await waiting(client) == []
        await client.request("settings/update", {"update": {"memory": {"review_enabled": True}}})
        await take_turn(client, "thr_talk", "I love hiking in the Harz mountains.", "trn_1")
        (candidate,) = await waiting(client)
        assert candidate["content"] == BREW
        await client.request("settings/update", {"update": {"memory": {"review_enabled": False}}})
        await take_turn(client, "thr_talk", "Again: I love hiking in the Harz mountains.", "trn_2")
        why = await client.request("memory/explain", {"target": {"kind": "turn", "id": "trn_2"}})
        assert why["decision"]["reason_code"] == "review_disabled_middle_confidence"
        assert await waiting(client) == [candidate]
        done = await client.request("memory/candidates/approve", {"candidate_id": candidate["candidate_id"]})
        assert done["record"]["content"] == BREW


def why(den, question):
    """What `pioneer why` says beside the gateway."""
    arguments = [*console_script(), "why", question, "--home", str(den.home), "--config", str(den.config)]
    ended = subprocess.run([*arguments, "--workspace", "ws_here"], capture_output=True, timeout=240, check=False)
    assert ended.returncode in {0, 1}, ended.stderr
    return ended.stdout.decode()


@journey
async def test_what_was_proposed_is_forgotten_with_its_record_and_comes_back_with_it(tmp_path):
    den = den_of(tmp_path)
    semantic = fact(TEA, TEA, "drink", **UNSURE)["semantic"]
    written = {"semantic": semantic, "content": TEA, "evidence": [{"quote": TEA}], "idempotency_key": "once"}
    every_status = ["pending", "approved", "rejected", "expired", "merged", "suppressed"]
    async with den.client() as client:
        by_id = {"candidate_id": (await client.request("memory/write", written))["candidate"]["candidate_id"]}
        approved = await client.request("memory/candidates/approve", by_id)
        assert TEA in await asyncio.to_thread(why, den, ASKED)
        memory_id = approved["record"]["memory_id"]
        await client.request("memory/forget", {"target": {"kind": "id", "memory_id": memory_id}})
        assert await waiting(client, statuses=every_status) == []
        assert (await refusal(client, "memory/candidates/get", by_id)).reason == "not_found"
        repeated = await client.request("memory/write", written)
        assert (repeated["record"], repeated["candidate"]) == (None, None)
        assert TEA not in await asyncio.to_thread(why, den, ASKED)
        restored = (await client.request("memory/restore", {"memory_id": memory_id}))["record"]
        found = await client.request("memory/candidates/get", by_id)
        assert found == {"candidate": approved["candidate"], "record": restored}
        assert await waiting(client, statuses=every_status) == [found["candidate"]]


@journey
async def test_an_edit_with_a_secret_is_refused_and_the_candidate_waits_on(tmp_path):
    den = den_of(tmp_path)
    typed = "hunter2-Zx9Kq2Lm7Rt4"
    async with den.client() as client:
        await started(client)
        await take_turn(client, "thr_talk", "I prefer green tea in the afternoon.", "trn_0")
        (candidate,) = await waiting(client)
        by_id = {"candidate_id": candidate["candidate_id"]}
        failed = await refusal(
            client, "memory/candidates/edit_and_approve", {**by_id, "content": f"My password is {typed}"}
        )
        assert (failed.code, failed.reason) == (-32043, "write_refused")
        assert failed.data["details"]["decision"]["reason_code"] == "secret_detected"
        assert typed not in str(failed.data)
        assert await waiting(client) == [candidate]
        await drain(client)
    assert [name for name, text in den.files().items() if typed.encode() in text] == []


@journey
async def test_of_two_processes_that_decide_exactly_one_wins(tmp_path):
    den = den_of(tmp_path)
    async with await den.spawn() as one, await den.spawn() as other:
        await hello(one)
        await hello(other)
        semantic = fact(TEA, TEA, "drink", **UNSURE)["semantic"]
        for n in range(6):
            content = f"{TEA}, number {n}"
            asked = {"semantic": semantic, "content": content, "evidence": [{"quote": content}]}
            by_id = {"candidate_id": (await one.request("memory/write", asked))["candidate"]["candidate_id"]}
            calls = (
                one.request("memory/candidates/approve", by_id),
                other.request("memory/candidates/reject", by_id),
                other.request("memory/candidates/approve", by_id),
            )
            answers = await asyncio.gather(*calls, return_exceptions=True)
            lost = [answer for answer in answers if isinstance(answer, CallFailed)]
            (won,) = [answer for answer in answers if isinstance(answer, dict)]
            assert [failed.reason for failed in lost] == ["already_decided"] * 2
            for client in (one, other):
                assert (await client.request("memory/candidates/get", by_id))["candidate"] == won["candidate"]
        counts = (await one.request("memory/stats"))["candidates"]
        assert sum(counts.values()) == 6
        kept = (await other.request("memory/list"))["records"]
        assert len(kept) == counts.get("approved", 0)
