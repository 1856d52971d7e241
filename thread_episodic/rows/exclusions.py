"""Rows of exclusions: ranges of messages that are never recalled again, with the reasons that were given."""

import json
from collections.abc import Sequence

from msgspec import Struct

from protocol.errors import CallerError
from protocol.seams.ports import Tx
from protocol.thread_episodic import parts_of_chunk
from retrieval.chunking import Range
from thread_episodic.rows.chunks import chunks_of
from thread_episodic.rows.sources import find_source, find_source_in_turn
from thread_episodic.rows.statements import SQL
from thread_episodic.values import WHOLE_ITEM, IndexSource, StoredChunk


class Target(Struct, frozen=True):
    """The subject of an exclusion: a range of an item, and the chunks in it."""

    item_id: str
    source: IndexSource
    chunks: list[StoredChunk]
    range: Range


def find_target(tx: Tx, item_id: str | None, chunk_id: str | None) -> Target:
    """Return the range and chunks of an item or of one chunk.

    Raises:
        CallerError: the item is not indexed, or there is no such chunk.

    """
    if item_id is not None:
        known = find_source(tx, item_id)
        if known is None:
            raise CallerError.missing("indexed item")
        return Target(item_id, known.source, chunks_of(tx, known.source), (0, WHOLE_ITEM))
    parts = parts_of_chunk(chunk_id or "")
    source = find_source_in_turn(tx, parts[0], parts[1]) if parts else None
    chunks = [chunk for chunk in chunks_of(tx, source) if chunk.position == parts[2]] if source and parts else []
    if source is None or parts is None or not chunks:
        raise CallerError.missing("chunk")
    return Target(parts[1], source, chunks, (chunks[0].start, chunks[0].end))


def add_exclusion(tx: Tx, target: Target, reason: str | None, now: int) -> None:
    """Store that the range is never recalled; the first reason stays."""
    values = {"item_id": target.item_id, "from_char": target.range[0], "to_char": target.range[1]}
    tx.run(SQL["add_exclusion"], values | {"reason": reason, "now": now})


def remove_exclusion(tx: Tx, target: Target) -> None:
    """Remove the exclusion of exactly that range; for a whole item, all of its exclusions."""
    if target.range[1] == WHOLE_ITEM:
        tx.run(SQL["remove_exclusions_of_item"], {"item_id": target.item_id})
    else:
        values = {"item_id": target.item_id, "from_char": target.range[0], "to_char": target.range[1]}
        tx.run(SQL["remove_exclusion"], values)


def exclusions_of(tx: Tx, item_id: str) -> list[Range]:
    """Return the ranges of an item that are never recalled; all of it where it has changed since an exclusion."""
    values = {"item_id": item_id, "whole": WHOLE_ITEM}
    return [(row[0], row[1]) for row in tx.all(SQL["exclusions_of_item"], values)]


def find_excluded_items(tx: Tx, item_ids: Sequence[str], threads: Sequence[str] | None) -> list[str]:
    """Return those of the items, of some threads or of any, of which a part is never recalled, in the order given."""
    values = {"item_ids": json.dumps(item_ids), "threads": json.dumps(threads) if threads is not None else None}
    rows = tx.all(SQL["excluded_items"], values) if item_ids else []
    return [item_id for (item_id,) in rows]


def remove_exclusions_of_thread(tx: Tx, thread_id: str) -> int:
    """Remove the exclusions of a thread that is gone; return how many went."""
    return tx.run(SQL["remove_exclusions_of_thread"], {"thread_id": thread_id})


def list_reasons(tx: Tx) -> list[tuple[str, str]]:
    """Return every reason of an exclusion as (item id, reason)."""
    return [(item_id, reason) for item_id, reason in tx.all(SQL["reasons_of_exclusions"])]


def forget_reasons(tx: Tx, item_id: str) -> None:
    """Remove the reasons of a message's exclusions; what they hid stays hidden."""
    tx.run(SQL["forget_reasons"], {"item_id": item_id})
