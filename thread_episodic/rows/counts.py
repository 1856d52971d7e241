"""Counts of the index by state, taken in one snapshot."""

from protocol.seams.ports import Tx
from protocol.thread_episodic import PartialItem, SegmentCounts, chunk_id_of
from thread_episodic.rows.lookups import chunks_in
from thread_episodic.rows.statements import SQL


def counts_by_status(tx: Tx, workspace: int | None, thread: int | None) -> dict[str, int]:
    """Return how many chunks there are by status.

    Segments keep the number of chunks that are not retired, so that only a thread's have to be counted.
    """
    if thread is not None:
        return dict(tx.all(SQL["count_chunks_of_thread"], {"workspace": workspace, "thread": thread}))
    hidden: dict[str, int] = dict(tx.all(SQL["count_hidden_chunks"], {"workspace": workspace}))
    total = count_chunks(tx) if workspace is None else chunks_in(tx, workspace)
    return hidden | {"indexed": total - hidden.get("excluded", 0)}


def pending_turns(tx: Tx, workspace: int | None, thread: int | None) -> list[tuple[str, int, int]]:
    """Return turns with messages that wait as (turn id, how many messages, since when)."""
    rows = tx.all(SQL["pending_sources"], {"workspace": workspace, "thread": thread})
    return [(row[0], row[1], row[2]) for row in rows]


def partial_items(tx: Tx, workspace: int | None, thread: int | None, limit: int) -> tuple[int, list[PartialItem]]:
    """Return how many messages are too long to be indexed whole, and the newest of them."""
    values = {"workspace": workspace, "thread": thread}
    rows = tx.all(SQL["partial_sources"], values | {"limit": limit})
    items = [PartialItem(item_id=row[0], turn_id=row[1], from_char=row[2], to_char=row[3]) for row in rows]
    return tx.all(SQL["count_partial_sources"], values)[0][0], items


def workspace_of_thread(tx: Tx, thread: int) -> int | None:
    """Return the workspace of a thread that has something in the index."""
    row = tx.one(SQL["workspace_of_thread"], {"thread": thread})
    return row[0] if row else None


def segment_counts(tx: Tx, workspace: int | None, capacity: int) -> SegmentCounts:
    """Return how many segments there are by state, and how full the fullest open one is."""
    by_state = {row[0]: (row[1], row[2]) for row in tx.all(SQL["count_segments"], {"workspace": workspace})}
    opened, fullest = by_state.get("open", (0, 0))
    sealed, _ = by_state.get("sealed", (0, 0))
    used = round(100 * fullest / capacity, 2)
    return SegmentCounts(count=opened + sealed, open=opened, sealed=sealed, utilization_percent=used)


def chunk_ids_of_turn(tx: Tx, turn_id: str) -> list[str]:
    """Return the names of a turn's chunks, in order."""
    return [chunk_id_of(*row) for row in tx.all(SQL["chunk_names_of_turn"], {"turn_id": turn_id})]


def count_chunks(tx: Tx) -> int:
    """Return how many chunks all workspaces have, by the sums that their partitions keep."""
    return tx.all(SQL["count_in_all_segments"])[0][0]


def size_of_workspace(tx: Tx, workspace: int) -> tuple[int, int | None]:
    """Return how many chunks a workspace has, and when the first was said."""
    chunks, oldest_at = tx.all(SQL["size_of_workspace"], {"workspace": workspace})[0]
    return chunks, oldest_at
