"""Makes a proposal from each door's input: the wire, a tool, the extractor, a correction.

Rule 1: pure; a door never decides on a proposal. Notes are in `note_proposals.py`.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from memory.extraction.rule_extraction import extract_statements
from memory.proposals.proposal import Proposed
from memory.proposals.same_matter import corrects
from memory.rows.record_columns import Stored, to_column
from memory.rules.actors import EXTRACTOR, RULES
from memory.rules.categories import PROJECT_CATEGORIES
from memory.rules.claim_words import fold_quote
from memory.rules.identity import SINGLE_ATTRIBUTES, key_part
from memory.rules.obligations import find_ask_of_name
from memory.rules.paths import require_path
from memory.rules.quotes import Claim, SupportedClaim, as_said_category, find_sentence, find_support, near_sentence
from memory.rules.sensitivity import clean
from promt.intents import detect, find_unsaved
from protocol.errors import CallerError
from protocol.hooks import TurnContext
from protocol.memory.facts import Fact, FactEvidence
from protocol.memory.values import MAX_METADATA_BYTES, MAX_VALUE_BYTES, Evidence, ReasonCode, SemanticFields
from protocol.memory.writes import RememberParams, UpdateParams, WriteParams
from protocol.record import MAX_CONTENT_BYTES, MAX_QUOTE_CHARS, Actor, Provenance, details_of
from protocol.seams.ports import Lexicon


def explicit_fields(params: RememberParams) -> SemanticFields:
    """Return the semantic fields of an explicit wish."""
    is_project = params.category in PROJECT_CATEGORIES
    return SemanticFields(
        intent="explicit_store",
        explicitness="explicit",
        category=params.category,
        subject="project" if is_project else "current_user",
        attribute=params.attribute or "custom",
        cardinality="single" if params.attribute is not None else None,
        durability="project_lifetime" if is_project else "long_lived",
        certainty="high",
        sensitivity="regulated" if params.sensitivity == "regulated" else "none",
    )


def check_bounds(content: str | None, value: Any, metadata: Mapping[str, Any] | None, filed: str | None = None) -> None:
    """Raise `CallerError` for what the schema cannot express: sizes in bytes, and the form of a record's path."""
    if filed is not None:
        require_path(filed)
    for path, size, limit in (
        ("$.content", len(content.encode()) if content is not None else 0, MAX_CONTENT_BYTES),
        ("$.value", len(to_column(value).encode()) if value is not None else 0, MAX_VALUE_BYTES),
        ("$.metadata", len(to_column(metadata).encode()) if metadata else 0, MAX_METADATA_BYTES),
    ):
        if size > limit:
            raise CallerError.at(path, f"It is larger than {limit} bytes")


def forbidden_in(turn: TurnContext) -> ReasonCode | None:
    """Return the reason for which a turn may write no durable memory, or None."""
    is_closed = turn.memory_mode != "normal" or turn.mode == "chat" or turn.parent_thread_id is not None
    return "memory_write_disabled" if is_closed else None


def explicit_wish(params: RememberParams, provenance: Provenance, workspace_id: str | None) -> Proposed:
    """Return the proposal of an explicit wish, whose own words are its evidence."""
    evidence = Evidence(
        quote=params.content[:MAX_QUOTE_CHARS],
        thread_id=provenance.thread_id,
        turn_id=provenance.turn_id,
        source_kind=provenance.source_kind,
    )
    return Proposed(
        semantic=explicit_fields(params),
        content=params.content,
        workspace_id=workspace_id,
        scope=params.scope,
        value=params.value,
        alias=params.key,
        evidence=[evidence],
        is_explicit=True,
        disposition="accept_active",
        confidence=params.confidence,
        provenance=provenance,
        declared=params.sensitivity,
        supersedes=params.supersedes,
        **details_of(params),
    )


def quote_file(wish: Proposed, *, is_there: bool) -> Proposed:
    """Return the user's wish to keep words of a file: their own wish if the words stand there, else a refused one."""
    if not is_there:
        return replace(wish, forbidden="quote_not_found")
    return replace(wish, evidence=[replace(one, source_kind="explicit_user_request") for one in wish.evidence])


def is_explicit_wish(semantic: SemanticFields) -> bool:
    """Return whether a proposal claims to be a wish of the user, in so many words."""
    return semantic.intent == "explicit_store" and semantic.explicitness == "explicit"


def is_malformed(fact: Fact) -> bool:
    """Return whether a fact has no visible words, or more than a record holds."""
    try:
        check_bounds(fact.content, fact.value, None)
    except CallerError:
        return True
    return not clean(fact.content).strip()


def from_fact(
    turn: TurnContext,
    fact: Fact,
    run_id: str,
    user_items: Mapping[str, str],
    *,
    lexicon: Lexicon,
    is_by_rule: bool = False,
) -> Proposed:
    """Return the proposal of an extractor's fact, reduced to what the user's own words of this turn support.

    `user_items` are the user's messages by id. A fact that a rule found is in the user's words already.
    """
    item_id = _item_with(fact.evidence, user_items)
    message = user_items.get(item_id or "", "")
    supported = _find_support(fact, message, lexicon, is_by_rule=is_by_rule)
    evidence = Evidence(
        quote=fact.evidence.quote, thread_id=turn.thread_id, turn_id=turn.turn_id, item_id=item_id or "itm_none"
    )
    refused = forbidden_in(turn) or ("malformed_fact" if is_malformed(fact) else None)
    semantic, content, value, sentence = fact.semantic, fact.content, fact.value, fact.evidence.quote
    if isinstance(supported, SupportedClaim):
        content, value, sentence = supported.content, supported.value, supported.sentence
        semantic = _without_claims(semantic, supported) if supported.is_picked else semantic
        semantic = semantic if is_by_rule else _without_orders(semantic, message)
        evidence = replace(evidence, quote=supported.quote)
    else:
        refused = refused or supported
    is_asked = is_by_rule or corrects(sentence) or detect(message).remember
    if semantic.intent == "explicit_store" and not is_asked:
        semantic = replace(semantic, intent="implicit_candidate")
    return Proposed(
        semantic=semantic,
        content=content,
        workspace_id=turn.workspace_id,
        value=value,
        evidence=[evidence],
        run_id=run_id,
        same_as=None if is_by_rule else fact.same_as,
        heard="\n".join(user_items.values()),
        forbidden=refused,
        is_explicit=is_explicit_wish(semantic),
        owner=turn.origin,
        said_at=turn.said_at,
        retold=None if is_by_rule else sentence,
        provenance=Provenance(
            source_kind="user_statement",
            thread_id=turn.thread_id,
            turn_id=turn.turn_id,
            item_id=item_id,
            created_by=RULES if is_by_rule else EXTRACTOR,
        ),
    )


def _without_claims(semantic: SemanticFields, supported: SupportedClaim) -> SemanticFields:
    """Return the fields of a fact without those that its proposer chose: an obeyed category, and names of its key."""
    category = as_said_category(semantic.category, supported)
    return replace(
        semantic, category=category, attribute="custom", custom_attribute=None, subject_key=None, cardinality=None
    )


def _without_orders(semantic: SemanticFields, text: str) -> SemanticFields:
    """Return the fields of a fact without names of its key that ask something of their reader.

    Where the message asks not to keep something, every name of the model's is dropped: it may be a name of that.
    """
    named = {name: str(getattr(semantic, name) or "") for name in ("attribute", "custom_attribute", "subject_key")}
    named = {name: words for name, words in named.items() if key_part(words) not in SINGLE_ATTRIBUTES}
    has_unsaved = bool(find_unsaved(text))
    dropped = [name for name, words in named.items() if has_unsaved or find_ask_of_name(words) is not None]
    return replace(semantic, **{name: "custom" if name == "attribute" else None for name in dropped})


def _find_support(fact: Fact, text: str, lexicon: Lexicon, *, is_by_rule: bool) -> SupportedClaim | ReasonCode:
    """Return the part of a fact that a message supports: all of it where a rule found it there."""
    content, value, quote = fact.content, fact.value, fact.evidence.quote
    if is_by_rule:
        return SupportedClaim(content, value, quote, quote)
    return find_support(Claim(content, value, fact.semantic.category, quote), text, lexicon)


def _item_with(evidence: FactEvidence, user_items: Mapping[str, str]) -> str | None:
    """Return the id of the message that holds the quote: the named one, else the only one; without a name the first.

    Where no message holds it in the user's own words, it is one that holds it otherwise, or the only one with a
    similar sentence: the reason of the refusal follows from it. None where there is none, or several might be meant.
    """
    holding = [item_id for item_id, text in user_items.items() if find_sentence(evidence.quote, text) is not None]
    if evidence.item_id in holding:
        return evidence.item_id
    if len(holding) == 1 or (holding and evidence.item_id is None):
        return holding[0]
    if holding:  # several do, and the name is wrong: it is unknown which was meant
        return None
    wanted = fold_quote(evidence.quote)
    in_any_words = next((item_id for item_id, text in user_items.items() if wanted in fold_quote(text)), None)
    if in_any_words is not None:
        return in_any_words
    near = [item_id for item_id, text in user_items.items() if near_sentence(evidence.quote, text) is not None]
    return near[0] if len(near) == 1 else None


def correction(params: UpdateParams, stored: Stored, content: str, workspace_id: str | None) -> Proposed:
    """Return the explicit correction of a record by new words; members that `params` does not name stay as they are."""
    old = stored.record
    kept: dict[str, Any] = details_of(old) | {"category": old.category, "value": old.value}
    given: dict[str, Any] = {name: value for name in kept if (value := getattr(params, name, UNSET)) is not UNSET}
    remember = RememberParams(
        content=content,
        scope=old.scope,
        key=stored.alias or (old.key if stored.is_single else None),
        sensitivity=old.sensitivity,
        confidence=old.confidence,
        supersedes=old.memory_id,
        **kept | given,
    )
    thread_id = params.context.thread_id or old.provenance.thread_id
    return explicit_wish(remember, Provenance(source_kind="user_correction", thread_id=thread_id), workspace_id)


def from_write(params: WriteParams, workspace_id: str | None) -> Proposed:
    """Return the proposal of a `memory/write`; without a provenance its place is that of its first evidence."""
    first = params.evidence[0] if params.evidence else None
    provenance = params.provenance or Provenance(
        source_kind="user_statement",
        thread_id=(first.thread_id if first else None) or params.context.thread_id,
        turn_id=first.turn_id if first else None,
        item_id=first.item_id if first else None,
    )
    return Proposed(
        semantic=params.semantic,
        content=params.content,
        workspace_id=workspace_id,
        scope=params.scope,
        value=params.value,
        alias=params.key,
        evidence=params.evidence,
        is_explicit=is_explicit_wish(params.semantic),
        disposition=params.disposition,
        confidence=params.confidence,
        provenance=provenance,
        **details_of(params),
    )


def _with_own_key(wish: Proposed, said: str) -> Proposed:
    """Return a wish with the value and the key that the rules find in the user's sentence, where they find one.

    A model's record of "my favourite colour is teal" then gives way to "my favourite colour is red", as a record that
    the rules made does.
    """
    stated = [fact for fact in extract_statements({"": said}) if fact.semantic.cardinality == "single"]
    if len(stated) != 1 or wish.value is not None or wish.alias is not None or not isinstance(stated[0].value, str):
        return wish
    fact = stated[0]
    if fold_quote(fact.value) not in fold_quote(wish.content):
        return wish
    semantic = replace(fact.semantic, intent=wish.semantic.intent, explicitness=wish.semantic.explicitness)
    return replace(wish, semantic=semantic, value=fact.value)


def from_tool(
    turn: TurnContext, params: RememberParams, *, explicit: bool, said: str | None, is_evidence: bool
) -> Proposed:
    """Return the proposal of a model's `memory_remember`: a wish of the user only if they asked for it (`explicit`).

    `said` is the sentence in which they did; with `is_evidence` it is the evidence in place of the model's words.
    """
    given = params.provenance or Provenance()
    source = "explicit_user_request" if explicit else "assistant_inference"
    provenance = replace(
        given,
        source_kind=source,
        thread_id=turn.thread_id,
        turn_id=turn.turn_id,
        created_by=Actor(kind="assistant", id=given.created_by.id if given.created_by is not None else None),
    )
    proposed = replace(
        _with_own_key(explicit_wish(params, provenance, turn.workspace_id), said or ""),
        owner=turn.origin,
        forbidden=forbidden_in(turn),
        retold=said,
    )
    if said is not None and is_evidence:
        quoted = replace(proposed.evidence[0], quote=said[:MAX_QUOTE_CHARS])
        proposed = replace(proposed, evidence=[quoted])
    if not explicit:
        semantic = replace(proposed.semantic, intent="implicit_candidate", explicitness="implicit")
        proposed = replace(proposed, semantic=semantic, is_explicit=False)
    return proposed
