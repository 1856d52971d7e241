"""Finds the record that a writer's path names, and decides whether the writer may put words there.

Rule 1: words for a path that is in use take the place of what is there, if it is the writer's to replace; else the path
is taken.
Rule 2: an agent's note replaces only a note of the same agent.
"""

from collections.abc import Sequence

import msgspec

from memory.ports import Collaborators
from memory.proposals.proposal import Proposed
from memory.rows.notices import Notice, expire
from memory.rows.records import set_status
from memory.rows.store import Stored, active_by_path
from memory.rules.notes import find_note_author, is_note
from memory.rules.paths import require_path
from memory.rules.visibility import status_at
from protocol.base import Scope
from protocol.errors import Refused
from protocol.record import Actor
from protocol.seams.ports import Tx


def still_active(tx: Tx, means: Collaborators, found: Stored | None) -> tuple[Stored | None, list[Notice]]:
    """Return a record if it is believed at this moment, with the notices of a change.

    A record whose time has come expires here, if no pass came by before. A damaged one, which no answer shows, goes to
    the archive and makes room for the new one.
    """
    now = means.clock.now()
    if found is not None and not found.is_intact:
        set_status(tx, found, "archive", Actor(kind="system"), now, reason_code="damaged")
        return None, []
    if found is None or status_at(found.record, now) == "active":
        return found, []
    return None, [expire(tx, means, found)]


def take_path(
    tx: Tx, means: Collaborators, proposed: Proposed, active: Sequence[Scope]
) -> tuple[Proposed, list[Notice]]:
    """Return the proposal with the record that its path names as the one to replace. Raises `Refused("path_taken")`."""
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
    there = holder.record
    is_here = there.scope in active and proposed.scope in {None, there.scope}
    is_meant = proposed.supersedes in {None, there.memory_id}
    is_own = not proposed.is_note or (
        is_note(there) and find_note_author(there.provenance) == find_note_author(proposed.provenance)
    )
    return is_here and is_meant and is_own
