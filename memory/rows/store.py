"""Rows of records, scopes, candidates and events, and the full-text rows of records.

Rule 1: every function is synchronous and works on the transaction it is given; nothing is decided here.
Rule 2: a record's full-text row is written and removed in the same transaction as the record.
"""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from memory.rows.record_columns import (
    SQL,
    Stored,
    as_inserted,
    checksum_in,
    checksum_of,
    to_column,
    to_columns,
    to_stored,
    with_checksum,
)
from memory.rows.record_terms import prefix_terms, terms_digest, unpack_terms
from memory.rules.identity import FactIdentity, value_text
from memory.rules.paths import fold_path
from protocol.base import Scope
from protocol.memory.values import Candidate, Decision, EventName, Factor
from protocol.record import Actor, GivenDetails, Record, Status, details_of
from protocol.seams.callers import encode_caller
from protocol.seams.ports import Lexicon, Row, Tx

_FACTORS: Final = msgspec.json.Decoder(list[Factor])
"""Made at import: msgspec does not guard two threads of the database that meet a type for the first time at once."""


def seal(tx: Tx, memory_id: str) -> None:
    """Store the checksum of a record as it is now: the last step of each change of a sealed column."""
    row = tx.one(SQL["get_record"], {"memory_id": memory_id})
    if row is not None:
        tx.run(SQL["seal_record"], {"memory_id": memory_id, "checksum": checksum_of(row)})


def _one(tx: Tx, name: str, values: dict[str, Any]) -> Stored | None:
    """Return the first record that a named statement finds, or None."""
    row = tx.one(SQL[name], values)
    return to_stored(row) if row else None


_FRESH: Mapping[str, Any] = details_of(GivenDetails()) | {
    "status": "active",
    "evidence_count": 0,
    "last_accessed_at": None,
    "access_count": 0,
    "superseded_by": None,
    "contested": False,
    "index_state": "indexed",
    "deleted_at": None,
}
"""The fields and columns of a new record for which no other value is given."""


def add_record(tx: Tx, scope: Scope, values: Mapping[str, Any]) -> Stored:
    """Store a new record, sealed; return it as it would be read.

    `values` are its fields and columns, but for those that it has from `_FRESH`.
    """
    columns = to_columns({**_FRESH, "reinforced_at": values["updated_at"], **values})
    row = with_checksum(columns, scope)
    (returned,) = tx.all(SQL["add_record"], columns | {"checksum": checksum_in(row)})
    return to_stored(as_inserted(row, returned))


def get_record(tx: Tx, memory_id: str) -> Stored | None:
    """Return a record by id, whatever its status, or None."""
    return _one(tx, "get_record", {"memory_id": memory_id})


def record_by_key(tx: Tx, scope_id: int, key: str, alias: str) -> Stored | None:
    """Return the newest record of a key or alias, active ones first, or None."""
    values = {"scope_id": scope_id, "key": key, "alias": alias}
    return _one(tx, "active_by_key", values) or _one(tx, "record_by_key", values)


def active_by_key(tx: Tx, scope_id: int, identity: FactIdentity) -> Stored | None:
    """Return the active record of an identity's canonical key or alias, or None."""
    return _one(tx, "active_by_key", {"scope_id": scope_id, "key": identity.key, "alias": identity.alias})


def active_duplicate(tx: Tx, scope_id: int, identity: FactIdentity, value: str | None) -> Stored | None:
    """Return the active record that says the same, or None; equal words with another value say something else."""
    values = {
        "scope_id": scope_id,
        "fingerprint": identity.fingerprint,
        "text_hash": identity.text_hash,
        "by_text": int(identity.alias is None),
        "value": value,
    }
    return _one(tx, "active_by_fingerprint", values)


def active_by_path(tx: Tx, path: str) -> Stored | None:
    """Return the active record that is filed under a path, of whichever scope, or None."""
    return _one(tx, "active_by_path", {"path_key": fold_path(path)})


class Met(Struct, frozen=True):
    """The kinds of rows that share something of an identity; rows of the others need not be looked up."""

    key: bool
    """An active record has its key or alias."""
    same: bool
    """A record, of any status, has its fingerprint or its words."""
    candidate: bool
    tombstone: bool
    repetition: bool


def find_met(tx: Tx, scope_id: int, identity: FactIdentity) -> Met:
    """Return the kinds of rows of a scope that share something of an identity, mostly none, by one statement."""
    values = {
        "scope_id": scope_id,
        "key": identity.key,
        "alias": identity.alias,
        "fingerprint": identity.fingerprint,
        "text_hash": identity.text_hash,
    }
    (row,) = tx.all(SQL["met_by_identity"], values)
    return Met(*map(bool, row))


def is_suppressed(tx: Tx, scope_id: int, identity: FactIdentity, since: int = 0) -> bool:
    """Return whether the same claim was forgotten, erased, or rejected by a person at a time or since."""
    hashes = {"fingerprint": identity.fingerprint, "text_hash": identity.text_hash}
    values = {"scope_id": scope_id, "since": since, **hashes}
    row = tx.one(SQL["is_suppressed"], values)
    return bool(row and row[0])


def earlier_turns(tx: Tx, scope_id: int, *hashes: bytes) -> set[str]:
    """Return the turns in which words of these hashes were said before and not kept."""
    values = [{"scope_id": scope_id, "text_hash": text_hash} for text_hash in hashes]
    return {turn_id for one in values for (turn_id,) in tx.all(SQL["turns_of_text"], one)}


def note_turns(tx: Tx, scope_id: int, hashes: Sequence[bytes], turns: Iterable[str], now: int) -> None:
    """Store that words of these hashes were said in some turns and not kept."""
    for turn_id in turns:
        for text_hash in hashes:
            values = {"scope_id": scope_id, "text_hash": text_hash, "turn_id": turn_id, "now": now}
            tx.run(SQL["note_repetition"], values)


def scope_id_of(tx: Tx, scope: Scope) -> int | None:
    """Return the row number of a scope that was written to before."""
    row = tx.one(SQL["scope_id"], {"kind": scope.kind, "key": scope.key})
    return row[0] if row else None


def ensure_scope(tx: Tx, scope: Scope) -> int:
    """Return the row number of a scope, which is added where it is not there."""
    found = scope_id_of(tx, scope)
    if found is not None:
        return found
    return tx.insert(SQL["add_scope"], {"kind": scope.kind, "key": scope.key})


def scope_ids_of(tx: Tx, scopes: Sequence[Scope]) -> dict[int, Scope]:
    """Return the scopes that were ever written to, by row number."""
    return {found: scope for scope in scopes if (found := scope_id_of(tx, scope)) is not None}


def count_active(tx: Tx, scope_id: int) -> int:
    """Return how many active records a scope has, by the count that triggers keep."""
    row = tx.one(SQL["count_in_scope"], {"scope_id": scope_id})
    return row[0] if row else 0


def active_in(tx: Tx, scope: Scope) -> int:
    """Return how many active records a scope has; 0 where it was never written to."""
    found = scope_id_of(tx, scope)
    return count_active(tx, found) if found is not None else 0


def holds_active(tx: Tx, scope: Scope) -> bool:
    """Return whether a scope has an active record, by the records themselves: their count may be damaged."""
    found = scope_id_of(tx, scope)
    row = tx.one(SQL["holds_active"], {"scope_id": found}) if found is not None else None
    return bool(row and row[0])


# -- full text -----------------------------------------------------------------------------------------------------


WINDOW_BITS = 12
"""A window of 4 KiB holds a record's words; the usual one of 32 KiB takes fifty microseconds more to set up, and packs
them no better."""


def body_terms(record: Record, alias: str | None, lexicon: Lexicon) -> list[str]:
    """Return the terms by which a record is found: of its content, tags, value and alias."""
    parts = [record.content, *record.tags]
    if record.value is not None:
        parts.append(value_text("", record.value))
    if alias is not None:
        parts.append(alias.replace("_", " "))
    return lexicon.index_terms("\n".join(parts))


def gist_of(record: Record, lexicon: Lexicon) -> list[str]:
    """Return the terms of a record's content without function words, as of a query in its words."""
    return lexicon.query_terms(record.content)


def pack_terms(stored: Stored, lexicon: Lexicon, gist: Sequence[str] | None = None) -> bytes:
    """Return the terms of a record as `record_terms` keeps them: a line with all of them, a line with the gist."""
    lines = body_terms(stored.record, stored.alias, lexicon), gist_of(stored.record, lexicon) if gist is None else gist
    packer = zlib.compressobj(wbits=WINDOW_BITS, memLevel=1)
    return packer.compress("\n".join(map(" ".join, lines)).encode()) + packer.flush()


def add_text(tx: Tx, stored: Stored, lexicon: Lexicon) -> None:
    """Index a record, in place of the terms that the index has of it."""
    remove_text(tx, stored.row)
    add_first_text(tx, stored, lexicon)


def add_first_text(tx: Tx, stored: Stored, lexicon: Lexicon, gist: Sequence[str] | None = None) -> None:
    """Index a record that never was in the index; `gist` is that of its content, where the caller has it."""
    scope, terms = put_terms(tx, stored, lexicon, gist)
    tx.run(SQL["add_text"], {"row": stored.row, "body": prefix_terms(scope, unpack_terms(terms))})


def put_terms(tx: Tx, stored: Stored, lexicon: Lexicon, gist: Sequence[str] | None = None) -> tuple[str, bytes]:
    """Keep the terms of a record; return its prefix of scope and the packed terms. The index is left as it is."""
    terms, scope = pack_terms(stored, lexicon, gist), f"s{stored.scope_id}"
    values = {"row": stored.row, "scope": scope, "terms": terms, "lexicon": lexicon.version}
    tx.run(SQL["keep_terms"], values | {"digest": terms_digest(scope, terms)})
    return scope, terms


def remove_text(tx: Tx, row: int) -> int:
    """Remove a record from the index, which needs the terms that went in; return 1, or 0 if it was not there."""
    kept = tx.one(SQL["kept_terms"], {"row": row})
    if kept is None:
        return 0
    tx.run(SQL["remove_text"], {"row": row, "body": prefix_terms(kept[0], unpack_terms(kept[1]))})
    return tx.run(SQL["drop_terms"], {"row": row})


# -- candidates, decisions, events ---------------------------------------------------------------------------------


class StoredCandidate(Struct, frozen=True):
    """A candidate as stored."""

    scope_id: int
    candidate: Candidate
    fingerprint: bytes
    text_hash: bytes
    turn_id: str | None
    proposal: str
    is_forgotten: bool


def candidate_of(row: Row) -> StoredCandidate:
    """Return the candidate of a row of `SELECT candidate.*, scope.kind, scope.key …`."""
    (
        _,
        candidate_id,
        scope_id,
        category,
        key,
        content,
        value,
        status,
        score,
        bucket,
        reason_code,
        evidence_count,
        contested,
        promoted,
        merged_into,
        created_at,
        decided_at,
        decided_by,
        fingerprint,
        text_hash,
        turn_id,
        proposal,
        _,
        forgotten_with,
        kind,
        scope_key,
    ) = row
    candidate = Candidate(
        candidate_id=candidate_id,
        scope=Scope(kind=kind, key=scope_key),
        category=category,
        key=key,
        content=content,
        value=msgspec.json.decode(value) if value is not None else None,
        status=status,
        score=score,
        bucket=bucket,
        reason_code=reason_code,
        evidence_count=evidence_count,
        contested_memory_id=contested,
        promoted_memory_id=promoted,
        merged_into=merged_into,
        created_at=created_at,
        decided_at=decided_at,
        decided_by=decided_by,
    )
    return StoredCandidate(
        scope_id, candidate, fingerprint, text_hash, turn_id, proposal, is_forgotten=forgotten_with is not None
    )


def get_candidate(tx: Tx, candidate_id: str) -> StoredCandidate | None:
    """Return a candidate by id, unless it is forgotten."""
    row = tx.one(SQL["get_candidate"], {"candidate_id": candidate_id})
    return candidate_of(row) if row else None


def get_any_candidate(tx: Tx, candidate_id: str) -> StoredCandidate | None:
    """Return a candidate by id, a forgotten one as well: for bookkeeping, never for an answer."""
    row = tx.one(SQL["get_any_candidate"], {"candidate_id": candidate_id})
    return candidate_of(row) if row else None


def pending_candidate(tx: Tx, scope_id: int, identity: FactIdentity, value: str | None) -> StoredCandidate | None:
    """Return the waiting candidate that says the same; equal words with another value do not."""
    values = {
        "scope_id": scope_id,
        "fingerprint": identity.fingerprint,
        "text_hash": identity.text_hash,
        "value": value,
    }
    row = tx.one(SQL["pending_candidate"], values)
    return candidate_of(row) if row else None


def decision_of(row: Row) -> Decision:
    """Return the decision of a row that begins with action, score, bucket, reason and factors."""
    factors = _FACTORS.decode(row[4])
    return Decision(action=row[0], score=row[1], bucket=row[2], reason_code=row[3], factors=factors)


class Change(Struct, frozen=True):
    """A step of a record's history."""

    event: EventName
    actor: Actor
    reason_code: str | None = None
    from_status: Status | None = None
    to_status: Status | None = None


def add_event(tx: Tx, memory_id: str, at: int, change: Change) -> None:
    """Write a step of a record's history."""
    tx.run(
        SQL["add_event"],
        {
            "memory_id": memory_id,
            "at": at,
            "event": change.event,
            "actor": to_column(change.actor),
            "reason_code": change.reason_code,
            "from_status": change.from_status,
            "to_status": change.to_status,
            "caller": encode_caller(),
        },
    )
