"""The write pipeline over a real database file: every row of its table."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from memory_home import MIDDLING, NAME, SURE, USER, WISH, WS1, MemoryHome

from agent.values import Injected
from protocol.conversation.manifests import SourceRef
from protocol.errors import Refused, Unavailable
from protocol.memory.facts import Fact, FactEvidence
from protocol.memory.values import Context, Evidence, SemanticFields
from protocol.memory.writes import RememberParams, WriteResult
from protocol.record import Actor, Provenance

AWS = "AKIA" + "Y34FZKBOKMUTVV7A"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[MemoryHome]:
    made = MemoryHome(tmp_path)
    yield made
    made.close()


def test_what_a_write_must_know_of_its_place_is_read_at_once(home: MemoryHome, monkeypatch: pytest.MonkeyPatch) -> None:
    read, reads = home.db.read, list[Any]()

    async def counted(work: Any, deadline: float | None = None) -> Any:
        reads.append(work)
        return await read(work, deadline)

    monkeypatch.setattr(home.db, "read", counted)
    home.meaning.is_down = True
    home.remember("Likes green tea", context=Context(workspace_id="ws_1", thread_id="thr_1"))
    assert len(reads) == 1


# -- rows of the pipeline's table ------------------------------------------------------------------------------------


def test_explicit_is_kept_and_told(home: MemoryHome) -> None:
    made = home.remember("Likes green tea", tags=["drink"], metadata={"a": 1}, importance=0.9)
    assert (made.created, made.relation, made.decision.reason_code) == (True, "novel", "active_created")
    record = made.record
    assert (record.status, record.scope, record.category, record.confidence, record.importance) == (
        "active",
        USER,
        "custom",
        1.0,
        0.9,
    )
    assert (record.evidence_count, record.tags, record.metadata) == (1, ["drink"], {"a": 1})
    assert home.tell() == [("memory/changed", "created")]
    assert home.found("tea") == ["Likes green tea"]
    assert home.listed() == ["Likes green tea"]


def test_implicit_and_sure_is_kept_unless_proactive_writes_are_off(home: MemoryHome) -> None:
    home.switch(proactive_writes_enabled=False)
    refused = home.propose("Likes tea")
    assert (refused.record, refused.decision.reason_code) == (None, "proactive_writes_disabled")
    home.switch(proactive_writes_enabled=True)
    kept = home.propose("Likes jam")
    assert kept.record is not None
    assert (kept.decision.action, kept.decision.bucket) == ("activate", "high")
    assert kept.record.provenance.source_kind == "user_statement"
    assert home.listed() == ["Likes jam"]


def test_a_middle_score_waits_for_repetition(home: MemoryHome) -> None:
    results = [home.propose("Likes tea", MIDDLING) for _ in range(3)]
    assert [r.decision.reason_code for r in results] == ["review_disabled_middle_confidence"] * 2 + ["active_created"]
    assert home.listed() == ["Likes tea"]


def test_the_same_turn_again_is_no_repetition(home: MemoryHome) -> None:
    said = home.say("Likes tea")
    for _ in range(4):
        assert home.propose("Likes tea", MIDDLING, [said]).record is None
    nameless = Evidence(quote="Likes tea", turn_id="trn_made_up")
    for n in range(4):
        claim = msgspec.structs.replace(nameless, turn_id=f"trn_claim_{n}")
        assert home.propose("Likes tea", MIDDLING, [claim]).record is None
    assert home.listed() == []


def test_reviewed_middle_scores_wait_as_one_candidate(home: MemoryHome) -> None:
    home.switch(review_enabled=True)
    first, second = home.propose("Likes tea", MIDDLING), home.propose("likes TEA!", MIDDLING)
    assert first.candidate is not None
    assert second.candidate is not None
    assert first.candidate.candidate_id == second.candidate.candidate_id
    assert (second.relation, second.decision.reason_code) == ("duplicate", "duplicate_candidate")
    assert second.candidate.evidence_count == 2
    assert second.candidate.score > first.candidate.score
    assert home.tell() == [("memory/candidate_created", None)]
    third = home.propose("Likes tea", MIDDLING)
    assert third.record is not None
    assert third.record.evidence_count == 3
    assert home.rows("SELECT status, promoted_memory_id FROM candidate") == [("approved", third.record.memory_id)]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"certainty": "low"}, "low_score"),
        ({"durability": "transient"}, "transient"),
        ({"durability": "session_only"}, "session_only"),
        ({"intent": "explicit_no_memory"}, "no_memory_requested"),
        ({"intent": "explicit_forget"}, "no_memory_requested"),
        ({"sensitivity": "regulated"}, "regulated_needs_request"),
        ({"sensitivity": "secret"}, "secret_detected"),
    ],
)
def test_what_is_not_kept(home: MemoryHome, changes: dict[str, Any], reason: str) -> None:
    result = home.propose("Likes tea", msgspec.structs.replace(SURE, **changes))
    assert (result.record, result.candidate, result.decision.reason_code) == (None, None, reason)
    assert home.listed() == []
    assert home.tell() == []


SECRETS: list[dict[str, Any]] = [
    {"content": f"My key is {AWS}"},
    {"content": "AKIA\u200bY34FZKBOK\u2060MUTVV7A is the key"},
    {"content": "My key", "value": AWS},
    {"content": "My key", "value": {"deep": ["er", AWS]}},
    {"content": "My key", "tags": [AWS]},
    {"content": "My key", "metadata": {"note": AWS}},
    {"content": "My key", "metadata": {AWS: 1}},
    {"content": "My key", "key": AWS},
    {"content": "My key", "provenance": Provenance(created_by=Actor(kind="user", id=AWS))},
]


@pytest.mark.parametrize("given", SECRETS)
def test_a_secret_leaves_no_trace(home: MemoryHome, given: dict[str, Any]) -> None:
    home.do(home.db.truncate_wal())
    with pytest.raises(Refused) as caught:
        home.remember(**given, idempotency_key="once")
    assert caught.value.reason == "write_refused"
    decision = (caught.value.details or {})["decision"]
    assert decision["reason_code"] == "secret_detected"
    assert "aws_access_key" in [factor["name"] for factor in decision["factors"]]
    for needle in (AWS, AWS.lower(), AWS[4:], "Y34FZKBOK"):
        assert needle.encode() not in home.bytes_on_disk()
        assert needle not in str(caught.value.details)
    with pytest.raises(Refused) as again:
        home.remember(**given, idempotency_key="once")
    assert again.value.details == caught.value.details


@pytest.mark.parametrize("kind", ["quote", "subject_key", "attribute", "custom_attribute"])
def test_a_secret_beside_the_content_leaves_no_trace(home: MemoryHome, kind: str) -> None:
    semantic = SURE if kind == "quote" else msgspec.structs.replace(SURE, **{kind: AWS})
    evidence = [Evidence(quote=f"it is {AWS}" if kind == "quote" else "I like tea")]
    result = home.propose("Likes tea", semantic, evidence)
    assert (result.record, result.decision.reason_code) == (None, "secret_detected")
    assert (result.canonical_key, result.semantic_fingerprint) == ("", "")
    assert AWS.encode() not in home.bytes_on_disk()
    assert AWS.lower().encode() not in home.bytes_on_disk()


def test_regulated_is_kept_on_request_and_hidden(home: MemoryHome) -> None:
    assert home.propose("Was diagnosed with epilepsy").decision.reason_code == "regulated_needs_request"
    made = home.remember("Was diagnosed with epilepsy")
    assert made.record.sensitivity == "regulated"
    assert [told.params.record for told in home.told] == [None]
    assert home.found("epilepsy") == []
    assert home.listed() == []
    assert (
        home.found("epilepsy", include_sensitive=True)
        == home.listed(include_sensitive=True)
        == ["Was diagnosed with epilepsy"]
    )
    assert home.get(made.record.memory_id) is not None
    assert home.do(home.service.turns.recall(home.turn(), "diagnosed with epilepsy", limit=5)).hits == []


@pytest.mark.parametrize(
    ("role", "reason"),
    [("assistant", "assistant_inference"), ("tool", "tool_or_web_source"), ("system", "system_source")],
)
@pytest.mark.parametrize("semantic", [SURE, WISH])
def test_what_the_user_did_not_say_is_not_kept(home: MemoryHome, role: Any, reason: str, semantic: Any) -> None:
    lie = msgspec.structs.replace(home.say("The user likes tea", role=role), source_kind="explicit_user_request")
    result = home.propose("Likes tea", semantic, [lie])
    assert (result.record, result.decision.reason_code) == (None, reason)


@pytest.mark.parametrize(("origin", "reason"), [("task", "task_owned"), ("system", "system_source")])
def test_threads_of_tasks_teach_nothing(home: MemoryHome, origin: str, reason: str) -> None:
    home.add_thread("thr_task", origin=origin)
    said = home.say("I like tea", thread_id="thr_task")
    assert home.propose("Likes tea", SURE, [said]).decision.reason_code == reason
    turn = home.turn(origin=origin, thread_id="thr_task", turn_id=said.turn_id)
    fact = Fact(content="Likes tea", semantic=SURE, evidence=FactEvidence(quote="I like tea", item_id=said.item_id))
    found = home.do(
        home.service.turns.propose(turn, [fact], run_id="run_1", user_items={said.item_id or "": "I like tea"})
    )
    assert [one.decision.reason_code for one in found] == [reason]


def test_a_duplicate_adds_evidence_and_no_row(home: MemoryHome) -> None:
    first = home.propose("Likes tea").record
    assert first is not None
    home.later()
    again = home.propose("likes  TEA.")
    assert (again.relation, again.evidence_merged, again.decision.reason_code) == (
        "duplicate",
        True,
        "duplicate_active",
    )
    assert again.record is not None
    assert (again.record.memory_id, again.record.evidence_count) == (first.memory_id, 2)
    wished = home.remember("Likes tea", category="preference")
    assert (wished.created, wished.record.memory_id) == (False, first.memory_id)
    assert len(home.rows("SELECT 1 FROM record")) == 1


def test_other_values_under_the_same_words_are_no_duplicates(home: MemoryHome) -> None:
    first = home.propose("The user's name", NAME, value="Anna")
    second = home.propose(
        "The user's name",
        msgspec.structs.replace(NAME, intent="explicit_store", explicitness="explicit"),
        value="Berta",
    )
    assert first.record is not None
    assert second.record is not None
    assert (second.decision.reason_code, second.record.value) == ("superseded_by_correction", "Berta")
    assert home.listed() == ["The user's name"]


def test_forgotten_stays_forgotten_until_the_user_says_it_again(home: MemoryHome) -> None:
    record = home.propose("Likes tea").record
    assert record is not None
    home.forget(record.memory_id)
    for _ in range(4):
        again = home.propose("Likes tea")
        assert (again.record, again.relation, again.decision.reason_code) == (
            None,
            "suppressed_by_rejection",
            "suppressed_by_rejection",
        )
    wished = home.propose("Likes tea", WISH)
    assert wished.record is not None
    assert wished.record.memory_id != record.memory_id
    assert home.propose("Likes tea").decision.reason_code == "duplicate_active"


def test_an_explicit_correction_supersedes(home: MemoryHome) -> None:
    old = home.propose("Is called Anna", NAME).record
    assert old is not None
    home.tell()
    home.later()
    new = home.propose(
        "Is called Berta", msgspec.structs.replace(NAME, intent="explicit_store", explicitness="explicit")
    )
    assert new.record is not None
    assert (new.relation, new.decision.reason_code) == ("contradiction", "superseded_by_correction")
    assert (new.superseded_memory_id, new.record.supersedes) == (old.memory_id, old.memory_id)
    assert home.tell() == [("memory/changed", "superseded"), ("memory/changed", "created")]
    before = home.get(old.memory_id)
    assert before is not None
    assert (before.status, before.superseded_by) == ("superseded", new.record.memory_id)
    assert home.listed() == ["Is called Berta"]
    assert home.listed(statuses=["superseded"]) == ["Is called Anna"]


def test_an_implicit_contradiction_contests_and_a_second_statement_resolves(home: MemoryHome) -> None:
    old = home.propose("Is called Anna", NAME).record
    assert old is not None
    home.tell()
    rival = home.propose("Is called Berta", NAME)
    assert (rival.relation, rival.decision.reason_code) == ("contradiction", "contradiction_candidate")
    assert rival.candidate is not None
    assert rival.candidate.contested_memory_id == old.memory_id
    doubted = home.get(old.memory_id)
    assert doubted is not None
    assert (doubted.status, doubted.contested) == ("active", True)
    assert home.tell() == [("memory/changed", "updated"), ("memory/candidate_created", None)]
    settled = home.propose("Is called Berta", NAME)
    assert settled.record is not None
    assert settled.decision.reason_code == "contradiction_resolved"
    assert settled.record.evidence_count == 2
    assert home.listed() == ["Is called Berta"]
    assert home.rows("SELECT status FROM candidate") == [("approved",)]


def test_the_believed_is_said_again_and_the_doubt_is_over(home: MemoryHome) -> None:
    old = home.propose("Is called Anna", NAME).record
    assert old is not None
    home.propose("Is called Berta", NAME)
    again = home.propose("Is called Anna", NAME).record
    assert again is not None
    assert (again.memory_id, again.contested) == (old.memory_id, False)
    assert home.rows("SELECT status FROM candidate") == [("expired",)]


def test_with_proactive_writes_off_nothing_implicit_replaces_anything(home: MemoryHome) -> None:
    home.remember("Is called Anna", key="name")
    home.switch(proactive_writes_enabled=False)
    for _ in range(4):
        assert home.propose("Is called Berta", key="name").record is None
    assert home.listed() == ["Is called Anna"]


def test_own_blocks_and_echoes_are_nobodys_words(home: MemoryHome) -> None:
    line = "- [mem_1, scope=user]: Likes tea"
    home.say("before", turn_id="trn_before")
    place = ("ws_1", "thr_1", "trn_before")
    injected = [Injected("b", [(line, SourceRef(kind="memory", id="mem_1"))])]
    home.sql(lambda tx: home.ledger.record(tx, place, injected))
    with pytest.raises(Refused) as caught:
        home.remember(line)
    assert (caught.value.details or {})["decision"]["reason_code"] == "own_context_block"
    echoed = msgspec.structs.replace(home.say(f"hm\n{line}\nok"), quote="Likes tea")
    assert home.propose("Likes tea", SURE, [echoed]).decision.reason_code == "quote_not_found"


# -- who may write ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "reason"), [("read_only", "memory_write_disabled"), ("ignored", "memory_ignored")])
def test_threads_that_may_not_write(home: MemoryHome, mode: str, reason: str) -> None:
    made = home.remember("Likes tea").record
    home.add_thread("thr_ro", memory_mode=mode)
    context = Context(workspace_id="ws_1", thread_id="thr_ro")
    gone = home.remember("Likes jam").record
    home.forget(gone.memory_id)
    attempts = [
        lambda: home.remember("Likes cake", context=context),
        lambda: home.propose("Likes cake", context=context),
        lambda: home.update(made.memory_id, importance=0.1, context=context),
        lambda: home.forget(made.memory_id, context=context),
        lambda: home.restore(gone.memory_id, context=context),
    ]
    for attempt in attempts:
        with pytest.raises(Refused) as caught:
            attempt()
        assert caught.value.reason == reason
    assert home.forget(made.memory_id, context=context, dry_run=True).forgotten_memory_ids == [made.memory_id]
    assert home.listed() == ["Likes tea"]


@pytest.mark.parametrize(
    "changes",
    [{"mode": "chat"}, {"memory_mode": "read_only"}, {"memory_mode": "ignored"}, {"parent_thread_id": "thr_0"}],
)
def test_turns_that_may_not_write(home: MemoryHome, changes: dict[str, Any]) -> None:
    turn = home.turn(**changes)
    result = home.do(
        home.service.turns.remember_in_turn(turn, RememberParams(content="Uses tabs", scope=WS1), explicit=True)
    )
    assert (result.record, result.decision.reason_code) == (None, "memory_write_disabled")


def test_a_tool_of_a_model_is_explicit_only_where_the_user_asked(home: MemoryHome) -> None:
    params = RememberParams(content="Likes tea")
    guess = home.do(home.service.turns.remember_in_turn(home.turn(), params, explicit=False))
    assert (guess.record, guess.decision.reason_code) == (None, "assistant_inference")
    asked = home.do(home.service.turns.remember_in_turn(home.turn(), params, explicit=True))
    assert asked.record is not None
    assert asked.record.provenance.turn_id == "trn_now"


def test_memory_switched_off(home: MemoryHome) -> None:
    made = home.remember("Likes tea").record
    home.switch(enabled=False)
    for attempt in (
        lambda: home.remember("Likes jam"),
        lambda: home.propose("Likes jam"),
        lambda: home.found("tea"),
        lambda: home.update(made.memory_id, importance=0.1),
        lambda: home.restore(made.memory_id),
    ):
        with pytest.raises(Unavailable) as caught:
            attempt()
        assert caught.value.reason == "memory_disabled"
    assert home.listed() == ["Likes tea"]
    assert home.get(made.memory_id) is not None
    assert home.forget(made.memory_id).forgotten_memory_ids == [made.memory_id]


# -- extraction ------------------------------------------------------------------------------------------------------


def fact(content: str, quote: str = "I like tea", semantic: SemanticFields = SURE, **given: Any) -> Fact:
    return Fact(content=content, semantic=semantic, evidence=FactEvidence(quote=quote), **given)


def test_facts_stand_alone_and_a_run_counts_once(home: MemoryHome) -> None:
    said = home.say("I like tea and jam")
    items = {said.item_id or "": said.quote}
    turn = home.turn(turn_id=said.turn_id)
    whole = "I like tea and jam"
    facts = [
        fact("Likes tea", whole),
        fact("Likes jam", "I like cake"),
        fact("\u200b\u200b"),
        fact("Likes a lot", value="x" * 5000),
        fact(f"Key {AWS}"),
        fact("Likes jam", whole),
        fact("Likes jam", "jam"),
    ]

    def propose() -> list[WriteResult]:
        asked = home.service.turns.propose(turn, facts, run_id="run_1", user_items=items)
        return list(home.do(asked))

    reasons = [result.decision.reason_code for result in propose()]
    assert reasons == [
        "active_created",
        "quote_not_found",
        "malformed_fact",
        "malformed_fact",
        "secret_detected",
        "active_created",
        "quote_too_short",
    ]
    assert sorted(home.listed()) == ["Likes jam", "Likes tea"]
    assert propose() == []
    assert len(home.rows("SELECT 1 FROM decision")) == len(facts)
    assert home.do(home.service.turns.find_earlier_counts("run_1")) is not None
    assert home.do(home.service.turns.find_earlier_counts("run_2")) is None


def test_a_quote_under_a_wrong_name_counts_where_one_message_alone_holds_it(home: MemoryHome) -> None:
    first, second = home.say("I like tea and jam"), home.say("I like tea and jam, I like rye")
    items = {said.item_id or "": said.quote for said in (first, second)}

    def reason(quote: str, name: str | int | None) -> str:
        named = Fact(content=quote, semantic=SURE, evidence=FactEvidence(quote=quote, item_id=name))
        turn = home.turn(turn_id=second.turn_id)
        asked = home.service.turns.propose(turn, [named], run_id=f"{quote}{name}", user_items=items)
        return home.do(asked)[0].decision.reason_code

    assert reason("I like tea and jam, I like rye", "itm_wrong") == "active_created"
    for wrong in ("itm_wrong", 0):
        assert reason("I like tea and jam", wrong) == "quote_not_found"
    assert reason("I like tea and jam", second.item_id) == "active_created"
