"""Vectors of a house's rows: which are missing, and how they are made.

Rule 1: a vector is derived. A missing one is made again from the words, and a row is found by its words meanwhile.
Rule 2: one `embed` job of a house works until no vector is missing; each of its transactions takes milliseconds.
Rule 3: a text whose vector is known is not given to the model again.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Generic, Literal, NamedTuple, Protocol, TypeVar

from msgspec import Struct

from protocol.seams.ports import (
    Coverage,
    GiveUpJob,
    JobHandle,
    JobQueue,
    Meaning,
    ModelChanged,
    Space,
    SqlValue,
    Transact,
    Tx,
    VectorTable,
)

LOOKED_AT = 5000  # rows of one look for missing vectors: some milliseconds
BATCH = 64  # a transaction of this many vectors takes a few milliseconds


class Lacking(Protocol):
    """A row that lacks a vector."""

    @property
    def row(self) -> int:
        """Return the row's number."""
        ...


RowT = TypeVar("RowT", bound=Lacking)


class Made(NamedTuple, Generic[RowT]):
    """A row with its vector as float16 numbers, or with None where the model makes none of its words."""

    lacking: RowT
    numbers: bytes | None


class FillingStatements(Struct, frozen=True):
    """The statements of a house that vectors are filled by.

    `await_all`: `:space`; marks each row that lacks a vector as waiting. `settle`: `:space`; ends the wait of each row
    that has one, with NULL of every row. `pending`: `:space, :after, :limit` → the next rows that wait. `lacking`:
    `:space, :after, :until, :limit` → the next rows that lack one. `look`: `:space, :after, :limit` → (where the look
    ended, whether a row lacks one). `end_of_look`: `:after, :limit` → (last row). `drop`: `:space, :limit`; removes
    some. `coverage`: `:space` → (rows that can have one, rows that have one).
    """

    await_all: str
    settle: str
    pending: str
    lacking: str
    look: str
    end_of_look: str
    drop: str
    coverage: str


def choose_filling(sql: Mapping[str, str], end_of_look: str) -> FillingStatements:
    """Return the statements of a house by the names that all houses have for them, but for the end of a look."""
    return FillingStatements(
        await_all=sql["await_vectors"],
        settle=sql["settle_vectors"],
        pending=sql["pending_without_vector"],
        lacking=sql["without_vector"],
        look=sql["look_for_lack"],
        end_of_look=sql[end_of_look],
        drop=sql["drop_vectors"],
        coverage=sql["count_vectors_of_space"],
    )


def choose_vector_table(sql: Mapping[str, str], name: str, number_bytes: Literal[1, 2], numbers: str) -> VectorTable:
    """Return the statements that read a house's vectors; `numbers` names the one that reads the vectors of subjects."""
    return VectorTable(
        name=name,
        number_bytes=number_bytes,
        added=sql["vectors_added"],
        present=sql["vectors_present"],
        losses=sql["vector_losses"],
        numbers=sql[numbers],
    )


def count_coverage(tx: Tx, statements: FillingStatements, space_id: int) -> Coverage:
    """Return how many rows of a house can have a vector of the space, and how many have one."""
    found = tx.one(statements.coverage, {"space": space_id})
    return Coverage(*found) if found is not None else Coverage(0, 0)


class VectorFilling(ABC, Generic[RowT]):
    """Has the vectors of one house made. `subject` names its `embed` job."""

    def __init__(
        self, *, db: Transact, jobs: JobQueue, meaning: Meaning, statements: FillingStatements, subject: str
    ) -> None:
        self._db = db
        self._jobs = jobs
        self._meaning = meaning
        self._statements = statements
        self._subject = subject

    @abstractmethod
    def rows_of(self, tx: Tx, statement: str, values: Mapping[str, SqlValue]) -> Sequence[RowT]:
        """Return the rows that a statement names, in its order."""

    @abstractmethod
    async def texts_of(self, rows: Sequence[RowT]) -> Sequence[str | None]:
        """Return the text of each row for the model; None where a row gets no vector before it is indexed anew."""

    async def find_known_vectors(self, space: Space, texts: Sequence[tuple[RowT, str]]) -> Mapping[int, bytes]:  # noqa: ARG002
        """Return vectors that are known already, by the place of their text; a house without a cache has none."""
        return {}

    @abstractmethod
    def keep_made(self, tx: Tx, space: Space, made: Sequence[Made[RowT]], *, is_searched: bool) -> None:
        """Store the vectors of rows that are unchanged; with `is_searched` such a row waits no more."""

    def enlist(self, tx: Tx, space: Space) -> None:
        """Mark every row that lacks a vector of the space as waiting, and queue the job that makes them."""
        self.settle(tx, space)
        tx.run(self._statements.await_all, {"space": space.id})
        self.queue(tx)

    def settle(self, tx: Tx, space: Space | None) -> None:
        """Clear the wait of rows with a vector of the space; None clears it for all: no vectors will come."""
        tx.run(self._statements.settle, {"space": space.id if space is not None else None})

    def queue(self, tx: Tx) -> None:
        """Queue the job that makes the vectors that rows wait for."""
        self._jobs.enqueue(tx, "embed", self._subject)

    def look(self, tx: Tx, space: Space, after: int) -> tuple[bool, int | None]:
        """Return whether some of the next rows lack a vector that they can have, and where the next look begins.

        The second value is None after the last look.
        """
        found = tx.one(self._statements.look, {"space": space.id, "after": after, "limit": LOOKED_AT})
        return (bool(found[1]), found[0]) if found is not None else (False, None)

    def drop(self, tx: Tx, space: Space, limit: int) -> int:
        """Remove some of the space's vectors; returns how many."""
        return tx.run(self._statements.drop, {"space": space.id, "limit": limit})

    async def fill(self, _handle: JobHandle | None = None) -> None:
        """Make the missing vectors of every space that wants them. This handles `embed` jobs.

        Without a loaded model nothing is done: its later load enlists what is missing.
        """
        while await self._meaning.wake():
            try:
                for place, space in enumerate(await self._db.read(self._meaning.to_fill)):
                    await self._fill(space, is_searched=place == 0)  # `to_fill` lists the searched space first
            except ModelChanged:
                continue  # there are other spaces to fill now
            await self._meaning.adopt_filled_space()
            return

    async def _fill(self, space: Space, *, is_searched: bool) -> None:
        after: int | None = 0
        while after is not None:
            rows, after = await self._db.read(
                lambda tx, place=after: self._next(tx, space, place, is_searched=is_searched)
            )
            if rows:
                texts = list(zip(rows, await self.texts_of(rows), strict=True))
                said = [(row, text) for row, text in texts if text is not None]
                known = await self.find_known_vectors(space, said)
                made = [Made(said[place][0], numbers) for place, numbers in known.items()]
                made += await self._make(space, [one for place, one in enumerate(said) if place not in known])
                made += [Made(row, None) for row, text in texts if text is None]
                await self._db.note(lambda tx, made=made: self.keep_made(tx, space, made, is_searched=is_searched))

    def _next(self, tx: Tx, space: Space, after: int, *, is_searched: bool) -> tuple[Sequence[RowT], int | None]:
        """Return the next rows that lack a vector, and the row after which to go on; None at the end."""
        values: dict[str, SqlValue] = {"space": space.id, "after": after, "limit": BATCH}
        if is_searched:
            rows = self.rows_of(tx, self._statements.pending, values)
            return rows, rows[-1].row if rows else None
        end = tx.one(self._statements.end_of_look, {"after": after, "limit": LOOKED_AT})
        until = end[0] if end is not None else None
        rows = self.rows_of(tx, self._statements.lacking, {**values, "until": until})
        return rows, rows[-1].row if len(rows) == BATCH else until

    async def _make(self, space: Space, texts: Sequence[tuple[RowT, str]]) -> list[Made[RowT]]:
        """Return each row with its vector. A text that the model refuses is found by halving, and gets None."""
        if not texts:
            return []
        try:
            vectors = await self._meaning.of_texts(space, [text for _, text in texts])
        except GiveUpJob:
            if len(texts) == 1:
                return [Made(texts[0][0], None)]
            half = len(texts) // 2
            return [*await self._make(space, texts[:half]), *await self._make(space, texts[half:])]
        return [Made(row, vector) for (row, _), vector in zip(texts, vectors, strict=True)]
