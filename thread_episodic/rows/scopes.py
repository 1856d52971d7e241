"""Rows of workspaces and threads as small integers."""

from typing import Literal, TypeAlias

from protocol.seams.ports import Tx
from thread_episodic.rows.statements import SQL

ScopeKind: TypeAlias = Literal["workspace", "thread"]


def find_scope(tx: Tx, kind: ScopeKind, key: str) -> int | None:
    """Return the integer of a workspace or thread; None where nothing of it was ever indexed."""
    row = tx.one(SQL["get_scope"], {"kind": kind, "key": key})
    return row[0] if row else None


def list_workspaces(tx: Tx, but: str, limit: int) -> list[str]:
    """Return the workspaces but one that have something indexed, the newest first."""
    return [row[0] for row in tx.all(SQL["workspaces"], {"but": but, "limit": limit})]


def scope_of(tx: Tx, kind: ScopeKind, key: str) -> int:
    """Return the integer of a workspace or thread, made if needed."""
    tx.run(SQL["add_scope"], {"kind": kind, "key": key})
    return tx.all(SQL["get_scope"], {"kind": kind, "key": key})[0][0]


def remove_scope(tx: Tx, kind: ScopeKind, key: str, scope: int) -> None:
    """Remove a workspace or thread in which nothing is indexed any more."""
    if kind == "workspace":
        tx.run(SQL["remove_segments"], {"workspace": scope})
    tx.run(SQL["remove_scope"], {"kind": kind, "key": key})


def restore_scope(tx: Tx, kind: ScopeKind, key: str, scope: int) -> None:
    """Give a workspace or thread the integer that it had before, unless another has it now."""
    tx.run(SQL["restore_scope"], {"id": scope, "kind": kind, "key": key})


def find_indexed_workspace(tx: Tx, thread_id: str) -> str | None:
    """Return the workspace in which a thread's messages are indexed; None where none are."""
    row = tx.one(SQL["indexed_workspace"], {"thread_id": thread_id})
    return row[0] if row else None


def threads_in(tx: Tx, workspace_id: str) -> list[str]:
    """Return the ids of the workspace's threads that have something in the index."""
    workspace = find_scope(tx, "workspace", workspace_id)
    return [row[0] for row in tx.all(SQL["threads_of_workspace"], {"workspace": workspace})]
