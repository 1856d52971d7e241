"""Notes: records that an agent writes on its own account, unconfirmed until a person confirms them.

Rule 1: pure. A note is known by its provenance alone, which is sealed with the record and travels in its bundle.
Rule 2: a note asks nothing of anybody (`obligations.py`), is never of the user's scope, and is archived when it has
faded (`memory/aging/`).
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from protocol.base import Scope
from protocol.record import Provenance, Record, SourceKind, Voice
from protocol.settings import AgentNotes

NOTE_SOURCE: Final[SourceKind] = "agent_note"
"""Statements find it as `"source_kind":"agent_note"` in the JSON of a provenance. Within a value a quotation mark is
escaped, so that no other record's provenance holds it."""
NOTE_LABEL: Final = "unconfirmed note of an agent"
"""The mark before a note that is shown to a model."""
NAMELESS: Final = ""
"""The author of a note whose agent has no name: no turn is that agent's."""
USER_AGENT: Final = "user"
"""The source of the user's own records in a filter by agents."""
NAMELESS_AGENT: Final = "unknown"
"""The source of a note whose agent has no name of its own."""
MAX_IN_PROMPT: Final = 3
"""Notes of its own that a turn is given, after what is the user's."""
_PROVENANCE: Final = msgspec.json.Decoder(Provenance)
"""Made at import: msgspec does not guard two threads of the database that meet a type for the first time at once."""


def voice_of(provenance: Provenance) -> Voice:
    """Return the voice of a record of that provenance."""
    return "machine" if provenance.source_kind == NOTE_SOURCE else "user"


def find_note_author(provenance: Provenance) -> str | None:
    """Return the agent that wrote an unconfirmed note, or `NAMELESS`; None for a record of the user."""
    if voice_of(provenance) == "user":
        return None
    return (provenance.created_by.id if provenance.created_by is not None else None) or NAMELESS


def source_agent_of(provenance: Provenance) -> str:
    """Return the source of a record in a filter by agents.

    It is the note's author, `NAMELESS_AGENT` where that has no name of its own, or `USER_AGENT`.
    """
    author = find_note_author(provenance)
    if author is None:
        return USER_AGENT
    return author if author not in {NAMELESS, USER_AGENT} else NAMELESS_AGENT


def read_note_author(provenance: bytes) -> str:
    """Return the author of a note, given the column of its provenance; `NAMELESS` where that is damaged."""
    try:
        return find_note_author(_PROVENANCE.decode(provenance)) or NAMELESS
    except msgspec.DecodeError:
        return NAMELESS


def is_note(record: Record) -> bool:
    """Return whether a record is an unconfirmed note."""
    return record.voice == "machine"


def how_to_confirm(memory_id: str) -> str:
    """Return the command by which a person confirms a note."""
    return f"pioneer confirm {memory_id}"


def may_note(setting: AgentNotes, *, is_door: bool) -> bool:
    """Return whether a model may write notes; `is_door`: at a door outside of turns."""
    return setting == "all" or (setting == "doors" and is_door)


def scope_of_note(active: Sequence[Scope], wanted: Scope | None) -> Scope | None:
    """Return the scope of a note: the one asked for, else the workspace, else the agent; None where none is active."""
    by_kind = {scope.kind: scope for scope in active}
    return wanted or by_kind.get("workspace") or by_kind.get("agent")
