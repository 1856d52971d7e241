"""Tombstones: keyed hashes of erased records, each with the mark that its bytes may still lie in the files."""

from collections.abc import Mapping, Sequence
from typing import Any

from memory.rows.record_columns import SQL, Stored, to_column
from memory.rows.store import StoredCandidate
from protocol.seams.ports import Tx


def add_tombstone(tx: Tx, erased_id: str, erased: Stored | StoredCandidate, key_hash: bytes, now: int) -> None:
    """Store the tombstone of an erased record or candidate, pending until the files were wiped."""
    tx.run(
        SQL["add_tombstone"],
        {
            "memory_id": erased_id,
            "scope_id": erased.scope_id,
            "fingerprint": erased.fingerprint,
            "text_hash": erased.text_hash,
            "key_hash": key_hash,
            "now": now,
        },
    )


def import_tombstone(tx: Tx, values: Mapping[str, Any]) -> None:
    """Store the tombstone of a record that another home has forgotten; its bytes never were in this one."""
    tx.insert(SQL["import_tombstone"], values)


def is_buried(tx: Tx, memory_id: str) -> bool:
    """Return whether a record was erased."""
    return tx.one(SQL["get_tombstone"], {"memory_id": memory_id}) is not None


def pending_erases(tx: Tx) -> list[str]:
    """Return the ids of erased records whose bytes may still lie in the files, the oldest first."""
    return [memory_id for (memory_id,) in tx.all(SQL["pending_tombstones"])]


def settle_erases(tx: Tx, memory_ids: Sequence[str]) -> None:
    """Mark that no file holds the bytes of these any more."""
    tx.run(SQL["settle_tombstones"], {"memory_ids": to_column(list(memory_ids))})


def doubt_erase(tx: Tx, memory_id: str) -> None:
    """Mark that bytes of an erased record may still lie in the files."""
    tx.run(SQL["doubt_tombstone"], {"memory_id": memory_id})
