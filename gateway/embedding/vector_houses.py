"""The houses that hold vectors, asked together: what lacks a vector of a space, what waits for one, and dropping a space.

Rule 1: whatever may need a look at every row is looked at a part at a time, beside the writers.
"""

from collections.abc import Collection, Sequence
from typing import Protocol, TypeAlias

from protocol.seams.ports import Space, Transact, Tx

DROPPED_AT_ONCE = 2000  # rows of one transaction; a writer that waits for it waits milliseconds

Lack: TypeAlias = tuple[bool, int | None]
"""Whether something lacks a vector, and where the next look begins; None when there is nothing beyond."""


class House(Protocol):
    """A house that holds vectors."""

    def enlist(self, tx: Tx, space: Space) -> None:
        """Note, and queue, everything that lacks a vector of the space."""
        ...

    def settle(self, tx: Tx, space: Space | None) -> None:
        """Have what has a vector of the space wait no more; None: nothing waits, no vectors will come."""
        ...

    def look(self, tx: Tx, space: Space, after: int) -> Lack:
        """Whether some of the next rows can have a vector of the space and have none; of any house, a look takes milliseconds."""
        ...

    def drop(self, tx: Tx, space: Space, limit: int) -> int:
        """Remove some of the space's vectors; returns how many."""
        ...


class Houses:
    """All houses that hold vectors."""

    def __init__(self, db: Transact, houses: Sequence[House]) -> None:
        self._db = db
        self._all = houses

    def enlist(self, tx: Tx, space: Space, lacking: Collection[House] | None = None) -> None:
        """Have what lacks a vector of the space wait for one; `lacking`: nothing does in any other house."""
        for house in self._all:
            if lacking is None or house in lacking:
                house.enlist(tx, space)
            else:
                house.settle(tx, space)  # what was written since that look still waits

    def settle(self, tx: Tx) -> None:
        """Have nothing wait any more: no vectors will come."""
        for house in self._all:
            house.settle(tx, None)

    async def lacking(self, space: Space) -> list[House]:
        """Return the houses that lack vectors of a space.

        What is written meanwhile is queued by its writer: a model is there, or on its way.
        """
        return [house for house in self._all if await self._lacks(house, space)]

    async def _lacks(self, house: House, space: Space) -> bool:
        is_lacking, after = False, 0
        while not is_lacking and after is not None:
            is_lacking, after = await self._db.read(lambda tx, place=after: house.look(tx, space, place))
        return is_lacking

    def lacks_now(self, tx: Tx, space: Space) -> bool:
        """Whether a house lacks a vector, in one transaction: once for each new model, after a look that found nothing."""
        return any(_lacks_now(house, tx, space) for house in self._all)

    async def drop(self, space: Space) -> None:
        """Remove every vector of a space."""
        for house in self._all:
            while await self._db.write(lambda tx, house=house: house.drop(tx, space, DROPPED_AT_ONCE)):
                pass


def _lacks_now(house: House, tx: Tx, space: Space) -> bool:
    is_lacking, after = False, 0
    while not is_lacking and after is not None:
        is_lacking, after = house.look(tx, space, after)
    return is_lacking
