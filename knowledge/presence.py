"""The presence of collections: in a home without any, no turn has a hook of this house.

Rule 1: kept in memory, since a hook's switch is asked at every turn; read again when any process changed the home.
"""

from knowledge.rows.collections import find_presence
from protocol.seams.ports import Transact


class Presence:
    """Two facts about the home: it has any collection, and it has one whose files are recalled in turns."""

    def __init__(self, db: Transact) -> None:
        self._db = db
        self.has_any = False
        self.has_recalled = False

    async def refresh(self) -> None:
        """Read both from the database again."""
        self.has_any, self.has_recalled = await self._db.read(find_presence)
