"""Notices of changed files: at most one a second for a collection, with the counts of all changes since the last one.

Rule 1: a notice counts lines of the log of changes, whichever process wrote them: a client that asks for the log when a
notice comes finds them there. Only files that failed are in no line; the process that read them counts them.
Rule 2: every change is counted once: one within a second of a notice by the next notice, at the end of that second.
"""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

import anyio
from msgspec import Struct

from knowledge.rows.changes import LoggedCount, count_changes, last_change
from protocol.files.knowledge import FileEvent
from protocol.notifications import KnowledgeChanged
from protocol.seams.ports import Notify, Spawn, Transact, Tx

SECONDS = 1.0
"""The least time between two notices about a collection."""
COUNTED = ("added", "changed", "moved", "removed", "failed")
COUNTED_AS: Mapping[FileEvent, str] = {
    "baseline": "added",
    "added": "added",
    "changed": "changed",
    "moved": "moved",
    "removed": "removed",
    "ignored": "removed",
}
"""The member of a notice that counts an event of the log; the others are not about files."""


class LaterChanges(Struct, frozen=True):
    """The counts of the lines of the log after the line `after`."""

    after: int
    counts: Sequence[LoggedCount]


class ChangeNotices:
    """The notices `knowledge/changed` of a process."""

    def __init__(self, db: Transact, notify: Notify, spawn: Spawn) -> None:
        self._db = db
        self._notify = notify
        self._spawn = spawn
        self._told: int | None = None
        """The last line of the log that clients know of; None in a process that follows no changes."""
        self._sent: dict[str, float] = {}
        self._waiting: dict[str, Counter[str]] = {}

    async def begin(self) -> None:
        """Note the last line of the log: only later ones are news to a client."""
        self._told = await self._db.read(last_change)

    async def follow(self) -> None:
        """Count what the log says since the last call, of this process or another."""
        while not self.tell(await self._db.read(self.find)):
            pass  # another call counted meanwhile

    def find(self, tx: Tx) -> LaterChanges | None:
        """Return what the log says since the last notice; None in a process that follows no changes."""
        after = self._told
        return LaterChanges(after, count_changes(tx, after)) if after is not None else None

    def tell(self, found: LaterChanges | None) -> bool:
        """Count what was found; return False, and count nothing, where some of it may have been counted meanwhile."""
        if found is None:
            return True
        if found.after != self._told:
            return False
        self._told = max([found.after, *(one.last for one in found.counts)])
        changed: dict[str, Counter[str]] = {}
        for one in found.counts:
            if one.event in COUNTED_AS:
                changed.setdefault(one.collection_id, Counter())[COUNTED_AS[one.event]] += one.files
        for collection_id, counts in changed.items():
            self.count(collection_id, counts)
        return True

    def count(self, collection_id: str, counts: Mapping[str, int]) -> None:
        """Send the counts of a collection's changed files; within a second after a notice, add them to the next one."""
        changed = Counter({name: counts.get(name, 0) for name in COUNTED})
        if not any(changed.values()):
            return
        if collection_id in self._waiting:
            self._waiting[collection_id] += changed
            return
        rest = self._sent.get(collection_id, 0.0) + SECONDS - time.monotonic()
        if rest <= 0 or collection_id not in self._sent:
            self._send(collection_id, changed)
            return
        self._waiting[collection_id] = changed
        self._spawn(partial(self._send_later, collection_id, rest), "knowledge_notice")

    async def _send_later(self, collection_id: str, rest: float) -> None:
        await anyio.sleep(rest)
        self._send(collection_id, self._waiting.pop(collection_id))

    def _send(self, collection_id: str, counts: Mapping[str, int]) -> None:
        self._sent[collection_id] = time.monotonic()
        self._notify(
            "knowledge/changed", KnowledgeChanged(collection_id=collection_id, **{one: counts[one] for one in COUNTED})
        )
