"""Makes the answers to a write from its outcome, and an outcome from a kept answer.

Rule 1: a kept answer holds ids and the decision, never content.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from memory.read.gate import at_time
from memory.rows.store import get_candidate, get_record
from memory.rules.notes import how_to_confirm, is_note
from memory.rules.sensitivity import LABEL_ADVICE, NUMBER_KINDS
from memory.write.writing import Outcome
from protocol.errors import Refused
from protocol.memory.values import Action, Decision, Factor, NoteStatus, ReasonCode
from protocol.memory.writes import NoteResult, RememberResult, WriteResult
from protocol.record import Record
from protocol.seams.ports import Tx
from protocol.settings import Aging


def require_record(outcome: Outcome) -> Record:
    """Return the record of a write that had to succeed.

    Raises `Refused("write_refused")` with the decision, or `Refused("conflict")` where the record that a repeated
    request had made was forgotten since.
    """
    record, decision = outcome.result.record, outcome.result.decision
    if record is not None:
        return record
    if decision.action in {"activate", "merge", "supersede"}:
        raise Refused("conflict", "That memory was forgotten since.")
    raise _refuse(decision)


def _refuse(decision: Decision) -> Refused:
    """Return the `write_refused` error of a decision, with advice where a number was refused."""
    message = f"The memory was not saved: {decision.reason_code.replace('_', ' ')}."
    if any(factor.name in NUMBER_KINDS for factor in decision.factors):
        message += f" {LABEL_ADVICE}"
    return Refused("write_refused", message, details={"decision": msgspec.to_builtins(decision)})


def refusal(reason_code: ReasonCode, factors: Sequence[Factor] = ()) -> Refused:
    """Return the `write_refused` error of a write that is stopped before it becomes a proposal."""
    decision = Decision(action="reject", score=0.0, bucket="low", reason_code=reason_code, factors=list(factors))
    return _refuse(decision)


def build_remember_result(outcome: Outcome) -> RememberResult:
    """Return the answer to a `memory/remember`. Raises as `require_record` does."""
    result = outcome.result
    return RememberResult(
        record=require_record(outcome),
        created=outcome.created,
        relation=result.relation,
        decision=result.decision,
        superseded_memory_id=result.superseded_memory_id,
    )


_NOTE_STATUS: Mapping[Action, NoteStatus] = {"activate": "noted", "supersede": "noted", "merge": "duplicate"}
"""The status of a note by the action of its decision; by every other action it is rejected."""


def build_note_result(result: WriteResult) -> NoteResult:
    """Return the answer to a note: its status, and the command by which a person confirms it."""
    status, record = _NOTE_STATUS.get(result.decision.action, "rejected"), result.record
    members = {name: getattr(result, name) for name in WriteResult.__struct_fields__}
    return NoteResult(
        **members,
        status=status,
        reason_code=result.decision.reason_code,
        memory_id=record.memory_id if record is not None else None,
        how_to_confirm=how_to_confirm(record.memory_id) if record is not None and is_note(record) else None,
    )


def answer_of(outcome: Outcome) -> dict[str, Any]:
    """Return the members of an answer that are kept under an idempotency key."""
    r = outcome.result
    return {
        "created": outcome.created,
        "relation": r.relation,
        "canonical_key": r.canonical_key,
        "semantic_fingerprint": r.semantic_fingerprint,
        "decision": r.decision,
        "memory_id": r.record.memory_id if r.record else None,
        "candidate_id": r.candidate.candidate_id if r.candidate else None,
        "superseded_memory_id": r.superseded_memory_id,
        "evidence_merged": r.evidence_merged,
    }


def replay_answer(tx: Tx, answer: str, now: int, aging: Aging) -> Outcome:
    """Return the outcome of a kept answer, with its record and candidate as they are now.

    A record that was forgotten since is left out.
    """
    kept = msgspec.json.decode(answer, type=dict[str, Any])
    stored = get_record(tx, kept["memory_id"]) if kept["memory_id"] else None
    if stored is not None and stored.record.status == "deleted":
        stored = None
    waiting = get_candidate(tx, kept["candidate_id"]) if kept["candidate_id"] else None
    result = WriteResult(
        relation=kept["relation"],
        canonical_key=kept["canonical_key"],
        semantic_fingerprint=kept["semantic_fingerprint"],
        decision=msgspec.convert(kept["decision"], Decision),
        record=at_time(stored.record, now, aging) if stored else None,
        candidate=waiting.candidate if waiting else None,
        superseded_memory_id=kept["superseded_memory_id"],
        evidence_merged=kept["evidence_merged"],
    )
    return Outcome(result, kept["created"], [])
