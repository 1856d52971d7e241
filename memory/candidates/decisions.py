"""Candidates: proposals that a person looks at, and what the person decides.

Rule 1: a decision is made once, in one transaction, and leaves a policy decision; who comes second is told who was
first.
Rule 2: what becomes a record goes through the write pipeline as the approver's explicit wish; nothing here creates a
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
from memory.read.pages import mark_of, to_csv
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
from memory.rows.store import (
    Change,
    StoredCandidate,
    add_event,
    earlier_turns,
    get_candidate,
    get_record,
    note_turns,
    scope_ids_of,
)
from memory.rows.tombstones import add_tombstone
from memory.rows.withheld import find_kept, holds_number
from memory.rules.admission import rescore_repetition
from memory.rules.lifecycle import CANDIDATES, CandidateEvent
from memory.rules.scopes import narrow_scopes
from memory.rules.sensitivity import clean, judge
from memory.rules.visibility import status_at
from memory.write.answers import require_record
from memory.write.idempotency import notify_after_commit
from memory.write.writing import Outcome, RecordWriter
from protocol import methods as m
from protocol.base import DAY_MS, Scope
from protocol.cursors import cut_page, place_of
from protocol.errors import CallerError, Defect, Refused
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
from protocol.record import Actor, Record
from protocol.seams.ports import Tx
from protocol.seams.transitions import after

SWEEP_LIMIT = 500  # rows of one sweep transaction, as for records
LAST = 2**62
USER = "user"
RETENTION = "retention"
USER_ACTOR = Actor(kind="user")


CLOSINGS: dict[CandidateEvent, tuple[Action, ReasonCode | None, str]] = {
    "reject": ("reject", "suppressed_by_rejection", "a person rejected it"),
    "suppress": ("suppress", "suppressed_by_rejection", "a person wants neither this nor what says the same"),
    "expire": ("reject", None, "it was let go without being rejected"),
}
"""The end of a candidate without a record: action, reason (None: the reason why it waited), and why."""


class Candidates:
    """The eight methods of `memory/candidates/*`, and what the clock does."""

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
        """Candidates, newest first."""
        scopes = narrow_scopes((await self._door.place(params.context)).scopes, params.scopes)
        mark = mark_of(params)
        start, marked = place_of(params.cursor, (LAST, mark))
        if marked != mark:
            raise CallerError.at("$.cursor", "This cursor belongs to another query")
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
        """Return one candidate, with the record that came of it."""
        scopes = (await self._door.place(params.context)).scopes

        def read(tx: Tx) -> CandidateResult:
            found = _require_candidate(tx, params.candidate_id, scopes)
            if holds_number(found.candidate, self._means.scanner):
                raise CallerError.missing("candidate")
            return self._result(tx, found, scopes)

        return await self._means.db.read(read)

    # -- decisions -------------------------------------------------------------------------------------------------

    async def decide(self, params: CandidateDecideParams) -> CandidateResult:
        """Approve, reject or let go."""
        if params.decision == "approve":
            return await self.approve(params)
        return await self._close(params, "reject" if params.decision == "reject" else "expire")

    async def approve(self, params: CandidateReasonParams) -> CandidateResult:
        """Make a record of a candidate as it stands."""
        return await self._approve(params, None)

    async def edit_and_approve(self, params: CandidateEditParams) -> CandidateResult:
        """Make a record of a candidate in other words; the value is the one given now, or none."""
        check_bounds(params.content, params.value, None)
        return await self._approve(params, params)

    async def reject(self, params: CandidateReasonParams) -> CandidateResult:
        """Refuse a candidate: the same is not proposed again unless the user says it explicitly."""
        return await self._close(params, "reject")

    async def suppress_similar(self, params: CandidateReasonParams) -> CandidateResult:
        """Refuse a candidate and every other one with the same words, under whatever key."""
        return await self._close(params, "suppress")

    async def merge(self, params: CandidateMergeParams) -> CandidateResult:
        """Fold a candidate into another one or into a record, which gets its evidence."""
        if (params.target_candidate_id is None) == (params.target_memory_id is None):
            raise CallerError.at("$", "Give either `target_candidate_id` or `target_memory_id`")
        self._door.require_enabled()
        scopes = (await self._door.place(params.context)).scopes

        def merge(tx: Tx) -> CandidateResult:
            found = self._pending(tx, params, scopes)
            if params.target_memory_id is not None:
                notices = self._into_record(tx, found, params.target_memory_id, params, scopes)
            else:
                notices = self._into_candidate(tx, found, params.target_candidate_id or "", params, scopes)
            note_change(tx, self._means, found.scope_id)
            notify_after_commit(tx, self._means, notices)
            return self._result(tx, _require_candidate(tx, params.candidate_id, scopes), scopes)

        return await self._means.db.write(merge)

    # -- how each is done ------------------------------------------------------------------------------------------

    def _pending(self, tx: Tx, params: CandidateParams, scopes: Sequence[Scope]) -> StoredCandidate:
        """The candidate that a call decides. Raises for a thread that may not, and for what is decided already."""
        self._door.require_writable(tx, params.context, None, scopes)
        found = _waiting(tx, params.candidate_id, scopes)
        self._door.require_writable(tx, params.context, found.candidate.scope, scopes)
        return found

    async def _approve(self, params: CandidateReasonParams, edit: CandidateEditParams | None) -> CandidateResult:
        self._door.require_enabled()
        scopes, workspace_id, began = await self._door.place(params.context, writes=True)

        def approve(tx: Tx) -> tuple[Outcome, StoredCandidate]:
            found = self._pending(tx, params, scopes)
            content, value = (edit.content, edit.value) if edit else (found.candidate.content, found.candidate.value)
            proposed = replace(build_approved_proposal(tx, found, content, value, workspace_id), began=began)
            outcome = self._writer.write(tx, proposed, scopes)
            notify_after_commit(tx, self._means, outcome.notices)
            return outcome, _require_candidate(tx, params.candidate_id, scopes)

        outcome, after = await self._means.db.write(approve)
        # a refusal is stored before it is raised
        return CandidateResult(candidate=after.candidate, record=require_record(outcome))

    async def _close(self, params: CandidateReasonParams, event: CandidateEvent) -> CandidateResult:
        self._door.require_enabled()
        scopes = (await self._door.place(params.context)).scopes

        def close(tx: Tx) -> CandidateResult:
            found = self._pending(tx, params, scopes)
            closed = [found]
            if event == "suppress":
                closed += [_waiting(tx, candidate_id, scopes) for candidate_id in equal_waiting(tx, found)]
            notices = [notice for one in closed for notice in self._end(tx, one, End(event, USER), params.reason)]
            note_change(tx, self._means, found.scope_id)
            notify_after_commit(tx, self._means, notices)
            return CandidateResult(candidate=_require_candidate(tx, params.candidate_id, scopes).candidate)

        return await self._means.db.write(close)

    def _end(self, tx: Tx, found: StoredCandidate, end: End, reason: str | None) -> list[Notice]:
        """End a candidate without a record: no doubt stays, and the decision says why."""
        now, candidate = self._means.clock.now(), found.candidate
        end_candidate(tx, candidate.candidate_id, end, now)
        action, code, why = CLOSINGS[end.event]
        decision = Decision(
            action=action,
            score=candidate.score,
            bucket=candidate.bucket,
            reason_code=code or candidate.reason_code,
            factors=self._factors(after(CANDIDATES, candidate.status, end.event), why, reason, end.decided_by),
        )
        self._note(tx, found, decision, None)
        actor = USER_ACTOR if end.decided_by == USER else Actor(kind="system")
        return lift_doubt(tx, candidate.contested_memory_id, actor, now)

    def _factors(self, name: str, why: str, reason: str | None, decided_by: str = USER) -> list[Factor]:
        """Return who decided and in which words; words that must not be stored are left out."""
        factors = [Factor(name=name, value=decided_by, weight=0.0, contribution=0.0, why=why)]
        words = clean(reason or "").strip()
        found = judge([words], self._means.scanner.find(words)) if words else None
        if found is None or found.secret_kinds or found.is_regulated:
            return factors
        return [
            *factors,
            Factor(name="reason", value=words, weight=0.0, contribution=0.0, why="the decider's own words"),
        ]

    def _note(self, tx: Tx, found: StoredCandidate, decision: Decision, memory_id: str | None) -> None:
        decided = Decided(found.scope_id, memory_id, found.candidate.candidate_id, turn_id=found.turn_id)
        add_decision(tx, decided, decision, self._means.clock.now())

    def _note_merge(self, tx: Tx, found: StoredCandidate, params: CandidateMergeParams, code: ReasonCode) -> None:
        candidate = found.candidate
        decision = Decision(
            action="merge",
            score=candidate.score,
            bucket=candidate.bucket,
            reason_code=code,
            factors=self._factors("merged", "a person says that it is the same", params.reason),
        )
        self._note(tx, found, decision, params.target_memory_id)

    def _into_candidate(
        self, tx: Tx, found: StoredCandidate, target_id: str, params: CandidateMergeParams, scopes: Sequence[Scope]
    ) -> list[Notice]:
        path, now = "$.target_candidate_id", self._means.clock.now()
        if target_id == params.candidate_id:
            raise CallerError.at(path, "A candidate is not merged into itself")
        target = _waiting(tx, target_id, scopes)
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
        self._note_merge(tx, found, params, "duplicate_candidate")
        self._note(tx, target, rescored, None)
        return lift_doubt(tx, found.candidate.contested_memory_id, USER_ACTOR, now)

    def _into_record(
        self, tx: Tx, found: StoredCandidate, memory_id: str, params: CandidateMergeParams, scopes: Sequence[Scope]
    ) -> list[Notice]:
        now = self._means.clock.now()
        target = find_kept(tx, self._means, memory_id, scopes)
        if target is None:
            raise CallerError.missing("memory")
        if status_at(target.record, now) != "active":
            raise Refused("conflict", "Only an active memory takes more evidence.")
        _require_one_scope(found.candidate.scope, target.record.scope, "$.target_memory_id")
        end_candidate(tx, params.candidate_id, End("merge", USER, merged_into=memory_id), now)
        recount_evidence(tx, memory_id, now)
        add_event(tx, memory_id, now, Change("evidence_added", USER_ACTOR, "duplicate_active"))
        self._note_merge(tx, found, params, "duplicate_active")
        lifted = lift_doubt(tx, found.candidate.contested_memory_id, USER_ACTOR, now)
        others = [] if found.candidate.contested_memory_id == memory_id else lifted
        return [*others, build_changed_notice(_record(tx, memory_id), "updated", "duplicate_active")]

    # -- what is answered ------------------------------------------------------------------------------------------

    def _result(self, tx: Tx, found: StoredCandidate, scopes: Sequence[Scope]) -> CandidateResult:
        became = found.candidate.promoted_memory_id or found.candidate.merged_into
        stored = find_kept(tx, self._means, became, scopes) if became is not None else None
        record = (
            at_time(stored.record, self._means.clock.now(), self._means.settings().aging)
            if stored is not None
            else None
        )
        return CandidateResult(candidate=found.candidate, record=record)

    # -- the clock, and scopes that are gone -----------------------------------------------------------------------

    def sweep(self, tx: Tx, retention_days: int) -> tuple[int, list[Notice]]:
        """Let go what nobody decided for the time of retention; erase what was decided that long ago."""
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
        """Return when the next pass has something to do, in Unix milliseconds; None where nothing waits."""
        touched = first_touched(tx)
        return touched + retention_days * DAY_MS if touched is not None else None

    def let_go(self, tx: Tx, found: StoredCandidate) -> list[Notice]:
        """End a pending candidate without a person's decision; return the notifications of it."""
        notices = self._end(tx, found, End("expire", RETENTION), None)
        note_change(tx, self._means, found.scope_id)
        return notices

    @staticmethod
    def factors_of(tx: Tx, candidate_id: str) -> list[Factor]:
        """Return the factors of the last decision about a candidate."""
        last = decisions_of_candidate(tx, candidate_id, limit=1)
        return last[0].decision.factors if last else []

    def _erase(self, tx: Tx, found: StoredCandidate) -> None:
        """Take a decided candidate's text away; a rejection goes on by its keyed hashes."""
        candidate_id = found.candidate.candidate_id
        if found.candidate.status in {"rejected", "suppressed"}:
            key_hash = self._means.keyed.digest("key", f"{found.candidate.scope}\n{found.candidate.key}")
            add_tombstone(tx, candidate_id, found, key_hash, self._means.clock.now())
        erase_candidate(tx, candidate_id)

    def drop_scope(self, tx: Tx, scope_id: int) -> None:
        """A scope that is gone has nothing to decide."""
        for candidate_id in candidates_in(tx, scope_id):
            erase_candidate(tx, candidate_id)


def _require_candidate(tx: Tx, candidate_id: str, scopes: Sequence[Scope]) -> StoredCandidate:
    found = get_candidate(tx, candidate_id)
    if found is None or found.candidate.scope not in scopes:
        raise CallerError.missing("candidate")
    return found


def _waiting(tx: Tx, candidate_id: str, scopes: Sequence[Scope]) -> StoredCandidate:
    found = _require_candidate(tx, candidate_id, scopes)
    c = found.candidate
    if c.status != "pending":
        told = {
            "candidate_id": c.candidate_id,
            "status": c.status,
            "decided_at": c.decided_at,
            "decided_by": c.decided_by,
        }
        raise Refused("already_decided", details=told)
    return found


def _require_one_scope(scope: Scope, other: Scope, path: str) -> None:
    if scope != other:
        raise CallerError.at(path, "It is of another scope; nothing is merged across scopes")


def _record(tx: Tx, memory_id: str) -> Record:
    stored = get_record(tx, memory_id)
    if stored is None:
        raise Defect
    return stored.record
