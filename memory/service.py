"""Durable memory's front door: the wire methods, and what a turn may do.

Rule 1: every call begins with its active scopes and ends with its notifications, after the commit.
Rule 2: writes go through `Writer`, reads through `Reader`, forgetting through `Forgetter`; nothing is decided here.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import UNSET

from memory.answers import remembered
from memory.candidates import Candidates, Doorway
from memory.deleted_scopes import DeletedScopes
from memory.doors import check_bounds, explicit_wish, from_write
from memory.erasing import Eraser, Forgotten
from memory.explain import Explainer, explain_recall
from memory.exporting import Exporter
from memory.forgetting import Forgetter
from memory.forgotten_sources import generation
from memory.idempotency import tell_after, write_once
from memory.importing import Importer
from memory.in_turns import TurnMemory
from memory.lookback import read_history, read_stats, words_are_unwanted
from memory.looked_through import TEXT_CHECKS, doubt
from memory.note_methods import Notes
from memory.ports import Collaborators
from memory.proposal import Proposed
from memory.reads import Reader
from memory.repair import Repairer
from memory.scopes import narrowed, of_context, required
from memory.sources import Sources
from memory.store import (
    SQL,
    Stored,
)
from memory.updating import Updater
from memory.vectors import Vectors
from memory.withheld import is_looked_through, note_looked_through, withheld_ids
from memory.writing import Outcome, Writer
from protocol.base import Scope
from protocol.errors import CallerError, Refused, Unavailable
from protocol.gateway import RepairState
from protocol.memory import (
    Actor,
    Context,
    ExplainParams,
    ExplainResult,
    ExportParams,
    ExportResult,
    ForgetParams,
    ForgetResult,
    GetParams,
    GetResult,
    HistoryParams,
    HistoryResult,
    ImportParams,
    ImportResult,
    ListParams,
    ListResult,
    Provenance,
    RememberParams,
    RememberResult,
    RestoreParams,
    RestoreResult,
    SearchParams,
    SearchResult,
    StatsParams,
    StatsResult,
    UpdateParams,
    UpdateResult,
    WriteParams,
    WriteResult,
)
from protocol.ports import Tx

T = TypeVar("T")

EXPLAINED_LIMIT = 5  # as many as deterministic recall puts into a prompt
RELATED_CHARS = 300
ERASED_AT_ONCE = 100
"""Records of one erase: a writer that waits for it waits milliseconds."""
USER_ACTOR = Actor(kind="user")


class _Place(NamedTuple):
    """Where a call comes from: its active scopes and its workspace."""

    scopes: list[Scope]
    workspace_id: str | None


def _asked(params: RememberParams | WriteParams, place: _Place) -> RememberParams | WriteParams:
    """A request as it is compared with a repeat: the default workspace is named."""
    context = msgspec.structs.replace(params.context, workspace_id=place.workspace_id)
    return msgspec.structs.replace(params, context=context)


class MemoryService:
    """Everything that other houses and the wire may ask of durable memory."""

    def __init__(self, means: Collaborators) -> None:
        self._means = means
        self._reader = Reader(self._means)
        self._writer = Writer(self._means)
        self._updater = Updater(self._means, self._writer)
        sources = Sources(self._means)
        self._forgetter = Forgetter(self._means, sources)
        self._eraser = Eraser(self._means, sources)
        self._explainer = Explainer(self._means)
        self._exporter = Exporter(self._means)
        self._importer = Importer(self._means)
        doorway = Doorway(self._place, self._require_enabled, self._require_writable)
        self.candidates = Candidates(self._means, self._writer, doorway)
        self.notes = Notes(self._means, self._writer, doorway)
        self.turns = TurnMemory(self._means)
        self.deleted = DeletedScopes(self._means, self._forgetter, self._eraser, self.candidates)
        self.finish_erase = self._eraser.finish_erase
        self.repairer = Repairer(self._means)
        self.repair = self.repairer.work
        self.vectors = Vectors(means)

    # -- places ----------------------------------------------------------------------------------------------------

    async def _place(self, context: Context) -> _Place:
        """Where a call comes from. Raises for a context that names a thread of another workspace."""
        means, thread_id = self._means, context.thread_id
        workspace_id = context.workspace_id or means.default_workspace()
        thread = await means.db.read(lambda tx: means.read_thread(tx, thread_id)) if thread_id is not None else None
        if thread is not None and workspace_id not in {None, thread.workspace_id}:
            raise Refused("scope_out_of_context", "The context names a thread of another workspace.")
        return _Place(of_context(context, means.settings(), means.default_workspace()), workspace_id)

    def _require_enabled(self) -> None:
        if not self._means.settings().enabled:
            raise Unavailable("memory_disabled")

    def _require_normal_thread(self, tx: Tx, context: Context) -> None:
        """Raise for a thread that may not change memory."""
        thread = self._means.read_thread(tx, context.thread_id) if context.thread_id is not None else None
        if thread is not None and thread.memory_mode == "read_only":
            raise Refused("memory_write_disabled")
        if thread is not None and thread.memory_mode == "ignored":
            raise Refused("memory_ignored")

    def _require_writable(self, tx: Tx, context: Context, scope: Scope | None, scopes: Sequence[Scope]) -> None:
        """Raise for a thread that may not write, a scope that is not active, or one that does not exist."""
        self._require_normal_thread(tx, context)
        if scope is not None:
            required(scopes, scope)
        written = scope or next((s for s in scopes if s.kind == "workspace"), None)
        if written is not None and written.kind == "workspace" and not self._means.workspace_exists(tx, written.key):
            raise CallerError.missing("workspace")
        if scope is not None and scope.kind == "thread" and self._means.read_thread(tx, scope.key) is None:
            raise CallerError.missing("thread")

    # -- reads -----------------------------------------------------------------------------------------------------

    async def search(self, params: SearchParams) -> SearchResult:
        """Hits, best first."""
        self._require_enabled()
        scopes = narrowed((await self._place(params.context)).scopes, params.scopes)
        return await self._reader.search(params, scopes)

    async def get(self, params: GetParams) -> GetResult:
        """One record, or null."""
        return await self._reader.get(params, (await self._place(params.context)).scopes)

    async def list_records(self, params: ListParams) -> ListResult:
        """Records in an order."""
        return await self._reader.list_records(
            params, narrowed((await self._place(params.context)).scopes, params.scopes)
        )

    # -- writes ----------------------------------------------------------------------------------------------------

    async def remember(self, params: RememberParams) -> RememberResult:
        """Keep something because the user wants it kept."""
        self._require_enabled()
        check_bounds(params.content, params.value, params.metadata)
        place = await self._place(params.context)
        provenance = params.provenance or Provenance()
        provenance = msgspec.structs.replace(provenance, thread_id=provenance.thread_id or params.context.thread_id)
        wish = explicit_wish(params, provenance, place.workspace_id)
        proposed = await self._begun(wish, place.scopes)
        write = partial(self._write, proposed=proposed, context=params.context, place=place)
        outcome = await write_once(
            self._means, params.idempotency_key, ["remember", _asked(params, place)], place.workspace_id, write
        )
        return remembered(outcome)

    async def write(self, params: WriteParams) -> WriteResult:
        """Decide on a proposal; a refusal is a result."""
        self._require_enabled()
        check_bounds(params.content, params.value, params.metadata)
        place = await self._place(params.context)
        proposed = await self._begun(from_write(params, place.workspace_id), place.scopes)
        write = partial(self._write, proposed=proposed, context=params.context, place=place)
        return (
            await write_once(
                self._means, params.idempotency_key, ["write", _asked(params, place)], place.workspace_id, write
            )
        ).result

    async def _begun(self, proposed: Proposed, scopes: Sequence[Scope]) -> Proposed:
        """The proposal with what it means; what is forgotten from now on is not written by it."""
        began = await self._means.db.read(generation)
        return await self.vectors.meant(proposed._replace(began=began), scopes)

    def _write(self, tx: Tx, *, proposed: Proposed, context: Context, place: _Place) -> Outcome:
        self._require_writable(tx, context, proposed.scope, place.scopes)
        return self._writer.write(tx, proposed, place.scopes)

    async def update(self, params: UpdateParams) -> UpdateResult:
        """Correct a record (new content supersedes) or annotate it in place."""
        self._require_enabled()
        content = params.content if params.content is not UNSET else None
        check_bounds(content, params.value if params.value is not UNSET else None, params.metadata or None)
        place = await self._place(params.context)

        def update(tx: Tx) -> UpdateResult:
            self._require_writable(tx, params.context, None, place.scopes)
            return self._updater.update(tx, params, place.scopes, place.workspace_id)

        return await self._means.db.write(update)

    # -- forgetting ------------------------------------------------------------------------------------------------

    async def forget(self, params: ForgetParams) -> ForgetResult:
        """Forget what a target names. Goes on while memory is switched off."""
        place = await self._place(params.context)

        def check(tx: Tx) -> Forgotten:
            if not params.dry_run:
                self._require_normal_thread(tx, params.context)
            return self._forgetter.forget(tx, params, place.scopes, USER_ACTOR)

        def targets(tx: Tx) -> list[Stored]:
            return self._forgetter.targets(tx, params, place.scopes)

        is_wanted = params.include_sources and params.mode == "erase"
        return await self._eraser.forget(check, targets if is_wanted else None)

    async def restore(self, params: RestoreParams) -> RestoreResult:
        """Undo a forgetting."""
        self._require_enabled()
        scopes = (await self._place(params.context)).scopes

        def restore(tx: Tx) -> RestoreResult:
            self._require_normal_thread(tx, params.context)
            record, notices = self._forgetter.restore(tx, params.memory_id, scopes, USER_ACTOR)
            self._require_writable(tx, params.context, record.scope, scopes)  # a scope that is gone takes nothing back
            tell_after(tx, self._means, notices)
            return RestoreResult(record=record)

        return await self._means.db.write(restore)

    # -- looking back ----------------------------------------------------------------------------------------------

    async def history(self, params: HistoryParams) -> HistoryResult:
        """The events of a whole supersession chain, oldest first."""
        scopes = (await self._place(params.context)).scopes

        events = await self._means.db.read(lambda tx: read_history(tx, params.memory_id, scopes))
        return HistoryResult(events=events)

    async def explain(self, params: ExplainParams) -> ExplainResult:
        """Why something was or was not saved or recalled."""
        place = await self._place(params.context)
        if params.target is not None:
            target = params.target
            return await self._means.db.read(lambda tx: self._explainer.explain(tx, target, place.scopes))
        if params.query is None:
            raise CallerError.at("$", "Give a `target` or a `query`")
        if not self._means.settings().enabled:
            return explain_recall(None, is_enabled=False, limit=EXPLAINED_LIMIT)
        query, keyed = params.query, self._means.keyed
        recall = await self.turns.recaller.recall(
            query, place.scopes, limit=EXPLAINED_LIMIT, agent_id=params.context.agent_id, is_rehearsal=True
        )
        unwanted = await self._means.db.read(lambda tx: words_are_unwanted(tx, query, place.scopes, keyed))
        return explain_recall(recall, is_enabled=True, limit=EXPLAINED_LIMIT, are_unwanted=unwanted)

    async def stats(self, params: StatsParams) -> StatsResult:
        """Counts of the active scopes."""
        scopes, now = (await self._place(params.context)).scopes, self._means.clock.now()

        return await self._means.db.read(lambda tx: read_stats(tx, scopes, now))

    # -- bundles ---------------------------------------------------------------------------------------------------

    async def export_bundle(self, params: ExportParams) -> ExportResult:
        """A page of everything in the scopes. Goes on while memory is switched off."""
        return await self._exporter.export(params, narrowed((await self._place(params.context)).scopes, params.scopes))

    async def import_bundle(self, params: ImportParams) -> ImportResult:
        """Take a bundle in, as far as its scopes are active."""
        self._require_enabled()
        scopes = (await self._place(params.context)).scopes
        return await self._importer.take(params, scopes, lambda tx: self._require_normal_thread(tx, params.context))

    # -- the clock, other processes, other houses ------------------------------------------------------------------

    async def sweep(self) -> int:
        """Do what the clock has made due; returns how much was done."""
        days = self._means.settings().retention_days

        def sweep(tx: Tx) -> int:
            done, notices = self._forgetter.sweep(tx, days)
            decided, settled = self.candidates.sweep(tx, days)
            tell_after(tx, self._means, [*notices, *settled])
            return done + decided

        return await self._means.db.write(sweep)

    async def due_at(self) -> int | None:
        """When the next sweep has something to do."""
        days = self._means.settings().retention_days

        def due(tx: Tx) -> int | None:
            times = (self._forgetter.due_at(tx, days), self.candidates.due_at(tx, days))
            return min((at for at in times if at is not None), default=None)

        return await self._means.db.read(due)

    def changes_since(self, tx: Tx, seq: int) -> tuple[list[Scope], int]:
        """Scopes that other processes changed after a place, and the newest place."""
        rows = tx.all(SQL["changes_after"], {"seq": seq, "owner": self._means.owner})
        last = tx.one(SQL["last_change"])
        return [Scope(kind=kind, key=key) for kind, key in rows], last[0] if last else 0

    async def erase_withheld(self) -> int:
        """Erase every record that holds a number which is not kept; how many there were."""
        memory_ids = await self._means.db.read(withheld_ids)
        for first in range(0, len(memory_ids), ERASED_AT_ONCE):
            part = memory_ids[first : first + ERASED_AT_ONCE]
            await self._eraser.forget(lambda tx, part=part: self._forgetter.erase_withheld(tx, part, USER_ACTOR))
        return len(memory_ids)

    # -- repair ----------------------------------------------------------------------------------------------------

    async def look_for_damage(self, *, is_unclean: bool) -> None:
        """Queue a repair where a cheap look finds reason for one; after an unclean end, a deep one."""
        means = self._means
        state, depth, is_known = await means.db.read(
            lambda tx: (self.repairer.state(tx), self.repairer.look(tx), is_looked_through(tx))
        )
        wanted = "deep" if is_unclean else depth
        if state.damaged:
            means.report_damage(state.damaged)
        if state.texts > 0:
            means.report_index(["texts"], False)  # the callable is a port: its parameters have no names
        if wanted is not None:
            await means.db.jot(lambda tx: means.jobs.enqueue(tx, "repair", wanted))
        elif not is_known:  # there is nothing to look through
            await means.db.jot(note_looked_through)

    async def look_at_index(self) -> None:
        """Have a repair queued where what is derived of records is wrong, found in short looks."""
        means = self._means
        if found := await self.repairer.damage():
            means.report_index(list(found), False)  # the callable is a port: its parameters have no names

            def note(tx: Tx) -> None:
                if not TEXT_CHECKS.isdisjoint(found):
                    doubt(tx)
                means.jobs.enqueue(tx, "repair", "quick")

            await means.db.jot(note)

    async def repair_state(self) -> RepairState:
        """What repair has left to do, and what it cannot mend."""
        return await self._means.db.read(self.repairer.state)
