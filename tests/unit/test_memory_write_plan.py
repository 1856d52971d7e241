"""What a proposal comes to, gate by gate and row by row."""

import itertools
from typing import Any, get_args

import pytest
from cases import each
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from memory.rules.admission import Proposal
from memory.rules.hygiene import Junk
from memory.rules.obligations import Ask
from memory.rules.write_plan import ORIGIN_REASONS, ORIGINS, KnownCandidate, KnownRecord, ProposalSituation, plan_write
from protocol.record import SourceKind

GOOD = Proposal(
    explicitness="implicit",
    durability="long_lived",
    certainty="high",
    sensitivity="none",
    is_scope_clear=True,
    is_user_said=True,
    turns=1,
    contradicts=False,
)
MIDDLING = GOOD._replace(certainty="medium")
POOR = GOOD._replace(certainty="low")

PLAIN = ProposalSituation(
    proposal=GOOD,
    origin="user",
    is_explicit=False,
    is_own_block=False,
    secret_kinds=(),
    is_regulated=False,
    intent_forbids=False,
    write_forbidden=None,
    has_scope=True,
    quote_failed=False,
    owner="user",
    duplicate=None,
    same_key=None,
    pending=None,
    is_suppressed=False,
    supersedes=None,
    proactive_enabled=True,
    review_enabled=False,
    wants_candidate=False,
    wants_rejection=False,
)

KNOWN = KnownRecord("mem_old", is_contested=False)
DOUBTED = KnownRecord("mem_old", is_contested=True)
WAITING = KnownCandidate("cand_1", None)
RIVAL = KnownCandidate("cand_1", "mem_old")

# In the order in which a proposal meets them.
GATES: list[tuple[dict[str, Any], str]] = [
    ({"is_own_block": True}, "own_context_block"),
    ({"secret_kinds": ("aws_access_key",)}, "secret_detected"),
    ({"intent_forbids": True}, "no_memory_requested"),
    ({"write_forbidden": "memory_write_disabled"}, "memory_write_disabled"),
    ({"has_scope": False}, "invalid_scope"),
    ({"ask": Ask("duty", "it says what has to be done")}, "note_would_instruct"),
    ({"quote_failed": True}, "quote_not_found"),
    ({"owner": "task"}, "task_owned"),
    ({"owner": "system"}, "system_source"),
    ({"origin": "assistant"}, "assistant_inference"),
    ({"junk": Junk("malformed_fact", "question", "it is a question")}, "malformed_fact"),
    ({"is_regulated": True}, "regulated_needs_request"),
    ({"proposal": GOOD._replace(durability="transient")}, "transient"),
    ({"proposal": GOOD._replace(durability="session_only")}, "session_only"),
    ({"is_suppressed": True}, "suppressed_by_rejection"),
    ({"wants_rejection": True}, "suppressed_by_rejection"),
]
WISHED_AWAY = {"regulated_needs_request"}
"""Gates that a person's explicit wish opens."""


@each(("changes", "reason"), GATES)
def test_each_gate_stops_alone(changes: dict[str, Any], reason: str) -> None:
    plan = plan_write(structs.replace(PLAIN, **changes))
    assert plan.decision.reason_code == reason
    assert plan.action == ("suppress" if reason == "suppressed_by_rejection" else "reject")
    assert plan.relation == ("suppressed_by_rejection" if plan.action == "suppress" else "novel")
    assert plan[3:] == (None, None, None, None, None, False, False)
    assert plan.decision.action == plan.action


@each(("first", "second"), itertools.combinations(GATES, 2))
def test_the_earlier_gate_speaks(first: tuple[dict[str, Any], str], second: tuple[dict[str, Any], str]) -> None:
    merged = second[0] | first[0]
    assert plan_write(structs.replace(PLAIN, **merged)).decision.reason_code == first[1]


@each(("changes", "reason"), [gate for gate in GATES if "wants_rejection" not in gate[0]])
def test_what_an_explicit_wish_opens(changes: dict[str, Any], reason: str) -> None:
    plan = plan_write(structs.replace(PLAIN, is_explicit=True, **changes))
    is_open = reason in WISHED_AWAY or "is_suppressed" in changes
    assert plan.action == ("activate" if is_open else "reject")


@pytest.mark.parametrize(("origin", "reason"), list(ORIGIN_REASONS.items()))
def test_who_spoke(origin: Any, reason: str) -> None:
    assert plan_write(structs.replace(PLAIN, origin=origin)).decision.reason_code == reason
    assert plan_write(structs.replace(PLAIN, origin=origin, duplicate=KNOWN)).action == "reject"


def test_every_source_has_an_origin_and_only_the_user_passes() -> None:
    assert set(ORIGINS) == set(get_args(SourceKind))
    assert set(ORIGINS.values()) == {"user", *ORIGIN_REASONS} - {"none"}


NOTED = {"origin": "assistant", "is_note": True, "proposal": POOR}
OTHERS = {"same_key": DOUBTED, "pending": RIVAL, "review_enabled": True}


def test_a_note_is_kept_beside_what_the_user_said_and_touches_nothing() -> None:
    for changes in ({}, OTHERS):
        plan = plan_write(structs.replace(PLAIN, **NOTED | changes))
        assert (plan.action, plan.decision.reason_code) == ("activate", "agent_note_created")
        assert plan[3:] == (None, None, None, None, None, False, False)
    known = plan_write(structs.replace(PLAIN, **NOTED | OTHERS | {"duplicate": DOUBTED, "supersedes": "mem_other"}))
    assert (known.action, known.relation, known.merge_into) == ("merge", "duplicate", "mem_old")
    assert known[4:] == (None, None, None, None, False, False)


def test_a_note_takes_the_place_of_the_note_that_its_path_names() -> None:
    plan = plan_write(structs.replace(PLAIN, **NOTED | {"supersedes": "mem_other"}))
    assert (plan.action, plan.relation, plan.supersede) == ("supersede", "compatible_update", "mem_other")
    assert plan.decision.reason_code == "agent_note_created"


@pytest.mark.parametrize(("changes", "reason"), [gate for gate in GATES if "origin" not in gate[0]])
def test_no_gate_but_that_of_the_speaker_opens_for_a_note(changes: dict[str, Any], reason: str) -> None:
    assert plan_write(structs.replace(PLAIN, **NOTED | changes)).decision.reason_code == reason


def test_what_the_user_says_makes_a_note_theirs() -> None:
    plan = plan_write(structs.replace(PLAIN, duplicate=KnownRecord("mem_old", is_contested=False, is_note=True)))
    assert (plan.action, plan.decision.reason_code, plan.merge_into) == ("merge", "note_confirmed", "mem_old")
    assert plan.adopts
    assert not plan_write(structs.replace(PLAIN, duplicate=KNOWN)).adopts


def test_a_secret_is_told_by_kind_only() -> None:
    decision = plan_write(structs.replace(PLAIN, secret_kinds=("aws_access_key", "jwt"))).decision
    assert [f.name for f in decision.factors[-2:]] == ["aws_access_key", "jwt"]
    assert (decision.score, decision.bucket) == (0.0, "low")


@pytest.mark.parametrize("durability", ["transient", "session_only"])
def test_a_fleeting_fact_keeps_its_true_score(durability: Any) -> None:
    decision = plan_write(structs.replace(PLAIN, proposal=GOOD._replace(durability=durability))).decision
    assert decision.score > 0


# (the situation, action, relation, reason, what else the plan says)
ROWS: list[tuple[str, dict[str, Any], str, str, str, dict[str, Any]]] = [
    (
        "explicit",
        {"is_explicit": True, "proposal": GOOD._replace(explicitness="explicit")},
        "activate",
        "novel",
        "active_created",
        {},
    ),
    ("implicit, sure", {}, "activate", "novel", "active_created", {}),
    (
        "implicit, sure, proactive off",
        {"proactive_enabled": False},
        "reject",
        "novel",
        "proactive_writes_disabled",
        {"remember_turn": True},
    ),
    (
        "explicit, proactive off",
        {"is_explicit": True, "proactive_enabled": False},
        "activate",
        "novel",
        "active_created",
        {},
    ),
    ("middle", {"proposal": MIDDLING}, "reject", "novel", "review_disabled_middle_confidence", {"remember_turn": True}),
    (
        "middle, reviewed",
        {"proposal": MIDDLING, "review_enabled": True},
        "candidate",
        "novel",
        "candidate_created",
        {"remember_turn": True},
    ),
    (
        "middle again, reviewed",
        {"proposal": MIDDLING, "review_enabled": True, "pending": WAITING},
        "candidate",
        "duplicate",
        "duplicate_candidate",
        {"merge_into": "cand_1", "remember_turn": True},
    ),
    (
        "middle, third turn",
        {"proposal": MIDDLING._replace(turns=3), "pending": WAITING},
        "activate",
        "novel",
        "active_created",
        {"promote": "cand_1"},
    ),
    ("low", {"proposal": POOR}, "reject", "novel", "low_score", {"remember_turn": True}),
    ("candidate wanted", {"wants_candidate": True}, "candidate", "novel", "candidate_created", {"remember_turn": True}),
    (
        "candidate wanted, low",
        {"wants_candidate": True, "proposal": POOR},
        "reject",
        "novel",
        "low_score",
        {"remember_turn": True},
    ),
    (
        "candidate wanted explicitly",
        {"wants_candidate": True, "is_explicit": True},
        "candidate",
        "novel",
        "candidate_created",
        {"remember_turn": True},
    ),
    (
        "candidate wanted explicitly, low",
        {"wants_candidate": True, "is_explicit": True, "proposal": POOR},
        "candidate",
        "novel",
        "candidate_created",
        {"remember_turn": True},
    ),
    (
        "candidate wanted explicitly, regulated",
        {"wants_candidate": True, "is_explicit": True, "is_regulated": True},
        "reject",
        "novel",
        "regulated_needs_request",
        {},
    ),
    (
        "candidate wanted explicitly, believed otherwise",
        {"wants_candidate": True, "is_explicit": True, "same_key": KNOWN},
        "candidate",
        "contradiction",
        "contradiction_candidate",
        {"contest": "mem_old", "remember_turn": True},
    ),
    (
        "candidate wanted again, believed otherwise",
        {"wants_candidate": True, "same_key": KNOWN, "pending": RIVAL, "proposal": GOOD._replace(turns=2)},
        "candidate",
        "duplicate",
        "duplicate_candidate",
        {"merge_into": "cand_1", "remember_turn": True},
    ),
    (
        "approved",
        {"is_explicit": True, "is_approval": True, "pending": WAITING},
        "activate",
        "novel",
        "active_created",
        {"promote": "cand_1"},
    ),
    (
        "approved, known by now",
        {"is_explicit": True, "is_approval": True, "pending": WAITING, "duplicate": KNOWN},
        "merge",
        "duplicate",
        "duplicate_active",
        {"merge_into": "mem_old", "promote": "cand_1"},
    ),
    (
        "approved, contested",
        {"is_explicit": True, "is_approval": True, "pending": RIVAL, "same_key": KNOWN},
        "supersede",
        "contradiction",
        "contradiction_resolved",
        {"supersede": "mem_old", "promote": "cand_1"},
    ),
    (
        "approved, suppressed before",
        {"is_explicit": True, "is_approval": True, "pending": WAITING, "is_suppressed": True},
        "activate",
        "novel",
        "active_created",
        {"promote": "cand_1"},
    ),
    (
        "approved, regulated by now",
        {"is_explicit": True, "is_approval": True, "pending": WAITING, "is_regulated": True},
        "activate",
        "novel",
        "active_created",
        {"promote": "cand_1"},
    ),
    (
        "explicit promotes",
        {"is_explicit": True, "pending": WAITING},
        "activate",
        "novel",
        "active_created",
        {"promote": "cand_1"},
    ),
    ("duplicate", {"duplicate": KNOWN}, "merge", "duplicate", "duplicate_active", {"merge_into": "mem_old"}),
    (
        "duplicate of the same key",
        {"duplicate": KNOWN, "same_key": KNOWN},
        "merge",
        "duplicate",
        "duplicate_active",
        {"merge_into": "mem_old"},
    ),
    (
        "duplicate, proactive off",
        {"duplicate": KNOWN, "proactive_enabled": False},
        "merge",
        "duplicate",
        "duplicate_active",
        {"merge_into": "mem_old"},
    ),
    (
        "duplicate settles a doubt",
        {"duplicate": DOUBTED},
        "merge",
        "duplicate",
        "duplicate_active",
        {"merge_into": "mem_old", "uncontest": "mem_old"},
    ),
    (
        "duplicate of what is believed again",
        {"duplicate": KNOWN, "is_suppressed": True},
        "merge",
        "duplicate",
        "duplicate_active",
        {"merge_into": "mem_old"},
    ),
    (
        "duplicate that corrects another",
        {"duplicate": KNOWN, "supersedes": "mem_wrong", "is_explicit": True},
        "merge",
        "duplicate",
        "duplicate_active",
        {"merge_into": "mem_old", "supersede": "mem_wrong"},
    ),
    (
        "correction",
        {"is_explicit": True, "same_key": KNOWN},
        "supersede",
        "contradiction",
        "superseded_by_correction",
        {"supersede": "mem_old"},
    ),
    (
        "correction that waited",
        {"is_explicit": True, "same_key": KNOWN, "pending": RIVAL},
        "supersede",
        "contradiction",
        "superseded_by_correction",
        {"supersede": "mem_old", "promote": "cand_1"},
    ),
    (
        "named correction",
        {"is_explicit": True, "supersedes": "mem_x"},
        "supersede",
        "contradiction",
        "superseded_by_correction",
        {"supersede": "mem_x"},
    ),
    (
        "contradiction",
        {"same_key": KNOWN},
        "candidate",
        "contradiction",
        "contradiction_candidate",
        {"contest": "mem_old", "remember_turn": True},
    ),
    (
        "contradiction, low",
        {"same_key": KNOWN, "proposal": POOR},
        "reject",
        "contradiction",
        "low_score",
        {"remember_turn": True},
    ),
    (
        "contradiction, same turn",
        {"same_key": KNOWN, "pending": RIVAL},
        "candidate",
        "duplicate",
        "duplicate_candidate",
        {"merge_into": "cand_1", "remember_turn": True},
    ),
    (
        "contradiction, second turn",
        {"same_key": KNOWN, "pending": RIVAL, "proposal": GOOD._replace(turns=2)},
        "supersede",
        "contradiction",
        "contradiction_resolved",
        {"supersede": "mem_old", "promote": "cand_1"},
    ),
    (
        "contradiction, second turn, proactive off",
        {"same_key": KNOWN, "pending": RIVAL, "proposal": GOOD._replace(turns=2), "proactive_enabled": False},
        "candidate",
        "duplicate",
        "duplicate_candidate",
        {"merge_into": "cand_1", "remember_turn": True},
    ),
]


@pytest.mark.parametrize(
    ("changes", "action", "relation", "reason", "told"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)
def test_each_row(changes: dict[str, Any], action: str, relation: str, reason: str, told: dict[str, Any]) -> None:
    plan = plan_write(structs.replace(PLAIN, **changes))
    assert (plan.action, plan.relation, plan.decision.reason_code) == (action, relation, reason)
    rest = {
        "merge_into": None,
        "supersede": None,
        "contest": None,
        "uncontest": None,
        "promote": None,
        "remember_turn": False,
    }
    assert {name: getattr(plan, name) for name in rest} == rest | told


def test_an_approval_is_a_factor_of_the_decision() -> None:
    approved = structs.replace(PLAIN, is_explicit=True, is_approval=True, pending=WAITING)
    assert plan_write(approved).decision.factors[-1].name == "approved"
    assert plan_write(structs.replace(approved, secret_kinds=("jwt",))).decision.reason_code == "secret_detected"
    assert "approved" not in {factor.name for factor in plan_write(PLAIN).decision.factors}


situations = st.builds(
    ProposalSituation,
    proposal=st.sampled_from([GOOD, MIDDLING, POOR, GOOD._replace(durability="transient"), GOOD._replace(turns=2)]),
    origin=st.sampled_from(["user", "user", "user", "assistant", "tool", "system", "summary", "none"]),
    is_explicit=st.booleans(),
    is_own_block=st.just(False),
    secret_kinds=st.sampled_from([(), (), (), ("jwt",)]),
    is_regulated=st.booleans(),
    intent_forbids=st.booleans(),
    write_forbidden=st.sampled_from([None, None, "memory_write_disabled"]),
    has_scope=st.booleans(),
    quote_failed=st.booleans(),
    owner=st.sampled_from(["user", "user", "task", "system"]),
    duplicate=st.sampled_from([None, KNOWN, DOUBTED]),
    same_key=st.sampled_from([None, KNOWN]),
    pending=st.sampled_from([None, WAITING, RIVAL]),
    is_suppressed=st.booleans(),
    supersedes=st.sampled_from([None, None, "mem_x"]),
    proactive_enabled=st.booleans(),
    review_enabled=st.booleans(),
    wants_candidate=st.booleans(),
    wants_rejection=st.booleans(),
)


@given(situations)
def test_a_plan_is_consistent(s: ProposalSituation) -> None:
    plan = plan_write(s)
    assert plan == plan_write(s)
    assert plan.decision.action == plan.action
    if plan.action in {"activate", "supersede", "merge"}:
        assert s.origin == "user"
        assert not s.secret_kinds
        assert s.owner == "user"
        assert s.has_scope
    if plan.action in {"activate", "supersede"} and not s.is_explicit and s.supersedes is None:
        assert s.proactive_enabled
    assert (plan.action == "supersede") == (plan.supersede is not None and plan.action != "merge")
    assert plan.action != "merge" or plan.merge_into is not None
    if plan.action in {"reject", "suppress"}:
        assert (plan.merge_into, plan.supersede, plan.contest, plan.promote) == (None,) * 4
