"""Counts the hits that a search without any would have had in other workspaces; none of them is shown.

Rule 1: a hint may cost a moment, not more: workspaces that there is no time for are left out.
"""

from collections.abc import Awaitable, Callable, Sequence

from protocol.base import Elsewhere
from thread_episodic.search.search import FoundChunks

ELSEWHERE_SECONDS = 0.5  # a search that found nothing takes at most so much longer for the hint
MOST_ELSEWHERE = 50
"""Workspaces that are looked in, the newest first."""


async def count_hits(
    workspaces: Sequence[str], find: Callable[[str], Awaitable[FoundChunks]], now: Callable[[], float]
) -> list[Elsewhere]:
    """Return the workspaces in which `find` finds something, most hits first; `now` is a clock in seconds."""
    until = now() + ELSEWHERE_SECONDS
    counts: list[Elsewhere] = []
    for workspace_id in workspaces:
        if now() >= until:
            break
        if hits := (await find(workspace_id)).hits:
            counts.append(Elsewhere(workspace_id=workspace_id, count=len(hits)))
    return sorted(counts, key=lambda one: -one.count)
