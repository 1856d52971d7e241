"""Counts the results of an extraction: every fact once.

Rule 1: pure.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from protocol.memory.values import Action
from protocol.memory.writes import WriteResult

Stats: TypeAlias = dict[str, int]
NO_STATS: Mapping[str, int] = dict.fromkeys(
    ("facts", "malformed", "quote_not_found", "activated", "merged", "candidates", "rejected", "suppressed"), 0
)
_COUNTED_AS: Mapping[Action, str] = {
    "activate": "activated",
    "supersede": "activated",
    "merge": "merged",
    "candidate": "candidates",
    "reject": "rejected",
    "suppress": "suppressed",
}


def count(results: Sequence[WriteResult]) -> Stats:
    """Return the results counted by what became of the fact, with a zero for each way that none went."""
    stats = dict(NO_STATS)
    for result in results:
        decision = result.decision
        is_unquoted = decision.reason_code == "quote_not_found"
        stats["quote_not_found" if is_unquoted else _COUNTED_AS[decision.action]] += 1
    return stats
