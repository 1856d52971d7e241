"""The audit of a full-text index against the kept terms, in short snapshots while other processes write.

Rule 1: a snapshot reads a bounded number of rows, or of terms of them, whatever the size of the home: checkpoints, and
with them erasing, wait for the longest one.
Rule 2: a row that was written between the first snapshot and the last is not doubted: its own transaction has seen to
it. One that came and went in between looks wrong all the same, so that only a second audit confirms damage.
"""

from array import array
from collections.abc import Callable, Generator, Sequence
from typing import Any

from msgspec import Struct

from protocol.seams.checks import Find, step_finder
from protocol.seams.ports import Row, SqlValue, Tx

ROWS = 300  # rows of one look whose terms are unpacked: some milliseconds
LISTED = 5000  # rows of one look of which only the number is read
PLACES = 5000  # postings (term, row) of one look: some milliseconds, too
PROBED = 200  # one of so many postings is looked up as a search would: a page of the index holds more of them
MOST = 2**64 - 1  # sums of hashes are kept in 64 bits


class AuditedIndex(Struct, frozen=True):
    """The statements that read an index and the kept terms.

    `kept_after`: `:after, :limit` → rows by number, each of which `body_of` turns into (row, body). `kept_of`: `:row` →
    the same of one row. `last_change`: → (a value that every write changes). `listed_after`: `:after, :limit` → (row)
    as the index counts them. `totals`: → (the index's own sums). `rows_of_term_after`: `:term, :row, :limit` and
    `rows_of_terms_after`: `:term, :limit` → (term, row) as the index has them. `has_term`: `:match` → any row, looked
    up as a search does.
    """

    body_of: Callable[[Row], tuple[int, str]]
    kept_after: str
    kept_of: str
    last_change: str
    listed_after: str
    totals: str
    rows_of_term_after: str
    rows_of_terms_after: str
    has_term: str


def audit_finder(index: AuditedIndex) -> Find:
    """Return a look that finds whether the index has to be made anew.

    Its only subject is None, which stands for the whole index; there is no subject where the index is right.
    """

    def begin() -> Callable[[Tx], Sequence[Any] | None]:
        looks = audit(index)
        next(looks)

        def step(tx: Tx) -> Sequence[Any] | None:
            try:
                looks.send(tx)
            except StopIteration as end:
                return [None] if end.value else ()
            return None

        return step

    return step_finder(begin)


class _Sums:
    """The sum of the hashes of each row's terms; 0 is no row. One number a row: a home of years has half a million."""

    def __init__(self) -> None:
        self._sums = array("Q")

    def __getitem__(self, row: int) -> int:
        return self._sums[row] if 0 <= row < len(self._sums) else 0

    def put(self, row: int, total: int) -> None:
        if row >= len(self._sums):
            self._sums.frombytes(bytes(8 * (row + 1 - len(self._sums))))
        self._sums[row] = total

    def copy(self) -> "_Sums":
        made = _Sums()
        made._sums = self._sums[:]
        return made

    def rows(self) -> Generator[int]:
        return (row for row, total in enumerate(self._sums) if total)


def audit(index: AuditedIndex) -> Generator[None, Tx, bool]:
    """Find whether any row of the index is wrong, and return it. The first `next` begins; each `send` is a snapshot."""
    return (yield from _audit_once(index)) and (yield from _audit_once(index))


def _audit_once(index: AuditedIndex) -> Generator[None, Tx, bool]:
    """Find whether any row looks wrong, and return it.

    The hashes of a row's kept terms have the same sum as those of its terms in the index, or they differ. A sum does
    not show which terms a wrong row has, so that no row can be mended alone.
    """
    tx = yield
    begun = tx.one(index.last_change)
    kept = _Sums()
    rows = terms = after = 0
    while page := tx.all(index.kept_after, {"after": after, "limit": ROWS}):
        for entry in page:
            row, body = index.body_of(entry)
            words = body.split()
            kept.put(row, _sum_of(words))
            terms += len(words)
        rows += len(page)
        after = page[-1][0]
        tx = yield
    doubted = yield from _find_unlisted(index, kept)
    unbalanced = yield from _find_unbalanced(index, kept)
    if unbalanced is None:
        return True
    tx = yield
    is_unchanged = tx.one(index.last_change) == begun  # else `rows` and `terms` are of several moments
    if is_unchanged and read_believed_totals(tx, index) != [rows, terms]:
        return True
    places = sorted(doubted | unbalanced)
    for first in range(0, len(places), ROWS):
        tx = yield
        # a row whose kept terms have changed since was written meanwhile
        if any(_read_kept_sum(tx, index, row) == kept[row] for row in places[first : first + ROWS]):
            return True
    return False


def _find_unlisted(index: AuditedIndex, kept: _Sums) -> Generator[None, Tx, set[int]]:
    """Find the rows with kept terms that the index does not list, and those that it alone lists; return both."""
    wrong, after = set[int](), 0
    expected = kept.rows()
    awaited = next(expected, None)
    while True:
        tx = yield
        rows: list[int] = [row for (row,) in tx.all(index.listed_after, {"after": after, "limit": LISTED})]
        for row in rows:
            while awaited is not None and awaited < row:
                wrong.add(awaited)
                awaited = next(expected, None)
            if awaited == row:
                awaited = next(expected, None)
            else:
                wrong.add(row)
        if len(rows) < LISTED:
            return wrong.union(expected, () if awaited is None else (awaited,))
        after = rows[-1]


def _find_unbalanced(index: AuditedIndex, kept: _Sums) -> Generator[None, Tx, set[int] | None]:
    """Find rows whose terms in the index differ from the kept ones, and return them.

    None is returned for a term that no search finds: the index's pages are wrong then.
    """
    balance, unknown = kept.copy(), set[int]()
    place: dict[str, SqlValue] = {"term": "", "row": 0}
    while True:
        tx = yield
        found = tx.all(index.rows_of_term_after, {**place, "limit": PLACES})
        found += tx.all(index.rows_of_terms_after, {"term": place["term"], "limit": PLACES - len(found)})
        for term, row in found:
            if kept[row]:
                balance.put(row, (balance[row] - hash(term)) & MOST)
            else:
                unknown.add(row)
        if not all(tx.all(index.has_term, {"match": f'"{term}"'}) for term, _ in found[::PROBED]):
            return None
        if len(found) < PLACES:
            return unknown.union(balance.rows())
        term, row = found[-1]
        place = {"term": term, "row": row}


def _sum_of(words: Sequence[str]) -> int:
    """Return the sum of the hashes of a row's terms, each counted once, as the index has them."""
    return sum(map(hash, set(words))) & MOST


def _read_kept_sum(tx: Tx, index: AuditedIndex, row: int) -> int:
    found = tx.one(index.kept_of, {"row": row})
    return _sum_of(index.body_of(found)[1].split()) if found is not None else 0


def read_believed_totals(tx: Tx, index: AuditedIndex) -> list[int]:
    """Return the index's own counts: [rows, terms]."""
    sums = tx.one(index.totals)
    return _varints(sums[0] if sums else b"") or [0, 0]


def _varints(data: bytes) -> list[int]:
    """Return numbers as SQLite writes them: seven bits a byte, the highest first."""
    numbers, number = list[int](), 0
    for byte in data:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:  # the last byte of a number
            numbers.append(number)
            number = 0
    return numbers
