"""Erases records to the last byte: every row that holds or names them, then the files; then the receipt is complete.

Rule 1: an erase leaves keyed hashes, so that the same does not come back unasked, and nothing else.
Rule 2: a receipt is `complete` only when no file of the home holds the bytes any more. Until then the tombstone is
marked `is_pending` by the transaction of the erase itself, so that no crash loses it. The same transaction queues a
job that finishes the erase, so that the caller may go away.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from memory.forget.own_terms import ForgottenPhrases, RedactionPlan
from memory.forget.sources import Sources
from memory.ports import Collaborators
from memory.rows.erasing import erase_record
from memory.rows.evidence import Quote, quotes_of
from memory.rows.notices import Notice, note_change
from memory.rows.record_columns import Stored
from memory.rows.records import earlier_values
from memory.rows.store import Change, add_event
from memory.rows.tombstones import pending_erases, settle_erases
from memory.rules.actors import SYSTEM_ACTOR
from memory.rules.identity import key_hash_of, value_text
from memory.write.idempotency import notify_after_commit
from protocol.errors import Unavailable
from protocol.memory.forgetting import ForgetResult, LeftFile, LeftPlace, Receipt, SourceItem, SourcePlace
from protocol.memory.values import Context
from protocol.notifications import MemoryErased
from protocol.saying import Saying
from protocol.seams.file_evidence import FilePlace, SayingFile
from protocol.seams.ports import JobHandle, RetryJob, Tx
from protocol.seams.rehearsal import rehearse

FINISH_DELAY_MS = 2000
"""The erase itself finishes sooner; where it could not, the job does."""
TRIES = 3
"""The most times that places which came to hold the words meanwhile are redacted; those found then are only named."""
PLACES_NAMED = 1000
"""The most places that a receipt names; the others are counted."""
NOTHING = RedactionPlan([], Saying(()), [])
IDS_OF_JOB = 500  # the subject of a job is the key of an index, and so many ids are still a short one


class ForgottenRecords(NamedTuple):
    """The result of a transaction that forgets, with its notices."""

    result: ForgetResult
    notices: list[Notice]
    said: ForgottenPhrases | None = None
    """The phrases of the erased records; None where they were only forgotten."""
    files: Sequence[FilePlace] = ()
    """Places in files of the user that the records were taken from."""


class Erased(Struct, frozen=True):
    """The number of removed rows by kind, and the messages that still hold the words."""

    removed: Counter[str]
    remaining: list[SourceItem]


class RecordEraser:
    """Removes records with every row that holds or names them, on a transaction."""

    def __init__(self, means: Collaborators) -> None:
        self._means = means

    def erase(self, tx: Tx, found: Sequence[Stored], *, include_sources: bool, leaves_tombstone: bool = True) -> Erased:
        """Remove every row that holds or names the records; leave keyed hashes, so that they do not come back unasked.

        Records that no caller asked to forget leave no tombstone, and may be kept anew.
        """
        quotes = {s.record.memory_id: quotes_of(tx, s.record.memory_id) for s in found}
        said = {s.record.memory_id: _words_of(s, quotes[s.record.memory_id], earlier_values(tx, s.row)) for s in found}
        removed = Counter(snapshots=self._means.forget_copies(tx, said) if said else 0)
        sources = {quote.item_id for evidence in quotes.values() for quote in evidence if quote.item_id is not None}
        known = self._means.read_items(tx, sources)
        for stored in found:
            removed += self._erase_one(tx, stored, leaves_tombstone=leaves_tombstone)
        kept = [] if include_sources else list(known)
        remaining = {
            (quote.thread_id, quote.turn_id, quote.item_id): None
            for evidence in quotes.values()
            for quote in evidence
            if (quote.item_id in kept if quote.item_id is not None else self._has_source(tx, quote))
        }
        left = [SourceItem(thread_id=t, turn_id=u, item_id=i) for t, u, i in remaining if t is not None]
        return Erased(removed, left)

    def _has_source(self, tx: Tx, quote: Quote) -> bool:
        """Return whether a quote without a message is of a conversation in this home; those of MCP clients are not."""
        if quote.turn_id is not None:
            return self._means.read_turn(tx, quote.turn_id) is not None
        return quote.thread_id is not None and self._means.read_thread(tx, quote.thread_id) is not None

    def _erase_one(self, tx: Tx, stored: Stored, *, leaves_tombstone: bool) -> Counter[str]:
        """Erase a record, with an event of it; return the number of removed rows by kind."""
        means, record, now = self._means, stored.record, self._means.clock.now()
        key_hash = key_hash_of(record.scope, record.key, means.keyed) if leaves_tombstone else None
        removed = erase_record(tx, stored, key_hash, now)
        add_event(tx, record.memory_id, now, Change("erased", SYSTEM_ACTOR, None, "deleted", None))
        note_change(tx, means, stored.scope_id)
        return removed


def _words_of(stored: Stored, quotes: Sequence[Quote], earlier: Sequence[Any]) -> list[str]:
    """Return the texts by which a copy of the record is found: its content, quotes, value and earlier values."""
    record = stored.record
    values = [value_text("", value) for value in (record.value, *earlier) if value is not None]
    texts = (record.content, *(quote.text for quote in quotes), *values)
    return list(dict.fromkeys(text for text in texts if text.strip()))


def _with_places(receipt: Receipt, left: Sequence[LeftPlace], sources: Sequence[SourcePlace]) -> Receipt:
    """Return the receipt with the places that the words were taken out of, and those that still hold them."""
    backups = [LeftPlace(place="backup", id=name, reason="may_hold_it") for name in receipt.remaining.backups]
    places = [*left[:PLACES_NAMED], *backups]
    remaining = msgspec.structs.replace(receipt.remaining, places=places, more=max(len(left) - PLACES_NAMED, 0))
    removed = msgspec.structs.replace(receipt.removed, sources=len(sources))
    return msgspec.structs.replace(receipt, removed=removed, remaining=remaining, sources=list(sources[:PLACES_NAMED]))


def _with_files(receipt: Receipt, files: Sequence[SayingFile]) -> Receipt:
    """Return the receipt with the files of the user that hold the words; those of other workspaces are only counted."""
    seen = [LeftFile(collection_id=one.collection_id, path=one.path) for one in files if one.is_visible]
    left = receipt.remaining
    more = left.more + len(files) - len(seen[:PLACES_NAMED])
    return msgspec.structs.replace(
        receipt, remaining=msgspec.structs.replace(left, files=seen[:PLACES_NAMED], more=more)
    )


def _subjects(memory_ids: Sequence[str]) -> list[str]:
    """Return the subjects of the jobs that finish an erase."""
    return [",".join(memory_ids[n : n + IDS_OF_JOB]) for n in range(0, max(len(memory_ids), 1), IDS_OF_JOB)]


def finish_later(tx: Tx, means: Collaborators, memory_ids: Sequence[str], *, delay_ms: int = 0) -> None:
    """Queue the jobs that finish an erase of some records, or of all that are pending where none is named."""
    for subject in _subjects(memory_ids):
        means.jobs.enqueue(tx, "erase_finish", subject, delay_ms=delay_ms)


class Eraser:
    """Runs forgettings and finishes erases."""

    def __init__(self, means: Collaborators, sources: Sources) -> None:
        self._means = means
        self._sources = sources

    async def forget(
        self,
        work: Callable[[Tx], ForgottenRecords],
        with_sources_of: Callable[[Tx], Sequence[Stored]] | None = None,
        *,
        is_dry: bool = False,
        context: Context | None = None,
    ) -> ForgetResult:
        """Run a forgetting and send its notices; return its result, after an erase with the receipt.

        The words of the records that `with_sources_of` returns are taken out of every place that holds them. Files that
        still do are searched in the collections that are visible in `context`. `is_dry`: roll everything back.
        """
        include_sources = with_sources_of is not None
        plan = await self._plan_redaction(with_sources_of) if with_sources_of is not None else NOTHING

        def forget_and_notify(tx: Tx) -> ForgottenRecords:
            forgotten = work(tx)
            receipt = forgotten.result.receipt
            if receipt is not None:
                forgotten.notices.extend(self._sources.take_out(tx, plan))
                finish_later(tx, self._means, receipt.memory_ids, delay_ms=FINISH_DELAY_MS)
            notify_after_commit(tx, self._means, forgotten.notices)
            return forgotten

        if is_dry:
            forgotten = await rehearse(self._means.db, forget_and_notify, is_vital=True)
            return await self._build_rehearsal_result(forgotten, plan if include_sources else None, context)
        forgotten = await self._means.db.write(forget_and_notify, is_vital=True)
        result, said = forgotten.result, forgotten.said
        if result.receipt is None:
            return result
        rest = await self._redact_rest(said, include_sources=include_sources)
        files = await self._list_files(forgotten, plan if include_sources else rest, context)
        is_gone = await self._finish_now(result.receipt.memory_ids)
        receipt = _with_files(_with_places(result.receipt, rest.left, plan.sources), files)
        is_left = bool(rest.left or files)
        receipt = msgspec.structs.replace(
            receipt, wal="truncated" if is_gone else "pending", complete=is_gone and not (include_sources and is_left)
        )
        return msgspec.structs.replace(result, receipt=receipt)

    async def _list_files(
        self, forgotten: ForgottenRecords, plan: RedactionPlan, context: Context | None
    ) -> Sequence[SayingFile]:
        """Return the files of the user that hold the erased words."""
        if self._means.files is None or (context is None and not forgotten.files):
            return []
        return await self._means.files.list_saying(plan.saying, forgotten.files, context)

    async def _build_rehearsal_result(
        self, forgotten: ForgottenRecords, plan: RedactionPlan | None, context: Context | None
    ) -> ForgetResult:
        """Return the result of a rehearsal, with the places that would still hold the words."""
        receipt, said = forgotten.result.receipt, forgotten.said
        if receipt is None or said is None:
            return forgotten.result
        if plan is None:
            plan = await self._sources.plan(said, receipt.memory_ids, include_sources=False)
        files = await self._list_files(forgotten, plan, context)
        receipt = _with_files(_with_places(receipt, plan.left, plan.sources), files)
        return msgspec.structs.replace(forgotten.result, receipt=receipt)

    async def _plan_redaction(self, targets: Callable[[Tx], Sequence[Stored]]) -> RedactionPlan:
        """Return the plan for the places out of which the words of the targets are to be taken."""

        def read(tx: Tx) -> tuple[list[str], ForgottenPhrases]:
            found = targets(tx)
            return [stored.record.memory_id for stored in found], self._sources.read_phrases(tx, found)

        memory_ids, said = await self._means.db.read(read)
        return await self._sources.plan(said, memory_ids, include_sources=True)

    async def _redact_rest(self, said: ForgottenPhrases | None, *, include_sources: bool) -> RedactionPlan:
        """Redact places that were written during the erase, `TRIES` times; return the plan of those that are left."""
        if said is None:
            return NOTHING
        plan = await self._sources.plan(said, (), include_sources=include_sources)
        for _ in range(TRIES):
            if not plan.taken:
                break
            await self._means.db.write(partial(self._take_out, plan=plan), is_vital=True)
            plan = await self._sources.plan(said, (), include_sources=include_sources)
        written = [LeftPlace(place=one.place, id=one.id, reason="still_written") for one in plan.sources]
        return plan._replace(left=[*plan.left, *written])

    def _take_out(self, tx: Tx, *, plan: RedactionPlan) -> None:
        notify_after_commit(tx, self._means, self._sources.take_out(tx, plan))

    def promise(self, tx: Tx) -> None:
        """Queue the job that finishes every pending erase, for a transaction that deletes more than a job can name."""
        finish_later(tx, self._means, [], delay_ms=FINISH_DELAY_MS)

    async def keep_promise(self) -> bool:
        """Finish every pending erase now; return False where the job has to."""
        return await self._finish_now([])

    async def _finish_now(self, memory_ids: Sequence[str]) -> bool:
        """Finish an erase now and cancel its job; return False where the job has to do it."""

        def spare(tx: Tx) -> None:
            for subject in _subjects(memory_ids):
                self._means.jobs.cancel(tx, kind="erase_finish", subject=subject)

        try:
            return await self._finish(memory_ids, spare)
        except Unavailable:
            return False  # the rows are erased; the job wipes the files

    async def _finish(self, memory_ids: Sequence[str], then: Callable[[Tx], object]) -> bool:
        """Wipe the files, and run `then` in the transaction that notes it; return False while a process holds them.

        Wiping removes everything that was erased before, so that one process does it for all processes of the home.
        """
        means, before = self._means, await self._means.db.read(pending_erases)
        is_done_by_another = bool(memory_ids) and not {*memory_ids} & {*before}
        if not is_done_by_another and not await means.truncate_wal():
            left = await means.db.read(pending_erases)
            is_done_by_another = bool(memory_ids) and not {*memory_ids} & {*left}
            if not is_done_by_another:
                return False

        def settle(tx: Tx) -> None:
            if not is_done_by_another:
                settle_erases(tx, before)
            then(tx)

        await means.db.write(settle, is_vital=True)
        return True

    async def finish_erase(self, handle: JobHandle) -> None:
        """Run an `erase_finish` job: finish the erases that it names. Raises `RetryJob` until that succeeds."""
        memory_ids = [memory_id for memory_id in handle.job.subject.split(",") if memory_id]
        if not await self._finish(memory_ids, handle.finish):
            raise RetryJob("wal_busy")
        self._means.notify("memory/erased", MemoryErased(memory_ids=memory_ids))
