"""Rows of lines that were put into prompts: keyed hashes, never the lines."""

from agent.rows.statements import SQL
from protocol.conversation.manifests import SourceRef
from protocol.seams.ports import Tx


def add_injection(
    tx: Tx, place: tuple[str, str, str], block_id: str, line_hash: bytes, source: SourceRef, *, is_standing: bool
) -> None:
    """Keep a line that went into a prompt, one that stands in every prompt once in a thread.

    `place` is (workspace, thread, turn).
    """
    workspace_id, thread_id, turn_id = place
    tx.run(
        SQL["add_standing_injection" if is_standing else "add_injection"],
        {
            "workspace_id": workspace_id,
            "thread_id": thread_id,
            "turn_id": turn_id,
            "block_id": block_id,
            "line_hash": line_hash,
            "source_kind": source.kind,
            "source_id": source.id,
        },
    )


def turns_shown(tx: Tx, memory_id: str, limit: int) -> list[tuple[str, str, int]]:
    """Return (thread, turn, time) of the turns in whose prompt a memory stood, newest first."""
    values = {"source_kind": "memory", "source_id": memory_id, "limit": limit}
    return [(thread_id, turn_id, at) for thread_id, turn_id, at in tx.all(SQL["turns_shown"], values)]


def is_injected(tx: Tx, workspace_id: str, line_hash: bytes) -> bool:
    """Return whether a line went into a prompt of the workspace; a memory's line, into any prompt."""
    return tx.one(SQL["is_injected"], {"workspace_id": workspace_id, "line_hash": line_hash}) is not None


def remove_injections(tx: Tx, turn_id: str) -> None:
    """Take back what was to go into the prompt of a turn and did not."""
    tx.run(SQL["remove_injections"], {"turn_id": turn_id})
