"""Workspaces: what keeps the threads of one project apart from another's."""

from typing import Literal

from pioneer_client.protocol.base import Cursor, Id, Limit, Params, Wire
from pioneer_client.protocol.conversation.values import Label, Path


class Workspace(Wire):
    """A project: threads, their index and workspace-scoped memory live and die with it."""

    workspace_id: str
    name: str | None
    root_path: str | None
    created_at: int
    updated_at: int
    state: Literal["active", "deleting"] = "active"
    """`deleting`: a deletion has begun, and goes on in the background after an interruption; no turn begins there."""


class WorkspaceResult(Wire):
    """One workspace."""

    workspace: Workspace


class WorkspaceCreateParams(Params):
    """`workspace/create`."""

    workspace_id: Id | None = None
    name: Label | None = None
    root_path: Path | None = None


class WorkspaceParams(Params):
    """A workspace by id."""

    workspace_id: Id


class WorkspaceListParams(Params):
    """`workspace/list`."""

    limit: Limit = 20
    cursor: Cursor | None = None


class WorkspaceListResult(Wire):
    """Workspaces, oldest first."""

    workspaces: list[Workspace]
    next_cursor: str | None
