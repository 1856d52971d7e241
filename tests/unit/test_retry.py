"""When a failed job runs again."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from gateway.jobs.retry import JITTER, LIMITS, GiveUp, RetryAt, RetryLimits, limits_of, next_attempt
from protocol.seams.ports import JobKind
from protocol.settings import ThreadEpisodicSettings

NOW = 1_700_000_000_000

limits = st.builds(RetryLimits, st.integers(1, 100_000), st.integers(100_000, 10_000_000), st.integers(1, 1_000_000))
unit = st.floats(0, 1)


def delay(attempts: int, of: RetryLimits, jitter: float = 0.0) -> int:
    verdict = next_attempt(NOW, attempts, of, jitter)
    assert isinstance(verdict, RetryAt)
    return verdict.at - NOW


@pytest.mark.parametrize(
    ("attempts", "expected"), [(1, 1_000), (2, 2_000), (3, 4_000), (4, 8_000), (5, 10_000), (6, 10_000), (9, 10_000)]
)
def test_the_delay_doubles_up_to_the_most(attempts: int, expected: int) -> None:
    assert delay(attempts, RetryLimits(1_000, 10_000, 10)) == expected


@given(limits, st.integers(1, 2_000_000), unit)
def test_it_gives_up_exactly_at_the_last_attempt(of: RetryLimits, attempts: int, jitter: float) -> None:
    verdict = next_attempt(NOW, attempts, of, jitter)
    assert isinstance(verdict, GiveUp) == (attempts >= of.max_attempts)


@given(limits, st.integers(1, 999_999), unit)
def test_the_delay_stays_within_its_bounds(of: RetryLimits, attempts: int, jitter: float) -> None:
    of = structs.replace(of, max_attempts=1_000_000)
    taken = delay(attempts, of, jitter)
    assert of.base_ms <= taken <= of.max_ms * (1 + JITTER)


@given(limits, st.integers(1, 200), unit)
def test_a_later_attempt_never_waits_less(of: RetryLimits, attempts: int, jitter: float) -> None:
    of = structs.replace(of, max_attempts=1_000_000)
    assert delay(attempts, of, jitter) <= delay(attempts + 1, of, jitter)


@given(limits, st.integers(1, 200), unit, unit)
def test_jitter_only_adds_and_keeps_order(of: RetryLimits, attempts: int, one: float, other: float) -> None:
    of = structs.replace(of, max_attempts=1_000_000)
    low, high = sorted((one, other))
    assert delay(attempts, of) <= delay(attempts, of, low) <= delay(attempts, of, high)


def test_a_base_above_the_most_is_cut() -> None:
    assert delay(1, RetryLimits(50_000, 10_000, 3)) == 10_000


def test_every_kind_has_sensible_limits() -> None:
    settings = ThreadEpisodicSettings()
    for kind in get_args(JobKind):
        found = limits_of(kind, settings)
        assert 0 < found.base_ms <= found.max_ms
        assert found.max_attempts >= 1


def test_the_index_follows_its_settings_and_nothing_else_does() -> None:
    settings = ThreadEpisodicSettings(retry_base_delay_secs=7, retry_max_delay_secs=70, max_attempts=2)
    assert limits_of("index", settings) == RetryLimits(7_000, 70_000, 2)
    assert {kind: limits_of(kind, settings) for kind in LIMITS} == LIMITS
    assert set(LIMITS) == set(get_args(JobKind)) - {"index"}


def test_what_was_promised_is_never_given_up() -> None:
    for kind in ("erase_finish", "sweep", "delete"):
        assert isinstance(next_attempt(NOW, 10_000, LIMITS[kind], 0.5), RetryAt)
