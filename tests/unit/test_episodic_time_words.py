"""Which time a message names, in four languages."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thread_episodic.time_words import asks_when, find_time, fold, tells_time, zone_of

NOW = int(datetime(2026, 5, 13, 15, 30, tzinfo=UTC).timestamp() * 1000)  # a Wednesday


def days_of(text: str) -> tuple[str, str] | None:
    found = find_time(text, NOW, UTC)
    if found is None:
        return None
    ends = (datetime.fromtimestamp(at / 1000, UTC) for at in (found.from_at, found.to_at))
    first, last = (end.date().isoformat() for end in ends)
    return first, last


@pytest.mark.parametrize(
    ("phrase", "first", "last"),
    [
        ("yesterday", "2026-05-12", "2026-05-12"),
        ("the day before yesterday", "2026-05-11", "2026-05-11"),
        ("this morning", "2026-05-13", "2026-05-13"),
        ("last week", "2026-05-04", "2026-05-10"),
        ("this week", "2026-05-11", "2026-05-13"),
        ("last month", "2026-04-01", "2026-04-30"),
        ("two days ago", "2026-05-11", "2026-05-11"),
        ("3 days ago", "2026-05-10", "2026-05-10"),
        ("a week ago", "2026-05-03", "2026-05-09"),
        ("two months ago", "2026-03-01", "2026-03-31"),
        ("in March", "2026-03-01", "2026-03-31"),
        ("in December", "2025-12-01", "2025-12-31"),
        ("in May", "2026-05-01", "2026-05-13"),
        ("in March 2024", "2024-03-01", "2024-03-31"),
        ("on Monday", "2026-05-11", "2026-05-11"),
        ("last Wednesday", "2026-05-06", "2026-05-06"),
        ("вчера", "2026-05-12", "2026-05-12"),
        ("позавчера", "2026-05-11", "2026-05-11"),
        ("на прошлой неделе", "2026-05-04", "2026-05-10"),
        ("два дня назад", "2026-05-11", "2026-05-11"),
        ("неделю назад", "2026-05-03", "2026-05-09"),
        ("в марте", "2026-03-01", "2026-03-31"),
        ("в понедельник", "2026-05-11", "2026-05-11"),
        ("gestern", "2026-05-12", "2026-05-12"),
        ("letzte Woche", "2026-05-04", "2026-05-10"),
        ("vor zwei Tagen", "2026-05-11", "2026-05-11"),
        ("im März", "2026-03-01", "2026-03-31"),
        ("heute früh", "2026-05-13", "2026-05-13"),
        ("ayer", "2026-05-12", "2026-05-12"),
        ("la semana pasada", "2026-05-04", "2026-05-10"),
        ("hace dos días", "2026-05-11", "2026-05-11"),
        ("en marzo", "2026-03-01", "2026-03-31"),
        ("el lunes pasado", "2026-05-11", "2026-05-11"),
    ],
)
def test_phrase(phrase: str, first: str, last: str) -> None:
    assert days_of(f"What about the plan {phrase}?") == (first, last)
    assert days_of(phrase.capitalize()) == (first, last)


@pytest.mark.parametrize(
    "text",
    ["", "tomorrow", "May I ask?", "next week", "in March 2031", "the yesterdays", "ago", "march on", "two days", "завтра",
     "morgen", "mañana", "in 5 days", "Monday-ish"],
)  # fmt: skip
def test_no_past_is_named(text: str) -> None:
    assert find_time(text, NOW, UTC) is None


def test_the_day_begins_in_the_zone_of_the_user() -> None:
    found = find_time("yesterday", NOW, ZoneInfo("Asia/Tokyo"))  # there it is already the 14th
    assert found is not None
    assert datetime.fromtimestamp(found.from_at / 1000, UTC) == datetime(2026, 5, 12, 15, tzinfo=UTC)
    assert found.to_at - found.from_at == 86_400_000 - 1


def test_two_times_span_both_and_the_places_are_told() -> None:
    text = "Yesterday or last week?"
    found = find_time(text, NOW, UTC)
    assert found is not None
    assert [text[start:end] for start, end in found.spans] == ["Yesterday", "last week"]
    assert days_of(text) == ("2026-05-04", "2026-05-12")


def test_an_unknown_zone_is_utc() -> None:
    assert zone_of("Nowhere/Atall") is UTC
    assert zone_of("../etc/passwd") is UTC


@given(st.text(max_size=80), st.integers(0, 4_000_000_000_000))
def test_nothing_lies_ahead_and_places_are_kept(text: str, now: int) -> None:
    found = find_time(text + " 2 weeks ago", now, UTC)
    assert len(fold(text)) == len(text)
    assert found is not None
    assert found.from_at <= found.to_at <= now


@pytest.mark.parametrize(
    ("text", "tells"),
    [
        ("It cracked yesterday.", True), ("Das war vor zwei Tagen", True), ("Мы говорили на прошлой неделе", True),
        ("fue el mes pasado", True), ("It cracked badly.", False), ("", False), ("yesterdays", False),
    ],
)  # fmt: skip
def test_whether_a_text_tells_a_time(text: str, *, tells: bool) -> None:
    assert tells_time(text) is tells


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("When did it crack?", True), ("what year was it", True), ("Wann war das?", True), ("¿Cuándo fue?", True),
        ("Когда это было?", True), ("How did it crack?", False), ("whenever you like", False),
    ],
)  # fmt: skip
def test_whether_a_question_is_for_a_time(text: str, *, asks: bool) -> None:
    assert asks_when(text) is asks
