"""Rows of chunks, with their full-text rows and the sums of their partitions.

Rule 1: a chunk row and its full-text row change together, here only; a full-text row leaves with the terms it came
with.
Rule 2: `_move` alone changes the status of a chunk.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from protocol.seams.ports import SqlValue, Tx
from protocol.seams.transitions import after
from retrieval.packing import unpack
from thread_episodic.rows.segments import OpenSegment, open_segment
from thread_episodic.rows.statements import SQL
from thread_episodic.states import CHUNKS, ChunkEvent
from thread_episodic.values import IndexSource, NewChunk, StoredChunk


def chunks_of(tx: Tx, source: IndexSource) -> list[StoredChunk]:
    """Return the item's chunks that are not retired, in order."""
    return [
        StoredChunk(
            id=row[0],
            position=row[1],
            start=row[2],
            end=row[3],
            status=row[4],
            terms=row[5],
            term_count=row[6],
            segment=row[7],
            asks=row[8],
            dated=row[9],
            digest=row[10],
        )
        for row in tx.all(SQL["chunks_of_source"], {"source": source.id})
    ]


class ChunkEntry(Struct, frozen=True):
    """A chunk that is to be stored: its message, the time of that in milliseconds, and whether it is excluded."""

    source: IndexSource
    at: int
    chunk: NewChunk
    is_excluded: bool


def add_chunks(tx: Tx, entries: Sequence[ChunkEntry], *, awaits_vector: bool, capacity: int, now: int) -> None:
    """Store chunks and, unless they are excluded, make their terms searchable.

    A full segment is sealed at `capacity`.
    """
    if not entries:
        return
    opened: dict[int, OpenSegment] = {}
    chunks: list[dict[str, SqlValue]] = []
    bodies: list[dict[str, SqlValue]] = []
    for row, entry in enumerate(entries, tx.all(SQL["last_chunk"])[0][0] + 1):
        source, chunk = entry.source, entry.chunk
        segment = opened.get(source.workspace)
        if segment is None or segment.is_full:
            if segment is not None:
                segment.keep(tx)
            segment = opened[source.workspace] = open_segment(tx, source.workspace, capacity)
        segment.take(entry.chunk, entry.at)
        is_found = chunk.terms is not None and not entry.is_excluded
        chunks.append(
            {
                "id": row,
                "source": source.id,
                "position": chunk.position,
                "from_char": chunk.start,
                "to_char": chunk.end,
                "status": "excluded" if entry.is_excluded else "indexed",
                "terms": chunk.terms,
                "term_count": chunk.term_count,
                "asks": int(chunk.asks),
                "dated": int(chunk.is_dated),
                "segment": segment.id,
                "now": now,
                "digest": chunk.digest,
                "index_state": "pending" if is_found and awaits_vector else "indexed",
            }
        )
        if is_found:
            bodies.append({"id": row, "body": source.entry(chunk.words)})
    for segment in opened.values():
        segment.keep(tx)
    tx.run_many(SQL["add_chunk"], chunks)
    tx.run_many(SQL["add_fts_row"], bodies)


def _remove_terms(tx: Tx, source: IndexSource, chunk: StoredChunk) -> bool:
    """Remove the chunk's terms from the full-text index; return whether they were known to be there.

    Unknown terms stay: an audit finds them.
    """
    if chunk.terms is None or chunk.status != "indexed" or not chunk.is_known:
        return False
    tx.run(SQL["remove_fts_row"], {"id": chunk.id, "body": source.entry(unpack(chunk.terms))})
    return True


def _leave_segment(tx: Tx, chunk: StoredChunk) -> None:
    tx.run(SQL["leave_segment"], {"id": chunk.segment, "terms": chunk.term_count, "digest": chunk.digest or 0})


def _move(tx: Tx, chunk: StoredChunk, event: ChunkEvent, now: int, *, awaits_vector: bool = False) -> int:
    """Apply an event to a chunk; return how many rows changed. One that is retired has no words any more."""
    values = {"id": chunk.id, "before": chunk.status, "status": after(CHUNKS, chunk.status, event), "now": now}
    return tx.run(SQL["move_chunk_status"], values | {"index_state": "pending" if awaits_vector else "indexed"})


def renew_chunk(tx: Tx, source: IndexSource, old: StoredChunk, chunk: NewChunk, now: int) -> None:
    """Give a chunk its range and terms anew, in its own row.

    Its vector stays. The sums of its segment follow where the old terms are known; otherwise repair counts them.
    """
    _remove_terms(tx, source, old)
    tx.run(
        SQL["renew_chunk"],
        {
            "id": old.id,
            "from_char": chunk.start,
            "to_char": chunk.end,
            "terms": chunk.terms,
            "term_count": chunk.term_count,
            "asks": int(chunk.asks),
            "dated": int(chunk.is_dated),
            "digest": chunk.digest,
            "now": now,
        },
    )
    if old.is_known:
        change = {"more": chunk.term_count - old.term_count, "change": chunk.digest - (old.digest or 0)}
        tx.run(SQL["change_segment_terms"], {"id": old.segment} | change)
    if old.status == "indexed" and chunk.terms is not None:
        tx.run(SQL["restore_fts_row"], {"id": old.id, "body": source.entry(chunk.words)})


def retire_chunks(tx: Tx, source: IndexSource, chunks: Iterable[StoredChunk], now: int) -> int:
    """Retire chunks whose text is gone from their message: their rows stay without words. Returns how many."""
    retired = 0
    for chunk in chunks:
        _remove_terms(tx, source, chunk)
        _leave_segment(tx, chunk)
        retired += _move(tx, chunk, "retire", now)
    return retired


def remove_source(tx: Tx, source: IndexSource) -> tuple[int, int]:
    """Remove an item from the index with all its chunks; return how many chunks and full-text rows went."""
    chunks = chunks_of(tx, source)
    rows = 0
    for chunk in chunks:
        rows += _remove_terms(tx, source, chunk)
        _leave_segment(tx, chunk)
    tx.run(SQL["remove_source"], {"id": source.id})
    return len(chunks), rows


def exclude_chunks(tx: Tx, source: IndexSource, chunks: Iterable[StoredChunk], now: int) -> int:
    """Hide the chunks; return how many were not hidden before."""
    changed = 0
    for chunk in chunks:
        if chunk.status == "indexed":
            _remove_terms(tx, source, chunk)
            changed += _move(tx, chunk, "exclude", now)
    return changed


def readmit_chunks(tx: Tx, source: IndexSource, chunks: Iterable[StoredChunk], *, awaits_vector: bool, now: int) -> int:
    """Show hidden chunks again; return how many were hidden."""
    changed = 0
    for chunk in chunks:
        if chunk.status == "excluded":
            changed += _move(tx, chunk, "readmit", now, awaits_vector=awaits_vector and chunk.terms is not None)
            if chunk.terms is not None:
                tx.run(SQL["add_fts_row"], {"id": chunk.id, "body": source.entry(unpack(chunk.terms))})
    return changed
