"""The stages of a consolidation, and the ways to undo their changes.

Rule 1: no stage changes, hides or removes a record of the user: it changes machines' records, candidates and
bookkeeping.
Rule 2: a stage does a bounded part at a time, and a part that is done again changes nothing more.
Rule 3: each change of a status is returned as a `StageChange`, which the run logs and a person can undo.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from memory.candidates.decisions import Candidates
from memory.forget.erasing import Eraser, RecordEraser
from memory.ports import Collaborators
from memory.proposals.kept_proposals import KeptProposal, build_approved_proposal, proposal_of
from memory.proposals.proposal_sources import is_explicit_wish
from memory.rows import aging as rows
from memory.rows.candidates import reopen_candidate
from memory.rows.evidence import evidence_of_candidate
from memory.rows.notices import Notice, archive, reactivate
from memory.rows.record_columns import Stored
from memory.rows.records import is_key_taken, records_of
from memory.rows.store import (
    Change,
    StoredCandidate,
    add_event,
    earlier_turns,
    get_any_candidate,
    get_record,
    scope_id_of,
)
from memory.rules.actors import SYSTEM_ACTOR, USER_ACTOR
from memory.rules.admission import rescore_repetition
from memory.rules.strength import has_faded
from memory.write.idempotency import notify_after_commit
from memory.write.writing import RecordWriter
from protocol.base import DAY_MS, Scope
from protocol.notifications import MemoryChanged, MemoryInvalidated
from protocol.passes import UndoSkip
from protocol.record import Kind
from protocol.seams.passes import StageChange, StageRun, StageSlice, UndoChange
from protocol.seams.ports import Tx

RAW_MS: Final = DAY_MS
"""The age from which a consolidation decides on a candidate again."""
RECORD, CANDIDATE, PROMOTED = "record", "candidate", "promoted"
"""The subject of a change: a record's status, a candidate's status, a record that a candidate became."""
MANY = 100
"""Changes of a run beyond which one notification stands for those of the single records."""


class Cap(Struct, frozen=True):
    """A cap on the records of some kinds that machines keep in a scope."""

    setting: str
    """The setting with the number."""
    kinds: Sequence[Kind]
    most: int
    """The most records that are archived at a time."""


CAPS: tuple[Cap, ...] = (
    Cap("cap_knowledge", ("semantic", "observation"), 20),
    Cap("cap_events", ("episodic", "session_summary"), 100),
    Cap("cap_procedures", ("procedural",), 10),
)
INBOX = Cap("cap_inbox", (), 50)
"""The cap on the pending candidates of a scope that no person wrote."""


class _Stage(Struct, frozen=True):
    """A stage by its name and the function that does the next part of it. Satisfies `PassStage`."""

    name: str
    step: Callable[[Tx, StageRun, int | None], StageSlice]

    def work(self, tx: Tx, run: StageRun) -> StageSlice:
        """Do the next part of the work; nothing in a workspace that has no rows."""
        scope_id = None
        if run.workspace_id is not None:
            scope_id = scope_id_of(tx, Scope(kind="workspace", key=run.workspace_id))
            if scope_id is None:
                return StageSlice()
        return self.step(tx, run, scope_id)


class Consolidation:
    """Builds the stages, and undoes their changes."""

    def __init__(self, means: Collaborators, writer: RecordWriter, eraser: Eraser, candidates: Candidates) -> None:
        self._means = means
        self._writer = writer
        self._eraser = eraser
        self._record_eraser = RecordEraser(means)
        self._candidates = candidates

    def stages(self) -> list[_Stage]:
        """Return the stages in the order in which they run."""
        return [
            _Stage("scan", self._scan),
            _Stage("score", self._score),
            _Stage("enrich", self._enrich),
            _Stage("promote", self._promote),
            _Stage("expire", self._expire),
            _Stage("cap", self._cap),
        ]

    def undoing(self) -> Mapping[str, UndoChange]:
        """Return the function that undoes a change, by its kind; it returns the reason for which it cannot, or None."""
        return {RECORD: self._undo_record, PROMOTED: self._undo_promotion, CANDIDATE: self._undo_candidate}

    # -- stages ----------------------------------------------------------------------------------------------------

    def _scan(self, tx: Tx, run: StageRun, scope_id: int | None) -> StageSlice:
        """Count the pending candidates, and those that have waited for a day."""
        raw, older = rows.raw_candidates(tx, scope_id, run.now - RAW_MS)
        return StageSlice(seen=raw, counts={"raw": raw, "older": older})

    def _score(self, tx: Tx, run: StageRun, scope_id: int | None) -> StageSlice:
        """Note the tiers of records whose standing has changed."""
        seen, moved = rows.move_tiers(tx, scope_id, run.limit)
        return StageSlice(
            place="more" if seen == run.limit else None, seen=seen, moved=moved, counts={"scored": seen, "moved": moved}
        )

    def _enrich(self, _tx: Tx, _run: StageRun, _scope_id: int | None) -> StageSlice:
        return StageSlice(skipped="provider_not_configured")

    def _promote(self, tx: Tx, run: StageRun, scope_id: int | None) -> StageSlice:
        """Decide again on candidates that have waited for a day, by admission with the evidence of now."""
        after = int(run.place or 0)
        found = rows.raw_after(tx, scope_id, run.now - RAW_MS, after, run.limit)
        done = [self._promote_one(tx, one, run.now) for _, one in found]
        changes = [outcome for outcome in done if isinstance(outcome, StageChange)]
        stays = [outcome for outcome in done if isinstance(outcome, str)]
        counts = {"promoted": len(changes)} | {f"stays_{reason}": stays.count(reason) for reason in set(stays)}
        place = str(found[-1][0]) if len(found) == run.limit else None
        return StageSlice(place=place, seen=len(found), changes=changes, counts=counts)

    def _promote_one(self, tx: Tx, found: StoredCandidate, now: int) -> StageChange | str:
        """Make a record of a candidate whose score is high by now; return the change, or the reason why it stays."""
        kept, candidate = proposal_of(found), found.candidate
        if reason := _find_hold_reason(found, kept):
            return reason
        turns = earlier_turns(tx, found.scope_id, found.text_hash, found.fingerprint)
        factors = self._candidates.factors_of(tx, candidate.candidate_id)
        evidence = evidence_of_candidate(tx, candidate.candidate_id)
        turns |= {one.turn_id for one in evidence if one.turn_id is not None}
        if rescore_repetition(factors, len(turns)).bucket != "high":
            return "low_score"
        threads = [one.thread_id for one in evidence if one.thread_id is not None]
        thread = self._means.read_thread(tx, threads[0]) if threads else None
        workspace_id = thread.workspace_id if thread is not None else None
        approved = build_approved_proposal(tx, found, candidate.content, candidate.value, workspace_id)
        proposed = msgspec.structs.replace(  # no person approves it here: it is proposed as it once was
            approved,
            provenance=kept.provenance,
            approves=None,
            is_explicit=is_explicit_wish(kept.semantic),
            disposition="route_to_candidate_policy",
        )
        outcome = self._writer.write(tx, proposed, [candidate.scope])
        record = outcome.result.record
        if record is None:
            return outcome.result.decision.reason_code
        add_event(tx, record.memory_id, now, Change("promoted", SYSTEM_ACTOR, None, None, "active"))
        notify_after_commit(tx, self._means, outcome.notices)
        return StageChange(
            record.memory_id,
            PROMOTED,
            {"candidate_id": candidate.candidate_id, "status": "pending"},
            {"candidate_id": candidate.candidate_id, "status": record.status},
        )

    def _expire(self, tx: Tx, run: StageRun, scope_id: int | None) -> StageSlice:
        """Archive machines' records that have faded, then erase those that were archived `archive_days` ago.

        The place is `archive:<row>`, then `erase:0`.
        """
        part, _, after = (run.place or "archive:0").partition(":")
        aging = self._means.settings().aging
        if part == "archive":
            ended, following = self._find_ended_records(tx, run, scope_id, int(after))
            changes, notices = self._archive(tx, ended, run.now)
            self._notify(tx, notices, run.changes + len(changes))
            place = f"archive:{following}" if following is not None else "erase:0"
            return StageSlice(place=place, seen=len(ended), changes=changes, counts={"archived": len(changes)})
        before = run.now - self._means.settings().archive_days * DAY_MS
        over = rows.long_archived(tx, scope_id, before, run.limit)
        if over:
            self._record_eraser.erase(tx, over, include_sources=False, leaves_tombstone=False)
            self._eraser.promise(tx)
        counts = {"erased": len(over)}
        if len(over) == run.limit:
            return StageSlice(place="erase:0", seen=len(over), moved=len(over), counts=counts)
        faded = 0 if aging == "off" else rows.count_faded(tx, scope_id, run.now)
        return StageSlice(seen=len(over), moved=len(over), counts=counts | {"faded": faded})

    def _find_ended_records(
        self, tx: Tx, run: StageRun, scope_id: int | None, after: int
    ) -> tuple[list[Stored], int | None]:
        """Return machines' records that have faded, and the row after which to go on; None at the end."""
        aging = self._means.settings().aging
        if aging == "off":
            return [], None
        if aging == "reinforced":
            found = rows.list_faded_machine_records(tx, scope_id, run.now, run.limit)
            return found, 0 if len(found) == run.limit else None
        page = rows.aging_machine_records(tx, scope_id, after, run.limit)
        due = [one.memory_id for one in page if has_faded(aging, one.life, run.now)]
        return records_of(tx, due), page[-1].row if len(page) == run.limit else None

    def _cap(self, tx: Tx, run: StageRun, scope_id: int | None) -> StageSlice:
        """Archive the weakest of machines' records in scopes over a cap, and end the weakest candidates."""
        settings, crowds = self._means.settings(), rows.machine_crowds(tx, scope_id)
        changes, notices, counts = list[StageChange](), list[Notice](), Counter[str]()
        for cap in CAPS:
            for scope in {crowd.scope_id for crowd in crowds}:
                size = sum(crowd.size for crowd in crowds if crowd.scope_id == scope and crowd.kind in cap.kinds)
                over: int = size - getattr(settings, cap.setting)
                if over > 0:
                    weakest = rows.weakest_machine_records(tx, scope, cap.kinds, run.now, min(over, cap.most))
                    moved, of_moved = self._archive(tx, weakest, run.now)
                    changes, notices = [*changes, *moved], [*notices, *of_moved]
                    counts[cap.setting] += len(moved)
        for scope, count in rows.waiting_crowds(tx, scope_id):
            over = min(count - settings.cap_inbox, INBOX.most)
            for found in rows.weakest_candidates(tx, scope, over) if over > 0 else []:
                notices += self._candidates.let_go(tx, found)
                changes.append(
                    StageChange(found.candidate.candidate_id, CANDIDATE, {"status": "pending"}, {"status": "expired"})
                )
                counts[INBOX.setting] += 1
        self._notify(tx, notices, run.changes + len(changes))
        return StageSlice(seen=len(changes), changes=changes, counts=counts)

    # -- moves -----------------------------------------------------------------------------------------------------

    def _archive(self, tx: Tx, found: Sequence[Stored], now: int) -> tuple[list[StageChange], list[Notice]]:
        """Archive some records; return the changes and their notices."""
        changes, notices = list[StageChange](), list[Notice]()
        for stored in found:
            notices.append(archive(tx, self._means, stored, SYSTEM_ACTOR))
            before = {"status": stored.record.status, "updated_at": stored.record.updated_at}
            after = {"status": "archived", "updated_at": now}
            changes.append(StageChange(stored.record.memory_id, RECORD, before, after))
        return changes, notices

    def _notify(self, tx: Tx, notices: Sequence[Notice], changes: int) -> None:
        """Send the notices after the commit, or one for all scopes where the run has made more than `MANY` changes."""
        if changes > MANY and notices:
            scopes = {notice.params.scope for notice in notices if isinstance(notice.params, MemoryChanged)}
            notices = [Notice("memory/invalidated", MemoryInvalidated(scopes=sorted(scopes)))]
        notify_after_commit(tx, self._means, notices)

    # -- undoing ---------------------------------------------------------------------------------------------------

    def _undo_record(self, tx: Tx, change: StageChange) -> UndoSkip | None:
        stored = get_record(tx, change.subject)
        if stored is None:
            return "erased"
        if stored.record.status == "deleted":
            return "forgotten"
        is_as_left = (stored.record.status, stored.record.updated_at) == (
            change.after["status"],
            change.after["updated_at"],
        )
        if not is_as_left or is_key_taken(tx, stored):
            return "changed_since"
        notify_after_commit(tx, self._means, [reactivate(tx, self._means, stored, USER_ACTOR)])
        return None

    def _undo_promotion(self, tx: Tx, change: StageChange) -> UndoSkip | None:
        stored = get_record(tx, change.subject)
        if stored is None:
            return "erased"
        if stored.record.status != "active":
            return "forgotten" if stored.record.status == "deleted" else "changed_since"
        notify_after_commit(tx, self._means, [archive(tx, self._means, stored, USER_ACTOR)])
        return None

    def _undo_candidate(self, tx: Tx, change: StageChange) -> UndoSkip | None:
        found = get_any_candidate(tx, change.subject)
        if found is None:
            return "erased"
        if found.is_forgotten:
            return "forgotten"
        if found.candidate.status != change.after["status"]:
            return "changed_since"
        reopen_candidate(tx, change.subject, self._means.clock.now())
        return None


def _find_hold_reason(found: StoredCandidate, kept: KeptProposal) -> str | None:
    """Return the reason for which no pass may promote a candidate, or None."""
    if found.candidate.contested_memory_id is not None:
        return "contested"
    if kept.under_review:
        return "review"
    return "machine_voice" if kept.provenance.source_kind == "agent_note" else None
