"""Explains why something was, or was not, saved or recalled: gate by gate, from rows that were stored at the time.

Rule 1: an explanation never shows another record's text, a stored secret or a transcript.
Rule 2: a target that the caller may not see is answered exactly like one that does not exist.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

from memory.ports import Collaborators
from memory.read.recall import NEAR_MISSES, Recall
from memory.rows.decisions import (
    StoredDecision,
    decisions_of_call,
    decisions_of_candidate,
    decisions_of_record,
    decisions_of_run,
    decisions_of_turn,
    first_decision_of_record,
)
from memory.rows.recalls import recalls_of_turn
from memory.rows.record_columns import Stored
from memory.rows.store import get_any_candidate, get_record, scope_ids_of
from memory.rules.visibility import ALL, View, hidden_by, status_at
from protocol.base import Scope
from protocol.conversation.manifests import PromptManifest
from protocol.errors import CallerError
from protocol.gateway import HookRun
from protocol.hooks import CALL_PREFIX
from protocol.memory.explaining import (
    BudgetUse,
    ExplainResult,
    ExplainRun,
    ExplainTarget,
    Gate,
    GateName,
    Missing,
    RankedCandidate,
)
from protocol.memory.values import CandidateStatus, Decision, ReasonCode
from protocol.record import Status
from protocol.seams.house_facts import TurnTrace
from protocol.seams.ports import Tx

RECALL_HOOKS = frozenset({"memory.deterministic_recall", "memory.active_recall"})
EXTRACTION_HOOK = "memory.post_turn_extractor"
MAX_DECISIONS = 20
"""The most decisions that an explanation names: the latest of a record or candidate, the first of anything else."""

GATE_OF: dict[ReasonCode, GateName] = {
    "own_context_block": "fact_valid",
    "malformed_fact": "fact_valid",
    "too_many_facts": "fact_valid",
    "secret_detected": "secret",
    "no_memory_requested": "policy",
    "memory_write_disabled": "policy",
    "not_own_words": "own_words",
    "quote_too_short": "own_words",
    "beyond_quote": "own_words",
    "invalid_scope": "scope",
    "quote_not_found": "quote",
    "missing_evidence": "quote",
    "task_owned": "eligibility",
    "source_forgotten": "eligibility",
    "thread_owned": "eligibility",
    "system_source": "eligibility",
    "assistant_inference": "eligibility",
    "tool_or_web_source": "eligibility",
    "generated_summary": "eligibility",
    "regulated_needs_request": "admission",
    "transient": "admission",
    "session_only": "admission",
    "suppressed_by_rejection": "duplicate",
    "duplicate_active": "duplicate",
    "duplicate_candidate": "duplicate",
    "near_duplicate": "duplicate",
    "low_score": "admission",
    "review_disabled_middle_confidence": "admission",
    "proactive_writes_disabled": "admission",
    "note_would_instruct": "instruction",
    "agent_notes_disabled": "policy",
    "candidate_created": "admission",
    "contradiction_candidate": "admission",
}
"""The gate at which a reason stops a proposal."""

WRITE_GATES: tuple[GateName, ...] = (
    "fact_valid",
    "secret",
    "policy",
    "scope",
    "instruction",
    "quote",
    "own_words",
    "eligibility",
    "duplicate",
    "admission",
)
"""The gates of a write, in the order in which a proposal meets them."""

SKIP_GATES: dict[str, GateName] = {
    "memory_disabled": "memory_enabled",
    "extraction_disabled": "extraction_enabled",
    "hook_disabled": "extraction_enabled",
    "not_succeeded": "turn_succeeded",
    "extractor_unavailable": "extractor",
    "no_user_text": "eligibility",
    "no_own_words": "own_words",
    "source_forgotten": "eligibility",
    "system_or_tool_only": "eligibility",
    "subagent": "eligibility",
    "task_owned": "eligibility",
}
"""The gate at which a skipped extraction stopped, by the reason; every other reason is of the gate `policy`."""

OUTCOMES: dict[str, str] = {
    "activate": "saved",
    "merge": "merged",
    "supersede": "superseded",
    "candidate": "candidate",
    "reject": "rejected",
    "suppress": "rejected",
}
"""The outcome of each action, the best one for a person first."""

SENTENCES: dict[str, str] = {
    "saved": "It was saved: {reason}.",
    "merged": "It was known already; its evidence was added to the record.",
    "superseded": "It was saved and replaced what was believed before: {reason}.",
    "candidate": "It waits as a candidate: {reason}.",
    "rejected": "It was not saved: {reason}.",
    "recalled": "{count} of what is remembered would be recalled.",
    "not_recalled": "Nothing would be recalled: {reason}.",
    "unknown": "Nothing is stored that tells: {reason}.",
}
"""The sentence of each outcome."""

FORMER: dict[Status, str] = {
    "superseded": "It was saved, and something else is believed in its place since: {reason}.",
    "deleted": "It was saved, and forgotten since: {reason}.",
    "expired": "It was saved, and its time is over: {reason}.",
    "archived": "It was saved, and put aside since: {reason}.",
}
"""The sentence about a record that is not believed any more."""

CANDIDATE_ENDS: dict[CandidateStatus, tuple[str, str | None]] = {
    "pending": ("candidate", None),
    "approved": ("saved", "approved"),
    "merged": ("merged", "merged"),
    "rejected": ("rejected", "rejected_by_a_person"),
    "suppressed": ("rejected", "not_wanted_any_more"),
    "expired": ("rejected", "no_longer_in_question"),
}
"""The outcome of a candidate, and the reason; None: the candidate's own, for which it waits."""

_CANDIDATES: Final = msgspec.json.Decoder(list[RankedCandidate])
"""Made at import: msgspec does not guard two threads of the database that meet a type for the first time at once."""


def to_words(code: str) -> str:
    """Return a reason code as words."""
    return code.replace("_", " ")


class Explanation(NamedTuple):
    """The parts of an explanation, from which its sentence is made."""

    outcome: str
    reason: str
    gates: list[Gate]
    decisions: list[Decision] = []
    candidates: list[RankedCandidate] = []
    runs: list[HookRun] = []
    budgets: list[BudgetUse] = []
    missing: list[Missing] = []
    status: Status = "active"


def result_of(explained: Explanation) -> ExplainResult:
    """Return an explanation with its one plain sentence."""
    recalled = sum(1 for candidate in explained.candidates if candidate.cut_by is None)
    sentence = FORMER.get(explained.status, SENTENCES[explained.outcome])
    summary = sentence.format(reason=to_words(explained.reason), count=recalled)
    values: dict[str, Any] = {"outcome": explained.outcome}
    return ExplainResult(
        **values,
        summary=summary,
        gates=explained.gates,
        decision=explained.decisions[-1] if explained.decisions else None,
        candidates=explained.candidates,
        hook_runs=[
            ExplainRun(run_id=run.run_id, hook_id=run.hook_id, status=run.status, diagnostics=run.diagnostics)
            for run in explained.runs
        ],
        budgets=explained.budgets,
        missing=explained.missing,
        decisions=explained.decisions,
    )


def gates_of(decision: Decision) -> list[Gate]:
    """Return the gates that a decided proposal passed, up to the one that stopped it."""
    stopped = GATE_OF.get(decision.reason_code) if decision.action not in {"activate", "supersede"} else None
    gates: list[Gate] = []
    for name in WRITE_GATES:
        passed = name != stopped
        gates.append(Gate(gate=name, passed=passed, reason_code=None if passed else decision.reason_code))
        if not passed:
            break
    return gates


class Explainer:
    """Explains a target from the rows that are stored about it."""

    def __init__(self, means: Collaborators) -> None:
        self._means = means

    def explain(self, tx: Tx, target: ExplainTarget, scopes: Sequence[Scope]) -> ExplainResult:
        """Return why a memory, candidate, turn or run became what it is. Raises `CallerError("not_found")`."""
        by_kind = {"memory": self._memory, "candidate": self._candidate, "turn": self._turn, "hook_run": self._run}
        return result_of(by_kind[target.kind](tx, target.id, scopes))

    def _view(self, tx: Tx, scopes: Sequence[Scope]) -> View:
        return View(frozenset(scope_ids_of(tx, scopes)), ALL, self._means.clock.now(), shows_regulated=True)

    def _memory(self, tx: Tx, memory_id: str, scopes: Sequence[Scope]) -> Explanation:
        """Explain a record: the gates of the decision that made it, then those that it passes to be shown."""
        stored = get_record(tx, memory_id)
        view = self._view(tx, scopes)
        if stored is None or stored.scope_id not in view.scope_ids:
            raise CallerError.missing("memory")
        decisions, runs = self._with_runs(tx, decisions_of_record(tx, memory_id, MAX_DECISIONS))
        made = first_decision_of_record(tx, memory_id)  # of a record that was said often it is not among the latest
        gates = [*(gates_of(made) if made is not None else []), *self._visibility(stored, view)]
        missing = [] if made is not None else [Missing(kind="decision", reason="not_stored")]
        outcome = OUTCOMES[made.action] if made is not None else "unknown"
        reason = made.reason_code if made is not None else "no_decision"
        status = status_at(stored.record, view.now)
        if status == "superseded":
            outcome = "superseded"
        return Explanation(outcome, reason, gates, decisions, runs=runs, missing=missing, status=status)

    def _with_runs(self, tx: Tx, found: Sequence[StoredDecision]) -> tuple[list[Decision], list[HookRun]]:
        """Return decisions, given newest first, as oldest first, and the runs that they came from, newest first."""
        runs = [run for one in found if one.run_id and (run := self._means.read_run(tx, one.run_id)) is not None]
        return [one.decision for one in reversed(found)], runs

    def _visibility(self, stored: Stored, view: View) -> list[Gate]:
        """Return the gates of visibility for a prompt of no agent; at most one of them hides the record."""
        stopped = hidden_by(
            stored.seen, view._replace(statuses=frozenset({"active"}), shows_regulated=False, is_prompt=True)
        )
        order: tuple[GateName, ...] = ("scope_active", "integrity", "status", "expiry", "voice", "sensitivity")
        return [
            Gate(
                gate=name,
                passed=stopped is None or stopped[0] != name,
                reason_code=stopped[1] if stopped and stopped[0] == name else None,
            )
            for name in order
        ]

    def _candidate(self, tx: Tx, candidate_id: str, scopes: Sequence[Scope]) -> Explanation:
        found = get_any_candidate(tx, candidate_id)
        if found is None or found.scope_id not in self._view(tx, scopes).scope_ids:
            raise CallerError.missing("candidate")
        decisions, runs = self._with_runs(tx, decisions_of_candidate(tx, candidate_id, MAX_DECISIONS))
        outcome, reason = CANDIDATE_ENDS[found.candidate.status]
        if decisions and decisions[-1].action == "supersede":
            outcome = "superseded"
        is_closed = found.candidate.status in {"rejected", "suppressed", "expired"}
        gates = _build_closed_gates(decisions) if is_closed else gates_of(decisions[-1]) if decisions else []
        missing = [] if decisions else [Missing(kind="decision", reason="not_stored")]
        return Explanation(outcome, reason or found.candidate.reason_code, gates, decisions, runs=runs, missing=missing)

    def _turn(self, tx: Tx, turn_id: str, scopes: Sequence[Scope]) -> Explanation:
        """Explain a turn: by its best decision, else by the gate that stopped extraction; and by its recall."""
        trace = self._means.read_turn(tx, turn_id)
        if trace is None and turn_id.startswith(f"{CALL_PREFIX}_"):
            return self._call(tx, turn_id, scopes)
        if trace is None or Scope(kind="workspace", key=trace.turn.workspace_id) not in scopes:
            raise CallerError.missing("turn")
        decisions = decisions_of_turn(tx, turn_id, MAX_DECISIONS)
        runs = [run for run in trace.runs if run.hook_id.startswith(("memory.", "thread_episodic."))]
        gates, stopped = self._turn_gates(trace)
        recall = self._recall(tx, trace)
        budgets = _budgets(trace.turn.prompt_manifest)
        explained = Explanation(
            "unknown", "", [*gates, *recall.gates], candidates=recall.candidates, runs=runs, budgets=budgets
        )
        if decisions:
            best = _best_of(decisions)
            gates = [*gates, *gates_of(best), *recall.gates]  # a person asks first what a turn saved
            explained = explained._replace(
                outcome=OUTCOMES[best.action], reason=best.reason_code, gates=gates, decisions=decisions
            )
            return explained._replace(missing=recall.missing)
        if stopped is not None:
            return explained._replace(outcome="rejected", reason=stopped, missing=recall.missing)
        waiting = any(run.completed_at is None for run in trace.runs)
        reason = "post_turn_work_is_not_done" if waiting else "nothing_was_proposed"
        return explained._replace(reason=reason, missing=[*recall.missing, Missing(kind="decision", reason=reason)])

    def _call(self, tx: Tx, call_id: str, scopes: Sequence[Scope]) -> Explanation:
        """Return why a call outside of any turn saved something, or nothing.

        Raises `CallerError("not_found")` where no decision of it is stored.
        """
        decisions = decisions_of_call(tx, call_id, scope_ids_of(tx, scopes), MAX_DECISIONS)
        if not decisions:
            raise CallerError.missing("call")
        last = decisions[-1]
        return Explanation(OUTCOMES[last.action], last.reason_code, gates_of(last), decisions)

    def _recall(self, tx: Tx, trace: TurnTrace) -> Explanation:
        """Return why memories, or none, stood in a turn's prompt, with the ranked list where that was stored."""
        manifest = trace.turn.prompt_manifest
        if manifest is None:
            return Explanation("not_recalled", "not_prepared", [])
        policy, recall = manifest.policy.recall, manifest.recall
        is_on, code = recall.status != "off", policy.reason_code
        gates = [Gate(gate="recall_enabled", passed=is_on, reason_code=None if is_on else recall.reason)]
        gates.append(Gate(gate="policy", passed=policy.allowed, reason_code=None if policy.allowed else code))
        if is_on and policy.allowed:
            found = bool(recall.memory_ids)
            gates.append(Gate(gate="floor", passed=found, reason_code=None if found else recall.reason))
        lists = recalls_of_turn(tx, trace.turn.turn_id)
        considered = [c for ranked in lists if ranked for c in _CANDIDATES.decode(ranked)]
        missing = [Missing(kind="ranking", reason="debug_trace_disabled")] if lists and None in lists else []
        outcome = "recalled" if recall.memory_ids else "not_recalled"
        return Explanation(outcome, recall.reason, gates, candidates=considered[:NEAR_MISSES], missing=missing)

    def _turn_gates(self, trace: TurnTrace) -> tuple[list[Gate], str | None]:
        """Return the gates of a turn before any fact is judged, and the reason that stopped it there or None."""
        turn, manifest = trace.turn, trace.turn.prompt_manifest
        succeeded = turn.status == "completed"
        gates = [
            Gate(
                gate="memory_enabled",
                passed=manifest is None or manifest.policy.extraction.reason_code != "memory_disabled",
                reason_code=None,
            ),
            Gate(gate="turn_succeeded", passed=succeeded, reason_code=None if succeeded else "not_succeeded"),
        ]
        stopped = None if succeeded else "not_succeeded"
        for run in trace.runs:
            if run.hook_id != EXTRACTION_HOOK:
                continue
            if run.status == "skipped" and run.diagnostics:
                stopped = run.diagnostics[0].code
                gates.append(Gate(gate=SKIP_GATES.get(stopped, "policy"), passed=False, reason_code=stopped))
            elif run.error is not None:
                stopped = run.error.code
                gates.append(Gate(gate="extractor", passed=False, reason_code=stopped))
        if stopped is None and manifest is not None and not manifest.policy.extraction.allowed:
            stopped = manifest.policy.extraction.reason_code
            gates.append(Gate(gate="policy", passed=False, reason_code=stopped))
        return gates, stopped

    def _run(self, tx: Tx, run_id: str, scopes: Sequence[Scope]) -> Explanation:
        """Explain a hook's run: by its best decision, by the turn's recall, or by its own diagnostic."""
        run = self._means.read_run(tx, run_id)
        trace = self._means.read_turn(tx, run.turn_id) if run is not None else None
        if run is None or trace is None or Scope(kind="workspace", key=trace.turn.workspace_id) not in scopes:
            raise CallerError.missing("hook run")
        decisions = decisions_of_run(tx, run_id, MAX_DECISIONS)
        if decisions:
            best = _best_of(decisions)
            return Explanation(OUTCOMES[best.action], best.reason_code, gates_of(best), decisions, runs=[run])
        if run.hook_id in RECALL_HOOKS:
            explained = self._recall(tx, trace)
            shown = "recalled" if run.contribution_count and explained.outcome == "recalled" else "not_recalled"
            return explained._replace(outcome=shown, runs=[run])
        code = run.diagnostics[0].code if run.diagnostics else run.status
        return Explanation("unknown", code, [], runs=[run], missing=[Missing(kind="decision", reason=code)])


def _best_of(decisions: Sequence[Decision]) -> Decision:
    """Return the decision with the best outcome for a person, of equal ones the first."""
    return min(decisions, key=lambda decision: list(OUTCOMES).index(decision.action))


def _build_closed_gates(decisions: Sequence[Decision]) -> list[Gate]:
    """Return the gates of a candidate that ended without a record: it passed every one but the last."""
    reason = decisions[-1].reason_code if decisions else None
    passed = [Gate(gate=name, passed=True, reason_code=None) for name in WRITE_GATES if name != "admission"]
    return [*passed, Gate(gate="admission", passed=False, reason_code=reason)]


def _budgets(manifest: PromptManifest | None) -> list[BudgetUse]:
    budgets = manifest.budgets if manifest is not None else []
    return [BudgetUse(name=one.name, limit=one.limit, used=one.used) for one in budgets]


def explain_recall(
    recall: Recall | None,
    *,
    is_enabled: bool,
    limit: int,
    are_unwanted: bool = False,
    secret_kinds: Sequence[str] = (),
) -> ExplainResult:
    """Return why a query would, or would not, recall something now; `recall` is None while memory is switched off.

    `are_unwanted`: a memory of just these words was forgotten or rejected. `secret_kinds`: the secrets in them, for
    which they would not be saved.
    """
    enabled = Gate(gate="memory_enabled", passed=is_enabled, reason_code=None if is_enabled else "memory_disabled")
    if recall is None:
        return result_of(Explanation("not_recalled", "memory_disabled", [enabled]))
    kept = [candidate for candidate in recall.considered if candidate.cut_by is None]
    gates = [
        enabled,
        Gate(gate="candidate", passed=bool(recall.considered), reason_code=None if recall.considered else "no_match"),
        Gate(
            gate="floor", passed=bool(kept), reason_code=None if kept else recall.reason, detail=f"{recall.floor:.3f}"
        ),
    ]
    if secret_kinds:
        gates.append(Gate(gate="secret", passed=False, reason_code="secret_detected", detail=", ".join(secret_kinds)))
    cut = sum(1 for candidate in recall.considered if candidate.cut_by == "budget")
    budget = BudgetUse(name="memories", limit=limit, used=len(kept), cut=cut)
    outcome = "recalled" if kept else "not_recalled"
    missing = [Missing(kind="memory", reason="these_words_were_forgotten_or_rejected")] if are_unwanted else []
    considered = recall.considered[:NEAR_MISSES]
    return result_of(
        Explanation(outcome, recall.reason, gates, candidates=considered, budgets=[budget], missing=missing)
    )
