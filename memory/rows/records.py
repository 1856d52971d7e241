"""Changes of records, and the lookups that a write needs.

Rule 1: `set_status` alone changes a status, by an event of `rules/lifecycle.py`. Each is a step of the history.
Rule 2: a function that changes a sealed column seals the record again.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import msgspec

from memory.rows.record_columns import SQL, Stored, to_column, to_columns, to_stored
from memory.rows.store import Change, active_by_path, add_event, get_record, seal
from memory.rules.lifecycle import RECORDS, RecordEvent
from protocol.errors import Defect
from protocol.memory.values import EventName
from protocol.record import Actor, Record, Status
from protocol.seams.ports import Tx
from protocol.seams.transitions import after

_STEPS: Final[Mapping[RecordEvent, EventName]] = {
    "replace": "superseded",
    "expire": "expired",
    "archive": "archived",
    "forget": "deleted",
    "restore": "restored",
    "restore_replaced": "restored",
    "restore_expired": "restored",
    "restore_archived": "restored",
}
"""The name of an event in a record's history."""
_VALUE: Final = msgspec.json.Decoder()
"""Made at import: msgspec does not guard two threads of the database that meet a type for the first time at once."""


def set_status(
    tx: Tx,
    stored: Stored,
    event: RecordEvent,
    actor: Actor,
    now: int,
    *,
    reason_code: str | None = None,
    superseded_by: str | None = None,
) -> None:
    """Apply an event to a record, with its links, its doubt and its history. Raises `IllegalMoveError`."""
    memory_id = stored.record.memory_id
    before = stored.record.status if stored.record.status in RECORDS else "archived"  # the status itself may be damaged
    status: Status = after(RECORDS, before, event)
    tx.run(
        SQL["change_status"],
        {
            "memory_id": memory_id,
            "status": status,
            "now": now,
            "superseded_by": superseded_by,
            "deleted_at": now if status == "deleted" else None,
            "contested": int(stored.record.contested and status == "active"),
        },
    )
    if stored.is_intact:  # a new seal would hide the damage
        seal(tx, memory_id)
    add_event(tx, memory_id, now, Change(_STEPS[event], actor, reason_code, before, status))


def set_contested(tx: Tx, memory_id: str, now: int, *, is_contested: bool) -> None:
    """Mark whether a waiting candidate contradicts a record."""
    tx.run(SQL["set_contested"], {"memory_id": memory_id, "contested": int(is_contested), "now": now})


def adopt_record(tx: Tx, memory_id: str, values: Mapping[str, Any], now: int) -> None:
    """Write the columns of `ADOPTED`."""
    tx.run(SQL["adopt_record"], {**values, "memory_id": memory_id, "now": now})
    seal(tx, memory_id)


def update_record(tx: Tx, memory_id: str, values: Mapping[str, Any], now: int) -> None:
    """Write the columns of `UPDATABLE`, with the sensitivity, key and fingerprint that follow from them."""
    tx.run(SQL["update_record"], {**values, "memory_id": memory_id, "now": now})
    seal(tx, memory_id)


def file_record(tx: Tx, memory_id: str, path: str, now: int) -> None:
    """File a record under a path that no active record has."""
    tx.run(SQL["file_record"], {**to_columns({"path": path}), "memory_id": memory_id, "now": now})
    seal(tx, memory_id)


def note_access(tx: Tx, memory_id: str, now: int) -> None:
    """Count a read of a record, which reinforces it."""
    tx.run(SQL["note_access"], {"memory_id": memory_id, "now": now})


def reinforce(tx: Tx, memory_id: str, now: int) -> None:
    """Begin a record's lifetime anew."""
    tx.run(SQL["reinforce_record"], {"memory_id": memory_id, "now": now})


def current_record(tx: Tx, stored: Stored) -> Record:
    """Return a record as it is by now in this transaction. Raises `Defect` where it is gone."""
    found = get_record(tx, stored.record.memory_id)
    if found is None:
        raise Defect
    return found.record


# -- lookups ---------------------------------------------------------------------------------------------------------


def records_by_row(tx: Tx, rows: Sequence[int]) -> dict[int, Stored]:
    """Return those of some records that are there, by their row numbers."""
    found = tx.all(SQL["records_by_row"], {"rows": to_column(list(rows))})
    return {stored.row: stored for stored in map(to_stored, found)}


def records_of(tx: Tx, memory_ids: Sequence[str]) -> list[Stored]:
    """Return those of some records that are there, in their order."""
    return [stored for memory_id in memory_ids if (stored := get_record(tx, memory_id)) is not None]


def list_kept_by_tools(tx: Tx, turn_id: str) -> list[Record]:
    """Return the active records that a model's tool stored in a turn for its user, oldest first."""
    found = records_of(tx, [memory_id for (memory_id,) in tx.all(SQL["active_of_turn"], {"turn_id": turn_id})])
    makers = [(one.record, one.record.provenance.created_by) for one in found]
    return [record for record, maker in makers if maker is not None and maker.kind == "assistant"]


def earlier_versions(tx: Tx, memory_id: str) -> list[str]:
    """Return the ids of the records that a record superseded, directly or in turn."""
    return [earlier for (earlier,) in tx.all(SQL["earlier_versions"], {"memory_id": memory_id})]


def earlier_values(tx: Tx, row: int) -> list[Any]:
    """Return the values of a record before it was changed in place, oldest first; of a damaged one its text."""
    texts = [text.decode("utf-8", "replace") for (text,) in tx.all(SQL["earlier_values"], {"row": row})]
    return [_decode_value(text) for text in texts]


def _decode_value(text: str) -> Any:
    try:
        return _VALUE.decode(text)
    except msgspec.DecodeError:
        return text


def has_records(tx: Tx) -> bool:
    """Return whether the home has any record."""
    return tx.one(SQL["any_record"]) is not None


def is_key_taken(tx: Tx, stored: Stored) -> bool:
    """Return whether an active record has the key, the alias or the path of a record that is not active."""
    taken = {"scope_id": stored.scope_id, "key": stored.record.key, "alias": stored.alias}
    path = stored.record.path
    is_path_taken = path is not None and active_by_path(tx, path) is not None
    return is_path_taken or tx.one(SQL["active_by_key"], taken) is not None


def find_same(tx: Tx, stored: Stored, key: str, fingerprint: bytes) -> list[str]:
    """Return the ids of other active records of the scope with a key or a fingerprint."""
    values = {"row": stored.row, "scope_id": stored.scope_id, "key": key, "fingerprint": fingerprint}
    return [memory_id for (memory_id,) in tx.all(SQL["records_sharing"], values)]


def find_notes(tx: Tx, scope_id: int, text_hash: bytes) -> list[str]:
    """Return the ids of a scope's active notes of agents in just these words."""
    rows = tx.all(SQL["notes_saying"], {"scope_id": scope_id, "text_hash": text_hash})
    return [memory_id for (memory_id,) in rows]


def find_merged(tx: Tx, scope_id: int, text_hash: bytes) -> str | None:
    """Return the id of the active record that a person merged a record of these words into, or None."""
    row = tx.one(SQL["merged_before"], {"scope_id": scope_id, "text_hash": text_hash})
    return row[0] if row is not None else None


def was_merged(tx: Tx, memory_id: str) -> bool:
    """Return whether a record was last superseded because a person merged it."""
    return tx.all(SQL["was_merged"], {"memory_id": memory_id}) == [(1,)]


def status_before_deletion(tx: Tx, memory_id: str) -> Status | None:
    """Return the status of a forgotten record before it was forgotten."""
    row = tx.one(SQL["status_before_deletion"], {"memory_id": memory_id})
    return row[0] if row is not None else None


def statuses_of(tx: Tx, memory_ids: Collection[str]) -> dict[str, Status]:
    """Return the statuses of those of some records that are there."""
    found = {memory_id: tx.one(SQL["status_of"], {"memory_id": memory_id}) for memory_id in memory_ids}
    return {memory_id: row[0] for memory_id, row in found.items() if row is not None}


def active_text_hashes(tx: Tx, memory_ids: Sequence[str]) -> dict[str, bytes]:
    """Return the hashes of the words of some records, by id; only active ones are among them."""
    return dict(tx.all(SQL["active_text_hashes"], {"memory_ids": to_column(list(memory_ids))}))
