"""A home of any size, made in minutes: memories, workspaces, threads, messages, their index and their vectors.

Rule 1: rows go in through the houses' own functions and statements; only the wire, the jobs and the model are left out,
and some messages are planned by the product as well, so that a difference ends the run.
Rule 2: one seed, one home: texts of a made-up language, vectors in clusters around what a model makes of such texts.
"""

import asyncio
import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from agent.rows.items import read_items
from agent.rows.statements import SQL as AGENT_SQL
from benchmarks.search_scale import FREQUENT, SEED, Words, add_record, opened
from gateway.base.clock import SystemClock
from gateway.base.ids import SortableIds
from gateway.embedding.spaces import SpaceIdentity, adopt
from gateway.home.keys import HomeKey
from gateway.secrets.scanner import RuleScanner
from gateway.store.sqlite import Handle, Transaction, connect
from memory.rows.store import ensure_scope
from memory.rows.vectors import add_vector
from protocol.base import Scope
from protocol.seams.house_facts import ItemFact
from protocol.seams.ports import Vector
from protocol.settings import ThreadEpisodicSettings
from retrieval.packing import as_bytes, pack
from retrieval.terms import SnowballLexicon
from thread_episodic.index.message_plans import (
    WaitingMessage,
    header_of,
    plan_item,
    segment_room,
    sizes_of,
    source_hash_of,
)
from thread_episodic.rows.chunks import ChunkEntry, add_chunks, chunks_of
from thread_episodic.rows.sources import Finished, find_source, finish_sources, put_source
from thread_episodic.rows.vectors import add_vector as add_chunk_vector
from thread_episodic.values import NewChunk, lexicon_digest

GROUP = 4000  # messages of a transaction
SMALL = 10_000
"""Chunks of most workspaces: what is searched in a small home and in a large one alike."""
USUAL, LARGE_PART = 50_000, 4
"""A home of many also has one workspace of so many chunks, and one of a part of all."""
MANY = 200_000
OF_THE_USER = 10_000
TURNS_OF_THREAD = 100
MINUTE = 60_000
FIRST_AT = 1_700_000_000_000
CHECKED = 9973  # each so-manieth message is planned by the product, too
LEXICON = SnowballLexicon()
SETTINGS = ThreadEpisodicSettings()


def workspaces_of(chunks: int) -> dict[str, int]:
    """The chunks of each workspace of a home: the first is small, a large home's second and third are not."""
    return {f"ws_{number}": size for number, size in enumerate(_sizes(chunks))}


def _sizes(chunks: int) -> list[int]:
    if chunks <= SMALL:
        return [chunks]
    large = [USUAL, chunks // LARGE_PART] if chunks >= MANY else []
    rest = chunks - SMALL - sum(large)
    return [SMALL, *large, *[SMALL] * (rest // SMALL), *([rest % SMALL] if rest % SMALL else [])]


class Points:
    """Vectors as a model makes them: near to anchors, which are the model's own where there is one."""

    def __init__(self, anchors: Sequence[bytes], seed: int = SEED) -> None:
        self._random = np.random.default_rng(seed)
        self._anchors = np.frombuffer(b"".join(anchors), "<f2").reshape(len(anchors), -1).astype(np.float32)
        # beside an anchor: cosines of 0.4 to 0.9 within a cluster
        self._spread = 0.75 / np.sqrt(self._anchors.shape[1])

    @classmethod
    def of_nothing(cls, count: int, dim: int, seed: int = SEED) -> "Points":
        """Anchors of no model; a few directions say most, as in real ones."""
        weights = 1 / np.sqrt(np.arange(dim) + 8)
        anchors = np.random.default_rng(seed).standard_normal((count, dim)) * weights
        return cls([row.tobytes() for row in _units(anchors)], seed)

    def some(self, count: int) -> list[bytes]:
        """So many vectors."""
        return [row.tobytes() for row in self.matrix(count)]

    def matrix(self, count: int) -> Any:
        """So many vectors as rows of float16."""
        anchors = self._anchors[self._random.integers(0, len(self._anchors), count)]
        beside = self._anchors[self._random.integers(0, len(self._anchors), count)]
        noise = self._random.standard_normal(anchors.shape, np.float32) * self._spread
        return _units(anchors + self._random.uniform(0, 0.6, (count, 1)).astype(np.float32) * beside + noise)


def _units(rows: Any) -> Any:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype("<f2")


class Message(NamedTuple):
    """Something said, and the terms of its words."""

    text: str
    terms: list[str]


class Talk:
    """Messages of a made-up language, with their terms at the cost of a look-up."""

    def __init__(self, words: Words, chars: int) -> None:
        self._words = words
        self._chars = chars
        self._terms: dict[str, list[str]] = {}

    def message(self, number: int) -> Message:
        """Something of about the wanted length, sometimes a question; its number makes it the only one."""
        length = self._words.rng.uniform(0.4, 1.6) * self._chars
        often = [word for rank, word in enumerate(FREQUENT) if self._words.rng.random() < 1 / (rank + 3)]
        said = [*often, *self._words.any_of(max(1, int(length / 9) - len(often))), str(number)]
        return Message(f"{' '.join(said)}{'?' if number % 5 == 0 else '.'}", self.terms_of(said))

    def terms_of(self, words: Sequence[str]) -> list[str]:
        """The index's terms of some words."""
        found: list[str] = []
        for word in words:
            if word not in self._terms:
                self._terms[word] = LEXICON.index_terms(word)
            found += self._terms[word]
        return found


class BigHome(NamedTuple):
    """A home that was made: its chunks in all, and in each workspace."""

    chunks: int
    workspaces: dict[str, int]


class _Writer:
    """Rows of one home, in large transactions."""

    def __init__(self, connection: Handle, key: HomeKey, points: Points | None, space: int | None) -> None:
        self.tx = Transaction(connection)
        self._connection = connection
        self._key = key
        self._points = points
        self._space = space
        self._vectors: Iterator[bytes] = iter(())
        self._left = 0
        self._scanner = RuleScanner()

    def next_vector(self) -> bytes | None:
        """The vector of the next row."""
        if self._points is None:
            return None
        if not self._left:
            self._vectors, self._left = iter(self._points.some(GROUP)), GROUP
        self._left -= 1
        return next(self._vectors)

    def write(self, entries: Iterator[Callable[[], None]]) -> None:
        """Do all of it, so much in each transaction."""
        while group := list(itertools.islice(entries, GROUP)):
            with self._connection:
                for entry in group:
                    entry()

    def add_message(self, workspace: str, place: int, talk: Talk) -> None:
        """A message of a thread; two make a turn."""
        thread = f"thr_{workspace}_{place // (2 * TURNS_OF_THREAD)}"
        turn, position = f"trn_{workspace}_{place // 2}", place % 2
        at, turn_seq = FIRST_AT + place * MINUTE, place // 2 % TURNS_OF_THREAD
        if place % (2 * TURNS_OF_THREAD) == 0:
            unset = ("agent_id", "parent_thread_id", "task_id", "instructions", "model", "provider", "cwd", "agent")
            values = dict.fromkeys((*unset, "instruction_files"))
            self.tx.run(
                AGENT_SQL["add_thread"],
                values
                | {
                    "thread_id": thread,
                    "workspace_id": workspace,
                    "name": f"Talk {place}",
                    "mode": "agent",
                    "memory_mode": "normal",
                    "origin": "user",
                    "now": at,
                    "forked_from": None,
                    "instruction_profile": "default",
                },
            )
        if position == 0:
            self.tx.run(
                AGENT_SQL["add_turn"],
                {
                    "turn_id": turn,
                    "thread_id": thread,
                    "position": turn_seq,
                    "driver": "import",
                    "mode": "agent",
                    "status": "completed",
                    "options": "{}",
                    "input_hash": None,
                    "started_at": at,
                    "completed_at": at,
                    "owner": None,
                    "origin": None,
                    "memory_mode": None,
                    "caller": None,
                },
            )
        said, role = talk.message(place), "assistant" if position else "user"
        item = f"itm_{workspace}_{place}"
        self.tx.run(
            AGENT_SQL["add_item"],
            {
                "item_id": item,
                "turn_id": turn,
                "thread_id": thread,
                "position": position,
                "kind": "agent_message" if position else "user_message",
                "role": role,
                "status": "completed",
                "text": said.text,
                "at": at,
                "name": None,
                "tool": None,
            },
        )
        fact = ItemFact(
            item_id=item,
            turn_id=turn,
            thread_id=thread,
            workspace_id=workspace,
            role=role,
            name=None,
            text=said.text,
            at=at,
            turn_seq=turn_seq,
            item_seq=position,
            indexable=True,
            thread_name=f"Talk {place - place % (2 * TURNS_OF_THREAD)}",
        )
        self._index(fact, said, is_checked=place % CHECKED == 0)

    def _index(self, fact: ItemFact, said: Message, *, is_checked: bool) -> None:
        tx, source_hash = self.tx, source_hash_of(self._key, fact)
        terms = [*LEXICON.index_terms(header_of(fact)), *said.terms]
        words = " ".join(terms)
        chunk = NewChunk(
            position=0,
            start=0,
            end=len(fact.text),
            words=words,
            terms=pack(words),
            term_count=len(terms),
            asks=fact.text.endswith("?"),
            is_dated=False,
        )
        if is_checked:
            if read_items(tx, [fact.item_id])[fact.item_id] != fact:
                raise RuntimeError("a message is not what the product reads")
            if plan_item(WaitingMessage(fact, source_hash, []), sizes_of(SETTINGS), LEXICON, self._scanner).chunks != [
                chunk
            ]:
                raise RuntimeError("a chunk is not what the product makes")
        put_source(tx, fact, fact.role, source_hash, fact.at)
        known = find_source(tx, fact.item_id)
        if known is None:
            raise RuntimeError("a message that was just added")
        add_chunks(
            tx,
            [ChunkEntry(known.source, fact.at, chunk, is_excluded=False)],
            awaits_vector=False,
            capacity=segment_room(SETTINGS),
            now=fact.at,
        )
        finish_sources(tx, [Finished(known.source, None)], fact.at, lexicon_digest(LEXICON))
        numbers = self.next_vector()
        if numbers is not None and self._space is not None:
            row = chunks_of(tx, known.source)[0].id
            add_chunk_vector(tx, self._space, row, as_bytes(numbers))


async def make(
    home: Path,
    *,
    memories: int,
    chunks: int,
    chars: int,
    anchors: Sequence[bytes] = (),
    identity: SpaceIdentity | None = None,
) -> None:
    """Make a home; no gateway has it open afterwards. With anchors and the identity of their model it has vectors."""
    await (await opened(home)).close()
    words = Words(SEED)
    sizes = workspaces_of(chunks)
    await asyncio.to_thread(_fill, home, words, memories, sizes, chars, Points(anchors) if anchors else None, identity)


def _fill(
    home: Path,
    words: Words,
    memories: int,
    sizes: dict[str, int],
    chars: int,
    points: Points | None,
    identity: SpaceIdentity | None,
) -> None:
    connection = connect(home / "gateway.db", synchronous="off")
    try:
        connection.execute("PRAGMA cache_size = -200000")
        space = None
        if identity is not None:
            with connection:
                space = adopt(Transaction(connection), identity, FIRST_AT, keeps_current=False).space.id
        writer = _Writer(connection, HomeKey.load(home / "keys"), points, space)
        writer.write(_memories(writer, words, memories, space, len(sizes)))
        talk = Talk(words, chars)
        for workspace, size in sizes.items():
            values = {"workspace_id": workspace, "name": None, "root_path": None, "now": FIRST_AT}
            with connection:
                writer.tx.run(AGENT_SQL["add_workspace"], values)
            writer.write(
                (lambda place=place, workspace=workspace: writer.add_message(workspace, place, talk))
                for place in range(size)
            )
            _show(f"  {workspace}: {size} chunks")
        connection.execute("INSERT INTO chunk_fts (chunk_fts, rank) VALUES ('merge', 500)")
        connection.execute("INSERT INTO memory_fts (memory_fts, rank) VALUES ('merge', 500)")
        connection.execute(
            "PRAGMA synchronous = full"
        ).fetchall()  # or the gateway's first commit would wait for all of it
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        connection.close()


def _memories(
    writer: _Writer, words: Words, count: int, space: int | None, workspaces: int
) -> Iterator[Callable[[], None]]:
    """Ten thousand of the user, wherever he is, and the others of the workspaces in turn."""
    ids = SortableIds(SystemClock())
    scopes = [Scope(kind="user", key="default"), *(Scope(kind="workspace", key=f"ws_{n}") for n in range(workspaces))]
    known = [ensure_scope(writer.tx, scope) for scope in scopes]

    def add(number: int, place: int) -> None:
        content = words.sentence(number)
        row = add_record(writer.tx, LEXICON, ids.new("mem"), scopes[place], known[place], content, number)
        numbers = writer.next_vector()
        if numbers is not None and space is not None:
            add_vector(writer.tx, row, known[place], Vector(space, numbers))

    for number in range(count):
        place = 0 if number < OF_THE_USER else 1 + number % workspaces
        yield lambda number=number, place=place: add(number, place)


def _show(line: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"{line}\n")


__all__ = ["BigHome", "Points", "make", "workspaces_of"]
