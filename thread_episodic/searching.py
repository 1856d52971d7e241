"""Searches conversation for a caller, and recalls it for a turn.

Rule 1: a search never fails because the index is slow, behind or damaged: its status and diagnostics say so.
Rule 2: a query's own words decide what is searched: a time that it names bounds it, and a thread that it names.
Rule 3: every search is stored without its text, as a recall event that explains recent turns.
"""

from collections.abc import Awaitable, Mapping
from functools import partial

import anyio.to_thread
from msgspec import structs

from promt.time_words import TimeRange, asks_when, find_time, zone_of
from protocol.base import DAY_MS, Diagnostic, Elsewhere
from protocol.errors import CallerError, IndexDamaged, PagesDamaged, Unavailable
from protocol.hooks import EpisodicQuery, TurnContext
from protocol.seams.ports import Tx
from protocol.thread_episodic import SearchScope, ThreadSearchParams, ThreadSearchResult
from retrieval.budget import floor_of, most_hits, room_of
from thread_episodic.index.repair import IndexRepairer, as_repaired
from thread_episodic.ports import EpisodicMeans
from thread_episodic.rows.recall_events import add_recall_event
from thread_episodic.rows.scopes import list_workspaces
from thread_episodic.search.display import Limits
from thread_episodic.search.elsewhere import MOST_ELSEWHERE, count_hits
from thread_episodic.search.finding import ChunkQuery
from thread_episodic.search.pointing import find_named_thread, subject_of, understood, without_times
from thread_episodic.search.search import ChunkSearch, FoundChunks, Searcher, is_vague
from thread_episodic.values import Filter, Shown, TurnSearch

SEARCH_PATIENCE = 1.5  # seconds that a search waits for what its query means: the first one may wait for the model
RECALL_PATIENCE = 0.25  # a turn waits less: it has its words
SEARCH_SECONDS = 0.25  # a search that needs longer would be felt in the turn; it answers `unavailable` instead
KEEP_EVENTS_MS = 30 * DAY_MS  # recall events explain recent turns, nothing older
THREAD_NAMES = 1000  # names that a message is compared with when it asks for what was said: three milliseconds
MICROSECONDS = 1_000_000


class ConversationSearch:
    """The searches of this house."""

    def __init__(self, means: EpisodicMeans, searcher: Searcher, repair: IndexRepairer) -> None:
        self._means = means
        self._searcher = searcher
        self._repair = repair

    async def search(self, params: ThreadSearchParams) -> ThreadSearchResult:
        """`thread_episodic/search`."""
        mode: SearchScope = params.mode or ("current_thread" if params.thread_id else "workspace_threads")
        if mode != "workspace_threads" and params.thread_id is None:
            raise CallerError.at("$.thread_id", f"The mode {mode} needs a thread")
        settings = self._means.settings()
        wanted = Filter(
            workspace_id=params.workspace_id,
            mode=mode,
            thread_id=params.thread_id,
            from_at=params.from_at,
            to_at=params.to_at,
            roles=tuple(params.roles or ()),
            excluded_turns=tuple(params.exclude_turn_ids),
        )
        limits = Limits(
            floor=floor_of(settings, params.min_score),
            hits=most_hits(settings, params.limit),
            room=room_of(settings, params.max_prompt_chars),
            snippet_chars=settings.snippet_chars,
            hit_chars=settings.max_hit_chars,
        )
        is_open = params.from_at is None and params.to_at is None
        when = await self._time_of(params.query, params.time_zone) if is_open else None
        if when is None:
            found = await self._find(wanted, params.query, limits, SEARCH_PATIENCE)
        else:
            found = await self._find_by_time(wanted, params.query, when, limits)
        is_fruitless = mode == "workspace_threads" and not found.hits and found.status in {"empty", "partial"}
        counts_elsewhere = is_fruitless and params.count_elsewhere
        return ThreadSearchResult(
            hits=found.hits,
            status=found.status,
            diagnostics=[Diagnostic(code=code) for code in found.diagnostics],
            understood=understood(params.query, when) if when is not None else None,
            elsewhere=await self._count_elsewhere(wanted, params.query, when, limits) if counts_elsewhere else [],
        )

    async def _count_elsewhere(
        self, wanted: Filter, query: str, when: TimeRange | None, limits: Limits
    ) -> list[Elsewhere]:
        """Return how many hits each other workspace has, most first."""
        if when is not None:
            wanted, query = structs.replace(wanted, from_at=when.from_at, to_at=when.to_at), without_times(query, when)
        is_newest = when is not None and not subject_of(query)

        def find(key: str) -> Awaitable[FoundChunks]:
            return self._find_chunks(
                structs.replace(wanted, workspace_id=key), query, limits, RECALL_PATIENCE, is_newest=is_newest
            )

        others = await self._means.db.read(lambda tx: list_workspaces(tx, wanted.workspace_id, MOST_ELSEWHERE))
        return await count_hits(others, find, self._means.clock.monotonic)

    async def _time_of(self, query: str, time_zone: str | None) -> TimeRange | None:
        """Return the time that a query names, or None.

        A worker thread reads it: the first date of a process imports the date parser.
        """
        now, zone = self._means.clock.now(), zone_of(time_zone or "UTC")
        return await anyio.to_thread.run_sync(find_time, query, now, zone, self._means.read_date)

    async def _find_by_time(self, wanted: Filter, query: str, when: TimeRange, limits: Limits) -> FoundChunks:
        """Return the hits of the time that a query names, and after them those of all times.

        The second search has the query's time words, too: they may be a part of its subject.
        """
        words = without_times(query, when)
        within = structs.replace(wanted, from_at=when.from_at, to_at=when.to_at)
        if not subject_of(words):
            return await self._find(within, "", limits, SEARCH_PATIENCE, is_newest=True)
        first = await self._find(within, words, limits, SEARCH_PATIENCE)
        rest = structs.replace(
            limits,
            hits=limits.hits - len(first.hits),
            room=limits.room - sum(len(hit.snippet) for hit in first.hits),
            known_chunks=first.shown,
            floor=limits.floor._replace(kept=0) if first.hits else limits.floor,
        )
        if rest.hits <= 0 or rest.room <= 0:
            return first
        second = await self._find(wanted, query, rest, SEARCH_PATIENCE)
        if not first.hits:
            return second
        return structs.replace(first, hits=first.hits + second.hits)

    async def recall(self, turn: TurnContext, search: TurnSearch, shown: Shown, *, room: int) -> FoundChunks:
        """Return the chunks that a turn may be shown for one of its searches, in `room` characters at most."""
        settings, query = self._means.settings(), search.query
        wanted = Filter(
            workspace_id=turn.workspace_id,
            mode="current_thread" if search.thread_id else query.mode,
            thread_id=search.thread_id or turn.thread_id,
            from_at=query.from_at,
            to_at=query.to_at,
            roles=tuple(query.roles or ()),
            excluded_turns=tuple(shown.turns),
        )
        limits = Limits(
            floor=search.floor,
            hits=search.hits,
            room=min(room, query.max_chars or room),
            snippet_chars=settings.snippet_chars,
            hit_chars=settings.max_hit_chars,
            known_chunks=frozenset(shown.chunks),
            known_facts=tuple(shown.facts),
            known_question=query.query if search.adds_words else "",
            has_answers=True,
        )
        is_newest = query.newest or (not query.query.strip() and None not in {query.from_at, query.to_at})
        return await self._find(
            wanted,
            query.query,
            limits,
            RECALL_PATIENCE,
            turn_id=turn.turn_id,
            is_newest=is_newest,
            cache_seconds=self._means.cache_seconds(),
        )

    async def narrow_to_named_thread(self, turn: TurnContext, query: EpisodicQuery) -> tuple[str, EpisodicQuery] | None:
        """Return the thread that a query names, with the query without that name; None where it names none."""
        terms_of = self._means.lexicon.index_terms
        said = frozenset(terms_of(query.query))

        def read(tx: Tx) -> Mapping[str, str]:
            return self._means.thread_names(tx, turn.workspace_id, THREAD_NAMES)

        names = (
            {thread: frozenset(terms_of(name)) for thread, name in (await self._means.db.read(read)).items()}
            if said
            else {}
        )
        named = find_named_thread(said, names)
        if named is None:
            return None
        rest = " ".join(word for word in query.query.split() if not names[named].issuperset(terms_of(word)))
        return named, structs.replace(query, query=rest, newest=is_vague(self._means.lexicon, rest))

    async def _find(
        self,
        wanted: Filter,
        query: str,
        limits: Limits,
        patience: float,
        *,
        turn_id: str | None = None,
        is_newest: bool = False,
        cache_seconds: int = 0,
    ) -> FoundChunks:
        """Return the chunks that a search finds, and store its recall event."""
        began = self._means.clock.monotonic()
        found = await self._find_chunks(
            wanted, query, limits, patience, is_newest=is_newest, cache_seconds=cache_seconds
        )
        now = self._means.clock.now()
        event = {
            "event_id": self._means.ids.new("rec"),
            "at": now,
            "workspace_id": wanted.workspace_id,
            "thread_id": wanted.thread_id,
            "turn_id": turn_id,
            "query_hash": self._means.keyed.digest("recall_query", query),
            "mode": wanted.mode,
            "candidates": found.candidates,
            "returned": len(found.hits),
            "cut_reason": found.cut_reason,
            "latency_us": round((self._means.clock.monotonic() - began) * MICROSECONDS),
        }
        self._means.db.trace(partial(add_recall_event, event=event, before=now - KEEP_EVENTS_MS))
        return found

    async def _find_chunks(
        self, wanted: Filter, query: str, limits: Limits, patience: float, *, is_newest: bool, cache_seconds: int = 0
    ) -> FoundChunks:
        settings = self._means.settings()
        if not settings.enabled:
            return FoundChunks(hits=[], status="skipped", diagnostics=["disabled"], cut_reason="disabled")
        if not is_newest and is_vague(self._means.lexicon, query):
            return FoundChunks(hits=[], status="skipped", diagnostics=["query_too_vague"], cut_reason="query_too_vague")
        vector = None if is_newest else await self._means.meaning.of_query(query, patience)
        request = ChunkSearch(
            wanted=wanted,
            asked=ChunkQuery(self._means.lexicon.query_terms(query), asks_when(query), vector),
            limits=structs.replace(limits, floor=limits.floor.in_force(has_meaning=vector is not None)),
            work=settings.max_candidate_work,
            max_segments=settings.max_segments,
            is_newest=is_newest,
            cache_seconds=cache_seconds,
            scans_chunks=self._repair.doubts_words,
        )
        try:
            return await self._search_around_damage(request)
        except IndexDamaged:
            return FoundChunks(hits=[], status="partial", diagnostics=["index_pending"], cut_reason="unavailable")
        except Unavailable:
            return FoundChunks(hits=[], status="unavailable", diagnostics=[], cut_reason="unavailable")

    async def _search_around_damage(self, request: ChunkSearch) -> FoundChunks:
        """Return the hits of a request.

        Where an index is damaged the chunks are scanned instead, and the answer says that it may lack something.
        """
        try:
            found = await self._means.db.read(partial(self._searcher.search, request=request), SEARCH_SECONDS)
        except PagesDamaged:  # the database reports damaged pages itself: no repair is queued here
            request = structs.replace(request, scans_chunks=True, asked=request.asked._replace(vector=None))
        except IndexDamaged:
            await self._repair.doubt({"texts": 1})
            request = structs.replace(request, scans_chunks=True)
        else:
            return as_repaired(found) if request.scans_chunks else found
        return as_repaired(await self._means.db.read(partial(self._searcher.search, request=request), SEARCH_SECONDS))
