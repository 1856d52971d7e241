"""Stores a proposal with its candidate while it waits, and rebuilds it when it is approved.

Rule 1: the members that a record needs are kept; the text stands in the candidate's own columns.
"""

from typing import Any, Final

import msgspec

from memory.proposals.proposal import Checked, Proposed
from memory.rows.evidence import evidence_of_candidate
from memory.rows.record_columns import to_column
from memory.rows.store import StoredCandidate
from memory.rules.actors import APPROVER
from protocol.memory.values import ProposalFields
from protocol.record import SourceKind
from protocol.seams.ports import Tx


class KeptProposal(ProposalFields, omit_defaults=True):
    """A proposal without its words, as a column keeps it."""

    under_review: bool = False
    """It was made while a person reviews proposals: only a person decides on it."""


_KEPT: Final = msgspec.json.Decoder(KeptProposal)
"""Made at import: msgspec does not guard two threads of the database that meet a type for the first time at once."""


def to_kept_column(proposed: Proposed, source_kind: SourceKind, *, under_review: bool) -> str:
    """Return the members of a proposal that are kept, as the JSON of a column."""
    provenance = msgspec.structs.replace(proposed.provenance, source_kind=source_kind)
    members: dict[str, Any] = {name: getattr(proposed, name) for name in ProposalFields.__struct_fields__}
    kept = KeptProposal(**members, under_review=under_review)
    return to_column(msgspec.structs.replace(kept, provenance=provenance))


def proposal_of(found: StoredCandidate) -> KeptProposal:
    """Return the proposal that a candidate was made from, with the category that the candidate has now."""
    kept = _KEPT.decode(found.proposal)
    semantic = msgspec.structs.replace(kept.semantic, category=found.candidate.category)
    return msgspec.structs.replace(kept, semantic=semantic)


def build_approved_proposal(
    tx: Tx, found: StoredCandidate, content: str, value: Any, workspace_id: str | None
) -> Proposed:
    """Return a candidate as the explicit wish of the person who approves it, in the words that they approve."""
    kept, candidate = proposal_of(found), found.candidate
    members: dict[str, Any] = {name: getattr(kept, name) for name in ProposalFields.__struct_fields__}
    members["provenance"] = msgspec.structs.replace(kept.provenance, created_by=APPROVER)
    return Proposed(
        **members,
        content=content,
        workspace_id=workspace_id,
        scope=candidate.scope,
        value=value,
        evidence=evidence_of_candidate(tx, candidate.candidate_id),
        is_explicit=True,
        disposition="accept_active",
        approves=candidate.candidate_id,
    )


def build_approved_evidence(proposed: Proposed) -> Checked:
    """Return the verified evidence of an approved candidate: none beside the candidate's own, which moves with it.

    It is not verified again, since its approver vouches for it.
    """
    turns = {evidence.turn_id for evidence in proposed.evidence if evidence.turn_id is not None and evidence.item_id}
    return Checked([], "user", proposed.provenance.source_kind, turns, has_failed_quote=False, owner="user")
