"""The one gate that every record passes before it is shown, and the record as it is at a moment.

Rule 1: a visible record is scanned before it is shown until repair has marked all that hold a number which is never
kept.
Rule 2: damage that a read meets is reported once a process, and repaired in the background.
"""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from memory.ports import Collaborators
from memory.rows.record_columns import Stored
from memory.rows.withheld import are_numbers_marked, holds_number
from memory.rules.strength import Lifetime, fade_time, strength_of
from memory.rules.visibility import View, is_visible, status_at
from protocol.record import Record
from protocol.seams.ports import Tx
from protocol.settings import Aging

T = TypeVar("T")


def at_time(record: Record, now: int, aging: Aging) -> Record:
    """Return the record with its status, strength and fading at a moment."""
    life = Lifetime(record.standing, record.reinforced_at, record.updated_at, record.fades_at)
    fades_at = fade_time(aging, life)
    status = status_at(record, now)
    return msgspec.structs.replace(
        record,
        status=status,
        fades_at=fades_at,
        strength=strength_of(record.standing, record.reinforced_at, now),
        faded=fades_at is not None and fades_at <= now and status == "active" and record.voice == "user",
    )


class RecordGate:
    """Runs reads of records, and decides whether a view shows a record; one in a process."""

    def __init__(self, means: Collaborators) -> None:
        self._means = means
        self._has_met_damage = False
        self._has_reported_damage = False
        self._are_numbers_marked = False

    def shows(self, tx: Tx, stored: Stored, view: View) -> bool:
        """Return whether a view shows a record; remember that a read has met a damaged one."""
        self._has_met_damage |= not stored.is_intact and stored.scope_id in view.scope_ids
        if not is_visible(stored.seen, view):
            return False
        self._are_numbers_marked = self._are_numbers_marked or are_numbers_marked(tx)
        return self._are_numbers_marked or not holds_number(stored.record, self._means.scanner)

    async def read(self, read: Callable[[Tx], T], deadline: float | None = None) -> T:
        """Run a read; the first time that it meets damage, report that and queue a repair.

        `deadline`: the seconds after which it raises `Unavailable`.
        """
        result = await self._means.db.read(read, deadline)
        if self._has_met_damage and not self._has_reported_damage:
            self._has_reported_damage = True
            self._means.report_damage(1)
            await self._means.db.jot(lambda tx: self._means.jobs.enqueue(tx, "repair", "deep"))
        return result
