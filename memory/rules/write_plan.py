"""Plans a write, given a proposal and the rows that it meets.

Rule 1: pure; `memory/write/` gathers, this decides, `memory/rows/` applies.
Rule 2: the gates come first, in the order of `_find_failed_gate`; a proposal that passes all is compared, then weighed.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct

from memory.rules.admission import AdmissionScore, Proposal, assess
from memory.rules.hygiene import Junk
from memory.rules.obligations import Ask
from memory.rules.sensitivity import CREDENTIAL_FOUND, LABEL_ADVICE, NUMBER_KINDS
from protocol.memory.values import Action, Bucket, Decision, Factor, ReasonCode, Relation
from protocol.record import SourceKind

Origin = Literal["user", "assistant", "tool", "system", "summary", "none"]
"""The speaker of the words that support a fact, as far as the gateway could verify it."""

ORIGINS: dict[SourceKind, Origin] = {
    "explicit_user_request": "user",
    "user_statement": "user",
    "user_correction": "user",
    "import": "user",
    "assistant_inference": "assistant",
    "agent_note": "assistant",
    "background_extractor": "summary",
    "tool_observation": "tool",
    "file": "tool",
    "system": "system",
}
"""The origin of each kind of source, which says whose word it is. An import was the user's word elsewhere."""

ORIGIN_REASONS: dict[Origin, ReasonCode] = {
    "assistant": "assistant_inference",
    "tool": "tool_or_web_source",
    "system": "system_source",
    "summary": "generated_summary",
    "none": "missing_evidence",
}
"""The reason to refuse a fact of each origin but the user."""
_UNKEPT_REASONS: dict[Bucket, ReasonCode] = {
    "high": "proactive_writes_disabled",
    "middle": "review_disabled_middle_confidence",
    "low": "low_score",
}
"""The reason why a novel fact of each bucket, for which nobody asked, is neither believed nor waits."""


class KnownRecord(Struct, frozen=True):
    """An active record that the proposal meets."""

    memory_id: str
    is_contested: bool
    is_restated: bool = False
    """An extractor or a person says that it is the same in other words."""
    is_note: bool = False
    """It is an agent's note: once the user says the same, it is theirs."""


class Refined(Struct, frozen=True):
    """An active record whose words the proposal repeats, with one more detail."""

    memory_id: str
    detail: str


class KnownCandidate(Struct, frozen=True):
    """A pending candidate that says the same."""

    candidate_id: str
    contested_memory_id: str | None


class ProposalSituation(Struct, frozen=True):
    """A proposal with everything that its fate depends on."""

    proposal: Proposal
    origin: Origin
    is_explicit: bool
    """The user asked for it, and the words are theirs."""
    is_own_block: bool
    """Its content is text that the gateway injected into a prompt."""
    secret_kinds: Sequence[str]
    is_regulated: bool
    intent_forbids: bool
    """Its proposer declares that the user wants nothing kept, or something forgotten."""
    write_forbidden: ReasonCode | None
    """The reason for which its door or its turn refuses it."""
    has_scope: bool
    """An active scope fits it."""
    quote_failed: bool
    """It quotes messages, and none of its quotes stands in them."""
    owner: Literal["user", "task", "system"]
    """The owner of the thread in which it was said."""
    duplicate: KnownRecord | None
    same_key: KnownRecord | None
    pending: KnownCandidate | None
    is_suppressed: bool
    """The same was forgotten, erased or rejected."""
    supersedes: str | None
    """The record that it names to supersede."""
    proactive_enabled: bool
    review_enabled: bool
    wants_candidate: bool
    wants_rejection: bool
    """Its disposition: to wait as a candidate, or to be rejected."""
    is_approval: bool = False
    """A person approves a candidate by it."""
    junk: Junk | None = None
    refined: Refined | None = None
    is_note: bool = False
    ask: Ask | None = None
    """The way in which a note asks something of its reader, which it may not."""
    is_forgotten: bool = False
    """Its source was forgotten since it was said."""


class WritePlan(NamedTuple):
    """The actions of a write, and their reasons."""

    action: Action
    relation: Relation
    decision: Decision
    merge_into: str | None = None
    """The record or candidate that gets its evidence."""
    supersede: str | None = None
    contest: str | None = None
    """The record against which it casts a doubt."""
    uncontest: str | None = None
    """The record whose doubts it settles."""
    promote: str | None = None
    """The candidate that becomes the record."""
    remember_turn: bool = False
    """The turn counts as one in which this was said."""
    adopts: bool = False
    """The record that it is merged into was an agent's note, and is the user's from now on."""


def _find_failed_gate(s: ProposalSituation) -> tuple[ReasonCode, list[Factor]] | None:
    """Return the reason and the factors of the first gate that the proposal does not pass; None if it passes all."""
    gates: list[tuple[bool, ReasonCode, list[Factor]]] = [
        (s.is_own_block, "own_context_block", [_fact("own_block", "it is text that the gateway itself injected")]),
        (bool(s.secret_kinds), "secret_detected", secret_factors(s.secret_kinds)),
        (s.intent_forbids, "no_memory_requested", []),
        (s.write_forbidden is not None, s.write_forbidden or "memory_write_disabled", []),
        (s.is_forgotten, "source_forgotten", [_fact("forgotten", "what it came from was forgotten since")]),
        (not s.has_scope, "invalid_scope", []),
        (s.ask is not None, "note_would_instruct", [_fact(s.ask.name, s.ask.why)] if s.ask else []),
        (s.quote_failed, "quote_not_found", [_fact("quote", "the quoted words are not in the message")]),
        (s.owner == "task", "task_owned", []),
        (s.owner == "system", "system_source", []),
        (s.origin != "user" and not s.is_note, ORIGIN_REASONS.get(s.origin, "missing_evidence"), []),
        (
            s.junk is not None,
            s.junk.reason if s.junk else "malformed_fact",
            [_fact(s.junk.name, s.junk.why)] if s.junk else [],
        ),
        (s.is_regulated and (not s.is_explicit or s.wants_candidate), "regulated_needs_request", []),
        (s.proposal.durability == "transient", "transient", []),
        (s.proposal.durability == "session_only", "session_only", []),
        (s.is_suppressed and not s.is_explicit and s.duplicate is None, "suppressed_by_rejection", []),
        (s.wants_rejection, "suppressed_by_rejection", []),
    ]
    return next(((reason, factors) for fails, reason, factors in gates if fails), None)


def secret_factors(kinds: Sequence[str]) -> list[Factor]:
    """Return one factor a kind of secret, with what a person can do about it."""
    return [_fact(kind, LABEL_ADVICE if kind in NUMBER_KINDS else CREDENTIAL_FOUND) for kind in kinds]


def _fact(name: str, why: str) -> Factor:
    """Return a factor that decides by itself, without a weight in the score."""
    return Factor(name=name, value=True, weight=0.0, contribution=0.0, why=why)


def plan_write(s: ProposalSituation) -> WritePlan:
    """Return the plan for a proposal."""
    plan = _choose_plan(s)
    if not s.is_approval:
        return plan
    decision = plan.decision
    factors = [*decision.factors, _fact("approved", "a person approved the candidate")]
    return plan._replace(decision=msgspec.structs.replace(decision, factors=factors))


def _choose_plan(s: ProposalSituation) -> WritePlan:
    """Return the plan of the first case that holds: a gate, a note, a merge, a supersession, a detail, a contradiction.

    In no other case the proposal is novel.
    """
    contradicts = s.same_key is not None and s.duplicate is None and s.refined is None
    verdict = assess(s.proposal._replace(contradicts=contradicts and not s.is_explicit))
    stopped = _find_failed_gate(s)
    if stopped is not None:
        reason, extra = stopped  # but for how long it holds, the score says nothing of what a gate stops
        action: Action = "suppress" if reason == "suppressed_by_rejection" else "reject"
        relation: Relation = "suppressed_by_rejection" if action == "suppress" else "novel"
        bucket = verdict.bucket if reason in {"transient", "session_only"} else "low"
        score = verdict.score if bucket == verdict.bucket else 0.0
        return WritePlan(
            action, relation, _build_decision(verdict._replace(score=score, bucket=bucket), action, reason, extra)
        )
    if s.is_note:
        return _plan_note(s, verdict)
    if s.duplicate is not None:
        return _plan_merge(s, s.duplicate, verdict)
    if s.supersedes is not None or (contradicts and s.is_explicit and not s.wants_candidate):
        replaced = s.supersedes or (s.same_key.memory_id if s.same_key else None)
        promote = s.pending.candidate_id if s.pending else None
        reason: ReasonCode = "contradiction_resolved" if s.is_approval else "superseded_by_correction"
        decision = _build_decision(verdict, "supersede", reason)
        return WritePlan("supersede", "contradiction", decision, supersede=replaced, promote=promote)
    if s.refined is not None:
        return _plan_detail(s, s.refined, verdict)
    if contradicts and s.same_key is not None:
        return _plan_contradiction(s, s.same_key, verdict)
    return _plan_novel(s, verdict)


def _build_decision(
    verdict: AdmissionScore, action: Action, reason: ReasonCode, extra: Sequence[Factor] = ()
) -> Decision:
    return Decision(
        action=action,
        score=verdict.score,
        bucket=verdict.bucket,
        reason_code=reason,
        factors=[*verdict.factors, *extra],
    )


def _plan_note(s: ProposalSituation, verdict: AdmissionScore) -> WritePlan:
    """Plan to keep a note beside what the user said, of which it changes nothing; known words are not kept again.

    The note replaces its author's note of the same path.
    """
    if s.duplicate is not None:
        return WritePlan(
            "merge", "duplicate", _build_decision(verdict, "merge", "duplicate_active"), s.duplicate.memory_id
        )
    action: Action = "activate" if s.supersedes is None else "supersede"
    relation: Relation = "novel" if s.supersedes is None else "compatible_update"
    return WritePlan(action, relation, _build_decision(verdict, action, "agent_note_created"), supersede=s.supersedes)


def _plan_merge(s: ProposalSituation, known: KnownRecord, verdict: AdmissionScore) -> WritePlan:
    """Plan for a proposal whose words are believed already.

    The record's evidence grows, a doubt about it is settled, and a record that the proposal corrects gives way.
    """
    uncontest = known.memory_id if known.is_contested else None
    promote = s.pending.candidate_id if s.pending is not None and s.is_approval else None
    met: ReasonCode = "near_duplicate" if known.is_restated else "duplicate_active"
    decision = _build_decision(verdict, "merge", "note_confirmed" if known.is_note else met)
    plan = WritePlan(
        "merge", "duplicate", decision, known.memory_id, s.supersedes, uncontest=uncontest, promote=promote
    )
    return plan._replace(adopts=known.is_note)


def _plan_detail(s: ProposalSituation, known: Refined, verdict: AdmissionScore) -> WritePlan:
    """Plan to replace a believed record by the same words with a detail.

    The record gives way without a contest, where the new words are believed at all.
    """
    plan = _plan_novel(s, verdict)
    if plan.action != "activate":
        return plan if plan.relation == "duplicate" else plan._replace(relation="compatible_update")
    why = "it says all of what was known, and adds this"
    detail = Factor(name="detail", value=known.detail, weight=0.0, contribution=0.0, why=why)
    decision = _build_decision(verdict, "supersede", "made_more_precise", [detail])
    return plan._replace(action="supersede", relation="compatible_update", decision=decision, supersede=known.memory_id)


def _plan_contradiction(s: ProposalSituation, known: KnownRecord, verdict: AdmissionScore) -> WritePlan:
    """Plan for a proposal against which another value is believed.

    Nothing is overwritten silently: it waits as a candidate, and a second statement of the user resolves it.
    """
    if verdict.bucket == "low" and not s.is_explicit:
        return WritePlan("reject", "contradiction", _build_decision(verdict, "reject", "low_score"), remember_turn=True)
    if s.pending is not None and s.proposal.turns > 1 and s.proactive_enabled and not s.wants_candidate:
        decision = _build_decision(verdict, "supersede", "contradiction_resolved")
        return WritePlan(
            "supersede", "contradiction", decision, supersede=known.memory_id, promote=s.pending.candidate_id
        )
    if s.pending is not None:
        decision = _build_decision(verdict, "candidate", "duplicate_candidate")
        return WritePlan("candidate", "duplicate", decision, merge_into=s.pending.candidate_id, remember_turn=True)
    decision = _build_decision(verdict, "candidate", "contradiction_candidate")
    return WritePlan("candidate", "contradiction", decision, contest=known.memory_id, remember_turn=True)


def _plan_novel(s: ProposalSituation, verdict: AdmissionScore) -> WritePlan:
    """Plan for a proposal that meets no record: by the user's wish or its score a record, a candidate, or nothing."""
    if s.wants_candidate and (s.is_explicit or verdict.bucket != "low"):
        return _plan_candidate(s, verdict)
    if s.is_explicit or (verdict.bucket == "high" and s.proactive_enabled):
        decision = _build_decision(verdict, "activate", "active_created")
        return WritePlan("activate", "novel", decision, promote=s.pending.candidate_id if s.pending else None)
    if verdict.bucket == "middle" and s.review_enabled:
        return _plan_candidate(s, verdict)
    decision = _build_decision(verdict, "reject", _UNKEPT_REASONS[verdict.bucket])
    return WritePlan("reject", "novel", decision, remember_turn=True)


def _plan_candidate(s: ProposalSituation, verdict: AdmissionScore) -> WritePlan:
    """Plan to let a proposal wait: as a new candidate, or as evidence of the one that says the same."""
    if s.pending is not None:
        decision = _build_decision(verdict, "candidate", "duplicate_candidate")
        return WritePlan("candidate", "duplicate", decision, merge_into=s.pending.candidate_id, remember_turn=True)
    return WritePlan(
        "candidate", "novel", _build_decision(verdict, "candidate", "candidate_created"), remember_turn=True
    )
