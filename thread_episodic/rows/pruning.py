"""Rows of the conversation index whose message or chunk is gone: a scheduled pass drops them.

Rule 1: only repair finds the terms that the full-text index holds of a dropped chunk; it is queued with the drop.
"""

from collections.abc import Callable, Sequence
from typing import Any

from protocol.seams.checks import Check, finder, row_mender
from protocol.seams.ports import Tx
from thread_episodic.rows.damage import END_OF_CHUNKS, drop_orphans
from thread_episodic.rows.statements import SQL


def prunings(queue_repair: Callable[[Tx], None]) -> list[Check]:
    """Return the checks by which rows are dropped, in this order."""

    def drop_chunks(tx: Tx, rows: Sequence[Any]) -> int:
        dropped = drop_orphans(tx, rows)
        if dropped:
            queue_repair(tx)
        return dropped

    return [
        Check("chunks", finder(END_OF_CHUNKS, SQL["find_orphans"]), drop_chunks),
        Check(
            "chunk_vectors",
            finder(SQL["end_of_vectors"], SQL["find_lone_vectors"]),
            row_mender(SQL["drop_wrong_vectors"]),
        ),
    ]
