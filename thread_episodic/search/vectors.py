"""Vectors of chunks: which are missing, how they are made, and which chunks a text is near to.

Rule 1: a vector is derived: whatever is missing is made again from the message, and a chunk is found by its words
meanwhile.
Rule 2: a partition is a segment of a workspace; what the filter of a search hides takes no place among the nearest.
Rule 3: a vector is made of the speaker and the words; a neighbour's words would blur it, and secrets are left out.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import anyio.to_thread
from msgspec import Struct

from protocol.seams.house_facts import EchoSpans, ItemFact, ReadItems
from protocol.seams.ports import (
    JobQueue,
    Meaning,
    SecretScanner,
    SecretSpan,
    Space,
    SqlValue,
    Transact,
    Tx,
)
from retrieval.filling import Made, VectorFilling
from retrieval.packing import as_bytes
from thread_episodic.rows.vectors import FILLING, add_vector, refuse_vector, renew_vectors_of_turn, settle_vector
from thread_episodic.visibility import hidden_in, mask_range

SUBJECT = "thread_episodic"
"""The subject of this house's `embed` job."""


class _Wanted(Struct, frozen=True):
    """A chunk that lacks a vector: its row, and where its words are."""

    row: int
    item_id: str
    start: int
    end: int
    source_hash: bytes


class _Words(NamedTuple):
    """A chunk that lacks a vector, and its message; None where that has changed since it was indexed."""

    wanted: _Wanted
    fact: ItemFact | None
    echoes: Sequence[tuple[int, int]]

    @property
    def row(self) -> int:
        """Return the chunk's row."""
        return self.wanted.row


def text_for_model(fact: ItemFact, hidden: Sequence[SecretSpan], start: int, end: int) -> str:
    """Return the text that a chunk's vector is made of: the speaker and the words."""
    return f"{fact.name or fact.role}: {mask_range(fact.text, hidden, start, end, marker=' ')}"


class ChunkVectors(VectorFilling[_Words]):
    """The vectors that this house holds."""

    def __init__(
        self,
        *,
        db: Transact,
        jobs: JobQueue,
        meaning: Meaning,
        scanner: SecretScanner,
        read_items: ReadItems,
        echo_spans: EchoSpans,
        hash_of: Callable[[ItemFact], bytes],
    ) -> None:
        super().__init__(db=db, jobs=jobs, meaning=meaning, statements=FILLING, subject=SUBJECT)
        self._scanner = scanner
        self._read_items = read_items
        self._echo_spans = echo_spans
        self._hash_of = hash_of

    def are_made(self) -> bool:
        """Return whether new chunks get vectors: a model is loaded, or will be."""
        return self._meaning.state() != "off"

    def renew(self, tx: Tx, turn_id: str) -> None:
        """Drop the vectors of a turn, to be made anew; where there is no model they stay."""
        if self.are_made():
            renew_vectors_of_turn(tx, turn_id)
            self.queue(tx)

    def rows_of(self, tx: Tx, statement: str, values: Mapping[str, SqlValue]) -> list[_Words]:
        """Return the chunks that a statement names, with the messages that they are cut from."""
        wanted = [_Wanted(*row) for row in tx.all(statement, values)]
        facts = self._read_items(tx, list(dict.fromkeys(one.item_id for one in wanted)))
        hashes = {item_id: self._hash_of(fact) for item_id, fact in facts.items() if fact.indexable}
        echoes = {item_id: self._echo_spans(tx, facts[item_id].workspace_id, facts[item_id].text) for item_id in hashes}

        def words_of(one: _Wanted) -> _Words:
            if hashes.get(one.item_id) != one.source_hash:
                return _Words(one, None, ())
            return _Words(one, facts[one.item_id], echoes[one.item_id])

        return list(map(words_of, wanted))

    async def texts_of(self, rows: Sequence[_Words]) -> list[str | None]:
        """Return the text of each chunk, without secrets; None where an index job will cut the message anew."""
        return await anyio.to_thread.run_sync(self._texts, rows)

    def _texts(self, rows: Sequence[_Words]) -> list[str | None]:
        messages = {fact.item_id: (fact.text, echoes) for _, fact, echoes in rows if fact is not None}  # each once
        hidden = {item_id: hidden_in(text, self._scanner, echoes) for item_id, (text, echoes) in messages.items()}
        return [
            text_for_model(fact, hidden[fact.item_id], one.start, one.end) if fact is not None else None
            for one, fact, _ in rows
        ]

    def keep_made(self, tx: Tx, space: Space, made: Sequence[Made[_Words]], *, is_searched: bool) -> None:
        """Store the vectors. A chunk that was hidden meanwhile takes none."""
        for one, numbers in made:
            if numbers is None:
                refuse_vector(tx, one.row)
                continue
            add_vector(tx, space.id, one.row, as_bytes(numbers))
            if is_searched:
                settle_vector(tx, one.row)
