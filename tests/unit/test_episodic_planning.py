"""Which messages ask for earlier talk, and what is searched for them."""

from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.base.written_dates import WrittenDates
from promt.intents import detect
from protocol.conversation.turns import TurnOptions
from protocol.hooks import TurnContext
from thread_episodic.search.planning import make_planner
from thread_episodic.search.pointing import MAX_QUERY_CHARS

NOW = 1_778_686_200_000  # Wednesday, 13 May 2026
DAY = 86_400_000
MAX_QUERIES = 3  # the contract's bound for a plan
TURN = TurnContext(
    workspace_id="a",
    thread_id="a_1",
    turn_id="t_now",
    agent_id=None,
    task_id=None,
    parent_thread_id=None,
    mode="agent",
    memory_mode="normal",
    origin="user",
    driver="gateway",
    options=TurnOptions(),
    now=NOW,
    time_zone="UTC",
)
read_date = WrittenDates()
propose = make_planner(lambda text: detect(text).refers_to_history, read_date)
propose_blindly = make_planner(lambda _: False, read_date)


@pytest.mark.parametrize(
    "text",
    [
        "Write a haiku about rain.",
        "What is the capital of Peru?",
        "Remind me tomorrow.",
        "What happened in March 1917?",
        "I was in Rome last week.",
        "Fix the bug.",
        "",
        "Was ist das?",
    ],
)
def test_what_does_not_refer_to_earlier_talk_is_not_searched(text: str) -> None:
    plan = propose_blindly(text, TURN)
    assert (plan.status, plan.queries) == ("skip", [])


@pytest.mark.parametrize(
    "text",
    [
        "What did we choose in March?",
        "What had you told me on Monday about it?",
        "Что мы выбрали в марте?",
        "Was haben wir am Montag beschlossen?",
        "¿Qué decidimos nosotros en marzo?",
    ],
)
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
    assert (anytime.query, anytime.from_at, anytime.to_at) == (timed.query, None, None)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("What did we decide about the valve on 21 April?", "2026-04-21"),
        ("Was haben wir am 3. Mai über das Ventil gesagt?", "2026-05-03"),
        ("Что мы решили про кран 24 декабря 2025 года?", "2025-12-24"),
        ("¿Qué dijimos de la válvula el 7 de enero?", "2026-01-07"),
    ],
)
def test_a_date_is_a_time_too(text: str, day: str) -> None:
    timed, *_, anytime = propose_blindly(text, TURN).queries
    assert timed.from_at is not None
    assert datetime.fromtimestamp(timed.from_at / 1000, UTC).date().isoformat() == day
    assert anytime.from_at is None
    assert len(anytime.query) < len(text)


@settings(deadline=None)  # the first date loads what reads dates
@given(
    st.sampled_from(
        ["What did we say of the boiler", "What did you say above about the valve", "Was haben wir zum Kessel"]
    ),
    st.sampled_from(["yesterday", "in March", "on 3 May", "last week", "gestern", "on 31 June", ""]),
)
def test_whatever_time_is_guessed_all_time_is_searched_too(asked: str, when: str) -> None:
    queries = make_planner(lambda _: True, read_date)(f"{asked} {when}?", TURN).queries
    assert 0 < len(queries) <= MAX_QUERIES
    last = queries[-1]
    assert (last.mode, last.from_at, last.to_at, last.newest) == ("workspace_threads", None, None, False)
    assert any(word in last.query for word in ("boiler", "valve", "Kessel"))


def test_a_question_for_nothing_but_a_time_asks_for_all_that_was_said_then() -> None:
    (query,) = propose("What did we talk about yesterday?", TURN).queries
    assert (query.query, query.newest, query.to_at and query.to_at < NOW) == ("", True, True)


def test_a_question_for_decisions_asks_for_the_newest_that_sounds_like_one() -> None:
    (query,) = propose("What did we decide earlier?", TURN).queries
    assert (query.newest, query.from_at, query.to_at) == (True, None, None)
    assert "agreed" in query.query.split()


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("continue the implementation plan from earlier", "implementation plan from"),
        ("find the message where we decided to remove that fallback", "remove fallback"),
        ("use the API constraints we discussed above", "use API constraints above"),
    ],
)
def test_words_that_only_point_leave_the_query(text: str, subject: str) -> None:
    assert propose(text, TURN).queries[-1].query == subject


@pytest.mark.parametrize(
    ("text", "is_asked"),
    [
        ("What did we decide yesterday?", True),
        ("You told me a joke about penguins once, tell it again", True),
        ("what was the plan from yesterday's architecture discussion?", True),
        ("What is the difference between yesterday and today in Japanese?", False),
        ("I was rude to the cashier yesterday. Should I apologize?", False),
        ("If you wanted to cook for ten, what would you do?", False),
        ("What was the last message sent by the rover?", False),
    ],
)
def test_a_time_alone_does_not_ask_for_our_talk(text: str, is_asked: bool) -> None:  # noqa: FBT001
    assert propose(text, TURN).is_asked == is_asked


def test_without_a_time_all_of_the_workspace_is_searched() -> None:
    (query,) = propose("Which database did we decide on?", TURN).queries
    assert (query.mode, query.query, query.from_at) == ("workspace_threads", "database ?", None)


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
