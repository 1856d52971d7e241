"""Rows that a consolidation reads and sets: records that age, and candidates that have waited too long.

Rule 1: every function works on the transaction it is given and decides nothing.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct

from memory.rows.record_columns import SQL, Stored, to_csv
from memory.rows.records import records_of
from memory.rows.store import StoredCandidate, candidate_of, get_record
from memory.rules.strength import Lifetime
from protocol.record import Kind
from protocol.seams.ports import Row, Tx


class Aged(Struct, frozen=True):
    """A record that ages."""

    row: int
    memory_id: str
    life: Lifetime


def _to_aged(row: Row) -> Aged:
    return Aged(row[0], row[1], Lifetime(*row[2:]))


def move_tiers(tx: Tx, scope_id: int | None, limit: int) -> tuple[int, int]:
    """Note the tiers of records whose tier has changed since the last consolidation, or was never noted.

    Return how many there were, and how many of them had another tier before.
    """
    rows = tx.all(SQL["unscored_records"], {"scope_id": scope_id, "limit": limit})
    tx.run_many(SQL["note_tier"], [{"id": row, "days": days} for row, _, days in rows])
    return len(rows), sum(before is not None for _, before, _ in rows)


def list_faded_machine_records(tx: Tx, scope_id: int | None, now: int, limit: int) -> list[Stored]:
    """Return active records of machines that have faded by their column, in the order in which they did."""
    values = {"scope_id": scope_id, "now": now, "limit": limit}
    return records_of(tx, [row[0] for row in tx.all(SQL["faded_machine_records"], values)])


def aging_machine_records(tx: Tx, scope_id: int | None, after: int, limit: int) -> list[Aged]:
    """Return active records of machines that fade some day, in the order of their rows."""
    values = {"scope_id": scope_id, "after": after, "limit": limit}
    return [_to_aged(row) for row in tx.all(SQL["aging_machine_records"], values)]


def count_faded(tx: Tx, scope_id: int | None, now: int) -> int:
    """Return how many active records of the user's voice have faded, by their column."""
    return tx.all(SQL["count_faded"], {"scope_id": scope_id, "now": now})[0][0]


def long_archived(tx: Tx, scope_id: int | None, before: int, limit: int) -> list[Stored]:
    """Return archived records of machines that were last changed before a time, the oldest change first."""
    values = {"scope_id": scope_id, "before": before, "limit": limit}
    return records_of(tx, [row[0] for row in tx.all(SQL["long_archived"], values)])


class Crowd(Struct, frozen=True):
    """The number of records of a kind that machines keep in a scope."""

    scope_id: int
    kind: Kind
    size: int


def machine_crowds(tx: Tx, scope_id: int | None) -> list[Crowd]:
    """Return the number of active, unpinned records of machines, by scope and kind."""
    return [Crowd(*row) for row in tx.all(SQL["machine_crowds"], {"scope_id": scope_id})]


def weakest_machine_records(tx: Tx, scope_id: int, kinds: Sequence[Kind], now: int, limit: int) -> list[Stored]:
    """Return the weakest of a scope's active, unpinned records of machines, the oldest of equal ones first."""
    values = {"scope_id": scope_id, "kinds": to_csv(kinds), "now": now, "limit": limit}
    return records_of(tx, [row[0] for row in tx.all(SQL["weakest_machine_records"], values)])


def waiting_crowds(tx: Tx, scope_id: int | None) -> list[tuple[int, int]]:
    """Return (scope, number) of the pending candidates that no person wrote."""
    return [(row[0], row[1]) for row in tx.all(SQL["waiting_crowds"], {"scope_id": scope_id})]


def weakest_candidates(tx: Tx, scope_id: int, limit: int) -> list[StoredCandidate]:
    """Return the pending candidates of a scope that no person wrote, the lowest scores and then the oldest first."""
    return [candidate_of(row) for row in tx.all(SQL["weakest_candidates"], {"scope_id": scope_id, "limit": limit})]


def raw_candidates(tx: Tx, scope_id: int | None, before: int) -> tuple[int, int]:
    """Return the number of pending candidates, and of those that were made before a time."""
    row = tx.all(SQL["count_raw"], {"scope_id": scope_id, "before": before})[0]
    return row[0], row[1] or 0


def raw_after(tx: Tx, scope_id: int | None, before: int, after: int, limit: int) -> list[tuple[int, StoredCandidate]]:
    """Return (row, candidate) of pending candidates made before a time, in the order of their rows."""
    rows = tx.all(SQL["raw_after"], {"scope_id": scope_id, "before": before, "after": after, "limit": limit})
    return [(row[0], candidate_of(row)) for row in rows]


def list_faded_user_records(
    tx: Tx, scopes: Sequence[int], place: tuple[int, int], now: int, limit: int, is_faded: Callable[[Aged], bool]
) -> list[tuple[Aged, Stored]]:
    """Return active records of the user's voice that have faded, in the order in which they did, after a place.

    `is_faded` decides on those that have faded by their column; a place is (`fades_at`, row).
    """
    found: list[tuple[Aged, Stored]] = []
    for scope_id in scopes:
        values = {"scope_id": scope_id, "place": place[0], "row": place[1], "now": now, "limit": limit}
        rows = [_to_aged(row) for row in tx.all(SQL["faded_user_records"], values)]
        found += [
            (one, stored) for one in rows if is_faded(one) and (stored := get_record(tx, one.memory_id)) is not None
        ]
    return sorted(found, key=lambda one: (one[0].life.fades_at or 0, one[0].row))[:limit]
