"""The one gate of every read, against a model that spells the rule out."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from memory.rules.visibility import ACTIVE, ALL, KEPT, Seen, View, effective_status, hidden_by, is_visible
from protocol.record import Sensitivity, Status

times = st.integers(0, 4)
seen = st.builds(
    Seen,
    scope_id=st.integers(1, 3),
    status=st.sampled_from(get_args(Status)),
    sensitivity=st.sampled_from(get_args(Sensitivity)),
    expires_at=st.none() | times,
    is_intact=st.booleans(),
    noted_by=st.sampled_from([None, "", "agt_a", "agt_b"]),
)
views = st.builds(
    View,
    scope_ids=st.frozensets(st.integers(1, 3)),
    statuses=st.frozensets(st.sampled_from(get_args(Status))),
    now=times,
    shows_regulated=st.booleans(),
    is_prompt=st.booleans(),
    agent_id=st.sampled_from([None, "agt_a", "agt_b"]),
)


def naive(record: Seen, view: View) -> bool:
    is_over = record.status == "active" and record.expires_at is not None and view.now >= record.expires_at
    status = "expired" if is_over else record.status
    if record.is_withheld or (record.sensitivity == "regulated" and not view.shows_regulated):
        return False
    if view.is_prompt and record.noted_by is not None and record.noted_by != view.agent_id:
        return False
    return record.is_intact and record.scope_id in view.scope_ids and status in view.statuses


@given(seen, views)
def test_visible_is_what_the_rule_says(record: Seen, view: View) -> None:
    assert is_visible(record, view) == naive(record, view)
    why = hidden_by(record, view)
    assert (why is None) == naive(record, view)


@given(seen, views)
def test_a_narrower_view_never_shows_more(record: Seen, view: View) -> None:
    if not is_visible(record, view):
        assert not is_visible(record, view._replace(scope_ids=frozenset(list(view.scope_ids)[1:])))
        assert not is_visible(record, view._replace(statuses=frozenset(list(view.statuses)[1:])))
        assert not is_visible(record, view._replace(shows_regulated=False))
        assert not is_visible(record, view._replace(is_prompt=True))
    assert not is_visible(structs.replace(record, is_intact=False), view)


PLAIN = Seen(1, "active", "normal", None, is_intact=True)
VIEW = View(frozenset({1}), ACTIVE, 10, shows_regulated=False)


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (PLAIN, None),
        (structs.replace(PLAIN, scope_id=2, is_intact=False), ("scope_active", "scope_out_of_context")),
        (structs.replace(PLAIN, is_intact=False, status="deleted"), ("integrity", "damaged")),
        (structs.replace(PLAIN, expires_at=10), ("expiry", "expired")),
        (structs.replace(PLAIN, status="expired"), ("expiry", "expired")),
        (structs.replace(PLAIN, expires_at=11), None),
        (structs.replace(PLAIN, status="deleted", sensitivity="regulated"), ("status", "deleted")),
        (structs.replace(PLAIN, status="superseded"), ("status", "superseded")),
        (structs.replace(PLAIN, sensitivity="regulated"), ("sensitivity", "regulated")),
        (structs.replace(PLAIN, sensitivity="personal"), None),
    ],
)
def test_the_first_gate_that_hides_is_told(record: Seen, why: tuple[str, str] | None) -> None:
    assert hidden_by(record, VIEW) == why


@pytest.mark.parametrize(("at", "status"), [(9, "active"), (10, "expired"), (11, "expired")])
def test_expiry_is_exact(at: int, status: str) -> None:
    assert effective_status("active", 10, at) == status
    assert effective_status("superseded", 10, at) == "superseded"
    assert effective_status("active", None, at) == "active"


def test_status_sets() -> None:
    assert ACTIVE < KEPT < ALL == frozenset(get_args(Status))
    assert {"deleted"} == ALL - KEPT
