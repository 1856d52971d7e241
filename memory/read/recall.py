"""Recall: the durable memory that a turn is given.

Rule 1: each scope is searched by itself and has tokens of its own, so that no scope crowds another out.
Rule 2: nothing is recalled for a query whose best record is below the floor; with the best come those that are nearly
as likely.
Rule 3: the same words recall the same. The cache holds ids and scores, never text; its records pass the visibility gate
at each use, and any change makes it invalid.
Rule 4: where a question names a time and nothing is known to have happened then, nothing is recalled.
Rule 5: a scope that fails or is late is left out, and the outcome is partial.
"""

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import anyio
from msgspec import Struct

from memory.ports import Collaborators
from memory.ports_hooks import ALREADY_SHOWN
from memory.read.matching import Match, RecordQuery
from memory.read.presentation import is_presentable, text_of
from memory.read.ranking import RECALL_FLOOR, count_recallable
from memory.read.searching import FoundRecord, PromptAudience, RecordSearcher, WantedHits
from memory.rows.recalls import add_recall, generation_of_recall
from memory.rows.record_columns import to_column
from memory.rows.store import holds_active
from memory.rules.categories import ABOUT_THE_USER
from memory.rules.identity import fold_text
from memory.rules.notes import MAX_IN_PROMPT, is_note
from memory.rules.routes import QueryRoute
from memory.rules.same_words import words_in_order
from promt.tokens import estimate_tokens
from protocol.base import Scope
from protocol.errors import Unavailable
from protocol.memory.explaining import RankedCandidate
from protocol.memory.reads import Filters, Hit
from protocol.record import Record
from protocol.seams.ports import Tx
from protocol.settings import RecallSettings

EMBEDDING_PATIENCE = 0.25  # seconds that a turn waits for its query's vector; then it is searched by words alone
ENOUGH_TERMS = 3
"""A message of fewer terms ("and in winter?") is searched together with the words before it."""
NEAR_MISSES = 20
"""The most considered records that an explanation names."""
CACHED = 64
"""The most queries whose rankings are kept."""


class Recall(NamedTuple):
    """The records of a recall, and the reason why there are no more."""

    hits: list[Hit]
    """Best first."""
    floor: float
    considered: list[RankedCandidate]
    """The best records that were read whole, each with the reason for which it is no hit. In a rehearsal, and where
    traces are kept, those that are far less likely than the best are among them."""
    reason: str
    """`recalled`, `cached`, `below_floor`, `no_match`, `already_shown`, or `scope_unavailable` where nothing was found
    and a scope failed."""
    is_partial: bool = False
    """A scope is missing because it failed or came too late."""
    candidates: int = 0
    """The number of records that were considered, at most `NEAR_MISSES`."""


class ScopeHits(Struct, frozen=True):
    """The hits of one scope that may be shown, best first, and the most tokens that they may have together."""

    found: Sequence[FoundRecord]
    tokens: int


class _Ranked(Struct, frozen=True):
    """The hits of one scope, best first, and how many records they are the best of."""

    found: Sequence[FoundRecord]
    considered: int


class _Kept(Struct, frozen=True):
    """The rankings of a query in the cache."""

    at: float
    """Monotonic seconds."""
    generation: tuple[int, ...]
    matches: Mapping[Scope, tuple[Sequence[Match], int]]
    """By scope the matches, and how many records they are the best of."""


class _Ground(NamedTuple):
    """The state of the home that a recall rests on."""

    generation: tuple[int, ...]
    scopes: Sequence[Scope]
    """Those that hold active records."""
    cached: dict[Scope, _Ranked] | None = None
    """The cached rankings, where they still hold."""


def query_of(text: str, before: Sequence[str], count_terms: Callable[[str], int], max_chars: int) -> str:
    """Return the words that are searched for a message: its beginning, at most `max_chars` in all.

    Where it has fewer than `ENOUGH_TERMS`, the user's words `before` it come first, unless it repeats them.
    """
    own = text.strip()[:max_chars]
    is_repeated = any(fold_text(part) == fold_text(own) for part in before)
    if is_repeated or count_terms(own) >= ENOUGH_TERMS:
        return own
    context = " ".join(part.strip() for part in before if part.strip())
    return f"{context[: max(0, max_chars - len(own) - 1)]} {own}".strip()


def choose(scopes: Sequence[ScopeHits], most: int) -> list[FoundRecord]:
    """Return at most `most` hits of all scopes by score, the user's before agents' notes.

    The best of each scope is chosen first, then the others, each scope within its tokens and `MAX_IN_PROMPT` notes in
    all. Hits with the same words and value are one hit; those that only look alike are not.
    """
    fitting: list[tuple[bool, FoundRecord]] = []
    for given in scopes:
        room, is_first = given.tokens, True
        for found in given.found:
            size = estimate_tokens(text_of(found.hit))
            if size <= room:
                fitting.append((is_first, found))
                room, is_first = room - size, False
    chosen: list[FoundRecord] = []
    said: set[tuple[tuple[str, ...], str]] = set()
    notes = 0
    for _, found in sorted(fitting, key=lambda entry: (is_noted(entry[1]), not entry[0], -entry[1].log_odds)):
        same = words_in_order(found.hit.record.content), to_column(found.hit.record.value)
        if same not in said and len(chosen) < most and (not is_noted(found) or notes < MAX_IN_PROMPT):
            said.add(same)
            chosen.append(found)
            notes += is_noted(found)
    return sorted(chosen, key=lambda found: (is_noted(found), -found.log_odds))


def is_noted(found: FoundRecord) -> bool:
    """Return whether a hit is an agent's note."""
    return is_note(found.hit.record)


def is_within(route: QueryRoute, record: Record) -> bool:
    """Return whether a record is of the time that a question names: it happened, was decided or was learnt then.

    A claim about the user holds at any time, so that the time when it was learnt does not count.
    """
    is_event = route.is_within(record.kind, record.valid_from, record.created_at)
    return is_event or (record.category not in ABOUT_THE_USER and route.covers(record.created_at))


def select_recallable(ranked: Sequence[Match]) -> list[Match]:
    """Return the best of a ranking with those that are nearly as likely (`count_recallable`).

    Notes are compared among themselves, so that none displaces a record of the user.
    """
    voices = ([one for one in ranked if one.is_note is noted] for noted in (False, True))
    return [one for voice in voices for one in voice[: count_recallable([match.score.log_odds for match in voice])]]


class Recaller:
    """Recalls for turns; one in a process, since it holds the cache."""

    def __init__(self, means: Collaborators, searcher: RecordSearcher) -> None:
        self._means = means
        self._searcher = searcher
        self._cache: OrderedDict[bytes, _Kept] = OrderedDict()

    def _tokens(self, scope: Scope, settings: RecallSettings) -> int:
        by_kind = {"workspace": settings.workspace_tokens, "user": settings.user_tokens}
        return by_kind.get(scope.kind, settings.other_tokens)

    async def recall(
        self,
        text: str,
        scopes: Sequence[Scope],
        *,
        limit: int,
        exclude: Sequence[str] = (),
        before: Sequence[str] = (),
        agent_id: str | None = None,
        turn_id: str | None = None,
        time_zone: str | None = None,
        is_rehearsal: bool = False,
    ) -> Recall:
        """Return the records that are worth a place in the prompt of an agent for a message, `limit` at most.

        `before` are the user's words before it; records in `exclude` are left out. A rehearsal, for a person who wants
        the reason, neither uses the cache nor leaves a trace, and no deadline cuts it.
        """
        begun = time.perf_counter()
        means, settings, prompt = self._means, self._means.recall_settings(), PromptAudience(agent_id)
        searched = query_of(text, before, lambda part: len(means.lexicon.query_terms(part)), settings.query_chars)
        question = await self._searcher.ask(searched, "hybrid", EMBEDDING_PATIENCE, time_zone, is_prompt=True)
        key = means.keyed.digest(
            "recall",
            to_column(
                [
                    fold_text(searched),
                    scopes,
                    agent_id,
                    question.vector is not None,
                    question.route,
                    means.settings(),
                    settings,
                ]
            ),
        )
        kept = None if is_rehearsal else self._find_cached(key, settings)
        ground = _Ground((), scopes)
        until = math.inf if is_rehearsal else begun + settings.deadline_ms.turn / 1000
        if not is_rehearsal:
            with anyio.move_on_after(until - time.perf_counter()):
                ground = await means.db.read(
                    partial(self._read_ground, scopes=scopes, question=question, kept=kept, prompt=prompt)
                )
        found, is_partial = ground.cached, False
        if found is None:
            # only records that may be shown are read whole, unless all are explained, or searched for a time
            is_whole = is_rehearsal or means.settings().debug_trace_enabled or question.route.from_at is not None
            wanted = WantedHits(max(NEAR_MISSES, limit), choose=None if is_whole else select_recallable)
            found, is_partial = await self._search(question, ground.scopes, until, wanted, prompt)
            if not (is_rehearsal or is_partial):
                self._keep(key, ground.generation, found, settings)
        result = self._build_recall(found, question.route, limit, exclude, settings, is_partial=is_partial)
        if ground.cached is not None and result.hits:
            result = result._replace(reason="cached")
        if not is_rehearsal:
            self._trace(question, result, turn_id, int((time.perf_counter() - begun) * 1_000_000))
        return result

    def _read_ground(
        self, tx: Tx, scopes: Sequence[Scope], question: RecordQuery, kept: _Kept | None, prompt: PromptAudience
    ) -> _Ground:
        """Return the state that a recall rests on, with the cached rankings of records as they are now."""
        ground = _Ground(generation_of_recall(tx), [scope for scope in scopes if holds_active(tx, scope)])
        if kept is None or kept.generation != ground.generation:
            return ground
        cached = {
            scope: _Ranked(self._searcher.read_ranking(tx, question, matches, [scope], prompt), considered)
            for scope, (matches, considered) in kept.matches.items()
        }
        is_whole = all(len(cached[scope].found) == len(matches) for scope, (matches, _) in kept.matches.items())
        return ground._replace(cached=cached if is_whole else None)  # a record hidden by now had a part in the choice

    async def _search(
        self, question: RecordQuery, scopes: Sequence[Scope], until: float, wanted: WantedHits, prompt: PromptAudience
    ) -> tuple[dict[Scope, _Ranked], bool]:
        """Return the best hits of each scope, and whether one is missing because it failed or came too late."""
        found: dict[Scope, _Ranked] = {}
        is_partial = False
        for scope in scopes:
            with anyio.move_on_after(until - time.perf_counter()) as patience:
                try:
                    ranking = await self._searcher.rank(question, Filters(), [scope], wanted, prompt)
                    found[scope] = _Ranked(ranking.found, min(wanted.limit, len(ranking.matches)))
                except Unavailable:
                    is_partial = True
            if patience.cancelled_caught:
                return found, True
        return found, is_partial

    def _build_recall(
        self,
        found: Mapping[Scope, _Ranked],
        route: QueryRoute,
        limit: int,
        exclude: Sequence[str],
        settings: RecallSettings,
        *,
        is_partial: bool,
    ) -> Recall:
        """Return the recall that the hits of all scopes make: presentable, not shown before, and within the budgets."""
        given: list[ScopeHits] = []
        is_shown = False
        has_nothing_of_time = route.from_at is not None and not any(
            is_within(route, one.hit.record) for ranked in found.values() for one in ranked.found
        )
        for scope, ranked in found.items():
            near = [] if has_nothing_of_time else select_recallable([one.match for one in ranked.found])
            rows = {match.row for match in near}
            good = [one for one in ranked.found if one.match.row in rows and is_presentable(one.hit, settings.floors)]
            fresh = [one for one in good if one.hit.record.memory_id not in exclude]
            is_shown |= len(fresh) < len(good)
            given.append(ScopeHits(fresh, self._tokens(scope, settings)))
        hits = [one.hit for one in choose(given, min(limit, settings.items))]
        seen = sorted((one for ranked in found.values() for one in ranked.found), key=lambda one: -one.log_odds)
        count = sum(ranked.considered for ranked in found.values())
        good_ids = {one.hit.record.memory_id for part in given for one in part.found}

        def cut_of(hit: Hit) -> str | None:
            if hit in hits:
                return None
            if hit.record.memory_id in exclude:
                return ALREADY_SHOWN
            if has_nothing_of_time:
                return "time"
            return "budget" if hit.record.memory_id in good_ids else "floor"

        considered = [_to_ranked_candidate(n, one.hit, cut_of(one.hit)) for n, one in enumerate(seen[:NEAR_MISSES], 1)]
        missed = ALREADY_SHOWN if is_shown else "below_floor" if count else "no_match"
        empty = "scope_unavailable" if is_partial else missed
        return Recall(
            hits, RECALL_FLOOR, considered, "recalled" if hits else empty, is_partial, min(count, NEAR_MISSES)
        )

    # -- the cache -------------------------------------------------------------------------------------------------

    def _find_cached(self, key: bytes, settings: RecallSettings) -> _Kept | None:
        """Return the rankings of a query unless they are too old; they become the latest used."""
        kept = self._cache.pop(key, None)
        if kept is None or self._means.clock.monotonic() - kept.at > settings.cache_seconds:
            return None
        self._cache[key] = kept  # the latest used goes last
        return kept

    def _keep(
        self, key: bytes, generation: tuple[int, ...], found: Mapping[Scope, _Ranked], settings: RecallSettings
    ) -> None:
        if settings.cache_seconds:
            matches = {
                scope: ([one.match for one in ranked.found], ranked.considered) for scope, ranked in found.items()
            }
            self._cache[key] = _Kept(self._means.clock.monotonic(), generation, matches)
        if len(self._cache) > CACHED:
            self._cache.popitem(last=False)

    # -- the trace -------------------------------------------------------------------------------------------------

    def _trace(self, question: RecordQuery, recall: Recall, turn_id: str | None, latency_us: int) -> None:
        """Queue the row of a recall without waiting for it; bookkeeping may be lost."""
        means = self._means
        values = {
            "at": means.clock.now(),
            "turn_id": turn_id,
            "query_hash": means.keyed.digest("query", question.text),
            "mode": "lexical" if question.vector is None else "hybrid",
            "candidates": recall.candidates,
            "returned": len(recall.hits),
            "latency_us": latency_us,
            "cut_reason": None if recall.hits else recall.reason,
            "ranked": to_column(recall.considered) if means.settings().debug_trace_enabled else None,
        }
        means.db.trace(lambda tx: add_recall(tx, values))


def _to_ranked_candidate(rank: int, hit: Hit, cut_by: str | None) -> RankedCandidate:
    return RankedCandidate(
        rank=rank,
        score=hit.score,
        factors=hit.breakdown,
        cut_by=cut_by,
        memory_id=hit.record.memory_id,
        lexical_rank=rank,
    )
