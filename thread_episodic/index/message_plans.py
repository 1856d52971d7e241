"""Decides how a message stands in the index: where it is cut, which terms a chunk has, and when it counts as changed.

Rule 1: pure; the same message, settings and lexicon give the same chunks.
Rule 2: secrets and lines that the gateway itself injected are not indexed; the message stays as it was said.
"""

from datetime import UTC, datetime
from functools import lru_cache

from msgspec import Struct

from promt.questions import is_question
from promt.time_words import tells_time
from protocol.seams.house_facts import ItemFact
from protocol.seams.ports import KeyedHash, Lexicon, SecretScanner
from protocol.settings import ThreadEpisodicSettings
from retrieval.chunking import ChunkSizes, Range, cut_text
from retrieval.packing import pack
from thread_episodic.values import NewChunk
from thread_episodic.visibility import hidden_in, mask_range

MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
"""Spelt here: `strftime` asks the locale, and an index must not."""

HEADERS_KEPT = 64  # messages of one speaker in a thread on one day have the same header


class WaitingMessage(Struct, frozen=True):
    """A message that waits, and the ranges of it that the gateway itself injected."""

    fact: ItemFact
    source_hash: bytes
    echoes: list[Range]


class ItemPlan(Struct, frozen=True):
    """The chunks that a message is to have, and the range that exceeds the most of them."""

    waiting: WaitingMessage
    chunks: list[NewChunk]
    left_out: Range | None


def sizes_of(settings: ThreadEpisodicSettings) -> ChunkSizes:
    """Return the settings that rule cutting."""
    return ChunkSizes(
        target_min=settings.chunk_target_min_chars,
        target_max=settings.chunk_target_max_chars,
        chunk_max=settings.chunk_max_chars,
        max_chunks=settings.max_chunks_per_item,
    )


def segment_room(settings: ThreadEpisodicSettings) -> int:
    """Return how many chunks a segment takes before the next one opens."""
    return max(1, int(settings.segment_capacity_chunks * settings.near_capacity_percent / 100))


def header_of(fact: ItemFact) -> str:
    """Return the text that is indexed before a chunk's own words: time, speaker and thread."""
    at = datetime.fromtimestamp(fact.at / 1000, UTC)
    return f"{at.day} {MONTHS[at.month - 1]} {at.year} {fact.name or fact.role} {fact.thread_name or ''}"


@lru_cache(maxsize=HEADERS_KEPT)
def _header_terms(lexicon: Lexicon, header: str) -> tuple[str, ...]:
    return tuple(lexicon.index_terms(header))


def plan_item(waiting: WaitingMessage, sizes: ChunkSizes, lexicon: Lexicon, scanner: SecretScanner) -> ItemPlan:
    """Return the chunks of a message with their terms, and the range that is left out.

    In a message with injected lines, a chunk without other words is left out: one of such lines alone has no chunk.
    """
    fact = waiting.fact
    hidden = hidden_in(fact.text, scanner, waiting.echoes)
    header = _header_terms(lexicon, header_of(fact))
    cut = cut_text(fact.text, sizes)
    chunks: list[NewChunk] = []
    for start, end in cut.ranges:
        said = mask_range(fact.text, hidden, start, end, marker=" ")
        own = lexicon.index_terms(said)
        if waiting.echoes and not own:
            continue
        terms = [*header, *own] if own else []
        words = " ".join(terms)
        chunks.append(
            NewChunk(
                position=len(chunks),
                start=start,
                end=end,
                words=words,
                terms=pack(words),
                term_count=len(terms),
                asks=is_question(said),
                is_dated=tells_time(said),
            )
        )
    return ItemPlan(waiting, chunks, cut.left_out)


def source_hash_of(keyed: KeyedHash, fact: ItemFact) -> bytes:
    """Return the keyed hash of a message's role, speaker, time and text; the thread's name is not a part of it."""
    return keyed.digest("episodic_source", "\x1f".join((fact.role, fact.name or "", str(fact.at), fact.text)))
