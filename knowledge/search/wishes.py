"""The wish of a turn that searches files; apart from the search itself, so that hooks need not import that."""

from msgspec import Struct

from protocol.hooks import TurnContext


class Wish(Struct, frozen=True):
    """The demands of a turn on a search beyond its options; by default none, as for a client."""

    turn: TurnContext | None = None
    """The turn that searches, by a tool or in recall."""
    recalled_only: bool = False
    """Only collections whose files are recalled in turns are searched."""
    floor: float = 0.0
    """The least score of a hit."""
    shown: frozenset[str] = frozenset()
    """Addresses that are in the prompt already."""


ASKED_BY_CLIENT = Wish()
