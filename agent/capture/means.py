"""Collaborators of captures, and a captured message as its parts hand it to one another."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import NamedTuple

from msgspec import Struct

from agent.capture.identity import AskedMessage
from agent.threads.threads import Neighbours
from agent.turns.background import Background
from agent.turns.pipeline import Pipeline
from agent.turns.turns import Turns
from protocol.capture.calls import CaptureSource
from protocol.conversation.turns import TurnOptions
from protocol.conversation.values import RecallStatus
from protocol.seams.house_facts import Marks
from protocol.seams.ports import Clock, Ids, KeyedHash, Transact
from protocol.settings import GatewayConfig
from protocol.shown import ShownLine


class CaptureMeans(Struct, frozen=True, kw_only=True):
    """Collaborators of captures."""

    db: Transact
    clock: Clock
    ids: Ids
    keyed: KeyedHash
    turns: Turns
    pipeline: Pipeline
    background: Background
    marks: Marks
    neighbours: Neighbours
    settings: Callable[[], GatewayConfig]
    known_clients: Callable[[], Collection[str]]
    project_rules: Callable[[str, int], Awaitable[Sequence[ShownLine]]]
    """Returns what holds in a workspace, as lines of at most so many characters."""


class FoundMessage(NamedTuple):
    """A captured message and its place."""

    row: int
    workspace_id: str
    thread_id: str
    turn_id: str | None
    """None where nothing of it is kept."""
    asked: AskedMessage
    is_continuation: bool
    is_repeated: bool = False
    """The message was asked before, and keeps what it was given then."""
    is_of_subagent: bool = False
    begins: bool = False
    """No message of its conversation has gone out with what it was given."""
    is_stored: bool = False
    """Its turn is in the home."""
    running: str | None = None
    """An older turn of the conversation that waits for its answer still."""
    recall: RecallStatus | None = None


def options_of(means: CaptureMeans, source: CaptureSource, *, skip_recall: bool = False) -> TurnOptions:
    """Return the options of a captured turn. Unless all are learnt from, its client must be known, or name an agent.

    Nothing of files is recalled: a program reads them itself, and what a message was given is kept in lines of memory.
    """
    learn = means.settings().proxy.learn
    is_known = source.agent_id is not None or source.client in means.known_clients() or learn == "all"
    return TurnOptions(
        skip_recall=skip_recall, skip_files=True, unknown_client=not is_known, skip_retention=learn == "none"
    )
