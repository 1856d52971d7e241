"""Ports of this house, beside the seams of `protocol/`.

Rule 1: wiring hands everything in; nothing here is global.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from protocol.memory.forgetting import LeftPlace
from protocol.saying import Saying
from protocol.seams.callers import RequestCaller
from protocol.seams.file_evidence import FileEvidence
from protocol.seams.forgettings import EndRuns, GenerationOfTurn, OpenRuns
from protocol.seams.house_facts import EchoSpans, ReadItems, ReadRun, ReadThread, ReadTurn, WorkspaceExists
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
from protocol.seams.shelves import Searched
from protocol.settings import MemorySettings, RecallSettings

TruncateWal: TypeAlias = Callable[[], Awaitable[bool]]
"""Wipes free room and empties the write-ahead log, so that no file of the home holds erased words; returns False where
it could not: another reader still needs the old state."""

ReportDamage: TypeAlias = Callable[[int], None]
"""(count): reports how many records fail their own checksum; called on the event loop."""

ReportIndex: TypeAlias = Callable[[Sequence[str], bool], None]
"""(reasons, has failed): reports what is wrong with rows derived of records; no reasons where these are whole."""

SearchedSpace: TypeAlias = Callable[[Tx], int | None]
"""Returns the row of the vector space that searches use, whether its model is loaded or not; None where there is no
such space."""

LookIntoFiles: TypeAlias = Callable[[Saying], Awaitable[Sequence[LeftPlace]]]
"""Returns each file of the home that holds these words and that the gateway never edits."""

ForgetCopies: TypeAlias = Callable[[Tx, Mapping[str, Sequence[str]]], int]
"""(tx, words by memory id): empties the arguments and answers of tools that hold these memories; returns how many
there were."""

CallerOfTurn: TypeAlias = Callable[[Tx, str], RequestCaller | None]
"""(tx, turn): returns the door and the client that began a turn; None where neither is known."""

FindRequestBefore: TypeAlias = Callable[[Tx, str], str]
"""(tx, turn): returns the user's last words before a turn; "" where there are none."""

ListTextsOfOthers: TypeAlias = Callable[[Tx, str, int], Sequence[str]]
"""(tx, turn, limit): returns texts that reached the turn's conversation and are not its user's, newest first."""

TurnsShown: TypeAlias = Callable[[Tx, str, int], Sequence[tuple[str, str, int]]]
"""(tx, memory, limit): returns thread, turn and Unix milliseconds of the turns in whose prompt a memory stood, newest
first."""

Backups: TypeAlias = Callable[[], list[str]]
"""Returns the names of the backups that lie in the home; a forgetting takes nothing out of those."""


class Collaborators(Struct, frozen=True, kw_only=True):
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
    settings: Callable[[], MemorySettings]
    recall_settings: Callable[[], RecallSettings]
    read_items: ReadItems
    read_thread: ReadThread
    workspace_exists: WorkspaceExists
    read_turn: ReadTurn
    read_run: ReadRun
    generation_of_turn: GenerationOfTurn
    caller_of_turn: CallerOfTurn
    turns_shown: TurnsShown
    find_request_before: FindRequestBefore
    list_texts_of_others: ListTextsOfOthers
    open_runs: OpenRuns
    end_runs: EndRuns
    echo_spans: EchoSpans
    read_date: ReadDate
    searched: Sequence[Searched]
    """The searches of other houses through the texts that they keep."""
    look_into_files: LookIntoFiles
    forget_copies: ForgetCopies
    files: FileEvidence | None
    """Files of the user that memories were taken from; None where none are looked at."""
    report_damage: ReportDamage
    report_index: ReportIndex
    searched_space: SearchedSpace
    truncate_wal: TruncateWal
    backups: Backups
    owner: str
    """The id of this process among those of the home: its own changes are known to it."""
