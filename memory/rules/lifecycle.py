"""The state machines of a record and of a candidate as transition tables.

Rule 1: pure. Every change of a status is a row of `RECORDS` or `CANDIDATES`.

    active      believed, and shown
    superseded  another record is believed in its place, or it was merged into one
    expired     its time is over
    archived    put out of sight, by a person or because it faded; or its bytes are not what was written
    deleted     forgotten: it can be restored until the retention ends

    pending     waits for a person, for repetition, or for a doubt to be settled
    approved    became a record
    rejected    a person refused it
    suppressed  a person refused it and what says the same, or it was forgotten
    expired     undecided at the end of the retention, or the record that it contradicted was confirmed
    merged      its evidence supports a record or another candidate
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from protocol.memory.values import CandidateStatus
from protocol.record import Status

RecordEvent: TypeAlias = Literal[
    "replace", "expire", "archive", "forget", "restore", "restore_replaced", "restore_expired", "restore_archived"
]
CandidateEvent: TypeAlias = Literal["approve", "reject", "suppress", "expire", "merge", "forget", "reopen"]

RECORDS: Mapping[Status, Mapping[RecordEvent, Status]] = {
    "active": {"replace": "superseded", "expire": "expired", "archive": "archived", "forget": "deleted"},
    "superseded": {"restore": "active", "forget": "deleted"},
    "expired": {"replace": "superseded", "forget": "deleted"},
    "archived": {"restore": "active", "replace": "superseded", "forget": "deleted"},
    "deleted": {
        "restore": "active",
        "restore_replaced": "superseded",
        "restore_expired": "expired",
        "restore_archived": "archived",
    },
}

CANDIDATES: Mapping[CandidateStatus, Mapping[CandidateEvent, CandidateStatus]] = {
    "pending": {
        "approve": "approved",
        "reject": "rejected",
        "suppress": "suppressed",
        "expire": "expired",
        "merge": "merged",
        "forget": "suppressed",
    },
    "approved": {},
    "rejected": {},
    "suppressed": {},
    "expired": {"reopen": "pending"},
    "merged": {},
}

RESTORED_TO: Mapping[Status, RecordEvent] = {
    "active": "restore",
    "superseded": "restore_replaced",
    "expired": "restore_expired",
    "archived": "restore_archived",
}
"""The event that gives a forgotten record the status back that it had."""
