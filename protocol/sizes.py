"""Counts of the data that a turn could look up: a planning model gets them instead of contents.

Rule 1: the owners keep these counts anyway; no rows are read for them.
"""

from collections.abc import Callable
from typing import TypeAlias

from protocol.base import ScopeKind, Wire
from protocol.hooks import TurnContext
from protocol.seams.ports import Tx


class ScopeSize(Wire):
    """The number of active memories in a scope of a turn."""

    kind: ScopeKind
    count: int


class ConversationSize(Wire):
    """The conversation that a turn may search: threads and chunks of its workspace, and the earliest time."""

    threads: int
    chunks: int
    oldest_at: int | None


MeasureMemory: TypeAlias = Callable[[Tx, TurnContext], list[ScopeSize]]
"""(tx, turn): the sizes of the scopes that are active in the turn."""

MeasureConversation: TypeAlias = Callable[[Tx, TurnContext], ConversationSize]
"""(tx, turn): the conversation that the turn may search; zeros where recall of conversation is switched off."""
