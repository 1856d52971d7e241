"""Vectors of records, and the mark of each record that waits for one.

Rule 1: a partition is a scope; vectors of another scope have no part in an answer.
"""

from collections.abc import Sequence
from typing import Final

from memory.rows.record_columns import SQL, to_column
from protocol.record import IndexState
from protocol.seams.checks import digest_of
from protocol.seams.ports import Coverage, Space, Tx, Vector
from retrieval.filling import choose_filling, choose_vector_table, count_coverage

TABLE: Final = choose_vector_table(SQL, "memory", 2, "vectors_of_records")
FILLING: Final = choose_filling(SQL, "end_of_records")


def add_vector(tx: Tx, row: int, scope_id: int, vector: Vector) -> None:
    """Store a record's vector; the record is found by its meaning from this commit on."""
    tx.run(
        SQL["add_vector"],
        {
            "space": vector.space_id,
            "scope_id": scope_id,
            "row": row,
            "numbers": vector.numbers,
            "digest": digest_of(vector.numbers),
        },
    )


def vector_of(tx: Tx, row: int, scope_id: int, space_id: int) -> Vector | None:
    """Return a record's vector of a space, or None."""
    place = {"subjects": to_column([row]), "partitions": to_column([scope_id]), "space": space_id}
    found = tx.one(SQL["vectors_of_records"], place)
    return Vector(space_id, found[1]) if found is not None else None


def remove_vectors(tx: Tx, row: int) -> int:
    """Remove every vector of a record; return how many there were."""
    return tx.run(SQL["remove_vectors"], {"row": row})


def drop_vectors(tx: Tx, vector_rows: Sequence[int]) -> int:
    """Remove some vectors; return how many there were."""
    return tx.run(SQL["drop_wrong_vectors"], {"rows": to_column(list(vector_rows))})


def coverage(tx: Tx, space_id: int) -> Coverage:
    """Return how many records can have a vector of the space, and how many have one."""
    return count_coverage(tx, FILLING, space_id)


def set_index_state(tx: Tx, row: int, state: IndexState) -> None:
    """Mark the state of the rows derived of a record."""
    tx.run(SQL["set_index_state"], {"row": row, "state": state})


def index_state_of(tx: Tx, row: int) -> IndexState | None:
    """Return a record's mark; None where it is gone."""
    found = tx.one(SQL["index_state_of"], {"row": row})
    return found[0] if found is not None else None


def reconsider_vectors(tx: Tx, rows: Sequence[int], space: Space | None) -> None:
    """Mark whether some records wait for a vector of the space; None: none waits."""
    values = {"rows": to_column(list(rows)), "space": space.id if space is not None else None}
    tx.run(SQL["reconsider_vectors"], values)


def is_any_pending(tx: Tx) -> bool:
    """Return whether any record waits for its vector."""
    found = tx.one(SQL["has_pending"])
    return bool(found and found[0])
