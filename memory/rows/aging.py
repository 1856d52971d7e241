"""Rows of records that age, and of candidates that wait too long: what a consolidation reads and sets.

Rule 1: every function works on the transaction it is given and decides nothing.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from memory.rows.record_columns import SQL, Stored
from memory.rows.store import StoredCandidate, candidate_of, get_record
from protocol.base import Scope
from protocol.memory import Kind
from protocol.seams.ports import Tx


class Aged(NamedTuple):
    """What of a record's row its age depends on. `days` is its tier: days it lasts, 0 for good."""

    row: int
    memory_id: str
    standing: float
    reinforced_at: int
    updated_at: int
    fades_at: int | None


def _records(tx: Tx, memory_ids: Sequence[str]) -> list[Stored]:
    return [stored for one in memory_ids if (stored := get_record(tx, one)) is not None]


def move_tiers(tx: Tx, scope_id: int | None, limit: int) -> tuple[int, int]:
    """Note the tiers of records whose inputs changed; return how many were looked at, and how many of them had another tier before."""
    rows = tx.all(SQL["unscored_records"], {"scope_id": scope_id, "limit": limit})
    tx.run_many(SQL["note_tier"], [{"id": row, "days": days} for row, _, days in rows])
    return len(rows), sum(before is not None for _, before, _ in rows)


def faded_machine_records(tx: Tx, scope_id: int | None, now: int, limit: int) -> list[Stored]:
    """Return active records of machines whose lifetime has ended, by their column, those first that ended first."""
    values = {"scope_id": scope_id, "now": now, "limit": limit}
    return _records(tx, [row[0] for row in tx.all(SQL["faded_machine_records"], values)])


def aging_machine_records(tx: Tx, scope_id: int | None, after: int, limit: int) -> list[Aged]:
    """Return active records of machines that fade some day, in the order of their rows."""
    values = {"scope_id": scope_id, "after": after, "limit": limit}
    return [Aged(*row) for row in tx.all(SQL["aging_machine_records"], values)]


def count_faded(tx: Tx, scope_id: int | None, now: int) -> int:
    """Return how many active records of the user's voice have faded, by their column."""
    return tx.all(SQL["count_faded"], {"scope_id": scope_id, "now": now})[0][0]


def long_archived(tx: Tx, scope_id: int | None, before: int, limit: int) -> list[Stored]:
    """Return records of machines that were archived before a time."""
    values = {"scope_id": scope_id, "before": before, "limit": limit}
    return _records(tx, [row[0] for row in tx.all(SQL["long_archived"], values)])


class Crowd(NamedTuple):
    """How many records of a kind machines keep in a scope."""

    scope_id: int
    kind: Kind
    size: int


def machine_crowds(tx: Tx, scope_id: int | None) -> list[Crowd]:
    """Count the active, unpinned records of machines by scope and kind."""
    return [Crowd(*row) for row in tx.all(SQL["machine_crowds"], {"scope_id": scope_id})]


def weakest_machine_records(tx: Tx, scope_id: int, kinds: Sequence[Kind], now: int, limit: int) -> list[Stored]:
    """Return the weakest of a scope's active, unpinned records of machines, the oldest of equal ones first."""
    values = {"scope_id": scope_id, "kinds": f",{','.join(kinds)},", "now": now, "limit": limit}
    return _records(tx, [row[0] for row in tx.all(SQL["weakest_machine_records"], values)])


def waiting_crowds(tx: Tx, scope_id: int | None) -> list[tuple[int, int]]:
    """Count the pending candidates that no person wrote, by scope."""
    return [(row[0], row[1]) for row in tx.all(SQL["waiting_crowds"], {"scope_id": scope_id})]


def weakest_candidates(tx: Tx, scope_id: int, limit: int) -> list[StoredCandidate]:
    """Return the pending candidates of a scope that no person wrote, the lowest score first, the oldest of equal ones first."""
    return [candidate_of(row) for row in tx.all(SQL["weakest_candidates"], {"scope_id": scope_id, "limit": limit})]


def raw_candidates(tx: Tx, scope_id: int | None, before: int) -> tuple[int, int]:
    """Count the pending candidates, and those of them that were made before a time."""
    row = tx.all(SQL["count_raw"], {"scope_id": scope_id, "before": before})[0]
    return row[0], row[1] or 0


def raw_after(tx: Tx, scope_id: int | None, before: int, after: int, limit: int) -> list[tuple[int, StoredCandidate]]:
    """Return pending candidates made before a time, in the order of their rows, which stand beside them."""
    rows = tx.all(SQL["raw_after"], {"scope_id": scope_id, "before": before, "after": after, "limit": limit})
    return [(row[0], candidate_of(row)) for row in rows]


def faded_user_records(
    tx: Tx, scopes: Sequence[int], place: tuple[int, int], now: int, limit: int, is_faded: Callable[[Aged], bool]
) -> list[tuple[Aged, Stored]]:
    """Return active records of the user's voice that may have faded, in the order of their fading, after a place."""
    found: list[tuple[Aged, Stored]] = []
    for scope_id in scopes:
        values = {"scope_id": scope_id, "place": place[0], "row": place[1], "now": now, "limit": limit}
        rows = [Aged(*row) for row in tx.all(SQL["faded_user_records"], values)]
        found += [
            (one, stored) for one in rows if is_faded(one) and (stored := get_record(tx, one.memory_id)) is not None
        ]
    return sorted(found, key=lambda one: (one[0].fades_at or 0, one[0].row))[:limit]


def reinforce(tx: Tx, memory_id: str, now: int) -> None:
    """Let a record's lifetime begin anew."""
    tx.run(SQL["reinforce_record"], {"memory_id": memory_id, "now": now})


def scope_of_workspace(tx: Tx, workspace_id: str) -> int | None:
    """Return the row of a workspace's scope; None where nothing was ever written to it."""
    scope = Scope(kind="workspace", key=workspace_id)
    row = tx.one(SQL["scope_id"], {"kind": scope.kind, "key": scope.key})
    return row[0] if row else None
