"""Rows of candidates: their score, their end, and the doubts that they cast on records.

Rule 1: `_set_status` alone changes a status, by an event of `rules/lifecycle.py`. A candidate ends once.
Rule 2: a record is contested as long as a candidate that contradicts it waits.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from memory.rows.notices import Notice, build_changed_notice
from memory.rows.record_columns import SQL
from memory.rows.records import set_contested
from memory.rows.store import Change, StoredCandidate, add_event, candidate_of, get_any_candidate, get_record
from memory.rules.lifecycle import CANDIDATES, CandidateEvent
from protocol.errors import Defect
from protocol.memory.values import CandidateStatus, Decision
from protocol.record import Actor
from protocol.seams.ports import Tx
from protocol.seams.transitions import after

ADMISSION = "admission"
"""The decider that is no person: the score, by repetition or because a doubt is settled."""
FORGET = "forget"
"""The decider of a candidate that was forgotten."""


class End(Struct, frozen=True):
    """The end of a candidate."""

    event: CandidateEvent
    decided_by: str = ADMISSION
    memory_id: str | None = None
    """The record that it became."""
    merged_into: str | None = None
    """The record or candidate that it was merged into."""


def _set_status(tx: Tx, candidate_id: str, end: End, now: int, before: CandidateStatus = "pending") -> None:
    """Apply an event to a candidate. Raises `IllegalMoveError`, and `Defect` where its status is another one."""
    is_changed = tx.run(
        SQL["change_candidate_status"],
        {
            "candidate_id": candidate_id,
            "before": before,
            "status": after(CANDIDATES, before, end.event),
            "now": now,
            "promoted_memory_id": end.memory_id,
            "merged_into": end.merged_into,
            "decided_by": end.decided_by,
        },
    )
    if not is_changed:
        raise Defect


def add_candidate(tx: Tx, values: Mapping[str, Any]) -> None:
    """Store a new candidate."""
    tx.run(SQL["add_candidate"], values)


def rescore_candidate(tx: Tx, candidate_id: str, decision: Decision, now: int) -> None:
    """Write a candidate's new score and reason, and count its evidence anew."""
    tx.run(
        SQL["rescore_candidate"],
        {
            "candidate_id": candidate_id,
            "score": decision.score,
            "bucket": decision.bucket,
            "reason_code": decision.reason_code,
            "now": now,
        },
    )


def end_candidate(tx: Tx, candidate_id: str, end: End, now: int) -> None:
    """End a waiting candidate. Its evidence moves to the record or candidate that it became part of."""
    target = end.memory_id or end.merged_into
    _set_status(tx, candidate_id, end, now)
    if target is None:
        return
    by_id = {"candidate_id": candidate_id}
    into_record = get_any_candidate(tx, target) is None
    ids = {"memory_id": target if into_record else None, "candidate_id": None if into_record else target}
    tx.run(SQL["move_evidence"], {"moved_from": candidate_id, **ids})
    tx.run(SQL["drop_evidence"], by_id)
    tx.run(SQL["follow_merge"], {**by_id, "merged_into": target})


def reopen_candidate(tx: Tx, candidate_id: str, now: int) -> None:
    """Make an expired candidate wait again."""
    _set_status(tx, candidate_id, End("reopen"), now, "expired")


def forget_candidate(tx: Tx, found: StoredCandidate, now: int, forgotten_with: str = "") -> int:
    """Forget a candidate with a record, or, without one, for good; return how many were not forgotten before."""
    candidate_id = found.candidate.candidate_id
    if found.candidate.status == "pending":
        _set_status(tx, candidate_id, End("forget", FORGET), now)
    values = {"candidate_id": candidate_id, "forgotten_with": forgotten_with, "decided_by": FORGET}
    return tx.run(SQL["forget_candidate"], values)


def show_again(tx: Tx, memory_id: str) -> None:
    """Show the candidates that were forgotten with a record, unless another forgotten record says the same."""
    tx.run(SQL["show_candidates_again"], {"memory_id": memory_id})


def erase_candidate(tx: Tx, candidate_id: str) -> int:
    """Remove a candidate; decisions keep their reason and no longer name it. Return 1, or 0 if it was not there."""
    tx.run(SQL["blank_decisions_of_candidate"], {"candidate_id": candidate_id})
    return min(tx.run(SQL["erase_candidate"], {"candidate_id": candidate_id}), 1)


# -- doubts ----------------------------------------------------------------------------------------------------------


def settle_doubts(tx: Tx, memory_id: str, now: int) -> None:
    """End the candidates that contradict a record which was confirmed, or was replaced."""
    for (candidate_id,) in tx.all(SQL["contesting_candidates"], {"memory_id": memory_id}):
        end_candidate(tx, candidate_id, End("expire"), now)


def lift_doubt(tx: Tx, memory_id: str | None, actor: Actor, now: int, reason_code: str | None = None) -> list[Notice]:
    """Mark a contested record as uncontested if no waiting candidate contradicts it; return the notice of that."""
    stored = get_record(tx, memory_id) if memory_id is not None else None
    if stored is None or memory_id is None or stored.record.status != "active" or not stored.record.contested:
        return []
    if tx.all(SQL["contesting_candidates"], {"memory_id": memory_id}):
        return []
    set_contested(tx, memory_id, now, is_contested=False)
    add_event(tx, memory_id, now, Change("uncontested", actor, reason_code))
    current = msgspec.structs.replace(stored.record, contested=False, updated_at=now)
    return [build_changed_notice(current, "updated", reason_code)]


# -- lookups ---------------------------------------------------------------------------------------------------------


def list_candidates(tx: Tx, scope_id: int, asked: Mapping[str, Any]) -> list[tuple[int, StoredCandidate]]:
    """Return (row, candidate) of the candidates of a scope that may be shown, newest first, after a row."""
    rows = tx.all(SQL["list_candidates"], {**asked, "scope_id": scope_id})
    return [(row[0], candidate_of(row)) for row in rows]


def waiting_in(tx: Tx, scope_id: int, limit: int) -> list[StoredCandidate]:
    """Return the candidates that wait in a scope, newest first."""
    return [candidate_of(row) for row in tx.all(SQL["pending_candidates"], {"scope_id": scope_id, "limit": limit})]


def equal_waiting(tx: Tx, found: StoredCandidate) -> list[str]:
    """Return the ids of other waiting candidates of the scope with the same words, under whatever key."""
    same = {"scope_id": found.scope_id, "text_hash": found.text_hash, "candidate_id": found.candidate.candidate_id}
    return [candidate_id for (candidate_id,) in tx.all(SQL["equal_candidates"], same)]


def list_untouched_candidates(tx: Tx, before: int, limit: int) -> list[StoredCandidate]:
    """Return candidates that were last proposed or decided before a time, forgotten ones as well."""
    return [candidate_of(row) for row in tx.all(SQL["due_candidates"], {"before": before, "limit": limit})]


def first_touched(tx: Tx) -> int | None:
    """Return the oldest time at which a candidate was last proposed or decided; None without candidates."""
    row = tx.one(SQL["next_candidate"])
    return row[0] if row is not None else None


def candidates_in(tx: Tx, scope_id: int) -> list[str]:
    """Return the ids of every candidate of a scope."""
    return [candidate_id for (candidate_id,) in tx.all(SQL["candidates_of_scope"], {"scope_id": scope_id})]
