"""Vectors of chunks: which are missing, how they are made, and which chunks a text is near to.

Rule 1: a vector is derived: whatever is missing is made again from the message, and a chunk is found by its words meanwhile.
Rule 2: a partition is a segment of a workspace; what the filter of a search hides takes no place among the nearest.
Rule 3: what means something is who said what; neighbours blur it, and secrets are not a part of it.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import anyio.to_thread

from protocol.checks import digest_of
from protocol.hooks import EchoSpans, ItemFact, ReadItems
from protocol.ports import (
    Coverage,
    GiveUpJob,
    JobHandle,
    JobQueue,
    Meaning,
    ModelChanged,
    Nearness,
    SecretScanner,
    SecretSpan,
    Space,
    SqlValue,
    Transact,
    Tx,
    VectorTable,
)
from thread_episodic import lookups
from thread_episodic.model import Candidate, Filter, Places
from thread_episodic.ranking import USUAL_COSINE
from thread_episodic.store import SQL
from thread_episodic.visibility import mask_range

TABLE = VectorTable(
    name="chunk", number_bytes=1, added=SQL["vectors_added"], present=SQL["vectors_present"], losses=SQL["vector_losses"],
    numbers=SQL["vectors_of_chunks"],
)  # fmt: skip

SUBJECT = "thread_episodic"
"""There is one embed job of this house at a time: it works until nothing is missing."""
LOOKED_AT = 5000  # rows of one look for what lacks a vector: some milliseconds
BATCH = 64  # a transaction of this many vectors takes a few milliseconds
FEW = 2000  # chunks of a thread or a time among which the nearest are looked for; more are walked through from the nearest on
DEEPER = 4  # how many times as many are looked at when a filter left too few
INT8_MOST = 127
WALKED = 4000  # of the nearest, how many are looked at for some that pass the filter


class _Wanted(NamedTuple):
    """A chunk that lacks a vector: its row, and where its words are."""

    row: int
    item_id: str
    start: int
    end: int
    source_hash: bytes


class _Words(NamedTuple):
    """A chunk that lacks a vector, and what was said; None where the message is not what was indexed any more."""

    wanted: _Wanted
    fact: ItemFact | None
    echoes: Sequence[tuple[int, int]]


def hidden_in(text: str, scanner: SecretScanner, echoes: Sequence[tuple[int, int]]) -> list[SecretSpan]:
    """What of a message is not indexed: secrets, and lines that the gateway itself injected."""
    hidden = [*scanner.find(text), *(SecretSpan(kind="echo", start=start, end=end) for start, end in echoes)]
    return sorted(hidden, key=lambda span: (span.start, span.end))


def spoken(fact: ItemFact, hidden: Sequence[SecretSpan], start: int, end: int) -> str:
    """What a model is given of a chunk: who says it, and the words."""
    return f"{fact.name or fact.role}: {mask_range(fact.text, hidden, start, end, marker=' ')}"


def as_bytes(numbers: bytes) -> bytes:
    """A float16 vector as int8, its largest number as 127: half the room, and cosines within .004 of those of all its bits."""
    values: tuple[float, ...] = struct.unpack(f"<{len(numbers) // 2}e", numbers)
    step = (max(map(abs, values)) or 1.0) / INT8_MOST
    return struct.pack(f"{len(values)}b", *[round(value / step) for value in values])


def nearest(tx: Tx, near: Nearness, places: Places, wanted: Filter, limit: int) -> list[Candidate]:
    """The chunks nearest in meaning that pass the filter, nearest first."""
    few = lookups.chunks_within(tx, places, wanted, FEW)
    ranked = islice(near.ranked(USUAL_COSINE, few), WALKED)
    found: list[Candidate] = []
    batch = limit
    while len(found) < limit and (rows := [row for row, _ in islice(ranked, batch)]):
        passing = lookups.chunks_by_row(tx, rows, places, wanted)
        found += [passing[row] for row in rows if row in passing]
        batch = DEEPER * limit
    return found[:limit]


def add_vector(tx: Tx, space: int, row: int, numbers: bytes) -> None:
    """Keep the vector of a chunk, with what vouches for it."""
    tx.run(SQL["add_vector"], {"space": space, "row": row, "numbers": numbers, "digest": digest_of(numbers)})


def coverage(tx: Tx, space_id: int) -> Coverage:
    """Return how many chunks can have a vector of the space, and how many have one."""
    found = tx.one(SQL["count_vectors_of_space"], {"space": space_id})
    return Coverage(*found) if found is not None else Coverage(0, 0)


def count_waiting(tx: Tx) -> int:
    """Return how many chunks wait for their vector; what that costs grows with their number alone."""
    found = tx.one(SQL["count_waiting"])
    return found[0] if found is not None else 0


class Vectors:
    """The vectors that this house holds."""

    def __init__(
        self, *, db: Transact, jobs: JobQueue, meaning: Meaning, scanner: SecretScanner, read_items: ReadItems,
        echo_spans: EchoSpans, hash_of: Callable[[ItemFact], bytes],
    ) -> None:  # fmt: skip
        self._db = db
        self._jobs = jobs
        self._meaning = meaning
        self._scanner = scanner
        self._read_items = read_items
        self._echo_spans = echo_spans
        self._hash_of = hash_of

    def enlist(self, tx: Tx, space: Space) -> None:
        """Note, and queue, every chunk that lacks a vector of the space."""
        self.settle(tx, space)
        tx.run(SQL["await_vectors"], {"space": space.id})
        self.queue(tx)

    def settle(self, tx: Tx, space: Space | None) -> None:
        """Have every chunk that has a vector of the space wait no more; None: nothing waits, no vectors will come."""
        tx.run(SQL["settle_vectors"], {"space": space.id if space is not None else None})

    def look(self, tx: Tx, space: Space, after: int) -> tuple[bool, int | None]:
        """Whether some of the next chunks can have a vector of the space and have none; where the next look begins, if any is left."""
        found = tx.one(SQL["look_for_lack"], {"space": space.id, "after": after, "limit": LOOKED_AT})
        return (bool(found[1]), found[0]) if found is not None else (False, None)

    def drop(self, tx: Tx, space: Space, limit: int) -> int:
        """Remove some of the space's vectors; returns how many."""
        return tx.run(SQL["drop_vectors"], {"space": space.id, "limit": limit})

    def are_made(self) -> bool:
        """Whether new chunks get vectors: there is a model, or it is on its way."""
        return self._meaning.state() != "off"

    def renew(self, tx: Tx, turn_id: str) -> None:
        """Drop the vectors of a turn, to be made anew; where there is no model they stay."""
        if self.are_made():
            tx.run(SQL["drop_vectors_of_turn"], {"turn_id": turn_id})
            tx.run(SQL["await_vectors_of_turn"], {"turn_id": turn_id})
            self.queue(tx)

    def queue(self, tx: Tx) -> None:
        """Some chunk lacks a vector."""
        self._jobs.enqueue(tx, "embed", SUBJECT)

    async def fill(self, _handle: JobHandle | None = None) -> None:
        """The handler of `embed` jobs: make what is missing, in every space that wants it."""
        while await self._meaning.wake():  # else whoever loads a model later enlists what is missing then
            try:
                for place, space in enumerate(await self._db.read(self._meaning.to_fill)):
                    await self._fill(space, is_searched=place == 0)
            except ModelChanged:
                continue
            await self._meaning.filled()
            return

    async def _fill(self, space: Space, *, is_searched: bool) -> None:
        after: int | None = 0
        while after is not None:
            words, after = await self._db.read(
                lambda tx, place=after: self._next(tx, space, place, is_searched=is_searched)
            )
            if not words:
                continue
            texts = await anyio.to_thread.run_sync(self._texts, words)
            changed = [(one.row, None) for one, fact, _ in words if fact is None]  # an index job will cut these anew
            made = [*await self._made(space, texts), *changed]
            await self._db.note(lambda tx, made=made: self._keep(tx, space, made, is_searched=is_searched))

    def _next(self, tx: Tx, space: Space, after: int, *, is_searched: bool) -> tuple[list[_Words], int | None]:
        """The next chunks that lack a vector, and where to go on; None when there is nothing beyond."""
        values: dict[str, SqlValue] = {"space": space.id, "after": after, "limit": BATCH}
        if is_searched:
            words = self._gather(tx, SQL["pending_without_vector"], values)
            return words, words[-1].wanted.row if words else None
        end = tx.one(SQL["end_of_chunks"], {"after": after, "limit": LOOKED_AT})
        until = end[0] if end is not None else None
        words = self._gather(tx, SQL["without_vector"], {**values, "until": until})
        return words, words[-1].wanted.row if len(words) == BATCH else until

    def _gather(self, tx: Tx, statement: str, values: Mapping[str, SqlValue]) -> list[_Words]:
        wanted = [_Wanted(*row) for row in tx.all(statement, values)]
        facts = self._read_items(tx, list(dict.fromkeys(one.item_id for one in wanted)))
        hashes = {item_id: self._hash_of(fact) for item_id, fact in facts.items() if fact.indexable}
        return [
            _Words(one, facts[one.item_id], self._echo_spans(tx, facts[one.item_id].workspace_id, facts[one.item_id].text))
            if hashes.get(one.item_id) == one.source_hash
            else _Words(one, None, ())
            for one in wanted
        ]  # fmt: skip

    def _texts(self, words: Sequence[_Words]) -> list[tuple[int, str]]:
        hidden = {
            fact.item_id: hidden_in(fact.text, self._scanner, echoes) for _, fact, echoes in words if fact is not None
        }
        return [
            (one.row, spoken(fact, hidden[fact.item_id], one.start, one.end))
            for one, fact, _ in words
            if fact is not None
        ]

    async def _made(self, space: Space, texts: Sequence[tuple[int, str]]) -> list[tuple[int, bytes | None]]:
        """Each chunk's row with its vector, or with none where the model makes none of its words."""
        if not texts:
            return []
        try:
            vectors = await self._meaning.of_texts(space, [text for _, text in texts])
        except GiveUpJob:
            if len(texts) == 1:
                return [(texts[0][0], None)]
            half = len(texts) // 2
            return [*await self._made(space, texts[:half]), *await self._made(space, texts[half:])]
        return [(row, vector) for (row, _), vector in zip(texts, vectors, strict=True)]

    def _keep(self, tx: Tx, space: Space, made: Sequence[tuple[int, bytes | None]], *, is_searched: bool) -> None:
        """Keep the vectors. A chunk's words never change, and one that was hidden meanwhile takes none."""
        for row, numbers in made:
            if numbers is None:
                tx.run(SQL["set_index_state"], {"row": row, "state": "repair_needed"})
                continue
            add_vector(tx, space.id, row, as_bytes(numbers))
            if is_searched:
                tx.run(SQL["set_index_state"], {"row": row, "state": "indexed"})
