"""Repair: what is derived is compared with what it is derived from, and made again where it differs.

Rule 1: every check finds and mends a bounded part at a time, and mending twice changes nothing: from any mix of damage the
checks, in their order, lead to the state of a home that was never damaged.
Rule 2: what the user said is not derived. A record that fails its own checksum is hidden and told, never mended.
"""

import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from memory.erasing import Rows, finish_later, pending_erases
from memory.ports import Collaborators
from memory.store import (
    SQL,
    Stored,
    add_text,
    encoded,
    get_record,
    packed_terms,
    placed,
    remove_text,
    stored_of,
    unpacked,
)
from memory.vectors import Vectors
from protocol.gateway import RepairState
from protocol.ports import JobHandle, Tx

BATCH = 200
"""Rows of one step: a writer that waits for it waits milliseconds."""
SCAN_SECONDS = 30.0  # the longest look at the whole index; nobody waits for it, and a checkpoint can come later

Depth: TypeAlias = Literal["quick", "deep"]
"""`quick` compares the index with what is kept of it and asks for rows that are missing, too many or marked; `deep` reads every
record as well."""


class Found(NamedTuple):
    """What a look found wrong, and where the next look begins; None when there is nothing beyond."""

    subjects: Sequence[Any]
    after: int | None


class Check(NamedTuple):
    """A kind of damage: how a part of it is found in a snapshot, and how it is mended in a transaction."""

    name: str
    find: Callable[[Tx, int], Found]
    mend: Callable[[Tx, Sequence[Any]], int]
    depth: Depth = "quick"


class Report(NamedTuple):
    """How much of each kind was mended, and how many records are damaged themselves."""

    mended: Mapping[str, int]
    damaged: int


class Repairer:
    """Finds and mends. Others of this house add the checks of what they derive."""

    def __init__(self, means: Collaborators) -> None:
        self._means = means
        self._rows = Rows(means)
        self._vectors = Vectors(means)
        self._damaged = 0
        self.checks: list[Check] = [
            self._rows_of("unfinished_erases", SQL["find_unfinished_erases"], self._erase_again),
            Check("pending_erases", self._find_pending, self._finish),
            self._simple("orphan_evidence", SQL["find_orphan_evidence"], SQL["mend_orphan_evidence"]),
            self._simple("repeated_evidence", SQL["find_repeated_evidence"], SQL["mend_repeated_evidence"]),
            self._simple("evidence_counts", SQL["find_evidence_counts"], SQL["mend_evidence_counts"]),
            self._simple("candidate_counts", SQL["find_candidate_counts"], SQL["mend_candidate_counts"]),
            self._simple("scope_counts", SQL["find_scope_counts"], SQL["mend_scope_counts"]),
            self._simple("superseded_links", SQL["find_superseded_links"], SQL["mend_superseded_links"]),
            self._simple("supersedes_links", SQL["find_supersedes_links"], SQL["mend_supersedes_links"]),
            Check(
                "wrong_texts", self._find_wrong, _rebuilt
            ),  # first: from here on what is kept is what is in the index
            self._rows_of("forgotten_texts", SQL["find_forgotten_texts"], remove_text),
            self._rows_of("missing_texts", SQL["find_missing_texts"], self._make_text),
            Check("stale_texts", self._find_stale, self._remake_texts),
            Check("damaged_records", self._find_damaged, self._remake_texts, "deep"),
            Check("index_states", self._find_states, self._mend_states),
        ]

    # -- running ---------------------------------------------------------------------------------------------------

    async def work(self, handle: JobHandle) -> None:
        """The handler of `repair` jobs; the subject says how deep."""
        await self.run("deep" if handle.job.subject == "deep" else "quick")

    async def run(self, depth: Depth) -> Report:
        """Mend everything that is found."""
        means, mended = self._means, Counter[str]()
        self._damaged = 0
        for check in self.checks:
            if check.depth == "quick" or depth == "deep":
                mended[check.name] += await self._run(check)

        def note(tx: Tx) -> int:
            tx.run(SQL["put_fact"], {"name": "lexicon", "value": means.lexicon.version})
            if depth == "deep":
                tx.run(SQL["put_fact"], {"name": "damaged", "value": str(self._damaged)})
            return _damaged(tx)

        damaged = await means.db.write(note)
        means.report_damage(damaged)
        return Report(+mended, damaged)

    async def _run(self, check: Check) -> int:
        after: int | None = 0
        mended = 0
        while after is not None:
            found = await self._means.db.read(lambda tx, place=after: check.find(tx, place), SCAN_SECONDS)
            if found.subjects:
                mended += await self._means.db.write(lambda tx, subjects=found.subjects: check.mend(tx, subjects))
            after = found.after
        return mended

    def state(self, tx: Tx) -> RepairState:
        """What is left to do, and what cannot be mended."""
        return state_of(tx)

    def look(self, tx: Tx) -> Depth | None:
        """Whether a cheap look finds reason for a repair, and for which."""
        left = self.state(tx)
        if left.damaged:
            return "deep"
        known = tx.one(SQL["get_fact"], {"name": "lexicon"})
        is_stale = known is None or known[0] != self._means.lexicon.version
        has_records = bool(tx.one(SQL["any_record"]))
        return "quick" if left.texts > 0 or left.erases or (is_stale and has_records) else None

    # -- the shapes of checks --------------------------------------------------------------------------------------

    @staticmethod
    def _simple(name: str, wrong: str, right: str) -> Check:
        """Rows that one statement finds, and another mends by their numbers where they are still wrong."""

        def mend(tx: Tx, rows: Sequence[Any]) -> int:
            return tx.run(right, {"rows": encoded([row[0] for row in rows])})

        return Check(name, _finder(wrong), mend)

    @staticmethod
    def _rows_of(name: str, wrong: str, mend: Callable[[Tx, int], int]) -> Check:
        """Rows that one statement finds and that are mended one by one."""

        def mend_all(tx: Tx, rows: Sequence[Any]) -> int:
            return sum(mend(tx, row[0]) for row in rows)

        return Check(name, _finder(wrong), mend_all)

    # -- erases ----------------------------------------------------------------------------------------------------

    def _erase_again(self, tx: Tx, row: int) -> int:
        stored = _by_row(tx, row)
        if stored is None:
            return 0
        self._rows.erase(tx, [stored], include_sources=False)
        tx.run(SQL["doubt_tombstone"], {"memory_id": stored.record.memory_id})
        finish_later(tx, self._means, [stored.record.memory_id])
        return 1

    @staticmethod
    def _find_pending(tx: Tx, _after: int) -> Found:
        return Found(pending_erases(tx), None)

    def _finish(self, tx: Tx, memory_ids: Sequence[Any]) -> int:
        finish_later(tx, self._means, memory_ids)
        return 0  # the job mends it, and says so

    # -- full text -------------------------------------------------------------------------------------------------

    @staticmethod
    def _find_wrong(tx: Tx, _after: int) -> Found:
        """Rows of the index that do not hold what is kept of them. Their own terms are not known, so that none can be mended alone."""
        kept, totals = Counter[int](), Counter(rows=0, terms=0)
        for row, scope, terms in tx.each(SQL["all_terms"]):
            words = placed(scope, unpacked(terms)).split()
            kept[row] += sum(_place(word, n) for n, word in enumerate(words))
            totals.update(rows=1, terms=len(words))
        listed = Counter({row: 1 for (row,) in tx.each(SQL["listed_rows"])})
        for term, row, offset in tx.each(SQL["every_place"]):
            kept[row] -= _place(term, offset)
        wrong = [row for row, balance in kept.items() if balance or not listed[row]]
        wrong += [row for row in listed if row not in kept]
        sums = tx.one(SQL["index_totals"])
        believed = _varints(sums[0] if sums else b"") or [0, 0]
        if believed != [totals["rows"], totals["terms"]]:
            wrong.append(0)
        return Found(wrong, None)

    def _make_text(self, tx: Tx, row: int) -> int:
        stored = _by_row(tx, row)
        if stored is None or not stored.is_intact or stored.record.status == "deleted":
            return 0
        add_text(tx, stored, self._means.lexicon)
        return 1

    def _find_stale(self, tx: Tx, after: int) -> Found:
        values = {"lexicon": self._means.lexicon.version, "after": after, "limit": BATCH}
        return _paged(tx.all(SQL["find_stale_texts"], values))

    def _remake_texts(self, tx: Tx, rows: Sequence[Any]) -> int:
        """Texts that are not what their records say now; a damaged record has none."""
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

    # -- states ----------------------------------------------------------------------------------------------------

    @staticmethod
    def _find_states(tx: Tx, after: int) -> Found:
        return _paged(tx.all(SQL["find_index_states"], {"after": after, "limit": BATCH}))

    def _mend_states(self, tx: Tx, rows: Sequence[Any]) -> int:
        """Every record's state is decided anew: by its vector where there is a model, else it has all it needs."""
        tx.run(SQL["mend_index_states"], {"rows": encoded([row[0] for row in rows])})
        spaces = self._means.meaning.to_fill(tx)
        self._vectors.enlist(tx, spaces[0] if spaces else None)
        return sum((row[1],) != tx.one(SQL["index_state_of"], {"row": row[0]}) for row in rows)

    # -- records themselves ----------------------------------------------------------------------------------------

    def _find_damaged(self, tx: Tx, after: int) -> Found:
        """A page of records: damaged ones are counted, and texts that are not what their record says are found."""
        page = tx.all(SQL["records_after"], {"after": after, "limit": BATCH})
        wrong: list[tuple[int]] = []
        for stored in map(stored_of, page):
            kept = tx.one(SQL["kept_terms"], {"row": stored.row})
            self._damaged += not stored.is_intact
            if stored.is_intact and kept is not None and stored.record.status != "deleted":
                is_right = (kept[0], kept[1]) == (f"s{stored.scope_id}", packed_terms(stored, self._means.lexicon))
            else:
                is_right = stored.is_intact or kept is None
            if not is_right:
                wrong.append((stored.row,))
        return Found(wrong, page[-1][0] if len(page) == BATCH else None)


def state_of(tx: Tx) -> RepairState:
    """What repair has left to do in a home, and what it cannot mend; a look that needs nothing but the home."""
    damaged = _damaged(tx)
    gaps = tx.one(SQL["text_gaps"]) or (0, 0)
    marked = tx.one(SQL["count_marked"]) or (0,)
    unfinished = len(pending_erases(tx)) + len(tx.all(SQL["find_unfinished_erases"], {"after": 0, "limit": BATCH}))
    return RepairState(damaged=damaged, texts=max(gaps[0] - damaged, gaps[1]) + marked[0], erases=unfinished)


def _rebuilt(tx: Tx, _found: Sequence[Any] = ()) -> int:
    """Fill the index anew with the terms that are kept."""
    tx.run(SQL["clear_text"])
    for row, scope, terms in tx.all(SQL["all_terms"]):
        tx.run(SQL["add_text"], {"row": row, "body": placed(scope, unpacked(terms))})
    return 1


def _finder(statement: str) -> Callable[[Tx, int], Found]:
    return lambda tx, after: _paged(tx.all(statement, {"after": after, "limit": BATCH}))


def _paged(rows: Sequence[Any]) -> Found:
    return Found(rows, rows[-1][0] if len(rows) == BATCH else None)


def _by_row(tx: Tx, row: int) -> Stored | None:
    found = tx.one(SQL["memory_id_of"], {"row": row})
    return get_record(tx, found[0]) if found is not None else None


def _damaged(tx: Tx) -> int:
    found = tx.one(SQL["get_fact"], {"name": "damaged"})
    return msgspec.convert(found[0], int, strict=False) if found is not None else 0


def _varints(data: bytes) -> list[int]:
    """Numbers as SQLite writes them: seven bits a byte, the highest first."""
    numbers, number = list[int](), 0
    for byte in data:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:  # the last byte of a number
            numbers.append(number)
            number = 0
    return numbers


def _place(term: str, offset: int) -> int:
    """A number for a term at its place; the sum over a row says whether two rows hold the same."""
    return zlib.crc32(f"{offset}\x1f{term}".encode()) + 1
