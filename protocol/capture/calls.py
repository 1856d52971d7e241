"""The calls of doors for conversations that come through programs which know no memory, with their answers."""

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from protocol.base import WITHOUT_NUL, Id, Millis, Params, Wire, matching
from protocol.conversation.turns import ToolEvent, Turn, TurnUpstream, Usage
from protocol.conversation.values import FinishStatus, MemoryMode, RecallStatus, Text

CaptureDoor: TypeAlias = Literal["proxy", "hook", "ingest"]
CaptureRole: TypeAlias = Literal["main", "subagent", "task"]
Place: TypeAlias = Literal["split", "user", "system"]
"""The place where the proxy puts what is recalled. `split`: the brief with the system text and the rest with the user's
words; else both with the one."""
ChainHash: TypeAlias = Annotated[
    str, matching("[0-9a-f]{32}", "Of a conversation up to a message, by `protocol/capture/chain.py`.")
]
MAX_CHAIN = 512
"""Messages of a conversation that are named; the newest."""


class CaptureSource(Params):
    """The source of a message. `role` is a subagent's or a task's where its client says so."""

    door: CaptureDoor
    client: Annotated[str, matching(WITHOUT_NUL), Meta(min_length=1, max_length=64)]
    session_id: Annotated[str, matching(WITHOUT_NUL), Meta(min_length=1, max_length=512)] | None = None
    workspace_id: Id | None = None
    agent_id: Id | None = None
    thread_id: Id | None = None
    """The conversation, where the client names it; one of that id is made."""
    role: CaptureRole = "main"


class ChainLink(Params):
    """A message of a conversation: who spoke, and the hash up to it."""

    role: Literal["user", "assistant", "tool"]
    hash: ChainHash


class CapturePrepareParams(Params):
    """`capture/prepare`. `user_index` is the place in `chain` of the last message with words of a person."""

    source: CaptureSource
    chain: Annotated[list[ChainLink], Meta(min_length=1, max_length=MAX_CHAIN)]
    user_index: Annotated[int, Meta(ge=0, lt=MAX_CHAIN)]
    user_text: Text
    memory_mode: MemoryMode | None = None
    placement: Place = "split"
    upstream: TurnUpstream | None = None
    """The upstream that it goes to; a turn that never hears of an answer keeps this."""


class CaptureBlock(Wire):
    """The memory that a message of the user is given, by its place in `chain`; the same bytes in each request."""

    index: int
    text: str


class CapturePrepareResult(Wire):
    """The turn of a message, and what stands in its request; null where nothing of it is kept."""

    turn: Turn | None
    is_continuation: bool
    brief: str | None
    """Lines that hold in all of the conversation: the same bytes in each of its requests."""
    blocks: list[CaptureBlock]
    recall_status: RecallStatus


class NotShown(Params):
    """The reason why a turn went out without what memory would have given it."""

    status: Literal["skipped"] = "skipped"
    reason: Literal["late", "down"]


class CaptureFinishParams(Params):
    """`capture/finish`; idempotent. `capture` is the whole of a preparation whose answer did not come."""

    status: FinishStatus
    shown: bool
    turn_id: Id | None = None
    capture: CapturePrepareParams | None = None
    assistant_text: Text | None = None
    answer_hash: ChainHash | None = None
    """The hash of the conversation with the answer."""
    answer_name: ChainHash | None = None
    """The first hash of a request that goes on from this answer by its name alone."""
    tool_events: Annotated[list[ToolEvent], Meta(max_length=256)] = []
    usage: Usage | None = None
    recall: NotShown | None = None
    upstream: TurnUpstream | None = None


class CaptureFinishResult(Wire):
    """The turn as it ended; null where nothing of it is kept."""

    turn: Turn | None


class TranscriptMessage(Params):
    """A message of a transcript."""

    role: Literal["user", "assistant"]
    text: Text


class TranscriptTurn(Params):
    """A message of the user and what was answered; `at` absent: now."""

    messages: Annotated[list[TranscriptMessage], Meta(min_length=1, max_length=1000)]
    at: Millis | None = None


class CaptureIngestParams(Params):
    """`capture/ingest`: a transcript, from its beginning. `live`: facts are taken from what is new in it."""

    source: CaptureSource
    turns: Annotated[list[TranscriptTurn], Meta(min_length=1, max_length=10_000)]
    live: bool = False


class CaptureIngestResult(Wire):
    """The conversation, how many turns of it are new, and the work that follows; null where none waits."""

    job_id: str | None
    thread_id: str
    turns: int
    skipped: int = 0
    """Messages without a word, which are not kept."""
