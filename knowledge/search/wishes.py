"""The wish of a turn that searches files, which its hooks state before the search itself is imported."""

from msgspec import Struct

from protocol.hooks import TurnContext


class Wish(Struct, frozen=True):
    """The wish of a turn beyond the options of a search. By default there is none: a client asks."""

    turn: TurnContext | None = None
    """The turn that asks, by a tool or before its model is asked."""
    recalled_only: bool = False
    """Only collections whose files are recalled in turns."""
    floor: float = 0.0
    shown: frozenset[str] = frozenset()
    """Addresses that are in its prompt already."""


ASKED_BY_CLIENT = Wish()
