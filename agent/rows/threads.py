"""Rows of workspaces and threads."""

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from agent.rows.statements import SQL, to_json
from protocol.conversation.threads import AgentRef, Thread, ThreadFork
from protocol.conversation.values import InstructionFiles, InstructionProfile, MemoryMode
from protocol.conversation.workspaces import Workspace
from protocol.seams.house_facts import ThreadFact
from protocol.seams.ports import Row, Tx

_AGENT: Final = msgspec.json.Decoder(AgentRef)
_FORK: Final = msgspec.json.Decoder(ThreadFork)
"""Built at import: msgspec does not guard two threads that build the decoder of one type at once."""

COUNTED = {
    "turns": "count_turns_of_thread",
    "items": "count_items_of_thread",
    "artifacts": "count_artifacts_of_thread",
}
"""The statement that counts each kind of thing that a thread holds."""

# -- workspaces --------------------------------------------------------------------------------------------------------


def _workspace_of(row: Row) -> Workspace:
    return Workspace(
        workspace_id=row[0], name=row[1], root_path=row[2], created_at=row[3], updated_at=row[4], state=row[5]
    )


def get_workspace(tx: Tx, workspace_id: str) -> Workspace | None:
    """Return a workspace by id."""
    row = tx.one(SQL["get_workspace"], {"workspace_id": workspace_id})
    return _workspace_of(row) if row else None


def workspace_exists(tx: Tx, workspace_id: str) -> bool:
    """Return whether there is such a workspace, and it is not being deleted."""
    found = get_workspace(tx, workspace_id)
    return found is not None and found.state == "active"


def list_workspaces(tx: Tx, after: int, limit: int) -> list[tuple[int, Workspace]]:
    """Return workspaces behind a row, oldest first, each with its row."""
    return [(row[6], _workspace_of(row)) for row in tx.all(SQL["list_workspaces"], {"after": after, "limit": limit})]


def add_workspace(
    tx: Tx, workspace_id: str, now: int, *, name: str | None = None, root_path: str | None = None
) -> None:
    """Make the workspace if it is not there."""
    tx.run(SQL["add_workspace"], {"workspace_id": workspace_id, "name": name, "root_path": root_path, "now": now})


def describe_workspace(tx: Tx, workspace_id: str, now: int, *, name: str | None, root_path: str | None) -> None:
    """Keep a name and a folder that the workspace does not have yet."""
    values = {"workspace_id": workspace_id, "name": name, "root_path": root_path, "now": now}
    tx.run(SQL["describe_workspace"], values)


def condemn_workspace(tx: Tx, workspace_id: str) -> None:
    """Keep that the workspace is being deleted: nothing begins in it any more."""
    tx.run(SQL["condemn_workspace"], {"workspace_id": workspace_id})


def remove_workspace(tx: Tx, workspace_id: str) -> int:
    """Remove a workspace whose threads are gone; return how many rows went."""
    tx.run(SQL["remove_captures_of_workspace"], {"workspace_id": workspace_id})
    return tx.run(SQL["remove_workspace"], {"workspace_id": workspace_id})


# -- threads -----------------------------------------------------------------------------------------------------------


class WorkFolder(NamedTuple):
    """The folder that a thread works in, and how its instruction files are taken."""

    cwd: str | None = None
    files: InstructionFiles | None = None
    """None where the client did not choose."""
    profile: InstructionProfile = "default"


class StoredThread(NamedTuple):
    """A thread with what only this house needs."""

    thread: Thread
    instructions: str | None
    model: str | None
    provider: str | None
    row: int
    folder: WorkFolder = WorkFolder()


def _thread_of(row: Row) -> StoredThread:
    thread = Thread(
        thread_id=row[0],
        workspace_id=row[1],
        agent_id=row[2],
        parent_thread_id=row[3],
        name=row[4],
        mode=row[5],
        memory_mode=row[6],
        origin=row[7],
        task_id=row[8],
        archived=bool(row[9]),
        turn_count=row[10],
        created_at=row[11],
        updated_at=row[12],
        agent=_AGENT.decode(row[20]) if row[20] else None,
        forked_from=_FORK.decode(row[21]) if row[21] else None,
    )
    return StoredThread(thread, row[13], row[14], row[15], row[16], WorkFolder(*row[17:20]))


def get_thread(tx: Tx, thread_id: str) -> StoredThread | None:
    """Return a thread by id."""
    row = tx.one(SQL["get_thread"], {"thread_id": thread_id})
    return _thread_of(row) if row else None


def open_thread(tx: Tx, thread_id: str) -> StoredThread | None:
    """Return a thread in which something may begin: not one that is being deleted with its workspace."""
    found = get_thread(tx, thread_id)
    return found if found is not None and workspace_exists(tx, found.thread.workspace_id) else None


def read_thread(tx: Tx, thread_id: str) -> ThreadFact | None:
    """Return a thread as other houses may know it."""
    found = get_thread(tx, thread_id)
    if found is None:
        return None
    t = found.thread
    return ThreadFact(
        thread_id=t.thread_id,
        workspace_id=t.workspace_id,
        agent_id=t.agent_id,
        parent_thread_id=t.parent_thread_id,
        task_id=t.task_id,
        memory_mode=t.memory_mode,
        origin=t.origin,
        name=t.name,
    )


def list_threads(
    tx: Tx, before: int, limit: int, *, workspace_id: str | None, archived: bool | None
) -> list[StoredThread]:
    """Return threads before a row, newest first."""
    values = {"before": before, "limit": limit, "workspace_id": workspace_id, "archived": archived}
    return [_thread_of(row) for row in tx.all(SQL["list_threads"], values)]


def workspace_threads(tx: Tx, workspace_id: str) -> list[str]:
    """Return the thread ids of a workspace in order of creation."""
    return [row[0] for row in tx.all(SQL["thread_ids_of_workspace"], {"workspace_id": workspace_id})]


def thread_names(tx: Tx, workspace_id: str, limit: int) -> dict[str, str]:
    """Return the names of a workspace's threads by id, at most so many: those last spoken in."""
    values = {"workspace_id": workspace_id, "limit": limit}
    return dict(tx.all(SQL["thread_names_of_workspace"], values))


def new_thread(
    thread_id: str,
    workspace_id: str,
    now: int,
    *,
    agent_id: str | None = None,
    name: str | None = None,
    forked_from: ThreadFork | None = None,
) -> StoredThread:
    """Return a conversation of the user that no `thread/start` opened: a captured or an imported one."""
    thread = Thread(
        thread_id=thread_id,
        workspace_id=workspace_id,
        agent_id=agent_id,
        parent_thread_id=None,
        name=name,
        mode="agent",
        memory_mode="normal",
        origin="user",
        task_id=None,
        archived=False,
        turn_count=0,
        created_at=now,
        updated_at=now,
        forked_from=forked_from,
    )
    return StoredThread(thread, None, None, None, 0)


def add_thread(tx: Tx, found: StoredThread) -> None:
    """Store a new thread."""
    t = found.thread
    tx.run(
        SQL["add_thread"],
        {
            "thread_id": t.thread_id,
            "workspace_id": t.workspace_id,
            "agent_id": t.agent_id,
            "parent_thread_id": t.parent_thread_id,
            "name": t.name,
            "mode": t.mode,
            "memory_mode": t.memory_mode,
            "origin": t.origin,
            "task_id": t.task_id,
            "instructions": found.instructions,
            "model": found.model,
            "provider": found.provider,
            "now": t.created_at,
            "cwd": found.folder.cwd,
            "instruction_files": found.folder.files,
            "instruction_profile": found.folder.profile,
            "agent": to_json(t.agent) if t.agent else None,
            "forked_from": to_json(t.forked_from) if t.forked_from else None,
        },
    )


class LostThread(Struct, frozen=True):
    """A conversation whose row is lost, as far as its turns and what was made of them tell of it."""

    thread_id: str
    workspace_id: str
    is_indexed: bool
    """Its messages are found by search: it did not ignore memory."""
    begun_at: int
    last_at: int


FindIndexed: TypeAlias = Callable[[Tx, str], str | None]
"""(tx, thread id): the workspace in which its messages are indexed; None where none are."""


def find_lost_threads(tx: Tx, find_indexed: FindIndexed) -> list[LostThread]:
    """Return the conversations that turns are of and that are not there, where anything tells their workspace."""
    found: list[LostThread] = []
    for thread_id, begun_at, last_at, seen_in in tx.all(SQL["lost_threads"]):
        indexed_in = find_indexed(tx, thread_id)
        workspace_id = indexed_in or seen_in
        if workspace_id is not None:
            found.append(LostThread(thread_id, workspace_id, indexed_in is not None, begun_at, last_at))
    return found


def restore_threads(tx: Tx, find_indexed: FindIndexed) -> list[str]:
    """Make the rows of lost conversations again; return their ids. Nothing more is learnt in them.

    What a conversation did with memory stands nowhere else: it gets the strictest mode that what is left allows.
    """
    lost = find_lost_threads(tx, find_indexed)
    for one in lost:
        add_workspace(tx, one.workspace_id, one.begun_at)
        made = new_thread(one.thread_id, one.workspace_id, one.begun_at)
        memory_mode: MemoryMode = "read_only" if one.is_indexed else "ignored"
        add_thread(tx, made._replace(thread=replace(made.thread, memory_mode=memory_mode)))
        touch_thread(tx, one.thread_id, one.last_at)
    return [one.thread_id for one in lost]


def change_thread(
    tx: Tx, thread_id: str, now: int, *, name: str | None, memory_mode: MemoryMode, archived: bool
) -> None:
    """Store the members of a thread that a client may change."""
    values = {"thread_id": thread_id, "now": now, "name": name, "memory_mode": memory_mode, "archived": archived}
    tx.run(SQL["change_thread"], values)


def keep_agent(tx: Tx, thread_id: str, agent: AgentRef) -> None:
    """Store the definition by which a thread's agent acts now."""
    tx.run(SQL["keep_agent"], {"thread_id": thread_id, "agent": to_json(agent)})


def touch_thread(tx: Tx, thread_id: str, now: int) -> None:
    """Keep when something happened last in a thread."""
    tx.run(SQL["touch_thread"], {"thread_id": thread_id, "now": now})


def count_in_thread(tx: Tx, thread_id: str) -> dict[str, int]:
    """Return how many turns, items and file references a thread has."""
    return {name: tx.all(SQL[statement], {"thread_id": thread_id})[0][0] for name, statement in COUNTED.items()}


def remove_thread(tx: Tx, thread_id: str) -> int:
    """Remove a thread with all that is its own, and what other threads were shown of it; return how many went."""
    tx.run(SQL["remove_shown_of_thread"], {"thread_id": thread_id})
    tx.run(SQL["remove_captures"], {"thread_id": thread_id})
    return tx.run(SQL["remove_thread"], {"thread_id": thread_id})
