"""Codes of the contract in words for a person: gates, reasons, doors and events.

Rule 1: data only. A code without a row is shown with blanks for its underscores.
"""

from collections.abc import Mapping
from typing import Final

from protocol.base import DoorName
from protocol.memory.changes import ChangeEvent
from protocol.memory.explaining import GateName
from protocol.memory.values import EventName
from protocol.record import SourceKind

GATES: Final[Mapping[GateName, str]] = {
    "memory_enabled": "Memory is switched on",
    "extraction_enabled": "Learning from conversations is switched on",
    "turn_succeeded": "The turn ended well",
    "policy": "Nobody asked not to remember",
    "eligibility": "It comes from somebody whose word counts",
    "extractor": "The extractor answered",
    "fact_valid": "It is a whole statement",
    "quote": "Its quote stands in the conversation",
    "own_words": "They are the user's own words",
    "instruction": "It gives a model no orders",
    "secret": "It holds no password, key or card number",
    "scope": "It belongs to a place that may be written",
    "duplicate": "It is not known already",
    "admission": "It is sure and lasting enough",
    "recall_enabled": "Recall is switched on",
    "scope_active": "Its place is in use here",
    "status": "It is believed at present",
    "expiry": "Its time is not over",
    "voice": "It is the user's word, or the agent's own note",
    "sensitivity": "It is not too sensitive to be shown unasked",
    "integrity": "Its bytes are as they were written",
    "excluded": "It was not excluded from recall",
    "candidate": "It matches the question",
    "floor": "It matches well enough",
    "budget": "There was room for it",
    "already_shown": "It was not in the prompt already",
}
"""The condition of each gate, as a sentence."""
LEFT_OUT: Final[Mapping[GateName, str]] = {
    "scope_active": "Its place is not in use here.",
    "status": "It is not believed any more.",
    "expiry": "Its time is over.",
    "voice": "It is another agent's note.",
    "sensitivity": "It is too sensitive to be shown unasked.",
    "integrity": "Its bytes are not as they were written.",
    "excluded": "It was excluded from recall.",
    "candidate": "It does not match the question.",
    "floor": "It does not match well enough.",
    "budget": "There was no room for it.",
    "already_shown": "It was in the prompt already.",
}
"""The sentence for each gate that kept a memory out of a prompt."""

REASONS: Final[Mapping[str, str]] = {
    "active_created": "It was stated clearly, and nothing spoke against it.",
    "duplicate_active": "It was known already; this is one more source for it.",
    "near_duplicate": "It says nearly the same as something known.",
    "superseded_by_correction": "You corrected what was believed before.",
    "made_more_precise": "It says more exactly what was believed before.",
    "contradiction_candidate": "It contradicts something believed; you decide.",
    "contradiction_resolved": "It was said again, and so it replaced what it contradicted.",
    "candidate_created": "It is not sure enough to be kept unasked; you decide.",
    "duplicate_candidate": "It was proposed before and waits already.",
    "review_disabled_middle_confidence": "It was not sure enough, and review is switched off.",
    "proactive_writes_disabled": "Nothing is kept unasked here.",
    "low_score": "It was too unsure to keep.",
    "transient": "It holds for a moment only.",
    "session_only": "It holds for one conversation only.",
    "secret_detected": "It holds a secret, which is never kept.",
    "own_context_block": "It was the gateway's own text coming back.",
    "regulated_needs_request": "It is sensitive, and nobody asked to keep it.",
    "assistant_inference": "The assistant concluded it; nobody said it.",
    "tool_or_web_source": "A tool or a web page said it, not the user.",
    "generated_summary": "A summary said it, not the user.",
    "agent_note_created": "An agent noted it on its own account. It counts as yours once you confirm it.",
    "note_confirmed": "You confirmed an agent's note.",
    "stored_as_said": "It was kept in the very words that were said.",
    "missing_evidence": "Nothing was quoted for it.",
    "quote_not_found": "The quote for it is not in the conversation.",
    "not_own_words": "They were not the user's own words.",
    "suppressed_by_rejection": "You refused this before.",
    "no_memory_requested": "The user asked not to remember.",
    "source_forgotten": "What it came from was forgotten.",
    "deleted": "It was forgotten.",
    "regulated": "It is sensitive; its words are not shown here.",
    "erased": "It was erased to the last byte.",
    "expired": "Its time is over.",
}
"""Reasons as sentences, without rare ones."""

DOORS: Final[Mapping[DoorName, str]] = {
    "stdio": "an app",
    "http": "a program over HTTP",
    "mcp": "an assistant over MCP",
    "command_line": "the command line",
    "inspect": "you, on this page",
    "proxy": "the chat proxy",
    "hook": "an assistant's hook",
    "ingest": "a transcript",
}
"""The way by which a change came, in words."""

EVENTS: Final[Mapping[ChangeEvent, str]] = {
    "learned": "Learned",
    "replaced": "Replaced",
    "forgotten": "Forgotten",
    "restored": "Brought back",
    "archived": "Put aside",
    "expired": "Expired",
    "changed": "Edited",
    "erased": "Erased",
    "proposed": "Proposed",
}
"""The changes of a day."""

STEPS: Final[Mapping[EventName, str]] = {
    "created": "remembered",
    "evidence_added": "said again",
    "contested": "contradicted",
    "uncontested": "no longer contradicted",
    "superseded": "replaced",
    "updated": "edited",
    "expired": "expired",
    "archived": "put aside",
    "deleted": "forgotten",
    "restored": "brought back",
    "erased": "erased",
    "imported": "imported",
    "confirmed": "confirmed",
    "reinforced": "kept from fading",
    "promoted": "kept for good",
}
"""The steps of a memory's history."""

ERROR_HEADINGS: Final[Mapping[str, str]] = {
    "conflict": "That changed in the meantime.",
    "not_found": "That does not exist here, or not any more.",
    "scope_out_of_context": "That belongs to another place.",
    "already_decided": "That was decided already.",
    "write_refused": "That was not kept.",
    "memory_disabled": "Memory is switched off.",
    "invalid_params": "Something in the form is not right.",
    "storage_full": "The disk is full.",
}
"""The headings of error pages, by the error's reason."""
ASKED = "You asked for it to be kept."
"""The reason of a memory that the user asked for, in place of that of its code."""


def reason_of(code: str | None, source: SourceKind | None) -> str:
    """Return the reason for which a record was kept, as a sentence; that the user asked for it is one."""
    is_asked = code == "active_created" and source == "explicit_user_request"
    return ASKED if is_asked else reason_sentence(code)


def reason_sentence(code: str | None) -> str:
    """Return a reason as a sentence; empty without one."""
    if not code:
        return ""
    return REASONS.get(code) or f"{code.replace('_', ' ').capitalize()}."
