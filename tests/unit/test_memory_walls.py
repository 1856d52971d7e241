"""Scopes are walls; what was saved or recalled can be explained."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from memory_home import HERE, MIDDLING, SURE, USER, WS1, WS2, MemoryHome

from protocol.errors import CallerError, Refused
from protocol.memory.changes import HistoryParams
from protocol.memory.explaining import ExplainParams, ExplainTarget
from protocol.memory.forgetting import ForgetByKey, ForgetByScope, ForgetByThread, ForgetByTurn, ForgetParams
from protocol.memory.reads import GetParams, StatsParams
from protocol.memory.values import Context
from protocol.memory.writes import UpdateParams

ONLY_2 = Context(workspace_id="ws_2")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[MemoryHome]:
    made = MemoryHome(tmp_path)
    yield made
    made.close()


# -- walls -----------------------------------------------------------------------------------------------------------


def test_what_is_outside_answers_like_what_does_not_exist(home: MemoryHome) -> None:
    said = home.say("Uses tabs")
    fact = SURE
    here = home.propose("Uses tabs", fact, [said], scope=WS1).record
    assert here is not None
    home.switch(review_enabled=True)
    waiting = home.propose("Uses spaces", MIDDLING, scope=WS1).candidate
    assert waiting is not None
    home.remember("Uses nothing", scope=WS2, context=ONLY_2)
    do, service = home.do, home.service

    def outcome(call: Any) -> Any:
        try:
            return do(call())
        except (CallerError, Refused) as error:
            return (error.reason, error.message, error.details)

    calls: list[Any] = [
        lambda i: service.questions.get(GetParams(memory_id=i, include_deleted=True, context=ONLY_2)),
        lambda i: service.questions.history(HistoryParams(memory_id=i, context=ONLY_2)),
        lambda i: service.update(UpdateParams(memory_id=i, importance=0.1, context=ONLY_2)),
        lambda i: service.questions.explain(ExplainParams(target=ExplainTarget(kind="memory", id=i), context=ONLY_2)),
    ]
    for call in calls:
        assert outcome(lambda c=call: c(here.memory_id)) == outcome(lambda c=call: c("mem_none"))
    assert outcome(
        lambda: service.questions.explain(
            ExplainParams(target=ExplainTarget(kind="candidate", id=waiting.candidate_id), context=ONLY_2)
        )
    ) == outcome(
        lambda: service.questions.explain(
            ExplainParams(target=ExplainTarget(kind="candidate", id="cand_none"), context=ONLY_2)
        )
    )
    assert outcome(
        lambda: service.questions.explain(
            ExplainParams(target=ExplainTarget(kind="turn", id=said.turn_id or ""), context=ONLY_2)
        )
    ) == outcome(
        lambda: service.questions.explain(
            ExplainParams(target=ExplainTarget(kind="turn", id="trn_none"), context=ONLY_2)
        )
    )
    for real, unknown in (
        (ForgetByTurn(turn_id=said.turn_id or ""), ForgetByTurn(turn_id="trn_none")),
        (ForgetByThread(thread_id="thr_1"), ForgetByThread(thread_id="thr_none")),
    ):
        for mode in ("tombstone", "erase"):
            one, other = (ForgetParams(target=target, mode=mode, context=ONLY_2) for target in (real, unknown))
            assert outcome(lambda p=one: service.forget(p)) == outcome(lambda p=other: service.forget(p))
    assert home.forget(here.memory_id, mode="erase", context=ONLY_2).forgotten_memory_ids == []
    assert home.found("tabs", ONLY_2) == []
    assert home.listed(ONLY_2) == ["Uses nothing"]
    assert home.get(here.memory_id) is not None


@pytest.mark.parametrize("target", [ForgetByKey(scope=WS1, key="x"), ForgetByScope(scope=WS1)])
def test_a_scope_that_is_not_active_is_refused(home: MemoryHome, target: Any) -> None:
    home.remember("Uses tabs", scope=WS1, key="x")
    calls: list[Any] = [
        lambda: home.found("tabs", ONLY_2, scopes=[WS1]),
        lambda: home.listed(ONLY_2, scopes=[WS1]),
        lambda: home.do(home.service.questions.get(GetParams(scope=WS1, key="x", context=ONLY_2))),
        lambda: home.do(home.service.forget(ForgetParams(target=target, context=ONLY_2))),
        lambda: home.remember("x", scope=WS1, context=ONLY_2),
    ]
    for call in calls:
        with pytest.raises(Refused) as caught:
            call()
        assert caught.value.reason == "scope_out_of_context"


def test_equal_facts_of_two_scopes_are_two_facts(home: MemoryHome) -> None:
    home.propose("Uses tabs", SURE, scope=WS1)
    home.add_thread("thr_far", "ws_2")
    there = home.propose("Uses tabs", SURE, [home.say("Uses tabs", thread_id="thr_far")], scope=WS2, context=ONLY_2)
    assert there.decision.reason_code == "active_created"
    assert there.record is not None
    home.forget(there.record.memory_id, context=ONLY_2)
    assert home.propose("Uses tabs", SURE, scope=WS1).decision.reason_code == "duplicate_active"


# -- explaining ------------------------------------------------------------------------------------------------------


def explain(home: MemoryHome, kind: Any, identifier: str) -> Any:
    return home.do(
        home.service.questions.explain(ExplainParams(target=ExplainTarget(kind=kind, id=identifier), context=HERE))
    )


def test_explaining_a_memory(home: MemoryHome) -> None:
    made = home.propose("Likes tea").record
    assert made is not None
    home.propose("Likes tea")
    told = explain(home, "memory", made.memory_id)
    assert told.outcome in {"saved", "merged"}
    assert [one.reason_code for one in told.decisions] == ["active_created", "duplicate_active"]
    assert all(gate.passed for gate in told.gates)
    assert {factor.name for factor in told.decision.factors} >= {"explicitness", "certainty"}
    home.forget(made.memory_id)
    closed = [gate.gate for gate in explain(home, "memory", made.memory_id).gates if not gate.passed]
    assert closed == ["status"]


def test_explaining_a_turn(home: MemoryHome) -> None:
    kept, refused, empty = home.say("Likes tea"), home.say("Likes jam"), home.say("Hello")
    home.propose("Likes tea", SURE, [kept])
    home.propose("Likes jam", MIDDLING, [refused])
    assert explain(home, "turn", kept.turn_id or "").outcome == "saved"
    told = explain(home, "turn", refused.turn_id or "")
    assert (told.outcome, told.gates[-1].gate, told.gates[-1].reason_code) == (
        "rejected",
        "admission",
        "review_disabled_middle_confidence",
    )
    nothing = explain(home, "turn", empty.turn_id or "")
    assert (nothing.outcome, nothing.missing[0].reason) == ("unknown", "nothing_was_proposed")
    home.switch(review_enabled=True)
    waiting = home.propose("Likes cake", MIDDLING).candidate
    assert waiting is not None
    assert explain(home, "candidate", waiting.candidate_id).outcome == "candidate"
    for kind in ("memory", "candidate", "turn", "hook_run"):
        with pytest.raises(CallerError) as caught:
            explain(home, kind, "none")
        assert caught.value.reason == "not_found"


def test_explaining_a_query(home: MemoryHome) -> None:
    for n in range(7):
        home.remember(f"Tea number {n}")
    ask = lambda query: home.do(home.service.questions.explain(ExplainParams(query=query, context=HERE)))  # noqa: E731
    told = ask("tea number")
    assert told.outcome == "recalled"
    assert [one.cut_by for one in told.candidates] == [None] * 5 + [
        "budget",
        "floor",
    ]  # the seventh is too far behind for its rank
    assert (told.budgets[0].used, told.budgets[0].cut) == (5, 1)
    assert [one.rank for one in told.candidates] == list(range(1, 8))
    far = ask("A long question about a number of quite different and unrelated matters, please")
    assert far.outcome == "not_recalled"
    assert {one.cut_by for one in far.candidates} == {"floor"}
    assert ask("weather").gates[1].reason_code == "no_match"
    assert "Tea" not in str(told)
    home.switch(enabled=False)
    assert (ask("tea").outcome, ask("tea").gates[0].reason_code) == ("not_recalled", "memory_disabled")
    with pytest.raises(CallerError):
        home.do(home.service.questions.explain(ExplainParams(context=HERE)))


def test_statistics_are_of_the_active_scopes(home: MemoryHome) -> None:
    home.remember("Likes tea", category="preference")
    home.remember("vim", key="editor")
    home.remember("emacs", key="editor")
    home.remember("Uses tabs", scope=WS2, context=ONLY_2)
    home.propose("Likes jam", MIDDLING)
    stats = home.do(home.service.questions.stats(StatsParams(context=HERE)))
    assert [(one.scope, one.count) for one in stats.records.by_scope] == [(USER, 2)]
    assert stats.records.by_status == {"active": 2, "superseded": 1}
    assert stats.decisions.by_reason_code == {
        "active_created": 2,
        "superseded_by_correction": 1,
        "review_disabled_middle_confidence": 1,
    }
    assert (stats.index.indexed, stats.index.pending) == (3, 0)
