"""Rows of decisions about records and candidates.

Rule 1: a decision is added and never changed, but that it loses the ids and factors of a subject that is erased.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec import Struct

from memory.rows.record_columns import SQL, to_column
from memory.rows.store import decision_of
from protocol.memory.values import Decision
from protocol.seams.ports import Row, Tx


class Decided(NamedTuple):
    """The subject and the source of a decision."""

    scope_id: int
    memory_id: str | None = None
    candidate_id: str | None = None
    thread_id: str | None = None
    turn_id: str | None = None
    run_id: str | None = None


class StoredDecision(Struct, frozen=True):
    """A decision, and the run of the proposal that it was made on."""

    decision: Decision
    run_id: str | None


def add_decision(tx: Tx, decided: Decided, decision: Decision, now: int) -> None:
    """Store a decision with its factors."""
    tx.run(
        SQL["add_decision"],
        {
            **decided._asdict(),
            "at": now,
            "action": decision.action,
            "score": decision.score,
            "bucket": decision.bucket,
            "reason_code": decision.reason_code,
            "factors": to_column(decision.factors),
        },
    )


def decisions_of_record(tx: Tx, memory_id: str, limit: int) -> list[StoredDecision]:
    """Return the decisions on a record, newest first."""
    return _to_stored_decisions(tx.all(SQL["decisions_of_record"], {"memory_id": memory_id, "limit": limit}))


def first_decision_of_record(tx: Tx, memory_id: str) -> Decision | None:
    """Return the decision that made a record; None where none is stored."""
    row = tx.one(SQL["first_decision_of_record"], {"memory_id": memory_id})
    return decision_of(row) if row is not None else None


def decisions_of_candidate(tx: Tx, candidate_id: str, limit: int) -> list[StoredDecision]:
    """Return the decisions on a candidate, newest first."""
    return _to_stored_decisions(tx.all(SQL["decisions_of_candidate"], {"candidate_id": candidate_id, "limit": limit}))


def decisions_of_turn(tx: Tx, turn_id: str, limit: int) -> list[Decision]:
    """Return the decisions on the proposals of a turn, oldest first; of each candidate the last one of the turn."""
    return [decision_of(row) for row in tx.all(SQL["decisions_of_turn"], {"turn_id": turn_id, "limit": limit})]


def decisions_of_call(tx: Tx, call_id: str, scope_ids: Iterable[int], limit: int) -> list[Decision]:
    """Return the decisions on the proposals of a call outside of any turn, in one of the scopes, oldest first."""
    asked = {"turn_id": call_id, "scope_ids": to_column(list(scope_ids)), "limit": limit}
    return [decision_of(row) for row in tx.all(SQL["decisions_of_call"], asked)]


def decisions_of_run(tx: Tx, run_id: str, limit: int) -> list[Decision]:
    """Return the decisions on the proposals of a run, oldest first."""
    return [decision_of(row) for row in tx.all(SQL["decisions_of_run"], {"run_id": run_id, "limit": limit})]


def _to_stored_decisions(rows: Sequence[Row]) -> list[StoredDecision]:
    return [StoredDecision(decision_of(row), row[5]) for row in rows]
