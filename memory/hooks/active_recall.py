"""Active recall: the records that a turn's validated plan names, beyond those that its words find.

Rule 1: the plan only proposes targets; the service applies scopes, floor and visibility as for any other read.
Rule 2: a record that is in the prompt already is never shown twice.
"""

from collections.abc import Sequence
from typing import get_args

from memory.hooks.policy import policy_of
from memory.hooks.recall import MAX_ITEMS, build_skipped_output, context_of
from memory.ports_hooks import MemoryForTurns
from memory.rules.notes import find_note_author, is_note
from protocol.hooks import DurablePlan, HookInput, HookOutput, TurnContext
from protocol.memory.reads import GetParams, Hit, ListParams
from protocol.record import Category, Record

CONTEXT_ID = "memory_active"
MAX_TARGETS = 6
PER_CATEGORY = 3  # a category has many records: a few of each leave room for the other targets


def _as_hit(record: Record) -> Hit:
    """Return a record that was named, not searched for, as a hit."""
    return Hit(record=record, score=1.0, breakdown={}, snippet="", matched_terms=[])


class ActiveRecall:
    """The hook `memory.active_recall`."""

    def __init__(self, *, service: MemoryForTurns) -> None:
        self._service = service

    async def __call__(self, given: HookInput) -> HookOutput:
        """Return a context with the records that the plan names; no contribution where it names no durable memory."""
        if given.plan is None or given.plan.durable.status == "skip" or not given.plan.durable.targets:
            return HookOutput()
        if given.context.mode == "chat":
            return build_skipped_output(CONTEXT_ID, "chat_mode")
        recall = policy_of(given).recall
        if not recall.allowed:
            return build_skipped_output(CONTEXT_ID, recall.reason_code)
        return context_of(given, CONTEXT_ID, await self._find_hits(given, given.plan.durable))

    async def _find_hits(self, given: HookInput, plan: DurablePlan) -> list[Hit]:
        """Return the hits of the targets, each record once: exact keys first, then categories, then words."""
        seen = set(given.recalled.shown_ids)
        room = max(0, MAX_ITEMS - len(given.recalled.memory_ids))
        hits: list[Hit] = []
        for mode, search in (("key", self._by_key), ("category", self._by_category), ("query", self._by_words)):
            for target in plan.targets[:MAX_TARGETS] if mode in plan.modes else ():
                for hit in await search(given.context, target, seen):
                    if hit.record.memory_id not in seen:
                        seen.add(hit.record.memory_id)
                        hits.append(hit)
                if len(hits) >= room:
                    return hits[:room]
        return hits

    async def _by_key(self, turn: TurnContext, key: str, _seen: set[str]) -> list[Hit]:
        found: list[Hit] = []
        for scope in self._service.turn_scopes(turn):
            record = (await self._service.get_in_turn(turn, GetParams(scope=scope, key=key))).record
            if record is not None and is_shown(record, turn.agent_id):
                found.append(_as_hit(record))
        return found

    async def _by_category(self, turn: TurnContext, name: str, _seen: set[str]) -> list[Hit]:
        categories = [category for category in get_args(Category) if category == name]
        if not categories:
            return []
        listed = await self._service.list_in_turn(
            turn, ListParams(categories=categories, order="importance", limit=PER_CATEGORY, voices=["user"])
        )
        return [_as_hit(record) for record in listed.records]

    async def _by_words(self, turn: TurnContext, query: str, seen: set[str]) -> Sequence[Hit]:
        return (await self._service.recall(turn, query, limit=MAX_ITEMS, exclude=sorted(seen))).hits


def is_shown(record: Record, agent_id: str | None) -> bool:
    """Return whether a record fetched by its key may go into an agent's prompt, by the same rule as a search hit."""
    is_own = not is_note(record) or (agent_id is not None and find_note_author(record.provenance) == agent_id)
    return is_own and record.status == "active" and record.sensitivity in {"normal", "personal"}
