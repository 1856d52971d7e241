"""Decides which items are conversation that may be found again.

Rule 1: pure.
"""

from agent.states import TURNS

MIN_SUMMARY_CHARS = 12
"""A shorter summary, such as "done" or "exit code 0", holds nothing to find."""
OWN_TOOLS = ("memory_", "thread_search", "artifact_read", "knowledge_")
"""Parts of the names of the gateway's own tools."""
UNFINISHED = frozenset({"failed", "interrupted", "cancelled"})
"""Statuses of turns without a whole answer: of these, only the user's message may be found again."""
UNDER_WAY = frozenset(status for status, ends in TURNS.items() if "complete" in ends)
"""Statuses of turns that have not ended: their messages are handed to the index when they end."""


def is_indexable(kind: str, status: str, memory_mode: str, turn_status: str, text: str, name: str | None) -> bool:
    """Return whether a message, or a host's summary of its tool, may be found again."""
    is_whole = status == "completed" and not (kind != "user_message" and turn_status in UNFINISHED)
    is_said = kind in {"user_message", "agent_message"} or (kind == "tool_event" and _is_telling(text, name or ""))
    return is_said and is_whole and turn_status not in UNDER_WAY and memory_mode != "ignored"


def _is_telling(summary: str, tool: str) -> bool:
    """Return whether a tool's summary says more than "done" and repeats nothing that the gateway's own tools showed.

    The memory behind such a copy may be forgotten, and the copy would stay.
    """
    return len(summary.strip()) >= MIN_SUMMARY_CHARS and not any(own in tool for own in OWN_TOOLS)
