"""The demands of a turn on a search of files; apart from the search, so that a hook imports this without that."""

from msgspec import Struct

from protocol.hooks import TurnContext


class SearchDemands(Struct, frozen=True):
    """The demands of a turn on a search beyond its options; by default none, as for a client."""

    turn: TurnContext | None = None
    """The turn that searches, by a tool or in recall."""
    recalled_only: bool = False
    """Only collections whose files are recalled in turns are searched."""
    floor: float = 0.0
    """The least score of a hit."""
    shown: frozenset[str] = frozenset()
    """Addresses that are in the prompt already."""


NO_DEMANDS = SearchDemands()
