"""Collections whose folder was away: a scan is queued when it is there again."""

from collections.abc import Iterable, Sequence
from functools import partial

import anyio.to_thread

from knowledge.ports import KnowledgeMeans
from knowledge.rows.collections import KnownCollection
from protocol.seams.ports import Tx
from protocol.seams.safe_files import UnsafeFileError


class ReturnLooks:
    """Looks whether folders that were away are there again, in the background: a lost drive may take its time."""

    def __init__(self, means: KnowledgeMeans) -> None:
        self._means = means
        self._is_looking = False

    def begin(self, collections: Iterable[KnownCollection]) -> bool:
        """Begin a look at those of some collections whose folder is away; return whether there are any.

        While one look goes on no other begins. A scan is queued of each collection whose folder is back.
        """
        away = [known for known in collections if known.state == "unavailable"]
        if away and not self._is_looking:
            self._is_looking = True
            self._means.spawn(partial(self._look, away), "return")
        return bool(away)

    async def _look(self, away: Sequence[KnownCollection]) -> None:
        try:
            back = await anyio.to_thread.run_sync(
                lambda: [known.collection_id for known in away if self._is_back(known)], abandon_on_cancel=True
            )
        finally:
            self._is_looking = False

        def queue(tx: Tx) -> None:
            for collection_id in back:
                self._means.jobs.enqueue(tx, "scan", collection_id)

        if back:
            await self._means.db.jot(queue)

    def _is_back(self, known: KnownCollection) -> bool:
        """Return whether a scan would find another state: the folder can be read, and holds anything if it did not."""
        try:
            with self._means.open_root(known.path) as root:
                return bool(root.list_folder("")) or known.reason != "root_empty"
        except UnsafeFileError:
            return False
