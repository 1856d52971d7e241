"""Decides whether two statements are about the same matter, so that the new one may replace the old one.

Rule 1: a key that a model chose proves nothing: the words decide, or the attribute that the rules find in them.
"""

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from memory.extraction.rule_extraction import extract_statements
from memory.ports import Collaborators
from memory.proposals.proposal import Proposed
from memory.rows.store import active_by_key
from memory.rules.claim_words import holds, telling_terms
from memory.rules.identity import FactIdentity, identify
from memory.rules.same_words import stands_in
from promt.language.reader import whole
from promt.patterns import compile_late
from protocol.base import Scope
from protocol.memory.values import SemanticFields
from protocol.record import Record
from protocol.seams.ports import Lexicon, Tx

_CORRECTS: Final = compile_late(lambda: whole("quotes", "corrects"), re.IGNORECASE)
"""Words that say that something takes the place of something else."""


def corrects(words: str) -> bool:
    """Return whether the words state that something takes the place of something else."""
    return _CORRECTS.search(words) is not None


def is_same_matter(one: str, other: str, lexicon: Lexicon) -> bool:
    """Return whether two statements are about the same matter.

    The rules see the same attribute in both, or both have at least half of the telling words of the shorter one.
    """
    if _attributes(one) & _attributes(other):
        return True
    ours, theirs = set(telling_terms(one, lexicon)), set(telling_terms(other, lexicon))
    shared = [term for term in ours if holds(term, theirs)]
    return bool(shared) and 2 * len(shared) >= min(len(ours), len(theirs))


def restates(proposed: Proposed, known: Record, lexicon: Lexicon) -> bool:
    """Return whether a record has all figures, names and denials of a proposal, and no other value.

    A proposal that corrects something restates nothing.
    """
    is_as_said = proposed.retold is None  # its quote holds nothing more, but for the request around it
    said = [proposed.content, *(evidence.quote for evidence in proposed.evidence if not is_as_said)]
    if proposed.value not in (None, known.value) or any(map(corrects, [proposed.retold or "", *said])):
        return False
    return all(stands_in(words, known.content, lexicon) for words in said)


def restate_kept(proposed: Proposed, kept: Sequence[Record], lexicon: Lexicon) -> Proposed:
    """Return an extractor's proposal as restating the record that a tool of the turn kept of it, if one did.

    A model calls its tool for "Remember that I like tea.", and the extractor reads the same message after the turn.
    `kept` are the records that tools kept in the turn.
    """
    if proposed.same_as is not None or not kept:
        return proposed
    said = telling_terms(proposed.content, lexicon)
    for record in kept if said else ():
        known = set(telling_terms(record.content, lexicon))
        if all(holds(term, known) for term in said):
            return msgspec.structs.replace(proposed, same_as=record.memory_id)
    return proposed


def _attributes(text: str) -> set[str]:
    """Return the attributes that the rules find in a statement."""
    stated = extract_statements({"": text})
    return {fact.semantic.attribute for fact in stated} - {SemanticFields().attribute}


def without_unrelated_key(
    tx: Tx, means: Collaborators, place: tuple[Scope, int], proposed: Proposed, identity: FactIdentity
) -> tuple[Proposed, FactIdentity]:
    """Return the proposal and its identity, without the key that a model chose if its record is about another matter.

    `place` is the scope with its row number.
    """
    scope, scope_id = place
    if proposed.retold is None:
        return proposed, identity
    named = identity._replace(key=proposed.alias, alias=None) if proposed.alias is not None else identity
    met = active_by_key(tx, scope_id, identity) or active_by_key(tx, scope_id, named)
    if met is None or corrects(proposed.retold) or is_same_matter(met.record.content, proposed.content, means.lexicon):
        return proposed, identity
    semantic = msgspec.structs.replace(proposed.semantic, attribute="custom", custom_attribute=None, cardinality="set")
    bare = msgspec.structs.replace(proposed, semantic=semantic, alias=None)
    return bare, identify(scope, semantic, bare.content, bare.value, None, means.keyed)
