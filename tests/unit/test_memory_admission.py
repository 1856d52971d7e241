"""The quality gate: its fixed points, and that a better factor never lowers a score."""

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.rules.admission import HIGH, MIDDLE, REPETITION, Proposal, assess, bucket_of
from protocol.memory.values import Certainty, Durability, Explicitness, SensitivityHint

PLAIN = Proposal(
    explicitness="implicit",
    durability="long_lived",
    certainty="high",
    sensitivity="none",
    is_scope_clear=True,
    is_user_said=True,
    turns=1,
    contradicts=False,
)
"""Said in passing by the user, for good, with a clear scope: the middle of the fixed points."""

FIXED: list[tuple[dict[str, Any], set[str]]] = [
    ({}, {"high"}),
    ({"durability": "project_lifetime"}, {"high"}),
    ({"sensitivity": "personal"}, {"high"}),
    ({"sensitivity": "unknown"}, {"high"}),
    ({"certainty": "medium"}, {"middle"}),
    ({"explicitness": "unclear"}, {"middle"}),
    ({"explicitness": "explicit"}, {"high"}),
    ({"durability": "unknown", "certainty": "medium"}, {"middle", "low"}),
    ({"certainty": "low"}, {"low"}),
    ({"certainty": "low", "explicitness": "explicit"}, {"low"}),
    ({"certainty": "medium", "turns": 3}, {"high"}),
    ({"explicitness": "unclear", "turns": 3}, {"high"}),
    ({"certainty": "medium", "turns": 2}, {"middle", "high"}),
]


@pytest.mark.parametrize(("changes", "buckets"), FIXED)
def test_fixed_points(changes: dict[str, Any], buckets: set[str]) -> None:
    assert assess(PLAIN._replace(**changes)).bucket in buckets


# Worst first. A factor is never scored by more than its place in its own row, so any step up is a better proposal.
ORDERS: dict[str, list[list[Any]]] = {
    "explicitness": [["unclear", "implicit", "explicit"]],
    "durability": [
        [transient, "unknown", lasting]
        for transient in ("transient", "session_only")
        for lasting in ("project_lifetime", "long_lived")
    ],
    "certainty": [["low", "medium", "high"]],
    "sensitivity": [["secret", "regulated", "unknown", "none"], ["secret", "regulated", "personal", "none"]],
    "is_scope_clear": [[False, True]],
    "is_user_said": [[False, True]],
    "turns": [[0, 1, 2, 3, 4, 100]],
    "contradicts": [[True, False]],
}

proposals = st.builds(
    Proposal,
    explicitness=st.sampled_from(get_args(Explicitness)),
    durability=st.sampled_from(get_args(Durability)),
    certainty=st.sampled_from(get_args(Certainty)),
    sensitivity=st.sampled_from(get_args(SensitivityHint)),
    is_scope_clear=st.booleans(),
    is_user_said=st.booleans(),
    turns=st.integers(0, 6),
    contradicts=st.booleans(),
)


def test_every_factor_has_an_order() -> None:
    assert set(ORDERS) == set(Proposal._fields)


@given(proposals, st.data())
def test_a_better_factor_never_lowers_the_score(proposal: Proposal, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(ORDERS)))
    order = data.draw(st.sampled_from(ORDERS[name]))
    worse, better = sorted(data.draw(st.tuples(*[st.integers(0, len(order) - 1)] * 2)))
    low = assess(proposal._replace(**{name: order[worse]}))
    high = assess(proposal._replace(**{name: order[better]}))
    assert low.score <= high.score
    assert ["low", "middle", "high"].index(low.bucket) <= ["low", "middle", "high"].index(high.bucket)


@given(proposals)
def test_a_score_is_the_bounded_sum_of_what_it_tells(proposal: Proposal) -> None:
    verdict = assess(proposal)
    assert 0 <= verdict.score <= 1
    total = sum(factor.contribution for factor in verdict.factors)
    assert verdict.score == pytest.approx(min(1.0, max(0.0, total)), abs=1e-4)
    assert len({factor.name for factor in verdict.factors}) == len(Proposal._fields)
    assert all(factor.why for factor in verdict.factors)
    assert assess(proposal) == verdict


@given(proposals)
def test_what_was_middle_once_is_high_when_said_in_three_turns(proposal: Proposal) -> None:
    if assess(proposal._replace(turns=1)).bucket != "low":
        assert assess(proposal._replace(turns=3)).bucket == "high"


@pytest.mark.parametrize(
    ("score", "bucket"),
    [
        (0.0, "low"),
        (MIDDLE - 0.0001, "low"),
        (MIDDLE, "middle"),
        (HIGH - 0.0001, "middle"),
        (HIGH, "high"),
        (1, "high"),
    ],
)
def test_buckets(score: float, bucket: str) -> None:
    assert bucket_of(score) == bucket


def test_nobody_said_it_is_no_repetition() -> None:
    told = {factor.name: factor for factor in assess(PLAIN._replace(turns=0)).factors}["repetition"]
    assert (told.contribution, told.why) == (0.0, "not said by the user")
    assert [row[0] for row in REPETITION] == sorted((row[0] for row in REPETITION), reverse=True)
