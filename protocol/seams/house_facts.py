"""The facts that houses read of one another's rows, and the calls by which they give them.

Rule 1: only shapes live here; `gateway/wiring.py` and `gateway/house_means.py` hand each house the calls of the others.
Rule 2: a call that takes a `Tx` runs within that transaction and keeps nothing of it.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeAlias

from protocol.base import Wire
from protocol.conversation.manifests import SourceRef
from protocol.conversation.turns import Turn
from protocol.conversation.values import MemoryMode, Role, ThreadOrigin
from protocol.gateway import HookRun
from protocol.hooks import DurablePlan, EpisodicPlan, FilesPlan, TurnContext
from protocol.seams.ports import Tx


class ItemFact(Wire):
    """A stored message as the other houses may know it.

    `indexable` is true for whole messages of users and assistants and for a host's summaries of its tools. It is false
    in threads that ignore memory, while the turn goes on, and for a row that was altered in the file (`is_altered`).
    """

    item_id: str
    turn_id: str
    thread_id: str
    workspace_id: str
    role: Role
    name: str | None
    text: str
    at: int
    turn_seq: int
    item_seq: int
    indexable: bool
    thread_name: str | None = None
    is_altered: bool = False


ReadItems: TypeAlias = Callable[[Tx, Collection[str]], Mapping[str, ItemFact]]
"""Items by id; an unknown or deleted id is absent."""

OnItems: TypeAlias = Callable[[Tx, Sequence[ItemFact]], None]
"""Called in the transaction that stores (or replaces) items, with their facts."""

OnItemsRemoved: TypeAlias = Callable[[Tx, Collection[str]], None]
"""Called in the transaction that removes items, before they go, with their ids."""


class ThreadFact(Wire):
    """The facts of a thread for other houses."""

    thread_id: str
    workspace_id: str
    agent_id: str | None
    parent_thread_id: str | None
    task_id: str | None
    memory_mode: MemoryMode
    origin: ThreadOrigin
    name: str | None


ReadThread: TypeAlias = Callable[[Tx, str], ThreadFact | None]
"""A thread by id, or None."""

WorkspaceExists: TypeAlias = Callable[[Tx, str], bool]
"""(tx, workspace id): whether there is such a workspace, and it is not being deleted."""

OnDeleted: TypeAlias = Callable[[Tx, str], Mapping[str, int]]
"""Called in the transaction that deletes a thread (or workspace) with its id; returns what was removed, per store."""


class TurnTrace(Wire):
    """All that is kept of a turn for an explanation."""

    turn: Turn
    runs: list[HookRun]


ReadTurn: TypeAlias = Callable[[Tx, str], TurnTrace | None]
"""A turn with its hook runs, or None."""

ReadRun: TypeAlias = Callable[[Tx, str], HookRun | None]
"""A hook run, or None."""

ProposeEpisodic: TypeAlias = Callable[[str, TurnContext], EpisodicPlan]
"""The conversation part of the local plan for a message; pure."""

ProposeFiles: TypeAlias = Callable[[str, TurnContext], tuple[FilesPlan, list[str]]]
"""The files part of the local plan, and the file tools that the message may need; pure."""

ProposeDurable: TypeAlias = Callable[[str, TurnContext], tuple[DurablePlan, list[str]]]
"""The memory part of the local plan, and the memory tools that the message may need; pure."""

EchoSpans: TypeAlias = Callable[[Tx, str, str], list[tuple[int, int]]]
"""(tx, workspace_id, text) → half-open ranges of the text that are lines which the gateway itself injected before."""


Marks: TypeAlias = Callable[[Tx, Sequence[SourceRef]], Mapping[str, bytes]]
"""(tx, sources): the mark of each source that may be shown, by id; it changes whenever the source's text does.

A source that was forgotten, excluded, muted or removed has none.
"""
