"""Vectors of records: which are missing, how they are made, and which records a text is near to.

Rule 1: a vector is derived: whatever is missing is made again from the words, and a record is found by its words meanwhile.
Rule 2: a partition is a scope; what another scope holds has no part in an answer.
"""

import json
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import msgspec

from memory.ports import Collaborators
from memory.proposal import Near, Proposed
from memory.scopes import default_of
from memory.sensitivity import clean
from memory.store import SQL, Stored, scope_id_of, stored_of
from protocol.base import Scope
from protocol.checks import digest_of
from protocol.memory import Category
from protocol.ports import Coverage, GiveUpJob, JobHandle, ModelChanged, Space, Tx, Vector, VectorTable

TABLE = VectorTable(
    name="memory", number_bytes=2, added=SQL["vectors_added"], present=SQL["vectors_present"], losses=SQL["vector_losses"],
    numbers=SQL["vectors_of_records"],
)  # fmt: skip

SUBJECT = "memory"
"""There is one embed job of this house at a time: it works until nothing is missing."""
LOOKED_AT = 5000  # rows of one look for what lacks a vector: some milliseconds
BATCH = 64  # a transaction of this many vectors takes a few milliseconds
WRITE_PATIENCE = (
    0.25  # seconds that a write waits for its meaning; then it is embedded afterwards, and compared by its words alone
)
NEAR_COSINE = 0.70  # below it two statements are never one fact in other words
NEAR_LOOKED_AT = 32


class _Wanted(NamedTuple):
    """A record that lacks a vector."""

    row: int
    scope_id: int
    content: str


def records_by_row(tx: Tx, rows: Sequence[int]) -> dict[int, Stored]:
    """Records by row number."""
    found = tx.all(SQL["records_by_row"], {"rows": json.dumps(list(rows))})
    return {stored.row: stored for stored in map(stored_of, found)}


def add_vector(tx: Tx, row: int, scope_id: int, vector: Vector) -> None:
    """Keep a record's vector; it is found by its meaning from this commit on."""
    tx.run(SQL["add_vector"], {
        "space": vector.space_id, "scope_id": scope_id, "row": row, "numbers": vector.numbers,
        "digest": digest_of(vector.numbers)})  # fmt: skip


def coverage(tx: Tx, space_id: int) -> Coverage:
    """Return how many records can have a vector of the space, and how many have one."""
    found = tx.one(SQL["count_vectors_of_space"], {"space": space_id})
    return Coverage(*found) if found is not None else Coverage(0, 0)


class Vectors:
    """The vectors that this house holds."""

    def __init__(self, means: Collaborators) -> None:
        self._means = means

    def enlist(self, tx: Tx, space: Space) -> None:
        """Note, and queue, every record that lacks a vector of the space."""
        self.settle(tx, space)
        tx.run(SQL["await_vectors"], {"space": space.id})
        self._means.jobs.enqueue(tx, "embed", SUBJECT)

    def settle(self, tx: Tx, space: Space | None) -> None:
        """Have every record that has a vector of the space wait no more; None: nothing waits, no vectors will come."""
        tx.run(SQL["settle_vectors"], {"space": space.id if space is not None else None})

    def reconsider(self, tx: Tx, rows: Sequence[int], space: Space | None) -> None:
        """Decide anew whether some records wait for a vector of the space; None: nothing waits."""
        tx.run(
            SQL["reconsider_vectors"],
            {"rows": json.dumps(list(rows)), "space": space.id if space is not None else None},
        )
        if space is not None:
            self._means.jobs.enqueue(tx, "embed", SUBJECT)

    def queue(self, tx: Tx) -> None:
        """Have the vectors made that records wait for."""
        self._means.jobs.enqueue(tx, "embed", SUBJECT)

    def look(self, tx: Tx, space: Space, after: int) -> tuple[bool, int | None]:
        """Whether some of the next records can have a vector of the space and have none; where the next look begins, if any is left."""
        found = tx.one(SQL["look_for_lack"], {"space": space.id, "after": after, "limit": LOOKED_AT})
        return (bool(found[1]), found[0]) if found is not None else (False, None)

    def drop(self, tx: Tx, space: Space, limit: int) -> int:
        """Remove some of the space's vectors; returns how many."""
        return tx.run(SQL["drop_vectors"], {"space": space.id, "limit": limit})

    def keep(self, tx: Tx, stored: Stored, vector: Vector | None) -> Stored:
        """Keep what a written record means; where that is not known yet the record waits for it."""
        spaces = self._means.meaning.to_fill(tx)
        if vector is None or all(space.id != vector.space_id for space in spaces):
            return self.expect(tx, stored)
        add_vector(tx, stored.row, stored.scope_id, vector)
        if len(spaces) > 1:
            self._means.jobs.enqueue(tx, "embed", SUBJECT)
        return stored

    def expect(self, tx: Tx, stored: Stored) -> Stored:
        """A record has no vector: it waits for one, unless there will be none."""
        if self._means.meaning.state() == "off":
            return stored
        tx.run(SQL["set_index_state"], {"row": stored.row, "state": "pending"})
        self._means.jobs.enqueue(tx, "embed", SUBJECT)
        return stored._replace(record=msgspec.structs.replace(stored.record, index_state="pending"))

    async def meant(self, proposed: Proposed, active: Sequence[Scope]) -> Proposed:
        """The proposal with what it means, and the active records that it may be a paraphrase of."""
        means = self._means
        content = clean(proposed.content)
        if means.meaning.state() != "ready" or not content.strip():
            return proposed  # a write does not wait for a model to be loaded
        vector = await means.meaning.of_query(content, WRITE_PATIENCE)
        scope = proposed.scope or default_of(active, proposed.semantic.category, proposed.semantic.scope_hint)[0]
        if vector is None or scope is None:
            return proposed._replace(meant=vector)
        near = await means.db.read(lambda tx: self._near(tx, scope, proposed.semantic.category, vector))
        return proposed._replace(meant=vector, near=near)

    def _near(self, tx: Tx, scope: Scope, category: Category, vector: Vector) -> list[Near]:
        scope_id = scope_id_of(tx, scope)
        if scope_id is None:
            return []
        ranked = self._means.meaning.nearness(tx, TABLE, [scope_id], vector).ranked(NEAR_COSINE)
        best = dict(islice(ranked, NEAR_LOOKED_AT))
        stored = records_by_row(tx, list(best))
        return [
            Near(found.record.memory_id, cosine)
            for row, cosine in best.items()
            if (found := stored.get(row)) is not None
            and found.record.status == "active" and found.record.category == category
        ]  # fmt: skip

    async def fill(self, _handle: JobHandle | None = None) -> None:
        """The handler of `embed` jobs: make what is missing, in every space that wants it."""
        means = self._means
        while await means.meaning.wake():  # else whoever loads a model later enlists what is missing then
            try:
                for place, space in enumerate(await means.db.read(means.meaning.to_fill)):
                    await self._fill(space, is_searched=place == 0)
            except ModelChanged:
                continue
            await means.meaning.filled()
            return

    async def _fill(self, space: Space, *, is_searched: bool) -> None:
        db = self._means.db
        after: int | None = 0
        while after is not None:
            wanted, after = await db.read(lambda tx, place=after: self._next(tx, space, place, is_searched=is_searched))
            if wanted:
                made = await self._made(space, wanted)
                await db.note(lambda tx, made=made: self._keep(tx, space, made, is_searched=is_searched))

    @staticmethod
    def _next(tx: Tx, space: Space, after: int, *, is_searched: bool) -> tuple[list[_Wanted], int | None]:
        """The next records that lack a vector, and where to go on; None when there is nothing beyond."""
        values = {"space": space.id, "after": after, "limit": BATCH}
        if is_searched:
            wanted = [_Wanted(*row) for row in tx.all(SQL["pending_without_vector"], values)]
            return wanted, wanted[-1].row if wanted else None
        end = tx.one(SQL["end_of_records"], {"after": after, "limit": LOOKED_AT})
        until = end[0] if end is not None else None
        wanted = [_Wanted(*row) for row in tx.all(SQL["without_vector"], {**values, "until": until})]
        return wanted, wanted[-1].row if len(wanted) == BATCH else until

    async def _made(self, space: Space, wanted: Sequence[_Wanted]) -> list[tuple[_Wanted, bytes | None]]:
        """Each record with its vector, or with none where the model makes none of its words."""
        try:
            vectors = await self._means.meaning.of_texts(space, [one.content for one in wanted])
        except GiveUpJob:
            if len(wanted) == 1:
                return [(wanted[0], None)]
            half = len(wanted) // 2
            return [*await self._made(space, wanted[:half]), *await self._made(space, wanted[half:])]
        return list(zip(wanted, vectors, strict=True))

    def _keep(self, tx: Tx, space: Space, made: Sequence[tuple[_Wanted, bytes | None]], *, is_searched: bool) -> None:
        present = records_by_row(tx, [one.row for one, _ in made])
        for one, numbers in made:
            stored = present.get(one.row)
            if stored is None or stored.record.status == "deleted" or stored.record.content != one.content:
                continue  # forgotten or changed while its vector was made
            if numbers is None:
                tx.run(SQL["set_index_state"], {"row": one.row, "state": "repair_needed"})
                continue
            add_vector(tx, one.row, one.scope_id, Vector(space.id, numbers))
            if is_searched:
                tx.run(SQL["set_index_state"], {"row": one.row, "state": "indexed"})
