"""A candidate while it waits, and how that ends: rows only.

Rule 1: what is kept of a proposal is what a record needs on the day it is approved; the text stands in the candidate's own columns.
Rule 2: a candidate ends once; whoever finds that another has ended it changes nothing.
Rule 3: when nothing that speaks against a record waits any more, the record is not contested any more.
"""

from typing import Any, Final, NamedTuple

import msgspec

from memory.proposals.proposal import Checked, Proposed
from memory.rows.notices import Notice, changed
from memory.rows.store import SQL, Change, StoredCandidate, add_event, encoded, get_record, known_candidate
from protocol.memory import Actor, CandidateStatus, Evidence, ProposalFields, SourceKind
from protocol.seams.ports import Tx

ADMISSION = "admission"
"""Who decides when it is not a person: the score, by repetition or because a doubt is settled."""


APPROVER = Actor(kind="user", id="approval")
"""Who wrote a record that was a candidate: the person who approved it stands for its words."""


class KeptProposal(ProposalFields, omit_defaults=True):
    """A proposal without its words, as a column keeps it."""


_KEPT: Final = msgspec.json.Decoder(KeptProposal)
"""Made here: two threads of the database must not be the first to meet a type at once, which msgspec does not guard."""


class End(NamedTuple):
    """How a candidate ends."""

    status: CandidateStatus
    decided_by: str = ADMISSION
    memory_id: str | None = None
    merged_into: str | None = None


def kept_of(proposed: Proposed, source_kind: SourceKind) -> str:
    """What is kept of a proposal, as a column."""
    provenance = msgspec.structs.replace(proposed.provenance, source_kind=source_kind)
    members: dict[str, Any] = {name: getattr(proposed, name) for name in KeptProposal.__struct_fields__}
    return encoded(msgspec.structs.replace(KeptProposal(**members), provenance=provenance))


def proposal_of(found: StoredCandidate) -> KeptProposal:
    """What was kept, with the category that the candidate shows."""
    kept = _KEPT.decode(found.proposal)
    semantic = msgspec.structs.replace(kept.semantic, category=found.candidate.category)
    return msgspec.structs.replace(kept, semantic=semantic)


def evidence_of(tx: Tx, candidate_id: str) -> list[Evidence]:
    """The words that support a candidate; who said them was verified when they came."""
    rows = tx.all(SQL["evidence_of_candidate"], {"candidate_id": candidate_id})
    names = ("quote", "thread_id", "turn_id", "item_id", "source_kind", "at")
    return [Evidence(**dict(zip(names, row, strict=True))) for row in rows]


def approved_proposal(tx: Tx, found: StoredCandidate, content: str, value: Any, workspace_id: str | None) -> Proposed:
    """The candidate as its approver's own wish."""
    kept, candidate = proposal_of(found), found.candidate
    members: dict[str, Any] = msgspec.structs.asdict(kept)
    members["provenance"] = msgspec.structs.replace(kept.provenance, created_by=APPROVER)
    return Proposed(
        **members, content=content, workspace_id=workspace_id, scope=candidate.scope, value=value,
        evidence=evidence_of(tx, candidate.candidate_id), is_explicit=True, disposition="accept_active",
        approves=candidate.candidate_id,
    )  # fmt: skip


def approved_evidence(proposed: Proposed) -> Checked:
    """An approved candidate's evidence moves with it: nothing is added, and the approver stands for it."""
    turns = {evidence.turn_id for evidence in proposed.evidence if evidence.turn_id is not None and evidence.item_id}
    return Checked([], "user", proposed.provenance.source_kind, turns, has_failed_quote=False, owner="user")


def end_candidate(tx: Tx, candidate_id: str, end: End, now: int) -> bool:
    """Let a candidate wait no more; False when it had ended before. Its evidence goes where it went."""
    target = end.memory_id or end.merged_into
    by_id = {"candidate_id": candidate_id}
    is_ended = tx.run(SQL["decide_candidate"], {
        **by_id, "status": end.status, "promoted_memory_id": end.memory_id, "merged_into": end.merged_into, "now": now,
        "decided_by": end.decided_by,
    })  # fmt: skip
    if not is_ended or target is None:
        return bool(is_ended)
    into_record = known_candidate(tx, target) is None
    ids = {"memory_id": target if into_record else None, "target_id": None if into_record else target}
    tx.run(SQL["move_evidence"], {**by_id, **ids})
    tx.run(SQL["drop_evidence"], by_id)
    tx.run(SQL["follow_merge"], {**by_id, "merged_into": target})
    return True


def settle_doubts(tx: Tx, memory_id: str, now: int) -> None:
    """What still speaks against a record has lost: the record was confirmed, or has been replaced."""
    for (candidate_id,) in tx.all(SQL["contesting_candidates"], {"memory_id": memory_id}):
        end_candidate(tx, candidate_id, End("expired"), now)


def lift_doubt(tx: Tx, memory_id: str | None, actor: Actor, now: int, reason_code: str | None = None) -> list[Notice]:
    """A record that nothing waiting speaks against is not contested."""
    stored = get_record(tx, memory_id) if memory_id is not None else None
    if stored is None or memory_id is None or stored.record.status != "active" or not stored.record.contested:
        return []
    if tx.all(SQL["contesting_candidates"], {"memory_id": memory_id}):
        return []
    tx.run(SQL["set_contested"], {"memory_id": memory_id, "contested": 0, "now": now})
    add_event(tx, memory_id, now, Change("uncontested", actor, reason_code))
    current = msgspec.structs.replace(stored.record, contested=False, updated_at=now)
    return [changed(current, "updated", reason_code)]
