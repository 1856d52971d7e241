"""The collaborators that the shell gives to this house."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from msgspec import Struct

from protocol.hooks import TurnContext
from protocol.memory.reads import SearchParams, SearchResult
from protocol.seams.house_facts import ReadThread, WorkspaceExists
from protocol.seams.ports import (
    Clock,
    Ids,
    JobQueue,
    KeyedHash,
    Lexicon,
    Meaning,
    Notify,
    SecretScanner,
    Spawn,
    Transact,
    Tx,
)
from protocol.seams.safe_files import CollectionLocks, FolderWatcher, SafeRoot
from protocol.settings import KnowledgeSettings
from protocol.thread_episodic import ThreadSearchParams, ThreadSearchResult

if TYPE_CHECKING:
    from knowledge.structure import ReadText

SUBJECT = "knowledge"
"""The subject of jobs that make vectors of pieces."""


class KnowledgeMeans(Struct, frozen=True, kw_only=True):
    """The collaborators of this house."""

    db: Transact
    clock: Clock
    ids: Ids
    keyed: KeyedHash
    lexicon: Lexicon
    meaning: Meaning
    scanner: SecretScanner
    jobs: JobQueue
    notify: Notify
    settings: Callable[[], KnowledgeSettings]
    home: str
    """The real path of the home; no collection may contain it."""
    user_folder: str
    """The real path of the user's own folder."""
    resolve_root: Callable[[str], SafeRoot]
    """Opens a folder that a person names, following links. Raises `UnsafeFileError`."""
    open_root: Callable[[str], SafeRoot]
    """Opens the folder of a collection. Raises `UnsafeFileError`, also where a link took its place."""
    reader: "Callable[[], AbstractAsyncContextManager[ReadText]]"
    """Begins a process that parses files; it ends with the block."""
    read_thread: ReadThread
    forget_quotations: Callable[[Tx, str], int]
    """Empties what answers of tools in turns quote of a collection; returns the number of these answers."""
    workspace_exists: WorkspaceExists
    search_memory: Callable[[SearchParams], Awaitable[SearchResult]]
    search_memory_in_turn: Callable[[TurnContext, SearchParams], Awaitable[SearchResult]]
    search_conversation: Callable[[ThreadSearchParams], Awaitable[ThreadSearchResult]]
    has_memory: Callable[[], bool]
    truncate_wal: Callable[[], Awaitable[bool]]
    """Writes the database's log into it and empties it; returns False where another process still reads it."""
    degrade: Callable[[str, str], object]
    recover: Callable[[str, str | None], None]
    has_code_structure: Callable[[], bool]
    """Returns whether the reader can find the functions and classes of code."""
    has_enricher: Callable[[], bool]
    """Returns whether a provider has the role `enricher`."""
    spawn: Spawn
    watch_folders: Callable[[str, Sequence[str], Callable[[set[str]], None]], FolderWatcher]
    """Watches folders below a root and calls back with changed paths. Raises `WatchRefusedError`."""
    locks: CollectionLocks
