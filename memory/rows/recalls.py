"""Recalls: what each considered and gave, and what they rest on."""

from collections.abc import Mapping
from typing import Any

from memory.rows.record_columns import SQL
from protocol.seams.ports import Tx


def generation_of_recall(tx: Tx) -> tuple[int, ...]:
    """Return numbers that another change of any scope, or another vector, makes others."""
    return tuple(tx.all(SQL["generation_of_recall"])[0])


def add_recall(tx: Tx, values: Mapping[str, Any]) -> None:
    """Store a recall and what came of it; the query as a keyed hash."""
    tx.run(SQL["add_recall_event"], values)


def recalls_of_turn(tx: Tx, turn_id: str) -> list[str | None]:
    """Return the ranked list of each recall of a turn, as JSON; None where that was not kept."""
    return [ranked for (ranked,) in tx.all(SQL["recalls_of_turn"], {"turn_id": turn_id})]
