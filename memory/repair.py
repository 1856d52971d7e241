"""Repair: what is derived is compared with what it is derived from, and made again where it differs.

Rule 1: every check finds and mends a bounded part at a time, and mending twice changes nothing: from any mix of damage the
checks, in their order, lead to the state of a home that was never damaged.
Rule 2: what the user said is not derived. A record that fails its own checksum is hidden and told, never mended.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from memory.erasing import Rows, finish_later, pending_erases
from memory.index_audit import audit
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
from protocol.ports import JobHandle, SqlValue, Tx

BATCH = 200
"""Rows mended in one step: a writer that waits for it waits milliseconds."""
LOOKED_AT = 2000
"""Rows of one look, whether anything is wrong with them or not: a snapshot is short in a home of any size."""

RECORDS, SCOPES, TEXTS = SQL["end_of_records"], SQL["end_of_scopes"], SQL["end_of_texts"]
EVIDENCE, CANDIDATES = SQL["end_of_evidence"], SQL["end_of_candidates"]
"""Where a look at the next rows of a table ends."""

Depth: TypeAlias = Literal["quick", "deep"]
"""`quick` compares the index with what is kept of it and asks for rows that are missing, too many or marked; `deep` reads every
record as well."""


class Found(NamedTuple):
    """What a look found wrong, and where the next look begins; None when there is nothing beyond."""

    subjects: Sequence[Any]
    after: int | None


Find: TypeAlias = Callable[[Tx, int], Found]
"""(snapshot, place): what is wrong from that place on, in a part that does not grow with the home."""


class Check(NamedTuple):
    """A kind of damage: how a part of it is found in a snapshot, and how it is mended in a transaction."""

    name: str
    find: Find
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
        stale = _finder(TEXTS, SQL["find_stale_texts"], lexicon=means.lexicon.version)
        self.checks: list[Check] = [
            self._rows_of("unfinished_erases", RECORDS, SQL["find_unfinished_erases"], self._erase_again),
            Check("pending_erases", self._find_pending, self._finish),
            self._simple("orphan_evidence", EVIDENCE, SQL["find_orphan_evidence"], SQL["mend_orphan_evidence"]),
            self._simple("repeated_evidence", EVIDENCE, SQL["find_repeated_evidence"], SQL["mend_repeated_evidence"]),
            self._simple("evidence_counts", RECORDS, SQL["find_evidence_counts"], SQL["mend_evidence_counts"]),
            self._simple("candidate_counts", CANDIDATES, SQL["find_candidate_counts"], SQL["mend_candidate_counts"]),
            self._simple("scope_counts", SCOPES, SQL["find_scope_counts"], SQL["mend_scope_counts"]),
            self._simple("superseded_links", RECORDS, SQL["find_superseded_links"], SQL["mend_superseded_links"]),
            self._simple("supersedes_links", RECORDS, SQL["find_supersedes_links"], SQL["mend_supersedes_links"]),
            Check("wrong_texts", _Audited(), _rebuilt),  # from here on what is kept is what is in the index
            self._rows_of("forgotten_texts", TEXTS, SQL["find_forgotten_texts"], remove_text),
            self._rows_of("missing_texts", RECORDS, SQL["find_missing_texts"], self._make_text),
            Check("stale_texts", stale, self._remake_texts),
            Check("damaged_records", self._find_damaged, self._remake_texts, "deep"),
            Check("index_states", _finder(RECORDS, SQL["find_index_states"]), self._mend_states),
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
        db = self._means.db
        after: int | None = 0
        mended = 0
        while after is not None:
            subjects, after = await db.read(lambda tx, place=after: check.find(tx, place))
            for first in range(0, len(subjects), BATCH):
                part = subjects[first : first + BATCH]
                mended += await db.write(lambda tx, part=part: check.mend(tx, part))
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
    def _simple(name: str, end_of: str, wrong: str, right: str) -> Check:
        """Rows that one statement finds, and another mends by their numbers where they are still wrong."""

        def mend(tx: Tx, rows: Sequence[Any]) -> int:
            return tx.run(right, {"rows": encoded([row[0] for row in rows])})

        return Check(name, _finder(end_of, wrong), mend)

    @staticmethod
    def _rows_of(name: str, end_of: str, wrong: str, mend: Callable[[Tx, int], int]) -> Check:
        """Rows that one statement finds and that are mended one by one."""

        def mend_all(tx: Tx, rows: Sequence[Any]) -> int:
            return sum(mend(tx, row[0]) for row in rows)

        return Check(name, _finder(end_of, wrong), mend_all)

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

    def _make_text(self, tx: Tx, row: int) -> int:
        stored = _by_row(tx, row)
        if stored is None or not stored.is_intact or stored.record.status == "deleted":
            return 0
        add_text(tx, stored, self._means.lexicon)
        return 1

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

    def _mend_states(self, tx: Tx, rows: Sequence[Any]) -> int:
        """Every record's state is decided anew: by its vector where there is a model, else it has all it needs."""
        spaces = self._means.meaning.to_fill(tx)
        if not spaces and self._means.meaning.state() != "off":
            return 0  # a model is on its way, and who loads it decides
        self._vectors.reconsider(tx, [row[0] for row in rows], spaces[0] if spaces else None)
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
    unfinished = len(pending_erases(tx)) + (tx.one(SQL["count_unfinished_erases"]) or (0,))[0]
    return RepairState(damaged=damaged, texts=max(gaps[0] - damaged, gaps[1]) + marked[0], erases=unfinished)


def _rebuilt(tx: Tx, _found: Sequence[Any] = ()) -> int:
    """Fill the index anew with the terms that are kept."""
    tx.run(SQL["clear_text"])
    after = 0
    while rows := tx.all(SQL["terms_after"], {"after": after, "limit": BATCH}):
        for row, scope, terms in rows:
            tx.run(SQL["add_text"], {"row": row, "body": placed(scope, unpacked(terms))})
        after = rows[-1][0]
    return 1


def _finder(end_of: str, statement: str, **values: SqlValue) -> Find:
    """What a statement finds among the next rows of a table."""

    def find(tx: Tx, after: int) -> Found:
        end = tx.one(end_of, {"after": after, "limit": LOOKED_AT})
        if end is None or end[0] is None:
            return Found((), None)
        return Found(tx.all(statement, {**values, "after": after, "until": end[0]}), end[0])

    return find


class _Audited:
    """Finds whether the index has to be made anew; what was seen in the snapshots before is kept from look to look."""

    def __init__(self) -> None:
        self._looks = audit()

    def __call__(self, tx: Tx, after: int) -> Found:
        if after == 0:
            self._looks = audit()
            next(self._looks)
        try:
            self._looks.send(tx)
        except StopIteration as end:
            return Found([None] if end.value else (), None)
        return Found((), after + 1)


def _by_row(tx: Tx, row: int) -> Stored | None:
    found = tx.one(SQL["memory_id_of"], {"row": row})
    return get_record(tx, found[0]) if found is not None else None


def _damaged(tx: Tx) -> int:
    found = tx.one(SQL["get_fact"], {"name": "damaged"})
    return msgspec.convert(found[0], int, strict=False) if found is not None else 0
