"""Candidates: what a person decides, once, and what it leaves behind."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from memory_home import DAY, ELSEWHERE, HERE, MIDDLING, NAME, SURE, USER, WISH, WS1, WS2, MemoryHome

from gateway.store.database import Database
from memory.proposals.kept_proposals import KeptProposal, proposal_of
from memory.rows.store import candidate_of
from memory.rules.admission import Proposal, assess, rescore_repetition
from protocol.errors import CallerError, GatewayError, Refused, Unavailable
from protocol.memory.candidates import (
    CandidateDecideParams,
    CandidateEditParams,
    CandidateListParams,
    CandidateListResult,
    CandidateMergeParams,
    CandidateParams,
    CandidateReasonParams,
    CandidateResult,
)
from protocol.memory.changes import HistoryParams
from protocol.memory.explaining import ExplainParams, ExplainResult, ExplainTarget
from protocol.memory.reads import StatsParams
from protocol.memory.values import Candidate, Context
from protocol.memory.writes import WriteParams
from protocol.seams.ports import SecretSpan

WORDED = "hunter2-Zx9Kq2Lm7Rt4"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[MemoryHome]:
    made = MemoryHome(tmp_path)
    made.switch(review_enabled=True)
    yield made
    made.close()


def waiting(home: MemoryHome, content: str = "Likes tea", semantic: Any = MIDDLING, **given: Any) -> Candidate:
    """A candidate that waits; what was told of it is taken."""
    found = home.propose(content, semantic, **given).candidate
    assert found is not None
    home.tell()
    return found


def contested(home: MemoryHome) -> tuple[str, Candidate]:
    """A record with a candidate that says otherwise."""
    old = home.propose("Is called Anna", NAME).record
    assert old is not None
    return old.memory_id, waiting(home, "Is called Berta", NAME)


def _at(given: dict[str, Any]) -> dict[str, Any]:
    return {"context": HERE} | given


def listed(home: MemoryHome, **given: Any) -> CandidateListResult:
    params = CandidateListParams(**_at(given))
    return home.do(home.service.candidates.list_candidates(params))


def contents(home: MemoryHome, **given: Any) -> list[str]:
    return [candidate.content for candidate in listed(home, **given).candidates]


def get(home: MemoryHome, candidate_id: str) -> CandidateResult:
    return home.do(home.service.candidates.get(CandidateParams(candidate_id=candidate_id, context=HERE)))


def approve(home: MemoryHome, candidate_id: str, **given: Any) -> CandidateResult:
    params = CandidateReasonParams(candidate_id=candidate_id, **_at(given))
    return home.do(home.service.candidates.approve(params))


def edit(home: MemoryHome, candidate_id: str, content: str, **given: Any) -> CandidateResult:
    params = CandidateEditParams(candidate_id=candidate_id, content=content, context=HERE, **given)
    return home.do(home.service.candidates.edit_and_approve(params))


def reject(home: MemoryHome, candidate_id: str, **given: Any) -> CandidateResult:
    params = CandidateReasonParams(candidate_id=candidate_id, context=HERE, **given)
    return home.do(home.service.candidates.reject(params))


def decide(home: MemoryHome, candidate_id: str, decision: Any) -> CandidateResult:
    params = CandidateDecideParams(candidate_id=candidate_id, decision=decision, context=HERE)
    return home.do(home.service.candidates.decide(params))


def suppress(home: MemoryHome, candidate_id: str) -> CandidateResult:
    params = CandidateReasonParams(candidate_id=candidate_id, context=HERE)
    return home.do(home.service.candidates.suppress_similar(params))


def merge(home: MemoryHome, candidate_id: str, **target: Any) -> CandidateResult:
    params = CandidateMergeParams(candidate_id=candidate_id, context=HERE, **target)
    return home.do(home.service.candidates.merge(params))


def explain(home: MemoryHome, kind: Any, identifier: str) -> ExplainResult:
    params = ExplainParams(target=ExplainTarget(kind=kind, id=identifier), context=HERE)
    return home.do(home.service.questions.explain(params))


def events(home: MemoryHome, memory_id: str) -> list[str]:
    told = home.do(home.service.questions.history(HistoryParams(memory_id=memory_id, context=HERE))).events
    return [event.event for event in told]


def counted(home: MemoryHome) -> dict[str, int]:
    return home.do(home.service.questions.stats(StatsParams(context=HERE))).candidates


# -- reading ---------------------------------------------------------------------------------------------------------


def test_the_waiting_are_listed_newest_first_page_by_page(home: MemoryHome) -> None:
    for n in range(5):
        waiting(home, f"Likes tea number {n}")
    first = listed(home, limit=2)
    assert [c.content for c in first.candidates] == ["Likes tea number 4", "Likes tea number 3"]
    second = listed(home, limit=2, cursor=first.next_cursor)
    assert [c.content for c in second.candidates] == ["Likes tea number 2", "Likes tea number 1"]
    third = listed(home, limit=2, cursor=second.next_cursor)
    assert [c.content for c in third.candidates] == ["Likes tea number 0"]
    assert third.next_cursor is None
    assert listed(home, limit=5).next_cursor is None
    with pytest.raises(CallerError):
        listed(home, cursor="nonsense")


def test_a_list_is_narrowed_by_status_category_and_scope(home: MemoryHome) -> None:
    tea = waiting(home)
    waiting(home, "The gate is green", msgspec.structs.replace(MIDDLING, category="project_fact"))
    assert contents(home) == ["The gate is green", "Likes tea"]
    assert contents(home, categories=["preference"]) == ["Likes tea"]
    assert contents(home, scopes=[WS1]) == ["The gate is green"]
    assert contents(home, scopes=[USER]) == ["Likes tea"]
    reject(home, tea.candidate_id)
    assert contents(home) == ["The gate is green"]
    assert contents(home, statuses=["rejected"]) == ["Likes tea"]
    assert contents(home, statuses=["rejected", "pending"]) == ["The gate is green", "Likes tea"]
    assert contents(home, statuses=[]) == []
    with pytest.raises(Refused, match="not active"):
        listed(home, scopes=[WS1], context=ELSEWHERE)


def test_outside_its_scope_a_candidate_does_not_exist(home: MemoryHome) -> None:
    there = waiting(home, "Uses tabs", MIDDLING, scope=WS1).candidate_id
    home.add_thread("thr_2", "ws_2")
    said = home.say("Uses spaces", thread_id="thr_2")
    own = home.propose("Uses spaces", MIDDLING, [said], context=ELSEWHERE, scope=WS2)
    assert own.candidate is not None
    mine, service = own.candidate.candidate_id, home.service.candidates
    assert contents(home, context=ELSEWHERE) == ["Uses spaces"]

    def outcome(call: Any) -> Any:
        with pytest.raises(CallerError) as caught:
            home.do(call)
        return caught.value.reason, caught.value.message, caught.value.details

    def tried(i: str) -> list[Any]:
        at: Any = {"candidate_id": i, "context": ELSEWHERE}
        calls = [
            service.get(CandidateParams(**at)),
            service.approve(CandidateReasonParams(**at)),
            service.reject(CandidateReasonParams(**at)),
            service.suppress_similar(CandidateReasonParams(**at)),
            service.edit_and_approve(CandidateEditParams(content="x", **at)),
            *(service.decide(CandidateDecideParams(decision=d, **at)) for d in ("approve", "reject", "expire")),
            service.merge(CandidateMergeParams(target_memory_id="mem_none", **at)),
            service.merge(CandidateMergeParams(candidate_id=mine, target_candidate_id=i, context=ELSEWHERE)),
        ]
        return [outcome(call) for call in calls]

    assert tried(there) == tried("cand_none")
    assert {told[0] for told in tried(there)} == {"not_found"}
    assert get(home, there).candidate.status == "pending"


# -- approving -------------------------------------------------------------------------------------------------------


def test_an_approved_candidate_is_a_record_with_its_own_evidence(home: MemoryHome) -> None:
    tea = waiting(home, tags=["drink"], value={"what": "tea"}, importance=0.9, metadata={"of": 1})
    said = home.rows("SELECT turn_id, item_id FROM evidence")
    done = approve(home, tea.candidate_id)
    record = done.record
    assert record is not None
    assert (record.content, record.value, record.tags, record.importance) == (
        "Likes tea",
        {"what": "tea"},
        ["drink"],
        0.9,
    )
    assert (record.key, record.category, record.metadata) == (tea.key, tea.category, {"of": 1})
    assert (record.evidence_count, record.status, record.contested) == (1, "active", False)
    source = record.provenance
    assert [(source.turn_id, source.item_id)] == said == home.rows("SELECT turn_id, item_id FROM evidence")
    assert (source.source_kind, source.created_by and source.created_by.kind) == ("user_statement", "user")
    c = done.candidate
    assert (c.status, c.promoted_memory_id, c.decided_by) == ("approved", record.memory_id, "user")
    assert c.decided_at == home.clock.at
    assert home.tell() == [("memory/changed", "created")]
    assert home.found("tea") == ["Likes tea"]
    assert get(home, tea.candidate_id) == done
    assert counted(home) == {"approved": 1}
    again = home.propose("Likes tea", MIDDLING, value={"what": "tea"})
    assert again.decision.reason_code == "duplicate_active"


def test_decide_approve_is_approve(home: MemoryHome) -> None:
    assert decide(home, waiting(home).candidate_id, "approve").record is not None


def test_a_candidate_is_decided_once(home: MemoryHome) -> None:
    tea = waiting(home)
    approve(home, tea.candidate_id)
    calls = [
        lambda: approve(home, tea.candidate_id),
        lambda: edit(home, tea.candidate_id, "Likes coffee"),
        lambda: reject(home, tea.candidate_id),
        lambda: suppress(home, tea.candidate_id),
        lambda: decide(home, tea.candidate_id, "expire"),
        lambda: merge(home, tea.candidate_id, target_memory_id="mem_none"),
        lambda: merge(home, waiting(home, "Likes milk").candidate_id, target_candidate_id=tea.candidate_id),
    ]
    for call in calls:
        with pytest.raises(Refused) as caught:
            call()
        assert caught.value.reason == "already_decided"
        assert caught.value.details == {
            "candidate_id": tea.candidate_id,
            "status": "approved",
            "decided_at": home.clock.at,
            "decided_by": "user",
        }
    assert home.listed() == ["Likes tea"]


def test_two_processes_decide_and_one_of_them_wins(home: MemoryHome) -> None:
    params = [
        CandidateReasonParams(candidate_id=waiting(home, f"Likes tea {n}").candidate_id, context=HERE) for n in range(8)
    ]
    first, home.db = home.db, Database(home.path)
    other = home.make_service()

    async def both(one: CandidateReasonParams) -> Any:
        calls = (home.service.candidates.approve(one), other.candidates.reject(one))
        return await asyncio.gather(*calls, return_exceptions=True)

    for one in params:
        results = home.do(both(one))
        lost = [r for r in results if isinstance(r, GatewayError)]
        won = [r for r in results if isinstance(r, CandidateResult)]
        assert (len(won), [r.reason for r in lost]) == (1, ["already_decided"])
        assert lost[0].details is not None
        assert lost[0].details["status"] == won[0].candidate.status == get(home, one.candidate_id).candidate.status
        assert (won[0].record is not None) == (won[0].candidate.status == "approved")
    first.close()


def test_an_approved_rival_replaces_the_record_and_settles_the_other_doubts(home: MemoryHome) -> None:
    anna, berta = contested(home)
    clara = waiting(home, "Is called Clara", NAME)
    done = approve(home, berta.candidate_id)
    assert done.record is not None
    assert (done.record.content, done.record.supersedes) == ("Is called Berta", anna)
    assert home.tell() == [("memory/changed", "superseded"), ("memory/changed", "created")]
    old = home.get(anna)
    assert old is not None
    assert (old.status, old.superseded_by, old.contested) == ("superseded", done.record.memory_id, False)
    assert done.record.evidence_count == 1
    assert get(home, clara.candidate_id).candidate.status == "expired"
    assert get(home, berta.candidate_id).candidate.status == "approved"
    told = explain(home, "candidate", berta.candidate_id)
    assert (told.outcome, told.decision and told.decision.reason_code) == ("superseded", "contradiction_resolved")


def test_a_rival_of_what_was_forgotten_is_simply_new(home: MemoryHome) -> None:
    anna, berta = contested(home)
    home.forget(anna)
    record = approve(home, berta.candidate_id).record
    assert record is not None
    assert (record.supersedes, home.listed()) == (None, ["Is called Berta"])


def test_what_is_known_by_now_is_merged(home: MemoryHome) -> None:
    tea = waiting(home)
    milk = waiting(home, "Likes milk")
    known = edit(home, milk.candidate_id, "Likes oat milk").record
    assert known is not None
    home.tell()
    done = edit(home, tea.candidate_id, "likes  OAT milk.")
    assert done.record is not None
    assert (done.record.memory_id, done.record.content, done.record.evidence_count) == (
        known.memory_id,
        "Likes oat milk",
        2,
    )
    c = done.candidate
    assert (c.status, c.merged_into, c.promoted_memory_id) == ("merged", known.memory_id, None)
    assert home.tell() == [("memory/changed", "updated")]
    assert home.rows("SELECT count(*) FROM evidence WHERE candidate_id IS NOT NULL") == [(0,)]
    assert explain(home, "candidate", tea.candidate_id).outcome == "merged"


def test_an_edit_is_cleaned_and_its_value_is_the_one_given(home: MemoryHome) -> None:
    tea = waiting(home, value="tea")
    record = edit(home, tea.candidate_id, "Likes\u202e green\x00 tea").record
    assert record is not None
    assert (record.content, record.value, record.evidence_count) == ("Likes green tea", None, 1)
    valued = edit(home, waiting(home, "Likes milk").candidate_id, "Likes cold milk", value="cold").record
    assert valued is not None
    assert valued.value == "cold"
    assert get(home, tea.candidate_id).candidate.content == "Likes tea"


def test_a_waiting_candidate_that_says_what_the_edit_says_goes_with_it(home: MemoryHome) -> None:
    tea, milk = waiting(home), waiting(home, "Likes milk")
    done = edit(home, tea.candidate_id, "Likes milk!")
    assert done.record is not None
    assert done.record.evidence_count == 2
    gone = get(home, milk.candidate_id).candidate
    assert (gone.status, gone.merged_into, contents(home)) == ("merged", done.record.memory_id, [])


def test_an_edit_back_to_what_is_believed_settles_the_doubt(home: MemoryHome) -> None:
    anna, berta = contested(home)
    done = edit(home, berta.candidate_id, "Is called Anna")
    assert done.record is not None
    assert (done.record.memory_id, done.record.contested, done.record.evidence_count) == (anna, False, 2)
    assert done.candidate.status == "merged"
    assert home.tell() == [("memory/changed", "updated")] * 2
    assert events(home, anna) == ["created", "contested", "uncontested", "evidence_added"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (f"My password is {WORDED}", "secret_detected"),
        ("<memory>\nLikes tea\n</memory>", None),
        ("\u202e\x00 ", "invalid_params"),
    ],
)
def test_an_edit_passes_the_same_gates_as_everything(home: MemoryHome, content: str, reason: str | None) -> None:
    tea = waiting(home)
    if reason is None:
        record = edit(home, tea.candidate_id, content).record
        assert record is not None  # it only looks like a block
        return
    with pytest.raises(GatewayError) as caught:
        edit(home, tea.candidate_id, content)
    if reason == "invalid_params":
        assert caught.value.details == {"path": "$.content", "problem": "There are no words in it"}
    else:
        assert caught.value.reason == "write_refused"
        assert caught.value.details is not None
        assert caught.value.details["decision"]["reason_code"] == reason
        assert explain(home, "candidate", tea.candidate_id).decisions[-1].reason_code == reason
    assert get(home, tea.candidate_id).candidate.status == "pending"
    assert WORDED.encode() not in home.bytes_on_disk()
    assert home.tell() == []


def test_a_rule_that_is_newer_than_the_candidate_holds(home: MemoryHome) -> None:
    tea = waiting(home)

    class Strict:
        def find(self, text: str) -> list[SecretSpan]:
            return [SecretSpan(start=0, end=len(text), kind="tea_secret")] if "tea" in text else []

    home.scanner = Strict()
    home.service = home.make_service()
    with pytest.raises(Refused) as caught:
        approve(home, tea.candidate_id)
    assert caught.value.reason == "write_refused"
    with pytest.raises(Refused):  # its evidence says it too
        edit(home, tea.candidate_id, "Likes something")


def test_approval_opens_what_an_explicit_wish_opens(home: MemoryHome) -> None:
    tea = waiting(home)
    record = edit(home, tea.candidate_id, "Was diagnosed with diabetes").record
    assert record is not None
    assert record.sensitivity == "regulated"
    assert home.found("diabetes") == []
    assert [one.params.record for one in home.told if one.method == "memory/changed"] == [None]


def test_no_regulated_and_no_secret_text_ever_waits(home: MemoryHome) -> None:
    wish = msgspec.structs.replace(WISH, durability="unknown")
    for text in ("Was diagnosed with diabetes", f"My password is {WORDED}"):
        for semantic in (MIDDLING, SURE, wish):
            for disposition in ("route_to_candidate_policy", "create_pending_candidate"):
                assert home.propose(text, semantic, [], disposition=disposition).candidate is None
                said = WriteParams(
                    content=text,
                    semantic=semantic,
                    evidence=[msgspec.structs.replace(home.say("x"), quote=text, item_id=None)],
                    disposition=disposition,
                    context=HERE,
                )
                assert home.do(home.service.write(said)).candidate is None
    assert home.rows("SELECT count(*) FROM candidate") == [(0,)]


def test_an_explicit_wish_that_asks_for_review_waits(home: MemoryHome) -> None:
    home.switch(review_enabled=False)
    tea = waiting(home, "Likes tea", WISH, disposition="create_pending_candidate")
    assert home.listed() == []
    assert approve(home, tea.candidate_id).record is not None


@pytest.mark.parametrize("durability", ["transient", "session_only"])
def test_a_fleeting_fact_is_not_kept_however_explicit(home: MemoryHome, durability: Any) -> None:
    result = home.propose("Sits in a train", msgspec.structs.replace(WISH, durability=durability))
    assert (result.record, result.decision.reason_code) == (None, durability)


# -- refusing --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["reject", "suppress", "decide"])
def test_what_a_person_rejected_is_not_proposed_again_unless_they_say_so(home: MemoryHome, how: str) -> None:
    tea = waiting(home)
    calls: dict[str, Any] = {"reject": reject, "suppress": suppress, "decide": lambda h, i: decide(h, i, "reject")}
    done = calls[how](home, tea.candidate_id)
    status = "suppressed" if how == "suppress" else "rejected"
    assert (done.candidate.status, done.candidate.decided_by, done.record) == (status, "user", None)
    assert home.tell() == []
    for semantic in (MIDDLING, SURE, msgspec.structs.replace(SURE, attribute="drink")):  # under another key too
        again = home.propose("Likes TEA", semantic)
        assert (again.relation, again.decision.reason_code) == ("suppressed_by_rejection", "suppressed_by_rejection")
    home.later(100 * DAY)
    home.do(home.service.sweep())
    assert home.rows("SELECT content FROM candidate") == []
    assert b"Likes tea" not in b"".join(map(str.encode, map(str, home.rows("SELECT * FROM decision"))))
    assert home.propose("Likes tea", SURE).decision.reason_code == "suppressed_by_rejection"
    assert home.propose("Likes tea", WISH).record is not None
    assert home.propose("Likes tea", SURE).decision.reason_code == "duplicate_active"


def test_suppressing_takes_the_same_words_under_other_keys_along(home: MemoryHome) -> None:
    tea = waiting(home, value="one")
    drink = waiting(home, "Likes tea", msgspec.structs.replace(MIDDLING, attribute="drink"), value="two")
    milk = waiting(home, "Likes milk")
    suppress(home, tea.candidate_id)
    assert get(home, drink.candidate_id).candidate.status == "suppressed"
    assert get(home, milk.candidate_id).candidate.status == "pending"
    assert [d.action for d in explain(home, "candidate", drink.candidate_id).decisions] == ["candidate", "suppress"]


def test_what_expires_may_come_again(home: MemoryHome) -> None:
    tea = waiting(home)
    done = decide(home, tea.candidate_id, "expire")
    assert (done.candidate.status, done.record) == ("expired", None)
    assert waiting(home).candidate_id != tea.candidate_id


@pytest.mark.parametrize("how", ["reject", "suppress", "expire", "merge"])
def test_a_rival_that_ends_takes_its_doubt_away(home: MemoryHome, how: str) -> None:
    anna, berta = contested(home)
    clara = waiting(home, "Is called Clara", NAME)
    calls: dict[str, Any] = {
        "reject": lambda i: reject(home, i),
        "suppress": lambda i: suppress(home, i),
        "expire": lambda i: decide(home, i, "expire"),
        "merge": lambda i: merge(home, i, target_memory_id=anna),
    }
    calls[how](berta.candidate_id)
    doubted = home.get(anna)
    assert doubted is not None
    assert doubted.contested
    home.tell()
    calls[how](clara.candidate_id)
    sure = home.get(anna)
    assert sure is not None
    assert (sure.status, sure.contested) == ("active", False)
    assert home.tell() == [("memory/changed", "updated")]
    assert events(home, anna)[:2] == ["created", "contested"]
    assert events(home, anna).count("uncontested") == 1


# -- merging ---------------------------------------------------------------------------------------------------------


def test_a_candidate_merged_into_another_brings_evidence_and_repetition(home: MemoryHome) -> None:
    tea, brew = waiting(home), waiting(home, "Enjoys a good brew")
    done = merge(home, brew.candidate_id, target_candidate_id=tea.candidate_id)
    assert (done.candidate.status, done.candidate.merged_into, done.record) == ("merged", tea.candidate_id, None)
    grown = get(home, tea.candidate_id).candidate
    assert (grown.status, grown.evidence_count, grown.content) == ("pending", 2, "Likes tea")
    assert grown.score == pytest.approx(tea.score + 0.12)
    assert [d.action for d in explain(home, "candidate", brew.candidate_id).decisions] == ["candidate", "merge"]
    assert [d.action for d in explain(home, "candidate", tea.candidate_id).decisions] == ["candidate", "candidate"]
    third = home.propose("Enjoys a good brew", MIDDLING)  # the other wording is the same fact by now
    assert third.candidate is not None
    assert third.candidate.candidate_id == tea.candidate_id
    fourth = home.propose("Likes tea", MIDDLING)
    assert fourth.record is not None
    assert fourth.record.evidence_count == 4
    assert home.rows("SELECT count(*) FROM candidate WHERE status = 'pending'") == [(0,)]


def test_merged_ones_follow_where_their_target_goes(home: MemoryHome) -> None:
    a, b, c = (waiting(home, f"Likes tea {n}") for n in "abc")
    merge(home, a.candidate_id, target_candidate_id=b.candidate_id)
    merge(home, b.candidate_id, target_candidate_id=c.candidate_id)
    assert get(home, a.candidate_id).candidate.merged_into == c.candidate_id
    record = approve(home, c.candidate_id).record
    assert record is not None
    assert record.evidence_count == 3
    assert get(home, a.candidate_id).record == get(home, b.candidate_id).record == record
    home.forget(record.memory_id, mode="erase")
    assert home.rows("SELECT count(*) FROM candidate") == [(0,)]
    assert home.rows("SELECT count(*) FROM evidence") == [(0,)]
    assert home.rows("SELECT count(*) FROM decision WHERE candidate_id IS NOT NULL") == [(0,)]


def test_a_candidate_merged_into_a_record_is_more_evidence_for_it(home: MemoryHome) -> None:
    kept = home.propose("Likes tea", SURE).record
    assert kept is not None
    brew = waiting(home, "Enjoys a good brew")
    done = merge(home, brew.candidate_id, target_memory_id=kept.memory_id)
    assert done.record is not None
    assert (done.record.memory_id, done.record.evidence_count, done.record.content) == (kept.memory_id, 2, "Likes tea")
    assert done.candidate.merged_into == kept.memory_id
    assert home.tell() == [("memory/changed", "updated")]
    assert events(home, kept.memory_id) == ["created", "evidence_added"]
    told = explain(home, "memory", kept.memory_id).decisions
    assert [(d.action, d.reason_code) for d in told] == [("activate", "active_created"), ("merge", "duplicate_active")]


def test_the_same_words_of_the_same_message_count_once(home: MemoryHome) -> None:
    said = home.say("I like tea and a good brew")
    tea, brew = waiting(home, "Likes tea", evidence=[said]), waiting(home, "Likes a brew", evidence=[said])
    merge(home, brew.candidate_id, target_candidate_id=tea.candidate_id)
    grown = get(home, tea.candidate_id).candidate
    assert (grown.evidence_count, grown.score) == (1, tea.score)
    assert home.rows("SELECT count(*) FROM evidence") == [(1,)]


def test_what_cannot_be_merged(home: MemoryHome) -> None:
    tea = waiting(home)
    project = waiting(home, "The gate is green", MIDDLING, scope=WS1)
    record = home.remember("Likes milk").record
    elsewhere = home.remember("The wall is red", scope=WS1).record

    def problem(**target: Any) -> Any:
        with pytest.raises(GatewayError) as caught:
            merge(home, tea.candidate_id, **target)
        return caught.value.reason, (caught.value.details or {}).get("path")

    both = {"target_candidate_id": project.candidate_id, "target_memory_id": record.memory_id}
    assert problem() == problem(**both) == ("invalid_params", "$")
    assert problem(target_candidate_id=tea.candidate_id) == ("invalid_params", "$.target_candidate_id")
    assert problem(target_candidate_id=project.candidate_id) == ("invalid_params", "$.target_candidate_id")
    assert problem(target_memory_id=elsewhere.memory_id) == ("invalid_params", "$.target_memory_id")
    assert problem(target_candidate_id="cand_none") == ("not_found", None)
    assert problem(target_memory_id="mem_none") == ("not_found", None)
    home.forget(record.memory_id)
    assert problem(target_memory_id=record.memory_id) == ("not_found", None)
    old = home.remember("Drinks water", key="water").record
    home.remember("Drinks wine", key="water")
    assert problem(target_memory_id=old.memory_id) == ("conflict", None)
    assert get(home, tea.candidate_id).candidate == tea


# -- who may, and when -----------------------------------------------------------------------------------------------


def test_with_memory_off_candidates_are_read_and_not_decided(home: MemoryHome) -> None:
    tea = waiting(home)
    home.switch(enabled=False)
    assert contents(home) == ["Likes tea"]
    assert get(home, tea.candidate_id).candidate == tea
    for call in (
        approve,
        reject,
        suppress,
        lambda h, i: edit(h, i, "x"),
        lambda h, i: decide(h, i, "expire"),
        lambda h, i: merge(h, i, target_memory_id="mem_none"),
    ):
        for candidate_id in (tea.candidate_id, "cand_none"):
            with pytest.raises(Unavailable) as caught:
                call(home, candidate_id)
            assert caught.value.reason == "memory_disabled"


@pytest.mark.parametrize(("mode", "reason"), [("read_only", "memory_write_disabled"), ("ignored", "memory_ignored")])
def test_a_thread_that_may_not_write_does_not_decide(home: MemoryHome, mode: str, reason: str) -> None:
    tea = waiting(home)
    home.add_thread("thr_closed", memory_mode=mode)
    with pytest.raises(Refused) as caught:
        approve(home, tea.candidate_id, context=Context(workspace_id="ws_1", thread_id="thr_closed"))
    assert caught.value.reason == reason
    assert get(home, tea.candidate_id).candidate == tea


def test_with_review_switched_off_what_waits_can_still_be_decided(home: MemoryHome) -> None:
    tea = waiting(home)
    home.switch(review_enabled=False)
    assert home.propose("Likes milk", MIDDLING).decision.reason_code == "review_disabled_middle_confidence"
    assert contents(home) == ["Likes tea"]
    assert approve(home, tea.candidate_id).record is not None


# -- explaining ------------------------------------------------------------------------------------------------------


def test_an_explanation_tells_why_it_waited_and_what_came_of_it(home: MemoryHome) -> None:
    tea, milk, rum = waiting(home), waiting(home, "Likes milk"), waiting(home, "Likes rum")
    told = explain(home, "candidate", tea.candidate_id)
    assert (told.outcome, told.summary) == ("candidate", "It waits as a candidate: candidate created.")
    assert [(g.gate, g.passed) for g in told.gates][-1] == ("admission", False)
    turn = home.rows("SELECT turn_id FROM candidate ORDER BY id")[0][0]
    assert explain(home, "turn", turn).outcome == "candidate"
    approve(home, tea.candidate_id)
    reject(home, milk.candidate_id, reason="I only tried it once.")
    decide(home, rum.candidate_id, "expire")
    told = explain(home, "candidate", tea.candidate_id)
    assert (told.outcome, told.summary) == ("saved", "It was saved: approved.")
    assert all(gate.passed for gate in told.gates)
    assert [(d.action, d.reason_code) for d in told.decisions] == [
        ("candidate", "candidate_created"),
        ("activate", "active_created"),
    ]
    assert told.decisions[-1].factors[-1].name == "approved"
    told = explain(home, "candidate", milk.candidate_id)
    assert (told.outcome, told.summary) == ("rejected", "It was not saved: rejected by a person.")
    assert [(g.gate, g.reason_code) for g in told.gates if not g.passed] == [("admission", "suppressed_by_rejection")]
    assert told.decision is not None
    assert [(f.name, f.value) for f in told.decision.factors] == [
        ("rejected", "user"),
        ("reason", "I only tried it once."),
    ]
    told = explain(home, "candidate", rum.candidate_id)
    assert (told.outcome, told.summary) == ("rejected", "It was not saved: no longer in question.")
    assert explain(home, "turn", turn).outcome == "saved"


@pytest.mark.parametrize("reason", [f"because my password is {WORDED}", "I was diagnosed with diabetes", " \x00"])
def test_words_that_must_not_be_stored_are_no_reason(home: MemoryHome, reason: str) -> None:
    tea = waiting(home)
    reject(home, tea.candidate_id, reason=reason)
    decision = explain(home, "candidate", tea.candidate_id).decision
    assert decision is not None
    assert [factor.name for factor in decision.factors] == ["rejected"]


def test_what_repetition_approved_is_told_as_saved(home: MemoryHome) -> None:
    tea = waiting(home)
    for _ in range(2):
        home.propose("Likes tea", MIDDLING)
    done = get(home, tea.candidate_id)
    assert (done.candidate.status, done.candidate.decided_by) == ("approved", "admission")
    assert done.record is not None
    told = explain(home, "candidate", tea.candidate_id)
    assert (told.outcome, [d.action for d in told.decisions]) == ("saved", ["candidate", "candidate", "activate"])


# -- the clock, forgetting, and scopes that are gone -----------------------------------------------------------------


def test_nobody_is_asked_for_ever_and_text_does_not_stay(home: MemoryHome) -> None:
    anna, berta = contested(home)
    tea = waiting(home)
    home.later(20 * DAY)
    home.propose("Likes tea", MIDDLING)  # said again: it counts from here
    home.later(10 * DAY)
    home.tell()
    assert home.do(home.service.due_at()) == home.clock.at
    assert home.do(home.service.sweep()) >= 1
    gone = get(home, berta.candidate_id).candidate
    assert (gone.status, gone.decided_by) == ("expired", "retention")
    assert get(home, tea.candidate_id).candidate.status == "pending"
    sure = home.get(anna)
    assert sure is not None
    assert not sure.contested
    assert home.tell() == [("memory/changed", "updated")]
    assert home.do(home.service.due_at()) == home.clock.at + 20 * DAY
    home.later(30 * DAY)
    home.do(home.service.sweep())
    with pytest.raises(CallerError):
        get(home, berta.candidate_id)
    assert home.rows("SELECT count(*) FROM tombstone") == [(0,)]


def test_forgetting_a_record_ends_what_waits_with_the_same_words(home: MemoryHome) -> None:
    tea = waiting(home)
    record = home.remember("Likes tea!", scope=USER).record
    assert get(home, tea.candidate_id).candidate.merged_into in {record.memory_id, None}
    assert get(home, tea.candidate_id).candidate.status in {"approved", "merged"}
    home.forget(record.memory_id)
    assert contents(home) == []
    assert home.propose("Likes tea", MIDDLING).decision.reason_code == "suppressed_by_rejection"


def test_a_scope_that_is_gone_has_nothing_to_decide(home: MemoryHome) -> None:
    gate = waiting(home, "The gate is green", MIDDLING, scope=WS1)
    tea = waiting(home)
    home.sql(lambda tx: home.service.deleted.erase_part(tx, WS1))
    with pytest.raises(CallerError):
        get(home, gate.candidate_id)
    assert get(home, tea.candidate_id).candidate == tea
    assert home.rows("SELECT count(*) FROM evidence") == [(1,)]


# -- pure parts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("turns", [1, 2, 3, 9])
def test_a_verdict_anew_is_the_verdict(turns: int) -> None:
    proposal = Proposal(
        "implicit", "unknown", "medium", "none", is_scope_clear=True, is_user_said=True, turns=1, contradicts=True
    )
    assert rescore_repetition(assess(proposal).factors, turns) == assess(proposal._replace(turns=turns))


def test_a_row_without_a_kept_proposal_can_be_approved(home: MemoryHome) -> None:
    tea = waiting(home)
    home.sql(lambda tx: tx.run("UPDATE candidate SET proposal = '{}'"))
    record = approve(home, tea.candidate_id).record
    assert record is not None
    assert (record.content, record.category) == ("Likes tea", "preference")


def test_what_is_kept_of_a_proposal_comes_back(home: MemoryHome) -> None:
    waiting(home, "Likes tea", NAME, disposition="create_pending_candidate", key="drink", tags=["a"], expires_at=9)
    row = home.rows("SELECT candidate.*, scope.kind, scope.key FROM candidate JOIN scope ON scope.id = scope_id")[0]
    kept = proposal_of(candidate_of(row))
    assert isinstance(kept, KeptProposal)
    assert (kept.semantic.attribute, kept.alias, kept.tags, kept.expires_at) == ("name", "drink", ["a"], 9)
