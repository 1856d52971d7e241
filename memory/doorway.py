"""Resolves the active scopes of a call, and checks whether it may change memory: once, at the start of each call.

Rule 1: a call that names no workspace is in that of its thread, else in the default one. The context that a client
gave once for all its calls is filled in before, by the session.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from memory.ports import Collaborators
from memory.rows.forgetting import read_generation
from memory.rules.scopes import of_context, require_scope
from protocol.base import DEFAULT_WORKSPACE, Scope
from protocol.errors import CallerError, Refused, Unavailable
from protocol.memory.values import Context
from protocol.seams.contexts import workspace_in
from protocol.seams.house_facts import ReadThread, ThreadFact
from protocol.seams.ports import Tx


class Place(NamedTuple):
    """The place of a call."""

    scopes: list[Scope]
    """The active ones."""
    workspace_id: str
    began: int = 0
    """The generation of forgetting in which a write began; 0 for a call that only reads."""


def begin_write(tx: Tx, read_thread: ReadThread, thread_id: str | None) -> tuple[ThreadFact | None, int]:
    """Return the thread that a write names, and the generation of forgetting.

    A source that is forgotten in a later generation is not written by it.
    """
    return read_thread(tx, thread_id) if thread_id is not None else None, read_generation(tx)


class Doorway:
    """The checks that calls have in common."""

    def __init__(self, means: Collaborators) -> None:
        self._means = means

    async def place(self, context: Context, *, writes: bool = False) -> Place:
        """Return the place of a call, in one read at most.

        Raises `Refused("scope_out_of_context")` for a context that names a thread of another workspace.
        """
        means, thread_id, thread, began = self._means, context.thread_id, None, 0
        if writes:
            thread, began = await means.db.read(
                partial(begin_write, read_thread=means.read_thread, thread_id=thread_id)
            )
        elif thread_id is not None:
            thread = await means.db.read(lambda tx: means.read_thread(tx, thread_id))
        workspace_id = workspace_in(context, thread.workspace_id if thread is not None else None)
        whole = replace(context, workspace_id=workspace_id)
        return Place(of_context(whole, means.settings()), workspace_id, began)

    def require_enabled(self) -> None:
        """Raise `Unavailable("memory_disabled")` while memory is switched off."""
        if not self._means.settings().enabled:
            raise Unavailable("memory_disabled")

    def require_normal_thread(self, tx: Tx, context: Context) -> None:
        """Raise `Refused` where the call's thread may not change memory."""
        thread = self._means.read_thread(tx, context.thread_id) if context.thread_id is not None else None
        if thread is not None and thread.memory_mode == "read_only":
            raise Refused("memory_write_disabled")
        if thread is not None and thread.memory_mode == "ignored":
            raise Refused("memory_ignored")

    def require_writable(self, tx: Tx, context: Context, scope: Scope | None, scopes: Sequence[Scope]) -> None:
        """Raise where a call may not write to a scope, or to the active ones where it names none.

        `Refused`: its thread may not write, or the scope is not active. `CallerError`: the workspace or the thread
        that the scope names does not exist.
        """
        self.require_normal_thread(tx, context)
        if scope is not None:
            require_scope(scopes, scope)
        written = [scope] if scope is not None else [one for one in scopes if one.kind == "workspace"]
        keys = {one.key for one in written if one.kind == "workspace"} - {DEFAULT_WORKSPACE}
        if any(not self._means.workspace_exists(tx, key) for key in keys):
            raise CallerError.missing("workspace")
        if scope is not None and scope.kind == "thread" and self._means.read_thread(tx, scope.key) is None:
            raise CallerError.missing("thread")
