"""Repair: what is derived is compared with what it is derived from, and made again where it differs.

Rule 1: every check finds and mends a bounded part at a time, and mending twice changes nothing: from any mix of damage the
checks, in their order, lead to the state of a home that was never damaged.
Rule 2: what the user said is not derived. A record that fails its own checksum is hidden and told, never mended.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from memory.forget.erasing import RecordEraser, finish_later, pending_erases
from memory.ports import Collaborators
from memory.read.vectors import RecordVectors
from memory.rows.notices import note_change
from memory.rows.record_terms import placed, terms_digest, unpacked
from memory.rows.store import (
    SQL,
    Stored,
    add_text,
    encoded,
    get_record,
    packed_terms,
    put_terms,
    remove_text,
    stored_of,
)
from memory.rows.text_scan import trust
from memory.rows.withheld import find_numbers, is_looked_through, note_looked_through, withhold
from protocol.gateway import RepairState
from protocol.seams.checks import (
    BATCH,
    Check,
    Depth,
    Find,
    LookResult,
    digest_of,
    finder,
    look_through,
    mend_all,
    row_finder,
)
from protocol.seams.ports import JobHandle, Row, Tx
from retrieval.audit import AuditedIndex, audit_finder

RECORDS, SCOPES, TEXTS = SQL["end_of_records"], SQL["end_of_scopes"], SQL["end_of_texts"]
EVIDENCE, CANDIDATES = SQL["end_of_evidence"], SQL["end_of_candidates"]
"""Where a look at the next rows of a table ends."""


def _body_of(entry: Row) -> tuple[int, str]:
    row, scope, terms = entry
    return row, placed(scope, unpacked(terms))


INDEX = AuditedIndex(
    body_of=_body_of, kept_after=SQL["terms_after"], kept_of=SQL["terms_of_row"], last_change=SQL["last_change"],
    listed_after=SQL["listed_after"],
    totals=SQL["index_totals"], rows_of_term_after=SQL["rows_of_term_after"],
    rows_of_terms_after=SQL["rows_of_terms_after"], has_term=SQL["has_term"],
)  # fmt: skip


def index_finds(lexicon: str) -> dict[str, Find]:
    """Return the quick looks at what is derived of records; they need nothing but the home and the lexicon's version."""
    return {
        "unvouched_texts": row_finder(SQL["vouched_texts_after"], _is_unvouched_text),
        "wrong_texts": audit_finder(INDEX),
        "forgotten_texts": finder(TEXTS, SQL["find_forgotten_texts"]),
        "missing_texts": finder(RECORDS, SQL["find_missing_texts"]),
        "stale_texts": finder(TEXTS, SQL["find_stale_texts"], lexicon=lexicon),
        "wrong_vectors": row_finder(SQL["vouched_vectors_after"], _is_wrong_vector),
        "scope_counts": finder(SCOPES, SQL["find_scope_counts"]),
    }


def _is_unvouched_text(row: Row) -> bool:
    _, scope, terms, digest = row
    return terms_digest(scope, terms) != digest


def _is_wrong_vector(row: Row) -> bool:
    _, _, vector, digest, number_count, is_placed = row
    return not is_placed or number_count is None or len(vector) != 2 * number_count or digest_of(vector) != digest


class RecordRepairs(NamedTuple):
    """How much of each kind was mended, and how many records are damaged themselves."""

    mended: Mapping[str, int]
    damaged: int


class RecordRepairer:
    """Finds and mends."""

    def __init__(self, means: Collaborators, vectors: RecordVectors) -> None:
        self._means = means
        self._rows = RecordEraser(means)
        self._vectors = vectors
        self._damaged = 0

    def checks(self) -> list[Check]:
        """Return every check, in the order in which they are run; some looks keep what they saw, so each run has its own."""
        looks = index_finds(self._means.lexicon.version)
        return [
            self._rows_of("unfinished_erases", finder(RECORDS, SQL["find_unfinished_erases"]), self._erase_again),
            Check("pending_erases", self._find_pending, self._finish),
            self._simple("orphan_evidence", finder(EVIDENCE, SQL["find_orphan_evidence"]), SQL["mend_orphan_evidence"]),
            self._simple(
                "repeated_evidence", finder(EVIDENCE, SQL["find_repeated_evidence"]), SQL["mend_repeated_evidence"]
            ),
            self._simple("evidence_counts", finder(RECORDS, SQL["find_evidence_counts"]), SQL["mend_evidence_counts"]),
            self._simple(
                "candidate_counts", finder(CANDIDATES, SQL["find_candidate_counts"]), SQL["mend_candidate_counts"]
            ),
            self._simple("scope_counts", looks["scope_counts"], SQL["mend_scope_counts"]),
            self._simple(
                "superseded_links", finder(RECORDS, SQL["find_superseded_links"]), SQL["mend_superseded_links"]
            ),
            self._simple(
                "supersedes_links", finder(RECORDS, SQL["find_supersedes_links"]), SQL["mend_supersedes_links"]
            ),
            Check("unvouched_texts", looks["unvouched_texts"], self._vouch_again),
            Check("wrong_texts", looks["wrong_texts"], _rebuilt),  # from here on what is kept is what is in the index
            self._rows_of("forgotten_texts", looks["forgotten_texts"], remove_text),
            self._rows_of("missing_texts", looks["missing_texts"], self._make_text),
            Check("stale_texts", looks["stale_texts"], self._remake_texts),
            Check("damaged_records", self._find_damaged, self._remake_texts, "deep"),
            Check("withheld_numbers", self._find_numbers, self._withhold),
            Check("wrong_vectors", looks["wrong_vectors"], self._drop_vectors),
            Check("lacking_vectors", self._find_lacking_vectors, self._await_vectors),
            Check("index_states", finder(RECORDS, SQL["find_index_states"]), self._mend_states),
        ]

    # -- running ---------------------------------------------------------------------------------------------------

    async def work(self, handle: JobHandle) -> None:
        """The handler of `repair` jobs; the subject says how deep."""
        await self.run("deep" if handle.job.subject == "deep" else "quick")

    async def run(self, depth: Depth) -> RecordRepairs:
        """Mend everything that is found."""
        means = self._means
        self._damaged = 0
        mended = await mend_all(means.db, self.checks(), depth)

        def note(tx: Tx) -> int:
            trust(tx)
            tx.run(SQL["put_fact"], {"name": "lexicon", "value": means.lexicon.version})
            note_looked_through(tx)
            if depth == "deep":
                tx.run(SQL["put_fact"], {"name": "damaged", "value": str(self._damaged)})
            return _damaged(tx)

        damaged = await means.db.write(note)
        means.report_damage(damaged)
        means.report_index((), False)  # the callable is a port: its parameters have no names
        return RecordRepairs(mended, damaged)

    async def damage(self) -> Mapping[str, int]:
        """Return how much of what is derived of records is wrong, found in short looks."""
        finds = index_finds(self._means.lexicon.version) | {"lacking_vectors": self._find_lacking_vectors}
        return await look_through(self._means.db, finds)

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
        is_new = has_records and (is_stale or not is_looked_through(tx))
        return "quick" if left.texts > 0 or left.erases or is_new else None

    # -- the shapes of checks --------------------------------------------------------------------------------------

    @staticmethod
    def _simple(name: str, find: Find, right: str) -> Check:
        """Rows that one statement finds, and another mends by their numbers where they are still wrong."""

        def mend(tx: Tx, rows: Sequence[Any]) -> int:
            return tx.run(right, {"rows": encoded([row[0] for row in rows])})

        return Check(name, find, mend)

    @staticmethod
    def _rows_of(name: str, find: Find, mend: Callable[[Tx, int], int]) -> Check:
        """Rows that one statement finds and that are mended one by one."""

        def mend_all(tx: Tx, rows: Sequence[Any]) -> int:
            return sum(mend(tx, row[0]) for row in rows)

        return Check(name, find, mend_all)

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
    def _find_pending(tx: Tx, _after: int) -> LookResult:
        return LookResult(pending_erases(tx), None)

    def _finish(self, tx: Tx, rows: Sequence[Any]) -> int:
        finish_later(tx, self._means, rows)
        return 0  # the job mends it, and says so

    # -- full text -------------------------------------------------------------------------------------------------

    def _vouch_again(self, tx: Tx, rows: Sequence[Any]) -> int:
        """Keep the terms that records have, in place of others; the index itself is compared with them afterwards."""
        for row, *_ in rows:
            stored = _by_row(tx, row)
            if stored is not None and stored.is_intact and stored.record.status != "deleted":
                put_terms(tx, stored, self._means.lexicon)
            else:
                tx.run(SQL["drop_terms"], {"row": row})
        return len(rows)

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

    # -- what is not kept any more ---------------------------------------------------------------------------------

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
        """Vectors that no model of ours made go; where there is a model their records wait for others."""
        spaces = self._means.meaning.to_fill(tx)
        dropped = tx.run(SQL["drop_wrong_vectors"], {"rows": encoded([row[0] for row in rows])})
        self._vectors.reconsider(tx, [row[1] for row in rows], spaces[0] if spaces else None)
        return dropped

    def _find_lacking_vectors(self, tx: Tx, after: int) -> LookResult:
        space = self._means.searched_space(tx) if self._means.meaning.state() != "off" else None
        if space is None:
            return LookResult((), None)
        return finder(RECORDS, SQL["find_lacking_vectors"], space=space)(tx, after)

    def _await_vectors(self, tx: Tx, rows: Sequence[Any]) -> int:
        for (row,) in rows:
            tx.run(SQL["set_index_state"], {"row": row, "state": "pending"})
        self._vectors.queue(tx)
        return len(rows)

    def _mend_states(self, tx: Tx, rows: Sequence[Any]) -> int:
        """Every record's state is decided anew: by its vector where there is a model, else it has all it needs."""
        spaces = self._means.meaning.to_fill(tx)
        if not spaces and self._means.meaning.state() != "off":
            return 0  # a model is on its way, and who loads it decides
        self._vectors.reconsider(tx, [row[0] for row in rows], spaces[0] if spaces else None)
        return sum((row[1],) != tx.one(SQL["index_state_of"], {"row": row[0]}) for row in rows)

    # -- records themselves ----------------------------------------------------------------------------------------

    def _find_damaged(self, tx: Tx, after: int) -> LookResult:
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
        return LookResult(wrong, page[-1][0] if len(page) == BATCH else None)


def state_of(tx: Tx) -> RepairState:
    """What repair has left to do in a home, and what it cannot mend; a look that needs nothing but the home."""
    damaged = _damaged(tx)
    gaps = tx.one(SQL["text_gaps"]) or (0, 0)
    marked = tx.one(SQL["count_marked"]) or (0,)
    unfinished = len(pending_erases(tx)) + (tx.one(SQL["count_unfinished_erases"]) or (0,))[0]
    return RepairState(damaged=damaged, texts=max(gaps[0] - damaged, gaps[1]) + marked[0], erases=unfinished)


def _rebuilt(tx: Tx, rows: Sequence[Any] = ()) -> int:  # the whole index is one row of it
    """Fill the index anew with the terms that are kept."""
    tx.run(SQL["clear_text"])
    after = 0
    while rows := tx.all(SQL["terms_after"], {"after": after, "limit": BATCH}):
        for row, scope, terms in rows:
            tx.run(SQL["add_text"], {"row": row, "body": placed(scope, unpacked(terms))})
        after = rows[-1][0]
    return 1


def _by_row(tx: Tx, row: int) -> Stored | None:
    found = tx.one(SQL["memory_id_of"], {"row": row})
    return get_record(tx, found[0]) if found is not None else None


def _damaged(tx: Tx) -> int:
    found = tx.one(SQL["get_fact"], {"name": "damaged"})
    return msgspec.convert(found[0], int, strict=False) if found is not None else 0
