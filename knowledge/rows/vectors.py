"""Rows of pieces' vectors: the pieces that wait for one, the vectors, and those kept of pieces that left the index.

Rule 1: a partition is an owner: a workspace, or the user.
Rule 2: a vector is found again by the keyed hash of the text that the model was given.
"""

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from knowledge.rows.statements import SQL
from protocol.base import encode
from protocol.seams.checks import digest_of
from protocol.seams.ports import Coverage, SqlValue, Tx
from retrieval.filling import choose_filling, choose_vector_table, count_coverage
from retrieval.rows.embedding_cache import LeftVector, encode_hashes, find_cached_vectors, keep_left, take_back

HOUSE = "knowledge"

TABLE = choose_vector_table(SQL, "knowledge", 1, "vectors_of_chunks")
FILLING = choose_filling(SQL, "end_of_chunks")


class LackingPiece(Struct, frozen=True):
    """A piece that lacks a vector, with its ranges in its content, which has `size` bytes."""

    row: int
    content: int
    from_byte: int
    to_byte: int
    headings: str
    owner: int
    sha256: bytes
    encoding: str
    hidden: str
    kind: str
    size: int


def lacking_pieces(tx: Tx, statement: str, values: Mapping[str, SqlValue]) -> list[LackingPiece]:
    """Return the pieces that a statement of `FILLING` finds, in its order."""
    return [LackingPiece(*row) for row in tx.all(statement, values)]


def find_vectors_of_texts(tx: Tx, space: int, hashes: Sequence[bytes]) -> dict[int, bytes]:
    """Return the vectors that any piece has or had for some texts, by the index of the text's hash in `hashes`."""
    left = find_cached_vectors(tx, space, hashes)
    return left | dict(tx.all(SQL["vectors_of_texts"], {"space": space, "texts": encode_hashes(hashes)}))


def add_vector(tx: Tx, space: int, row: int, text_hash: bytes, numbers: bytes) -> None:
    """Store the vector of a piece with its digest, and drop its copy among the kept ones."""
    values: dict[str, SqlValue] = {"space": space, "row": row, "text_hash": text_hash, "numbers": numbers}
    tx.run(SQL["add_vector"], values | {"digest": digest_of(numbers)})
    take_back(tx, space, text_hash)


def settle_vector(tx: Tx, row: int) -> None:
    """Store that a piece does not wait for its vector any more."""
    tx.run(SQL["settle_vector"], {"row": row})


def refuse_vector(tx: Tx, row: int) -> None:
    """Store that no vector of a piece can be made for now."""
    tx.run(SQL["refuse_vector"], {"row": row})


def drop_vectors_of(tx: Tx, contents: Collection[int]) -> int:
    """Remove the vectors of some contents; return their number."""
    return tx.run(SQL["remove_vectors_of_contents"], _name_contents(contents))


def _name_contents(contents: Collection[int]) -> dict[str, SqlValue]:
    return {"contents": encode(sorted(contents)).decode()}


def cache_vectors_of(tx: Tx, content: int, place: str, now: int) -> None:
    """Keep the vectors of a content that is about to leave the index; `place` is the collection that leaves it."""
    rows = tx.all(SQL["vectors_of_content"], {"content": content})
    keep_left(tx, HOUSE, place, [LeftVector(space, text_hash, numbers) for _, space, text_hash, numbers in rows], now)


def mean_contents(tx: Tx, contents: Collection[int], *, awaits: bool) -> bool:
    """Have contents' pieces wait for vectors, or drop these where no collection with one is searched by meaning.

    `awaits` says whether a model makes vectors at all. Returns whether pieces wait that did not before.
    """
    found = tx.all(SQL["mean_contents"], _name_contents(contents)) if contents else []
    wanted = {row for row, is_meant in found if is_meant}
    unwanted = {row for row, is_meant in found if not is_meant}
    if unwanted:
        drop_vectors_of(tx, unwanted)
        tx.run(SQL["settle_contents"], _name_contents(unwanted))
    return awaits and bool(wanted) and tx.run(SQL["await_vectors_of_contents"], _name_contents(wanted)) > 0


def contents_after(tx: Tx, collection: int, after: int, limit: int) -> list[int]:
    """Return the next contents of a collection, in the order of their rows."""
    return [row for (row,) in tx.all(SQL["contents_after"], {"collection": collection, "after": after, "limit": limit})]


def await_again(tx: Tx, collection: int) -> bool:
    """Have those pieces of a collection wait again of which no vector could be made; return whether there are any."""
    return tx.run(SQL["await_vectors_again"], {"collection": collection}) > 0


def count_waiting(tx: Tx) -> int:
    """Return the number of pieces that wait for a vector; the cost grows with that number alone."""
    return tx.all(SQL["count_waiting"])[0][0]


def has_waiting(tx: Tx, owners: Sequence[int]) -> bool:
    """Return whether a piece of some owners waits for its vector."""
    return tx.one(SQL["has_waiting"], {"owners": encode(list(owners)).decode()}) is not None


def coverage(tx: Tx, space_id: int) -> Coverage:
    """Return how many pieces can have a vector of the space, and how many have one."""
    return count_coverage(tx, FILLING, space_id)
