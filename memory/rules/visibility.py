"""Decides whether a record may be shown to a call. Every read path of durable memory asks this, and nothing else.

Rule 1: pure; the answer is None, or the gate that hides the record with its reason code.
"""

from collections.abc import Collection
from typing import Final, NamedTuple

from msgspec import Struct

from protocol.memory.explaining import GateName
from protocol.record import RecordFields, Sensitivity, Status

WITHHELD: Final = "pioneer:withheld"
"""The member of a record's metadata that hides it from every answer."""


class Seen(Struct, frozen=True):
    """The members of a record that visibility depends on."""

    scope_id: int
    status: Status
    sensitivity: Sensitivity
    expires_at: int | None
    is_intact: bool
    is_withheld: bool = False
    """It holds a number of a kind that is never kept (`sensitivity.NUMBER_KINDS`)."""
    noted_by: str | None = None
    """The agent that wrote it as an unconfirmed note, "" where that has no name; None for a record of the user."""


class View(NamedTuple):
    """The members of a call that visibility depends on."""

    scope_ids: Collection[int]
    statuses: Collection[Status]
    now: int
    shows_regulated: bool
    is_prompt: bool = False
    """The records go into a prompt that did not ask for them: a note only into those of the agent that wrote it."""
    agent_id: str | None = None
    """The agent of the prompt."""


ACTIVE: frozenset[Status] = frozenset({"active"})
KEPT: frozenset[Status] = frozenset({"active", "superseded", "expired", "archived"})
"""Everything that `memory/get` returns without `include_deleted`."""
ALL: frozenset[Status] = frozenset({*KEPT, "deleted"})


def effective_status(status: Status, expires_at: int | None, now: int) -> Status:
    """Return the status at a moment: a record expires at its time, whether or not a sweep has stored that."""
    return "expired" if status == "active" and expires_at is not None and expires_at <= now else status


def status_at(record: RecordFields, now: int) -> Status:
    """Return the status of a record at a moment."""
    return effective_status(record.status, record.expires_at, now)


def hidden_by(record: Seen, view: View) -> tuple[GateName, str] | None:
    """Return the first gate that hides the record, or None if it is visible."""
    if record.scope_id not in view.scope_ids:
        return "scope_active", "scope_out_of_context"
    if not record.is_intact:
        return "integrity", "damaged"
    if record.is_withheld:
        return "sensitivity", "secret_detected"
    status = effective_status(record.status, record.expires_at, view.now)
    if status not in view.statuses:
        return ("expiry", "expired") if status == "expired" else ("status", status)
    if view.is_prompt and record.noted_by is not None and (not record.noted_by or record.noted_by != view.agent_id):
        return "voice", "unconfirmed_note"
    if record.sensitivity == "regulated" and not view.shows_regulated:
        return "sensitivity", "regulated"
    return None


def is_visible(record: Seen, view: View) -> bool:
    """Return whether the record may be shown."""
    return hidden_by(record, view) is None
