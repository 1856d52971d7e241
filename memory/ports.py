"""What this house needs from outside, beside the seams of `protocol/`.

Rule 1: wiring hands everything in; nothing here is global.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from protocol.hooks import EchoSpans, ReadItems, ReadRun, ReadThread, ReadTurn, WorkspaceExists
from protocol.ports import Clock, Ids, JobQueue, KeyedHash, Lexicon, Notify, SecretScanner, Transact
from protocol.settings import MemorySettings

TruncateWal: TypeAlias = Callable[[], Awaitable[bool]]
"""Moves the WAL into the database and empties it; False while another reader holds it."""


class Embedder(Protocol):
    """Turns text into unit vectors of one space. Absent while semantic search is off."""

    model: str
    dim: int

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        """One float16 vector of `dim` numbers for each text."""
        ...


@dataclass(frozen=True, kw_only=True)
class Collaborators:
    """Everything that the parts of this house share."""

    db: Transact
    clock: Clock
    ids: Ids
    keyed: KeyedHash
    lexicon: Lexicon
    scanner: SecretScanner
    jobs: JobQueue
    notify: Notify
    settings: Callable[[], MemorySettings]
    default_workspace: Callable[[], str | None]
    read_items: ReadItems
    read_thread: ReadThread
    workspace_exists: WorkspaceExists
    read_turn: ReadTurn
    read_run: ReadRun
    echo_spans: EchoSpans
    truncate_wal: TruncateWal
    owner: str
