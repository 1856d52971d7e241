"""Forgets the records that a target names, by tombstones that can be undone or by an erase, and expires records.

Rule 1: a forgotten record leaves every index in the same transaction, and is in no answer that starts after it.
Rule 2: a turn or thread is forgotten with the records that were learnt from it. Records that were learnt elsewhere stay
and lose their quotes from there.
Rule 3: a record is forgotten alone. Others that rest on the same words of a turn are named, since one sentence may
state two facts.
Rule 4: work that is under way writes nothing of a forgotten source: the same transaction marks it, and the answer names
the cancelled runs.
Rule 5: a rehearsal does all of it and is rolled back, so that it counts what the real run will count.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

import msgspec

from memory.forget.erasing import ForgottenRecords, RecordEraser, finish_later
from memory.forget.sources import Sources
from memory.ports import Collaborators
from memory.proposals.file_places import file_place_of
from memory.proposals.forgotten_sources import Mark, cancel_in_scope, cancel_runs, marks_of_words, note_forgotten
from memory.read.vectors import RecordVectors
from memory.rows.candidates import candidates_in, erase_candidate, forget_candidate, lift_doubt, show_again
from memory.rows.evidence import list_on_same_words, quotes_of
from memory.rows.forgetting import (
    Bookkeeping,
    ForgottenSource,
    candidates_of_source,
    candidates_saying,
    drop_old,
    drop_quotes,
    drop_repetitions,
    first_forgotten,
    forgotten_by,
    holders_of_quotes,
    list_expired_records,
    next_expiry,
    records_in,
    records_of_source,
)
from memory.rows.notices import Notice, build_changed_notice, expire, note_change, reactivate
from memory.rows.record_columns import Stored
from memory.rows.records import (
    current_record,
    earlier_versions,
    is_key_taken,
    reinforce,
    set_status,
    status_before_deletion,
    was_merged,
)
from memory.rows.store import (
    Change,
    active_by_path,
    add_event,
    add_text,
    get_any_candidate,
    get_record,
    record_by_key,
    remove_text,
    scope_id_of,
    scope_ids_of,
)
from memory.rows.vectors import remove_vectors
from memory.rows.withheld import is_shown, withheld_of
from memory.rules.actors import SYSTEM_ACTOR
from memory.rules.identity import key_part
from memory.rules.lifecycle import RESTORED_TO
from memory.rules.paths import require_path
from memory.rules.scopes import require_scope
from memory.rules.visibility import ACTIVE, ALL, KEPT, View, is_visible
from memory.write.idempotency import KEEP_ANSWERS_MS
from protocol.base import DAY_MS, Cancelled, Scope
from protocol.errors import CallerError, Refused
from protocol.memory.forgetting import (
    ForgetById,
    ForgetByKey,
    ForgetByPath,
    ForgetByScope,
    ForgetByThread,
    ForgetByTurn,
    ForgetParams,
    ForgetResult,
    Receipt,
    Remaining,
    RemovedCounts,
)
from protocol.notifications import MemoryForgotten
from protocol.record import Actor, Record
from protocol.seams.ports import Tx

SWEEP_LIMIT = 100  # records of one sweep transaction, so that other writers wait for milliseconds
SWEEP_ROWS = 5000  # rows of bookkeeping, which cost a hundredth of a record
OfOneRecord: TypeAlias = ForgetById | ForgetByKey | ForgetByPath
"""The targets that name one record, and no source or scope of several."""
KEPT_MS: Mapping[Bookkeeping, int] = {
    "answers": KEEP_ANSWERS_MS,
    "changes": DAY_MS,
    "recalls": 7 * DAY_MS,
    "decisions": 180 * DAY_MS,
    "repetitions": 180 * DAY_MS,
}
"""The milliseconds for which each kind of bookkeeping is kept: long enough for a retry, for every process to read a
change, and for a person to ask why last season's message was not saved."""


class Forgetter:
    """Forgets, erases, restores and expires records, on a transaction."""

    def __init__(self, means: Collaborators, sources: Sources, vectors: RecordVectors) -> None:
        self._means = means
        self._sources = sources
        self._rows = RecordEraser(means)
        self._vectors = vectors

    def find_targets(self, tx: Tx, params: ForgetParams, scopes: Sequence[Scope]) -> list[Stored]:
        """Return the records that a target names and that the caller may see; an unknown target names none.

        A record that is erased with its sources goes with its earlier versions, which rest on the same sources.
        """
        named = self._find_target_ids(tx, params, scopes)
        if params.include_sources and isinstance(params.target, OfOneRecord):
            named += [earlier for memory_id in named for earlier in earlier_versions(tx, memory_id)]
        found = [get_record(tx, memory_id) for memory_id in named]
        # a forgotten record may be erased, but not forgotten again
        statuses = ALL if params.mode == "erase" else KEPT
        view = View(frozenset(scope_ids_of(tx, scopes)), statuses, self._means.clock.now(), shows_regulated=True)
        return [s for s in found if s is not None and (is_visible(s.seen, view) or _is_hidden_there(s, view))]

    def _find_target_ids(self, tx: Tx, params: ForgetParams, scopes: Sequence[Scope]) -> list[str]:
        """Return the ids of the records that a target names, whether the caller may see them or not."""
        target = params.target
        if isinstance(target, ForgetById):
            return [target.memory_id]
        if isinstance(target, ForgetByKey):
            scope_id = scope_id_of(tx, require_scope(scopes, target.scope))
            found = record_by_key(tx, scope_id, target.key, key_part(target.key)) if scope_id is not None else None
            return [found.record.memory_id] if found is not None else []
        if isinstance(target, ForgetByPath):
            found = active_by_path(tx, require_path(target.path, "$.target.path"))
            return [found.record.memory_id] if found is not None else []
        if isinstance(target, ForgetByScope):
            return self._list_in_scope(tx, target, scopes)
        return records_of_source(tx, _source_of(target))

    def _list_in_scope(self, tx: Tx, target: ForgetByScope, scopes: Sequence[Scope]) -> list[str]:
        scope_id = scope_id_of(tx, require_scope(scopes, target.scope))
        return records_in(tx, scope_id) if scope_id is not None else []

    def forget(self, tx: Tx, params: ForgetParams, scopes: Sequence[Scope], actor: Actor) -> ForgottenRecords:
        """Forget or erase the records that the target names. Raises `CallerError` for sources of a mere forgetting."""
        if params.include_sources and params.mode != "erase":
            raise CallerError.at("$.include_sources", "Messages are changed by an erase only: it cannot be undone")
        return self._forget(tx, params, scopes, actor, self.find_targets(tx, params, scopes))

    def erase_withheld(self, tx: Tx, memory_ids: Sequence[str], actor: Actor) -> ForgottenRecords:
        """Erase those of some records that are withheld for their numbers, whatever their scope."""
        return self.erase(tx, withheld_of(tx, memory_ids), actor, restore_superseded=True)

    def erase(self, tx: Tx, found: Sequence[Stored], actor: Actor, *, restore_superseded: bool) -> ForgottenRecords:
        """Erase just these records, whatever their scope."""
        scopes = list({stored.record.scope for stored in found})
        params = ForgetParams(target=ForgetById(memory_id=""), mode="erase", restore_superseded=restore_superseded)
        return self._forget(tx, params, scopes, actor, found)

    def _forget(
        self, tx: Tx, params: ForgetParams, scopes: Sequence[Scope], actor: Actor, found: Sequence[Stored]
    ) -> ForgottenRecords:
        """Forget or erase these records, with the quotes, candidates and open runs that the target reaches."""
        is_erase = params.mode == "erase"
        ids = [stored.record.memory_id for stored in found]
        notices: list[Notice] = []
        removed = Counter[str]()
        cancelled = self._mark_forgotten(tx, params, scopes, found)
        beside = self._list_beside(tx, scopes, ids) if isinstance(params.target, OfOneRecord) else []
        for stored in found:
            if stored.record.status != "deleted":
                is_last = stored.record.supersedes not in ids  # what it replaced is forgotten with it
                brings_back = params.restore_superseded and stored.is_single and is_last
                taken = {"fts_rows": remove_text(tx, stored.row), "vectors": remove_vectors(tx, stored.row)}
                removed += Counter(taken)
                notices += self._bury(tx, stored, actor, restore_superseded=brings_back)
        removed += self._forget_around(tx, params, scopes, ids, actor, notices)
        if ids:
            reason = params.reason and self._means.scanner.mask(params.reason)
            notices.append(Notice("memory/forgotten", MemoryForgotten(memory_ids=ids, reason=reason)))
        result = ForgetResult(
            forgotten_memory_ids=ids, dry_run=params.dry_run, cancelled=cancelled, same_sentence=beside
        )
        said = self._sources.read_phrases(tx, found) if is_erase else None
        if is_erase and (found or removed):
            erased = self._rows.erase(tx, found, include_sources=params.include_sources)
            removed += erased.removed
            receipt = Receipt(
                memory_ids=ids,
                removed=RemovedCounts(**removed),
                remaining=Remaining(items=erased.remaining, backups=self._means.backups()),
                wal="pending",
                complete=False,
            )
            result = msgspec.structs.replace(result, receipt=receipt)
        taken_from = [
            place
            for stored in found
            if (place := file_place_of(stored.record.provenance, stored.record.content)) is not None
        ]
        return ForgottenRecords(result, notices, said, taken_from)

    def _list_beside(self, tx: Tx, scopes: Sequence[Scope], gone: Sequence[str]) -> list[str]:
        """Return the active records of the scopes that rest on the same words of a turn as those that are gone."""
        view = View(frozenset(scope_ids_of(tx, scopes)), ACTIVE, self._means.clock.now(), shows_regulated=True)
        beside = dict.fromkeys(other for memory_id in gone for other in list_on_same_words(tx, memory_id))
        found = [get_record(tx, memory_id) for memory_id in beside if memory_id not in gone]
        return [one.record.memory_id for one in found if one is not None and is_visible(one.seen, view)]

    def _mark_forgotten(
        self, tx: Tx, params: ForgetParams, scopes: Sequence[Scope], found: Sequence[Stored]
    ) -> list[Cancelled]:
        """Mark the target, the words of its records and the turns that taught them as forgotten for all open work.

        Return the runs that this cancels.
        """
        target = params.target
        marks = [mark for s in found for mark in marks_of_words(s.record.scope, (s.text_hash, s.fingerprint))]
        turns = {stored.record.provenance.turn_id or "" for stored in found}
        for stored in found:
            turns |= {quote.turn_id or "" for quote in quotes_of(tx, stored.record.memory_id)}
        turns.discard("")
        marks += [Mark("taught", turn_id) for turn_id in sorted(turns)]
        if isinstance(target, ForgetByScope):
            note_forgotten(tx, self._means, [*marks, Mark("scope", str(target.scope))])
            return cancel_in_scope(tx, self._means, require_scope(scopes, target.scope))
        source = ForgottenSource(None, None) if isinstance(target, OfOneRecord) else _source_of(target)
        if source.turn_id is not None:
            marks.append(Mark("turn", source.turn_id))
            turns.add(source.turn_id)
        if source.thread_id is not None:
            marks.append(Mark("thread", source.thread_id))
        note_forgotten(tx, self._means, marks)
        return cancel_runs(tx, self._means, lambda run: run.turn_id in turns or run.thread_id == source.thread_id)

    # -- quotes and candidates of a turn, a thread or a scope --------------------------------------------------------

    def _forget_around(
        self,
        tx: Tx,
        params: ForgetParams,
        scopes: Sequence[Scope],
        gone: Sequence[str],
        actor: Actor,
        notices: list[Notice],
    ) -> Counter[str]:
        """Remove a source's quotes from records learnt elsewhere, and forget the candidates that came from it.

        Return the number of removed rows by kind; notices are added to `notices`.
        """
        target, removed = params.target, Counter[str]()
        active = scope_ids_of(tx, scopes)
        if isinstance(target, OfOneRecord):
            return removed
        if isinstance(target, ForgetByScope):
            scope_id = scope_id_of(tx, require_scope(scopes, target.scope))
            waiting = candidates_in(tx, scope_id) if scope_id is not None else []
        else:
            source = _source_of(target)
            removed["evidence"] += self._remove_quotes(tx, source, active, gone, actor, notices)
            drop_repetitions(tx, source, active)
            waiting = candidates_of_source(tx, source)
        now = self._means.clock.now()
        for candidate_id in waiting:
            found = get_any_candidate(tx, candidate_id)
            if found is not None and found.scope_id in active:
                is_erase = params.mode == "erase"
                count = erase_candidate(tx, candidate_id) if is_erase else forget_candidate(tx, found, now)
                removed["candidates"] += count
                notices += lift_doubt(tx, found.candidate.contested_memory_id, SYSTEM_ACTOR, now)
        return +removed

    def _remove_quotes(
        self,
        tx: Tx,
        source: ForgottenSource,
        active: Collection[int],
        gone: Sequence[str],
        actor: Actor,
        notices: list[Notice],
    ) -> int:
        """Remove a source's quotes from records and candidates that stay; return how many, and add the notices."""
        now, removed = self._means.clock.now(), 0
        for quoting in holders_of_quotes(tx, source):
            memory_id, candidate_id = quoting
            if memory_id in gone:
                continue
            stored = get_record(tx, memory_id) if memory_id is not None else None
            waiting = get_any_candidate(tx, candidate_id) if candidate_id is not None else None
            holder = stored or waiting
            if holder is None or holder.scope_id not in active:
                continue
            removed += drop_quotes(tx, source, quoting, now)
            if stored is not None and memory_id is not None:
                add_event(tx, memory_id, now, Change("updated", actor, "source_forgotten"))
                note_change(tx, self._means, stored.scope_id)
                if stored.record.status != "deleted" and stored.is_intact:
                    notices.append(build_changed_notice(current_record(tx, stored), "updated", None))
        return removed

    def _bury(self, tx: Tx, stored: Stored, actor: Actor, *, restore_superseded: bool) -> list[Notice]:
        """Mark a record as forgotten that has left the indexes; return the notices.

        It can be restored until the retention ends.
        """
        before = stored.record.status
        set_status(tx, stored, "forget", actor, self._means.clock.now(), superseded_by=stored.followed_by)
        note_change(tx, self._means, stored.scope_id)
        notices = [_build_deleted_notice(stored.record), *self._forget_proposals(tx, stored)]
        if restore_superseded and before == "active" and stored.record.supersedes is not None:
            notices += self._bring_back(tx, stored.record.supersedes, actor)
        return notices

    def _forget_proposals(self, tx: Tx, stored: Stored) -> list[Notice]:
        """Forget with a record the candidates that say the same, or became it; return the notices."""
        memory_id, now = stored.record.memory_id, self._means.clock.now()
        notices: list[Notice] = []
        for candidate_id in candidates_saying(tx, stored):
            if (found := get_any_candidate(tx, candidate_id)) is not None:
                forget_candidate(tx, found, now, memory_id)
                notices += lift_doubt(tx, found.candidate.contested_memory_id, SYSTEM_ACTOR, now)
        return notices

    def _bring_back(self, tx: Tx, memory_id: str, actor: Actor) -> list[Notice]:
        """Restore the record that a forgotten one had superseded, unless its key is taken; return the notices."""
        old = get_record(tx, memory_id)
        if old is None or old.record.status != "superseded" or is_key_taken(tx, old):
            return []
        set_status(tx, old, "restore", actor, self._means.clock.now())
        return [build_changed_notice(current_record(tx, old), "restored", None)]

    def restore(self, tx: Tx, memory_id: str, scopes: Sequence[Scope], actor: Actor) -> tuple[Record, list[Notice]]:
        """Undo a forgetting, a merge or an archiving; return the record and the notices.

        The record has its former status, and the record that was restored in its place is superseded again. Raises
        `CallerError("not_found")`, and `Refused("conflict")` where it is not forgotten or its key is taken.
        """
        now = self._means.clock.now()
        stored = get_record(tx, memory_id)
        view = View(frozenset(scope_ids_of(tx, scopes)), ALL, now, shows_regulated=True)
        if stored is None or not is_shown(tx, stored, view, self._means.scanner):
            raise CallerError.missing("memory")
        is_merged = stored.record.status == "superseded" and was_merged(tx, memory_id)
        if is_merged or stored.record.status == "archived":
            return self._reactivate(tx, stored, actor)
        if stored.record.status != "deleted":
            raise Refused("conflict", "That memory is not forgotten.")
        status = status_before_deletion(tx, memory_id) or "active"
        notices: list[Notice] = []
        if status == "active":
            notices = self._replace_again(tx, stored, actor)
            if is_key_taken(tx, stored):
                raise Refused("conflict", "Another memory has that key now.")
        followed_by = (stored.followed_by or "") if status == "superseded" else None
        set_status(tx, stored, RESTORED_TO[status], actor, now, superseded_by=followed_by)
        show_again(tx, memory_id)
        reinforce(tx, memory_id, now)
        add_text(tx, stored, self._means.lexicon)
        self._vectors.expect(tx, stored)
        note_change(tx, self._means, stored.scope_id)
        record = current_record(tx, stored)
        return record, [*notices, build_changed_notice(record, "restored", None)]

    def _reactivate(self, tx: Tx, stored: Stored, actor: Actor) -> tuple[Record, list[Notice]]:
        """Make a merged or archived record active again, beside the one that it was merged into."""
        if is_key_taken(tx, stored):
            raise Refused("conflict", "Another memory has that key now.")
        notice = reactivate(tx, self._means, stored, actor)
        return current_record(tx, stored), [notice]

    def _replace_again(self, tx: Tx, stored: Stored, actor: Actor) -> list[Notice]:
        """Supersede again the record that was restored when this one was forgotten; return the notices."""
        old = get_record(tx, stored.record.supersedes) if stored.record.supersedes is not None else None
        if old is None or old.record.status != "active" or old.scope_id != stored.scope_id:
            return []
        set_status(tx, old, "replace", actor, self._means.clock.now(), superseded_by=stored.record.memory_id)
        return [build_changed_notice(current_record(tx, old), "superseded", None)]

    # -- the clock -------------------------------------------------------------------------------------------------

    def sweep(self, tx: Tx, retention_days: int) -> tuple[int, list[Notice]]:
        """Expire records whose time is over, erase those whose retention is, and drop old bookkeeping: a part of each.

        Return how many records that were, plus one for each kind of bookkeeping with a whole part; and the notices.
        """
        means, now = self._means, self._means.clock.now()
        expired = list_expired_records(tx, now, SWEEP_LIMIT)
        notices = [expire(tx, means, stored) for stored in expired]
        over = forgotten_by(tx, now - retention_days * DAY_MS, SWEEP_LIMIT)
        if over:
            self._rows.erase(tx, over, include_sources=False)
            finish_later(tx, means, [stored.record.memory_id for stored in over])
        done = len(expired) + len(over)
        for kind, age in KEPT_MS.items():
            done += drop_old(tx, kind, now - age, SWEEP_ROWS) // SWEEP_ROWS
        return done, notices

    def due_at(self, tx: Tx, retention_days: int) -> int | None:
        """Return when the next record expires or is to be erased, in Unix milliseconds; None where none is."""
        expiry, forgotten = next_expiry(tx), first_forgotten(tx)
        times = [expiry, forgotten + retention_days * DAY_MS if forgotten is not None else None]
        return min((at for at in times if at is not None), default=None)


def _is_hidden_there(stored: Stored, view: View) -> bool:
    """Return whether a record of the caller's scopes is damaged or withheld: hidden from answers, but removable."""
    is_there = stored.record.status in view.statuses or stored.record.status not in ALL
    return (not stored.is_intact or stored.seen.is_withheld) and stored.scope_id in view.scope_ids and is_there


def _source_of(target: ForgetByTurn | ForgetByThread) -> ForgottenSource:
    """Return the turn or thread that a target names."""
    if isinstance(target, ForgetByTurn):
        return ForgottenSource(turn_id=target.turn_id, thread_id=None)
    return ForgottenSource(turn_id=None, thread_id=target.thread_id)


def _build_deleted_notice(record: Record) -> Notice:
    """Return the notice of a forgetting, which names the record and not its content."""
    notice = build_changed_notice(msgspec.structs.replace(record, status="deleted"), "deleted", None)
    return Notice(notice.method, msgspec.structs.replace(notice.params, record=None))
