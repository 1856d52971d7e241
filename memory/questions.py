"""The wire's methods that only read durable memory.

Rule 1: nothing that writes is imported: a command that asks one question loads this alone.
Rule 2: every call begins with its active scopes.
"""

from typing import Any

import msgspec

from memory.doorway import Doorway
from memory.ports import Collaborators
from memory.proposals.file_places import file_place_of
from memory.read.changes import ChangeReader
from memory.read.explain import Explainer, explain_recall
from memory.read.gate import RecordGate
from memory.read.links import Links
from memory.read.reads import RecordReader
from memory.read.recall import Recaller
from memory.read.searching import RecordSearcher
from memory.read.similar import SimilarFinder
from memory.rows.evidence import evidence_of_record
from memory.rows.history import are_words_unwanted, read_history, read_stats
from memory.rows.store import get_record
from memory.rules.scopes import narrow_scopes
from protocol import methods as m
from protocol.errors import CallerError
from protocol.memory.changes import HistoryParams, HistoryResult, MemoryChangesParams, MemoryChangesResult
from protocol.memory.explaining import ExplainParams, ExplainResult, ExplainTarget, FileSource
from protocol.memory.reads import (
    GetParams,
    GetResult,
    LinksParams,
    LinksResult,
    ListParams,
    ListResult,
    SearchParams,
    SearchResult,
    ShownIn,
    SimilarParams,
    SimilarResult,
    StatsParams,
    StatsResult,
)
from protocol.memory.values import Context
from protocol.methods import Bound, bind
from protocol.record import Record
from protocol.seams.file_evidence import FilePlace
from protocol.seams.ports import Tx

EXPLAINED_LIMIT = 5  # as many as deterministic recall puts into a prompt
MOST_SUPPORT = 50
"""Quotes, and turns, that are shown of a record."""


class MemoryQuestions:
    """Answers the methods that only read."""

    def __init__(
        self,
        means: Collaborators,
        door: Doorway,
        reader: RecordReader,
        searcher: RecordSearcher,
        recaller: Recaller,
    ) -> None:
        self._means, self._door = means, door
        self._reader, self._searcher, self._recaller = reader, searcher, recaller
        self._explainer, self._similar, self._links = Explainer(means), SimilarFinder(means), Links(means)
        self._changes = ChangeReader(means)

    def bindings(self) -> list[Bound]:
        """Return the methods that only read durable memory."""
        return [
            bind(m.MEMORY_SEARCH, self.search),
            bind(m.MEMORY_GET, self.get),
            bind(m.MEMORY_LIST, self.list_records),
            bind(m.MEMORY_SIMILAR, self.similar),
            bind(m.MEMORY_LINKS, self.links),
            bind(m.MEMORY_HISTORY, self.history),
            bind(m.MEMORY_EXPLAIN, self.explain),
            bind(m.MEMORY_STATS, self.stats),
            bind(m.MEMORY_CHANGES, self.changes),
        ]

    async def search(self, params: SearchParams) -> SearchResult:
        """Return the hits of a search, best first. Raises `Unavailable` while memory is switched off."""
        self._door.require_enabled()
        scopes = narrow_scopes((await self._door.place(params.context)).scopes, params.scopes)
        return await self._searcher.search(params, scopes)

    async def get(self, params: GetParams) -> GetResult:
        """Return one record with those that look like it; without a record where none may be seen."""
        scopes = (await self._door.place(params.context)).scopes
        found = await self._reader.get(params, scopes, lambda _id, _now: params.is_read)
        if found.record is None:
            return found
        return GetResult(
            record=found.record,
            similar_to=await self._similar.find_similar(found.record, scopes),
            enrichment=await self._links.enrichment_of(found.record) if params.include_enrichment else None,
            **await self._read_support(found.record, params),
        )

    async def _read_support(self, record: Record, params: GetParams) -> dict[str, Any]:
        """Return the words that a record rests on and the turns that it was shown in, where they are asked for."""
        if not params.include_evidence or record.status == "deleted":
            return {}
        memory_id = record.memory_id

        def read(tx: Tx) -> dict[str, Any]:
            shown = self._means.turns_shown(tx, memory_id, MOST_SUPPORT)
            return {
                "evidence": evidence_of_record(tx, memory_id, MOST_SUPPORT),
                "shown_in": [ShownIn(thread_id=thread, turn_id=turn, at=at) for thread, turn, at in shown],
            }

        return await self._means.db.read(read)

    async def similar(self, params: SimilarParams) -> SimilarResult:
        """Return pairs of records that look alike. Raises `Unavailable` while memory is switched off."""
        self._door.require_enabled()
        scopes = narrow_scopes((await self._door.place(params.context)).scopes, params.scopes)
        return await self._similar.list_pairs(params, scopes)

    async def links(self, params: LinksParams) -> LinksResult:
        """Return the records that are linked to a record. Raises `Unavailable` while memory is switched off."""
        self._door.require_enabled()
        return await self._links.find_links(params, (await self._door.place(params.context)).scopes)

    async def list_records(self, params: ListParams) -> ListResult:
        """Return a page of records in the order that is asked for."""
        return await self._reader.list_records(
            params, narrow_scopes((await self._door.place(params.context)).scopes, params.scopes)
        )

    async def history(self, params: HistoryParams) -> HistoryResult:
        """Return the events of a whole supersession chain, oldest first."""
        scopes = (await self._door.place(params.context)).scopes
        events = await self._means.db.read(lambda tx: read_history(tx, params.memory_id, scopes))
        return HistoryResult(events=events)

    async def explain(self, params: ExplainParams) -> ExplainResult:
        """Return why a `target` was saved or not, or why a `query` recalls what it does.

        Raises `CallerError` where neither is given.
        """
        place = await self._door.place(params.context)
        if params.target is not None:
            target = params.target
            found, source = await self._means.db.read(
                lambda tx: (self._explainer.explain(tx, target, place.scopes), _source_of(tx, target))
            )
            return found if source is None else await self._with_file(found, source, params.context)
        if params.query is None:
            raise CallerError.at("$", "Give a `target` or a `query`")
        if not self._means.settings().enabled:
            return explain_recall(None, is_enabled=False, limit=EXPLAINED_LIMIT)
        query, keyed = params.query, self._means.keyed
        recall = await self._recaller.recall(
            query, place.scopes, limit=EXPLAINED_LIMIT, agent_id=params.context.agent_id, is_rehearsal=True
        )
        unwanted = await self._means.db.read(lambda tx: are_words_unwanted(tx, query, place.scopes, keyed))
        kinds = sorted({span.kind for span in self._means.scanner.find(query)})
        return explain_recall(recall, is_enabled=True, limit=EXPLAINED_LIMIT, are_unwanted=unwanted, secret_kinds=kinds)

    async def _with_file(self, found: ExplainResult, source: FilePlace, context: Context) -> ExplainResult:
        """Return an explanation with the state of the place in a file that the memory was taken from."""
        if self._means.files is None:
            return found
        file = FileSource(
            collection_id=source.collection_id,
            path=source.path,
            from_line=source.from_line,
            to_line=source.to_line,
            state=await self._means.files.state_of(source, context),
        )
        return msgspec.structs.replace(found, files=[file])

    async def stats(self, params: StatsParams) -> StatsResult:
        """Return the counts of the active scopes."""
        scopes, now = (await self._door.place(params.context)).scopes, self._means.clock.now()
        return await self._means.db.read(lambda tx: read_stats(tx, scopes, now))

    async def changes(self, params: MemoryChangesParams) -> MemoryChangesResult:
        """Return the changes of a span of time, newest first. Works while memory is switched off, too."""
        scopes = narrow_scopes((await self._door.place(params.context)).scopes, params.scopes)
        return await self._changes.list_changes(params, scopes)


def _source_of(tx: Tx, target: ExplainTarget) -> FilePlace | None:
    """Return the place in a file that an explained memory was taken from; None where it was not."""
    stored = get_record(tx, target.id) if target.kind == "memory" else None
    return file_place_of(stored.record.provenance, stored.record.content) if stored is not None else None


def build_questions(means: Collaborators) -> MemoryQuestions:
    """Return the questions, built without anything that writes."""
    gate = RecordGate(means)
    searcher = RecordSearcher(means, gate)
    return MemoryQuestions(means, Doorway(means), RecordReader(means, gate), searcher, Recaller(means, searcher))
