"""The history of a record, its enrichment and its replacements, and the counts of scopes.

Rule 1: a record outside the caller's scopes is answered like one that does not exist.
"""

from collections.abc import Sequence
from typing import Any, Final, Literal

import msgspec

from memory.rows.record_columns import SQL
from memory.rows.store import get_record, scope_id_of, scope_ids_of
from memory.rules.identity import text_hash_of
from protocol.base import Scope
from protocol.errors import CallerError
from protocol.memory.changes import Event
from protocol.memory.reads import (
    DecisionCounts,
    EnrichedEdge,
    EnrichedEntity,
    Enrichment,
    IndexCounts,
    RecordCounts,
    ScopeCount,
    StatsResult,
)
from protocol.record import Actor, Record
from protocol.seams.ports import KeyedHash, Tx
from retrieval.rows.graph import list_stated_edges

MOST_EDGES = 50
_ACTOR: Final = msgspec.json.Decoder(Actor)
_ENTITIES: Final = msgspec.json.Decoder(list[EnrichedEntity])
_TOPICS: Final = msgspec.json.Decoder(list[str])
"""Made at import: msgspec does not guard two threads of the database that meet a type for the first time at once."""


def read_history(tx: Tx, memory_id: str, scopes: Sequence[Scope]) -> list[Event]:
    """Return the events of a record's whole supersession chain, oldest first. Raises `CallerError("not_found")`."""
    stored = get_record(tx, memory_id)
    if stored is None or stored.scope_id not in scope_ids_of(tx, scopes):
        raise CallerError.missing("memory")
    chain = chain_of(tx, stored.record)
    rows = [row for member in chain for row in tx.all(SQL["events_of"], {"memory_id": member})]
    # by time, since imported events have newer rows than their times
    return [event_of(row) for row in sorted(rows, key=lambda row: (row[0], row[7]))]


def are_words_unwanted(tx: Tx, text: str, scopes: Sequence[Scope], keyed: KeyedHash) -> bool:
    """Return whether just these words were forgotten, erased or rejected in one of the scopes, by keyed hashes."""
    for scope in scopes:
        scope_id, words = scope_id_of(tx, scope), text_hash_of(scope, text, keyed)
        found = tx.one(
            SQL["is_suppressed"], {"scope_id": scope_id, "since": 0, "text_hash": words, "fingerprint": words}
        )
        if scope_id is not None and found is not None and found[0]:
            return True
    return False


def chain_of(tx: Tx, record: Record) -> list[str]:
    """Return the ids of a record, of all that it superseded in turn, and of all that superseded it in turn."""
    ids = [record.memory_id]
    older, newer = record.supersedes, record.superseded_by
    while older is not None and older not in ids:
        ids.append(older)
        found = get_record(tx, older)
        older = found.record.supersedes if found is not None else None
    while newer is not None and newer not in ids:
        ids.append(newer)
        found = get_record(tx, newer)
        newer = found.record.superseded_by if found is not None else None
    return ids


def event_of(row: Sequence[Any]) -> Event:
    """Return the event of an event row."""
    return Event(
        at=row[0],
        event=row[1],
        actor=_ACTOR.decode(row[2]),
        reason_code=row[3],
        from_status=row[4],
        to_status=row[5],
        memory_id=row[6],
    )


def read_stats(tx: Tx, scopes: Sequence[Scope], now: int) -> StatsResult:
    """Return the counts of the scopes at a moment."""
    by_scope: list[ScopeCount] = []
    totals: dict[str, dict[str, int]] = {
        "category": {},
        "status": {},
        "index": {},
        "candidates": {},
        "reasons": {},
    }
    for scope_id, scope in scope_ids_of(tx, scopes).items():
        counted = 0
        for category, status, index, count in tx.all(SQL["count_records"], {"scope_id": scope_id, "now": now}):
            counted += count if status == "active" else 0
            kept = (("category", category),) if status == "active" else ()
            kept = (*kept, ("index", index)) if status != "deleted" else kept
            for name, key in (("status", status), *kept):
                totals[name][key] = totals[name].get(key, 0) + count
        by_scope.append(ScopeCount(scope=scope, count=counted))
        for name, query in (("candidates", "count_candidates"), ("reasons", "count_decisions")):
            for key, count in tx.all(SQL[query], {"scope_id": scope_id}):
                totals[name][key] = totals[name].get(key, 0) + count
    records = RecordCounts(by_scope=by_scope, by_category=totals["category"], by_status=totals["status"])
    index = IndexCounts(**totals["index"])
    decisions = DecisionCounts(by_reason_code=totals["reasons"])
    return StatsResult(records=records, candidates=totals["candidates"], decisions=decisions, index=index)


def enrichment_of(tx: Tx, memory_id: str) -> Enrichment | None:
    """Return a model's enrichment of a record's present text, with the links that the record states, or None."""
    row = tx.one(SQL["enrichment_of"], {"memory_id": memory_id})
    if row is None:
        return None
    entities, topics, summary, model, at = row
    edges = [
        EnrichedEdge(from_=edge.start, kind=edge.kind, to=edge.end, strength=edge.strength, origin=edge.origin)
        for edge in list_stated_edges(tx, "memory", memory_id, MOST_EDGES)
    ]
    return Enrichment(
        entities=_ENTITIES.decode(entities),
        topics=_TOPICS.decode(topics),
        summary=summary,
        edges=edges,
        model=model,
        at=at,
    )


def replacements(tx: Tx, memory_id: str) -> list[tuple[str, Literal["in", "out"]]]:
    """Return the records that a record replaced (`out`), and those that replaced it (`in`)."""
    return [(row[0], row[1]) for row in tx.all(SQL["replacements"], {"memory_id": memory_id})]
