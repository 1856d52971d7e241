"""Repair: derived rows are compared with what they are derived from, and made again where they differ.

Rule 1: every check finds and mends a bounded part at a time, and mending twice changes nothing: from any mix of damage
the checks, in their order, lead to the state of a home that was never damaged.
Rule 2: a record's words are not derived. A record that fails its own checksum is hidden and reported, never mended.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from memory.forget.erasing import RecordEraser, finish_later
from memory.ports import Collaborators
from memory.read.vectors import RecordVectors
from memory.rows.notices import note_change
from memory.rows.record_columns import Stored
from memory.rows.records import has_records, records_by_row
from memory.rows.repair import (
    corrections,
    count_damaged,
    drop_terms,
    find_index_states,
    find_lacking_vectors,
    find_unfinished_erases,
    index_finds,
    is_lexicon_known,
    is_text_right,
    note_damaged,
    note_lexicon,
    rebuild_texts,
    records_after,
    state_of,
)
from memory.rows.store import add_text, put_terms, remove_text
from memory.rows.text_scan import trust_index
from memory.rows.tombstones import doubt_erase, pending_erases
from memory.rows.vectors import drop_vectors, index_state_of, set_index_state
from memory.rows.withheld import are_numbers_marked, find_numbers, note_numbers_marked, withhold
from protocol.gateway import RepairState
from protocol.seams.checks import BATCH, Check, Depth, Find, LookResult, look_through, mend_all
from protocol.seams.ports import JobHandle, Tx


class RecordRepairs(Struct, frozen=True):
    """The number of mended rows of each kind, and of records that are damaged themselves."""

    mended: Mapping[str, int]
    damaged: int


class RecordRepairer:
    """Finds damage and mends it."""

    def __init__(self, means: Collaborators, vectors: RecordVectors) -> None:
        self._means = means
        self._rows = RecordEraser(means)
        self._vectors = vectors
        self._damaged = 0

    def checks(self) -> list[Check]:
        """Return every check, in the order in which they are run.

        Some looks keep a state of their own, so that each run needs new ones.
        """
        looks = index_finds(self._means.lexicon.version)
        return [
            self._build_row_check("unfinished_erases", find_unfinished_erases(), self._erase_again),
            Check("pending_erases", self._find_pending, self._queue_finish),
            *corrections(),
            Check("unvouched_texts", looks["unvouched_texts"], self._vouch_again),
            Check(
                "wrong_texts", looks["wrong_texts"], _rebuild_index
            ),  # from here on what is kept is what is in the index
            self._build_row_check("forgotten_texts", looks["forgotten_texts"], remove_text),
            self._build_row_check("missing_texts", looks["missing_texts"], self._make_text),
            Check("stale_texts", looks["stale_texts"], self._remake_texts),
            Check("damaged_records", self._find_damaged, self._remake_texts, "deep"),
            Check("withheld_numbers", self._find_numbers, self._withhold),
            Check("wrong_vectors", looks["wrong_vectors"], self._drop_vectors),
            Check("lacking_vectors", self._find_lacking_vectors, self._await_vectors),
            Check("index_states", find_index_states(), self._mend_states),
        ]

    # -- running ---------------------------------------------------------------------------------------------------

    async def work(self, handle: JobHandle) -> None:
        """Run a `repair` job, whose subject is its depth."""
        await self.run("deep" if handle.job.subject == "deep" else "quick")

    async def run(self, depth: Depth) -> RecordRepairs:
        """Mend everything that the checks of a depth find; return the counts."""
        means = self._means
        self._damaged = 0
        mended = await mend_all(means.db, self.checks(), depth)

        def note(tx: Tx) -> int:
            trust_index(tx)
            note_lexicon(tx, means.lexicon.version)
            note_numbers_marked(tx)
            if depth == "deep":
                note_damaged(tx, self._damaged)
            return count_damaged(tx)

        damaged = await means.db.write(note)
        means.report_damage(damaged)
        means.report_index((), False)  # the callable is a port: its parameters have no names
        return RecordRepairs(mended, damaged)

    async def damage(self) -> Mapping[str, int]:
        """Return how many derived rows are wrong, by the name of the check; read in short looks."""
        finds = index_finds(self._means.lexicon.version) | {"lacking_vectors": self._find_lacking_vectors}
        return await look_through(self._means.db, finds)

    def state(self, tx: Tx) -> RepairState:
        """Return the damage that repair has still to mend, and the damage that it cannot mend."""
        return state_of(tx)

    def look(self, tx: Tx) -> Depth | None:
        """Return the depth of the repair that a cheap check finds reason for; None where it finds none."""
        left = self.state(tx)
        if left.damaged:
            return "deep"
        is_known = is_lexicon_known(tx, self._means.lexicon.version) and are_numbers_marked(tx)
        is_new = not is_known and has_records(tx)
        return "quick" if left.texts > 0 or left.erases or is_new else None

    # -- the shapes of checks --------------------------------------------------------------------------------------

    @staticmethod
    def _build_row_check(name: str, find: Find, mend: Callable[[Tx, int], int]) -> Check:
        """Return a check whose rows one statement finds, and that are mended one by one."""

        def mend_all(tx: Tx, rows: Sequence[Any]) -> int:
            return sum(mend(tx, row[0]) for row in rows)

        return Check(name, find, mend_all)

    # -- erases ----------------------------------------------------------------------------------------------------

    def _erase_again(self, tx: Tx, row: int) -> int:
        """Erase a record that an erase left, and queue the end of that; return how many there were."""
        stored = _by_row(tx, row)
        if stored is None:
            return 0
        self._rows.erase(tx, [stored], include_sources=False)
        doubt_erase(tx, stored.record.memory_id)
        finish_later(tx, self._means, [stored.record.memory_id])
        return 1

    @staticmethod
    def _find_pending(tx: Tx, _after: int) -> LookResult:
        return LookResult(pending_erases(tx), None)

    def _queue_finish(self, tx: Tx, rows: Sequence[Any]) -> int:
        finish_later(tx, self._means, rows)
        return 0  # the job that this queues counts it

    # -- full text -------------------------------------------------------------------------------------------------

    def _vouch_again(self, tx: Tx, rows: Sequence[Any]) -> int:
        """Keep the terms of each record's words in place of wrong ones; the index is compared with them afterwards."""
        for row, *_ in rows:
            stored = _by_row(tx, row)
            if stored is not None and stored.is_intact and stored.record.status != "deleted":
                put_terms(tx, stored, self._means.lexicon)
            else:
                drop_terms(tx, row)
        return len(rows)

    def _make_text(self, tx: Tx, row: int) -> int:
        stored = _by_row(tx, row)
        if stored is None or not stored.is_intact or stored.record.status == "deleted":
            return 0
        add_text(tx, stored, self._means.lexicon)
        return 1

    def _remake_texts(self, tx: Tx, rows: Sequence[Any]) -> int:
        """Index each record by its present words; a damaged one is taken out of the index. Return how many changed."""
        remade = 0
        for (row,) in rows:
            stored = _by_row(tx, row)
            if stored is None or stored.record.status == "deleted":
                continue
            if stored.is_intact:
                add_text(tx, stored, self._means.lexicon)
                remade += 1
            else:
                remade += remove_text(tx, row)
        return remade

    # -- numbers that are never kept -------------------------------------------------------------------------------

    def _find_numbers(self, tx: Tx, after: int) -> LookResult:
        return LookResult(*find_numbers(tx, after, self._means.scanner))

    def _withhold(self, tx: Tx, rows: Sequence[Any]) -> int:
        found = [stored for (row,) in rows if (stored := _by_row(tx, row)) is not None and not stored.seen.is_withheld]
        for stored in found:
            withhold(tx, stored, self._means.clock.now())
            note_change(tx, self._means, stored.scope_id)
        return len(found)

    # -- states ----------------------------------------------------------------------------------------------------

    def _drop_vectors(self, tx: Tx, rows: Sequence[Any]) -> int:
        """Drop vectors that are not what a model made; where there is a model, their records wait for new ones."""
        spaces = self._means.meaning.to_fill(tx)
        dropped = drop_vectors(tx, [row[0] for row in rows])
        self._vectors.reconsider(tx, [row[1] for row in rows], spaces[0] if spaces else None)
        return dropped

    def _find_lacking_vectors(self, tx: Tx, after: int) -> LookResult:
        space = self._means.searched_space(tx) if self._means.meaning.state() != "off" else None
        if space is None:
            return LookResult((), None)
        return find_lacking_vectors(space)(tx, after)

    def _await_vectors(self, tx: Tx, rows: Sequence[Any]) -> int:
        for (row,) in rows:
            set_index_state(tx, row, "pending")
        self._vectors.queue(tx)
        return len(rows)

    def _mend_states(self, tx: Tx, rows: Sequence[Any]) -> int:
        """Decide every record's state anew: by its vector where there is a model, else it has all that it needs."""
        spaces = self._means.meaning.to_fill(tx)
        if not spaces and self._means.meaning.state() != "off":
            return 0  # a model is being loaded, and the states are decided when it is there
        self._vectors.reconsider(tx, [row[0] for row in rows], spaces[0] if spaces else None)
        return sum(before != index_state_of(tx, row) for row, before in rows)

    # -- records themselves ----------------------------------------------------------------------------------------

    def _find_damaged(self, tx: Tx, after: int) -> LookResult:
        """Find texts of a page of records that differ from the record's words; count the damaged records."""
        page = records_after(tx, after, BATCH)
        self._damaged += sum(not stored.is_intact for stored in page)
        wrong = [(stored.row,) for stored in page if not is_text_right(tx, stored, self._means.lexicon)]
        return LookResult(wrong, page[-1].row if len(page) == BATCH else None)


def _rebuild_index(tx: Tx, rows: Sequence[Any]) -> int:
    """Fill the index anew; return 1."""
    del rows  # the audit finds the whole index at once
    rebuild_texts(tx)
    return 1


def _by_row(tx: Tx, row: int) -> Stored | None:
    return records_by_row(tx, [row]).get(row)
