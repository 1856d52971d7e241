"""Threads: one conversation each, with its mode, its memory and its agent."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from protocol.base import Cancelled, Cursor, Id, Limit, Params, Wire
from protocol.conversation.values import (
    AgentLayer,
    InstructionFiles,
    InstructionProfile,
    ItemKind,
    Label,
    MemoryMode,
    Mode,
    NotStored,
    Text,
    ThreadOrigin,
    WorkPath,
)


class AgentRef(Wire):
    """The agent definition that a thread acts by: its folder's name, its layer, and a digest of its files."""

    slug: str
    layer: AgentLayer
    sha256: str


class ThreadFork(Wire):
    """The fork of a conversation from another one: after that turn of it."""

    thread_id: str
    turn_id: str | None


class Thread(Wire):
    """A conversation."""

    thread_id: str
    workspace_id: str
    agent_id: str | None
    parent_thread_id: str | None
    name: str | None
    mode: Mode
    memory_mode: MemoryMode
    origin: ThreadOrigin
    task_id: str | None
    archived: bool
    turn_count: int
    created_at: int
    updated_at: int
    not_stored: NotStored | None = None
    """The reason why the thread is known to this process alone; null for one that is stored."""
    agent: AgentRef | None = None
    """The definition that acts in the thread, as its last turn read it; null for a thread without one."""
    forked_from: ThreadFork | None = None


class ThreadStartParams(Params):
    """`thread/start`: opens a thread, or returns the one with that id."""

    thread_id: Id | None = None
    workspace_id: Id | None = None
    default_workspace_id: Annotated[
        Id | None,
        Meta(
            description="Where a new thread lies that names no workspace and no parent; absent, as `initialize` said."
        ),
    ] = None
    agent_id: Id | None = None
    parent_thread_id: Id | None = None
    name: Label | None = None
    mode: Mode = "agent"
    memory_mode: MemoryMode = "normal"
    model: Label | None = None
    provider: Label | None = None
    origin: ThreadOrigin = "user"
    task_id: Id | None = None
    instructions: Text | None = None
    agent: Annotated[bool, Meta(description="Whether the agent definition that `agent_id` names acts here.")] = False
    cwd: WorkPath | None = None
    instruction_files: Annotated[
        InstructionFiles | None,
        Meta(
            description="Whether instruction files are added; absent, where a `cwd` is given. A helper that names no "
            "`cwd` has its parent's, and its parent's choice."
        ),
    ] = None
    instruction_profile: InstructionProfile = "default"


class ThreadResult(Wire):
    """One thread."""

    thread: Thread


class ThreadParams(Params):
    """A thread by id."""

    thread_id: Id


class ThreadListParams(Params):
    """`thread/list`: newest first."""

    workspace_id: Id | None = None
    archived: bool | None = None
    limit: Limit = 20
    cursor: Cursor | None = None


class ThreadListResult(Wire):
    """Threads, newest first."""

    threads: list[Thread]
    next_cursor: str | None


class ThreadUpdateParams(Params):
    """`thread/update`: only the members given change."""

    thread_id: Id
    name: Label | None | UnsetType = UNSET
    memory_mode: MemoryMode | UnsetType = UNSET
    archived: bool | UnsetType = UNSET


class DeleteResult(Wire):
    """The counts of a deletion, and the cancelled learning; `complete` once no file of the home holds the bytes."""

    deleted: bool
    removed: dict[str, int]
    cancelled: list[Cancelled] = []
    complete: bool = True


class ThreadHistoryParams(Params):
    """`thread/history`."""

    thread_id: Id
    order: Literal["asc", "desc"] = "asc"
    kinds: list[ItemKind] | None = None
    limit: Limit = 20
    cursor: Cursor | None = None
