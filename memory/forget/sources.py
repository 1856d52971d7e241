"""Searches the home for the words of a forgotten memory, and removes them from every place that may lose them.

Rule 1: a search reads each house in short snapshots; a found place is compared again in the transaction that changes
it.
Rule 2: a place that cannot be read is named like one that still holds the words.
"""

from collections.abc import Sequence
from functools import partial

from memory.forget.erased_phrases import note_phrases
from memory.forget.own_terms import (
    ForgottenPhrases,
    KeptRecords,
    MemoryWords,
    RedactionPlan,
    collect_phrases,
    plan_redaction,
)
from memory.ports import Collaborators
from memory.rows.candidates import erase_candidate, lift_doubt
from memory.rows.evidence import quotes_of
from memory.rows.notices import Notice
from memory.rows.record_columns import Stored
from memory.rows.records import earlier_values, statuses_of
from memory.rows.shelves import TEXTS
from memory.rows.store import get_any_candidate
from memory.rules.actors import SYSTEM_ACTOR
from memory.rules.same_words import is_telling
from protocol.errors import Unavailable
from protocol.memory.forgetting import LeftPlace
from protocol.seams.ports import Tx
from protocol.seams.shelves import FIRST, Mark, SayingRow, Searched


class Sources:
    """Finds the places of the home that hold some words, and removes these."""

    def __init__(self, means: Collaborators) -> None:
        self._means = means

    @property
    def _houses(self) -> Sequence[Searched]:
        return (TEXTS, *self._means.searched)

    def read_phrases(self, tx: Tx, found: Sequence[Stored]) -> ForgottenPhrases:
        """Return the phrases of some records, with those of their quotes and earlier values."""
        memories = [
            MemoryWords(
                s.record.content,
                [s.record.value, *earlier_values(tx, s.row)],
                [quote.text for quote in quotes_of(tx, s.record.memory_id)],
            )
            for s in found
        ]
        return collect_phrases(memories, partial(is_telling, lexicon=self._means.lexicon))

    async def plan(self, said: ForgottenPhrases, forgotten: Sequence[str], *, include_sources: bool) -> RedactionPlan:
        """Return the plan for the places of the home that hold the words now; `forgotten` are ids of their records."""
        saying = said.all
        if not saying.phrases:
            return RedactionPlan([], saying, [])
        found: list[SayingRow] = []
        left: list[LeftPlace] = []
        for number, house in enumerate(self._houses):
            mark: Mark | None = FIRST
            while mark is not None:
                try:
                    some, mark = await self._means.db.read(lambda tx, at=mark, of=house: of.look(tx, saying, at))
                    found += some
                except Unavailable:
                    left.append(LeftPlace(place="memory" if number == 0 else "message", id="", reason="unreadable"))
                    break
        kept = await self._means.db.read(lambda tx: _find_kept_records(tx, found, forgotten))
        plan = plan_redaction(found, said, kept, include_sources=include_sources)
        return plan._replace(left=[*plan.left, *left, *await self._means.look_into_files(saying)])

    def take_out(self, tx: Tx, plan: RedactionPlan) -> list[Notice]:
        """Remove the words from the planned places; a candidate that holds some is erased. Return the notices."""
        note_phrases(tx, self._means, plan.saying)
        for house in self._houses:
            house.take_out(tx, plan.saying, plan.taken)
        notices: list[Notice] = []
        for one in plan.taken:
            waiting = get_any_candidate(tx, one.id) if one.place == "candidate" else None
            if waiting is not None:
                erase_candidate(tx, one.id)
                doubted = waiting.candidate.contested_memory_id
                notices += lift_doubt(tx, doubted, SYSTEM_ACTOR, self._means.clock.now())
        return notices


def _find_kept_records(tx: Tx, found: Sequence[SayingRow], forgotten: Sequence[str]) -> KeptRecords:
    """Return the ids of the records that hold the words, themselves or by their evidence."""
    ids = {one.id for one in found if one.place in {"memory", "evidence"}} - {*forgotten}
    statuses = statuses_of(tx, ids)
    restorable = {memory_id for memory_id, status in statuses.items() if status == "deleted"}
    return KeptRecords(statuses.keys() - restorable, restorable, frozenset(forgotten))
