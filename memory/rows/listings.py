"""Places of records in an order, a page at a time, and the marks that change with each standing record."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from memory.rows.record_columns import SQL, to_column
from protocol.memory.values import Order
from protocol.seams.ports import Tx

_ORDERS: Final[Mapping[Order, str]] = {
    "updated_at": SQL["list_by_update"],
    "created_at": SQL["list_by_creation"],
    "importance": SQL["list_by_importance"],
    "strength": SQL["list_by_strength"],
}
"""The statement of each order; each has an index, but strength, which changes with time."""


def places_after(tx: Tx, order: Order, scope_id: int, asked: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Return (place in the order, row) of the next records of a scope that pass a filter."""
    return [(place, row) for place, row in tx.all(_ORDERS[order], {**asked, "scope_id": scope_id})]


def active_before(tx: Tx, scope_ids: Collection[int], row: int, limit: int) -> list[int]:
    """Return the rows of active records of some scopes before a row, the newest first."""
    values = {"scope_ids": to_column(list(scope_ids)), "row": row, "limit": limit}
    return [found for (found,) in tx.all(SQL["active_rows_before"], values)]


def workspaces_with_records(tx: Tx, limit: int) -> list[str]:
    """Return the ids of workspaces that have active records, the newest first."""
    return [key for (key,) in tx.all(SQL["workspace_scopes"], {"limit": limit})]


def standing_marks(tx: Tx, scope_ids: Sequence[int]) -> str:
    """Return the marks of the standing records of some scopes between commas: row, time of change, checksum."""
    row = tx.one(SQL["standing_state"], {"scope_ids": to_column(list(scope_ids))})
    return row[0] if row is not None else ""
