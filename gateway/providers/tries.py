"""Further tries of a provider's request: the faults that deserve one, their number and times.

Rule 1: a server's `Retry-After` comes first; a request that would fail again is not tried again.
"""

from tenacity import AsyncRetrying, RetryCallState, stop_after_attempt, wait_exponential, wait_random

from protocol.models import PASSING_FAULTS, ProviderFailed, ProviderFault

MAX_TRIES = 3
TRIED_ONCE: frozenset[ProviderFault] = frozenset({"bad_json"})
"""Passing faults that no further try mends within seconds: a model that wrote nonsense writes it again."""

FIRST_WAIT_SECONDS = 0.05  # a broken connection is often whole again at once
MAX_WAIT_SECONDS = 2.0  # a person waits for the answer
MAX_RETRY_AFTER_SECONDS = 15.0
"""A server that asks for a longer wait is not asked again in this turn: an early request only prolongs it."""


def _failure(state: RetryCallState) -> ProviderFailed | None:
    error = state.outcome.exception() if state.outcome is not None else None
    return error if isinstance(error, ProviderFailed) else None


def _is_tried_again(state: RetryCallState) -> bool:
    failed = _failure(state)
    if failed is None or failed.fault in TRIED_ONCE:
        return False
    return failed.fault in PASSING_FAULTS and (failed.retry_after or 0) <= MAX_RETRY_AFTER_SECONDS


def _wait(state: RetryCallState) -> float:
    """Return the seconds that the server asks to wait, else a little more after each try."""
    backoff = wait_exponential(multiplier=FIRST_WAIT_SECONDS, max=MAX_WAIT_SECONDS) + wait_random(0, FIRST_WAIT_SECONDS)
    failed = _failure(state)
    return max(backoff(state), (failed.retry_after or 0.0) if failed is not None else 0.0)


def tries() -> AsyncRetrying:
    """Return the iterator of one request's tries."""
    return AsyncRetrying(retry=_is_tried_again, stop=stop_after_attempt(MAX_TRIES), wait=_wait, reraise=True)
