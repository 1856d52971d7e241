"""The pauses of a transaction, by a clock of the test's own."""

import math
from types import SimpleNamespace

import pytest

from gateway.store import priority
from gateway.store.priority import ATTENTIVE_SECONDS, BREATH_SECONDS, STRIDE_SECONDS, Courtesy, RightOfWay


class Clock:
    """The time that the module reads, and the sleeps that it asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        self.slept: list[float] = []
        monkeypatch.setattr(priority, "time", SimpleNamespace(monotonic=lambda: self.now, sleep=self.slept.append))


def test_a_background_write_breathes_once_each_stride(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, way = Clock(monkeypatch), RightOfWay()
    way.asked_at = clock.now
    pause = Courtesy(way, lambda: False, is_background=True)
    statements = 40
    for _ in range(statements):
        pause()
        clock.now += STRIDE_SECONDS / 4
    breaths = len(clock.slept)
    assert set(clock.slept) == {BREATH_SECONDS}
    assert statements // 6 <= breaths <= statements // 4  # a breath is taken by the first statement behind its time


@pytest.mark.parametrize(("is_background", "asked_before"), [(False, 0.0), (True, ATTENTIVE_SECONDS), (True, math.inf)])
def test_no_breath_is_taken_where_it_would_help_nobody(
    monkeypatch: pytest.MonkeyPatch, *, is_background: bool, asked_before: float
) -> None:
    clock, way = Clock(monkeypatch), RightOfWay()
    way.asked_at = clock.now - asked_before
    pause = Courtesy(way, lambda: False, is_background=is_background)
    for _ in range(40):
        pause()
        clock.now += STRIDE_SECONDS
    assert clock.slept == []
