"""Makes the vectors of records: at a write, or by a job for records that lack one.

Rule 1: a vector is derived: a missing one is made again from the words, and meanwhile the record is found by its words.
Rule 2: a partition is a scope; vectors of another scope have no part in an answer.
"""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from memory.ports import Collaborators
from memory.proposals.proposal import Proposed
from memory.rows.record_columns import Stored
from memory.rows.records import records_by_row
from memory.rows.vectors import FILLING, add_vector, reconsider_vectors, set_index_state
from memory.rules.sensitivity import clean
from protocol.seams.ports import Space, SqlValue, Tx, Vector
from retrieval.filling import Made, VectorFilling

SUBJECT = "memory"
"""The subject of this house's `embed` job."""
WRITE_PATIENCE = 0.25  # seconds that a write waits for its vector; then a job makes it


class _Wanted(Struct, frozen=True):
    """A record that lacks a vector."""

    row: int
    scope_id: int
    content: str


class RecordVectors(VectorFilling[_Wanted]):
    """The vectors of this house."""

    def __init__(self, means: Collaborators) -> None:
        super().__init__(db=means.db, jobs=means.jobs, meaning=means.meaning, statements=FILLING, subject=SUBJECT)
        self._means = means

    def reconsider(self, tx: Tx, rows: Sequence[int], space: Space | None) -> None:
        """Mark whether some records wait for a vector of the space; None: none waits."""
        reconsider_vectors(tx, rows, space)
        if space is not None:
            self.queue(tx)

    def keep(self, tx: Tx, stored: Stored, vector: Vector | None) -> Stored:
        """Keep the vector of a written record, or queue the record where it has none yet; return the record."""
        spaces = self._means.meaning.to_fill(tx)
        if vector is None or all(space.id != vector.space_id for space in spaces):
            return self.expect(tx, stored)
        add_vector(tx, stored.row, stored.scope_id, vector)
        if len(spaces) > 1:
            self.queue(tx)
        return stored

    def expect(self, tx: Tx, stored: Stored) -> Stored:
        """Queue a record that has no vector, unless vectors are off; return it with its new state."""
        if self._means.meaning.state() == "off":
            return stored
        set_index_state(tx, stored.row, "pending")
        self.queue(tx)
        return stored._replace(record=msgspec.structs.replace(stored.record, index_state="pending"))

    async def add_vector(self, proposed: Proposed) -> Proposed:
        """Return the proposal with its vector, where a model makes one in time."""
        content = clean(proposed.content)
        if self._means.meaning.state() != "ready" or not content.strip():
            return proposed  # a write does not wait for a model to be loaded
        return msgspec.structs.replace(proposed, meant=await self._means.meaning.of_query(content, WRITE_PATIENCE))

    def rows_of(self, tx: Tx, statement: str, values: Mapping[str, SqlValue]) -> list[_Wanted]:
        """Return the records that a statement finds."""
        return [_Wanted(*row) for row in tx.all(statement, values)]

    async def texts_of(self, rows: Sequence[_Wanted]) -> list[str | None]:
        """Return the content of each record."""
        return [one.content for one in rows]

    def keep_made(self, tx: Tx, space: Space, made: Sequence[Made[_Wanted]], *, is_searched: bool) -> None:
        """Keep the vectors of records whose words are still those that the vector was made of."""
        present = records_by_row(tx, [one.row for one, _ in made])
        for one, numbers in made:
            stored = present.get(one.row)
            if stored is None or stored.record.status == "deleted" or stored.record.content != one.content:
                continue  # forgotten or changed while its vector was made
            if numbers is None:
                set_index_state(tx, one.row, "repair_needed")
                continue
            add_vector(tx, one.row, one.scope_id, Vector(space.id, numbers))
            if is_searched:
                set_index_state(tx, one.row, "indexed")
