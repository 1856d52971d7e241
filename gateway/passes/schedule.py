"""Decides when a pass runs: pure arithmetic on Unix milliseconds.

Rule 1: however many times of a pass were slept through, one run follows.
Rule 2: a plan lies at most 1.1 intervals ahead; one that lies further was made by a clock that went back.
"""

import hashlib
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Literal, TypeAlias

from msgspec import Struct

from protocol.passes import Trigger

MOST_JITTER = 0.05
"""A part of the interval, fixed by home and pass, so that the homes of a machine do not all wake at once."""
FURTHEST = 1.1
MOST_OVERDUE_MS = 30 * 60_000
"""A run that has waited for an idle moment this long begins in a busy one."""
SETTLED_SECONDS = 60.0  # from the start of a process on, in which it is not idle
QUIET_SECONDS = 30.0  # from the last request on, in which it is not idle

Outlook: TypeAlias = Literal["plan", "wait", "due"]


class Activity(Struct, frozen=True):
    """The activity of a process: seconds since its start and since the last request, and whether a turn runs."""

    uptime: float
    quiet: float
    has_turn: bool


def jitter_of(home_id: str, name: str) -> float:
    """Return the part of an interval by which a pass of a home runs later: 0 to `MOST_JITTER`."""
    digest = hashlib.sha256(f"{home_id}\n{name}".encode()).digest()
    return MOST_JITTER * int.from_bytes(digest[:4]) / 2**32


def next_run(after: int, interval_ms: int, jitter: float) -> int:
    """Return the time of the next run after one that ended, or after the first start."""
    return after + int(interval_ms * (1 + jitter))


def next_night(after: int, hour: int, zone: tzinfo) -> int:
    """Return the first beginning of an hour of the day, in a time zone, that lies after a time."""
    local = datetime.fromtimestamp(after / 1000, UTC).astimezone(zone)
    begin = local.replace(hour=hour, minute=0, second=0, microsecond=0)
    if begin <= local:
        begin += timedelta(days=1)
    return int(begin.timestamp() * 1000)


def outlook(now: int, planned: int | None, interval_ms: int) -> Outlook:
    """Return the next step for a pass: plan its next run anew, wait for it, or run it."""
    if planned is None or planned > now + FURTHEST * interval_ms:
        return "plan"
    return "due" if planned <= now else "wait"


def trigger_of(now: int, planned: int, interval_ms: int) -> Trigger:
    """Return how a run that is due is called: one that comes a whole interval late catches up."""
    return "catch_up" if now - planned >= interval_ms else "schedule"


def may_begin(now: int, planned: int, activity: Activity) -> bool:
    """Return whether a run that is due may begin: in an idle moment, or when it has waited too long for one."""
    is_idle = activity.uptime >= SETTLED_SECONDS and activity.quiet >= QUIET_SECONDS and not activity.has_turn
    return is_idle or now - planned >= MOST_OVERDUE_MS
