"""Rows of what a model made of records, and of what replaced what.

Rule 1: every function works on the transaction it is given and decides nothing.
"""

from typing import Final, Literal

import msgspec

from memory.rows.record_columns import SQL
from protocol.memory import EnrichedEdge, EnrichedEntity, Enrichment
from protocol.seams.ports import Tx
from retrieval.rows.graph import stated_edges

MOST_EDGES = 50
_ENTITIES: Final = msgspec.json.Decoder(list[EnrichedEntity])
"""Made here: two threads of the database must not be the first to meet a type at once, which msgspec does not guard."""
_TOPICS: Final = msgspec.json.Decoder(list[str])


def enrichment_of(tx: Tx, memory_id: str) -> Enrichment | None:
    """Return what a model made of a record's present text, with the links that the record states; None where none did."""
    row = tx.one(SQL["enrichment_of"], {"memory_id": memory_id})
    if row is None:
        return None
    entities, topics, summary, model, at = row
    edges = [
        EnrichedEdge(from_=edge.start, kind=edge.kind, to=edge.end, strength=edge.strength, origin=edge.origin)
        for edge in stated_edges(tx, "memory", memory_id, MOST_EDGES)
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


def prune_enrichment(tx: Tx, limit: int) -> int:
    """Drop what was made of records that are gone; return how many rows there were."""
    return tx.run(SQL["prune_enrichment"], {"limit": limit})
