"""How strong a record is and how long it lasts: the formula, its column, and the two ways of ageing."""

import math
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cases import each
from hypothesis import given
from hypothesis import strategies as st
from memory_home import HERE, MemoryHome

from memory.rules.strength import (
    MACHINE_WEIGHTS,
    TIERS,
    Factors,
    Lifetime,
    days_of,
    factors_of,
    fade_time,
    recency_of,
    strength_of,
)
from protocol.base import DAY_MS, HOUR_MS
from protocol.memory.writes import NoteParams, RememberParams
from protocol.record import Record


@each(("hours", "expected"), [(0, 1.0), (1, 1.0), (24, 0.385422), (720, 0.138931)])
def test_3_recency_is_that_of_the_design(hours: float, expected: float) -> None:
    assert recency_of(hours) == pytest.approx(expected, abs=1e-6)


def test_3_reads_and_links_lift_a_standing_and_strength_is_at_most_one() -> None:
    assert Factors(1, 1, 1 + math.log(6), 1).standing == pytest.approx(2.791759, abs=1e-6)
    assert Factors(1, 1, 1, 1.3).standing == 1.3
    assert strength_of(2.7918, 0, HOUR_MS) == 1.0


@each(
    ("level", "days"),
    [(0.81, None), (0.8, 90), (0.8000004, 90), (0.5, 90), (0.4999999, 90), (0.49, 30), (0.3, 30), (0.29, 7), (0.0, 7)],
)
def test_5_tiers(level: float, days: int | None) -> None:
    assert days_of(level) == days


def standing_of(home: MemoryHome, memory_id: str) -> tuple[float, int, int]:
    """Return the columns `standing`, `tier_days` and `access_count` of a record."""
    asked = "SELECT standing, tier_days, access_count FROM record WHERE memory_id = ?"
    ((standing, tier, reads),) = home.sql(lambda tx: tx.all(asked, (memory_id,)))
    return standing, tier, reads


SOURCES = [{"importance": 0.05}, {"importance": 1.0}, {"tags": ["a"]}, {"tags": [f"t{n}" for n in range(9)]}]


@pytest.mark.parametrize("given_", SOURCES, ids=str)
def test_the_column_is_the_formula(tmp_path: Path, given_: dict[str, Any]) -> None:
    home = MemoryHome(tmp_path)
    mine = home.do(home.service.remember(RememberParams(content="The boiler hums.", context=HERE, **given_))).record
    noted = [
        home.do(
            home.service.notes.note(
                NoteParams(
                    content=f"The relay of {kind} clicks.", agent_id="agt", agent_kind=kind, context=HERE, **given_
                )
            )
        )
        for kind in ("assistant", "tool", "system")
    ]
    for memory_id in (mine.memory_id, *(one.memory_id for one in noted if one.memory_id is not None)):
        for reads in range(3):
            record = home.get(memory_id)  # which is a read of it
            assert record is not None
            standing, tier, counted = standing_of(home, memory_id)
            expected = factors_of(_with_reads(record, counted)).standing
            assert standing == pytest.approx(expected, abs=1e-9), (memory_id, reads)
            assert tier == (days_of(expected) or 0)
    home.close()


def _with_reads(record: Record, count: int) -> Record:
    return msgspec.structs.replace(record, access_count=count)


def test_machines_weigh_no_more_than_the_user() -> None:
    assert max(MACHINE_WEIGHTS.values()) <= 0.9


@given(st.floats(0.001, 30), st.integers(0, 400), st.integers(0, 400))
def test_literal_ageing_ends_when_the_tier_of_that_moment_has_run_out(
    standing: float, reinforced: int, updated: int
) -> None:
    life = Lifetime(standing, reinforced * DAY_MS, updated * DAY_MS, fades_at=1)
    found = fade_time("literal", life)
    assert found is not None

    def is_over(at: int) -> bool:
        days = days_of(strength_of(standing, life.reinforced_at, at))
        return days is not None and at >= life.updated_at + days * DAY_MS

    assert is_over(found + HOUR_MS)  # a tier's end is known to the hour's fraction that rounding leaves
    before = found - HOUR_MS
    assert before < life.reinforced_at or not is_over(before)


def test_ageing_can_be_off_and_what_never_fades_never_does() -> None:
    assert fade_time("off", Lifetime(0.1, 0, 0, 7 * DAY_MS)) is None
    assert fade_time("reinforced", Lifetime(0.1, 0, 0, 7 * DAY_MS)) == 7 * DAY_MS
    assert fade_time("literal", Lifetime(9.0, 0, 0, None)) is None


def test_the_tiers_sink() -> None:
    assert [days for _, days in TIERS] == sorted((days for _, days in TIERS), reverse=True)
