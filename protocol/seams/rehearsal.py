"""Work that is done in a transaction only to see what it would do."""

from collections.abc import Callable
from typing import Any, TypeVar

from protocol.seams.ports import Transact, Tx

T = TypeVar("T")


class _Rehearsed(Exception):
    """Undoes the transaction of a rehearsal, and carries its outcome out."""

    def __init__(self, outcome: Any) -> None:
        self.outcome = outcome
        super().__init__()


async def rehearse(db: Transact, work: Callable[[Tx], T], *, is_vital: bool = False) -> T:
    """Return the outcome of `work` in a transaction that is rolled back: nothing is stored, nothing is sent."""

    def undone(tx: Tx) -> T:
        raise _Rehearsed(work(tx))

    try:
        return await db.write(undone, is_vital=is_vital)
    except _Rehearsed as rehearsed:
        return rehearsed.outcome
