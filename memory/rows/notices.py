"""Notices of a change: to clients after the commit, to other processes through the change table.

Rule 1: a notification of a regulated record names it without its content.
"""

import msgspec
from msgspec import Struct

from memory.ports import Collaborators
from memory.rows.record_columns import SQL, Stored
from memory.rows.records import current_record, reinforce, set_status
from memory.rules.actors import SYSTEM_ACTOR
from protocol.base import Scope
from protocol.memory.values import ChangeKind, Origin
from protocol.notifications import MemoryChanged
from protocol.record import Actor, Provenance, Record
from protocol.seams.ports import Tx


class Notice(Struct, frozen=True):
    """A notification to send once the transaction is committed."""

    method: str
    params: msgspec.Struct


def build_changed_notice(
    record: Record, kind: ChangeKind, reason_code: str | None, cause: Provenance | None = None
) -> Notice:
    """Return the `memory/changed` of a record; its origin is the cause, else the record's own provenance."""
    source = cause or record.provenance
    return Notice(
        "memory/changed",
        MemoryChanged(
            memory_id=record.memory_id,
            scope=record.scope,
            change_kind=kind,
            record=record if record.sensitivity != "regulated" else None,
            origin=Origin(turn_id=source.turn_id, source_kind=source.source_kind, reason_code=reason_code),
        ),
    )


def expire(tx: Tx, means: Collaborators, stored: Stored) -> Notice:
    """Mark a record as expired; return the notice of it."""
    now = means.clock.now()
    set_status(tx, stored, "expire", SYSTEM_ACTOR, now)
    note_change(tx, means, stored.scope_id)
    record = msgspec.structs.replace(stored.record, status="expired", contested=False, updated_at=now)
    return build_changed_notice(record, "expired", None)


def archive(tx: Tx, means: Collaborators, stored: Stored, actor: Actor) -> Notice:
    """Archive a record; return the notice of it."""
    now = means.clock.now()
    set_status(tx, stored, "archive", actor, now)
    note_change(tx, means, stored.scope_id)
    record = msgspec.structs.replace(stored.record, status="archived", contested=False, updated_at=now)
    return build_changed_notice(record, "archived", None)


def reactivate(tx: Tx, means: Collaborators, stored: Stored, actor: Actor) -> Notice:
    """Make an archived or merged record active again, with a lifetime that begins anew; return the notice of it."""
    now = means.clock.now()
    set_status(tx, stored, "restore", actor, now)
    reinforce(tx, stored.record.memory_id, now)
    note_change(tx, means, stored.scope_id)
    return build_changed_notice(current_record(tx, stored), "restored", None)


def note_change(tx: Tx, means: Collaborators, scope_id: int) -> None:
    """Log for other processes of the home that a scope changed."""
    tx.run(SQL["note_change"], {"scope_id": scope_id, "owner": means.owner, "at": means.clock.now()})


def changes_after(tx: Tx, seq: int, owner: str) -> tuple[list[Scope], int]:
    """Return the scopes that processes beside `owner` changed after a number of the log, and its last number."""
    rows = tx.all(SQL["changes_after"], {"seq": seq, "owner": owner})
    last = tx.one(SQL["last_change"])
    return [Scope(kind=kind, key=key) for kind, key in rows], last[0] if last else 0
