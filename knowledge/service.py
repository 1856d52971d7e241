"""Files as evidence as the rest of the gateway meets them: the wire's methods, the jobs, the deletion of a workspace.

Rule 1: takes the protocol's Params and returns its Results.
Rule 2: while the house is switched off, search and reading are refused; what a person arranges goes on.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from knowledge.collections import Collections
from knowledge.index.reading import FileReader
from knowledge.index.vectors import PieceVectors
from knowledge.inquiries import FileInquiries
from knowledge.notices import ChangeNotices
from knowledge.ports import KnowledgeMeans
from knowledge.presence import Presence
from knowledge.rows.collections import (
    KnownCollection,
    find_collection,
    list_collections,
    want_deep,
)
from knowledge.rows.contents import count_pieces_anew
from knowledge.rows.files import (
    collections_to_read,
    deep_is_due,
    find_file,
    renew_parts,
    retry_files,
)
from knowledge.rows.upkeep import FULL_TEXT, empty_surplus, refill_some
from knowledge.scan.scanning import Scanner
from knowledge.scan.watching import POLLED, Watchers
from knowledge.search.addresses import read_address
from knowledge.search.entities import EntityReader
from knowledge.search.evidence import EvidenceReader
from knowledge.search.readable_files import READABLE
from knowledge.search.reading import PlaceReader
from knowledge.search.searching import KnowledgeSearcher
from knowledge.turns.planning import propose_files
from knowledge.turns.recall import recall_hooks
from knowledge.turns.tools import KnowledgeTools
from protocol import methods as m
from protocol.errors import Unavailable
from protocol.files.knowledge import (
    KnowledgeReadParams,
    KnowledgeReadResult,
    KnowledgeSearchParams,
    KnowledgeSearchResult,
)
from protocol.hooks import FilesPlan, Subscription, TurnContext
from protocol.methods import Bound, bind
from protocol.seams.ports import JobHandle, Tx
from protocol.settings import KnowledgeSettings

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
POLLED_MS = MINUTE_MS
DEEP_PARTS = 6
"""A deep scan reads so many parts of a collection one after the other, in `deep_scan_hours` altogether."""


class KnowledgeService:
    """Searchable files."""

    def __init__(self, means: KnowledgeMeans) -> None:
        self._means = means
        self.vectors = PieceVectors(
            db=means.db, jobs=means.jobs, meaning=means.meaning, keyed=means.keyed, open_root=means.open_root
        )
        notices = ChangeNotices(means.notify, means.spawn)
        self.scanner = Scanner(means, self.vectors, notices)
        self.reader = FileReader(means, self.vectors, notices)
        self.collections = Collections(means, self.scanner, self.vectors)
        self.watchers = Watchers(means, self.scanner)
        self.searcher = KnowledgeSearcher(means)
        self.places = PlaceReader(means)
        self.graph = EntityReader(means)
        self.evidence = EvidenceReader(means)
        self.inquiries = FileInquiries(means, self.searcher, self.watchers)
        self.presence = Presence(means.db)
        self.tools = KnowledgeTools(self.searcher, self.places, means.settings)
        self._looked_at: int | None = None

    def bindings(self) -> list[Bound]:
        """Return the methods of the wire that are answered here."""
        return [
            bind(m.COLLECTIONS_ADD, self._while_on(self._refresh_after(self.collections.add))),
            bind(m.COLLECTIONS_LIST, self.collections.list),
            bind(m.COLLECTIONS_GET, self.collections.get),
            bind(m.COLLECTIONS_UPDATE, self._while_on(self._refresh_after(self.collections.update))),
            bind(m.COLLECTIONS_REMOVE, self._refresh_after(self.collections.remove)),
            bind(m.COLLECTIONS_SCAN, self._while_on(self.collections.scan)),
            bind(m.KNOWLEDGE_ENTITIES, self.graph.entities),
            bind(m.KNOWLEDGE_EDGES, self.graph.edges),
            bind(m.KNOWLEDGE_FILES, self.inquiries.files),
            bind(m.KNOWLEDGE_STATUS, self.inquiries.status),
            bind(m.KNOWLEDGE_RETRY, self._while_on(self.inquiries.retry)),
            bind(m.KNOWLEDGE_EXPLAIN, self._while_on(self.inquiries.explain)),
            bind(m.KNOWLEDGE_CHANGES, self.inquiries.changes),
            bind(m.KNOWLEDGE_VERSIONS, self.inquiries.versions),
            bind(m.KNOWLEDGE_SEARCH, self.search),
            bind(m.KNOWLEDGE_READ, self.read),
        ]

    def _while_on(self, call: Callable[[Any], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
        async def answer(params: Any) -> Any:
            self._require_on()
            return await call(params)

        return answer

    def _refresh_after(self, call: Callable[[Any], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
        """Return a method after which there may be other collections than before."""

        async def answer(params: Any) -> Any:
            result = await call(params)
            await self.presence.refresh()
            return result

        return answer

    def hooks(self) -> list[Subscription]:
        """Return this house's part of a turn; a home without collections has none."""

        def offers_tools() -> bool:
            settings = self._means.settings()
            return settings.enabled and settings.tools_enabled and self.presence.has_any

        bundle = Subscription(
            hook_id="knowledge.tool_bundle",
            phase="TurnPreToolMaterialization",
            call=self.tools.offer,
            enabled=offers_tools,
        )
        return [*recall_hooks(self.searcher, self._means.settings, lambda: self.presence.has_recalled), bundle]

    def plan(self, text: str, context: TurnContext) -> tuple[FilesPlan, list[str]]:
        """Return the files part of a turn's local plan; none for a home without collections."""
        is_on = self._means.settings().enabled and self.presence.has_any
        return propose_files(text, context) if is_on else (FilesPlan(), [])

    def _require_on(self) -> None:
        if not self._means.settings().enabled:
            raise Unavailable("knowledge_disabled")

    # -- the process ---------------------------------------------------------------------------------------------

    async def look(self) -> None:
        """Queue scans that are due, and the reading of files that wait; begin and end watches.

        The first look queues every scan and begins no watch.
        """
        await self.presence.refresh()
        settings, now = self._means.settings(), self._means.clock.now()
        is_first = self._looked_at is None
        if not is_first:
            await self.watchers.look()
        self._looked_at = now
        if not (settings.enabled and settings.indexing_enabled):
            return

        def find(tx: Tx) -> tuple[list[str], list[str]]:
            due = [
                one
                for one in list_collections(tx)
                if is_first or now - (one.scanned_at or 0) >= _interval(one, settings)
            ]
            return [one.collection_id for one in due], collections_to_read(tx, now)

        scans, reads = await self._means.db.read(find)
        before = now - settings.deep_scan_hours * HOUR_MS // DEEP_PARTS
        if await self._means.db.read(lambda tx: deep_is_due(tx, before)):
            reads += await self._means.db.note(lambda tx: renew_parts(tx, now, before, DEEP_PARTS))
            await self._means.db.note(count_pieces_anew)
        if scans or reads:
            await self._means.db.jot(lambda tx: self._queue(tx, scans, reads))

    def _queue(self, tx: Tx, scans: list[str], reads: list[str]) -> None:
        for collection_id in scans:
            self.scanner.queue(tx, collection_id)
        for collection_id in reads:
            self._means.jobs.enqueue(tx, "read", collection_id)

    async def queue_all(self) -> int:
        """Have every file of every collection read again, those that failed as well; return how many collections.

        What the full-text tables lack is put in again first: reading a file anew would not notice it.
        """
        now = self._means.clock.now()
        await self._means.db.write(empty_surplus)
        await self._means.db.write(count_pieces_anew)
        for table in range(len(FULL_TEXT)):
            after: int | None = 0
            while after is not None:
                after = await self._means.db.write(partial(refill_some, table=table, after=after))

        def write(tx: Tx) -> list[str]:
            collections = list_collections(tx)
            for known in collections:
                retry_files(tx, now, collection=known.id)
                want_deep(tx, known.id)
            return [known.collection_id for known in collections]

        names = await self._means.db.write(write)
        await self._means.db.write(lambda tx: self._queue(tx, names, names))
        return len(names)

    async def scan(self, handle: JobHandle) -> None:
        """The handler of a `scan` job."""
        await self.scanner.scan(handle)

    async def read_files(self, handle: JobHandle) -> None:
        """The handler of a `read` job."""
        await self.reader.read(handle)

    def marks(self, tx: Tx, addresses: Sequence[str]) -> dict[str, bytes]:
        """Return by address a mark of what its file says, as it was read last; what is not indexed has none."""
        found: dict[str, bytes] = {}
        for text in addresses:
            address = read_address(text)
            known = find_collection(tx, address.collection_id) if address is not None else None
            file = find_file(tx, known.id, address.path) if known is not None and address is not None else None
            if file is not None and file.state in READABLE and file.sha256 is not None:
                found[text] = file.sha256
        return found

    def on_workspace_deleted(self, tx: Tx, workspace_id: str) -> Mapping[str, int]:
        """Remove the collections of a workspace that is deleted in this transaction."""
        return self.collections.on_workspace_deleted(tx, workspace_id)

    # -- search --------------------------------------------------------------------------------------------------

    async def search(self, params: KnowledgeSearchParams) -> KnowledgeSearchResult:
        """`knowledge/search`."""
        self._require_on()
        return await self.searcher.search(params)

    async def read(self, params: KnowledgeReadParams) -> KnowledgeReadResult:
        """`knowledge/read`."""
        self._require_on()
        return await self.places.read(params)


def _interval(known: KnownCollection, settings: KnowledgeSettings) -> int:
    """Return the milliseconds between two scans: a minute where changes cannot be reported or the folder is gone."""
    is_polled = known.state == "unavailable" or (known.state == "polling" and known.reason in POLLED)
    return POLLED_MS if is_polled else settings.scan_minutes * MINUTE_MS
