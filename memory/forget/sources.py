"""Searches the home for what a forgotten memory said, and takes it out of every place that may lose it.

Rule 1: a search reads each house in short snapshots; what is found is compared again in the transaction that changes it.
Rule 2: what cannot be read is named like what stays: nobody says that nothing is there.
"""

from collections.abc import Sequence

from memory.forget.own_terms import ForgottenPhrases, KeptRecords, MemoryWords, RedactionPlan, plan_of, said_by
from memory.ports import Collaborators
from memory.proposals.candidate_rows import lift_doubt
from memory.rows.notices import Notice
from memory.rows.record_columns import WORDS
from memory.rows.store import SQL, Stored, known_candidate
from protocol.errors import Unavailable
from protocol.memory import Actor, LeftPlace
from protocol.seams.ports import Tx
from protocol.seams.shelves import FIRST, Column, Mark, SayingRow, Searched, Shelf, Shelves

TELLING_WORD = "zebrafish"  # any word that is no function word in any language

SHELVES = (
    Shelf("memory", "record", "said_in_records", "", (), WORDS),
    Shelf("candidate", "candidate", "said_in_candidates", "",
          (Column("content"), Column("value"), Column("key"), Column("proposal"))),
    Shelf("evidence", "evidence", "said_in_evidence", "keep_said_evidence", (Column("quote"),)),
    Shelf("decision", "decision", "said_in_decisions", "keep_said_decision", (Column("factors", ("value", "why")),)),
    Shelf("answer", "idempotency", "said_in_answers", "keep_said_answer", (Column("answer", ("value", "why", "canonical_key")),)),
)  # fmt: skip


class Sources:
    """Finds and takes out."""

    def __init__(self, means: Collaborators) -> None:
        self._means = means
        self._own = Shelves(SQL, SHELVES, lambda _tx, _found: None)

    @property
    def _houses(self) -> Sequence[Searched]:
        return (self._own, *self._means.searched)

    def said(self, tx: Tx, found: Sequence[Stored]) -> ForgottenPhrases:
        """The phrases of some records."""
        memories = [
            MemoryWords(s.record.content, s.record.value, [row[3] for row in tx.all(SQL["quotes_of_record"], {"memory_id": s.record.memory_id})])
            for s in found
        ]  # fmt: skip
        return said_by(memories, self._is_telling)

    def _is_telling(self, word: str) -> bool:
        terms = self._means.lexicon.query_terms
        return terms(f"{TELLING_WORD} {word}") != terms(TELLING_WORD)

    async def plan(self, said: ForgottenPhrases, forgotten: Sequence[str], *, include_sources: bool) -> RedactionPlan:
        """What becomes of each place of the home that says it now."""
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
        kept = await self._means.db.read(lambda tx: _kept(tx, found, forgotten))
        plan = plan_of(found, said, kept, include_sources=include_sources)
        return plan._replace(left=[*plan.left, *left, *await self._means.look_into_files(saying)])

    def take_out(self, tx: Tx, plan: RedactionPlan) -> list[Notice]:
        """Do what was planned. A proposal that says it goes as a whole."""
        for house in self._houses:
            house.take_out(tx, plan.saying, plan.taken)
        notices: list[Notice] = []
        for one in plan.taken:
            waiting = known_candidate(tx, one.id) if one.place == "candidate" else None
            if waiting is not None:
                tx.run(SQL["blank_decisions_of_candidate"], {"candidate_id": one.id})
                tx.run(SQL["erase_candidate"], {"candidate_id": one.id})
                doubted = waiting.candidate.contested_memory_id
                notices += lift_doubt(tx, doubted, Actor(kind="system"), self._means.clock.now())
        return notices


def _kept(tx: Tx, found: Sequence[SayingRow], forgotten: Sequence[str]) -> KeptRecords:
    """What is known of the records that were found, and of those that evidence was found of."""
    ids = {one.id for one in found if one.place in {"memory", "evidence"}} - {*forgotten}
    status = {memory_id: tx.one(SQL["status_of"], {"memory_id": memory_id}) for memory_id in ids}
    restorable = {memory_id for memory_id, row in status.items() if row is not None and row[0] == "deleted"}
    return KeptRecords(
        {memory_id for memory_id, row in status.items() if row is not None} - restorable,
        restorable,
        frozenset(forgotten),
    )
