"""Rows of recalls, and the state of the home that a cached recall rests on."""

from collections.abc import Mapping
from typing import Any

from memory.rows.record_columns import SQL
from protocol.seams.ports import Tx


def generation_of_recall(tx: Tx) -> tuple[int, ...]:
    """Return the last numbers of changes and of vectors: a cached recall holds while they are the same."""
    return tuple(tx.all(SQL["generation_of_recall"])[0])


def add_recall(tx: Tx, values: Mapping[str, Any]) -> None:
    """Store a recall with its counts; the query is a keyed hash."""
    tx.run(SQL["add_recall_event"], values)


def recalls_of_turn(tx: Tx, turn_id: str) -> list[str | None]:
    """Return the ranked list of each recall of a turn, as JSON; None where that was not kept."""
    return [ranked for (ranked,) in tx.all(SQL["recalls_of_turn"], {"turn_id": turn_id})]
