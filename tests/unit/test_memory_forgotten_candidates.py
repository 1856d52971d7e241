"""A candidate whose words, record or source were forgotten is in no answer, and comes back with its record only."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from memory_home import HERE, MIDDLING, SURE, USER, WISH, MemoryHome

import memory
from protocol.errors import CallerError
from protocol.memory.bundles import ExportParams, ImportParams
from protocol.memory.candidates import (
    CandidateEditParams,
    CandidateListParams,
    CandidateMergeParams,
    CandidateParams,
    CandidateReasonParams,
)
from protocol.memory.explaining import ExplainParams, ExplainTarget
from protocol.memory.forgetting import ForgetByKey, ForgetByScope, ForgetByThread, ForgetByTurn, ForgetParams
from protocol.memory.writes import WriteParams

WORDS = "Prefers cardamom coffee"
STATES: list[Any] = ["pending", "approved", "rejected", "expired", "merged", "suppressed"]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[MemoryHome]:
    made = MemoryHome(tmp_path)
    made.switch(review_enabled=True)
    yield made
    made.close()


def proposed(home: MemoryHome, content: str = WORDS, **given: Any) -> str:
    found = home.propose(content, MIDDLING, **given).candidate
    assert found is not None
    return found.candidate_id


def approve(home: MemoryHome, candidate_id: str) -> str:
    """The id of the record."""
    params = CandidateReasonParams(candidate_id=candidate_id, context=HERE)
    record = home.do(home.service.candidates.approve(params)).record
    assert record is not None
    return record.memory_id


def listed(home: MemoryHome) -> list[str]:
    params = CandidateListParams(context=HERE, statuses=STATES, limit=100)
    return [one.content for one in home.do(home.service.candidates.list_candidates(params)).candidates]


def forget(home: MemoryHome, target: Any, **given: Any) -> None:
    home.do(home.service.forget(ForgetParams(target=target, context=HERE, **given)))


def exported(home: MemoryHome) -> str:
    return home.do(home.service.export_bundle(ExportParams(context=HERE))).bundle


def is_missing(home: MemoryHome, candidate_id: str) -> bool:
    """Whether a candidate answers everywhere like one that never was."""
    candidates = home.service.candidates
    by_id = {"candidate_id": candidate_id, "context": HERE}
    asked = [
        candidates.get(CandidateParams(**by_id)),
        candidates.approve(CandidateReasonParams(**by_id)),
        candidates.reject(CandidateReasonParams(**by_id)),
        candidates.suppress_similar(CandidateReasonParams(**by_id)),
        candidates.edit_and_approve(CandidateEditParams(content="Other words", **by_id)),
        candidates.merge(CandidateMergeParams(target_memory_id="mem_none", **by_id)),
    ]
    missing = 0
    for call in asked:
        try:
            home.do(call)
        except CallerError as error:
            missing += error.reason == "not_found"
    assert missing in {0, len(asked)}
    return missing > 0


@pytest.mark.parametrize("mode", ["tombstone", "erase"])
@pytest.mark.parametrize("kind", ["id", "key", "scope", "turn", "thread"])
def test_a_candidate_is_forgotten_with_the_record_that_it_became(home: MemoryHome, kind: str, mode: str) -> None:
    written = {
        "content": WORDS,
        "semantic": MIDDLING,
        "evidence": [home.say(WORDS, turn_id="trn_c")],
        "context": HERE,
        "idempotency_key": "once",
    }
    candidate = home.do(home.service.write(WriteParams(**written))).candidate
    assert candidate is not None
    memory_id = approve(home, candidate.candidate_id)
    record = home.get(memory_id)
    assert record is not None
    assert listed(home) == [WORDS]
    targets: dict[str, Any] = {
        "key": ForgetByKey(scope=USER, key=record.key),
        "scope": ForgetByScope(scope=USER),
        "turn": ForgetByTurn(turn_id="trn_c"),
        "thread": ForgetByThread(thread_id="thr_1"),
    }
    if kind == "id":
        home.forget(memory_id, mode=mode)
    else:
        forget(home, targets[kind], mode=mode)
    assert home.get(memory_id) is None
    assert listed(home) == []
    assert is_missing(home, candidate.candidate_id)
    assert WORDS not in exported(home)
    again = home.do(home.service.write(WriteParams(**written)))
    assert (again.record, again.candidate) == (None, None)
    assert home.do(home.service.turns.find_related(home.turn(), WORDS, 24)) == []
    if mode == "tombstone":
        home.restore(memory_id)
        assert listed(home) == [WORDS]
        assert WORDS in exported(home)
        again = home.do(home.service.write(WriteParams(**written)))
        assert again.candidate is not None
        assert again.candidate.promoted_memory_id == memory_id


def test_what_was_approved_in_other_words_goes_and_comes_with_the_record(home: MemoryHome) -> None:
    candidate_id = proposed(home)
    params = CandidateEditParams(candidate_id=candidate_id, content="Drinks it with cardamom", context=HERE)
    record = home.do(home.service.candidates.edit_and_approve(params)).record
    assert record is not None
    home.forget(record.memory_id)
    assert listed(home) == []
    assert is_missing(home, candidate_id)
    home.restore(record.memory_id)
    assert listed(home) == [WORDS]


def test_what_was_merged_goes_with_the_record(home: MemoryHome) -> None:
    memory_id = home.remember("Drinks coffee with spices").record.memory_id
    params = CandidateMergeParams(candidate_id=proposed(home), target_memory_id=memory_id, context=HERE)
    home.do(home.service.candidates.merge(params))
    assert listed(home) == [WORDS]
    home.forget(memory_id)
    assert listed(home) == []


def test_what_was_refused_with_the_same_words_goes_with_the_record(home: MemoryHome) -> None:
    params = CandidateReasonParams(candidate_id=proposed(home), reason="Cardamom? Never", context=HERE)
    home.do(home.service.candidates.reject(params))
    memory_id = home.remember(WORDS).record.memory_id
    explain = ExplainParams(target=ExplainTarget(kind="candidate", id=params.candidate_id), context=HERE)
    assert "Cardamom? Never" in str(home.do(home.service.questions.explain(explain)))
    home.forget(memory_id)
    assert listed(home) == []
    told = home.do(home.service.questions.explain(explain))
    assert told.outcome == "rejected"
    assert "Cardamom" not in str(told)


@pytest.mark.parametrize("how", ["pending", "rejected", "merged elsewhere"])
@pytest.mark.parametrize("kind", ["turn", "thread", "scope"])
def test_a_candidate_is_forgotten_with_what_it_came_from(home: MemoryHome, kind: str, how: str) -> None:
    home.add_thread("thr_2")
    here = home.remember("Drinks coffee with spices").record.memory_id
    candidate_id = proposed(home, evidence=[home.say(WORDS, thread_id="thr_2", turn_id="trn_c")])
    by_id = {"candidate_id": candidate_id, "context": HERE}
    if how == "rejected":
        home.do(home.service.candidates.reject(CandidateReasonParams(**by_id)))
    elif how == "merged elsewhere":
        home.do(home.service.candidates.merge(CandidateMergeParams(target_memory_id=here, **by_id)))
    targets: dict[str, Any] = {
        "turn": ForgetByTurn(turn_id="trn_c"),
        "thread": ForgetByThread(thread_id="thr_2"),
        "scope": ForgetByScope(scope=USER),
    }
    forget(home, targets[kind])
    assert listed(home) == []
    assert is_missing(home, candidate_id)
    if kind != "scope":  # the record was learnt elsewhere; forgetting and restoring it brings nothing else back
        home.forget(here)
        home.restore(here)
        assert listed(home) == []


def test_a_proposal_of_a_thread_without_a_turn_goes_with_the_thread(home: MemoryHome) -> None:
    said = msgspec.structs.replace(home.say(WORDS), turn_id=None, item_id=None)
    proposed(home, evidence=[said])
    forget(home, ForgetByThread(thread_id="thr_1"))
    assert listed(home) == []


def test_what_two_forgotten_records_say_comes_back_with_the_last(home: MemoryHome) -> None:
    candidate_id = proposed(home)
    params = CandidateEditParams(candidate_id=candidate_id, content="Drinks it with cardamom", context=HERE)
    became = home.do(home.service.candidates.edit_and_approve(params)).record
    assert became is not None
    ids = [became.memory_id, home.remember(WORDS).record.memory_id]
    for memory_id in ids:
        home.forget(memory_id)
    home.restore(ids[0])
    assert listed(home) == []
    home.restore(ids[1])
    assert listed(home) == [WORDS]


def test_what_is_proposed_after_a_forgetting_is_shown(home: MemoryHome) -> None:
    home.forget(home.remember(WORDS).record.memory_id)
    found = home.propose(WORDS, WISH, disposition="create_pending_candidate").candidate
    assert found is not None
    assert listed(home) == [WORDS]


def test_a_doubt_that_is_forgotten_is_over(home: MemoryHome) -> None:
    named = msgspec.structs.replace(SURE, category="identity", attribute="name")
    old = home.propose("Is called Anna", named).record
    assert old is not None
    assert home.propose("Is called Berta", named).candidate is not None
    doubted = home.get(old.memory_id)
    assert doubted is not None
    assert doubted.contested
    home.forget(home.remember("Is called Berta", key="a name").record.memory_id)
    current = home.get(old.memory_id)
    assert current is not None
    assert not current.contested


def test_a_bundle_does_not_bring_back_what_became_of_it(home: MemoryHome) -> None:
    candidate_id = proposed(home)
    params = CandidateEditParams(candidate_id=candidate_id, content="Drinks it with cardamom", context=HERE)
    record = home.do(home.service.candidates.edit_and_approve(params)).record
    assert record is not None
    bundle = exported(home)
    home.forget(record.memory_id, mode="erase")
    home.do(home.service.import_bundle(ImportParams(bundle=bundle, context=HERE)))
    assert listed(home) == []
    assert WORDS not in exported(home)


def test_words_of_candidates_are_read_where_forgotten_ones_are_left_out() -> None:
    """The table itself is for bookkeeping: which statements read whole rows of it is said here."""
    text = (Path(memory.__file__).parent / "queries.sql").read_text(encoding="utf-8")
    blocks = dict(re.findall(r"-- name: (\w+)\n(.*?)(?=\n-- name:|\Z)", text, re.DOTALL))
    read = {name: re.search(r"SELECT candidate\.\*.*?\bFROM (\w+)", sql) for name, sql in blocks.items()}
    of = {name: found[1] for name, found in read.items() if found is not None}
    assert {name for name, table in of.items() if table != "shown_candidate"} == {"get_any_candidate", "due_candidates"}
    assert len(of) >= 6
