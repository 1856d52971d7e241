"""Learning from a finished turn: skips, the extractor's answer, exactly once."""
# ruff: noqa: ARG002  # a port's signature is fixed

import json
from typing import Any

import anyio
import msgspec
import pytest
from dictionary_memory import DictionaryMemory, record_of, result_of, turn_context
from hypothesis import given as hypothesis_given
from hypothesis import strategies as st

from memory.hooks.extraction import MAX_TRANSCRIPT_CHARS, NO_STATS, Extraction, count, read_answer, reason_to_skip
from memory.hooks.policy import turn_policy
from promt import load
from promt.intents import Intents
from protocol.conversation.turns import ToolEvent, TurnOptions
from protocol.hooks import DiagnosticContribution, HookFailure, HookInput, SkipRun, TranscriptItem
from protocol.memory.facts import Fact
from protocol.models import Deltas, ModelReply, ModelRequest, ProviderFailed, ProviderFault
from protocol.settings import GatewayConfig, MemorySettings


class ScriptedModel:
    def __init__(self, answer: str | ProviderFault | None = None) -> None:
        self.answer = answer
        self.requests: list[ModelRequest] = []

    def is_configured(self, role: str) -> bool:
        return role == "extractor" and self.answer is not None

    def prompt_tokens(self, role: str, provider: str | None = None) -> None:
        return None

    def window_tokens(self, role: str, provider: str | None = None) -> None:
        return None

    def calls_tools(self, role: str, provider: str | None = None) -> bool:
        return False

    def takes_pictures(self, role: str, provider: str | None = None) -> bool:
        return False

    async def complete(self, request: ModelRequest, deltas: Deltas | None = None) -> ModelReply:
        self.requests.append(request)
        if self.answer in ("timeout", "not_configured", "auth"):
            raise ProviderFailed(self.answer)
        return ModelReply(text=self.answer or "")


def said(text: str = "I live in Porto and I prefer tea.", **members: Any) -> HookInput:
    turn = members.pop("turn", {})
    values: dict[str, Any] = {
        "status": "succeeded",
        "transcript": [
            TranscriptItem(item_id="itm_1", role="user", text=text),
            TranscriptItem(item_id="itm_2", role="assistant", text="Noted."),
        ],
    }
    return HookInput(phase="TurnPostTurn", run_id="run_1", context=turn_context(**turn), **values | members)


def run(memory: DictionaryMemory, model: ScriptedModel, hook_input: HookInput) -> dict[str, DiagnosticContribution]:
    hook = Extraction(service=memory, settings=GatewayConfig, model=model)
    output = anyio.run(hook, hook_input)
    return {c.code: c for c in output.contributions if isinstance(c, DiagnosticContribution)}


def stats(**counts: int) -> dict[str, int]:
    return {**NO_STATS, **counts}


def fact(content: str = "Lives in Porto", quote: str = "I live in Porto", **more: Any) -> dict[str, Any]:
    return {"content": content, "evidence": {"quote": quote}, **more}


def answer(*facts: Any) -> str:
    return json.dumps({"facts": list(facts)})


OFF = MemorySettings(background_extraction_enabled=False)


@pytest.mark.parametrize(
    ("members", "config", "code"),
    [
        ({}, GatewayConfig(memory=OFF), "extraction_disabled"),
        ({}, GatewayConfig(memory=MemorySettings(enabled=False)), "memory_disabled"),
        ({"status": "failed"}, None, "not_succeeded"),
        ({"status": "provider_failure"}, None, "not_succeeded"),
        ({"status": "interrupted"}, None, "not_succeeded"),
        ({"status": "cancelled"}, None, "not_succeeded"),
        ({"status": None}, None, "not_succeeded"),
        ({"turn": {"mode": "chat"}}, None, "chat_mode"),
        ({"turn": {"memory_mode": "read_only"}}, None, "memory_mode"),
        ({"turn": {"memory_mode": "ignored"}}, None, "memory_mode"),
        ({"turn": {"options": TurnOptions(skip_retention=True)}}, None, "skip_retention"),
        ({"text": "Don't remember this, I was ill."}, None, "no_memory_requested"),
        ({"turn": {"parent_thread_id": "thr_0"}}, None, "subagent"),
        ({"turn": {"origin": "task"}}, None, "task_owned"),
        ({"turn": {"origin": "system"}}, None, "system_or_tool_only"),
        ({"transcript": [TranscriptItem(item_id="i", role="tool", text="x")]}, None, "system_or_tool_only"),
        ({"transcript": [TranscriptItem(item_id="i", role="user", text=" ")]}, None, "no_user_text"),
        ({"policy": turn_policy(turn_context(), Intents(no_save=True))}, None, "no_memory_requested"),
        ({"status": "failed", "turn": {"mode": "chat"}}, None, "not_succeeded"),
        ({"turn": {"mode": "chat", "memory_mode": "read_only", "origin": "task"}}, None, "chat_mode"),
        ({}, None, None),
    ],
)
def test_reasons_to_skip(members: dict[str, Any], config: GatewayConfig | None, code: str | None) -> None:
    assert reason_to_skip(said(**members), config or GatewayConfig()) == code


def test_skipped_run_asks_nobody() -> None:
    memory, model = DictionaryMemory(), ScriptedModel(answer(fact()))
    with pytest.raises(SkipRun) as skipped:
        run(memory, model, said(turn={"mode": "chat"}))
    assert skipped.value.code == "chat_mode"
    assert model.requests == memory.asked == []


def test_facts_of_the_answer_are_proposed_and_counted() -> None:
    memory = DictionaryMemory()
    model = ScriptedModel(answer(fact(), fact("Invented", "never said"), {"content": "no quote"}))
    notes = run(memory, model, said())
    assert notes["extraction_stats"].data == stats(facts=3, malformed=1, quote_not_found=1, activated=1)
    assert "malformed_fact" in notes
    assert [record.content for record in memory.records.values()] == ["Lives in Porto"]


def test_request_is_the_contracts() -> None:
    memory, model = DictionaryMemory(record_of("mem_7", "Known.")), ScriptedModel(answer())
    run(memory, model, said(tool_events=[ToolEvent(name="search", summary="found 3 files", status="ok")]))
    (request,) = model.requests
    system, user = request.messages
    assert (request.role, request.json_answer, request.tools) == ("extractor", True, [])
    assert (request.thread_id, request.turn_id) == ("thr_1", "trn_1")
    assert (system.role, system.content) == ("system", load("extraction").text)
    question = json.loads(user.content)
    assert list(question) == ["turn_id", "items", "tool_events", "manifest", "max_facts"]
    assert question["items"][0] == {"item_id": "itm_1", "role": "user", "text": "I live in Porto and I prefer tea."}
    assert question["manifest"] == [
        {"memory_id": "mem_7", "category": "custom", "key": "key_mem_7", "content": "Known."}
    ]
    assert question["tool_events"] == [{"name": "search", "status": "ok", "summary": "found 3 files"}]
    assert question["max_facts"] == 8


def test_transcript_is_bounded_and_the_users_words_go_last() -> None:
    items = [
        TranscriptItem(item_id=f"itm_{i}", role="assistant" if i % 2 else "user", text=f"{i} " + "word " * 1500)
        for i in range(6)
    ]
    model = ScriptedModel(answer())
    run(DictionaryMemory(), model, said(transcript=items))
    sent = json.loads(model.requests[0].messages[1].content)["items"]
    assert sum(len(item["text"]) for item in sent) <= MAX_TRANSCRIPT_CHARS
    assert [item["role"] for item in sent] == ["user", "user"]


def test_a_run_is_proposed_once() -> None:
    memory, model = DictionaryMemory(), ScriptedModel(answer(fact()))
    run(memory, model, said())
    again = run(memory, model, said())
    assert again["extraction_stats"].data == stats(facts=1, activated=1)
    assert len(model.requests) == 1
    assert sum(name == "propose" for name, _ in memory.asked) == 1


def test_no_facts_is_a_run_without_effect() -> None:
    memory = DictionaryMemory()
    notes = run(memory, ScriptedModel(answer()), said("What is the weather like?"))
    assert notes["extraction_stats"].data == stats()
    assert memory.records == {}


@pytest.mark.parametrize(("raw", "malformed"), [([], 0), ([{"content": "no quote"}], 1)])
def test_an_empty_answer_does_not_switch_the_rules_off(raw: list[Any], malformed: int) -> None:
    memory = DictionaryMemory()
    notes = run(memory, ScriptedModel(answer(*raw)), said("My name is Anna. What is the weather like?"))
    assert notes["extraction_stats"].data == stats(facts=1 + malformed, malformed=malformed, activated=1)
    assert [record.content for record in memory.records.values()] == ["My name is Anna"]
    assert memory.by_rules


@pytest.mark.parametrize(
    "text", ["not json", "", '{"facts": 5}', "[]", '{"other": []}', '{"facts": [', '{"facts": NaN}']
)
def test_answer_that_is_no_json_is_tried_again(text: str) -> None:
    with pytest.raises(HookFailure) as failure:
        run(DictionaryMemory(), ScriptedModel(text or " "), said())
    assert (failure.value.code, failure.value.retryable) == ("bad_json", True)


def test_failing_provider_is_tried_again() -> None:
    with pytest.raises(HookFailure) as failure:
        run(DictionaryMemory(), ScriptedModel("timeout"), said())
    assert (failure.value.code, failure.value.retryable) == ("provider_timeout", True)


def test_without_a_model_explicit_statements_are_found_by_rule() -> None:
    for model in (ScriptedModel(None), ScriptedModel("not_configured")):
        memory = DictionaryMemory()
        notes = run(memory, model, said("My name is Anna. What is the weather like?"))
        assert notes["extraction_stats"].data == stats(facts=1, activated=1)
        (record,) = memory.records.values()
        assert (record.content, record.category) == ("My name is Anna", "identity")
        assert memory.by_rules


def test_without_a_model_and_without_a_statement_the_run_is_skipped() -> None:
    with pytest.raises(SkipRun) as skipped:
        run(DictionaryMemory(), ScriptedModel(None), said("What is the weather like?"))
    assert skipped.value.code == "extractor_unavailable"


# -- the answer ----------------------------------------------------------------------------------------------------


def test_missing_members_take_the_conservative_value() -> None:
    (one,), malformed, too_many = read_answer(answer(fact(semantic=None, value=None)))
    assert (malformed, too_many) == (0, 0)
    assert one.semantic == Fact(content="x", evidence=one.evidence).semantic
    assert (one.semantic.intent, one.semantic.certainty, one.semantic.durability) == (
        "implicit_candidate",
        "low",
        "unknown",
    )
    (two,), _, _ = read_answer(
        answer(fact(semantic={"category": "preference", "attribute": None, "subject_key": None}))
    )
    assert (two.semantic.category, two.semantic.attribute) == ("preference", "custom")


@pytest.mark.parametrize(
    "raw",
    [
        {},
        5,
        None,
        [],
        "text",
        {"content": "x"},
        {"evidence": {"quote": "x"}},
        {"content": "", "evidence": {"quote": "x"}},
        {"content": "x" * 801, "evidence": {"quote": "x"}},
        {"content": "x", "evidence": {"quote": ""}},
        {"content": "x", "evidence": {"quote": "x" * 501}},
        {"content": "x", "evidence": {"quote": "x"}, "semantic": {"category": "gossip"}},
        {"content": "x", "evidence": {"quote": "x", "item_id": ["itm_1"]}},
        {"content": 5, "evidence": {"quote": "x"}},
        {"content": "x", "evidence": {"quote": "x"}, "semantic": "high"},
    ],
)
def test_a_malformed_fact_falls_alone(raw: Any) -> None:
    facts, malformed, too_many = read_answer(answer(fact(), raw, fact("B", "b")))
    assert ([one.content for one in facts], malformed, too_many) == (["Lives in Porto", "B"], 1, 0)


def test_more_than_eight_are_too_many() -> None:
    memory = DictionaryMemory()
    facts = [fact(f"Fact {number}") for number in range(11)]
    notes = run(memory, ScriptedModel(answer(*facts, {"bad": 1})), said())
    assert notes["extraction_stats"].data == stats(facts=12, malformed=1, activated=8, rejected=3)
    assert "too_many_facts" in notes


def test_a_fenced_answer_is_read() -> None:
    facts, _, _ = read_answer(f"```json\n{answer(fact())}\n```")
    assert len(facts) == 1


def test_every_result_is_counted_once() -> None:
    results = [
        result_of("activate", "active_created", None),
        result_of("supersede", "superseded_by_correction", None),
        result_of("merge", "duplicate_active", None),
        result_of("candidate", "candidate_created", None),
        result_of("reject", "low_score", None),
        result_of("reject", "quote_not_found", None),
        result_of("suppress", "suppressed_by_rejection", None),
    ]
    assert count(results) == stats(activated=2, merged=1, candidates=1, rejected=1, quote_not_found=1, suppressed=1)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["content", "evidence", "quote", "semantic", "value", "category"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@hypothesis_given(st.lists(JSON, max_size=12))
def test_any_list_is_sorted_into_facts_and_the_rest(raw: list[Any]) -> None:
    facts, malformed, too_many = read_answer(msgspec.json.encode({"facts": raw}).decode())
    assert len(facts) + malformed + too_many == len(raw)
    assert len(facts) <= 8
