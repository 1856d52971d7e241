"""The hook `thread_episodic.recall`: runs the conversation part of a turn's plan.

Rule 1: the plan only names searches; visibility and budgets are the service's, as for any other search.
Rule 2: a message that the provider sees as history, or that the prompt holds already, is never shown again. Nor is one
that says only what a fact of the prompt says.
Rule 3: at its deadline the hook returns the hits that it has, with the reason `deadline`.
Rule 4: where the user clearly asks for the past, the best hits are shown, even weak ones. Where they do not speak of it
at all, one search is made all the same, and only a strong hit is shown.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, tzinfo

import anyio
import anyio.to_thread
from msgspec import Struct

from promt.intents import detect
from promt.time_words import zone_of
from protocol.conversation.artifacts import ArtifactRef
from protocol.conversation.manifests import SourceRef
from protocol.conversation.values import RecallStatus
from protocol.hooks import HAND_OVER_MS, EpisodicPlan, EpisodicQuery, HookInput, HookOutput, PromptContext, Subscription
from protocol.settings import GatewayConfig
from protocol.shown import ContextItem
from protocol.thread_episodic import DiagnosticCode, ThreadHit
from retrieval.budget import Floor
from thread_episodic.search.pointing import query_of
from thread_episodic.search.search import FoundChunks
from thread_episodic.searching import ConversationSearch
from thread_episodic.values import Shown, TurnSearch

HOOK_ID = "thread_episodic.recall"
CONTEXT_ID = "thread_recall"
TIMEOUT_MS = 800  # after which the turn goes on without the hook; its own deadline lies before that
KEPT_PART = 3  # of the budget: at the usual sizes, two snippets
UNASKED_FLOOR = 0.4
UNASKED_FLOOR_MEANT = 0.3
"""The least score of what is shown to a message that does not speak of the past, by words alone and with a model:
the lowest at which at most one in twenty of foreign and of innocent questions is shown anything (`python -m
benchmarks lookback`: the curve)."""
UNASKED_HITS = 5  # the most hits of the one search that the user did not ask for
ASKED_HITS = 8  # the most hits of each search that they did
ASKED_FLOOR_PART = 0.2  # of the usual floor: who speaks of a conversation had it, so that a weak hit is likelier right
NOT_PLANNED = "not_planned"
LATE = "deadline"
MATCHED = "matched"

_REASONS: tuple[DiagnosticCode, ...] = (
    "disabled",
    "index_pending",
    "budget_too_small",
    "below_floor",
    "no_match",
    "query_too_vague",
)
"""Reasons of an empty result, the most telling first, for several queries with several reasons."""


class _LabelledHit(Struct, frozen=True):
    """A hit with the labels of its line in the prompt."""

    hit: ThreadHit
    source: str
    is_whole: bool


def size_of(size_bytes: int) -> str:
    """Return a file's size as people read it."""
    size, units = float(size_bytes), ("bytes", "KB", "MB", "GB")
    for unit in units:
        if size < 1024 or unit == units[-1]:
            return f"{size:.0f} {unit}" if unit in {"bytes", "KB"} else f"{size:.1f} {unit}"
        size /= 1024
    raise AssertionError  # pragma: no cover  # the last unit takes all


def line_of(artifact: ArtifactRef) -> str:
    """Return the line by which the prompt names a file of a message; the tool `artifact_read` reads its bytes."""
    name = artifact.name.replace('"', "'")
    return (
        f'artifactId={artifact.artifact_id}, versionId={artifact.version_id}, name="{name}", kind={artifact.kind}, '
        f"mime={artifact.mime}, size={size_of(artifact.size_bytes)}, role={artifact.role}."
    )


def item_of(labelled: _LabelledHit, zone: tzinfo) -> ContextItem:
    """Return a hit as the prompt shows it, dated in the user's time zone."""
    return ContextItem(
        ref=SourceRef(kind="chunk", id=labelled.hit.chunk_id),
        text=labelled.hit.snippet,
        labels={
            "source": labelled.source,
            "at": datetime.fromtimestamp(labelled.hit.at / 1000, zone).date().isoformat(),
            "boundary": "whole" if labelled.is_whole else "snippet",
        },
        attachments=[line_of(artifact) for artifact in labelled.hit.artifacts],
    )


class EpisodicRecall:
    """Recall of earlier conversation for one turn."""

    def __init__(self, searching: ConversationSearch, settings: Callable[[], GatewayConfig]) -> None:
        self._searching = searching
        self._settings = settings

    async def __call__(self, given: HookInput) -> HookOutput:
        """Return the snippets that the plan asked for, or the reason why there are none."""
        if given.policy is not None and not given.policy.recall.allowed:
            return self._output([], "skipped", given.policy.recall.reason_code)
        if given.policy is None and (await anyio.to_thread.run_sync(detect, given.text)).no_recall:
            return self._output([], "skipped", "no_recall_requested")  # without a policy, no hook has read the message
        if given.plan is None:
            return self._output([], "skipped", NOT_PLANNED)
        hits: list[_LabelledHit] = []
        answers: list[FoundChunks] = []
        seconds = min(self._settings().recall.deadline_ms.hook, TIMEOUT_MS - HAND_OVER_MS) / 1000
        with anyio.move_on_after(seconds) as patience:
            searches = await self._plan_searches(given, given.plan.episodic)
            if not searches:
                return self._output([], "skipped", NOT_PLANNED)
            await self._search(given, searches, hits, answers)
        outcome = ("partial" if hits else "failed", LATE) if patience.cancelled_caught else _outcome(hits, answers)
        zone = zone_of(given.context.time_zone)
        return self._output([item_of(hit, zone) for hit in hits], *outcome)

    async def _plan_searches(self, given: HookInput, plan: EpisodicPlan) -> list[TurnSearch]:
        """Return the searches of a turn, the narrowest first, each with the least score that it shows."""
        settings = self._settings().thread_episodic
        least, most = settings.min_relevancy, settings.default_max_candidates
        if plan.is_asked:
            floor = Floor(least * ASKED_FLOOR_PART, settings.min_results)
            named = await self._searching.narrow_to_named_thread(given.context, plan.queries[0])
            inside = [TurnSearch(named[1], floor, ASKED_HITS, named[0])] if named is not None else []
            return [*inside, *(TurnSearch(query, floor, ASKED_HITS) for query in plan.queries)]
        if plan.status == "recall":
            timed = _strict(least)  # a time range raises the scores of all that is in it
            return [
                TurnSearch(query, Floor(least, 0) if query.from_at is None else timed, most) for query in plan.queries
            ]
        if given.context.parent_thread_id is not None:
            return []  # a subagent's task names what it needs
        query = EpisodicQuery(mode="workspace_threads", query=query_of(given.text))
        return [TurnSearch(query, _strict(least), UNASKED_HITS, adds_words=True)]

    async def _search(
        self, given: HookInput, searches: Sequence[TurnSearch], hits: list[_LabelledHit], answers: list[FoundChunks]
    ) -> None:
        """Search in order, within one budget; `hits` and `answers` grow with each search, for the deadline may fall.

        Each search finds only what those before it did not. A part of the budget is kept for the last: what the others
        guessed (a time, a thread) may be wrong, and must not hide what the widest one finds.
        """
        room = self._settings().thread_episodic.default_prompt_chars
        kept = room // KEPT_PART
        shown = Shown(
            turns=(*given.history_turn_ids, given.context.turn_id),
            chunks=set(given.recalled.chunk_ids),
            facts=given.recalled.facts,
        )
        here = {given.context.thread_id: "current thread"}
        for place, search in enumerate(searches, 1):
            budget = room if place == len(searches) else room - kept
            if budget <= 0:
                continue
            found = await self._searching.recall(given.context, search, shown, room=budget)
            answers.append(found)
            shown.chunks.update(found.shown)
            room -= sum(len(hit.snippet) for hit in found.hits)
            hits += [
                _LabelledHit(hit, here.get(hit.thread_id) or found.names[hit.thread_id], hit.chunk_id in found.whole)
                for hit in found.hits
            ]

    def _output(self, items: list[ContextItem], status: RecallStatus, reason: str) -> HookOutput:
        settings = self._settings().thread_episodic
        return HookOutput(
            contributions=[
                PromptContext(
                    context_id=CONTEXT_ID,
                    domain="thread",
                    items=items,
                    max_chars=settings.default_prompt_chars,
                    max_item_chars=settings.max_hit_chars,
                    status=status,
                    reason=reason,
                )
            ]
        )


def _strict(least: float) -> Floor:
    """Return the floor of a search that the user did not ask for."""
    return Floor(max(least, UNASKED_FLOOR), 0, max(least, UNASKED_FLOOR_MEANT))


def _outcome(hits: Sequence[_LabelledHit], answers: Sequence[FoundChunks]) -> tuple[RecallStatus, str]:
    """Return the status of a recall with its reason: the most telling one of all searches."""
    codes = {code for found in answers for code in found.diagnostics}
    if hits:
        return ("partial", "index_pending") if "index_pending" in codes else ("recalled", MATCHED)
    reason = next((code for code in _REASONS if code in codes), "unavailable")
    is_skipped = all(found.status == "skipped" for found in answers)
    return ("skipped" if is_skipped else "failed" if reason == "unavailable" else "empty"), reason


def build_hooks(searching: ConversationSearch, settings: Callable[[], GatewayConfig]) -> list[Subscription]:
    """Return the subscriptions of this house's hooks."""

    def is_enabled() -> bool:
        episodic = settings().thread_episodic
        return episodic.enabled and episodic.recall_enabled

    return [
        Subscription(
            hook_id=HOOK_ID,
            phase="TurnPostPreflightPromptContext",
            call=EpisodicRecall(searching, settings),
            enabled=is_enabled,
            timeout_ms=TIMEOUT_MS,
        )
    ]
