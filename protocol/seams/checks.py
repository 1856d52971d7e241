"""Checks of derived data: how a kind of damage is found in a snapshot, and how it is mended in a transaction.

Rule 1: a look reads a bounded part, whatever the size of the home, and gives way to waiting callers between two looks.
Rule 2: a second repair changes nothing: from any mix of damage the checks, in their order, lead to the same state.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias
from zlib import crc32

from msgspec import Struct

from protocol.base import encode
from protocol.errors import IndexDamaged, PagesDamaged
from protocol.seams.ports import Row, SqlValue, Transact, Tx

BATCH = 200
"""Rows mended in one step: a writer that waits for it waits milliseconds."""
LOOKED_AT = 1000
"""Rows of one look, whether anything is wrong with them or not: some milliseconds."""

Depth: TypeAlias = Literal["quick", "deep"]
"""`quick` compares derived data with its checksums; `deep` derives it again and compares."""


class LookResult(NamedTuple):
    """The subjects with damage that a look found, and the place where the next look begins; None at the end."""

    subjects: Sequence[Any]
    after: int | None


Find: TypeAlias = Callable[[Tx, int], LookResult]
"""(snapshot, place): the damage from that place on, in a part that does not grow with the home."""


class Mend(Protocol):
    """Mends a part of what was found."""

    def __call__(self, tx: Tx, rows: Sequence[Any]) -> int:
        """Mend subjects that are still damaged, in the caller's transaction; return how many there were."""
        ...


class Check(Struct, frozen=True):
    """A kind of damage. `then` is awaited after each mended part, outside of its transaction."""

    name: str
    find: Find
    mend: Mend
    depth: Depth = "quick"
    then: Callable[[], Awaitable[None]] | None = None


def digest_of(blob: bytes | None, *facts: SqlValue) -> int:
    """Return the checksum of a blob and the facts beside it; another one shows damage, not an attack."""
    digest = crc32(blob or b"")
    return crc32(repr(facts).encode(), digest) if facts else digest


VOUCH: Final = "digest_of"
"""The name by which statements call `digest_of`."""


def format_vouching(columns: Sequence[str], changed: Collection[str] = ()) -> str:
    """Return the SQL expression of a row's digest: each column as it stands, a changed one as its parameter.

    Text is taken as bytes, because what is not UTF-8 any more is damage, too; the first column is the longest.
    """
    values = (f":{name}" if name in changed else name for name in columns)
    return f"{VOUCH}({', '.join(f'CAST({value} AS BLOB)' for value in values)})"


def finder(end_of: str, statement: str, **values: SqlValue) -> Find:
    """Return a look that runs a statement upon the next rows of a table; `end_of` finds where these end."""

    def find(tx: Tx, after: int) -> LookResult:
        end = tx.one(end_of, {"after": after, "limit": LOOKED_AT})
        if end is None or end[0] is None:
            return LookResult((), None)
        return LookResult(tx.all(statement, {**values, "after": after, "until": end[0]}), end[0])

    return find


def draining_finder(statement: str, limit: int = LOOKED_AT, **values: SqlValue) -> Find:
    """Return a look whose rows are removed before the next one: the same statement then finds the rows behind them.

    The place that it returns is no row; it only says that there may be more.
    """

    def find(tx: Tx, after: int) -> LookResult:
        rows = tx.all(statement, {**values, "limit": limit})
        return LookResult(rows, after + 1 if len(rows) == limit else None)

    return find


def row_mender(statement: str) -> Mend:
    """Return a mend that runs a statement upon the numbers of the rows that were found, as a JSON array `rows`."""

    def mend(tx: Tx, rows: Sequence[Any]) -> int:
        return tx.run(statement, {"rows": encode([row[0] for row in rows]).decode()})

    return mend


def row_finder(statement: str, is_wrong: Callable[[Row], bool], **values: SqlValue) -> Find:
    """Return a look that judges each of the next rows of a statement; its first column is the row's number."""

    def find(tx: Tx, after: int) -> LookResult:
        page = tx.all(statement, {**values, "after": after, "limit": LOOKED_AT})
        return LookResult([row for row in page if is_wrong(row)], page[-1][0] if len(page) == LOOKED_AT else None)

    return find


def step_finder(begin: Callable[[], Callable[[Tx], Sequence[Any] | None]]) -> Find:
    """Return a look of many steps with a state of its own: only the last step returns subjects."""
    step = begin()

    def find(tx: Tx, after: int) -> LookResult:
        nonlocal step
        if after == 0:
            step = begin()
        subjects = step(tx)
        return LookResult((), after + 1) if subjects is None else LookResult(subjects, None)

    return find


async def look_through(db: Transact, finds: Mapping[str, Find]) -> Counter[str]:
    """Return how much of each kind is wrong."""
    found = Counter[str]()
    for name, find in finds.items():
        after: int | None = 0
        while after is not None:
            subjects, after = await _next(db, find, after)
            found[name] += len(subjects)
            await db.calm()
    return +found


async def mend_all(
    db: Transact, checks: Sequence[Check], depth: Depth, tell: Callable[[int], None] = lambda _: None
) -> Counter[str]:
    """Mend all damage; return the number of subjects of each kind. `tell` is called after each mended part."""
    mended = Counter[str]()
    for check in checks:
        after: int | None = 0 if check.depth == "quick" or depth == "deep" else None
        while after is not None:
            subjects, after = await _next(db, check.find, after)
            for first in range(0, len(subjects), BATCH):
                part = subjects[first : first + BATCH]
                mended[check.name] += await db.write(partial(check.mend, rows=part))
                if check.then is not None:
                    await check.then()
                tell(len(part))
                await db.calm()
    return +mended


async def _next(db: Transact, find: Find, after: int) -> LookResult:
    try:
        return await db.read(lambda tx: find(tx, after))
    except PagesDamaged:  # not even that much is known
        raise
    except IndexDamaged:  # a full-text index that cannot even be read is wrong as a whole
        return LookResult([None], None)
