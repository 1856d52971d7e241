"""Values of the index: sources (messages), chunks of them, candidates of a search.

Rule 1: values only; nothing here reads or decides.
Rule 2: a chunk has no text, only a range of its message.
"""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from protocol.hooks import EpisodicQuery
from protocol.seams.checks import digest_of
from protocol.seams.ports import Lexicon
from protocol.thread_episodic import IndexedRole, SearchScope, chunk_id_of
from retrieval.budget import Floor
from thread_episodic.states import ChunkStatus

WHOLE_ITEM = 2**31
"""The end of an exclusion that covers all of a message, however long it becomes."""


def prefix_terms(workspace: int, terms: str) -> str:
    """Return space-separated terms as the full-text index stores them: each behind the prefix of its workspace.

    The prefix keeps a search from matching another workspace's chunks.
    """
    return f"w{workspace}·" + terms.replace(" ", f" w{workspace}·")


def of_thread(thread: int) -> str:
    """Return the index term that all chunks of a thread have; words begin with a workspace, so that none equals it."""
    return f"t{thread}"


class IndexSource(Struct, frozen=True):
    """A message in the index: its row, its workspace and its thread as integers."""

    id: int
    workspace: int
    thread: int

    def entry(self, terms: str) -> str:
        """Return the full-text entry of a chunk: where it was said, and its terms, each with its workspace."""
        return f"{of_thread(self.thread)} {prefix_terms(self.workspace, terms)}"


class SourceState(Struct, frozen=True):
    """A source with the hash of its message when it was noted, and whether all its chunks are in the index."""

    source: IndexSource
    source_hash: bytes
    is_indexed: bool


class Beside(NamedTuple):
    """The chunks just before and just after one, where there are any."""

    before: int | None = None
    after: int | None = None


class Places(NamedTuple):
    """The rows that a search covers: a workspace, perhaps only one of its threads, perhaps all but one."""

    workspace: int
    thread: int | None = None
    other_than: int | None = None


class StoredChunk(Struct, frozen=True, kw_only=True):
    """A chunk row. `asks` and `dated` are 0 or 1; a `digest` of None marks a chunk that is to be made anew."""

    id: int
    position: int
    start: int
    end: int
    status: ChunkStatus
    terms: bytes | None
    term_count: int
    segment: int | None
    asks: int
    dated: int
    digest: int | None

    @property
    def is_sound(self) -> bool:
        """Return whether the row's digest fits its contents; False for a row that is to be made anew."""
        return self.digest == chunk_digest(
            self.position, self.start, self.end, self.terms, self.term_count, self.asks, self.dated
        )

    @property
    def is_known(self) -> bool:
        """Return whether the terms are those that went into the full-text index.

        They are so in a sound row, and in one that is to be made anew: only its digest was taken away.
        """
        return self.is_sound or self.digest is None


def chunk_digest(
    position: int, start: int, end: int, terms: bytes | None, term_count: int, asks: int, dated: int
) -> int:
    """Return the digest of a chunk's range and terms."""
    return digest_of(terms, position, start, end, term_count, asks, dated)


def lexicon_digest(lexicon: Lexicon) -> int:
    """Return the number by which a message's row names the lexicon that its terms are of."""
    return digest_of(lexicon.version.encode())


class NewChunk(Struct, frozen=True):
    """A chunk that is to be stored.

    It has its range, its words as the full-text index takes them (`words`) and as its row keeps them (`terms`), and
    whether it ends with a question and tells a time. Both forms of the words are made before the write lock is held:
    packing takes a while.
    """

    position: int
    start: int
    end: int
    words: str
    terms: bytes | None
    term_count: int
    asks: bool
    is_dated: bool

    @property
    def digest(self) -> int:
        """Return the digest that shows later whether its row is as it was written."""
        return chunk_digest(
            self.position, self.start, self.end, self.terms, self.term_count, int(self.asks), int(self.is_dated)
        )


class ChunkCandidate(NamedTuple):
    """A chunk that a search may return, as the index remembers it.

    A tuple: a search makes a hundred and more of them.
    """

    id: int
    position: int
    start: int
    end: int
    status: str
    terms: bytes | None
    asks: int
    is_dated: int
    item_id: str
    turn_id: str
    thread_id: str
    role: IndexedRole
    at: int
    turn_seq: int
    item_seq: int
    speaker: str
    source_hash: bytes
    is_partial: int

    @property
    def chunk_id(self) -> str:
        """Return the chunk's id on the wire."""
        return chunk_id_of(self.turn_id, self.item_id, self.position)

    @property
    def is_named(self) -> bool:
        """Return whether its speaker has a name; without one, the speaker is the role's own word, or its stem."""
        return not self.role.startswith(self.speaker)


class Filter(Struct, frozen=True, kw_only=True):
    """The chunks that a search may see at all."""

    workspace_id: str
    mode: SearchScope
    thread_id: str | None
    from_at: int | None = None
    to_at: int | None = None
    roles: tuple[IndexedRole, ...] = ()
    excluded_turns: tuple[str, ...] = ()


class TurnSearch(Struct, frozen=True):
    """A search that a turn makes: the query, the least score that is shown, and the most hits."""

    query: EpisodicQuery
    floor: Floor
    hits: int
    thread_id: str | None = None
    """The only thread that is searched; None where the query's mode decides."""
    adds_words: bool = False
    """A hit that only repeats the query is left out."""


class Shown(Struct, frozen=True):
    """The turns, chunks and facts that a turn's prompt holds already."""

    turns: Sequence[str]
    chunks: set[str]
    facts: Sequence[str]
