"""Rows of workspaces, threads, turns and items to the contract's Structs and back.

Rule 1: every function is synchronous and works on the transaction it is given.
Rule 2: nothing is decided here.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

import msgspec

from protocol.base import encode
from protocol.gateway import HookRun, RunError
from protocol.hooks import HOOK_CONTRACT_VERSION, ItemFact, ThreadFact, TurnTrace
from protocol.seams.forgettings import OpenRun
from protocol.seams.ports import Row, SqlValue, Tx
from protocol.statements import Statements
from protocol.threads import (
    ArtifactRef,
    Diagnostic,
    Driver,
    Item,
    PromptManifest,
    Thread,
    ToolEvent,
    ToolUse,
    Turn,
    TurnError,
    TurnOptions,
    Usage,
    Workspace,
)  # fmt: skip

SQL = Statements("agent")

MEMORY_ID = re.compile(r"mem_[0-9A-Za-z_-]+")
BEHIND = 1_000_000
"""Places of a turn's tool events begin here: they stand behind what was said, and are no part of the transcript."""
MIN_SUMMARY_CHARS = 12
OWN_TOOLS = ("memory_", "thread_search", "artifact_read")
LAST = 2**62
"""Beyond every row: the beginning of a newest-first page."""


_USAGE: Final = msgspec.json.Decoder(Usage)
_MANIFEST: Final = msgspec.json.Decoder(PromptManifest)
_OPTIONS: Final = msgspec.json.Decoder(TurnOptions)
_EVENTS: Final = msgspec.json.Decoder(list[ToolEvent])
_TOOL_USE: Final = msgspec.json.Decoder(ToolUse)
_DIAGNOSTICS: Final = msgspec.json.Decoder(list[Diagnostic])
_HASHES: Final = msgspec.json.Decoder(list[str])
"""Made here: two threads of the database must not be the first to meet a type at once, which msgspec does not guard."""


def encoded(value: Any) -> str:
    """JSON text for a column."""
    return encode(value).decode()


def workspace_of(row: Row) -> Workspace:
    """A workspace row."""
    return Workspace(
        workspace_id=row[0], name=row[1], root_path=row[2], created_at=row[3], updated_at=row[4], state=row[5]
    )  # fmt: skip


def get_workspace(tx: Tx, workspace_id: str) -> Workspace | None:
    """A workspace by id."""
    row = tx.one(SQL["get_workspace"], {"workspace_id": workspace_id})
    return workspace_of(row) if row else None


def workspace_exists(tx: Tx, workspace_id: str) -> bool:
    """Whether there is such a workspace, and it is not being deleted."""
    found = get_workspace(tx, workspace_id)
    return found is not None and found.state == "active"


class StoredThread(NamedTuple):
    """A thread with what only this house needs."""

    thread: Thread
    instructions: str | None
    model: str | None
    provider: str | None
    row: int


def thread_of(row: Row) -> StoredThread:
    """A thread row."""
    thread = Thread(
        thread_id=row[0], workspace_id=row[1], agent_id=row[2], parent_thread_id=row[3], name=row[4], mode=row[5],
        memory_mode=row[6], origin=row[7], task_id=row[8], archived=bool(row[9]), turn_count=row[10],
        created_at=row[11], updated_at=row[12],
    )  # fmt: skip
    return StoredThread(thread, row[13], row[14], row[15], row[16])


def get_thread(tx: Tx, thread_id: str) -> StoredThread | None:
    """A thread by id."""
    row = tx.one(SQL["get_thread"], {"thread_id": thread_id})
    return thread_of(row) if row else None


def open_thread(tx: Tx, thread_id: str) -> StoredThread | None:
    """A thread in which something may begin: not one that is being deleted with its workspace."""
    found = get_thread(tx, thread_id)
    return found if found is not None and workspace_exists(tx, found.thread.workspace_id) else None


def read_thread(tx: Tx, thread_id: str) -> ThreadFact | None:
    """A thread as other houses may know it."""
    found = get_thread(tx, thread_id)
    if found is None:
        return None
    t = found.thread
    return ThreadFact(
        thread_id=t.thread_id, workspace_id=t.workspace_id, agent_id=t.agent_id, parent_thread_id=t.parent_thread_id,
        task_id=t.task_id, memory_mode=t.memory_mode, origin=t.origin, name=t.name,
    )  # fmt: skip


def needed_contents(tx: Tx) -> list[str]:
    """The digest of every content that something refers to."""
    return [sha256 for (sha256,) in tx.all(SQL["needed_contents"])]


def workspace_threads(tx: Tx, workspace_id: str) -> list[str]:
    """Thread ids of a workspace in order of creation."""
    return [row[0] for row in tx.all(SQL["thread_ids_of_workspace"], {"workspace_id": workspace_id})]


def thread_names(tx: Tx, workspace_id: str, limit: int) -> dict[str, str]:
    """The names of a workspace's threads by id, at most so many: those last spoken in."""
    values = {"workspace_id": workspace_id, "limit": limit}
    return dict(tx.all(SQL["thread_names_of_workspace"], values))


class StoredTurn(NamedTuple):
    """A turn with what only this house needs."""

    turn: Turn
    input_hash: bytes | None
    options: TurnOptions
    last_seq: int
    is_post_completed: bool
    position: int
    owner: str | None
    tool_events: list[ToolEvent]


def turn_of(row: Row) -> StoredTurn:
    """A turn row."""
    driver = cast("Driver", "host" if row[3] == "import" else row[3])
    error = TurnError.of(row[8], retryable=bool(row[9])) if row[8] else None
    turn = Turn(
        turn_id=row[0], thread_id=row[1], workspace_id=row[2], driver=driver, mode=row[4], status=row[5],
        started_at=row[6], completed_at=row[7], error=error, rounds=row[10],
        usage=_USAGE.decode(row[11]) if row[11] else None,
        prompt_manifest=_MANIFEST.decode(row[12]) if row[12] else None,
    )  # fmt: skip
    options = _OPTIONS.decode(row[14])
    events = _EVENTS.decode(row[19])
    return StoredTurn(turn, row[13], options, row[15], bool(row[16]), row[17], row[18], events)


def get_turn(tx: Tx, turn_id: str) -> StoredTurn | None:
    """A turn by id."""
    row = tx.one(SQL["get_turn"], {"turn_id": turn_id})
    return turn_of(row) if row else None


def thread_turns(tx: Tx, thread_id: str) -> list[str]:
    """Turn ids of a thread in order."""
    return [row[0] for row in tx.all(SQL["turns_of_thread"], {"thread_id": thread_id})]


def turn_items(tx: Tx, turn_ids: Sequence[str]) -> dict[str, dict[str, int]]:
    """Of each of some turns its items and tool events by id in order, and how many bytes each one's text has."""
    items: dict[str, dict[str, int]] = {turn_id: {} for turn_id in turn_ids}
    for turn_id, item_id, size in tx.all(
        SQL["item_ids_of_turns"], {"turn_ids": json.dumps(list(items)), "behind": BEHIND}
    ):
        items[turn_id][item_id] = size
    return items


def items_after(tx: Tx, after: int, limit: int) -> list[tuple[int, str]]:
    """The next messages of users and assistants as (row, item id), by row."""
    return [(row, item_id) for row, item_id in tx.all(SQL["messages_after"], {"after": after, "limit": limit})]


def artifacts_of(tx: Tx, item_id: str) -> list[ArtifactRef]:
    """The files that a message carried."""
    return [
        ArtifactRef(
            artifact_id=r[0], version_id=r[1], name=r[2], kind=r[3], mime=r[4], size_bytes=r[5], role=r[6], sha256=r[7]
        )
        for r in tx.all(SQL["artifacts_of_item"], {"item_id": item_id})
    ]


def read_artifacts(tx: Tx, item_ids: Sequence[str]) -> Mapping[str, list[ArtifactRef]]:
    """The files of several messages, by item id."""
    return {item_id: refs for item_id in item_ids if (refs := artifacts_of(tx, item_id))}


def item_of(tx: Tx, row: Row) -> Item:
    """An item row."""
    tool = _TOOL_USE.decode(row[9]) if row[9] else None
    return Item(
        item_id=row[0], turn_id=row[1], thread_id=row[2], kind=row[3], role=row[4], status=row[5], text=row[6], at=row[7],
        name=row[8], artifacts=artifacts_of(tx, row[0]), tool=tool,
    )  # fmt: skip


def items_of_turn(tx: Tx, turn_id: str) -> list[Item]:
    """A turn's items in order."""
    rows = tx.all(SQL["items_of_turn"], {"turn_id": turn_id, "after": 0, "limit": LAST})
    return [item_of(tx, row) for row in rows]


def add_item(tx: Tx, item: Item, position: int, *, keeps_files: bool = False) -> None:
    """Store an item and the references of its files; whether their bytes were received here."""
    tool = encoded(item.tool) if item.tool is not None else None
    tx.run(SQL["add_item"], {
        "item_id": item.item_id, "turn_id": item.turn_id, "thread_id": item.thread_id, "position": position,
        "kind": item.kind, "role": item.role, "status": item.status, "text": item.text, "at": item.at,
        "name": item.name, "tool": tool,
    })  # fmt: skip
    if item.kind == "tool_result":
        _note_mentions(tx, item.turn_id, item.text)
    for ref in item.artifacts:
        tx.run(SQL["add_artifact"], {
            "artifact_id": ref.artifact_id, "version_id": ref.version_id, "item_id": item.item_id,
            "thread_id": item.thread_id, "name": ref.name, "kind": ref.kind, "mime": ref.mime,
            "size_bytes": ref.size_bytes, "role": ref.role, "sha256": ref.sha256, "is_kept": keeps_files, "now": item.at,
        })  # fmt: skip


def add_tool_reply(tx: Tx, values: Mapping[str, SqlValue]) -> None:
    """Store what a tool answered in a host-driven turn."""
    tx.run(SQL["add_tool_reply"], values)
    _note_mentions(tx, str(values["turn_id"]), str(values["result"]))


def _note_mentions(tx: Tx, turn_id: str, text: str) -> None:
    """Every copy of a memory that a tool shows can be found again by the memory."""
    for memory_id in dict.fromkeys(MEMORY_ID.findall(text)):
        tx.run(SQL["add_mention"], {"memory_id": memory_id, "turn_id": turn_id})


def is_indexable(kind: str, status: str, memory_mode: str, turn_status: str, text: str, name: str | None) -> bool:
    """Whether a message, or what a host says of its tool, is conversation that may be found again."""
    is_unfinished = turn_status in {"failed", "interrupted", "cancelled"}
    is_whole = status == "completed" and not (kind != "user_message" and is_unfinished)
    is_said = kind in {"user_message", "agent_message"} or (kind == "tool_event" and _says_something(text, name or ""))
    return is_said and is_whole and memory_mode != "ignored"


def _says_something(summary: str, tool: str) -> bool:
    """Whether a tool's summary is more than "done", and not a copy of what our own tools showed: that may be forgotten by now."""
    return len(summary.strip()) >= MIN_SUMMARY_CHARS and not any(own in tool for own in OWN_TOOLS)


def read_items(tx: Tx, item_ids: Collection[str]) -> Mapping[str, ItemFact]:
    """Items as other houses may know them, in that order; unknown ids are absent. A tool's summary begins with the tool's name."""
    values = {"item_ids": json.dumps(list(item_ids)), "behind": BEHIND}
    return {
        row[1]: ItemFact(
            item_id=row[1], turn_id=row[2], thread_id=row[3], workspace_id=row[4], role=row[5],
            name=None if row[11] == "tool_event" else row[6],
            text=f"{row[6]}: {row[7]}" if row[11] == "tool_event" else row[7], at=row[8], turn_seq=row[9], item_seq=row[10],
            indexable=is_indexable(row[11], row[12], row[13], row[14], row[7], row[6]), thread_name=row[15],
        )
        for row in tx.all(SQL["get_items"], values)
    }  # fmt: skip


def run_of(row: Row) -> HookRun:
    """A hook run row."""
    hashes = _HASHES.decode(row[11])
    return HookRun(
        run_id=row[0], hook_id=row[1], phase=row[2], thread_id=row[3], turn_id=row[4], status=row[5],
        attempt_count=row[6], queued_at=row[7], started_at=row[8], completed_at=row[9], duration_ms=row[10],
        contribution_count=len(hashes), contribution_hashes=hashes,
        diagnostics=_DIAGNOSTICS.decode(row[12]),
        error=RunError(code=row[13], retryable=bool(row[14])) if row[13] else None,
    )  # fmt: skip


def run_values(run: HookRun) -> dict[str, Any]:
    """A hook run as bindings."""
    return {
        "run_id": run.run_id, "hook_id": run.hook_id, "phase": run.phase, "thread_id": run.thread_id,
        "turn_id": run.turn_id, "status": run.status, "attempt_count": run.attempt_count, "queued_at": run.queued_at,
        "started_at": run.started_at, "completed_at": run.completed_at, "duration_ms": run.duration_ms,
        "contribution_hashes": encoded(run.contribution_hashes), "diagnostics": encoded(run.diagnostics),
        "error_code": run.error.code if run.error else None,
        "error_retryable": run.error.retryable if run.error else None,
    }  # fmt: skip


def add_run(tx: Tx, run: HookRun) -> None:
    """Store a new run."""
    tx.run(SQL["add_run"], {**run_values(run), "contract_version": HOOK_CONTRACT_VERSION})


def change_run(tx: Tx, run: HookRun) -> None:
    """Store what became of a run."""
    values = run_values(run)
    for fixed in ("hook_id", "phase", "thread_id", "turn_id", "queued_at"):
        del values[fixed]
    tx.run(SQL["change_run"], values)


def read_run(tx: Tx, run_id: str) -> HookRun | None:
    """A run by id."""
    row = tx.one(SQL["get_run"], {"run_id": run_id})
    return run_of(row) if row else None


def open_runs(tx: Tx, hook_id: str) -> list[OpenRun]:
    """The runs of a hook that have not ended, oldest first."""
    return [OpenRun(*row) for row in tx.all(SQL["open_runs"], {"hook_id": hook_id})]


def generation_of_turn(tx: Tx, turn_id: str) -> int | None:
    """How much had been forgotten when a turn began; None for one that is not there."""
    row = tx.one(SQL["generation_of_turn"], {"turn_id": turn_id})
    return row[0] if row else None


def runs_of_turn(tx: Tx, turn_id: str) -> list[HookRun]:
    """A turn's runs in order."""
    return [run_of(row) for row in tx.all(SQL["runs_of_turn"], {"turn_id": turn_id})]


def read_turn(tx: Tx, turn_id: str) -> TurnTrace | None:
    """A turn with its hook runs, for explanations."""
    found = get_turn(tx, turn_id)
    return TurnTrace(turn=found.turn, runs=runs_of_turn(tx, turn_id)) if found else None
