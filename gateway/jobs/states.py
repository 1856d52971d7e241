"""The states of a job, as a transition table.

Rule 1: every transition of a job is a row of `TRANSITIONS`; this module knows no handler.

    queued      waits for a worker
    leased      a living process works on it; after a crash it is queued again at once
    retry_wait  failed for a passing cause; queued again when its time has come
    dead        failed too often, or for a lasting cause; only a person requeues it
    cancelled   its subject is gone
    done        its effect is stored
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from protocol.seams.ports import JobState

JobEvent: TypeAlias = Literal["claim", "finish", "fail", "give_up", "due", "release", "cancel", "requeue"]

TRANSITIONS: Mapping[JobState, Mapping[JobEvent, JobState]] = {
    "queued": {"claim": "leased", "cancel": "cancelled"},
    "leased": {"finish": "done", "fail": "retry_wait", "give_up": "dead", "release": "queued", "cancel": "cancelled"},
    "retry_wait": {"claim": "leased", "due": "queued", "cancel": "cancelled"},
    "dead": {"requeue": "queued", "cancel": "cancelled"},
    "cancelled": {},
    "done": {},
}
