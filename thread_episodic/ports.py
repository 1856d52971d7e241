"""Ports of this house beyond the shared ones, as named callables and protocols."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from protocol.conversation.artifacts import ArtifactRef
from protocol.seams.house_facts import EchoSpans, ReadItems, ReadThread, WorkspaceExists
from protocol.seams.ports import (
    Clock,
    Ids,
    JobQueue,
    KeyedHash,
    Lexicon,
    Meaning,
    Notify,
    ReadDate,
    SecretScanner,
    Transact,
    Tx,
)
from protocol.settings import ThreadEpisodicSettings
from protocol.thread_episodic import IndexRepair

Settings: TypeAlias = Callable[[], ThreadEpisodicSettings]
"""The settings in force; asked at every use, so that changes apply live."""

TurnItems: TypeAlias = Callable[[Tx, Sequence[str]], Mapping[str, Mapping[str, int]]]
"""(tx, turn ids): for each turn its item ids in order, each with the length of its text in bytes."""

ThreadTurns: TypeAlias = Callable[[Tx, str], list[str]]
"""(tx, thread id): the turn ids of a thread, in order."""

WorkspaceThreads: TypeAlias = Callable[[Tx, str], list[str]]
"""(tx, workspace id): the thread ids of a workspace."""

ThreadNames: TypeAlias = Callable[[Tx, str, int], Mapping[str, str]]
"""(tx, workspace id, limit): the names of a workspace's threads, by thread id."""

ReadArtifacts: TypeAlias = Callable[[Tx, Sequence[str]], Mapping[str, list[ArtifactRef]]]
"""The files that messages carried, by item id; an item without any may be absent."""

ItemsAfter: TypeAlias = Callable[[Tx, int, int], list[tuple[int, str]]]
"""(tx, after, limit): the next messages of users and assistants as (row, item id), by row."""

SearchedSpace: TypeAlias = Callable[[Tx], int | None]
"""The space that searches compare in, whether its model is loaded or not; None where there is none."""

ReportDamage: TypeAlias = Callable[[Sequence[str], bool], None]
"""(reasons, has failed): the kinds of damage that the index has at present, none where it is whole, and whether their
repair has failed. Called on the event loop."""

RepairState: TypeAlias = Callable[[Tx], IndexRepair]
"""The progress of the index's repair."""

Paused: TypeAlias = Callable[[], tuple[str, str] | None]
"""The component and the reason that hold the index queue, or None."""


class EpisodicMeans(Struct, frozen=True, kw_only=True):
    """Everything that the parts of this house share."""

    db: Transact
    clock: Clock
    ids: Ids
    keyed: KeyedHash
    lexicon: Lexicon
    meaning: Meaning
    scanner: SecretScanner
    jobs: JobQueue
    notify: Notify
    settings: Settings
    cache_seconds: Callable[[], int]
    read_items: ReadItems
    read_thread: ReadThread
    workspace_exists: WorkspaceExists
    echo_spans: EchoSpans
    turn_items: TurnItems
    thread_turns: ThreadTurns
    workspace_threads: WorkspaceThreads
    thread_names: ThreadNames
    read_artifacts: ReadArtifacts
    paused: Paused
    read_date: ReadDate
    items_after: ItemsAfter
    searched_space: SearchedSpace
    report_damage: ReportDamage
