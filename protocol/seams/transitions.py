"""Lives of stored things as tables: state → event → next state.

Rule 1: a table is the only place that says which moves there are; a statement that sets a state makes one of them.
"""

from collections.abc import Mapping
from typing import TypeVar

from protocol.errors import Defect

StateT = TypeVar("StateT", bound=str)
EventT = TypeVar("EventT", bound=str)


class IllegalMoveError(Defect):
    """Something was asked for a move that its state does not have."""

    def __init__(self, state: str, event: str) -> None:
        super().__init__(message=f"what is {state} cannot {event}")


def after(table: Mapping[StateT, Mapping[EventT, StateT]], state: StateT, event: EventT) -> StateT:
    """Return the state that follows. Raises `IllegalMoveError`."""
    try:
        return table[state][event]
    except KeyError:
        raise IllegalMoveError(state, event) from None
