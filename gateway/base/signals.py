"""A signal carries an event from beneath the houses to the objects above that act on it.

Rule 1: the source is built first and knows none of them; each of them connects when it is built.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Signal(Generic[T]):
    """Calls everything connected, in order, on the event loop."""

    def __init__(self) -> None:
        self._connected: list[Callable[[T], object]] = []

    def connect(self, act: Callable[[T], object]) -> None:
        """Call `act` with every value from now on."""
        self._connected.append(act)

    def send(self, value: T) -> None:
        """Call everything connected with the value."""
        for act in self._connected:
            act(value)
