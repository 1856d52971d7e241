"""Candidates: proposals that wait for a person, and the decisions of the person.

Rule 1: a candidate is decided once, in one transaction, and the decision is stored. A second decision is refused with
the first one.
Rule 2: an approved candidate goes through the write path as the approver's explicit wish; nothing here creates a
record.
Rule 3: a candidate outside the active scopes is answered exactly like one that does not exist.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from memory.doorway import Doorway
from memory.ports import Collaborators
from memory.proposals.kept_proposals import build_approved_proposal
from memory.proposals.proposal_sources import check_bounds
from memory.read.gate import at_time
from memory.read.pages import LAST, mark_of, page_place
from memory.rows.candidates import (
    End,
    candidates_in,
    end_candidate,
    equal_waiting,
    erase_candidate,
    first_touched,
    lift_doubt,
    list_candidates,
    list_untouched_candidates,
    rescore_candidate,
)
from memory.rows.decisions import Decided, add_decision, decisions_of_candidate
from memory.rows.evidence import recount_evidence
from memory.rows.notices import Notice, build_changed_notice, note_change
from memory.rows.record_columns import to_csv
from memory.rows.records import current_record
from memory.rows.store import (
    Change,
    StoredCandidate,
    add_event,
    earlier_turns,
    get_candidate,
    note_turns,
    scope_ids_of,
)
from memory.rows.tombstones import add_tombstone
from memory.rows.withheld import find_kept, holds_number, require_active
from memory.rules.actors import SYSTEM_ACTOR, USER_ACTOR
from memory.rules.admission import rescore_repetition
from memory.rules.identity import key_hash_of
from memory.rules.lifecycle import CANDIDATES, CandidateEvent
from memory.rules.scopes import narrow_scopes
from memory.rules.sensitivity import clean, judge
from memory.write.answers import require_record
from memory.write.idempotency import notify_after_commit
from memory.write.writing import Outcome, RecordWriter
from protocol import methods as m
from protocol.base import DAY_MS, Scope
from protocol.cursors import cut_page
from protocol.errors import CallerError, Refused
from protocol.memory.candidates import (
    CandidateDecideParams,
    CandidateEditParams,
    CandidateListParams,
    CandidateListResult,
    CandidateMergeParams,
    CandidateParams,
    CandidateReasonParams,
    CandidateResult,
)
from protocol.memory.values import Action, Decision, Factor, ReasonCode
from protocol.methods import Bound, bind
from protocol.seams.ports import Tx
from protocol.seams.transitions import after

SWEEP_LIMIT = 500  # rows of one sweep transaction, as for records
USER = "user"
RETENTION = "retention"
"""The deciders of candidates: a person, and the sweep."""

CLOSINGS: dict[CandidateEvent, tuple[Action, ReasonCode | None, str]] = {
    "reject": ("reject", "suppressed_by_rejection", "a person rejected it"),
    "suppress": ("suppress", "suppressed_by_rejection", "a person wants neither this nor what says the same"),
    "expire": ("reject", None, "it was let go without being rejected"),
}
"""The end of a candidate without a record: action, reason (None: that for which it waited), and a sentence."""


class Candidates:
    """Answers the eight methods of `memory/candidates/*`, and ends candidates whose time is over."""

    def __init__(self, means: Collaborators, writer: RecordWriter, door: Doorway) -> None:
        self._means = means
        self._writer = writer
        self._door = door

    def bindings(self) -> list[Bound]:
        """Return the methods of the wire that are answered here."""
        return [
            bind(m.CANDIDATES_LIST, self.list_candidates),
            bind(m.CANDIDATES_GET, self.get),
            bind(m.CANDIDATES_DECIDE, self.decide),
            bind(m.CANDIDATES_APPROVE, self.approve),
            bind(m.CANDIDATES_REJECT, self.reject),
            bind(m.CANDIDATES_EDIT, self.edit_and_approve),
            bind(m.CANDIDATES_MERGE, self.merge),
            bind(m.CANDIDATES_SUPPRESS, self.suppress_similar),
        ]

    # -- reads -----------------------------------------------------------------------------------------------------

    async def list_candidates(self, params: CandidateListParams) -> CandidateListResult:
        """Return a page of candidates, newest first; those that hold a number which is never kept are left out."""
        scopes = narrow_scopes((await self._door.place(params.context)).scopes, params.scopes)
        mark = mark_of(params)
        start, _ = page_place(params.cursor, (LAST, mark))
        values = {
            "statuses": to_csv(params.statuses),
            "categories": to_csv(params.categories),
            "row": start,
            "limit": params.limit + 1,
        }

        def read(tx: Tx) -> CandidateListResult:
            found = [one for scope_id in scope_ids_of(tx, scopes) for one in list_candidates(tx, scope_id, values)]
            found.sort(key=lambda placed: -placed[0])
            page, following = cut_page(found, params.limit, lambda one: (one[0], mark))
            shown = [one.candidate for _, one in page if not holds_number(one.candidate, self._means.scanner)]
            return CandidateListResult(candidates=shown, next_cursor=following)

        return await self._means.db.read(read)

    async def get(self, params: CandidateParams) -> CandidateResult:
        """Return one candidate, with the record that it became or was merged into."""
        scopes = (await self._door.place(params.context)).scopes

        def read(tx: Tx) -> CandidateResult:
            found = _require_candidate(tx, params.candidate_id, scopes)
            if holds_number(found.candidate, self._means.scanner):
                raise CallerError.missing("candidate")
            return self._build_result(tx, found, scopes)

        return await self._means.db.read(read)

    # -- decisions -------------------------------------------------------------------------------------------------

    async def decide(self, params: CandidateDecideParams) -> CandidateResult:
        """Approve a candidate, reject it, or end it without rejecting it."""
        if params.decision == "approve":
            return await self.approve(params)
        return await self._close(params, "reject" if params.decision == "reject" else "expire")

    async def approve(self, params: CandidateReasonParams) -> CandidateResult:
        """Make a record of a candidate in its own words. Raises `Refused("write_refused")`."""
        return await self._approve(params, None)

    async def edit_and_approve(self, params: CandidateEditParams) -> CandidateResult:
        """Make a record of a candidate in other words, with the value that is given now, or none."""
        check_bounds(params.content, params.value, None)
        return await self._approve(params, params)

    async def reject(self, params: CandidateReasonParams) -> CandidateResult:
        """Reject a candidate: the same is not proposed again unless the user asks for it explicitly."""
        return await self._close(params, "reject")

    async def suppress_similar(self, params: CandidateReasonParams) -> CandidateResult:
        """Reject a candidate and every other one with the same words, under whatever key."""
        return await self._close(params, "suppress")

    async def merge(self, params: CandidateMergeParams) -> CandidateResult:
        """Merge a candidate into another one or into a record, which gets its evidence."""
        if (params.target_candidate_id is None) == (params.target_memory_id is None):
            raise CallerError.at("$", "Give either `target_candidate_id` or `target_memory_id`")
        self._door.require_enabled()
        scopes = (await self._door.place(params.context)).scopes

        def merge(tx: Tx) -> CandidateResult:
            found = self._require_pending(tx, params, scopes)
            if params.target_memory_id is not None:
                notices = self._merge_into_record(tx, found, params.target_memory_id, params, scopes)
            else:
                notices = self._merge_into_candidate(tx, found, params.target_candidate_id or "", params, scopes)
            note_change(tx, self._means, found.scope_id)
            notify_after_commit(tx, self._means, notices)
            return self._build_result(tx, _require_candidate(tx, params.candidate_id, scopes), scopes)

        return await self._means.db.write(merge)

    # -- the steps of a decision -----------------------------------------------------------------------------------

    def _require_pending(self, tx: Tx, params: CandidateParams, scopes: Sequence[Scope]) -> StoredCandidate:
        """Return the candidate that a call decides. Raises where the call may not write, or it is decided already."""
        self._door.require_writable(tx, params.context, None, scopes)
        found = _require_waiting(tx, params.candidate_id, scopes)
        self._door.require_writable(tx, params.context, found.candidate.scope, scopes)
        return found

    async def _approve(self, params: CandidateReasonParams, edit: CandidateEditParams | None) -> CandidateResult:
        """Write a candidate as its approver's explicit wish, in the words of `edit` where that is given."""
        self._door.require_enabled()
        scopes, workspace_id, began = await self._door.place(params.context, writes=True)

        def approve(tx: Tx) -> tuple[Outcome, StoredCandidate]:
            found = self._require_pending(tx, params, scopes)
            content, value = (edit.content, edit.value) if edit else (found.candidate.content, found.candidate.value)
            proposed = replace(build_approved_proposal(tx, found, content, value, workspace_id), began=began)
            outcome = self._writer.write(tx, proposed, scopes)
            notify_after_commit(tx, self._means, outcome.notices)
            return outcome, _require_candidate(tx, params.candidate_id, scopes)

        outcome, decided = await self._means.db.write(approve)
        # after the commit: a refusal is raised, and its decision stays stored
        return CandidateResult(candidate=decided.candidate, record=require_record(outcome))

    async def _close(self, params: CandidateReasonParams, event: CandidateEvent) -> CandidateResult:
        """End a candidate without a record; to suppress it ends every other one with its words, too."""
        self._door.require_enabled()
        scopes = (await self._door.place(params.context)).scopes

        def close(tx: Tx) -> CandidateResult:
            found = self._require_pending(tx, params, scopes)
            closed = [found]
            if event == "suppress":
                closed += [_require_waiting(tx, candidate_id, scopes) for candidate_id in equal_waiting(tx, found)]
            notices = [notice for one in closed for notice in self._end(tx, one, End(event, USER), params.reason)]
            note_change(tx, self._means, found.scope_id)
            notify_after_commit(tx, self._means, notices)
            return CandidateResult(candidate=_require_candidate(tx, params.candidate_id, scopes).candidate)

        return await self._means.db.write(close)

    def _end(self, tx: Tx, found: StoredCandidate, end: End, reason: str | None) -> list[Notice]:
        """End a candidate without a record, and the doubt that it cast on one; store the decision with its reason."""
        now, candidate = self._means.clock.now(), found.candidate
        end_candidate(tx, candidate.candidate_id, end, now)
        action, code, why = CLOSINGS[end.event]
        decision = Decision(
            action=action,
            score=candidate.score,
            bucket=candidate.bucket,
            reason_code=code or candidate.reason_code,
            factors=self._build_factors(after(CANDIDATES, candidate.status, end.event), why, reason, end.decided_by),
        )
        self._log_decision(tx, found, decision, None)
        actor = USER_ACTOR if end.decided_by == USER else SYSTEM_ACTOR
        return lift_doubt(tx, candidate.contested_memory_id, actor, now)

    def _build_factors(self, name: str, why: str, reason: str | None, decided_by: str = USER) -> list[Factor]:
        """Return the factors of a person's decision: the decider, and their words, unless these are sensitive."""
        factors = [Factor(name=name, value=decided_by, weight=0.0, contribution=0.0, why=why)]
        words = clean(reason or "").strip()
        found = judge([words], self._means.scanner.find(words)) if words else None
        if found is None or found.secret_kinds or found.is_regulated:
            return factors
        return [
            *factors,
            Factor(name="reason", value=words, weight=0.0, contribution=0.0, why="the decider's own words"),
        ]

    def _log_decision(self, tx: Tx, found: StoredCandidate, decision: Decision, memory_id: str | None) -> None:
        """Store a decision about a candidate, and the record that it became part of."""
        decided = Decided(found.scope_id, memory_id, found.candidate.candidate_id, turn_id=found.turn_id)
        add_decision(tx, decided, decision, self._means.clock.now())

    def _log_merge(self, tx: Tx, found: StoredCandidate, params: CandidateMergeParams, code: ReasonCode) -> None:
        candidate = found.candidate
        decision = Decision(
            action="merge",
            score=candidate.score,
            bucket=candidate.bucket,
            reason_code=code,
            factors=self._build_factors("merged", "a person says that it is the same", params.reason),
        )
        self._log_decision(tx, found, decision, params.target_memory_id)

    def _merge_into_candidate(
        self, tx: Tx, found: StoredCandidate, target_id: str, params: CandidateMergeParams, scopes: Sequence[Scope]
    ) -> list[Notice]:
        """Merge a candidate into another waiting one, which is scored anew; return the notices."""
        path, now = "$.target_candidate_id", self._means.clock.now()
        if target_id == params.candidate_id:
            raise CallerError.at(path, "A candidate is not merged into itself")
        target = _require_waiting(tx, target_id, scopes)
        _require_one_scope(found.candidate.scope, target.candidate.scope, path)
        end_candidate(tx, params.candidate_id, End("merge", USER, merged_into=target_id), now)
        hashes = (target.text_hash, target.fingerprint)
        note_turns(
            tx, target.scope_id, hashes, earlier_turns(tx, found.scope_id, found.text_hash, found.fingerprint), now
        )
        verdict = rescore_repetition(self.factors_of(tx, target_id), len(earlier_turns(tx, target.scope_id, *hashes)))
        rescored = Decision(
            action="candidate",
            score=verdict.score,
            bucket=verdict.bucket,
            reason_code="duplicate_candidate",
            factors=verdict.factors,
        )
        rescore_candidate(tx, target_id, rescored, now)
        self._log_merge(tx, found, params, "duplicate_candidate")
        self._log_decision(tx, target, rescored, None)
        return lift_doubt(tx, found.candidate.contested_memory_id, USER_ACTOR, now)

    def _merge_into_record(
        self, tx: Tx, found: StoredCandidate, memory_id: str, params: CandidateMergeParams, scopes: Sequence[Scope]
    ) -> list[Notice]:
        """Merge a candidate into a record, which gets its evidence; return the notices."""
        now = self._means.clock.now()
        target = require_active(tx, self._means, memory_id, scopes, "Only an active memory takes more evidence.")
        _require_one_scope(found.candidate.scope, target.record.scope, "$.target_memory_id")
        end_candidate(tx, params.candidate_id, End("merge", USER, merged_into=memory_id), now)
        recount_evidence(tx, memory_id, now)
        add_event(tx, memory_id, now, Change("evidence_added", USER_ACTOR, "duplicate_active"))
        self._log_merge(tx, found, params, "duplicate_active")
        lifted = lift_doubt(tx, found.candidate.contested_memory_id, USER_ACTOR, now)
        others = [] if found.candidate.contested_memory_id == memory_id else lifted
        return [*others, build_changed_notice(current_record(tx, target), "updated", "duplicate_active")]

    # -- answers ---------------------------------------------------------------------------------------------------

    def _build_result(self, tx: Tx, found: StoredCandidate, scopes: Sequence[Scope]) -> CandidateResult:
        """Return a candidate, with the record that it became or was merged into where the caller may see that."""
        became = found.candidate.promoted_memory_id or found.candidate.merged_into
        stored = find_kept(tx, self._means, became, scopes) if became is not None else None
        if stored is None:
            return CandidateResult(candidate=found.candidate)
        record = at_time(stored.record, self._means.clock.now(), self._means.settings().aging)
        return CandidateResult(candidate=found.candidate, record=record)

    # -- the clock, and scopes that are gone -----------------------------------------------------------------------

    def sweep(self, tx: Tx, retention_days: int) -> tuple[int, list[Notice]]:
        """End candidates that no person decided within the retention; erase those that were decided before it.

        Return how many, at most `SWEEP_LIMIT`, and the notices.
        """
        before = self._means.clock.now() - retention_days * DAY_MS
        notices: list[Notice] = []
        due = list_untouched_candidates(tx, before, SWEEP_LIMIT)
        for found in due:
            if found.candidate.status == "pending":
                notices += self.let_go(tx, found)
            else:
                self._erase(tx, found)
        return len(due), notices

    def due_at(self, tx: Tx, retention_days: int) -> int | None:
        """Return when the next sweep has something to do, in Unix milliseconds; None where there is no candidate."""
        touched = first_touched(tx)
        return touched + retention_days * DAY_MS if touched is not None else None

    def let_go(self, tx: Tx, found: StoredCandidate) -> list[Notice]:
        """End a pending candidate without a person's decision; return the notices of it."""
        notices = self._end(tx, found, End("expire", RETENTION), None)
        note_change(tx, self._means, found.scope_id)
        return notices

    @staticmethod
    def factors_of(tx: Tx, candidate_id: str) -> list[Factor]:
        """Return the factors of the last decision about a candidate."""
        last = decisions_of_candidate(tx, candidate_id, limit=1)
        return last[0].decision.factors if last else []

    def _erase(self, tx: Tx, found: StoredCandidate) -> None:
        """Erase a decided candidate; of a rejected one the keyed hashes stay, so that it is not proposed again."""
        candidate_id = found.candidate.candidate_id
        if found.candidate.status in {"rejected", "suppressed"}:
            key_hash = key_hash_of(found.candidate.scope, found.candidate.key, self._means.keyed)
            add_tombstone(tx, candidate_id, found, key_hash, self._means.clock.now())
        erase_candidate(tx, candidate_id)

    def drop_scope(self, tx: Tx, scope_id: int) -> None:
        """Erase every candidate of a scope that was deleted."""
        for candidate_id in candidates_in(tx, scope_id):
            erase_candidate(tx, candidate_id)


def _require_candidate(tx: Tx, candidate_id: str, scopes: Sequence[Scope]) -> StoredCandidate:
    """Return a candidate of the scopes. Raises `CallerError("not_found")`."""
    found = get_candidate(tx, candidate_id)
    if found is None or found.candidate.scope not in scopes:
        raise CallerError.missing("candidate")
    return found


def _require_waiting(tx: Tx, candidate_id: str, scopes: Sequence[Scope]) -> StoredCandidate:
    """Return a pending candidate of the scopes. Raises also `Refused("already_decided")` with the first decision."""
    found = _require_candidate(tx, candidate_id, scopes)
    c = found.candidate
    if c.status != "pending":
        details = {
            "candidate_id": c.candidate_id,
            "status": c.status,
            "decided_at": c.decided_at,
            "decided_by": c.decided_by,
        }
        raise Refused("already_decided", details=details)
    return found


def _require_one_scope(scope: Scope, other: Scope, path: str) -> None:
    if scope != other:
        raise CallerError.at(path, "It is of another scope; nothing is merged across scopes")
