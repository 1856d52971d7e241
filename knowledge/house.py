"""The parts of this house, built once, and the work that needs several of them.

Rule 1: `knowledge.service` alone imports this module, when something of the house is first asked for.
"""

import math
from collections.abc import Sequence
from functools import partial

from knowledge.collections import Collections
from knowledge.index.reading import FileReader
from knowledge.index.vectors import PieceVectors
from knowledge.inquiries import FileInquiries
from knowledge.notices import ChangeNotices
from knowledge.ports import KnowledgeMeans
from knowledge.rows.collections import (
    KnownCollection,
    find_collection,
    list_collections,
    list_leaving,
    want_deep,
)
from knowledge.rows.contents import count_pieces_anew
from knowledge.rows.files import (
    collections_with_resting,
    find_file,
    find_oldest_deep_part,
    next_readings,
    release_files,
    renew_parts,
    retry_files,
)
from knowledge.rows.upkeep import FULL_TEXT, empty_surplus, refill_some
from knowledge.scan.returning import ReturnLooks
from knowledge.scan.scanning import Scanner
from knowledge.scan.watching import POLLED, Watchers
from knowledge.search.addresses import read_address
from knowledge.search.entities import EntityReader
from knowledge.search.evidence import EvidenceReader
from knowledge.search.readable_files import READABLE
from knowledge.search.reading import PlaceReader
from knowledge.search.searching import KnowledgeSearcher
from protocol.seams.ports import Tx
from protocol.settings import KnowledgeSettings

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
POLLED_MS = MINUTE_MS
"""The time between two scans of a collection that no watch reports on."""
AWAY_MS = 2_000
"""The time between two looks whether a folder that was away is there again."""
DEEP_PARTS = 6
"""Parts of a collection that a deep scan reads one after the other, within `deep_scan_hours` altogether."""


class KnowledgeHouse:
    """The parts that answer for files, and the work of a process that needs several of them."""

    def __init__(self, means: KnowledgeMeans, notices: ChangeNotices) -> None:
        self._means = means
        self.vectors = PieceVectors(
            db=means.db, jobs=means.jobs, meaning=means.meaning, keyed=means.keyed, open_root=means.open_root
        )
        self.scanner = Scanner(means, self.vectors, notices)
        self.reader = FileReader(means, self.vectors, notices)
        self.collections = Collections(means, self.scanner, self.vectors)
        self.watchers = Watchers(means, self.scanner)
        self._returns = ReturnLooks(means)
        self.searcher = KnowledgeSearcher(means, self._returns)
        self.places = PlaceReader(means)
        self.graph = EntityReader(means)
        self.evidence = EvidenceReader(means)
        self.inquiries = FileInquiries(means, self.searcher, self.watchers)

    # -- the process ---------------------------------------------------------------------------------------------

    async def look(self, *, is_first: bool) -> float:
        """Begin and end watches, and queue due scans and the reading of files that wait.

        Returns when, by the clock, more is due; until then only a change of the home, of the settings or of a watch is
        a reason for another look. The first call of a process, `is_first`, queues a scan of every collection and begins
        no watch.
        """
        settings, now = self._means.settings(), self._means.clock.now()
        if not is_first:
            await self.watchers.look()
        is_on = settings.enabled and settings.indexing_enabled
        part = settings.deep_scan_hours * HOUR_MS // DEEP_PARTS

        def find(tx: Tx) -> tuple[list[KnownCollection], dict[str, int], float, bool]:
            is_leaving = bool(list_leaving(tx))
            if not is_on:
                return [], {}, math.inf, is_leaving
            oldest = find_oldest_deep_part(tx)
            return list_collections(tx), next_readings(tx), math.inf if oldest is None else oldest + part, is_leaving

        collections, read_times, deep_at, is_leaving = await self._means.db.read(find)
        scan_times = {one.collection_id: _next_scan(one, settings) for one in collections}
        away_at = now + AWAY_MS if self._returns.begin(collections) else math.inf
        if is_leaving:
            self._means.spawn(self.collections.remove_left, "remove")
        scans = [name for name, at in scan_times.items() if is_first or at <= now]
        reads = [name for name, at in read_times.items() if at <= now]
        if deep_at <= now:
            reads += await self._means.db.note(lambda tx: renew_parts(tx, now, now - part, DEEP_PARTS))
            await self._means.db.note(count_pieces_anew)
        if scans or reads:
            await self._means.db.jot(lambda tx: self._queue(tx, scans, reads))
        return now if is_first or is_leaving else min(deep_at, away_at, *scan_times.values(), *read_times.values())

    def _queue(self, tx: Tx, scans: list[str], reads: list[str]) -> None:
        for collection_id in scans:
            self.scanner.queue(tx, collection_id)
        for collection_id in reads:
            self._means.jobs.enqueue(tx, "read", collection_id)

    async def hurry_resting(self) -> None:
        """Queue the reading of changed files that rest because reading them took long (`RESTS` of `index.reading`)."""
        now = self._means.clock.now()

        def hurry(tx: Tx) -> None:
            for row, collection_id in collections_with_resting(tx, now):
                release_files(tx, row, resting=True)
                self._means.jobs.enqueue(tx, "read", collection_id)

        if await self._means.db.read(lambda tx: collections_with_resting(tx, now)):
            await self._means.db.jot(hurry)

    async def queue_all(self) -> int:
        """Have every file of every collection read again, also those that failed; return the number of collections.

        Rows that the full-text tables lack are put in again first: reading a file anew would not notice them.
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

    def marks(self, tx: Tx, addresses: Sequence[str]) -> dict[str, bytes]:
        """Return by address the SHA-256 that its file had when it was indexed; other addresses are left out."""
        found: dict[str, bytes] = {}
        for text in addresses:
            address = read_address(text)
            known = find_collection(tx, address.collection_id) if address is not None else None
            file = find_file(tx, known.id, address.path) if known is not None and address is not None else None
            if file is not None and file.state in READABLE and file.sha256 is not None:
                found[text] = file.sha256
        return found


def _next_scan(known: KnownCollection, settings: KnowledgeSettings) -> float:
    """Return when a scan is due: `POLLED_MS` after the last where no watch reports changes; never of an away folder."""
    if known.state == "unavailable":
        return math.inf
    is_polled = known.state == "polling" and known.reason in POLLED
    return (known.scanned_at or 0) + (POLLED_MS if is_polled else settings.scan_minutes * MINUTE_MS)
