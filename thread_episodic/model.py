"""What the index knows: sources (messages), chunks of them, candidates of a search.

Rule 1: values only; nothing here reads or decides.
Rule 2: a chunk has no text, only a range of its message.
"""

from dataclasses import dataclass
from typing import NamedTuple

from protocol.thread_episodic import IndexedRole, SearchScope, chunk_id_of

WHOLE_ITEM = 2**31
"""The end of an exclusion that covers all of a message, however long it becomes."""


def placed(workspace: int, term: str) -> str:
    """A term as the index has it: with its workspace, so that no search comes upon another one's places, nor counts them."""
    return f"w{workspace}·{term}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """A message in the index: its row, its workspace and its thread as integers."""

    id: int
    workspace: int
    thread: int

    def entry(self, terms: str) -> dict[str, str]:
        """What the full-text index holds of a chunk: where it was said, and its terms, each with its workspace."""
        return {"scope": f"t{self.thread}", "body": " ".join([placed(self.workspace, term) for term in terms.split()])}


class SourceState(NamedTuple):
    """A source with what was hashed for it, and whether all its chunks are in the index."""

    source: Source
    source_hash: bytes
    is_indexed: bool


class Beside(NamedTuple):
    """The chunks just before and just after one, where there are any."""

    before: int | None = None
    after: int | None = None


class Places(NamedTuple):
    """Where a search looks, in integers: a workspace, perhaps only one thread of it, perhaps all but one."""

    workspace: int
    thread: int | None = None
    other_than: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredChunk:
    """A chunk row."""

    id: int
    position: int
    start: int
    end: int
    status: str
    terms: bytes | None
    term_count: int
    segment: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class NewChunk:
    """A chunk that is to be stored: its range, the compressed terms of its full-text row, and how it speaks."""

    position: int
    start: int
    end: int
    terms: bytes | None
    term_count: int
    asks: bool
    is_dated: bool


class Candidate(NamedTuple):
    """A chunk that a search may return, as the index remembers it. A tuple: a search makes a hundred and more of them."""

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
        """Its name on the wire."""
        return chunk_id_of(self.turn_id, self.item_id, self.position)


@dataclass(frozen=True, kw_only=True, slots=True)
class Filter:
    """Which chunks a search may see at all."""

    workspace_id: str
    mode: SearchScope
    thread_id: str | None
    from_at: int | None = None
    to_at: int | None = None
    roles: tuple[IndexedRole, ...] = ()
    excluded_turns: tuple[str, ...] = ()
