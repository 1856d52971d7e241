"""Rows of messages that are, or will be, indexed."""

import json
from collections.abc import Sequence

from msgspec import Struct

from protocol.seams.checks import digest_of
from protocol.seams.house_facts import ItemFact
from protocol.seams.ports import SqlValue, Tx
from retrieval.chunking import Range
from thread_episodic.rows.scopes import ScopeKind, scope_of
from thread_episodic.rows.statements import SQL
from thread_episodic.values import IndexSource, SourceState


def find_source(tx: Tx, item_id: str) -> SourceState | None:
    """Return the index's row of an item, or None."""
    row = tx.one(SQL["get_source"], {"item_id": item_id})
    if row is None:
        return None
    source = IndexSource(id=row[0], workspace=row[3], thread=row[4])
    return SourceState(source=source, source_hash=row[1], is_indexed=row[2] == "indexed")


class IndexedSource(Struct, frozen=True):
    """A source as it is, and whether it has chunks that are not retired, or exclusions."""

    known: SourceState
    has_chunks: bool
    has_exclusions: bool


def find_sources(tx: Tx, item_ids: Sequence[str]) -> dict[str, IndexedSource]:
    """Return the index's rows of some items, by item id."""
    rows = tx.all(SQL["get_sources"], {"item_ids": json.dumps(item_ids)})
    return {
        item_id: IndexedSource(
            SourceState(IndexSource(id=row, workspace=workspace, thread=thread), source_hash, state == "indexed"),
            bool(has_chunks),
            bool(has_exclusions),
        )
        for item_id, row, source_hash, state, workspace, thread, has_chunks, has_exclusions in rows
    }


VOUCHED = ("item_id", "turn_id", "workspace", "thread", "role", "at", "speaker", "source_hash")
"""The members that the digest of a source vouches for; its place in its thread may change."""


def source_digest(*values: SqlValue) -> int:
    """Return the digest of a source: of the columns that `VOUCHED` names."""
    return digest_of(None, *values)


def put_source(tx: Tx, fact: ItemFact, speaker: str, source_hash: bytes, now: int) -> None:
    """Store an item as pending, with all that its chunks are found by; `speaker` are the terms of who said it."""
    values = {
        "item_id": fact.item_id,
        "turn_id": fact.turn_id,
        "workspace": scope_of(tx, "workspace", fact.workspace_id),
        "thread": scope_of(tx, "thread", fact.thread_id),
        "role": fact.role,
        "at": fact.at,
        "turn_seq": fact.turn_seq,
        "item_seq": fact.item_seq,
        "speaker": speaker,
        "source_hash": source_hash,
        "now": now,
    }
    tx.run(SQL["put_source"], values | {"digest": source_digest(*(values[name] for name in VOUCHED))})


def place_source(tx: Tx, fact: ItemFact) -> None:
    """Store where the item stands in its thread."""
    tx.run(SQL["place_source"], {"item_id": fact.item_id, "turn_seq": fact.turn_seq, "item_seq": fact.item_seq})


class Finished(Struct, frozen=True):
    """A message whose chunks are all in the index, and what of it is left out."""

    source: IndexSource
    left_out: Range | None


def finish_sources(tx: Tx, finished: Sequence[Finished], now: int, lexicon: int) -> None:
    """Mark items as indexed, with the range of each that was left out and the digest of the lexicon."""
    tx.run_many(
        SQL["finish_source"],
        [
            {"id": one.source.id, "now": now, "lexicon": lexicon}
            | dict(zip(("left_from", "left_to"), one.left_out or (None, None), strict=True))
            for one in finished
        ],
    )


def sources_in(tx: Tx, kind: ScopeKind, scope: int) -> list[IndexSource]:
    """Return the items of a thread or workspace."""
    name = "sources_of_thread" if kind == "thread" else "sources_of_workspace"
    return [IndexSource(id=row[0], workspace=row[1], thread=row[2]) for row in tx.all(SQL[name], {kind: scope})]


def find_source_in_turn(tx: Tx, turn_id: str, item_id: str) -> IndexSource | None:
    """Return the source of an item, if it belongs to that turn."""
    row = tx.one(SQL["source_in_turn"], {"item_id": item_id, "turn_id": turn_id})
    return IndexSource(id=row[0], workspace=row[1], thread=row[2]) if row else None


def repeat_sources(tx: Tx, rows: Sequence[int], now: int) -> int:
    """Mark messages as pending; return how many of them were not."""
    return tx.run(SQL["await_sources"], {"rows": json.dumps(list(rows)), "now": now})


def repeat_turn(tx: Tx, turn_id: str, now: int) -> None:
    """Mark a turn's messages as pending, and take the digests of their chunks away, so that each is written anew."""
    tx.run(SQL["repeat_sources_of_turn"], {"turn_id": turn_id, "now": now})
    tx.run(SQL["doubt_segments_of_turn"], {"turn_id": turn_id})
    tx.run(SQL["doubt_chunks_of_turn"], {"turn_id": turn_id})


def turns_of_sources(tx: Tx, rows: Sequence[int]) -> list[str]:
    """Return the turns of some messages, by id."""
    return [turn_id for (turn_id,) in tx.all(SQL["turns_of_sources"], {"rows": json.dumps(list(rows))})]


def pending_turns_after(tx: Tx, after: int, limit: int) -> list[tuple[int, str, str]]:
    """Return the next messages that wait as (row, turn id, thread id), by row."""
    rows = tx.all(SQL["pending_turns_after"], {"after": after, "limit": limit})
    return [(row, turn_id, thread_id) for row, turn_id, thread_id in rows]
