"""The time at which a failed job runs again: pure arithmetic."""

from msgspec import Struct

from protocol.seams.ports import JobKind
from protocol.settings import ThreadEpisodicSettings

JITTER = 0.2
"""Up to a fifth is added at random, so that jobs that failed together do not come back together."""


class RetryLimits(Struct, frozen=True):
    """The limits of a kind's retries."""

    base_ms: int
    max_ms: int
    max_attempts: int


class RetryAt(Struct, frozen=True):
    """Run again at this time."""

    at: int


class GiveUp(Struct, frozen=True):
    """No further try."""

    attempts: int


LIMITS: dict[JobKind, RetryLimits] = {
    "hook_run": RetryLimits(2_000, 60_000, 3),  # a model that was busy; a person waits for the outcome
    "embed": RetryLimits(5_000, 900_000, 8),  # the text stays searchable by words meanwhile
    "extract": RetryLimits(2_000, 60_000, 3),
    "graph": RetryLimits(30_000, 900_000, 5),  # flat search answers meanwhile
    "sweep": RetryLimits(10_000, 900_000, 1_000_000),  # forgetting by date must happen in the end
    "repair": RetryLimits(30_000, 900_000, 10),
    "delete": RetryLimits(1_000, 60_000, 1_000_000),  # a deletion that has begun must come to its end
    "pass": RetryLimits(30_000, 900_000, 1_000_000),  # the plan goes on whatever a run met
    "scan": RetryLimits(30_000, 900_000, 5),  # the next scan is due anyway
    "read": RetryLimits(30_000, 900_000, 5),  # each file has its own tries besides
    "erase_finish": RetryLimits(1_000, 60_000, 1_000_000),  # an erase is promised: it is tried until it succeeds
}
"""Every kind but `index`, whose limits are settings."""

MOST_DEATHS: dict[JobKind, int] = {"index": 5}
"""The number of processes that may die while they work on a job before it is given up.

A person who ends the process at the wrong moment counts as well, so it is more than a few. Other kinds go on for ever:
an erase is promised, and an embedding job keeps the vectors that it made.
"""


def limits_of(kind: JobKind, episodic: ThreadEpisodicSettings) -> RetryLimits:
    """Return the limits of a kind."""
    if kind == "index":
        return RetryLimits(
            episodic.retry_base_delay_secs * 1000, episodic.retry_max_delay_secs * 1000, episodic.max_attempts
        )
    return LIMITS[kind]


def next_attempt(now: int, attempts: int, limits: RetryLimits, jitter: float) -> RetryAt | GiveUp:
    """Return the step after the `attempts`-th failure: the delay doubles from base to max; `jitter` is from 0 to 1."""
    if attempts >= limits.max_attempts:
        return GiveUp(attempts)
    delay = min(limits.max_ms, limits.base_ms * 2 ** min(attempts - 1, 62))
    return RetryAt(now + int(delay * (1 + JITTER * jitter)))
