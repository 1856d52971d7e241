"""Deterministic recall: what memory knows about the words of the message, within a small budget.

Rule 1: a weak hit is not injected; nothing relevant means nothing in the prompt, and the manifest says so.
Rule 2: the floor, the scopes and the visibility are the service's; the budget and the form of an item stand here.
"""

import re
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

from memory.hooks.policy import policy_of
from memory.ports_hooks import ALREADY_SHOWN, MemoryForTurns
from protocol.hooks import ContextItem, HookInput, HookOutput, PromptContext
from protocol.memory import Hit, Record
from protocol.threads import RecallStatus, SourceRef

CONTEXT_ID = "memory_deterministic"
MAX_ITEMS = 5
MAX_CHARS = 1500
MAX_ITEM_CHARS = 280
MIN_TEXT_CHARS = 5  # "ok", "yes", "thx": words that would only find noise

_BLANKS = re.compile(r"\s+")


def _zone(name: str) -> tzinfo:
    """The time zone of that name; UTC where this machine does not know it."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return UTC


def _day(at: int, zone: tzinfo) -> str:
    return datetime.fromtimestamp(at / 1000, zone).date().isoformat()


def item_of(record: Record, snippet: str, zone: tzinfo) -> ContextItem:
    """A record as the prompt shows it: whole if it is short, else the part that was found."""
    text = record.content if len(record.content) <= MAX_ITEM_CHARS else snippet or record.content
    return ContextItem(
        ref=SourceRef(kind="memory", id=record.memory_id),
        text=text,
        labels={"scope": record.scope.kind, "at": _day(record.updated_at, zone)},
    )


def context_of(given: HookInput, context_id: str, hits: Sequence[Hit], outcome: str = "no_match") -> HookOutput:
    """The hits as a context, or an empty one that says `no_match`, or that all that fits is in the prompt already."""
    zone = _zone(given.context.time_zone)
    items = [item_of(hit.record, hit.snippet, zone) for hit in hits]
    if items:
        return _output(context_id, items, "recalled", "matched")
    return _output(context_id, [], "empty", outcome if outcome == ALREADY_SHOWN else "no_match")


def skipped(context_id: str, reason: str) -> HookOutput:
    """No recall, and why."""
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


def _same_words(text: str) -> str:
    return _BLANKS.sub(" ", unicodedata.normalize("NFKC", text)).strip().casefold()


def reason_to_skip(given: HookInput) -> str | None:
    """The code for which this message is not searched, or None."""
    recall = policy_of(given).recall
    words = _same_words(given.text)
    if not recall.allowed:
        return recall.reason_code
    if len(words) < MIN_TEXT_CHARS:
        return "too_short"
    if given.previous_text is not None and words == _same_words(given.previous_text):
        return "repeated_message"
    return None


class DeterministicRecall:
    """The hook `memory.deterministic_recall`."""

    def __init__(self, *, service: MemoryForTurns) -> None:
        self._service = service

    async def __call__(self, given: HookInput) -> HookOutput:
        """The best records for the message, or why there are none."""
        reason = reason_to_skip(given)
        if reason is not None:
            return skipped(CONTEXT_ID, reason)
        outcome = await self._service.recall(
            given.context, given.text, limit=MAX_ITEMS, exclude=given.recalled.shown_ids
        )
        return context_of(given, CONTEXT_ID, outcome.hits[:MAX_ITEMS], outcome.reason)
