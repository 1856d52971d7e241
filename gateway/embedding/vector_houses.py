"""The houses that hold vectors, taken together: rows that lack a vector, rows that wait for one, the end of a space.

Rule 1: work that may read every row reads a part at a time, beside the writers.
"""

from collections.abc import Collection, Sequence
from typing import Protocol, TypeAlias

from protocol.seams.ports import Space, Transact, Tx

DROPPED_AT_ONCE = 2000  # rows of one transaction; a writer that waits for it waits milliseconds

Lack: TypeAlias = tuple[bool, int | None]
"""A flag that some row lacks a vector, and the row after which the next look begins; None when there is none."""


class House(Protocol):
    """A house that holds vectors."""

    def enlist(self, tx: Tx, space: Space) -> None:
        """Note, and queue, every row that lacks a vector of the space."""
        ...

    def settle(self, tx: Tx, space: Space | None) -> None:
        """Clear the wait of rows with a vector of the space; None clears it for all: no vectors will come."""
        ...

    def look(self, tx: Tx, space: Space, after: int) -> Lack:
        """Return whether some of the next rows lack a vector of the space, and where to go on, within milliseconds."""
        ...

    def drop(self, tx: Tx, space: Space, limit: int) -> int:
        """Remove some of the space's vectors; return how many."""
        ...


class Houses:
    """All houses that hold vectors."""

    def __init__(self, db: Transact, houses: Sequence[House]) -> None:
        self._db = db
        self._all = houses

    def enlist(self, tx: Tx, space: Space, lacking: Collection[House] | None = None) -> None:
        """Queue rows that lack a vector of the space; houses other than `lacking` are known to lack none."""
        for house in self._all:
            if lacking is None or house in lacking:
                house.enlist(tx, space)
            else:
                house.settle(tx, space)  # rows written since that look still wait

    def settle(self, tx: Tx) -> None:
        """Clear the wait of all rows: no vectors will come."""
        for house in self._all:
            house.settle(tx, None)

    async def lacking(self, space: Space) -> list[House]:
        """Return the houses that lack vectors of a space.

        Rows that are written meanwhile are queued by their writer: a model is there, or on its way.
        """
        return [house for house in self._all if await self._lacks(house, space)]

    async def _lacks(self, house: House, space: Space) -> bool:
        is_lacking, after = False, 0
        while not is_lacking and after is not None:
            is_lacking, after = await self._db.read(lambda tx, place=after: house.look(tx, space, place))
        return is_lacking

    def lacks_now(self, tx: Tx, space: Space) -> bool:
        """Return whether a house lacks a vector, in one transaction; once for each new model, after `lacking`."""
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
