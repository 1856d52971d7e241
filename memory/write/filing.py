"""Finds the active record at a proposal's path, and decides whether the proposal may supersede it.

Rule 1: a proposal for a path in use supersedes the record there, if that is in an active scope and no other record is
named to be superseded; else the path is taken.
Rule 2: an agent's note supersedes only a note of the same agent.
"""

from collections.abc import Sequence

import msgspec

from memory.ports import Collaborators
from memory.proposals.proposal import Proposed
from memory.rows.notices import Notice, expire
from memory.rows.record_columns import Stored
from memory.rows.records import set_status
from memory.rows.store import active_by_path
from memory.rules.actors import SYSTEM_ACTOR
from memory.rules.notes import find_note_author, is_note
from memory.rules.paths import require_path
from memory.rules.visibility import status_at
from protocol.base import Scope
from protocol.errors import Refused
from protocol.seams.ports import Tx


def still_active(tx: Tx, means: Collaborators, found: Stored | None) -> tuple[Stored | None, list[Notice]]:
    """Return a record if it is active at this moment, else None, with the notices of a change.

    A record whose time is over is marked as expired, if no sweep has done so. A damaged one, which no answer shows, is
    archived, so that its key and path are free for the new record.
    """
    now = means.clock.now()
    if found is not None and not found.is_intact:
        set_status(tx, found, "archive", SYSTEM_ACTOR, now, reason_code="damaged")
        return None, []
    if found is None or status_at(found.record, now) == "active":
        return found, []
    return None, [expire(tx, means, found)]


def take_path(
    tx: Tx, means: Collaborators, proposed: Proposed, active: Sequence[Scope]
) -> tuple[Proposed, list[Notice]]:
    """Return the proposal, which supersedes the record at its path if there is one, and the notices of a change.

    Raises `Refused("path_taken")` where it may not, and `CallerError` for what is no path.
    """
    if proposed.path is None:
        return proposed, []
    path = require_path(proposed.path)
    holder, notices = still_active(tx, means, active_by_path(tx, path))
    if holder is None:
        return msgspec.structs.replace(proposed, path=path), notices
    if not _may_replace(proposed, holder, active):
        raise Refused("path_taken")
    return msgspec.structs.replace(proposed, path=path, supersedes=holder.record.memory_id), notices


def _may_replace(proposed: Proposed, holder: Stored, active: Sequence[Scope]) -> bool:
    """Return whether a proposal may supersede the record at its path, by rules 1 and 2."""
    there = holder.record
    is_here = there.scope in active and proposed.scope in {None, there.scope}
    is_meant = proposed.supersedes in {None, there.memory_id}
    is_own = not proposed.is_note or (
        is_note(there) and find_note_author(there.provenance) == find_note_author(proposed.provenance)
    )
    return is_here and is_meant and is_own
