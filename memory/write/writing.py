"""The one write path: the proposals of every door are gathered, decided and applied here, each in one transaction.

Rule 1: nothing else creates, merges or supersedes a record, but for the import of a bundle.
Rule 2: a text with a credential leaves no trace: no record, no candidate, no evidence, no plain hash.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from memory.ports import Collaborators
from memory.proposals.columns import RecordPlacement, columns_of
from memory.proposals.forgotten_sources import comes_too_late
from memory.proposals.kept_proposals import build_approved_evidence, to_kept_column
from memory.proposals.named_records import Meeting, find_restated, find_superseded
from memory.proposals.proposal import (
    Checked,
    Proposed,
    actor_of,
    add_source,
    check_evidence,
    clean_proposal,
    findings_of,
    junk_of,
    keep_evidence,
)
from memory.proposals.same_matter import without_unrelated_key
from memory.read.vectors import RecordVectors
from memory.rows.candidates import (
    ADMISSION,
    End,
    add_candidate,
    end_candidate,
    lift_doubt,
    rescore_candidate,
    settle_doubts,
)
from memory.rows.decisions import Decided, add_decision
from memory.rows.evidence import recount_evidence
from memory.rows.notices import Notice, build_changed_notice, note_change
from memory.rows.record_columns import Stored, to_column
from memory.rows.records import file_record, set_contested, set_status
from memory.rows.store import (
    Change,
    StoredCandidate,
    active_by_key,
    active_duplicate,
    add_event,
    add_first_text,
    add_record,
    earlier_turns,
    ensure_scope,
    find_met,
    get_candidate,
    get_record,
    is_suppressed,
    note_turns,
    pending_candidate,
    scope_id_of,
)
from memory.rules.admission import Proposal
from memory.rules.identity import identify
from memory.rules.repeats import repeats
from memory.rules.scopes import USER, default_of
from memory.rules.write_plan import ProposalSituation, WritePlan, plan_write
from memory.write.adopting import adopt, may_adopt, replace_notes
from memory.write.filing import still_active, take_path
from memory.write.heard import HeardInTurn
from memory.write.met_rows import MetRows, to_known_candidate, to_known_record
from memory.write.refining import find_refined
from promt.intents import detect
from promt.render import carries_own_block
from protocol.base import Scope
from protocol.errors import CallerError, Defect, Refused
from protocol.memory.values import Candidate, Decision, ReasonCode
from protocol.memory.writes import WriteResult
from protocol.notifications import CandidateCreated
from protocol.record import Record
from protocol.saying import MARK
from protocol.seams.ports import Tx

NO_SCOPE = Scope(kind="workspace", key="none")
"""Stands in for the scope of a proposal for which none is active; such a proposal is always refused."""


class Outcome(Struct, frozen=True):
    """The result of a write, and the notices to send after its commit."""

    result: WriteResult
    created: bool
    """A record was made by it."""
    notices: list[Notice]


class RecordWriter:
    """Decides on proposals and applies the decision, on a transaction."""

    def __init__(self, means: Collaborators, vectors: RecordVectors) -> None:
        self._means, self._vectors = means, vectors

    def write(self, tx: Tx, given: Proposed, active: Sequence[Scope], heard: HeardInTurn | None = None) -> Outcome:
        """Gather, decide, apply; return the outcome. `heard` is shared by the proposals of a turn.

        Raises `CallerError` where there are no words, or the record to supersede is not found, and
        `Refused("path_taken")` or `Refused("conflict")` where a path, key or record is another one's.
        """
        proposed, notices = take_path(tx, self._means, clean_proposal(given), active)
        if not proposed.content.strip() and proposed.forbidden is None:
            raise CallerError.at("$.content", "There are no words in it")
        scope, is_clear = proposed.scope, True
        if scope is None and not proposed.is_note:
            corrected = get_record(tx, proposed.supersedes) if proposed.supersedes is not None else None
            its_scope = corrected.record.scope if corrected is not None else None
            scope, is_clear = default_of(active, proposed.semantic.category, proposed.semantic.scope_hint, its_scope)
        work = _Write(tx, self._means, self._vectors, proposed, scope or NO_SCOPE, active, notices, heard)
        situation, checked = work.gather(is_clear=is_clear, has_scope=scope is not None)
        return work.apply(plan_write(situation), checked)


class _Write:
    """One proposal on one transaction."""

    def __init__(
        self,
        tx: Tx,
        means: Collaborators,
        vectors: RecordVectors,
        proposed: Proposed,
        scope: Scope,
        active: Sequence[Scope],
        notices: list[Notice],
        heard: HeardInTurn | None,
    ) -> None:
        self._heard = heard
        self._tx, self._means, self._p, self._active = tx, means, proposed, active
        self._value = to_column(proposed.value) if proposed.value is not None else None
        self._scope = scope
        self._gist = means.lexicon.query_terms(proposed.content)
        self._now = means.clock.now()
        self._vectors = vectors
        self._notices = notices
        self._meets_candidate = False
        self._findings = findings_of(self._p, means.scanner)
        self._identity = identify(scope, self._p.semantic, self._p.content, self._p.value, self._p.alias, means.keyed)
        self._scope_id = ensure_scope(tx, scope)

    # -- gather ----------------------------------------------------------------------------------------------------

    def _is_own_block(self) -> bool:
        """Return whether the content is text that the gateway injected into a prompt."""
        text = self._p.content
        return carries_own_block(text) or bool(self._means.echo_spans(self._tx, self._p.workspace_id or "", text))

    def _check_own_words(self) -> ReasonCode | None:
        """Return the reason to refuse a claim whose words are not the user's own; None where they may be.

        They are not where the turn's message is the text that the message before asked to work on, or where the
        sentence repeats what a tool or an import said.
        """
        p, turn_id = self._p, self._p.provenance.turn_id
        by = p.provenance.created_by.kind if p.provenance.created_by is not None else "user"
        if turn_id is None or p.is_note or p.approves is not None or by not in {"extractor", "assistant"}:
            return None
        heard = self._heard or HeardInTurn(self._tx, self._means, turn_id)
        if heard.was_announced:
            return "not_own_words"
        said = p.retold or p.content
        if repeats(said, heard.texts) and not detect(said).remember:  # a wish to keep it counts, whoever said it first
            return "not_own_words"
        return None

    def _meet(self) -> MetRows:
        """Settle the proposal's key, and return the rows that it meets.

        Raises `CallerError` or `Refused("conflict")` for a record to supersede that it may not.
        """
        tx, scope_id = self._tx, self._scope_id
        self._p, self._identity = without_unrelated_key(
            tx, self._means, (self._scope, scope_id), self._p, self._identity
        )
        if self._p.alias is not None:
            named = active_by_key(tx, scope_id, self._identity._replace(key=self._p.alias, alias=None))
            if named is not None:  # the alias is a record's canonical key: the proposal is about that record
                self._identity = self._identity._replace(key=self._p.alias, alias=named.alias, is_single=True)
        met = find_met(tx, scope_id, self._identity)
        same_key = self._drop_inactive(active_by_key(tx, scope_id, self._identity)) if met.key else None
        superseded = find_superseded(tx, self._p, self._scope, self._active)
        is_merge = superseded is not None and self._p.same_as is not None
        duplicate = self._find_duplicate(same_key) if met.same or same_key is not None else None
        if is_merge:
            duplicate = None  # a person named the record that stays, whichever other one says the same
        elif duplicate is not None and superseded is not None and duplicate.row == superseded.row:
            superseded = None
        is_new = duplicate is None and superseded is None
        restated = None
        if is_new or is_merge:
            meeting = Meeting(scope_id, same_key, self._identity.text_hash if met.same else None)
            restated = self._drop_inactive(find_restated(tx, self._means.lexicon, self._p, meeting))
        is_placed = duplicate is not None or restated is not None
        if superseded is not None and not is_placed and same_key is not None and same_key.row != superseded.row:
            raise Refused("conflict", "The key belongs to another memory than the one to supersede.")
        pending = get_candidate(tx, self._p.approves) if self._p.approves is not None else None
        pending = pending or (self._find_pending() if met.candidate else None)
        refined = None
        if is_new and restated is None:
            refined = find_refined(tx, self._identity, self._p, same_key, self._gist, scope_id, self._now)
        turns = set[str]()
        if met.repetition:
            turns = earlier_turns(tx, scope_id, self._identity.text_hash, self._identity.fingerprint)
        was_unwanted = (met.same or met.candidate or met.tombstone) and is_suppressed(tx, scope_id, self._identity)
        return MetRows(duplicate, same_key, pending, superseded, restated, refined, turns, was_unwanted)

    def _is_unwanted_beside(self, since: int = 0) -> bool:
        """Return whether the same was forgotten or rejected in another active scope, or in the user's.

        The user's counts even where it is not active: its records are shown beside those of every other one.
        `since`: only at that time or later.
        """
        p, means = self._p, self._means
        for scope in dict.fromkeys([USER, *self._active]):
            scope_id = scope_id_of(self._tx, scope) if scope != self._scope else None
            if scope_id is not None:
                there = identify(scope, p.semantic, p.content, p.value, p.alias, means.keyed)
                if is_suppressed(self._tx, scope_id, there, since):
                    return True
        return False

    def _was_forgotten_since_said(self) -> bool:
        """Return whether the same was forgotten after a conversation that was brought in said it.

        Even a wish in it is no new word: whoever forgot it knew of it.
        """
        said_at = self._p.said_at
        if said_at is None:
            return False
        return is_suppressed(self._tx, self._scope_id, self._identity, said_at) or self._is_unwanted_beside(said_at)

    def _find_duplicate(self, same_key: Stored | None) -> Stored | None:
        """Return the active record that says the same, and that the proposal may be merged into; else None."""
        found = self._drop_inactive(active_duplicate(self._tx, self._scope_id, self._identity, self._value))
        if found is not None and may_adopt(found, self._p, self._identity, same_key):
            return found
        if same_key is None or same_key.text_hash != self._identity.text_hash:
            return None
        return same_key if same_key.record.value == self._p.value else None

    def _meet_by_note(self) -> MetRows:
        """Return the rows that an agent's note meets: the record of the same words, and the one at its path.

        A note changes no other row.
        """
        said = self._drop_inactive(active_duplicate(self._tx, self._scope_id, self._identity, self._value))
        is_unwanted = is_suppressed(self._tx, self._scope_id, self._identity)
        superseded = find_superseded(self._tx, self._p, self._scope, self._active)
        if said is not None and superseded is not None and said.row == superseded.row:
            superseded = None
        return MetRows(said, None, None, superseded, None, None, set[str](), is_unwanted)

    def _drop_inactive(self, found: Stored | None) -> Stored | None:
        """Return a record if it is active at this moment, else None."""
        alive, notices = still_active(self._tx, self._means, found)
        self._notices += notices
        return alive

    def gather(self, *, is_clear: bool, has_scope: bool) -> tuple[ProposalSituation, Checked]:
        """Return everything that the decision depends on, and the verified evidence."""
        is_approval = self._p.approves is not None
        checked = build_approved_evidence(self._p) if is_approval else check_evidence(self._tx, self._means, self._p)
        self._p = add_source(self._p, checked)
        p, settings = self._p, self._means.settings()
        known = self._meet_by_note() if p.is_note else self._meet()
        self._meets_candidate = known.pending is not None
        is_explicit = p.is_explicit and checked.origin == "user"
        duplicate = to_known_record(known.duplicate) or to_known_record(known.restated, is_restated=True)
        may_be_unwanted = duplicate is None and not is_explicit  # else no gate asks whether it was forgotten
        proposal = Proposal(
            explicitness=p.semantic.explicitness,
            durability=p.semantic.durability,
            certainty=p.semantic.certainty,
            sensitivity=p.semantic.sensitivity,
            is_scope_clear=is_clear,
            is_user_said=checked.origin == "user",
            turns=max(len(checked.turns | known.turns), 1 if checked.origin == "user" else 0),
            contradicts=False,
        )
        situation = ProposalSituation(
            proposal=proposal,
            origin=checked.origin,
            is_explicit=is_explicit,
            is_own_block=self._is_own_block(),
            secret_kinds=self._findings.secret_kinds,
            is_regulated=self._findings.is_regulated or "regulated" in {p.semantic.sensitivity, p.declared},
            intent_forbids=p.semantic.intent in {"explicit_no_memory", "explicit_forget"},
            write_forbidden=p.forbidden or self._check_own_words(),
            has_scope=has_scope,
            quote_failed=checked.has_failed_quote,
            owner=checked.owner,
            duplicate=duplicate,
            same_key=to_known_record(known.same_key),
            refined=known.refined,
            pending=to_known_candidate(known.pending),
            is_suppressed=may_be_unwanted and (known.is_suppressed or self._is_unwanted_beside()),
            supersedes=known.superseded.record.memory_id if known.superseded else None,
            proactive_enabled=settings.proactive_writes_enabled,
            review_enabled=settings.review_enabled,
            wants_candidate=p.disposition == "create_pending_candidate",
            wants_rejection=p.disposition == "reject_suppressed",
            is_approval=is_approval,
            junk=junk_of(p, self._means.lexicon),
            is_note=p.is_note,
            ask=p.ask,
            is_forgotten=MARK in p.content  # it was said in words that were erased since
            or comes_too_late(self._tx, self._means, p, checked, (self._scope, self._identity))
            or (duplicate is None and self._was_forgotten_since_said()),
        )
        return situation, checked

    # -- apply -----------------------------------------------------------------------------------------------------

    def apply(self, plan: WritePlan, checked: Checked) -> Outcome:
        """Store the plan's rows; return the outcome."""
        record: Record | None = None
        candidate: Candidate | None = None
        replaced = get_record(self._tx, plan.supersede) if plan.supersede is not None else None
        if plan.action in {"activate", "supersede"}:
            record = self._create(plan, checked, replaced)
        elif plan.action == "merge" and plan.merge_into is not None:
            if replaced is not None:
                self._supersede(replaced, plan.merge_into, plan.decision)
            record = self._merge(plan, checked)
        elif plan.action == "candidate":
            candidate = self._store_candidate(plan, checked)
        if replaced is not None:  # after the candidate that replaces it has become a record
            settle_doubts(self._tx, replaced.record.memory_id, self._now)
        if plan.remember_turn:
            hashes = self._identity.text_hash, self._identity.fingerprint
            note_turns(self._tx, self._scope_id, hashes, checked.turns, self._now)
        self._log_decision(
            plan.decision, record, candidate.candidate_id if candidate else plan.promote or self._p.approves
        )
        if plan.action not in {"reject", "suppress"}:
            note_change(self._tx, self._means, self._scope_id)
        is_secret = plan.decision.reason_code == "secret_detected"
        result = WriteResult(
            relation=plan.relation,
            canonical_key="" if is_secret else (record.key if record else self._identity.key),
            semantic_fingerprint="" if is_secret else self._identity.fingerprint.hex(),
            decision=plan.decision,
            record=record,
            candidate=candidate,
            superseded_memory_id=replaced.record.memory_id if replaced else None,
            evidence_merged=plan.merge_into is not None and not self._p.is_note,
        )
        return Outcome(result, plan.action in {"activate", "supersede"}, self._notices)

    def _create(self, plan: WritePlan, checked: Checked, replaced: Stored | None) -> Record:
        """Store a new record, which takes the path of the one that it replaces; return it."""
        tx, memory_id = self._tx, self._means.ids.new("mem")
        if replaced is not None:
            self._supersede(replaced, memory_id, plan.decision)
        stored = add_record(tx, self._scope, self._build_columns(memory_id, checked, replaced))
        keep_evidence(tx, checked, self._now, memory_id=memory_id, is_new=True)
        if self._meets_candidate:
            stored = self._take_over(plan.promote, memory_id)
        created = Change("created", actor_of(self._p), plan.decision.reason_code, None, "active")
        add_event(tx, memory_id, self._now, created)
        add_first_text(tx, stored, self._means.lexicon, self._gist)
        stored = self._vectors.keep(tx, stored, self._p.meant)
        if notices := replace_notes(tx, self._means, stored, self._p, self._active):
            stored, self._notices = self._get_stored(memory_id), [*self._notices, *notices]
        self._notices.append(build_changed_notice(stored.record, "created", plan.decision.reason_code))
        return stored.record

    def _take_over(self, promoted: str | None, memory_id: str) -> Stored:
        """Approve the promoted candidate and merge all others that say the same into a new record; return the record.

        Their evidence becomes the record's.
        """
        if promoted is not None:
            self._end(promoted, End("approve", self._decider(), memory_id=memory_id))
        while (equal := self._find_pending()) is not None:
            self._end(equal.candidate.candidate_id, End("merge", merged_into=memory_id))
        recount_evidence(self._tx, memory_id, self._now)
        return self._get_stored(memory_id)

    def _build_columns(self, memory_id: str, checked: Checked, replaced: Stored | None) -> dict[str, Any]:
        """Return the fields and columns of the proposal's record, which has the path of the one that it replaces."""
        supersedes, path = (replaced.record.memory_id, replaced.record.path) if replaced else (None, None)
        place = RecordPlacement(memory_id, self._scope_id, supersedes, self._now, path)
        return columns_of(self._p, self._identity, checked, place, is_regulated=self._findings.is_regulated)

    def _supersede(self, old: Stored, memory_id: str, decision: Decision) -> None:
        """Supersede a record by another one."""
        reason = decision.reason_code
        set_status(self._tx, old, "replace", actor_of(self._p), self._now, reason_code=reason, superseded_by=memory_id)
        now = self._get_stored(old.record.memory_id).record
        self._notices.append(build_changed_notice(now, "superseded", reason, self._p.provenance))

    def _merge(self, plan: WritePlan, checked: Checked) -> Record:
        """Add the proposal's evidence to the record that says the same; return that. A note leaves it as it is."""
        tx, memory_id = self._tx, plan.merge_into or ""
        before = self._get_stored(memory_id).record
        if self._p.is_note:
            return before
        keep_evidence(tx, checked, self._now, memory_id=memory_id, is_new=plan.adopts)
        if plan.adopts:
            change = Change("confirmed", actor_of(self._p), plan.decision.reason_code, "active", "active")
            columns = self._build_columns(memory_id, checked, None) | {"path": before.path or self._p.path}
            adopt(tx, memory_id, columns, change, self._now, self._means.lexicon)
        elif self._p.path is not None and before.path is None:
            file_record(tx, memory_id, self._p.path, self._now)
        if plan.promote is not None:
            self._end(plan.promote, End("merge", self._decider(), merged_into=memory_id))
        if plan.uncontest is not None:
            settle_doubts(tx, memory_id, self._now)
            self._notices += lift_doubt(tx, memory_id, actor_of(self._p), self._now, plan.decision.reason_code)
        recount_evidence(tx, memory_id, self._now)
        record = self._get_stored(memory_id).record
        if record.evidence_count > before.evidence_count:
            add_event(tx, memory_id, self._now, Change("evidence_added", actor_of(self._p), plan.decision.reason_code))
            self._notices.append(build_changed_notice(record, "updated", plan.decision.reason_code, self._p.provenance))
        return record

    def _decider(self) -> str:
        """Return the decider of the candidates that end by this write."""
        return "user" if self._p.approves is not None else ADMISSION

    def _find_pending(self) -> StoredCandidate | None:
        """Return the waiting candidate that says the same, or None."""
        return pending_candidate(self._tx, self._scope_id, self._identity, self._value)

    def _end(self, candidate_id: str, end: End) -> None:
        """End a candidate, and the doubt that it cast on a record."""
        found = get_candidate(self._tx, candidate_id)
        end_candidate(self._tx, candidate_id, end, self._now)
        contested = found.candidate.contested_memory_id if found is not None else None
        self._notices += lift_doubt(self._tx, contested, actor_of(self._p), self._now)

    def _store_candidate(self, plan: WritePlan, checked: Checked) -> Candidate:
        """Store a candidate, or add the evidence to the waiting one; return it."""
        tx, decision = self._tx, plan.decision
        candidate_id = plan.merge_into or self._means.ids.new("cand")
        if plan.merge_into is None:
            add_candidate(
                tx,
                {
                    "candidate_id": candidate_id,
                    "scope_id": self._scope_id,
                    "category": self._p.semantic.category,
                    "key": self._identity.key,
                    "content": self._p.content,
                    "value": self._value,
                    "score": decision.score,
                    "bucket": decision.bucket,
                    "reason_code": decision.reason_code,
                    "evidence_count": len(checked.evidence),
                    "contested_memory_id": plan.contest,
                    "now": self._now,
                    "fingerprint": self._identity.fingerprint,
                    "text_hash": self._identity.text_hash,
                    "turn_id": self._p.provenance.turn_id,
                    "proposal": to_kept_column(
                        self._p, checked.source_kind, under_review=self._means.settings().review_enabled
                    ),
                },
            )
        keep_evidence(tx, checked, self._now, candidate_id=candidate_id)
        rescore_candidate(tx, candidate_id, decision, self._now)
        if plan.contest is not None and not self._get_stored(plan.contest).record.contested:
            set_contested(tx, plan.contest, self._now, is_contested=True)
            add_event(tx, plan.contest, self._now, Change("contested", actor_of(self._p), decision.reason_code))
            doubted = self._get_stored(plan.contest).record
            self._notices.append(build_changed_notice(doubted, "updated", decision.reason_code, self._p.provenance))
        found = get_candidate(tx, candidate_id)
        if found is None:
            raise Defect
        if plan.merge_into is None:
            self._notices.append(Notice("memory/candidate_created", CandidateCreated(candidate=found.candidate)))
        return found.candidate

    def _log_decision(self, decision: Decision, record: Record | None, candidate_id: str | None) -> None:
        """Store the decision with the record or candidate that it is about."""
        source, memory_id = self._p.provenance, record.memory_id if record else None
        place = source.thread_id, source.turn_id, self._p.run_id
        add_decision(self._tx, Decided(self._scope_id, memory_id, candidate_id, *place), decision, self._now)

    def _get_stored(self, memory_id: str) -> Stored:
        """Return a record of this transaction. Raises `Defect` where it is gone."""
        stored = get_record(self._tx, memory_id)
        if stored is None:
            raise Defect
        return stored
