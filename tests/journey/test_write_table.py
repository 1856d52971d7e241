"""The write pipeline's table, row by row over the wire; `memory/explain` gives the reason each time."""

from typing import Any, NamedTuple

import pytest
from spawned import Den, journey, refusal, remember

WORKSPACE = "ws_here"

SAID = {
    "tea": "By the way, I drink green tea every morning.",
    "tea again": "As you know, I drink green tea every morning.",
    "tea once more": "Still the same: I drink green tea every morning.",
    "coffee": "These days it is black coffee that I drink every morning.",
    "coffee again": "As I said, it is black coffee that I drink every morning.",
    "mood": "I am tired right now.",
    "illness": "My doctor says that I have diabetes.",
}
"""What the user said, each in a turn of its own."""

ASSUMED = "You seem to drink green tea every morning."


class Said(NamedTuple):
    """A message of the thread and the words of it that are quoted."""

    item_id: str
    turn_id: str
    quote: str


def said(name: str) -> Said:
    turn_id = f"trn_{name.replace(' ', '_')}"
    return Said(f"itm_{turn_id}", turn_id, SAID[name])


ASSISTANT = Said("itm_assumed", "trn_tea", ASSUMED)

SURE = {
    "intent": "implicit_candidate",
    "explicitness": "implicit",
    "category": "preference",
    "subject": "current_user",
    "attribute": "morning_drink",
    "durability": "long_lived",
    "sensitivity": "none",
    "certainty": "high",
    "cardinality": "set",
}
ONE = {**SURE, "cardinality": "single"}
MIDDLING = {**SURE, "certainty": "medium"}
WISH = {**SURE, "intent": "explicit_store", "explicitness": "explicit"}
TEA = "The user drinks green tea every morning."
COFFEE = "The user drinks black coffee every morning."


async def begin(client: Any, *, origin: str = "user") -> None:
    """A thread in which everything of `SAID` was said."""
    turns = [
        {
            "turn_id": said(name).turn_id,
            "at": 1_700_000_000_000 + n,
            "items": [
                {"item_id": said(name).item_id, "role": "user", "text": text},
                *([{"item_id": ASSISTANT.item_id, "role": "assistant", "text": ASSUMED}] if name == "tea" else []),
            ],
        }
        for n, (name, text) in enumerate(SAID.items())
    ]
    await client.request("thread/start", {"thread_id": "thr_said", "workspace_id": WORKSPACE, "origin": origin})
    params = {
        "thread_id": "thr_said",
        "workspace_id": WORKSPACE,
        "source": {"kind": "test", "id": "said"},
        "turns": turns,
    }
    await client.request("thread/import", {**params, "mode": "append"})


async def write(client: Any, semantic: dict[str, Any], content: str, source: Said, **more: Any) -> dict[str, Any]:
    evidence = [{"quote": source.quote, "item_id": source.item_id}]
    return await client.request(
        "memory/write", {"semantic": semantic, "content": content, "evidence": evidence, **more}
    )


async def explained(client: Any, kind: str, target: str) -> dict[str, Any]:
    return await client.request("memory/explain", {"target": {"kind": kind, "id": target}})


async def expect_refused(client: Any, answer: dict[str, Any], source: Said, reason: str, gate: str) -> None:
    """Nothing was kept, and the turn's explanation names the reason and the gate that stopped it."""
    assert (answer["record"], answer["candidate"]) == (None, None)
    assert answer["decision"]["reason_code"] == reason
    told = await explained(client, "turn", source.turn_id)
    assert told["outcome"] == "rejected"
    assert reason in [decision["reason_code"] for decision in told["decisions"]]
    assert {"gate": gate, "reason_code": reason}.items() <= next(g for g in told["gates"] if not g["passed"]).items()


async def records(client: Any, **filters: Any) -> list[str]:
    return [record["content"] for record in (await client.request("memory/list", filters))["records"]]


@journey
async def test_explicit_durable_and_clear_is_active(tmp_path: Any) -> None:
    async with Den(tmp_path).client() as client:
        await begin(client)
        answer = await write(client, WISH, TEA, said("tea"))
        assert (answer["decision"]["action"], answer["decision"]["reason_code"]) == ("activate", "active_created")
        told = await explained(client, "memory", answer["record"]["memory_id"])
        assert (told["outcome"], told["decision"]) == ("saved", answer["decision"])
        assert all(gate["passed"] for gate in told["gates"])
        assert {f["name"] for f in told["decision"]["factors"]} >= {
            "explicitness",
            "durability",
            "certainty",
            "repetition",
        }


@journey
async def test_implicit_and_sure_is_active_unless_proactive_writes_are_off(tmp_path: Any) -> None:
    async with Den(tmp_path).client() as client:
        await begin(client)
        await client.request("settings/update", {"update": {"memory": {"proactive_writes_enabled": False}}})
        refused = await write(client, SURE, TEA, said("tea"))
        await expect_refused(client, refused, said("tea"), "proactive_writes_disabled", "admission")
        await client.request("settings/update", {"update": {"memory": {"proactive_writes_enabled": True}}})
        answer = await write(client, SURE, TEA, said("tea"))
        assert answer["decision"]["reason_code"] == "active_created"


@journey
async def test_a_middle_score_waits_for_repetition(tmp_path: Any) -> None:
    async with Den(tmp_path).client() as client:
        await begin(client)
        first = await write(client, MIDDLING, TEA, said("tea"))
        assert first["decision"]["bucket"] == "middle"
        await expect_refused(client, first, said("tea"), "review_disabled_middle_confidence", "admission")
        again = await write(client, MIDDLING, TEA, said("tea"))  # the same turn is no repetition
        assert again["decision"]["score"] == first["decision"]["score"]
        answers = [await write(client, MIDDLING, TEA, said(name)) for name in ("tea again", "tea once more")]
        assert answers[0]["decision"]["score"] > first["decision"]["score"]
        assert answers[-1]["record"] is not None
        assert await records(client) == [TEA]


@journey
async def test_a_middle_score_is_a_candidate_while_somebody_reviews(tmp_path: Any) -> None:
    async with Den(tmp_path).client() as client:
        await begin(client)
        await client.request("settings/update", {"update": {"memory": {"review_enabled": True}}})
        first = await write(client, MIDDLING, TEA, said("tea"))
        assert first["decision"]["reason_code"] == "candidate_created"
        candidate_id = first["candidate"]["candidate_id"]
        await client.wait_for(
            "memory/candidate_created", lambda told: told["candidate"]["candidate_id"] == candidate_id
        )
        told = await explained(client, "candidate", candidate_id)
        assert (told["outcome"], told["decision"]) == ("candidate", first["decision"])
        again = await write(client, MIDDLING, TEA, said("tea again"))
        assert again["decision"]["reason_code"] in {"duplicate_candidate", "active_created"}
        assert await records(client) == ([TEA] if again["record"] else [])
        last = await write(client, MIDDLING, TEA, said("tea once more"))
        assert await records(client) == [TEA]
        assert last["record"] is not None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"certainty": "low"}, "low_score"),
        ({"durability": "transient"}, "transient"),
        ({"durability": "session_only"}, "session_only"),
        ({"intent": "explicit_no_memory"}, "no_memory_requested"),
        ({"intent": "explicit_forget"}, "no_memory_requested"),
    ],
)
def test_what_is_not_worth_keeping(tmp_path: Any, changes: dict[str, Any], reason: str) -> None:
    @journey
    async def story() -> None:
        async with Den(tmp_path).client() as client:
            await begin(client)
            answer = await write(client, {**SURE, **changes}, "The user is tired.", said("mood"))
            gate = "policy" if reason == "no_memory_requested" else "admission"
            await expect_refused(client, answer, said("mood"), reason, gate)

    story()


@journey
async def test_a_secret_is_never_kept_whatever_its_label(tmp_path: Any) -> None:
    async with Den(tmp_path).client() as client:
        await begin(client)
        token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
        answer = await write(client, WISH, f"The user's token is {token}.", said("tea"))
        await expect_refused(client, answer, said("tea"), "secret_detected", "secret")
        assert token not in str(answer)
        assert [f["name"] for f in answer["decision"]["factors"] if f["weight"] == 0.0]
        failed = await refusal(client, "memory/remember", {"content": f"My token is {token}"})
        assert (failed.reason, failed.data["details"]["decision"]["reason_code"]) == (
            "write_refused",
            "secret_detected",
        )
        assert await records(client) == []


@journey
async def test_regulated_is_kept_on_request_only_and_hidden(tmp_path: Any) -> None:
    async with Den(tmp_path).client() as client:
        await begin(client)
        fact = "The user has diabetes."
        answer = await write(client, {**SURE, "sensitivity": "regulated"}, fact, said("illness"))
        await expect_refused(client, answer, said("illness"), "regulated_needs_request", "admission")
        memory_id = await remember(client, fact, sensitivity="regulated")
        assert await records(client) == []
        assert (await client.request("memory/search", {"query": "diabetes"}))["hits"] == []
        assert await records(client, include_sensitive=True) == [fact]
        record = (await client.request("memory/get", {"memory_id": memory_id}))["record"]
        assert (record["content"], record["sensitivity"]) == (fact, "regulated")
        told = await explained(client, "memory", memory_id)
        assert next(gate for gate in told["gates"] if gate["gate"] == "sensitivity")["passed"] is False


@pytest.mark.parametrize(
    ("source_kind", "reason"),
    [
        ("assistant_inference", "assistant_inference"),
        ("tool_observation", "tool_or_web_source"),
        ("file", "tool_or_web_source"),
        ("background_extractor", "generated_summary"),
        ("system", "system_source"),
    ],
)
def test_what_the_user_did_not_say_is_never_theirs(tmp_path: Any, source_kind: str, reason: str) -> None:
    @journey
    async def story() -> None:
        async with Den(tmp_path).client() as client:
            await begin(client)
            evidence = [{"quote": ASSUMED, "source_kind": source_kind, "turn_id": "trn_tea", "thread_id": "thr_said"}]
            params = {"semantic": WISH, "content": TEA, "evidence": evidence, "disposition": "accept_active"}
            answer = await client.request("memory/write", params)
            await expect_refused(client, answer, said("tea"), reason, "eligibility")

    story()


@journey
async def test_the_message_says_who_spoke_whatever_is_claimed(tmp_path: Any) -> None:
    async with Den(tmp_path).client() as client:
        await begin(client)
        evidence = [{"quote": ASSUMED, "item_id": ASSISTANT.item_id, "source_kind": "explicit_user_request"}]
        answer = await client.request("memory/write", {"semantic": WISH, "content": TEA, "evidence": evidence})
        await expect_refused(client, answer, ASSISTANT, "assistant_inference", "eligibility")
        made_up = [{"quote": "I love brandy.", "item_id": said("coffee").item_id}]
        answer = await client.request("memory/write", {"semantic": WISH, "content": TEA, "evidence": made_up})
        assert answer["decision"]["reason_code"] == "quote_not_found"
        answer = await client.request("memory/write", {"semantic": WISH, "content": TEA, "evidence": []})
        assert answer["decision"]["reason_code"] == "missing_evidence"


@pytest.mark.parametrize(("origin", "reason"), [("task", "task_owned"), ("system", "system_source")])
def test_threads_of_tasks_and_of_the_system_teach_nothing(tmp_path: Any, origin: str, reason: str) -> None:
    @journey
    async def story() -> None:
        async with Den(tmp_path).client() as client:
            await begin(client, origin=origin)
            answer = await write(client, SURE, TEA, said("tea"))
            await expect_refused(client, answer, said("tea"), reason, "eligibility")

    story()


@journey
async def test_a_duplicate_adds_evidence_and_no_row(tmp_path: Any) -> None:
    async with Den(tmp_path).client() as client:
        await begin(client)
        first = await write(client, SURE, TEA, said("tea"))
        again = await write(client, SURE, TEA.upper(), said("tea again"))
        assert (again["relation"], again["decision"]["reason_code"]) == ("duplicate", "duplicate_active")
        assert again["evidence_merged"] is True
        assert again["record"]["memory_id"] == first["record"]["memory_id"]
        assert (again["record"]["evidence_count"], again["record"]["content"]) == (2, TEA)
        assert await records(client) == [TEA]
        told = await explained(client, "memory", first["record"]["memory_id"])
        assert [d["reason_code"] for d in told["decisions"]] == ["active_created", "duplicate_active"]


@journey
async def test_what_was_forgotten_stays_so_until_the_user_says_it_again(tmp_path: Any) -> None:
    async with Den(tmp_path).client() as client:
        await begin(client)
        for mode in ("tombstone", "erase"):
            memory_id = await remember(client, TEA)
            await client.request("memory/forget", {"target": {"kind": "id", "memory_id": memory_id}, "mode": mode})
            answer = await write(client, SURE, TEA, said("tea"))
            assert answer["relation"] == "suppressed_by_rejection"
            await expect_refused(client, answer, said("tea"), "suppressed_by_rejection", "duplicate")
        answer = await write(client, WISH, TEA, said("tea again"))
        assert answer["decision"]["reason_code"] == "active_created"


@journey
async def test_an_explicit_correction_supersedes_and_both_are_kept(tmp_path: Any) -> None:
    async with Den(tmp_path).client() as client:
        await begin(client)
        old = (await write(client, {**ONE, "intent": "explicit_store", "explicitness": "explicit"}, TEA, said("tea")))[
            "record"
        ]
        answer = await write(client, {**WISH, "cardinality": "single"}, COFFEE, said("coffee"))
        assert (answer["decision"]["reason_code"], answer["superseded_memory_id"]) == (
            "superseded_by_correction",
            old["memory_id"],
        )
        new = answer["record"]
        await client.wait_for("memory/changed", lambda told: told["memory_id"] == new["memory_id"])
        kinds = [p["change_kind"] for m, p in client.received if m == "memory/changed"]
        assert kinds == ["created", "superseded", "created"]  # the first one is what was corrected
        assert await records(client) == [COFFEE]
        before = (await client.request("memory/get", {"memory_id": old["memory_id"]}))["record"]
        assert (before["status"], before["superseded_by"], new["supersedes"]) == (
            "superseded",
            new["memory_id"],
            old["memory_id"],
        )
        events = (await client.request("memory/history", {"memory_id": new["memory_id"]}))["events"]
        assert [(e["memory_id"], e["event"]) for e in events] == [
            (old["memory_id"], "created"),
            (old["memory_id"], "superseded"),
            (new["memory_id"], "created"),
        ]
        assert (await explained(client, "memory", old["memory_id"]))["outcome"] == "superseded"
        await client.request("memory/forget", {"target": {"kind": "id", "memory_id": new["memory_id"]}})
        assert await records(client) == [TEA]  # what it had replaced holds again


@journey
async def test_an_implicit_contradiction_contests_and_a_second_statement_resolves_it(tmp_path: Any) -> None:
    async with Den(tmp_path).client() as client:
        await begin(client)
        old = (await write(client, ONE, TEA, said("tea")))["record"]
        first = await write(client, ONE, COFFEE, said("coffee"))
        assert (first["relation"], first["decision"]["reason_code"]) == ("contradiction", "contradiction_candidate")
        assert first["candidate"]["contested_memory_id"] == old["memory_id"]
        contested = (await client.request("memory/get", {"memory_id": old["memory_id"]}))["record"]
        assert (contested["status"], contested["contested"]) == ("active", True)
        told = await explained(client, "candidate", first["candidate"]["candidate_id"])
        assert told["decision"]["reason_code"] == "contradiction_candidate"
        second = await write(client, ONE, COFFEE, said("coffee again"))
        assert second["decision"]["reason_code"] == "contradiction_resolved"
        assert await records(client) == [COFFEE]
        told = await explained(client, "memory", second["record"]["memory_id"])
        assert told["decision"]["reason_code"] == "contradiction_resolved"


@journey
async def test_our_own_injected_block_is_nobodys_fact(tmp_path: Any) -> None:
    async with Den(tmp_path).client() as client:
        await begin(client)
        await remember(client, "The user's cat is called Minka.")
        prepared = await client.request(
            "turn/prepare", {"thread_id": "thr_said", "input": [{"type": "text", "text": "what is my cat called?"}]}
        )
        block = prepared["context_blocks"][0]["text"]
        assert "Minka" in block
        answer = await write(client, WISH, block, said("tea"))
        await expect_refused(client, answer, said("tea"), "own_context_block", "fact_valid")


@pytest.mark.parametrize(("mode", "reason"), [("read_only", "memory_write_disabled"), ("ignored", "memory_ignored")])
def test_a_thread_that_may_not_write_says_so(tmp_path: Any, mode: str, reason: str) -> None:
    @journey
    async def story() -> None:
        async with Den(tmp_path).client() as client:
            await client.request("thread/start", {"thread_id": "thr_shut", "memory_mode": mode})
            params = {"content": TEA, "context": {"thread_id": "thr_shut", "workspace_id": WORKSPACE}}
            assert (await refusal(client, "memory/remember", params)).reason == reason

    story()
