"""Rows of records, candidates, evidence, decisions and events, and the full-text rows that go with them.

Rule 1: every function is synchronous and works on the transaction it is given; nothing is decided here.
Rule 2: a record's full-text row is written and removed in the same transaction as the record.
"""

import hashlib
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from memory.rows.notes import noted_by, voice_of
from memory.rows.record_terms import SQL, placed, terms_digest, unpacked
from memory.rules.identity import FactIdentity, value_text
from memory.rules.visibility import WITHHELD, Seen
from protocol.base import Scope, encode_sorted
from protocol.memory import Actor, Candidate, Decision, EventName, Factor, Provenance, Record, Status
from protocol.seams.ports import Lexicon, Row, Tx

T = TypeVar("T")


_COLUMNS = (
    "id", "memory_id", "scope_id", "category", "kind", "key", "alias", "is_single", "content", "value", "status",
    "sensitivity", "confidence", "importance", "tags", "provenance", "thread_id", "turn_id", "evidence_count",
    "created_at", "updated_at", "valid_from", "expires_at", "last_accessed_at", "access_count", "supersedes",
    "superseded_by", "contested", "index_state", "metadata", "fingerprint", "text_hash", "checksum", "deleted_at",
    "scope_kind", "scope_key",
)  # fmt: skip
"""The columns of `SELECT whole.*, scope…` in the order of schema.sql."""

_FACTORS: Final = msgspec.json.Decoder(list[Factor])
"""Made here: two threads of the database must not be the first to meet a type at once, which msgspec does not guard."""


class Stored(NamedTuple):
    """A record as stored, with what never goes on the wire."""

    row: int
    scope_id: int
    record: Record
    alias: str | None
    is_single: bool
    fingerprint: bytes
    text_hash: bytes
    is_intact: bool
    deleted_at: int | None
    followed_by: str | None = None
    """`superseded_by` as stored: empty where what replaced it was erased."""

    @property
    def seen(self) -> Seen:
        """What visibility asks."""
        r = self.record
        return Seen(
            self.scope_id, r.status, r.sensitivity, r.expires_at, self.is_intact, WITHHELD in r.metadata,
            noted_by(r.provenance),
        )  # fmt: skip


def encoded(value: Any) -> str:
    """JSON text for a column."""
    return encode_sorted(value).decode()


_UNSEALED = frozenset(
    {"id", "evidence_count", "updated_at", "last_accessed_at", "access_count", "supersedes", "superseded_by", "contested",
     "index_state", "checksum", "scope_kind", "scope_key"}
)  # fmt: skip
"""What may change without the checksum: bookkeeping, and what repair can tell from elsewhere."""

_sealed = itemgetter(*(n for n, name in enumerate(_COLUMNS) if name not in _UNSEALED))
_FIRST_BLOB = _COLUMNS.index("fingerprint")
_CHECKSUM = _COLUMNS.index("checksum")
_value_of = msgspec.json.Decoder().decode
_tags_of = msgspec.json.Decoder(list[str]).decode
_provenance_of = msgspec.json.Decoder(Provenance).decode
_metadata_of = msgspec.json.Decoder(dict[str, Any]).decode


def checksum_of(row: Row) -> bytes:
    """What a record's own bytes must give; a row that does not was damaged."""
    return hashlib.sha256(repr(list(_sealed(row))).encode("utf-8", "surrogatepass")).digest()


def seal(tx: Tx, memory_id: str) -> None:
    """Confirm a record as it is now: the last step of every statement that changes a sealed column on purpose."""
    row = tx.one(SQL["get_record"], {"memory_id": memory_id})
    if row is not None:
        tx.run(SQL["seal_record"], {"memory_id": memory_id, "checksum": checksum_of(row)})


def _read(decode: Callable[[str], T], text: str, nothing: T, *, is_intact: bool) -> T:
    """A JSON column; of a record whose bytes are not what was written, nothing where it cannot be read."""
    try:
        return decode(text)
    except (msgspec.DecodeError, TypeError):
        if is_intact:
            raise
        return nothing


def stored_of(row: Row) -> Stored:
    """A row of `SELECT whole.*, scope.kind, scope.key …`; of a damaged one, what can be read."""
    columns: list[Any] = [
        value.decode("utf-8", "replace") if isinstance(value, bytes) else value for value in row[:_FIRST_BLOB]
    ]
    (row_id, memory_id, scope_id, category, kind, key, alias, is_single, content, value, status, sensitivity, confidence, importance, tags,
     provenance, _, _, evidence_count, created_at, updated_at, valid_from, expires_at, last_accessed_at, access_count, supersedes,
     superseded_by, contested, index_state, metadata) = columns  # fmt: skip
    intact = checksum_of(row) == row[_CHECKSUM]
    origin = _read(_provenance_of, provenance, Provenance(), is_intact=intact)
    fingerprint, text_hash, _, deleted_at, scope_kind, scope_key = row[_FIRST_BLOB : len(_COLUMNS)]
    record = Record(
        memory_id=memory_id, scope=Scope(kind=scope_kind, key=scope_key), namespace=None, category=category, kind=kind, key=key,
        content=content, value=_read(_value_of, value, None, is_intact=intact) if value is not None else None, status=status,
        sensitivity=sensitivity, confidence=confidence, importance=importance, tags=_read(_tags_of, tags, [], is_intact=intact),
        provenance=origin, voice=voice_of(origin), evidence_count=evidence_count, created_at=created_at,
        updated_at=updated_at, valid_from=valid_from, expires_at=expires_at, last_accessed_at=last_accessed_at,
        access_count=access_count, supersedes=supersedes, superseded_by=superseded_by or None, contested=bool(contested),
        index_state=index_state, metadata=_read(_metadata_of, metadata, {}, is_intact=intact),
    )  # fmt: skip
    return Stored(
        row_id, scope_id, record, alias, bool(is_single), fingerprint, text_hash, intact, deleted_at,
        superseded_by,
    )  # fmt: skip


def _one(tx: Tx, name: str, values: dict[str, Any]) -> Stored | None:
    row = tx.one(SQL[name], values)
    return stored_of(row) if row else None


_FRESH: Mapping[str, Any] = {
    "status": "active", "evidence_count": 0, "last_accessed_at": None, "access_count": 0, "superseded_by": None, "contested": 0,
    "index_state": "indexed", "deleted_at": None,
}  # fmt: skip
"""What a record is unless something else is said of it."""


def add_record(tx: Tx, scope: Scope, values: Mapping[str, Any]) -> Stored:
    """A new record, sealed, as it would be read. `values` are its columns, as far as they are not those of any new record."""
    given: dict[str, Any] = {**_FRESH, **values, "id": None, "checksum": b""}
    given |= {name: float(given[name]) for name in ("confidence", "importance")}  # as their columns give them back
    row: dict[str, Any] = {name: value.encode() if isinstance(value, str) else value for name, value in given.items()}
    row |= {"scope_kind": scope.kind, "scope_key": scope.key}
    checksum = checksum_of(tuple(row[name] for name in _COLUMNS))
    row |= {"checksum": checksum, "id": tx.insert(SQL["add_record"], given | {"checksum": checksum})}
    return stored_of(tuple(row[name] for name in _COLUMNS))


def get_record(tx: Tx, memory_id: str) -> Stored | None:
    """A record by id."""
    return _one(tx, "get_record", {"memory_id": memory_id})


def record_by_key(tx: Tx, scope_id: int, key: str, alias: str) -> Stored | None:
    """The newest record of a key or alias, active ones first."""
    values = {"scope_id": scope_id, "key": key, "alias": alias}
    return _one(tx, "active_by_key", values) or _one(tx, "record_by_key", values)


def active_by_key(tx: Tx, scope_id: int, identity: FactIdentity) -> Stored | None:
    """The active record of a canonical key or alias."""
    return _one(tx, "active_by_key", {"scope_id": scope_id, "key": identity.key, "alias": identity.alias})


def active_duplicate(tx: Tx, scope_id: int, identity: FactIdentity, value: str | None) -> Stored | None:
    """The active record that says the same; equal words with another value do not."""
    values = {
        "scope_id": scope_id, "fingerprint": identity.fingerprint, "text_hash": identity.text_hash,
        "by_text": int(identity.alias is None), "value": value,
    }  # fmt: skip
    return _one(tx, "active_by_fingerprint", values)


class Met(NamedTuple):
    """Which rows there are that a lookup by an identity may find; where there are none nothing has to be looked up."""

    key: bool
    same: bool
    candidate: bool
    tombstone: bool
    repetition: bool


def met_by(tx: Tx, scope_id: int, identity: FactIdentity) -> Met:
    """What is met in a scope by what is said: nothing, most of the time."""
    values = {
        "scope_id": scope_id, "key": identity.key, "alias": identity.alias, "fingerprint": identity.fingerprint,
        "text_hash": identity.text_hash,
    }  # fmt: skip
    (row,) = tx.all(SQL["met_by_identity"], values)
    return Met(*map(bool, row))


def is_suppressed(tx: Tx, scope_id: int, identity: FactIdentity) -> bool:
    """Whether the same was forgotten, erased, or rejected by a person."""
    values = {"scope_id": scope_id, "fingerprint": identity.fingerprint, "text_hash": identity.text_hash}
    row = tx.one(SQL["is_suppressed"], values)
    return bool(row and row[0])


def earlier_turns(tx: Tx, scope_id: int, *hashes: bytes) -> set[str]:
    """In which turns the same was said before."""
    values = [{"scope_id": scope_id, "text_hash": text_hash} for text_hash in hashes]
    return {turn_id for one in values for (turn_id,) in tx.all(SQL["turns_of_text"], one)}


def note_turns(tx: Tx, scope_id: int, hashes: Sequence[bytes], turns: Iterable[str], now: int) -> None:
    """Something was said in these turns and not kept."""
    for turn_id in turns:
        for text_hash in hashes:
            values = {"scope_id": scope_id, "text_hash": text_hash, "turn_id": turn_id, "now": now}
            tx.run(SQL["note_repetition"], values)


def scope_id_of(tx: Tx, scope: Scope) -> int | None:
    """The row number of a scope that was written to before."""
    row = tx.one(SQL["scope_id"], {"kind": scope.kind, "key": scope.key})
    return row[0] if row else None


def ensure_scope(tx: Tx, scope: Scope) -> int:
    """The row number of a scope."""
    found = scope_id_of(tx, scope)
    if found is not None:
        return found
    return tx.insert(SQL["add_scope"], {"kind": scope.kind, "key": scope.key})


def scope_ids_of(tx: Tx, scopes: Sequence[Scope]) -> dict[int, Scope]:
    """Row numbers of the scopes that were ever written to."""
    return {found: scope for scope in scopes if (found := scope_id_of(tx, scope)) is not None}


def active_in(tx: Tx, scope: Scope) -> int:
    """How many active records a scope has."""
    found = scope_id_of(tx, scope)
    row = tx.one(SQL["count_in_scope"], {"scope_id": found}) if found is not None else None
    return row[0] if row else 0


# -- full text -----------------------------------------------------------------------------------------------------


WINDOW_BITS = 12
"""A record's words fit into 4 KiB; the usual window of 32 KiB takes fifty microseconds to set up, and packs them no better."""


def body_terms(record: Record, alias: str | None, lexicon: Lexicon) -> list[str]:
    """The terms under which a record is found."""
    parts = [record.content, *record.tags]
    if record.value is not None:
        parts.append(value_text("", record.value))
    if alias is not None:
        parts.append(alias.replace("_", " "))
    return lexicon.index_terms("\n".join(parts))


def gist_of(record: Record, lexicon: Lexicon) -> list[str]:
    """The terms that say what a record is about: those that its words would be asked with."""
    return lexicon.query_terms(record.content)


def packed_terms(stored: Stored, lexicon: Lexicon, gist: Sequence[str] | None = None) -> bytes:
    """The terms of a record as `record_terms` keeps them: a line with all of them, a line with the gist."""
    lines = body_terms(stored.record, stored.alias, lexicon), gist_of(stored.record, lexicon) if gist is None else gist
    packer = zlib.compressobj(wbits=WINDOW_BITS, memLevel=1)
    return packer.compress("\n".join(map(" ".join, lines)).encode()) + packer.flush()


def add_text(tx: Tx, stored: Stored, lexicon: Lexicon) -> None:
    """Make a record findable, in place of what was in the index of it."""
    remove_text(tx, stored.row)
    add_first_text(tx, stored, lexicon)


def add_first_text(tx: Tx, stored: Stored, lexicon: Lexicon, gist: Sequence[str] | None = None) -> None:
    """Make a record findable of which nothing was ever in the index. `gist` is that of its content, where it is known."""
    scope, terms = put_terms(tx, stored, lexicon, gist)
    tx.run(SQL["add_text"], {"row": stored.row, "body": placed(scope, unpacked(terms))})


def put_terms(tx: Tx, stored: Stored, lexicon: Lexicon, gist: Sequence[str] | None = None) -> tuple[str, bytes]:
    """Keep the terms of a record; return its scope and them. The index itself is left as it is."""
    terms, scope = packed_terms(stored, lexicon, gist), f"s{stored.scope_id}"
    values = {"row": stored.row, "scope": scope, "terms": terms, "lexicon": lexicon.version}
    tx.run(SQL["keep_terms"], values | {"digest": terms_digest(scope, terms)})
    return scope, terms


def remove_text(tx: Tx, row: int) -> int:
    """Take a record out of the index, by the very terms that went in; how many rows went."""
    kept = tx.one(SQL["kept_terms"], {"row": row})
    if kept is None:
        return 0
    tx.run(SQL["remove_text"], {"row": row, "body": placed(kept[0], unpacked(kept[1]))})
    return tx.run(SQL["drop_terms"], {"row": row})


# -- candidates, decisions, events ---------------------------------------------------------------------------------


class StoredCandidate(NamedTuple):
    """A candidate as stored."""

    scope_id: int
    candidate: Candidate
    fingerprint: bytes
    text_hash: bytes
    turn_id: str | None
    proposal: str
    is_forgotten: bool


def candidate_of(row: Row) -> StoredCandidate:
    """A row of `SELECT candidate.*, scope.kind, scope.key …`."""
    (_, candidate_id, scope_id, category, key, content, value, status, score, bucket, reason_code, evidence_count, contested,
     promoted, merged_into, created_at, decided_at, decided_by, fingerprint, text_hash, turn_id, proposal, _,
     forgotten_with, kind, scope_key) = row  # fmt: skip
    candidate = Candidate(
        candidate_id=candidate_id, scope=Scope(kind=kind, key=scope_key), category=category, key=key, content=content,
        value=msgspec.json.decode(value) if value is not None else None, status=status, score=score, bucket=bucket,
        reason_code=reason_code, evidence_count=evidence_count, contested_memory_id=contested,
        promoted_memory_id=promoted, merged_into=merged_into, created_at=created_at, decided_at=decided_at,
        decided_by=decided_by,
    )  # fmt: skip
    return StoredCandidate(
        scope_id, candidate, fingerprint, text_hash, turn_id, proposal, is_forgotten=forgotten_with is not None
    )


def get_candidate(tx: Tx, candidate_id: str) -> StoredCandidate | None:
    """A candidate by id, unless it is forgotten."""
    row = tx.one(SQL["get_candidate"], {"candidate_id": candidate_id})
    return candidate_of(row) if row else None


def known_candidate(tx: Tx, candidate_id: str) -> StoredCandidate | None:
    """A candidate by id, a forgotten one as well: for bookkeeping, never for an answer."""
    row = tx.one(SQL["known_candidate"], {"candidate_id": candidate_id})
    return candidate_of(row) if row else None


def pending_candidate(tx: Tx, scope_id: int, identity: FactIdentity, value: str | None) -> StoredCandidate | None:
    """The waiting candidate that says the same; equal words with another value do not."""
    values = {
        "scope_id": scope_id, "fingerprint": identity.fingerprint, "text_hash": identity.text_hash, "value": value,
    }  # fmt: skip
    row = tx.one(SQL["pending_candidate"], values)
    return candidate_of(row) if row else None


def decision_of(row: Row) -> Decision:
    """The first five columns of a decision row."""
    factors = _FACTORS.decode(row[4])
    return Decision(action=row[0], score=row[1], bucket=row[2], reason_code=row[3], factors=factors)


class Change(NamedTuple):
    """A step in a record's life."""

    event: EventName
    actor: Actor
    reason_code: str | None = None
    from_status: Status | None = None
    to_status: Status | None = None


def add_event(tx: Tx, memory_id: str, at: int, change: Change) -> None:
    """Write a step of a record's history."""
    tx.run(SQL["add_event"], {
        "memory_id": memory_id, "at": at, "event": change.event, "actor": encoded(change.actor),
        "reason_code": change.reason_code, "from_status": change.from_status, "to_status": change.to_status,
    })  # fmt: skip


def set_status(tx: Tx, stored: Stored, status: Status, now: int, *, superseded_by: str | None = None) -> None:
    """Move a record to a status; its links and marks follow."""
    tx.run(SQL["change_status"], {
        "memory_id": stored.record.memory_id, "status": status, "now": now,
        "superseded_by": superseded_by, "deleted_at": now if status == "deleted" else None,
        "contested": int(stored.record.contested and status == "active"),
    })  # fmt: skip
    if stored.is_intact:  # damage is not made good by forgetting it
        seal(tx, stored.record.memory_id)
