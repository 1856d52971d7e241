"""Chooses the ranked candidates that are shown: the gate, the floor, the number, the snippet, the room.

Rule 1: best first; what does not fit is skipped, not the end.
Rule 2: neighbouring chunks of one message that are both good enough are one hit, as far as a hit may be long.
Rule 3: nothing is shown that the gate did not see with its message as it is in this snapshot.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from msgspec import Struct

from protocol.seams.house_facts import EchoSpans, ItemFact, ReadItems
from protocol.seams.ports import Lexicon, SecretScanner, SecretSpan, Tx
from protocol.thread_episodic import ThreadHit
from retrieval.budget import Floor, snippet_of
from thread_episodic.search.pointing import is_said_already
from thread_episodic.search.ranking import Ranked
from thread_episodic.values import ChunkCandidate, Filter
from thread_episodic.visibility import INJECTED, HiddenRange, is_visible, show_range

KEPT = 4096  # messages whose secrets are remembered: those of a few threads
READ_AHEAD = 8  # messages read at once beyond those that may be shown: some are hidden, some do not fit


class Limits(Struct, frozen=True, kw_only=True):
    """The budgets of what is shown."""

    floor: Floor
    hits: int
    room: int
    snippet_chars: int
    hit_chars: int
    known_chunks: frozenset[str] = frozenset()
    """Chunk ids that the asker has already."""
    known_facts: tuple[str, ...] = ()
    """Facts that the asker is given in another part of the prompt."""
    known_question: str = ""
    """A text to which a hit must add a word: the same question, asked before, is no answer."""
    has_answers: bool = False
    """A user's message is shown with the answer to it."""


class RankedChunks(NamedTuple):
    """Candidates, best first, and the weights of the terms that they were ranked by."""

    ranked: Sequence[Ranked]
    candidates: Mapping[int, ChunkCandidate]
    weights: Mapping[str, float]
    is_limited: bool = False


class KnownSecrets:
    """The places of secrets in messages that were shown lately: a scan costs more than the rest of a hit.

    Only the message's hash is kept, so that none of its words stays in memory longer than its search. Safe for threads.
    """

    def __init__(self, scanner: SecretScanner) -> None:
        self._scanner = scanner
        self._known: dict[bytes, list[SecretSpan]] = {}

    def of(self, text: str, source_hash: bytes) -> list[SecretSpan]:
        """Return the secrets of a text with that hash."""
        found = self._known.get(source_hash)
        if found is None:
            if len(self._known) >= KEPT:
                self._known.clear()
            found = self._known[source_hash] = self._scanner.find(text)
        return found


class Display:
    """Fills the room with hits, best first."""

    def __init__(
        self,
        tx: Tx,
        wanted: Filter,
        limits: Limits,
        ranking: RankedChunks,
        *,
        lexicon: Lexicon,
        secrets: KnownSecrets,
        hash_of: Callable[[ItemFact], bytes],
        read_items: ReadItems,
        echo_spans: EchoSpans,
    ) -> None:
        self._tx = tx
        self._wanted = wanted
        self._limits = limits
        self._ranking = ranking
        self._secrets = secrets
        self._hash_of = hash_of
        self._read_items = read_items
        self._echo_spans = echo_spans
        self._items: dict[str, tuple[ItemFact, bytes] | None] = {}
        good = (ranking.candidates[one.row] for one in ranking.ranked if one.score >= limits.floor.score)
        self._good = {(chunk.item_id, chunk.position): chunk for chunk in good}

        @cache  # a text is weighed, then compared
        def terms_of(text: str) -> frozenset[str]:
            return frozenset(lexicon.index_terms(text))

        self._terms_of = terms_of
        self._facts = [self._terms_of(fact) for fact in limits.known_facts]
        self._question = self._terms_of(limits.known_question)
        self._repeated: set[bytes | None] = set()
        """The kept terms of chunks that add nothing: one with the same terms is left out unread. A message that is sent
        again and again fills the best places with itself."""
        self.hits: list[ThreadHit] = []
        self.whole: set[str] = set()
        self.shown: set[str] = set()
        self.candidates = len(ranking.ranked)
        self.skipped = 0
        """Hits that did not fit into the room."""
        self.below = 0
        """1 where a visible candidate was left out by the floor: the rest is not looked at."""
        self.has_partial = False
        """A hit's message is not indexed whole."""
        self.cut_reason = "none"
        self.is_exhausted = False
        """Every candidate was looked at."""

    def fill(self) -> None:
        """Take the best candidates that fit, and set `cut_reason`: none, limit, floor or room."""
        limits, room, passed = self._limits, self._limits.room, 0
        for place, one in enumerate(self._ranking.ranked):
            if len(self.hits) == limits.hits:
                self.cut_reason = "limit"
                return
            chunk = self._ranking.candidates[one.row]
            if chunk.chunk_id in limits.known_chunks or chunk.chunk_id in self.shown:
                continue
            joined = self._join_neighbours(chunk)
            if chunk.terms in self._repeated and len(joined) == 1 and one.score >= limits.floor.score:
                passed += 1
                continue
            fact = self._visible_item(chunk, place)
            if fact is None:
                continue
            if one.score < limits.floor.score and passed >= limits.floor.kept:
                self.below += 1
                self.cut_reason = "floor"
                return
            passed += 1
            hit, is_whole = self._hit(one, chunk, joined, fact)
            if self._adds_nothing(hit.snippet):
                self._repeated.update([chunk.terms] if is_whole and len(joined) == 1 else [])
                continue
            if len(hit.snippet) > room:
                self.skipped += 1
                self.cut_reason = "room"
                continue
            room -= len(hit.snippet)
            self.hits.append(hit)
            self.shown.update(part.chunk_id for part in joined)
            if is_whole:
                self.whole.add(chunk.chunk_id)
            self.has_partial = self.has_partial or bool(chunk.is_partial)
        self.is_exhausted = True

    def _visible_item(self, chunk: ChunkCandidate, place: int) -> ItemFact | None:
        if chunk.item_id not in self._items:
            self._read_from(place)
        found = self._items[chunk.item_id]
        return found[0] if found is not None and is_visible(chunk, *found, self._wanted) else None

    def _read_from(self, place: int) -> None:
        """Read the messages of the next candidates at once."""
        upcoming = self._ranking.ranked[place : place + self._limits.hits - len(self.hits) + READ_AHEAD]
        ids = dict.fromkeys(self._ranking.candidates[one.row].item_id for one in upcoming)
        facts = self._read_items(self._tx, [item_id for item_id in ids if item_id not in self._items])
        for item_id in ids:
            if item_id not in self._items:
                fact = facts.get(item_id)
                self._items[item_id] = (fact, self._hash_of(fact)) if fact is not None else None

    def _join_neighbours(self, chunk: ChunkCandidate) -> list[ChunkCandidate]:
        """Return the chunk with the good ones around it in its message, in order, as long as a hit may be."""
        joined = [chunk]
        for step in (-1, 1):
            edge = chunk
            while (edge := self._good.get((edge.item_id, edge.position + step))) is not None:
                start, end = min(edge.start, joined[0].start), max(edge.end, joined[-1].end)
                if end - start > self._limits.hit_chars or edge.chunk_id in self.shown | self._limits.known_chunks:
                    break
                joined.insert(0 if step < 0 else len(joined), edge)
        return joined

    def _hit(
        self, one: Ranked, chunk: ChunkCandidate, joined: Sequence[ChunkCandidate], fact: ItemFact
    ) -> tuple[ThreadHit, bool]:
        """Return the hit, and whether its snippet is the whole text."""
        secrets = self._secrets.of(fact.text, chunk.source_hash)
        hidden = [HiddenRange(*place, INJECTED) for place in self._echo_spans(self._tx, fact.workspace_id, fact.text)]
        text = show_range(fact.text, secrets, hidden, joined[0].start, joined[-1].end)
        room = min(self._limits.hit_chars, len(joined) * self._limits.snippet_chars)
        snippet = snippet_of(text, room, self._weigh)
        hit = ThreadHit(
            chunk_id=chunk.chunk_id,
            source_id=chunk.chunk_id,
            thread_id=chunk.thread_id,
            turn_id=chunk.turn_id,
            item_id=chunk.item_id,
            chunk_index=chunk.position,
            role=chunk.role,
            at=chunk.at,
            snippet=snippet.text,
            text=text,
            score=round(one.score, 6),
            breakdown={name: round(part, 4) for name, part in one.parts.items()},
            artifacts=[],
        )
        return hit, snippet.is_whole

    def _adds_nothing(self, snippet: str) -> bool:
        """Return whether a known fact, or the question, says all that a snippet does."""
        terms = self._terms_of(snippet)
        is_known = bool(self._facts) and is_said_already(terms, self._ranking.weights.keys(), self._facts)
        return is_known or (bool(self._question) and self._question >= terms)

    def _weigh(self, text: str) -> float:
        """Return the weight of the query's terms that a part of a chunk holds."""
        held = self._terms_of(text)
        return sum(weight for term, weight in self._ranking.weights.items() if term in held)
