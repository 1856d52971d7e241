"""What of a message only points, which thread it names, and what a fact says already."""

from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.base.written_dates import WrittenDates
from promt.time_words import find_time
from thread_episodic.search.pointing import find_named_thread, is_said_already, subject_of, understood, without_times

NOW = 1_778_686_200_000  # Wednesday, 13 May 2026
NAMES = {"t1": {"marathon", "train"}, "t2": {"research"}, "t3": {"flea", "market", "camera"}, "t4": {"market", "stall"}}


@pytest.mark.parametrize(
    ("said", "thread"),
    [
        ({"pace", "marathon", "train"}, "t1"),
        ({"research", "plan"}, "t2"),
        ({"flea", "camera"}, "t3"),
        ({"camera"}, None),
        ({"market"}, "t4"),
        ({"research", "marathon", "train"}, None),
        (set(), None),
    ],
)
def test_a_thread_is_named_by_its_name_or_the_larger_part_of_it(said: set[str], thread: str | None) -> None:
    assert find_named_thread(said, NAMES) == thread


def test_no_thread_is_named_where_none_has_a_name() -> None:
    assert find_named_thread({"research"}, {"t1": set()}) is None


@given(st.text(max_size=200))
def test_a_subject_is_the_message_with_words_left_out(text: str) -> None:
    left = iter("".join(text.split()))
    assert all(char in left for char in "".join(subject_of(text).split()))


@pytest.mark.parametrize("text", ["What did we talk about?", "worüber haben wir gesprochen?", "о чём мы говорили?", ""])
def test_a_message_may_have_no_subject(text: str) -> None:
    assert subject_of(text) == ""


def test_the_time_that_was_understood_is_told_in_the_words_of_the_query() -> None:
    text = "the valve of yesterday"
    when = find_time(text, NOW, UTC, WrittenDates())
    assert when is not None
    assert understood(text, when).text == "yesterday"
    assert (without_times(text, when), without_times(text, None)) == ("the valve of", text)


@pytest.mark.parametrize(
    ("snippet", "asked", "is_said"),
    [
        ({"anna", "live", "oslo"}, {"anna", "live"}, True),
        ({"anna", "live", "oslo", "sister"}, {"anna"}, True),
        ({"anna", "live", "oslo", "sister", "since", "may"}, {"anna", "since"}, False),  # it has more of the question
        ({"anna", "plays", "cello"}, {"anna"}, False),
        (set(), {"anna"}, False),
    ],
)
def test_a_fact_says_what_a_snippet_says(snippet: set[str], asked: set[str], is_said: bool) -> None:  # noqa: FBT001
    assert is_said_already(snippet, asked, [{"user", "sister", "anna", "live", "oslo"}]) == is_said
