"""Events of records, and candidates, within a span of time, newest first.

Rule 1: a place is (time, row), so that rows written meanwhile move no page.
"""

from collections.abc import Collection
from typing import Any, Final, NamedTuple

from msgspec import Struct

from memory.rows.record_columns import SQL, to_column, to_csv
from memory.rows.store import StoredCandidate, candidate_of
from protocol.base import Scope
from protocol.memory.values import EventName
from protocol.seams.callers import RequestCaller, caller_of
from protocol.seams.ports import Tx

EVENTS: Final[tuple[EventName, ...]] = (
    "created",
    "imported",
    "superseded",
    "deleted",
    "restored",
    "archived",
    "expired",
    "updated",
    "erased",
    "confirmed",
)
"""The events that a person looks for; growing evidence and passing doubts are only in a record's own history."""


class ChangeTime(NamedTuple):
    """The span of time of a page: from `since` until before the place (`at`, `row`), in Unix milliseconds."""

    since: int
    at: int
    row: int


class RecordEvent(Struct, frozen=True):
    """A step of a record's history, with its place, its scope and its caller."""

    at: int
    row: int
    memory_id: str
    event: EventName
    reason_code: str | None
    caller: RequestCaller | None
    scope_id: int
    scope: Scope


class PlacedCandidate(Struct, frozen=True):
    """A candidate with its place."""

    at: int
    row: int
    found: StoredCandidate


def events_between(tx: Tx, scope_ids: Collection[int], span: ChangeTime, limit: int) -> list[RecordEvent]:
    """Return the events of records of some scopes, newest first."""
    rows = tx.all(SQL["events_between"], _build_values(scope_ids, span, limit) | {"names": to_csv(EVENTS)})
    return [
        RecordEvent(at, row, memory_id, event, reason, caller_of(caller), scope_id, Scope(kind=kind, key=key))
        for at, row, memory_id, event, reason, caller, scope_id, kind, key in rows
    ]


def candidates_between(tx: Tx, scope_ids: Collection[int], span: ChangeTime, limit: int) -> list[PlacedCandidate]:
    """Return candidates of some scopes that may be shown, newest first."""
    rows = tx.all(SQL["candidates_between"], _build_values(scope_ids, span, limit))
    found = [(row[0], candidate_of(row)) for row in rows]
    return [PlacedCandidate(one.candidate.created_at, row, one) for row, one in found]


def _build_values(scope_ids: Collection[int], span: ChangeTime, limit: int) -> dict[str, Any]:
    return {**span._asdict(), "scope_ids": to_column(list(scope_ids)), "limit": limit}
