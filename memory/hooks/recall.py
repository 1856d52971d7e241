"""Deterministic recall: the records that bear on the words of the message, within a small budget.

Rule 1: without a relevant record nothing is added to the prompt, and the manifest names the reason.
Rule 2: the service applies floors, scopes, budgets and visibility; here is the form of an item.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo

from memory.hooks.policy import policy_of
from memory.ports_hooks import ALREADY_SHOWN, MemoryForTurns, RecallOutcome
from memory.read.presentation import MAX_ITEM_CHARS, text_of
from memory.rules.notes import NOTE_LABEL, is_note
from protocol.conversation.manifests import SourceRef
from protocol.conversation.values import RecallStatus
from protocol.hooks import HookInput, HookOutput, PromptContext
from protocol.memory.reads import Hit
from protocol.shown import ContextItem
from protocol.zones import find_zone

CONTEXT_ID = "memory_deterministic"
MAX_ITEMS = 8
MAX_CHARS = 1500
"""The most items and characters of durable recall in a prompt."""
MIN_TEXT_CHARS = 5  # "ok", "yes", "thx": words that would only find noise


def item_of(hit: Hit, zone: tzinfo) -> ContextItem:
    """Return a hit as an item of the prompt, with its scope and the day of its last change; a note is labelled."""
    day = datetime.fromtimestamp(hit.record.updated_at / 1000, zone).date()
    labels = {"scope": hit.record.scope.kind, "at": day.isoformat()}
    if is_note(hit.record):
        labels["voice"] = NOTE_LABEL
    return ContextItem(ref=SourceRef(kind="memory", id=hit.record.memory_id), text=text_of(hit), labels=labels)


def context_of(
    given: HookInput, context_id: str, hits: Sequence[Hit], outcome: RecallOutcome | None = None
) -> HookOutput:
    """Return the hits as a prompt context with its status and reason, those of the recall's outcome where one is given.

    Without hits the context is empty.
    """
    zone = find_zone(given.context.time_zone) or UTC
    items = [item_of(hit, zone) for hit in hits]
    reason = outcome.reason if outcome is not None else ""
    if outcome is not None and outcome.is_partial:
        return _output(context_id, items, "partial" if items else "failed", "scope_unavailable")
    if items:
        return _output(context_id, items, "recalled", "cached" if reason == "cached" else "matched")
    return _output(context_id, [], "empty", ALREADY_SHOWN if reason == ALREADY_SHOWN else "no_match")


def build_skipped_output(context_id: str, reason: str) -> HookOutput:
    """Return an empty context with the reason for which nothing was recalled."""
    return _output(context_id, [], "skipped", reason)


def _output(context_id: str, items: list[ContextItem], status: RecallStatus, reason: str) -> HookOutput:
    return HookOutput(
        contributions=[
            PromptContext(
                context_id=context_id,
                domain="memory",
                items=items,
                max_chars=MAX_CHARS,
                max_item_chars=MAX_ITEM_CHARS,
                status=status,
                reason=reason,
            )
        ]
    )


def reason_to_skip(given: HookInput) -> str | None:
    """Return the code of the reason for which this message is not searched, or None."""
    recall = policy_of(given).recall
    if not recall.allowed:
        return recall.reason_code
    return "too_short" if len(given.text.strip()) < MIN_TEXT_CHARS else None


class DeterministicRecall:
    """The hook `memory.deterministic_recall`."""

    def __init__(self, *, service: MemoryForTurns) -> None:
        self._service = service

    async def __call__(self, given: HookInput) -> HookOutput:
        """Return a context with the best records for the message, or with the reason why there are none."""
        reason = reason_to_skip(given)
        if reason is not None:
            return build_skipped_output(CONTEXT_ID, reason)
        outcome = await self._service.recall(
            given.context, given.text, limit=MAX_ITEMS, exclude=given.recalled.shown_ids, before=given.previous
        )
        return context_of(given, CONTEXT_ID, outcome.hits[:MAX_ITEMS], outcome)
