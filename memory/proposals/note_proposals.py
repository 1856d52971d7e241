"""Makes the proposal of an agent's note, whichever door it came through.

Rule 1: pure. The words of a note are searched for what they ask here, before any transaction: it takes milliseconds.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from memory.proposals.proposal import Proposed, clean_proposal
from memory.rules.identity import value_text
from memory.rules.notes import NOTE_SOURCE, scope_of_note
from memory.rules.obligations import Ask, find_ask, find_ask_of_name
from protocol.base import Scope
from protocol.memory.values import Evidence, SemanticFields
from protocol.memory.writes import NoteParams, RememberParams
from protocol.record import MAX_QUOTE_CHARS, Actor, Provenance

IN_USER_SCOPE: Final = Ask("user_scope", "a note is not kept with what is the user's own: give a workspace or an agent")


def _find_ask(proposed: Proposed) -> Ask | None:
    """Return why a proposal may not become a note: its ask, or that it is in the user's scope; None where it may."""
    if proposed.scope is not None and proposed.scope.kind == "user":
        return IN_USER_SCOPE
    texts, names = [proposed.content], [*proposed.tags, proposed.alias or ""]
    if proposed.value is not None:
        texts.append(value_text("", proposed.value))
    found = [find_ask(text, proposed.semantic.category) for text in texts if text.strip()]
    found += [find_ask_of_name(name) for name in names if name.strip()]
    return next((ask for ask in found if ask is not None), None)


def from_note(params: NoteParams, active: Sequence[Scope], workspace_id: str | None) -> Proposed:
    """Return an agent's note as a proposal."""
    author = Actor(kind=params.agent_kind, id=params.agent_id)
    members: Mapping[str, Any] = {
        "scope": scope_of_note(active, params.scope),
        "value": params.value,
        "kind": params.kind,
        "tags": params.tags,
        "importance": params.importance,
        "path": params.path,
        "expires_at": params.expires_at,
    }
    place = Provenance(thread_id=params.context.thread_id)
    return _note(params.content, SemanticFields(category=params.category), author, place, workspace_id, members)


def note_of_tool(proposed: Proposed, params: RememberParams, agent_id: str | None, active: Sequence[Scope]) -> Proposed:
    """Return the proposal of a model's `memory_remember`, as a note of its own."""
    members: Mapping[str, Any] = {
        "scope": scope_of_note(active, params.scope),
        "value": params.value,
        "kind": "observation",
        "owner": proposed.owner,
        "forbidden": proposed.forbidden,
    }
    semantic = SemanticFields(category=params.category)
    author = Actor(kind="assistant", id=agent_id)
    return _note(params.content, semantic, author, proposed.provenance, proposed.workspace_id, members)


def _note(
    content: str,
    semantic: SemanticFields,
    author: Actor,
    place: Provenance,
    workspace_id: str | None,
    members: Mapping[str, Any],
) -> Proposed:
    """Return the proposal of a note, with the way in which it asks for something, if it does."""
    provenance = msgspec.structs.replace(place, source_kind=NOTE_SOURCE, created_by=author)
    quote = content[:MAX_QUOTE_CHARS]
    said = Evidence(quote=quote, thread_id=place.thread_id, turn_id=place.turn_id, source_kind=NOTE_SOURCE)
    # another subject, so that its key is never that of a user's record
    semantic = msgspec.structs.replace(semantic, subject="current_agent")
    proposed = Proposed(
        semantic=semantic,
        content=content,
        workspace_id=workspace_id,
        evidence=[said],
        provenance=provenance,
        is_note=True,
        **members,
    )
    return msgspec.structs.replace(proposed, ask=_find_ask(clean_proposal(proposed)))
