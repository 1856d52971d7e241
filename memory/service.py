"""Durable memory's service: the wire's methods, and the handlers that jobs, passes and other houses call.

Rule 1: every call begins with its active scopes and ends with its notifications, after the commit.
Rule 2: writes go through `RecordWriter`, reads through `RecordReader`, forgetting through `Forgetter`; nothing is
decided here.
"""

from collections.abc import Mapping
from functools import partial

import msgspec
from msgspec import UNSET

from memory.aging.service import Aging
from memory.aging.stages import Consolidation
from memory.bundles.exporting import Exporter
from memory.bundles.importing import BundleImporter
from memory.candidates.decisions import Candidates
from memory.candidates.merging import Merger
from memory.candidates.notes import Notes
from memory.doorway import Place
from memory.forget.deleted_scopes import ERASED_AT_ONCE, DeletedScopes
from memory.forget.erasing import ForgottenRecords
from memory.parts import build_parts
from memory.ports import Collaborators
from memory.proposals.file_places import file_place_of, require_whole
from memory.proposals.proposal import Proposed
from memory.proposals.proposal_sources import check_bounds, explicit_wish, from_write, quote_file
from memory.questions import MemoryQuestions
from memory.repair import RecordRepairer
from memory.rows.notices import changes_after
from memory.rows.record_columns import Stored
from memory.rows.text_scan import TEXT_CHECKS, doubt_index
from memory.rows.withheld import are_numbers_marked, note_numbers_marked, withheld_ids
from memory.rules.actors import USER_ACTOR
from memory.rules.scopes import narrow_scopes
from memory.turn_memory import TurnMemory
from memory.write.answers import build_remember_result
from memory.write.idempotency import notify_after_commit, write_once
from memory.write.updating import Updater
from memory.write.writing import Outcome
from protocol import methods as m
from protocol.base import Scope
from protocol.errors import CallerError
from protocol.gateway import RepairState
from protocol.memory.bundles import ExportParams, ExportResult, ImportParams, ImportResult
from protocol.memory.forgetting import ForgetParams, ForgetResult
from protocol.memory.values import Context
from protocol.memory.writes import (
    RememberParams,
    RememberResult,
    RestoreParams,
    RestoreResult,
    UpdateParams,
    UpdateResult,
    WriteParams,
    WriteResult,
)
from protocol.methods import Bound, bind
from protocol.record import Provenance
from protocol.seams.ports import Tx


class MemoryService:
    """Everything that the wire, jobs and other houses may call of durable memory."""

    def __init__(self, means: Collaborators) -> None:
        parts = build_parts(means)
        self._means, self._door = means, parts.door
        self._writer, self._forgetter, self._eraser = parts.writer, parts.forgetter, parts.eraser
        self.questions = MemoryQuestions(means, parts.door, parts.reader, parts.searcher, parts.recaller)
        self._updater = Updater(means, parts.writer)
        self._exporter = Exporter(means)
        self._importer = BundleImporter(means, parts.vectors)
        self.candidates = Candidates(means, parts.writer, parts.door)
        self.notes = Notes(means, parts.writer, parts.vectors, parts.door)
        self.merge = Merger(means, parts.writer, parts.door).merge
        self.turns = TurnMemory(parts)
        self.aging = Aging(means, parts.door)
        self.consolidation = Consolidation(means, parts.writer, parts.eraser, self.candidates)
        self.deleted = DeletedScopes(means, parts.forgetter, parts.eraser, self.candidates)
        self.finish_erase = parts.eraser.finish_erase
        self.repairer = RecordRepairer(means, parts.vectors)
        self.repair = self.repairer.work
        self.vectors = parts.vectors

    def bindings(self) -> list[Bound]:
        """Return the methods of the wire that are answered here."""
        return [
            *self.questions.bindings(),
            bind(m.MEMORY_REMEMBER, self.remember),
            bind(m.MEMORY_WRITE, self.write),
            bind(m.MEMORY_UPDATE, self.update),
            bind(m.MEMORY_FORGET, self.forget),
            bind(m.MEMORY_RESTORE, self.restore),
            bind(m.MEMORY_MERGE, self.merge),
            bind(m.MEMORY_EXPORT, self.export_bundle),
            bind(m.MEMORY_IMPORT, self.import_bundle),
            *self.notes.bindings(),
            *self.aging.bindings(),
            *self.candidates.bindings(),
        ]

    # -- writes ----------------------------------------------------------------------------------------------------

    async def remember(self, params: RememberParams) -> RememberResult:
        """Keep something because the user wants it kept; return the record and the decision."""
        self._door.require_enabled()
        check_bounds(params.content, params.value, params.metadata, params.path)
        place = await self._door.place(params.context, writes=True)
        provenance = params.provenance or Provenance()
        provenance = msgspec.structs.replace(provenance, thread_id=provenance.thread_id or params.context.thread_id)
        wish = explicit_wish(params, provenance, place.workspace_id)
        require_whole(provenance)
        source = file_place_of(provenance, params.content)
        if source is not None:
            files = self._means.files
            is_there = files is not None and await files.stands_there(source, params.context)
            wish = quote_file(wish, is_there=is_there)
        proposed = await self.vectors.add_vector(msgspec.structs.replace(wish, began=place.began))
        write = partial(self._write, proposed=proposed, context=params.context, place=place)
        outcome = await write_once(self._means, params.idempotency_key, ["remember", params], place.workspace_id, write)
        return build_remember_result(outcome)

    async def write(self, params: WriteParams) -> WriteResult:
        """Decide on a proposal; a refusal is a result."""
        self._door.require_enabled()
        check_bounds(params.content, params.value, params.metadata, params.path)
        if params.provenance is not None and params.provenance.collection_id is not UNSET:
            raise CallerError.at("$.provenance.collection_id", "Only a wish of the user is taken from a file")
        place = await self._door.place(params.context, writes=True)
        given = msgspec.structs.replace(from_write(params, place.workspace_id), began=place.began)
        proposed = await self.vectors.add_vector(given)
        write = partial(self._write, proposed=proposed, context=params.context, place=place)
        return (
            await write_once(self._means, params.idempotency_key, ["write", params], place.workspace_id, write)
        ).result

    def _write(self, tx: Tx, *, proposed: Proposed, context: Context, place: Place) -> Outcome:
        self._door.require_writable(tx, context, proposed.scope, place.scopes)
        return self._writer.write(tx, proposed, place.scopes)

    async def update(self, params: UpdateParams) -> UpdateResult:
        """Correct a record (new content supersedes) or annotate it in place."""
        self._door.require_enabled()
        content = params.content if params.content is not UNSET else None
        check_bounds(content, params.value if params.value is not UNSET else None, params.metadata or None)
        place = await self._door.place(params.context)

        def update(tx: Tx) -> UpdateResult:
            self._door.require_writable(tx, params.context, None, place.scopes)
            return self._updater.update(tx, params, place.scopes, place.workspace_id)

        return await self._means.db.write(update)

    # -- forgetting ------------------------------------------------------------------------------------------------

    async def forget(self, params: ForgetParams) -> ForgetResult:
        """Forget what a target names. Works while memory is switched off, too."""
        place = await self._door.place(params.context)

        def forget(tx: Tx) -> ForgottenRecords:
            if not params.dry_run:
                self._door.require_normal_thread(tx, params.context)
            return self._forgetter.forget(tx, params, place.scopes, USER_ACTOR)

        def targets(tx: Tx) -> list[Stored]:
            return self._forgetter.find_targets(tx, params, place.scopes)

        sources = targets if params.include_sources and params.mode == "erase" else None
        return await self._eraser.forget(forget, sources, is_dry=params.dry_run, context=params.context)

    async def restore(self, params: RestoreParams) -> RestoreResult:
        """Undo a forgetting; return the record."""
        self._door.require_enabled()
        scopes = (await self._door.place(params.context)).scopes

        def restore(tx: Tx) -> RestoreResult:
            self._door.require_normal_thread(tx, params.context)
            record, notices = self._forgetter.restore(tx, params.memory_id, scopes, USER_ACTOR)
            # after the fact, since only the record names its scope: an error undoes the transaction
            self._door.require_writable(tx, params.context, record.scope, scopes)
            notify_after_commit(tx, self._means, notices)
            return RestoreResult(record=record)

        return await self._means.db.write(restore)

    # -- bundles ---------------------------------------------------------------------------------------------------

    async def export_bundle(self, params: ExportParams) -> ExportResult:
        """Return a page of everything in the scopes. Works while memory is switched off, too."""
        return await self._exporter.export(
            params, narrow_scopes((await self._door.place(params.context)).scopes, params.scopes)
        )

    async def import_bundle(self, params: ImportParams) -> ImportResult:
        """Import the entries of a bundle whose scopes are active; return what became of each kind."""
        self._door.require_enabled()
        scopes = (await self._door.place(params.context)).scopes
        return await self._importer.take(
            params, scopes, lambda tx: self._door.require_normal_thread(tx, params.context)
        )

    # -- the clock, other processes, other houses ------------------------------------------------------------------

    async def sweep(self) -> int:
        """Expire and erase what has become due; return how many records, candidates and answers that were."""
        days = self._means.settings().retention_days

        def sweep(tx: Tx) -> int:
            done, notices = self._forgetter.sweep(tx, days)
            decided, settled = self.candidates.sweep(tx, days)
            notify_after_commit(tx, self._means, [*notices, *settled])
            return done + decided

        return await self._means.db.write(sweep)

    async def due_at(self) -> int | None:
        """Return when the next sweep has something to do, in Unix milliseconds; None where nothing waits."""
        days = self._means.settings().retention_days

        def due(tx: Tx) -> int | None:
            times = (self._forgetter.due_at(tx, days), self.candidates.due_at(tx, days))
            return min((at for at in times if at is not None), default=None)

        return await self._means.db.read(due)

    def changes_since(self, tx: Tx, seq: int) -> tuple[list[Scope], int]:
        """Return the scopes that other processes changed after a number of the log of changes, and its last number."""
        return changes_after(tx, seq, self._means.owner)

    async def erase_withheld(self) -> int:
        """Erase every record that is withheld for a number that is never kept; return how many there were."""
        memory_ids = await self._means.db.read(withheld_ids)
        for first in range(0, len(memory_ids), ERASED_AT_ONCE):
            part = memory_ids[first : first + ERASED_AT_ONCE]
            await self._eraser.forget(lambda tx, part=part: self._forgetter.erase_withheld(tx, part, USER_ACTOR))
        return len(memory_ids)

    # -- repair ----------------------------------------------------------------------------------------------------

    async def look_for_damage(self, *, is_unclean: bool) -> None:
        """Queue a repair where a cheap look finds reason for one; after an unclean end of the process, a deep one."""
        means = self._means
        state, depth, is_known = await means.db.read(
            lambda tx: (self.repairer.state(tx), self.repairer.look(tx), are_numbers_marked(tx))
        )
        wanted = "deep" if is_unclean else depth
        if state.damaged:
            means.report_damage(state.damaged)
        if state.texts > 0:
            means.report_index(["texts"], False)  # the callable is a port: its parameters have no names
        if wanted is not None:
            await means.db.jot(lambda tx: means.jobs.enqueue(tx, "repair", wanted))
        elif not is_known:  # there is nothing to look through
            await means.db.jot(note_numbers_marked)

    async def look_at_index(self) -> Mapping[str, int]:
        """Queue a repair where rows derived of records are wrong; return how many are, by the name of the check.

        It reads in short looks, so that no writer waits.
        """
        means = self._means
        if found := await self.repairer.damage():
            means.report_index(list(found), False)  # the callable is a port: its parameters have no names

            def note(tx: Tx) -> None:
                if not TEXT_CHECKS.isdisjoint(found):
                    doubt_index(tx)
                means.jobs.enqueue(tx, "repair", "quick")

            await means.db.jot(note)
        return found

    async def repair_state(self) -> RepairState:
        """Return the damage that repair has still to mend, and the damage that it cannot mend."""
        return await self._means.db.read(self.repairer.state)
