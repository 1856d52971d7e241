"""Rows of chunks' vectors, and which chunks wait for one."""

import json
from collections.abc import Sequence

from protocol.seams.checks import Find, digest_of, finder
from protocol.seams.ports import Coverage, Tx
from retrieval.filling import choose_filling, choose_vector_table, count_coverage
from thread_episodic.rows.statements import SQL

TABLE = choose_vector_table(SQL, "chunk", 1, "vectors_of_chunks")
FILLING = choose_filling(SQL, "end_of_chunks")


def add_vector(tx: Tx, space: int, row: int, numbers: bytes) -> None:
    """Keep the vector of a chunk, with what vouches for it."""
    tx.run(SQL["add_vector"], {"space": space, "row": row, "numbers": numbers, "digest": digest_of(numbers)})


def settle_vector(tx: Tx, row: int) -> None:
    """Have a chunk wait for its vector no more."""
    tx.run(SQL["settle_vector"], {"row": row})


def refuse_vector(tx: Tx, row: int) -> None:
    """Keep that no vector can be made of a chunk."""
    tx.run(SQL["refuse_vector"], {"row": row})


def coverage(tx: Tx, space_id: int) -> Coverage:
    """Return how many chunks can have a vector of the space, and how many have one."""
    return count_coverage(tx, FILLING, space_id)


def count_waiting(tx: Tx) -> int:
    """Return how many chunks wait for their vector; what that costs grows with their number alone."""
    return tx.all(SQL["count_waiting"])[0][0]


def renew_vectors_of_turn(tx: Tx, turn_id: str) -> None:
    """Drop the vectors of a turn; its chunks wait for others."""
    tx.run(SQL["drop_vectors_of_turn"], {"turn_id": turn_id})
    tx.run(SQL["await_vectors_of_turn"], {"turn_id": turn_id})


def drop_vectors(tx: Tx, rows: Sequence[int]) -> int:
    """Remove some vectors by their rows; return how many went."""
    return tx.run(SQL["drop_wrong_vectors"], {"rows": json.dumps(list(rows))})


def await_vectors_of(tx: Tx, chunks: Sequence[int], space: int | None) -> int:
    """Have some chunks wait for vectors, but for those that have one of the space; return how many that is."""
    return tx.run(SQL["await_vectors_of"], {"rows": json.dumps(list(chunks)), "space": space})


def missing_vectors(space: int) -> Find:
    """Return a look that finds chunks that wait for no vector and have none of the space."""
    return finder(SQL["end_of_chunks"], SQL["find_missing_vectors"], space=space)
