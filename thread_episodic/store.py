"""Rows of the index. Every function works inside the caller's transaction.

Rule 1: a chunk row and its full-text row change together, here only; a full-text row leaves with the terms it came with.
Rule 2: nothing here decides what to index, to show or to forget.
"""

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from protocol.errors import CallerError
from protocol.hooks import ItemFact
from protocol.seams.checks import digest_of
from protocol.seams.ports import SqlValue, Tx
from protocol.statements import Statements
from protocol.thread_episodic import parts_of_chunk
from retrieval.chunking import Range
from thread_episodic.values import (
    WHOLE_ITEM,
    IndexSource,
    NewChunk,
    SourceState,
    StoredChunk,
)

SQL = Statements("thread_episodic")
FORMAT = SQL["find_format"], SQL["put_format"]
"""How the format of the full-text table is found, and written again."""
ScopeKind: TypeAlias = Literal["workspace", "thread"]
COMPRESSION = 1  # terms are short: more takes a quarter longer and saves one byte in a hundred
PLAIN_BYTES = 256  # shorter ones are kept plain: every search unpacks some two hundred, and little would be saved
PLAIN = b"\0"  # no compressed stream begins with it


def pack(words: str) -> bytes | None:
    """Terms, a blank between two, as a row keeps them."""
    if not words:
        return None
    body = words.encode()
    return PLAIN + body if len(body) < PLAIN_BYTES else zlib.compress(body, COMPRESSION)


def unpack(terms: bytes | None) -> str:
    """The body of the full-text row; nothing where it is damaged."""
    if not terms:
        return ""
    try:
        return (terms[1:] if terms.startswith(PLAIN) else zlib.decompress(terms)).decode()
    except (zlib.error, UnicodeDecodeError):  # repair makes them anew; no search ends by them
        return ""


# -- scopes --------------------------------------------------------------------------------------------------------


def find_scope(tx: Tx, kind: ScopeKind, key: str) -> int | None:
    """The integer of a workspace or thread that has something indexed."""
    row = tx.one(SQL["get_scope"], {"kind": kind, "key": key})
    return row[0] if row else None


def workspaces(tx: Tx, but: str, limit: int) -> list[str]:
    """The workspaces but one that have something indexed, the newest first."""
    return [row[0] for row in tx.all(SQL["workspaces"], {"but": but, "limit": limit})]


def scope_of(tx: Tx, kind: ScopeKind, key: str) -> int:
    """The integer of a workspace or thread, made if needed."""
    tx.run(SQL["add_scope"], {"kind": kind, "key": key})
    return tx.all(SQL["get_scope"], {"kind": kind, "key": key})[0][0]


def remove_scope(tx: Tx, kind: ScopeKind, key: str, scope: int) -> None:
    """Nothing is indexed there any more."""
    if kind == "workspace":
        tx.run(SQL["remove_segments"], {"workspace": scope})
    tx.run(SQL["remove_scope"], {"kind": kind, "key": key})


# -- sources -------------------------------------------------------------------------------------------------------


def find_source(tx: Tx, item_id: str) -> SourceState | None:
    """What the index knows of an item."""
    row = tx.one(SQL["get_source"], {"item_id": item_id})
    if row is None:
        return None
    source = IndexSource(id=row[0], workspace=row[3], thread=row[4])
    return SourceState(source=source, source_hash=row[1], is_indexed=row[2] == "indexed")


class IndexedSource(NamedTuple):
    """A source as it is, and whether it has chunks that are not retired, or exclusions."""

    known: SourceState
    has_chunks: bool
    has_exclusions: bool


def find_sources(tx: Tx, item_ids: Sequence[str]) -> dict[str, IndexedSource]:
    """What the index knows of some items, by item id."""
    rows = tx.all(SQL["get_sources"], {"item_ids": json.dumps(item_ids)})
    return {
        item_id: IndexedSource(
            SourceState(IndexSource(id=row, workspace=workspace, thread=thread), source_hash, state == "indexed"),
            bool(has_chunks), bool(has_exclusions),
        )
        for item_id, row, source_hash, state, workspace, thread, has_chunks, has_exclusions in rows
    }  # fmt: skip


VOUCHED = ("item_id", "turn_id", "workspace", "thread", "role", "at", "speaker", "source_hash")
"""What the digest of a source vouches for; where it stands in its thread may change."""


def source_digest(*values: SqlValue) -> int:
    """Return what vouches for a source: the digest of what `VOUCHED` names."""
    return digest_of(None, *values)


def put_source(tx: Tx, fact: ItemFact, speaker: str, source_hash: bytes, now: int) -> None:
    """The item waits to be indexed."""
    values = {
        "item_id": fact.item_id, "turn_id": fact.turn_id, "workspace": scope_of(tx, "workspace", fact.workspace_id),
        "thread": scope_of(tx, "thread", fact.thread_id), "role": fact.role, "at": fact.at, "turn_seq": fact.turn_seq,
        "item_seq": fact.item_seq, "speaker": speaker, "source_hash": source_hash, "now": now,
    }  # fmt: skip
    tx.run(SQL["put_source"], values | {"digest": source_digest(*(values[name] for name in VOUCHED))})


def place_source(tx: Tx, fact: ItemFact) -> None:
    """Keep where the item stands in its thread."""
    tx.run(SQL["place_source"], {"item_id": fact.item_id, "turn_seq": fact.turn_seq, "item_seq": fact.item_seq})


class Finished(NamedTuple):
    """A message whose chunks are all in the index, and what of it is left out."""

    source: IndexSource
    left_out: Range | None


def finish_sources(tx: Tx, finished: Sequence[Finished], now: int, lexicon: int) -> None:
    """All of these items that can be indexed is, by the lexicon of that digest."""
    tx.run_many(
        SQL["finish_source"],
        [
            {"id": one.source.id, "now": now, "lexicon": lexicon} | dict(zip(("left_from", "left_to"), one.left_out or (None, None), strict=True))
            for one in finished
        ],
    )  # fmt: skip


def sources_in(tx: Tx, kind: ScopeKind, scope: int) -> list[IndexSource]:
    """The items of a thread or workspace."""
    name = "sources_of_thread" if kind == "thread" else "sources_of_workspace"
    return [IndexSource(id=row[0], workspace=row[1], thread=row[2]) for row in tx.all(SQL[name], {kind: scope})]


def threads_in(tx: Tx, workspace_id: str) -> list[str]:
    """The ids of the workspace's threads that have something in the index."""
    workspace = find_scope(tx, "workspace", workspace_id)
    return [row[0] for row in tx.all(SQL["threads_of_workspace"], {"workspace": workspace})]


def find_source_in_turn(tx: Tx, turn_id: str, item_id: str) -> IndexSource | None:
    """The source of an item, if it belongs to that turn."""
    row = tx.one(SQL["source_in_turn"], {"item_id": item_id, "turn_id": turn_id})
    return IndexSource(id=row[0], workspace=row[1], thread=row[2]) if row else None


# -- chunks --------------------------------------------------------------------------------------------------------


def chunks_of(tx: Tx, source: IndexSource) -> list[StoredChunk]:
    """The item's chunks that are not retired, in order."""
    return [
        StoredChunk(
            id=row[0], position=row[1], start=row[2], end=row[3], status=row[4], terms=row[5], term_count=row[6],
            segment=row[7], asks=row[8], dated=row[9], digest=row[10],
        )
        for row in tx.all(SQL["chunks_of_source"], {"source": source.id})
    ]  # fmt: skip


class ChunkEntry(NamedTuple):
    """A chunk on its way into the index: of which message, said when, and whether it is never recalled."""

    source: IndexSource
    at: int
    chunk: NewChunk
    is_excluded: bool


class _Opened:
    """The segment of a workspace that takes new chunks, and what is put into it by this transaction."""

    def __init__(self, row: int, room: int) -> None:
        self.id = row
        self._room = room
        self._entered: list[ChunkEntry] = []

    @property
    def is_full(self) -> bool:
        return len(self._entered) >= self._room

    def take(self, entry: ChunkEntry) -> None:
        self._entered.append(entry)

    def keep(self, tx: Tx) -> None:
        """Write down what came."""
        if self._entered:
            values = {
                "id": self.id, "chunks": len(self._entered), "terms": sum(one.chunk.term_count for one in self._entered),
                "digest": sum(one.chunk.digest for one in self._entered),
                "first_at": min(one.at for one in self._entered), "last_at": max(one.at for one in self._entered),
            }  # fmt: skip
            tx.run(SQL["enter_segment"], values)


def _opened(tx: Tx, workspace: int, capacity: int) -> _Opened:
    """The segment that has room, or a new one; a full one is sealed."""
    row = tx.one(SQL["open_segment"], {"workspace": workspace})
    if row is not None and row[1] < capacity:
        return _Opened(row[0], capacity - row[1])
    if row is not None:
        tx.run(SQL["seal_segment"], {"id": row[0]})
    return _Opened(tx.insert(SQL["add_segment"], {"workspace": workspace}), capacity)


def add_chunks(tx: Tx, entries: Sequence[ChunkEntry], *, awaits_vector: bool, capacity: int, now: int) -> None:
    """Store chunks and, unless they are excluded, make their terms searchable. A full segment is sealed at `capacity`."""
    if not entries:
        return
    opened: dict[int, _Opened] = {}
    chunks: list[dict[str, SqlValue]] = []
    bodies: list[dict[str, SqlValue]] = []
    for row, entry in enumerate(entries, tx.all(SQL["last_chunk"])[0][0] + 1):
        source, chunk = entry.source, entry.chunk
        segment = opened.get(source.workspace)
        if segment is None or segment.is_full:
            if segment is not None:
                segment.keep(tx)
            segment = opened[source.workspace] = _opened(tx, source.workspace, capacity)
        segment.take(entry)
        is_found = chunk.terms is not None and not entry.is_excluded
        chunks.append(
            {
                "id": row, "source": source.id, "position": chunk.position, "from_char": chunk.start, "to_char": chunk.end,
                "status": "excluded" if entry.is_excluded else "indexed", "terms": chunk.terms,
                "term_count": chunk.term_count, "asks": int(chunk.asks), "dated": int(chunk.is_dated),
                "segment": segment.id, "now": now, "digest": chunk.digest, "index_state": "pending" if is_found and awaits_vector else "indexed",
            }
        )  # fmt: skip
        if is_found:
            bodies.append({"id": row, "body": source.entry(chunk.words)})
    for segment in opened.values():
        segment.keep(tx)
    tx.run_many(SQL["add_chunk"], chunks)
    tx.run_many(SQL["add_fts_row"], bodies)


def _remove_terms(tx: Tx, source: IndexSource, chunk: StoredChunk) -> bool:
    """Take the chunk's terms out of the index, if they are in it. Unknown ones stay: an audit finds them."""
    if chunk.terms is None or chunk.status != "indexed" or not chunk.is_known:
        return False
    tx.run(SQL["remove_fts_row"], {"id": chunk.id, "body": source.entry(unpack(chunk.terms))})
    return True


def _leave_segment(tx: Tx, chunk: StoredChunk) -> None:
    tx.run(SQL["leave_segment"], {"id": chunk.segment, "terms": chunk.term_count, "digest": chunk.digest or 0})


def renew(tx: Tx, source: IndexSource, old: StoredChunk, chunk: NewChunk, now: int) -> None:
    """Give a chunk its range and terms anew, in its own row: what was made of its words stays, as far as it is known."""
    _remove_terms(tx, source, old)
    tx.run(
        SQL["renew_chunk"],
        {
            "id": old.id, "from_char": chunk.start, "to_char": chunk.end, "terms": chunk.terms,
            "term_count": chunk.term_count, "asks": int(chunk.asks), "dated": int(chunk.is_dated),
            "digest": chunk.digest, "now": now,
        },
    )  # fmt: skip
    if old.is_known:
        change = {"more": chunk.term_count - old.term_count, "change": chunk.digest - (old.digest or 0)}
        tx.run(SQL["change_segment_terms"], {"id": old.segment} | change)
    if old.status == "indexed" and chunk.terms is not None:
        tx.run(SQL["restore_fts_row"], {"id": old.id, "body": source.entry(chunk.words)})


def retire(tx: Tx, source: IndexSource, chunks: Iterable[StoredChunk], now: int) -> int:
    """Chunks whose text is not said any more stay as rows without words."""
    retired = 0
    for chunk in chunks:
        _remove_terms(tx, source, chunk)
        _leave_segment(tx, chunk)
        retired += tx.run(SQL["retire_chunk"], {"id": chunk.id, "now": now})
    return retired


def remove(tx: Tx, source: IndexSource) -> tuple[int, int]:
    """The item leaves the index with all its chunks; how many chunks and full-text rows went."""
    chunks = chunks_of(tx, source)
    rows = 0
    for chunk in chunks:
        rows += _remove_terms(tx, source, chunk)
        _leave_segment(tx, chunk)
    tx.run(SQL["remove_source"], {"id": source.id})
    return len(chunks), rows


def exclude(tx: Tx, source: IndexSource, chunks: Iterable[StoredChunk], now: int) -> int:
    """Hide the chunks; how many were not hidden before."""
    changed = 0
    for chunk in chunks:
        if chunk.status == "indexed":
            _remove_terms(tx, source, chunk)
            values = {"id": chunk.id, "status": "excluded", "index_state": "indexed", "now": now}
            changed += tx.run(SQL["set_chunk_status"], values)
    return changed


def readmit(tx: Tx, source: IndexSource, chunks: Iterable[StoredChunk], *, awaits_vector: bool, now: int) -> int:
    """Show hidden chunks again; how many were hidden."""
    changed = 0
    for chunk in chunks:
        if chunk.status == "excluded":
            index_state = "pending" if awaits_vector and chunk.terms is not None else "indexed"
            values = {"id": chunk.id, "status": "indexed", "index_state": index_state, "now": now}
            changed += tx.run(SQL["set_chunk_status"], values)
            if chunk.terms is not None:
                tx.run(SQL["add_fts_row"], {"id": chunk.id, "body": source.entry(unpack(chunk.terms))})
    return changed


class Target(NamedTuple):
    """What an exclusion is about: a range of an item, and the chunks in it."""

    item_id: str
    source: IndexSource
    chunks: list[StoredChunk]
    range: Range


def find_target(tx: Tx, item_id: str | None, chunk_id: str | None) -> Target:
    """The item or chunk that is meant. Raises `CallerError` if there is none."""
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
    """Keep that the range is never recalled."""
    values = {"item_id": target.item_id, "from_char": target.range[0], "to_char": target.range[1]}
    tx.run(SQL["add_exclusion"], values | {"reason": reason, "now": now})


def remove_exclusion(tx: Tx, target: Target) -> None:
    """Undo an exclusion of that very range; of a whole item, every one of it."""
    if target.range[1] == WHOLE_ITEM:
        tx.run(SQL["remove_exclusions_of_item"], {"item_id": target.item_id})
    else:
        values = {"item_id": target.item_id, "from_char": target.range[0], "to_char": target.range[1]}
        tx.run(SQL["remove_exclusion"], values)


def exclusions_of(tx: Tx, item_id: str) -> list[Range]:
    """The ranges of an item, as it is now, that are never recalled."""
    values = {"item_id": item_id, "whole": WHOLE_ITEM}
    return [(row[0], row[1]) for row in tx.all(SQL["exclusions_of_item"], values)]


# -- searches -----------------------------------------------------------------------------------------------------


def add_recall_event(tx: Tx, event: Mapping[str, SqlValue], before: int) -> None:
    """Note a search, and forget those that are too old to explain anything."""
    tx.run(SQL["add_recall_event"], event)
    tx.run(SQL["forget_recall_events"], {"before": before})
