"""Rows of searches, without their words."""

from collections.abc import Mapping

from protocol.seams.ports import SqlValue, Tx
from thread_episodic.rows.statements import SQL


def add_recall_event(tx: Tx, event: Mapping[str, SqlValue], before: int) -> None:
    """Store a search, and remove those from before a time in milliseconds."""
    tx.run(SQL["add_recall_event"], event)
    tx.run(SQL["forget_recall_events"], {"before": before})


def remove_events_of_thread(tx: Tx, thread_id: str) -> int:
    """Remove the searches of a thread that is gone; return how many went."""
    return tx.run(SQL["remove_recall_events_of_thread"], {"thread_id": thread_id})


def remove_events_of_workspace(tx: Tx, workspace_id: str) -> int:
    """Remove the searches of a workspace that is gone; return how many went."""
    return tx.run(SQL["remove_recall_events_of_workspace"], {"workspace_id": workspace_id})
