"""The workspace of a call, the same for every house."""

from protocol.base import DEFAULT_WORKSPACE
from protocol.errors import Refused
from protocol.memory.values import Context


def require_own_thread(context: Context, workspace_id: str) -> None:
    """Raise `Refused("scope_out_of_context")` where a context names another workspace than that of its thread."""
    if context.workspace_id not in {None, workspace_id}:
        raise Refused("scope_out_of_context", "The context names a thread of another workspace.")


def workspace_in(context: Context, thread_workspace_id: str | None) -> str:
    """Return the workspace of a call: the one that its context names, else its thread's, else the default one.

    Raises `Refused("scope_out_of_context")` where the context names another workspace than that of its thread.
    """
    if thread_workspace_id is not None:
        require_own_thread(context, thread_workspace_id)
    return context.workspace_id or thread_workspace_id or DEFAULT_WORKSPACE
