"""Recall from files before the model of a turn is asked: two hooks.

Rule 1: `knowledge.recall` searches by the message and shows only good hits; `knowledge.active_recall` makes the
searches of the plan of a turn that asks for files, and shows weaker hits, too.
Rule 2: every piece is read from the disk before it is shown. It is shown once, as data in a block of its own.
Rule 3: at its deadline a hook returns what it has found, with the reason `deadline`.
Rule 4: of several searches each gives its best piece before one gives its second, and those that a name narrows come
first. Where little room is left, pieces are cut shorter, so that each file that is named has one.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING

import anyio
from msgspec import Struct

from knowledge.search.demands import SearchDemands
from knowledge.turns.permission import find_denial_of_recall
from knowledge.turns.planning import MAX_QUERIES
from promt.render import shorten
from promt.time_words import zone_of
from protocol.conversation.manifests import SourceRef
from protocol.conversation.values import RecallStatus
from protocol.errors import GatewayError
from protocol.files.knowledge import KnowledgeHit, KnowledgeSearchParams
from protocol.hooks import (
    HAND_OVER_MS,
    DiagnosticContribution,
    FileQuery,
    HookInput,
    HookOutput,
    PromptContext,
    Subscription,
)
from protocol.memory.values import Context
from protocol.settings import KnowledgeSettings
from protocol.shown import ContextItem

if TYPE_CHECKING:
    from knowledge.search.searching import KnowledgeSearcher

RECALL, ACTIVE_RECALL = "knowledge.recall", "knowledge.active_recall"
TIMEOUT_MS = 400
MIN_TEXT_CHARS = 5
"""The least length of a message that is searched for: "ok" would only find noise."""
MAX_QUERY_CHARS = 4096
FRAME_CHARS = 700
"""Characters of a block beside the texts of its pieces: its head, its end, and the line before each piece."""
LEAST_CHARS = 100
"""The length that a piece may have even in a small block."""
ASKED_FLOOR_PART = 0.2
"""The part of the usual floor that holds where the user asks for notes: they exist, so weak hits are likelier right."""
SHOWN_BEGINNING = 40
"""Characters of a snippet's beginning by which it is found in its piece."""

Settings = Callable[[], KnowledgeSettings]


class _PlannedSearch(Struct, frozen=True):
    """One search: its query, the least score, and the characters that it may fill."""

    query: FileQuery
    floor: float
    room: int


class _Answer(Struct, frozen=True):
    """The hits of a search of a turn, and what is withheld of what it found."""

    hits: list[KnowledgeHit]
    is_named: bool
    """A name narrowed the search."""
    has_collections: bool = False
    dropped: frozenset[int] = frozenset()
    """Pieces that their files do not say any more."""
    away: frozenset[str] = frozenset()
    """Collections whose folder is away."""


def _order_by_turns(answers: Sequence[_Answer]) -> list[KnowledgeHit]:
    """Return the best hit of each search, then the second of each, and so on; those of named files first."""
    found = [(not answer.is_named, turn, hit) for answer in answers for turn, hit in enumerate(answer.hits)]
    return [hit for *_, hit in sorted(found, key=lambda one: one[:2])]


def _note_withheld(answers: Sequence[_Answer]) -> list[DiagnosticContribution]:
    """Return for the hook's run what a search says in its diagnostics, as counts."""
    counts = {
        "stale_dropped": len({piece for answer in answers for piece in answer.dropped}),
        "collection_unavailable": len({name for answer in answers for name in answer.away}),
    }
    return [DiagnosticContribution(code=code, data={"count": count}) for code, count in counts.items() if count]


def to_context_item(hit: KnowledgeHit, most: int, zone: tzinfo) -> ContextItem:
    """Return a piece of a file for the prompt; one longer than `most` characters begins with its best line."""
    at = hit.locations[0]
    text = hit.text.strip()
    if len(text) > most:
        begin = max(0, text.find(hit.snippet[:SHOWN_BEGINNING]))
        text = shorten(text[begin:], most)
    labels = {"file": f"{at.collection_id}:{at.path} L{at.from_line}-L{at.to_line}"}
    if hit.heading:
        labels[""] = " > ".join(hit.heading)
    labels["changed"] = datetime.fromtimestamp(hit.at / 1000, zone).date().isoformat()
    return ContextItem(ref=SourceRef(kind="file", id=hit.address), text=text, labels=labels)


class _FileRecall:
    """The common part of both hooks."""

    context_id: str

    def __init__(self, searcher: "Callable[[], KnowledgeSearcher]", settings: Settings) -> None:
        self._searcher = searcher
        self._settings = settings

    async def _recall(self, given: HookInput, searches: Sequence[_PlannedSearch]) -> HookOutput:
        """Return the hits of the searches by turns; a hit is shown once."""
        most = self._settings().prompt_hits
        answers: list[_Answer] = []
        with anyio.move_on_after((TIMEOUT_MS - HAND_OVER_MS) / 1000) as patience:
            for planned in sorted(searches, key=lambda one: one.query.entity is None):
                of_named = sum(len(answer.hits) for answer in answers if answer.is_named)
                room = most if planned.query.entity is not None else most - of_named
                if room <= 0:
                    break
                answers.append(await self._search(given, planned, _order_by_turns(answers), room))
        found, withheld = _order_by_turns(answers)[:most], _note_withheld(answers)
        parts = min(sum(answer.is_named and bool(answer.hits) for answer in answers), most)
        if patience.cancelled_caught:
            output = self._output(given, found, "partial" if found else "failed", "deadline", parts)
        elif not any(answer.has_collections for answer in answers):
            return HookOutput()  # no folder of this workspace is recalled
        elif found:
            output = self._output(given, found, "recalled", "matched", parts)
        else:
            output = self._output(given, [], "empty", next((note.code for note in withheld), "no_match"))
        return HookOutput(contributions=[*output.contributions, *withheld])

    async def _search(
        self, given: HookInput, planned: _PlannedSearch, before: Sequence[KnowledgeHit], room: int
    ) -> _Answer:
        """Return at most `room` hits of one search that are not in `before`, and what is withheld."""
        is_named = planned.query.entity is not None
        source = planned.query.source or ""
        params = KnowledgeSearchParams(
            query=planned.query.query[:MAX_QUERY_CHARS],
            max_results=room,
            entity=planned.query.entity,
            source=source if source.startswith("collection:") else "file",
            context=Context(workspace_id=given.context.workspace_id),
        )
        shown = frozenset([*given.recalled.knowledge_ids, *(hit.address for hit in before)])
        demands = SearchDemands(turn=given.context, recalled_only=True, floor=planned.floor, shown=shown)
        try:
            snapshot, found = await self._searcher().find_files(params, demands)
        except GatewayError:  # the name is that of several pages
            return _Answer([], is_named)
        kept: list[KnowledgeHit] = []
        left = planned.room
        for hit in found.hits:
            size = min(self._most_chars(), len(hit.text), planned.room)
            if hit.address in shown or size > left:
                continue
            left -= size
            kept.append(hit)
        away = frozenset(known.collection_id for known in snapshot.away)
        return _Answer(kept, is_named, bool(snapshot.collections), found.dropped, away)

    def _most_chars(self, parts: int = 1) -> int:
        """Return the most characters of a piece in the prompt, if so many pieces have to fit."""
        settings = self._settings()
        return min(settings.max_hit_chars, max(LEAST_CHARS, (settings.prompt_chars - FRAME_CHARS) // max(1, parts)))

    def _output(
        self, given: HookInput, hits: Sequence[KnowledgeHit], status: RecallStatus, reason: str, parts: int = 1
    ) -> HookOutput:
        """Return a block of the hits, each so short that the first `parts` of them fit."""
        settings, zone = self._settings(), zone_of(given.context.time_zone)
        most_chars = self._most_chars(parts)
        return HookOutput(
            contributions=[
                PromptContext(
                    context_id=self.context_id,
                    domain="knowledge",
                    items=[to_context_item(hit, most_chars, zone) for hit in hits],
                    max_chars=max(settings.prompt_chars, FRAME_CHARS + most_chars),  # room for one short piece
                    max_item_chars=settings.max_hit_chars,
                    status=status,
                    reason=reason,
                )
            ]
        )


class FileRecall(_FileRecall):
    """The hook `knowledge.recall`."""

    context_id = "file_recall"

    async def __call__(self, given: HookInput) -> HookOutput:
        """Return a block of the pieces that fit the message, or the reason why there are none."""
        denied = find_denial_of_recall(given.context, given.policy)
        if denied is None and len(given.text.strip()) < MIN_TEXT_CHARS:
            denied = "too_short"
        if denied is not None:
            return self._output(given, [], "skipped", denied)
        settings = self._settings()
        query = FileQuery(query=given.text)
        return await self._recall(given, [_PlannedSearch(query, settings.min_relevancy, settings.prompt_chars)])


class ActiveFileRecall(_FileRecall):
    """The hook `knowledge.active_recall`."""

    context_id = "file_active"

    async def __call__(self, given: HookInput) -> HookOutput:
        """Return a block of the pieces that the plan asks for; nothing for a plan without files."""
        if given.plan is None or given.plan.knowledge.status == "skip" or not given.plan.knowledge.queries:
            return HookOutput()
        denied = find_denial_of_recall(given.context, given.policy)
        if denied is not None:
            return self._output(given, [], "skipped", denied)
        settings = self._settings()
        floor = settings.min_relevancy * ASKED_FLOOR_PART
        return await self._recall(
            given,
            [
                _PlannedSearch(query, floor, min(query.max_chars or settings.prompt_chars, settings.prompt_chars))
                for query in given.plan.knowledge.queries[:MAX_QUERIES]
            ],
        )


def list_recall_hooks(
    searcher: "Callable[[], KnowledgeSearcher]", settings: Settings, is_there: Callable[[], bool]
) -> list[Subscription]:
    """Return the hooks of recall; `searcher` is called when one searches.

    `is_there` returns whether the home has a collection whose files are recalled.
    """

    def is_enabled() -> bool:
        now = settings()
        return now.enabled and now.recall_enabled and now.prompt_hits > 0 and now.prompt_chars > 0 and is_there()

    return [
        Subscription(
            hook_id=RECALL,
            phase="TurnPrePromptContext",
            call=FileRecall(searcher, settings),
            enabled=is_enabled,
            after=("memory.deterministic_recall",),
            timeout_ms=TIMEOUT_MS,
        ),
        Subscription(
            hook_id=ACTIVE_RECALL,
            phase="TurnPostPreflightPromptContext",
            call=ActiveFileRecall(searcher, settings),
            enabled=is_enabled,
            after=("thread_episodic.recall", "memory.active_recall"),
            timeout_ms=TIMEOUT_MS,
        ),
    ]
