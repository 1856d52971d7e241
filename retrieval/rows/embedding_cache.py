"""Vectors of texts that left an index and may come back: a file that moves, a branch that is switched and back.

Rule 1: a text is known by its keyed hash alone; a vector that is taken back into an index leaves the cache.
Rule 2: callers remove vectors with the part of the house that left them, and when they are old.
"""

from collections.abc import Sequence

from msgspec import Struct

from protocol.base import encode
from protocol.seams.checks import Check, draining_finder
from protocol.seams.ports import Row, Tx
from retrieval.rows.graph import SQL, GraphHouse


class LeftVector(Struct, frozen=True):
    """A vector on its way out of an index, as int8 numbers."""

    space_id: int
    text_hash: bytes
    numbers: bytes


def encode_hashes(hashes: Sequence[bytes]) -> str:
    """Return hashes as statements take them: a JSON array of hexadecimal digits."""
    return encode([one.hex() for one in hashes]).decode()


def find_cached_vectors(tx: Tx, space_id: int, hashes: Sequence[bytes]) -> dict[int, bytes]:
    """Return the vectors of texts that are kept here, by the place of the text's hash among those asked for."""
    return dict(tx.all(SQL["cached_vectors"], {"space": space_id, "texts": encode_hashes(hashes)}))


def keep_left(tx: Tx, house: GraphHouse, place: str, left: Sequence[LeftVector], now: int) -> None:
    """Keep vectors that leave an index; `place` is the part of the house with which they are to go."""
    whose = {"house": house, "place": place, "now": now}
    tx.run_many(
        SQL["cache_vector"],
        [{"space": one.space_id, "text_hash": one.text_hash, "vector": one.numbers} | whose for one in left],
    )


def take_back(tx: Tx, space_id: int, text_hash: bytes) -> None:
    """Drop a vector that is in an index again."""
    tx.run(SQL["take_cached"], {"space": space_id, "text_hash": text_hash})


def drop_left(tx: Tx, house: GraphHouse, place: str) -> int:
    """Drop the cached vectors that a part of a house left; return how many."""
    return tx.run(SQL["drop_cached_of_place"], {"house": house, "place": place})


def drop_left_in_space(tx: Tx, space_id: int) -> int:
    """Drop the cached vectors of a space that is no longer searched; return how many."""
    return tx.run(SQL["drop_cached_of_space"], {"space": space_id})


def old_vectors(before: int) -> Check:
    """Return the check that drops the vectors that were cached before a time (Unix milliseconds)."""
    return Check("cached_vectors", draining_finder(SQL["old_cached"], before=before), _drop_listed)


def _drop_listed(tx: Tx, rows: Sequence[Row]) -> int:
    return tx.run(SQL["drop_listed_cached"], {"rows": encode([list(row) for row in rows]).decode()})
