"""Forgetting: tombstones that can be undone, erasing that cannot, expiry by the clock.

Rule 1: what is forgotten is out of every index in the same transaction, and in no answer that starts after it.
Rule 2: an erase leaves keyed hashes, so that the same does not come back unasked, and nothing else.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from memory.identity import key_part
from memory.notices import Notice, changed, expire, note_change
from memory.ports import Collaborators
from memory.scopes import required
from memory.store import (
    SQL,
    Change,
    Stored,
    add_event,
    add_text,
    get_record,
    record_by_key,
    remove_text,
    scope_id_of,
    scope_ids_of,
    set_status,
)
from memory.visibility import ALL, KEPT, View, is_visible
from protocol.base import Scope
from protocol.errors import CallerError, Refused
from protocol.memory import (
    Actor,
    ForgetById,
    ForgetByKey,
    ForgetByScope,
    ForgetByThread,
    ForgetByTurn,
    ForgetParams,
    ForgetResult,
    Receipt,
    Record,
    Remaining,
    RemovedCounts,
    SourceItem,
    Status,
)
from protocol.notifications import MemoryForgotten
from protocol.ports import Tx

DAY_MS = 86_400_000
SWEEP_LIMIT = 500  # rows of one sweep transaction; a writer that waits for it waits milliseconds
KEEP_ANSWERS_MS = 30 * DAY_MS
KEEP_CHANGES_MS = DAY_MS
KEEP_RECALLS_MS = 7 * DAY_MS


class Forgotten(NamedTuple):
    """What one transaction forgot, and what is told about it."""

    result: ForgetResult
    notices: list[Notice]


class Forgetter:
    """Takes records away, on a transaction."""

    def __init__(self, means: Collaborators) -> None:
        self._means = means

    def targets(self, tx: Tx, params: ForgetParams, scopes: Sequence[Scope]) -> list[Stored]:
        """The records that a target names and that the caller may see; an unknown target names none."""
        found = [get_record(tx, memory_id) for memory_id in self._named(tx, params, scopes)]
        # a tombstone may be erased, but not made again
        statuses = ALL if params.mode == "erase" else KEPT
        view = View(frozenset(scope_ids_of(tx, scopes)), statuses, self._means.clock.now(), shows_regulated=True)
        return [s for s in found if s is not None and is_visible(s.seen._replace(is_intact=True), view)]

    def _named(self, tx: Tx, params: ForgetParams, scopes: Sequence[Scope]) -> list[str]:
        target = params.target
        if isinstance(target, ForgetById):
            return [target.memory_id]
        if isinstance(target, ForgetByKey):
            scope_id = scope_id_of(tx, required(scopes, target.scope))
            found = record_by_key(tx, scope_id, target.key, key_part(target.key)) if scope_id is not None else None
            return [found.record.memory_id] if found is not None else []
        if isinstance(target, ForgetByTurn):
            return [row[0] for row in tx.all(SQL["records_of_turn"], {"turn_id": target.turn_id})]
        if isinstance(target, ForgetByThread):
            return [row[0] for row in tx.all(SQL["records_of_thread"], {"thread_id": target.thread_id})]
        return self._in_scope(tx, target, scopes)

    def _in_scope(self, tx: Tx, target: ForgetByScope, scopes: Sequence[Scope]) -> list[str]:
        scope_id = scope_id_of(tx, required(scopes, target.scope))
        return (
            [row[0] for row in tx.all(SQL["records_of_scope"], {"scope_id": scope_id})] if scope_id is not None else []
        )

    def forget(self, tx: Tx, params: ForgetParams, scopes: Sequence[Scope], actor: Actor) -> Forgotten:
        """Tombstone or erase what the target names."""
        found = self.targets(tx, params, scopes)
        ids = [stored.record.memory_id for stored in found]
        if params.dry_run or not found:
            receipt = self._receipt(tx, found, RemovedCounts()) if params.mode == "erase" and params.dry_run else None
            return Forgotten(ForgetResult(forgotten_memory_ids=ids, dry_run=params.dry_run, receipt=receipt), [])
        notices: list[Notice] = []
        removed = RemovedCounts()
        receipt = self._receipt(tx, found, removed)
        for stored in found:
            if stored.record.status != "deleted":
                is_last = stored.record.supersedes not in ids  # what it replaced is forgotten with it
                brings_back = params.restore_superseded and stored.is_single and is_last
                notices += self.bury(tx, stored, actor, restore_superseded=brings_back)
            if params.mode == "erase":
                removed = _sum(removed, self.erase(tx, stored))
        notices.append(Notice("memory/forgotten", MemoryForgotten(memory_ids=ids, reason=params.reason)))
        if params.mode == "tombstone":
            return Forgotten(ForgetResult(forgotten_memory_ids=ids, dry_run=False), notices)
        receipt = msgspec.structs.replace(receipt, removed=removed)
        return Forgotten(ForgetResult(forgotten_memory_ids=ids, dry_run=False, receipt=receipt), notices)

    def _receipt(self, tx: Tx, found: Sequence[Stored], removed: RemovedCounts) -> Receipt:
        items = [
            SourceItem(thread_id=thread_id, turn_id=turn_id, item_id=item_id)
            for stored in found
            for thread_id, turn_id, item_id in tx.all(SQL["evidence_of_record"], {"memory_id": stored.record.memory_id})
            if thread_id is not None
        ]
        return Receipt(
            memory_ids=[stored.record.memory_id for stored in found],
            removed=removed,
            remaining=Remaining(items=items, backups=[]),
            wal="pending",
            complete=False,
        )

    def bury(self, tx: Tx, stored: Stored, actor: Actor, *, restore_superseded: bool) -> list[Notice]:
        """Make a tombstone: out of every index now, restorable for a while."""
        now = self._means.clock.now()
        remove_text(tx, stored, self._means.lexicon)
        before = stored.record.status
        set_status(tx, stored, "deleted", now, superseded_by=stored.record.superseded_by)
        add_event(tx, stored.record.memory_id, now, Change("deleted", actor, None, before, "deleted"))
        hashes = {
            "scope_id": stored.scope_id,
            "fingerprint": stored.fingerprint,
            "text_hash": stored.text_hash,
            "now": now,
        }
        tx.run(SQL["suppress_candidates"], hashes)
        note_change(tx, self._means, stored.scope_id)
        notices = [_deleted(stored.record)]
        if restore_superseded and before == "active" and stored.record.supersedes is not None:
            notices += self._bring_back(tx, stored.record.supersedes, actor)
        return notices

    def _bring_back(self, tx: Tx, memory_id: str, actor: Actor) -> list[Notice]:
        """A record that the forgotten one had replaced holds again."""
        old = get_record(tx, memory_id)
        taken = {"scope_id": old.scope_id, "key": old.record.key, "alias": old.alias} if old is not None else {}
        if old is None or old.record.status != "superseded" or tx.one(SQL["active_by_key"], taken):
            return []
        now = self._means.clock.now()
        set_status(tx, old, "active", now)
        add_event(tx, memory_id, now, Change("restored", actor, None, "superseded", "active"))
        return [changed(_current(tx, memory_id), "restored", None)]

    def erase(self, tx: Tx, stored: Stored) -> RemovedCounts:
        """Remove every row that holds or names the content; leave keyed hashes."""
        means, record, now = self._means, stored.record, self._means.clock.now()
        hashes = {"scope_id": stored.scope_id, "fingerprint": stored.fingerprint, "text_hash": stored.text_hash}
        by_id = {"memory_id": record.memory_id}
        counted = tx.one(SQL["count_evidence"], by_id)
        vectors = tx.one(SQL["count_vectors"], {"row": stored.row})
        key_hash = means.keyed.digest("key", f"{record.scope}\n{record.key}")
        tx.run(SQL["add_tombstone"], {**by_id, **hashes, "key_hash": key_hash, "now": now})
        candidates = tx.run(SQL["erase_candidates"], {**by_id, **hashes})
        snapshots = tx.run(SQL["erase_answers"], by_id)
        for name in ("erase_decisions", "erase_events", "unlink_superseded"):
            tx.run(SQL[name], by_id)
        tx.run(SQL["erase_repetition"], {"scope_id": stored.scope_id, "text_hash": stored.text_hash})
        tx.run(SQL["erase_repetition"], {"scope_id": stored.scope_id, "text_hash": stored.fingerprint})
        tx.run(SQL["erase_record"], by_id)
        add_event(tx, record.memory_id, now, Change("erased", Actor(kind="system"), None, "deleted", None))
        note_change(tx, means, stored.scope_id)
        return RemovedCounts(
            records=1,
            evidence=counted[0] if counted else 0,
            candidates=candidates,
            fts_rows=1 if record.status != "deleted" else 0,
            vectors=vectors[0] if vectors else 0,
            snapshots=snapshots,
        )

    def restore(self, tx: Tx, memory_id: str, scopes: Sequence[Scope], actor: Actor) -> tuple[Record, list[Notice]]:
        """Undo a tombstone."""
        now = self._means.clock.now()
        stored = get_record(tx, memory_id)
        view = View(frozenset(scope_ids_of(tx, scopes)), ALL, now, shows_regulated=True)
        if stored is None or not is_visible(stored.seen, view):
            raise CallerError.missing("memory")
        if stored.record.status != "deleted":
            raise Refused("conflict", "That memory is not forgotten.")
        taken = {"scope_id": stored.scope_id, "key": stored.record.key, "alias": stored.alias}
        successor = stored.record.superseded_by
        status: Status = "active" if successor is None else "superseded"  # as it was before
        if status == "active" and tx.one(SQL["active_by_key"], taken):
            raise Refused("conflict", "Another memory has that key now.")
        set_status(tx, stored, status, now, superseded_by=successor)
        add_event(tx, memory_id, now, Change("restored", actor, None, "deleted", status))
        add_text(tx, stored, self._means.lexicon)
        note_change(tx, self._means, stored.scope_id)
        record = _current(tx, memory_id)
        return record, [changed(record, "restored", None)]

    # -- the clock -------------------------------------------------------------------------------------------------

    def sweep(self, tx: Tx, retention_days: int) -> tuple[int, list[Notice]]:
        """Do what the clock has made due: expiry, the end of retention, old answers. Returns how much was done."""
        means, now = self._means, self._means.clock.now()
        notices: list[Notice] = []
        expired = tx.all(SQL["due_expiries"], {"now": now, "limit": SWEEP_LIMIT})
        for (memory_id,) in expired:
            stored = get_record(tx, memory_id)
            if stored is not None:
                notices.append(expire(tx, means, stored))
        over = tx.all(SQL["due_erasures"], {"before": now - retention_days * DAY_MS, "limit": SWEEP_LIMIT})
        for (memory_id,) in over:
            stored = get_record(tx, memory_id)
            if stored is not None:
                self.erase(tx, stored)
        if over:
            finish_later(tx, means, [memory_id for (memory_id,) in over])
        done = len(expired) + len(over)
        done += tx.run(SQL["forget_answers"], {"before": now - KEEP_ANSWERS_MS})
        tx.run(SQL["forget_changes"], {"before": now - KEEP_CHANGES_MS})
        tx.run(SQL["forget_recalls"], {"before": now - KEEP_RECALLS_MS})
        return done, notices

    def due_at(self, tx: Tx, retention_days: int) -> int | None:
        """When the next sweep has something to do."""
        expiry = tx.one(SQL["next_expiry"])
        erasure = tx.one(SQL["next_erasure"])
        times = [expiry[0]] if expiry and expiry[0] is not None else []
        if erasure and erasure[0] is not None:
            times.append(erasure[0] + retention_days * DAY_MS)
        return min(times, default=None)


def finish_later(tx: Tx, means: Collaborators, memory_ids: Sequence[str]) -> None:
    """Queue the end of an erase that another reader holds back; the job names what it is about."""
    means.jobs.enqueue(tx, "erase_finish", ",".join(memory_ids))


def _current(tx: Tx, memory_id: str) -> Record:
    stored = get_record(tx, memory_id)
    if stored is None:
        raise CallerError.missing("memory")
    return stored.record


def _deleted(record: Record) -> Notice:
    """A forgetting names the record and not its content."""
    notice = changed(msgspec.structs.replace(record, status="deleted"), "deleted", None)
    return Notice(notice.method, msgspec.structs.replace(notice.params, record=None))


def _sum(one: RemovedCounts, other: RemovedCounts) -> RemovedCounts:
    names = RemovedCounts.__struct_fields__
    return RemovedCounts(**{name: getattr(one, name) + getattr(other, name) for name in names})
