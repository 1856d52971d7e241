"""A proposal as the pipeline takes it, from whichever door it came, and what its evidence is worth.

Rule 1: who spoke is read from the stored message, not from what the proposer claims.
Rule 2: a user's evidence is their own words; what they pasted, and what the gateway itself had injected, is nobody's.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from memory.ports import Collaborators
from memory.rows.evidence import add_evidence
from memory.rows.record_columns import CLEANED, texts_of_details
from memory.rules.hygiene import UNSUPPORTED, Junk, find_junk, is_supported
from memory.rules.identity import value_text
from memory.rules.obligations import Ask
from memory.rules.quotes import fold_quote
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
"""Words that the user also said in a thread of their own are theirs."""


_UNSAID = frozenset({"", SemanticFields().attribute})
"""The contract's value of an attribute that nobody named, and the empty one."""


class Proposed(ProposalFields):
    """Everything that a door hands to the pipeline."""

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
    heard: str | None = None
    forbidden: ReasonCode | None = None
    owner: ThreadOrigin = "user"
    approves: str | None = None
    retold: str | None = None
    """The user's sentence that a model's claim rests on: its key is the model's. None where no model chose one."""
    said_at: int | None = None
    """The time at which it was said in a conversation that was brought in; None where it was said to this home."""
    began: int | None = None
    """The generation of forgetting in which the work began; None where nothing was read before the write."""
    meant: Vector | None = None
    same_as: str | None = None
    """The active record that it restates, as an extractor says; with `supersedes`, the one that a person merges that
    record into."""
    is_note: bool = False
    """It is an agent's own note, and no claim about what the user said."""
    ask: Ask | None = None
    """For what a note may not be kept."""


class Checked(Struct, frozen=True):
    """Evidence that was verified, who spoke, and whose thread it was said in."""

    evidence: list[Evidence]
    origin: Origin
    source_kind: SourceKind
    turns: set[str]
    has_failed_quote: bool
    owner: ThreadOrigin


def actor_of(proposed: Proposed) -> Actor:
    """Return the writer: the one that the provenance names, else the kind of door."""
    given = proposed.provenance.created_by
    return given or Actor(kind="extractor" if proposed.run_id is not None else "user")


def clean_proposal(proposed: Proposed) -> Proposed:
    """Return the proposal without what nobody can see in its texts; its host's own data stays as it is."""
    return replace(proposed, **{name: clean_value(getattr(proposed, name)) for name in ("content", *CLEANED)})


def texts_of(proposed: Proposed) -> list[str]:
    """Return every text of a proposal that is stored when it is kept, once."""
    p = proposed
    parts = [p.content, value_text("", p.value) if p.value is not None else "", p.alias or "", *texts_of_details(p)]
    parts += [p.semantic.subject_key or "", p.semantic.custom_attribute or "", p.semantic.attribute]
    parts.append((p.provenance.created_by.id or "") if p.provenance.created_by is not None else "")
    parts += [evidence.quote for evidence in p.evidence]
    return [part for part in dict.fromkeys(parts) if part not in _UNSAID]


def findings_of(proposed: Proposed, scanner: SecretScanner) -> Findings:
    """Return the contents of a proposal's texts that decide how it is handled."""
    texts = texts_of(proposed)
    found = judge(texts, [span for text in texts for span in scanner.find(text)])
    if proposed.declared == "secret_like" or proposed.semantic.sensitivity == "secret":
        return found._replace(secret_kinds=[*found.secret_kinds, "declared_secret"])
    return found


def junk_of(proposed: Proposed, lexicon: Lexicon) -> Junk | None:
    """Return the sort of junk that a model proposed; None for a fact, and for any other door, which is not judged."""
    p = proposed
    if p.heard is None:
        return None
    stated = " ".join([p.content, value_text("", p.value) if p.value is not None else ""])
    is_heard = is_supported(lexicon.query_terms(stated), lexicon.index_terms(p.heard))
    return find_junk(p.content) or (None if is_heard else UNSUPPORTED)


def _stands(tx: Tx, means: Collaborators, quote: str, item: ItemFact) -> bool:
    """Return whether a message really holds the words: a user's in their own words, and nothing that was injected."""
    wanted = fold_quote(quote)
    echoes = means.echo_spans(tx, item.workspace_id, item.text)
    own = keep_savable(item.text, echoes) if item.role == "user" else [_without(item.text, echoes)]
    return bool(wanted) and any(wanted in fold_quote(stretch) for stretch in own)


def _without(text: str, spans: Sequence[tuple[int, int]]) -> str:
    kept: list[str] = []
    place = 0
    for start, end in spans:
        kept.append(text[place:start])
        place = end
    return " ".join([*kept, text[place:]])


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
        if item is None or item.is_altered or not is_there or not _stands(tx, means, evidence.quote, item):
            failed = True
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
    return Checked(_distinct(kept), best[0], best[1], turns, failed and not kept, owner)


def _distinct(evidence: Sequence[Evidence]) -> list[Evidence]:
    """The evidence with the same words of the same message once."""
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
    """Store what supports a record or a candidate; one that is not new may have some of it already."""
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
    """Return the proposal with the place where its verified words were really said."""
    given = proposed.provenance
    source = next((e for e in checked.evidence if e.item_id is not None and given.item_id in {None, e.item_id}), None)
    if source is None:
        return proposed
    place = {"thread_id": source.thread_id, "turn_id": source.turn_id, "item_id": source.item_id}
    return replace(proposed, provenance=replace(given, **place))
