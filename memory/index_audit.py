"""Whether the full-text index holds what is kept of it, found out in short snapshots while others write.

Rule 1: a snapshot reads a bounded number of rows, or of terms of them, whatever the size of the home: checkpoints, and with them erasing,
wait for the longest one.
Rule 2: a row that was written between the first snapshot and the last is not doubted: its own transaction has seen to it.
"""

from collections.abc import Generator, Sequence

from memory.store import SQL, placed, unpacked
from protocol.ports import SqlValue, Tx

ROWS = 2000  # rows of one look: some ten milliseconds
PLACES = 20_000  # terms of rows of one look: as long


def audit() -> Generator[None, Tx, bool]:
    """Whether any row of the index is wrong. Each `send` is a snapshot, the first `next` is none.

    The terms of a row add up to what they add up to in the index, or they differ. Which terms a wrong row has nobody knows, so
    that none can be mended alone.
    """
    tx = yield
    begun = tx.one(SQL["last_change"])
    kept = dict[int, int]()
    terms = after = 0
    while rows := tx.all(SQL["terms_after"], {"after": after, "limit": ROWS}):
        for row, scope, packed in rows:
            words = placed(scope, unpacked(packed)).split()
            kept[row] = _sum_of(words)
            terms += len(words)
        after = rows[-1][0]
        tx = yield
    expected = [len(kept), terms]
    doubted = yield from _unlisted(kept)
    doubted |= yield from _unbalanced(kept)
    tx = yield
    if (
        tx.one(SQL["last_change"]) == begun and _believed(tx) != expected
    ):  # the sums of a home that was written to are not known
        return True
    places = sorted(doubted)
    for first in range(0, len(places), ROWS):
        tx = yield
        if any(_kept_sum(tx, row) == kept.get(row) for row in places[first : first + ROWS]):
            return True
    return False


def _unlisted(kept: dict[int, int]) -> Generator[None, Tx, set[int]]:
    """Rows that the index does not count as its own, or that it alone knows."""
    unlisted, after = set(kept), 0
    strange = set[int]()
    while True:
        tx = yield
        rows = [row for (row,) in tx.all(SQL["listed_after"], {"after": after, "limit": ROWS})]
        if not rows:
            return unlisted | strange
        unlisted.difference_update(rows)
        strange.update(row for row in rows if row not in kept)
        after = rows[-1]


def _unbalanced(kept: dict[int, int]) -> Generator[None, Tx, set[int]]:
    """Rows of which the index holds anything else than what is kept."""
    balance = dict(kept)
    place: dict[str, SqlValue] = {"term": "", "row": 0}
    while True:
        tx = yield
        found = tx.all(SQL["rows_of_term_after"], {**place, "limit": PLACES})
        found += tx.all(SQL["rows_of_terms_after"], {"term": place["term"], "limit": PLACES - len(found)})
        for term, row in found:
            balance[row] = balance.get(row, 0) - hash(term)
        if len(found) < PLACES:
            return {row for row, rest in balance.items() if rest}
        term, row = found[-1]
        place = {"term": term, "row": row}


def _sum_of(words: Sequence[str]) -> int:
    """What the terms of a row add up to, each counted once, as the index has them."""
    return sum(map(hash, set(words)))


def _kept_sum(tx: Tx, row: int) -> int | None:
    found = tx.one(SQL["kept_terms"], {"row": row})
    return _sum_of(placed(found[0], unpacked(found[1])).split()) if found is not None else None


def _believed(tx: Tx) -> list[int]:
    """What the index believes to hold: rows, and terms of them."""
    sums = tx.one(SQL["index_totals"])
    return _varints(sums[0] if sums else b"") or [0, 0]


def _varints(data: bytes) -> list[int]:
    """Numbers as SQLite writes them: seven bits a byte, the highest first."""
    numbers, number = list[int](), 0
    for byte in data:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:  # the last byte of a number
            numbers.append(number)
            number = 0
    return numbers
