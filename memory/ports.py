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
"""Makes sure that no file of the home holds what was erased; False while another reader holds the old state."""

ReportDamage: TypeAlias = Callable[[int], None]
"""Tells how many records fail their own checksum; called on the event loop."""

ReportIndex: TypeAlias = Callable[[Sequence[str], bool], None]
"""(reasons, has failed): what is wrong with what is derived of records; no reasons where it is whole."""

SearchedSpace: TypeAlias = Callable[[Tx], int | None]
"""The row of the space of vectors that is searched, whether its model is loaded or not."""

LookIntoFiles: TypeAlias = Callable[[Saying], Awaitable[Sequence[LeftPlace]]]
"""Names each file of the home that says it and that nobody changes."""

ForgetCopies: TypeAlias = Callable[[Tx, Mapping[str, Sequence[str]]], int]
"""(tx, words by memory id): what tools were told or have shown of these memories is emptied; how many copies there
were."""


CallerOfTurn: TypeAlias = Callable[[Tx, str], RequestCaller | None]
"""The door and the client that began a turn; None where neither is known."""

FindRequestBefore: TypeAlias = Callable[[Tx, str], str]
"""Return the user's last words before a turn."""
ListTextsOfOthers: TypeAlias = Callable[[Tx, str, int], Sequence[str]]
"""Return texts, at most so many, that reached a turn's conversation and are not its user's."""
TurnsShown: TypeAlias = Callable[[Tx, str, int], Sequence[tuple[str, str, int]]]
"""(tx, memory, limit): thread, turn and time of the turns in whose prompt a memory stood, newest first."""

Backups: TypeAlias = Callable[[], list[str]]
"""The names of the copies of the home that lie in it; nothing is taken out of those."""


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
