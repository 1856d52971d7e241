"""A proposal as the pipeline takes it, from whichever door it came, and what its evidence is worth.

Rule 1: who spoke is read from the stored message, not from what the proposer claims.
Rule 2: words that the gateway itself had injected are nobody's evidence.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from memory.identity import folded
from memory.ports import Collaborators
from memory.write_plan import ORIGINS, Origin
from protocol.base import Scope
from protocol.hooks import ItemFact
from protocol.memory import (
    Disposition,
    Evidence,
    Kind,
    Provenance,
    ReasonCode,
    SemanticFields,
    Sensitivity,
    SourceKind,
)
from protocol.ports import Tx
from protocol.threads import Role, ThreadOrigin

_TYPOGRAPHY = {
    **dict.fromkeys(map(ord, "\u2018\u2019\u201a\u2032"), "'"),
    **dict.fromkeys(map(ord, "\u201c\u201d\u201e\u00ab\u00bb\u2033"), '"'),
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2212"), "-"),
}

ROLE_ORIGINS: dict[Role, Origin] = {"user": "user", "assistant": "assistant", "tool": "tool", "system": "system"}
ROLE_SOURCES: dict[Role, SourceKind] = {
    "user": "user_statement", "assistant": "assistant_inference", "tool": "tool_observation", "system": "system",
}  # fmt: skip


_OWNERS: tuple[ThreadOrigin, ...] = ("user", "task", "system")
"""Words that the user also said in a thread of their own are theirs."""


class Proposed(NamedTuple):
    """Everything that a door hands to the pipeline."""

    semantic: SemanticFields
    content: str
    workspace_id: str | None
    scope: Scope | None = None
    value: Any = None
    alias: str | None = None
    evidence: Sequence[Evidence] = ()
    is_explicit: bool = False
    disposition: Disposition = "route_to_candidate_policy"
    kind: Kind = "semantic"
    tags: Sequence[str] = ()
    confidence: float | None = None
    importance: float = 0.5
    valid_from: int | None = None
    expires_at: int | None = None
    metadata: dict[str, Any] | None = None
    provenance: Provenance = Provenance()
    declared: Sensitivity | None = None
    supersedes: str | None = None
    run_id: str | None = None
    forbidden: ReasonCode | None = None
    owner: ThreadOrigin = "user"


class Checked(NamedTuple):
    """Evidence that was verified, who spoke, and whose thread it was said in."""

    evidence: list[Evidence]
    origin: Origin
    source_kind: SourceKind
    turns: set[str]
    has_failed_quote: bool
    owner: ThreadOrigin


def compared(text: str) -> str:
    """A quote as it is looked for: NFKC, case, white space; typographic quotes and dashes as ASCII."""
    return folded(text.translate(_TYPOGRAPHY))


def _own_words(tx: Tx, means: Collaborators, item: ItemFact) -> str:
    """What was really said in a message, without what the gateway had injected."""
    kept: list[str] = []
    place = 0
    for start, end in means.echo_spans(tx, item.workspace_id, item.text):
        kept.append(item.text[place:start])
        place = end
    return compared(" ".join([*kept, item.text[place:]]))


def check_evidence(tx: Tx, means: Collaborators, proposed: Proposed) -> Checked:
    """Verify quotes against stored messages; a quote that is not there is dropped."""
    kept: list[Evidence] = []
    origins: list[tuple[Origin, SourceKind]] = []
    turns: set[str] = set()
    owners: set[ThreadOrigin] = set()
    failed = False
    default: SourceKind = "explicit_user_request" if proposed.semantic.intent == "explicit_store" else "user_statement"
    for evidence in proposed.evidence:
        if evidence.item_id is None:
            kind = evidence.source_kind or default
            origins.append((ORIGINS[kind], kind))
            kept.append(evidence)
            continue
        item = means.read_items(tx, [evidence.item_id]).get(evidence.item_id)
        is_there = item is not None and item.workspace_id == proposed.workspace_id
        quote = compared(evidence.quote)
        if item is None or not is_there or not quote or quote not in _own_words(tx, means, item):
            failed = True
            continue
        thread = means.read_thread(tx, item.thread_id)
        owners.add(thread.origin if thread is not None else "user")
        kind = default if item.role == "user" else ROLE_SOURCES[item.role]
        origins.append((ROLE_ORIGINS[item.role], kind))
        kept.append(msgspec.structs.replace(evidence, thread_id=item.thread_id, turn_id=item.turn_id))
        if item.role == "user":
            turns.add(item.turn_id)
    best = next((entry for entry in origins if entry[0] == "user"), origins[0] if origins else ("none", default))
    owner = proposed.owner if proposed.owner != "user" or not owners else min(owners, key=_OWNERS.index)
    return Checked(kept, best[0], best[1], turns, failed and not kept, owner)


def sourced(proposed: Proposed, checked: Checked) -> Proposed:
    """The proposal with the place where its verified words were really said."""
    given = proposed.provenance
    source = next((e for e in checked.evidence if e.item_id is not None and given.item_id in {None, e.item_id}), None)
    if source is None:
        return proposed
    place = {"thread_id": source.thread_id, "turn_id": source.turn_id, "item_id": source.item_id}
    return proposed._replace(provenance=msgspec.structs.replace(given, **place))
