"""Removes a record with every row that holds or names it."""

from collections import Counter
from typing import Final

from memory.rows.candidates import erase_candidate
from memory.rows.forgetting import candidates_saying
from memory.rows.record_columns import SQL, Stored
from memory.rows.store import remove_text
from memory.rows.tombstones import add_tombstone
from protocol.seams.ports import Tx

_UNNAMED: Final = (
    SQL["erase_decisions"],
    SQL["erase_events"],
    SQL["erase_recalls"],
    SQL["unlink_superseded"],
    SQL["unlink_doubts"],
)
"""The statements that remove a record's id, and rows kept under it, from other tables."""


def erase_record(tx: Tx, stored: Stored, key_hash: bytes | None, now: int) -> Counter[str]:
    """Remove a record; return how many rows of each kind were. With a `key_hash` it leaves a tombstone."""
    memory_id = stored.record.memory_id
    by_id = {"memory_id": memory_id}
    evidence = tx.one(SQL["count_evidence"], by_id)
    vectors = tx.one(SQL["count_vectors"], {"row": stored.row})
    removed = Counter(
        records=1,
        fts_rows=remove_text(tx, stored.row),
        evidence=evidence[0] if evidence else 0,
        vectors=vectors[0] if vectors else 0,
    )
    if key_hash is not None:
        add_tombstone(tx, memory_id, stored, key_hash, now)
    for candidate_id in candidates_saying(tx, stored):
        erase_candidate(tx, candidate_id)
        removed["candidates"] += 1
    removed["snapshots"] += tx.run(SQL["erase_answers"], by_id)
    for statement in _UNNAMED:
        tx.run(statement, by_id)
    for text_hash in (stored.text_hash, stored.fingerprint):
        tx.run(SQL["erase_repetition"], {"scope_id": stored.scope_id, "text_hash": text_hash})
    tx.run(SQL["erase_record"], by_id)
    return removed
