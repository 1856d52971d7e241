"""A proposal as the write path takes it from any door, and the verification of its evidence.

Rule 1: the speaker of a quote is read from the stored message, never from the proposer's claim.
Rule 2: only own words of the user are their evidence; pasted text, and text that the gateway itself injected, is
nobody's.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from memory.ports import Collaborators
from memory.rows.evidence import add_evidence
from memory.rows.record_columns import CLEANED, texts_of_details
from memory.rules.claim_words import fold_quote
from memory.rules.hygiene import UNSUPPORTED, Junk, find_junk, is_supported
from memory.rules.identity import value_text
from memory.rules.obligations import Ask
from memory.rules.sensitivity import Findings, clean_value, judge
from memory.rules.write_plan import ORIGINS, Origin
from promt.intents import keep_savable
from protocol.base import Scope
from protocol.conversation.values import Role, ThreadOrigin
from protocol.memory.values import Disposition, Evidence, ProposalFields, ReasonCode, SemanticFields
from protocol.record import Actor, Provenance, SourceKind
from protocol.seams.house_facts import ItemFact
from protocol.seams.ports import Lexicon, SecretScanner, Tx, Vector

ROLE_ORIGINS: dict[Role, Origin] = {"user": "user", "assistant": "assistant", "tool": "tool", "system": "system"}
ROLE_SOURCES: dict[Role, SourceKind] = {
    "user": "user_statement",
    "assistant": "assistant_inference",
    "tool": "tool_observation",
    "system": "system",
}
_OWNERS: tuple[ThreadOrigin, ...] = ("user", "task", "system")
"""Owners of threads, the first that holds: words that the user said in a thread of their own, too, are theirs."""
_UNSAID = frozenset({"", SemanticFields().attribute})
"""Texts of a proposal that say nothing: none, and the contract's value for an attribute without a name."""


class Proposed(ProposalFields):
    """Everything that a door hands to the write path."""

    content: str
    workspace_id: str | None
    scope: Scope | None = None
    value: Any = None
    evidence: Sequence[Evidence] = ()
    is_explicit: bool = False
    disposition: Disposition = "route_to_candidate_policy"
    provenance: Provenance = Provenance()
    supersedes: str | None = None
    run_id: str | None = None
    """The run of the extraction that made it; None for every other door."""
    heard: str | None = None
    """All that the user said in the turn, of an extractor's proposal: its content must share a term with it."""
    forbidden: ReasonCode | None = None
    """The reason for which its door already refuses it."""
    owner: ThreadOrigin = "user"
    """The owner of the thread in which it was made."""
    approves: str | None = None
    """The candidate that a person approves by it."""
    retold: str | None = None
    """The user's sentence that a model's claim rests on; its key is the model's choice. None where no model claims."""
    said_at: int | None = None
    """The time at which it was said in a conversation that was brought in; None where it was said to this home."""
    began: int | None = None
    """The generation of forgetting in which the work began; None where nothing was read before the write."""
    meant: Vector | None = None
    """The vector of its content."""
    same_as: str | None = None
    """The active record that it restates by an extractor's claim; with `supersedes`, the one that a person merges that
    record into."""
    is_note: bool = False
    """It is an agent's own note, and claims nothing of the user's."""
    ask: Ask | None = None
    """The way in which a note asks for something, which forbids it."""


class Checked(Struct, frozen=True):
    """The evidence of a proposal that was verified."""

    evidence: list[Evidence]
    origin: Origin
    """The user if any of it is theirs, else the speaker of the first piece."""
    source_kind: SourceKind
    turns: set[str]
    """The turns in which the user said it."""
    has_failed_quote: bool
    """It quotes messages, and none of its quotes stands in them."""
    owner: ThreadOrigin
    """The owner of the thread in which it was said."""


def actor_of(proposed: Proposed) -> Actor:
    """Return the writer: the one that the provenance names, else the extractor of its run, else the user."""
    given = proposed.provenance.created_by
    return given or Actor(kind="extractor" if proposed.run_id is not None else "user")


def clean_proposal(proposed: Proposed) -> Proposed:
    """Return the proposal with invisible characters removed from its texts; the host's metadata stays as it is."""
    return replace(proposed, **{name: clean_value(getattr(proposed, name)) for name in ("content", *CLEANED)})


def texts_of(proposed: Proposed) -> list[str]:
    """Return every text of a proposal that a record of it would store, each once."""
    p = proposed
    author = p.provenance.created_by
    parts = [p.content, value_text("", p.value) if p.value is not None else "", p.alias or "", *texts_of_details(p)]
    parts += [p.semantic.subject_key or "", p.semantic.custom_attribute or "", p.semantic.attribute]
    parts.append((author.id if author is not None else None) or "")
    parts += [evidence.quote for evidence in p.evidence]
    return [part for part in dict.fromkeys(parts) if part not in _UNSAID]


def findings_of(proposed: Proposed, scanner: SecretScanner) -> Findings:
    """Return the sensitive contents of a proposal's texts, and a secret that its proposer declares."""
    texts = texts_of(proposed)
    found = judge(texts, [span for text in texts for span in scanner.find(text)])
    if proposed.declared == "secret_like" or proposed.semantic.sensitivity == "secret":
        return found._replace(secret_kinds=[*found.secret_kinds, "declared_secret"])
    return found


def junk_of(proposed: Proposed, lexicon: Lexicon) -> Junk | None:
    """Return the sort of junk that an extractor proposed; None for a fact, and for every other door."""
    p = proposed
    if p.heard is None:
        return None
    stated = " ".join([p.content, value_text("", p.value) if p.value is not None else ""])
    is_heard = is_supported(lexicon.query_terms(stated), lexicon.index_terms(p.heard))
    return find_junk(p.content) or (None if is_heard else UNSUPPORTED)


def _holds_quote(tx: Tx, means: Collaborators, quote: str, item: ItemFact) -> bool:
    """Return whether a message holds a quote outside of injected text, and a user's message in their own words."""
    wanted = fold_quote(quote)
    echoes = means.echo_spans(tx, item.workspace_id, item.text)
    own = keep_savable(item.text, echoes) if item.role == "user" else [_cut_ranges(item.text, echoes)]
    return bool(wanted) and any(wanted in fold_quote(stretch) for stretch in own)


def _cut_ranges(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return a text without some half-open ranges, which are in order."""
    kept: list[str] = []
    place = 0
    for start, end in spans:
        kept.append(text[place:start])
        place = end
    return " ".join([*kept, text[place:]])


def check_evidence(tx: Tx, means: Collaborators, proposed: Proposed) -> Checked:
    """Return the evidence that stands in the stored messages which it names; other such quotes are dropped.

    Evidence that names no message is kept with the speaker that its proposer gives.
    """
    kept: list[Evidence] = []
    origins: list[tuple[Origin, SourceKind]] = []
    turns: set[str] = set()
    owners: set[ThreadOrigin] = set()
    has_failed = False
    default: SourceKind = "explicit_user_request" if proposed.semantic.intent == "explicit_store" else "user_statement"
    for evidence in proposed.evidence:
        if evidence.item_id is None:
            kind = evidence.source_kind or default
            origins.append((ORIGINS[kind], kind))
            kept.append(evidence)
            continue
        item = means.read_items(tx, [evidence.item_id]).get(evidence.item_id)
        is_there = item is not None and item.workspace_id == proposed.workspace_id
        if item is None or item.is_altered or not is_there or not _holds_quote(tx, means, evidence.quote, item):
            has_failed = True
            continue
        thread = means.read_thread(tx, item.thread_id)
        owners.add(thread.origin if thread is not None else "user")
        kind = default if item.role == "user" else ROLE_SOURCES[item.role]
        origins.append((ROLE_ORIGINS[item.role], kind))
        kept.append(replace(evidence, thread_id=item.thread_id, turn_id=item.turn_id))
        if item.role == "user":
            turns.add(item.turn_id)
    best = next((entry for entry in origins if entry[0] == "user"), origins[0] if origins else ("none", default))
    owner = proposed.owner if proposed.owner != "user" or not owners else min(owners, key=_OWNERS.index)
    return Checked(_distinct(kept), best[0], best[1], turns, has_failed and not kept, owner)


def _distinct(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Return the evidence with each quote of a message once."""
    found: dict[tuple[str, str | None, str | None], Evidence] = {}
    for said in evidence:
        found.setdefault((said.quote, said.item_id, said.turn_id), said)
    return list(found.values())


def keep_evidence(
    tx: Tx,
    checked: Checked,
    now: int,
    *,
    memory_id: str | None = None,
    candidate_id: str | None = None,
    is_new: bool = False,
) -> None:
    """Store the evidence of a record or a candidate; unless that `is_new`, pieces that it has already are left out."""
    for said in checked.evidence:
        values = {
            "memory_id": memory_id,
            "candidate_id": candidate_id,
            "quote": said.quote,
            "item_id": said.item_id,
            "turn_id": said.turn_id,
            "source_kind": said.source_kind or checked.source_kind,
            "thread_id": said.thread_id,
            "at": said.at if said.at is not None else now,
        }
        add_evidence(tx, values, is_new=is_new)


def add_source(proposed: Proposed, checked: Checked) -> Proposed:
    """Return the proposal with the message that holds its first verified quote as its place."""
    given = proposed.provenance
    source = next((e for e in checked.evidence if e.item_id is not None and given.item_id in {None, e.item_id}), None)
    if source is None:
        return proposed
    place = {"thread_id": source.thread_id, "turn_id": source.turn_id, "item_id": source.item_id}
    return replace(proposed, provenance=replace(given, **place))
