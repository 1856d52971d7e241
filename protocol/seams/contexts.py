"""Checks of the context of a call, the same for every house."""

from protocol.errors import Refused
from protocol.memory.values import Context


def require_own_thread(context: Context, workspace_id: str) -> None:
    """Raise `Refused("scope_out_of_context")` where a context names another workspace than that of its thread."""
    if context.workspace_id not in {None, workspace_id}:
        raise Refused("scope_out_of_context", "The context names a thread of another workspace.")
