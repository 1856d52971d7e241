"""Which time a message names, in four languages."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from cases import each
from hypothesis import given, settings
from hypothesis import strategies as st
from processor import assert_cheap

from gateway.base.written_dates import WrittenDates
from promt import time_words
from promt.time_words import asks_when, fold, tells_time, zone_of

READ_DATE = WrittenDates()
find_time = partial(time_words.find_time, read_date=READ_DATE)
CORPUS = Path(__file__).resolve().parents[1] / "corpora" / "time_words" / "sentences.jsonl"
"""Questions and talk in four languages, a third of them without a time, with the days that they name on the day of
`NOW`."""
LEAST_RIGHT = 0.97
NOW = int(datetime(2026, 5, 13, 15, 30, tzinfo=UTC).timestamp() * 1000)  # a Wednesday


def days_of(text: str) -> tuple[str, str] | None:
    found = find_time(text, NOW, UTC)
    if found is None:
        return None
    ends = (datetime.fromtimestamp(at / 1000, UTC) for at in (found.from_at, found.to_at))
    first, last = (end.date().isoformat() for end in ends)
    return first, last


@each(
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
        ("a couple of days ago", "2026-05-09", "2026-05-11"),
        ("vor ein paar Wochen", "2026-04-12", "2026-05-02"),
        ("on 3 May", "2026-05-03", "2026-05-03"),
        ("on the 20th of May", "2025-05-20", "2025-05-20"),
        ("on December 24, 2025", "2025-12-24", "2025-12-24"),
        ("on 2026-04-02", "2026-04-02", "2026-04-02"),
        ("am 02.04.2026", "2026-04-02", "2026-04-02"),
        ("am 1. März", "2026-03-01", "2026-03-01"),
        ("21 апреля", "2026-04-21", "2026-04-21"),
        ("в августе 2024 года", "2024-08-01", "2024-08-31"),
        ("el 24 de diciembre de 2025", "2025-12-24", "2025-12-24"),
        ("del viernes pasado", "2026-05-08", "2026-05-08"),
    ],
)
def test_phrase(phrase: str, first: str, last: str) -> None:
    assert days_of(f"What about the plan {phrase}?") == (first, last)
    assert days_of(phrase.capitalize()) == (first, last)


@each(
    "text",
    [
        "",
        "tomorrow",
        "May I ask?",
        "next week",
        "in March 2031",
        "the yesterdays",
        "ago",
        "march on",
        "two days",
        "завтра",
        "morgen",
        "mañana",
        "in 5 days",
        "Monday-ish",
        "31 June",
        "45 May",
        "on 3 May 2031",
        "2026-13-45",
        "5 apples",
        "the 2nd of us",
        "may",
        "en mar abierto",
        "die Sache mit dem so",
        "What do we do?",
        "el sábado que viene",
    ],
)
def test_no_past_is_named(text: str) -> None:
    assert find_time(text, NOW, UTC) is None


def test_the_corpus() -> None:
    rows = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]
    untimed = [row for row in rows if row["first"] is None]
    assert len(rows) >= 120
    assert len(untimed) >= len(rows) // 3
    wrong = [row for row in rows if days_of(row["text"]) != (row["first"] and (row["first"], row["last"]))]
    assert len(wrong) <= (1 - LEAST_RIGHT) * len(rows), wrong
    assert not [row for row in wrong if row["first"] is None], "a time was guessed"


def test_no_rule_is_passed_over_that_would_match() -> None:
    for line in CORPUS.read_text(encoding="utf-8").splitlines():
        text = json.loads(line)["text"]
        folded = fold(text)
        assert tells_time(text) == any(rule.pattern.search(folded) for rule in time_words._rules()), text


def test_a_text_without_time_words_costs_little_and_loads_nothing() -> None:
    def read_date(*_: Any, **__: Any) -> None:
        raise AssertionError

    text = "The harbour crane lifts crates of tea, and 12 gulls sit on the 3rd pier. " * 110
    assert time_words.find_time(text, NOW, UTC, read_date) is None
    assert_cheap(lambda: time_words.find_time(text, NOW, UTC, read_date), 0.005)


def test_any_thread_may_read_dates() -> None:
    with ThreadPoolExecutor(4) as pool:
        days = [date(2026, 5, 1 + n % 20) for n in range(60)]
        found = list(pool.map(lambda today: READ_DATE("21 April", today), days))
    assert found == [(date(2026, 4, 21), "day")] * 60
    assert READ_DATE("im Mai", date(2026, 4, 30)) == (date(2025, 5, 30), "month")


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


@settings(deadline=None)  # the first date loads what reads dates
@given(st.text(max_size=80), st.integers(0, 4_000_000_000_000))
def test_nothing_lies_ahead_and_places_are_kept(text: str, now: int) -> None:
    found = find_time(text + " 2 weeks ago", now, UTC)
    assert len(fold(text)) == len(text)
    assert found is not None
    assert found.from_at <= found.to_at <= now


@pytest.mark.parametrize(
    ("text", "tells"),
    [
        ("It cracked yesterday.", True),
        ("Das war vor zwei Tagen", True),
        ("Мы говорили на прошлой неделе", True),
        ("fue el mes pasado", True),
        ("It cracked badly.", False),
        ("", False),
        ("yesterdays", False),
    ],
)
def test_whether_a_text_tells_a_time(text: str, *, tells: bool) -> None:
    assert tells_time(text) is tells


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("When did it crack?", True),
        ("what year was it", True),
        ("Wann war das?", True),
        ("¿Cuándo fue?", True),
        ("Когда это было?", True),
        ("How did it crack?", False),
        ("whenever you like", False),
    ],
)
def test_whether_a_question_is_for_a_time(text: str, *, asks: bool) -> None:
    assert asks_when(text) is asks


@pytest.mark.parametrize("text", ["What did we say yesterday?{}", "{}What did we say yesterday?"])
def test_of_a_long_text_its_beginning_and_end_are_read_and_places_are_right(text: str) -> None:
    whole = text.format(" lorem ipsum dolor on 2024-01-01" * 2000)
    found = find_time(whole, NOW, UTC)
    assert found is not None
    assert [whole[start:end] for start, end in found.spans] == ["yesterday"]


def test_a_pasted_log_costs_no_more_than_a_few_dates() -> None:
    log = "".join(f"2026-04-{1 + n % 28:02} 12:00:{n % 60:02} INFO worker {n} finished\n" for n in range(20_000))
    find_time("on 3 April 2026", NOW, UTC)
    assert find_time(f"Why does this fail?\n{log}", NOW, UTC) is None
    assert_cheap(lambda: find_time(f"Why does this fail?\n{log}", NOW, UTC), 0.5)
