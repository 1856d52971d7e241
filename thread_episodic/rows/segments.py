"""Rows of partitions, and the sums that they keep of their chunks."""

from collections.abc import Sequence

from protocol.seams.ports import Tx
from thread_episodic.rows.statements import SQL
from thread_episodic.values import NewChunk


class OpenSegment:
    """The segment of a workspace that takes new chunks, and the chunks that this transaction adds to it."""

    def __init__(self, row: int, room: int) -> None:
        self.id = row
        self._room = room
        self._entered: list[tuple[NewChunk, int]] = []

    @property
    def is_full(self) -> bool:
        """Return whether it has no room for a further chunk."""
        return len(self._entered) >= self._room

    def take(self, chunk: NewChunk, at: int) -> None:
        """Add a chunk that was said at a time, in milliseconds."""
        self._entered.append((chunk, at))

    def keep(self, tx: Tx) -> None:
        """Store the segment's sums with the chunks that were added."""
        if self._entered:
            values = {
                "id": self.id,
                "chunks": len(self._entered),
                "terms": sum(chunk.term_count for chunk, _ in self._entered),
                "digest": sum(chunk.digest for chunk, _ in self._entered),
                "first_at": min(at for _, at in self._entered),
                "last_at": max(at for _, at in self._entered),
            }
            tx.run(SQL["enter_segment"], values)


def open_segment(tx: Tx, workspace: int, capacity: int) -> OpenSegment:
    """Return the segment that has room, or a new one; a full one is sealed."""
    row = tx.one(SQL["open_segment"], {"workspace": workspace})
    if row is not None and row[1] < capacity:
        return OpenSegment(row[0], capacity - row[1])
    if row is not None:
        tx.run(SQL["seal_segment"], {"id": row[0]})
    return OpenSegment(tx.insert(SQL["add_segment"], {"workspace": workspace}), capacity)


def move_to_own_segment(tx: Tx, chunk: int, segment: int, workspace: int) -> None:
    """Restore a partition that a chunk names.

    If the partition is another workspace's, the chunk moves into the newest one of its own.
    """
    tx.run(SQL["restore_segment"], {"id": segment, "workspace": workspace})
    own = [known for (known,) in tx.all(SQL["segments_of_workspace"], {"workspace": workspace})]
    if segment not in own:
        newest = own[0] if own else tx.insert(SQL["add_segment"], {"workspace": workspace})
        tx.run(SQL["move_chunk"], {"id": chunk, "segment": newest})


SUMS = ("chunks", "terms", "digest", "first_at", "last_at")


def count_segment(tx: Tx, segment: int) -> Sequence[int]:
    """Return the sums of a partition's rows, in the order of `SUMS`."""
    (sums,) = tx.all(SQL["count_segment"], {"id": segment})
    return sums


def renew_sums(tx: Tx, segment: int) -> None:
    """Count what a partition holds, and store it as its sums."""
    tx.run(SQL["put_segment_sums"], {"id": segment} | dict(zip(SUMS, count_segment(tx, segment), strict=True)))
