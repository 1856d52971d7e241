"""Which messages ask for earlier talk, and what is searched for them."""

from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.written_dates import WrittenDates
from promt.phrases import detect
from protocol.hooks import TurnContext
from protocol.threads import TurnOptions
from thread_episodic.planning import MAX_QUERIES, MAX_QUERY_CHARS, make_planner

NOW = 1_778_686_200_000  # Wednesday, 13 May 2026
DAY = 86_400_000
TURN = TurnContext(
    workspace_id="a", thread_id="a_1", turn_id="t_now", agent_id=None, task_id=None, parent_thread_id=None, mode="agent",
    memory_mode="normal", origin="user", driver="gateway", options=TurnOptions(), now=NOW, time_zone="UTC",
)  # fmt: skip
read_date = WrittenDates()
propose = make_planner(lambda text: detect(text).refers_to_history, read_date)
propose_blindly = make_planner(lambda _: False, read_date)


@pytest.mark.parametrize(
    "text",
    ["Write a haiku about rain.", "What is the capital of Peru?", "Remind me tomorrow.", "What happened in March 1917?",
     "I was in Rome last week.", "Fix the bug.", "", "Was ist das?"],
)  # fmt: skip
def test_what_does_not_refer_to_earlier_talk_is_not_searched(text: str) -> None:
    plan = propose_blindly(text, TURN)
    assert (plan.status, plan.queries) == ("skip", [])


@pytest.mark.parametrize(
    "text",
    ["What did we choose in March?", "What had you told me on Monday about it?", "Что мы выбрали в марте?",
     "Was haben wir am Montag beschlossen?", "¿Qué decidimos nosotros en marzo?"],
)  # fmt: skip
def test_a_question_about_our_past_at_a_time_refers_to_it(text: str) -> None:
    assert propose_blindly(text, TURN).status == "recall"


def test_a_named_time_is_searched_first_and_all_time_after_it() -> None:
    timed, anytime = propose("What was the valve size we picked two days ago?", TURN).queries
    assert timed.mode == anytime.mode == "workspace_threads"
    assert timed.from_at is not None
    assert timed.to_at is not None
    assert timed.from_at <= NOW - 2 * DAY <= timed.to_at < NOW - DAY
    assert "ago" not in timed.query
    assert "valve size" in timed.query
    assert (anytime.query, anytime.from_at, anytime.to_at) == (
        "What was the valve size we picked two days ago?",
        None,
        None,
    )


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("What did we decide about the valve on 21 April?", "2026-04-21"), ("Was haben wir am 3. Mai über das Ventil gesagt?", "2026-05-03"),
        ("Что мы решили про кран 24 декабря 2025 года?", "2025-12-24"), ("¿Qué dijimos de la válvula el 7 de enero?", "2026-01-07"),
    ],
)  # fmt: skip
def test_a_date_is_a_time_too(text: str, day: str) -> None:
    timed, *_, anytime = propose_blindly(text, TURN).queries
    assert timed.from_at is not None
    assert datetime.fromtimestamp(timed.from_at / 1000, UTC).date().isoformat() == day
    assert (anytime.query, anytime.from_at) == (text, None)


@settings(deadline=None)  # the first date loads what reads dates
@given(
    st.sampled_from(["What did we talk about", "What did you say above about the valve", "Was haben wir weiter oben"]),
    st.sampled_from(["yesterday", "in March", "on 3 May", "last week", "gestern", "on 31 June", ""]),
)
def test_whatever_time_is_guessed_all_time_is_searched_too(asked: str, when: str) -> None:
    queries = make_planner(lambda _: True, read_date)(f"{asked} {when}?", TURN).queries
    assert 0 < len(queries) <= MAX_QUERIES
    last = queries[-1]
    assert (last.mode, last.query, last.from_at, last.to_at) == ("workspace_threads", f"{asked} {when}?", None, None)


def test_a_question_for_nothing_but_a_time_asks_for_all_that_was_said_then() -> None:
    queries = propose("What did we talk about yesterday?", TURN).queries
    assert [(query.query, query.from_at is None) for query in queries] == [
        ("What did we talk about ?", False), ("", False), ("What did we talk about yesterday?", True),
    ]  # fmt: skip


def test_without_a_time_all_of_the_workspace_is_searched() -> None:
    (query,) = propose("Which database did we decide on?", TURN).queries
    assert (query.mode, query.query, query.from_at) == ("workspace_threads", "Which database did we decide on?", None)


def test_what_was_said_here_is_searched_here_first() -> None:
    queries = propose("What did you say earlier in this chat about the valve?", TURN).queries
    assert [query.mode for query in queries] == ["current_thread", "workspace_threads"]


def test_a_plan_is_within_the_bounds_of_the_contract() -> None:
    text = "Some background. " * 40 + "What did you say earlier here about the valve we discussed yesterday?"
    queries = propose(text, TURN).queries
    assert 0 < len(queries) <= 3
    assert all(len(query.query) <= MAX_QUERY_CHARS for query in queries)
    assert "valve" in queries[0].query


@pytest.mark.parametrize("change", [{"mode": "chat"}, {"memory_mode": "ignored"}])
def test_no_plan_where_nothing_is_recalled(change: dict[str, str]) -> None:
    turn = msgspec.structs.replace(TURN, **change)
    assert propose("What did we decide yesterday?", turn).status == "skip"
