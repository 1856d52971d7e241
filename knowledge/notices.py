"""Notices of changed files: at most one a second for a collection, with the counts of all changes since the last one.

Rule 1: every change is counted: one within a second of a notice by the next notice, at the end of that second.
"""

import time
from collections import Counter
from collections.abc import Mapping
from functools import partial

import anyio

from protocol.notifications import KnowledgeChanged
from protocol.seams.ports import Notify, Spawn

SECONDS = 1.0
"""The least time between two notices about a collection."""
COUNTED = ("added", "changed", "moved", "removed", "failed")


class ChangeNotices:
    """The notices `knowledge/changed` of a process."""

    def __init__(self, notify: Notify, spawn: Spawn) -> None:
        self._notify = notify
        self._spawn = spawn
        self._sent: dict[str, float] = {}
        self._waiting: dict[str, Counter[str]] = {}

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
