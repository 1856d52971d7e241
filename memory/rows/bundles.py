"""Rows that an export reads, and rows that an import adds."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from memory.rows.evidence import evidence_of_row
from memory.rows.record_columns import SQL, Stored, to_column, to_csv, to_stored
from memory.rows.store import StoredCandidate, candidate_of
from memory.rules.identity import FactIdentity
from protocol.base import Scope
from protocol.bundle import BundledDecision, BundledEvent, BundledEvidence, BundledFactor
from protocol.record import Actor
from protocol.seams.ports import Row, Tx

BATCH = 100
"""Rows of one statement; a page holds a few hundred."""

_ACTOR: Final = msgspec.json.Decoder(Actor)
_FACTORS: Final = msgspec.json.Decoder(list[BundledFactor])
"""Made at import: msgspec does not guard two threads of the database that meet a type for the first time at once."""


class StoredTombstone(Struct, frozen=True):
    """The tombstone of an erased record."""

    row: int
    memory_id: str
    scope: Scope
    erased_at: int
    key_id: str | None
    """The id of the key of its hashes, if it came in a bundle; None where that is this home's."""
    fingerprint: bytes
    text_hash: bytes
    key_hash: bytes


def _rows(tx: Tx, statement: str, scope_ids: Collection[int], begin: int) -> Iterator[Row]:
    """Yield the rows of a statement in some scopes, from a row number on."""
    listed = to_csv(scope_ids)
    while True:
        found = tx.all(statement, {"row": begin, "scope_ids": listed, "limit": BATCH})
        yield from found
        if len(found) < BATCH:
            return
        begin = found[-1][0] + 1


def records_from(tx: Tx, scope_ids: Collection[int], begin: int) -> Iterator[Stored]:
    """Return the records of some scopes from a row on; forgotten ones are left out."""
    return map(to_stored, _rows(tx, SQL["export_records"], scope_ids, begin))


def forgotten_from(tx: Tx, scope_ids: Collection[int], begin: int) -> Iterator[Stored]:
    """Return the forgotten records of some scopes that can still be restored, from a row on."""
    return map(to_stored, _rows(tx, SQL["export_forgotten"], scope_ids, begin))


def candidates_from(tx: Tx, scope_ids: Collection[int], begin: int) -> Iterator[tuple[int, StoredCandidate]]:
    """Return (row, candidate) of the candidates of some scopes that may be shown, from a row on."""
    return ((row[0], candidate_of(row)) for row in _rows(tx, SQL["export_candidates"], scope_ids, begin))


def tombstones_from(tx: Tx, scope_ids: Collection[int], begin: int) -> Iterator[StoredTombstone]:
    """Yield the tombstones of some scopes from a row on."""
    for row, memory_id, kind, key, *rest in _rows(tx, SQL["export_tombstones"], scope_ids, begin):
        yield StoredTombstone(row, memory_id, Scope(kind=kind, key=key), *rest)


def read_touch_time(tx: Tx, found: StoredCandidate) -> int:
    """Return when a candidate was last proposed or decided."""
    row = tx.one(SQL["touched_at"], {"candidate_id": found.candidate.candidate_id})
    return row[0] if row else found.candidate.created_at


# -- evidence, events and decisions ----------------------------------------------------------------------------------


def attachments_of_record(tx: Tx, memory_id: str) -> dict[str, Any]:
    """Return the evidence, events and decisions of a record, each oldest first."""
    by_id = {"memory_id": memory_id}
    return {
        "evidence": _evidence(tx.all(SQL["export_evidence"], by_id)),
        "events": _events(tx.all(SQL["export_events"], by_id)),
        "decisions": _decisions(tx.all(SQL["export_decisions"], by_id)),
    }


def attachments_of_candidate(tx: Tx, candidate_id: str) -> dict[str, Any]:
    """Return the evidence of a candidate, and the decisions about it alone, each oldest first."""
    by_id = {"candidate_id": candidate_id}
    return {
        "evidence": _evidence(tx.all(SQL["export_candidate_evidence"], by_id)),
        "decisions": _decisions(tx.all(SQL["export_candidate_decisions"], by_id)),
    }


def _evidence(rows: Sequence[Row]) -> list[BundledEvidence]:
    return [BundledEvidence(**evidence_of_row(row)) for row in rows]


def _events(rows: Sequence[Row]) -> list[BundledEvent]:
    return [
        BundledEvent(
            at=at, event=event, actor=_ACTOR.decode(actor), reason_code=reason, from_status=before, to_status=after
        )
        for at, event, actor, reason, before, after in rows
    ]


def _decisions(rows: Sequence[Row]) -> list[BundledDecision]:
    names = (
        "at",
        "action",
        "score",
        "bucket",
        "reason_code",
        "factors",
        "candidate_id",
        "thread_id",
        "turn_id",
        "run_id",
    )
    decoded: list[dict[str, Any]] = [
        {**dict(zip(names, row, strict=True)), "factors": _FACTORS.decode(row[5])} for row in rows
    ]
    return [BundledDecision(**one) for one in decoded]


# -- imported rows ---------------------------------------------------------------------------------------------------


def import_candidate(tx: Tx, values: Mapping[str, Any]) -> None:
    """Store a candidate as another home knew it."""
    tx.insert(SQL["import_candidate"], values)


def import_decision(tx: Tx, values: Mapping[str, Any], *, is_new: bool) -> None:
    """Store a decision as another home knew it; where its subject is not new, only if that lacks it."""
    known = SQL["has_decision"] if values["memory_id"] is not None else SQL["has_candidate_decision"]
    if is_new or not tx.one(known, values):
        tx.run(SQL["add_decision"], values)


def import_event(tx: Tx, values: Mapping[str, Any], *, is_new: bool) -> None:
    """Store a step of a record's history as another home knew it; where the record is not new, only if it lacks it."""
    given = {**values, "actor": to_column(values["actor"]), "caller": None}
    if is_new or not tx.one(SQL["has_event"], given):
        tx.run(SQL["add_event"], given)


def count_imported_evidence(tx: Tx, memory_id: str) -> None:
    """Count a record's evidence anew; its time of change stays."""
    tx.run(SQL["recount_imported_evidence"], {"memory_id": memory_id})


def are_words_forgotten(tx: Tx, scope_id: int, identity: FactIdentity, created_at: int, *, is_record: bool) -> bool:
    """Return whether words were forgotten here, or, of a record, rejected since its creation.

    A tombstone that came in a bundle counts only for entries that were created before it.
    """
    row = tx.one(
        SQL["is_forgotten"],
        {
            "scope_id": scope_id,
            "fingerprint": identity.fingerprint,
            "text_hash": identity.text_hash,
            "created_at": created_at,
            "is_record": int(is_record),
        },
    )
    return bool(row and row[0])
