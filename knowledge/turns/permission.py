"""The permission of a turn to recall and read the user's files; pure.

Rule 1: what a turn's policy denies for memory is denied for files, too. Only a denial because durable memory is
switched off does not count: files have switches of their own, and the thread's mode still holds.
"""

from protocol.conversation.manifests import Permission, TurnPolicy
from protocol.hooks import TurnContext

MEMORY_OFF = "memory_disabled"


def find_denial_of_recall(turn: TurnContext, policy: TurnPolicy | None) -> str | None:
    """Return the code of the reason for which no file is recalled in a turn; None where files may be."""
    if turn.memory_mode == "ignored":
        return "memory_mode"
    if turn.options.skip_recall:
        return "skip_recall"
    if turn.options.skip_files:
        return "skip_files"
    return _code_of_denial(policy.recall) if policy is not None else None


def find_denial_of_tools(turn: TurnContext, policy: TurnPolicy | None) -> str | None:
    """Return the code of the reason for which a turn has no tools for files; None where it may have them."""
    if turn.mode == "chat":
        return "chat_mode"
    if turn.memory_mode == "ignored":
        return "memory_mode"
    return _code_of_denial(policy.read_tools) if policy is not None else None


def _code_of_denial(permission: Permission) -> str | None:
    """Return the code of a denial that counts for files (rule 1); None for another one, and for a permission."""
    return None if permission.allowed or permission.reason_code == MEMORY_OFF else permission.reason_code
