"""When passes run: plans, jitter, nights, idle moments."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from cases import each
from hypothesis import given
from hypothesis import strategies as st

from gateway.passes.runs import rest_after
from gateway.passes.schedule import (
    MOST_JITTER,
    MOST_OVERDUE_MS,
    Activity,
    jitter_of,
    may_begin,
    next_night,
    next_run,
    outlook,
    trigger_of,
)
from protocol.base import DAY_MS, HOUR_MS

INTERVAL = 6 * HOUR_MS
NOW = 1_790_000_000_000


@given(st.text(), st.sampled_from(["consolidate", "dream"]))
def test_jitter_is_a_fixed_part_of_an_interval(home_id: str, name: str) -> None:
    jitter = jitter_of(home_id, name)
    assert 0 <= jitter < MOST_JITTER
    assert jitter == jitter_of(home_id, name)
    assert NOW + INTERVAL <= next_run(NOW, INTERVAL, jitter) <= NOW + 1.05 * INTERVAL


@each(
    ("planned", "expected"),
    [
        (None, "plan"),
        (NOW - 1, "due"),
        (NOW, "due"),
        (NOW + 1, "wait"),
        (NOW + int(1.1 * INTERVAL), "wait"),
        (NOW + int(1.1 * INTERVAL) + 1, "plan"),
    ],
)
def test_what_is_done_about_a_pass(planned: int | None, expected: str) -> None:
    assert outlook(NOW, planned, INTERVAL) == expected


def test_who_comes_a_whole_interval_late_catches_up() -> None:
    assert trigger_of(NOW, NOW - INTERVAL + 1, INTERVAL) == "schedule"
    assert trigger_of(NOW, NOW - INTERVAL, INTERVAL) == "catch_up"


@each(
    ("activity", "overdue", "expected"),
    [
        (Activity(60, 30, has_turn=False), 0, True),
        (Activity(59, 30, has_turn=False), 0, False),
        (Activity(60, 29, has_turn=False), 0, False),
        (Activity(60, 30, has_turn=True), 0, False),
        (Activity(0, 0, has_turn=True), MOST_OVERDUE_MS - 1, False),
        (Activity(0, 0, has_turn=True), MOST_OVERDUE_MS, True),
    ],
)
def test_a_run_waits_for_an_idle_moment_and_not_for_ever(activity: Activity, overdue: int, *, expected: bool) -> None:
    assert may_begin(NOW, NOW - overdue, activity) is expected


def test_a_run_beside_others_goes_on_at_a_tenth_of_its_pace_and_goes_on() -> None:
    assert rest_after(0.01, is_busy=True) == pytest.approx(0.09)
    assert rest_after(60.0, is_busy=True) == 0.2
    assert rest_after(60.0, is_busy=False) == 0


@pytest.mark.parametrize("zone", ["UTC", "Europe/Vienna", "America/New_York", "Asia/Kolkata"])
def test_the_next_night_is_that_of_the_zone(zone: str) -> None:
    found = next_night(NOW, 3, ZoneInfo(zone))
    local = datetime.fromtimestamp(found / 1000, UTC).astimezone(ZoneInfo(zone))
    assert (local.hour, local.minute) == (3, 0)
    assert 0 < found - NOW <= DAY_MS + HOUR_MS
    assert next_night(found, 3, ZoneInfo(zone)) > found
