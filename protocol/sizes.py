"""How much a turn could look up: what a model that plans is told instead of contents.

Rule 1: counts that their owners keep anyway; nothing is gone through for them.
"""

from collections.abc import Callable
from typing import TypeAlias

from protocol.base import ScopeKind, Wire
from protocol.hooks import TurnContext
from protocol.seams.ports import Tx


class ScopeSize(Wire):
    """How many active memories a scope of a turn has."""

    kind: ScopeKind
    count: int


class ConversationSize(Wire):
    """How much conversation a turn may search: threads and chunks of its workspace, and since when."""

    threads: int
    chunks: int
    oldest_at: int | None


MeasureMemory: TypeAlias = Callable[[Tx, TurnContext], list[ScopeSize]]
"""The scopes that are active in a turn."""

MeasureConversation: TypeAlias = Callable[[Tx, TurnContext], ConversationSize]
"""Nothing where conversation is not recalled."""
