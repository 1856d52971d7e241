"""The life of a job: every pair of state and event is either a move of the table or an error."""

from itertools import product
from typing import get_args

import pytest
from cases import each

from gateway.jobs.states import TRANSITIONS, JobEvent
from protocol.seams.ports import JobState
from protocol.seams.transitions import IllegalMoveError, after

STATES: tuple[JobState, ...] = get_args(JobState)
EVENTS: tuple[JobEvent, ...] = get_args(JobEvent)

MOVES: dict[tuple[str, str], str] = {
    ("queued", "claim"): "leased",
    ("queued", "cancel"): "cancelled",
    ("leased", "finish"): "done",
    ("leased", "fail"): "retry_wait",
    ("leased", "give_up"): "dead",
    ("leased", "release"): "queued",
    ("leased", "cancel"): "cancelled",
    ("retry_wait", "claim"): "leased",
    ("retry_wait", "due"): "queued",
    ("retry_wait", "cancel"): "cancelled",
    ("dead", "requeue"): "queued",
    ("dead", "cancel"): "cancelled",
}


@each(("state", "event"), product(STATES, EVENTS))
def test_each_pair_is_a_move_or_an_error(state: JobState, event: JobEvent) -> None:
    if (state, event) in MOVES:
        assert after(TRANSITIONS, state, event) == MOVES[state, event]
    else:
        with pytest.raises(IllegalMoveError, match=f"{state} cannot {event}"):
            after(TRANSITIONS, state, event)


def test_the_table_knows_every_state_and_nothing_else() -> None:
    assert set(TRANSITIONS) == set(STATES)
    assert {event for moves in TRANSITIONS.values() for event in moves} == set(EVENTS)


FINAL = {"cancelled", "done"}


def test_final_states_are_those_without_a_move() -> None:
    assert {state for state, moves in TRANSITIONS.items() if not moves} == FINAL


def test_every_state_is_reached_from_the_first() -> None:
    reached, todo = set[str](), ["queued"]
    while todo:
        state = todo.pop()
        if state not in reached:
            reached.add(state)
            todo += [target for (source, _), target in MOVES.items() if source == state]
    assert reached == set(STATES)


def test_every_unfinished_state_can_end() -> None:
    for state in set(STATES) - FINAL:
        assert after(TRANSITIONS, state, "cancel") == "cancelled"
