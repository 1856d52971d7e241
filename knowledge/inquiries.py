"""The methods about indexed files: list, status, retry, changes, versions, and explanations of what is found or not.

Rule 1: all but the explanation of a query, which searches, answer while the house is switched off.
"""

from collections import Counter
from functools import partial

import anyio.to_thread
import msgspec

from knowledge.collections import require
from knowledge.ports import KnowledgeMeans
from knowledge.rows.changes import list_changes, list_versions
from knowledge.rows.collections import USER, KnownCollection, find_collection, list_collections, oldest_pending, to_wire
from knowledge.rows.files import FileRow, collection_of_file, find_file, list_files, places_of, retry_files
from knowledge.scan.roots import reason_of_loss
from knowledge.scan.watching import Watchers
from knowledge.search.finding import RankedPiece
from knowledge.search.readable_files import READABLE
from knowledge.search.searching import KnowledgeSearcher
from knowledge.search.visible import visible_collections
from knowledge.walk.collection_walks import judge_path
from knowledge.walk.patterns import LeftOut
from protocol.base import DEFAULT_WORKSPACE, Diagnostic
from protocol.cursors import cut_page, place_of
from protocol.errors import CallerError
from protocol.files.knowledge import (
    ChangesParams,
    ChangesResult,
    CollectionStatus,
    FileError,
    FilesParams,
    FilesResult,
    FileVersionsParams,
    FileVersionsResult,
    GateCount,
    KnowledgeExplainParams,
    KnowledgeExplainResult,
    KnowledgeRetryParams,
    KnowledgeRetryResult,
    KnowledgeSearchParams,
    KnowledgeStatusParams,
    KnowledgeStatusResult,
    KnownFile,
    NearMiss,
    WatchState,
)
from protocol.memory.values import Context
from protocol.seams.ports import Tx
from protocol.seams.safe_files import UnsafeFileError

LAST = 2**62
"""A number above every row's: lists with the newest first begin below it."""
MOST_MISSES = 20
"""The most pieces that came near and were left out, of which an explanation tells."""
GATES = ("collection", "file_state", "verified", "secret", "floor", "budget", "already_shown")
"""The gates that a piece passes on its way into an answer, in order. `floor` is that of recall in turns. `secret` stops
no piece, as a credential is masked where it stands."""
VISIBLE = ("indexed", "pending", "partial", "failed", "skipped")
"""States of a file that exists; one that is gone has a row until it is clear that it was not moved."""


class FileInquiries:
    """Answers the methods about indexed files."""

    def __init__(self, means: KnowledgeMeans, searcher: KnowledgeSearcher, watchers: Watchers) -> None:
        self._means, self._searcher, self._watchers = means, searcher, watchers

    async def files(self, params: FilesParams) -> FilesResult:
        """`knowledge/files`."""
        (after,) = place_of(params.cursor, (0,))

        def read(tx: Tx) -> FilesResult:
            known = require(tx, params.collection_id)
            rows = list_files(
                tx,
                known.id,
                after=after,
                limit=params.limit + 1,
                prefix=params.prefix or "",
                states=params.states or VISIBLE,
                kinds=params.kinds or (),
            )
            page, more = cut_page(rows, params.limit, lambda one: (one.id,))
            return FilesResult(files=[_to_known_file(tx, known, row) for row in page], next_cursor=more)

        return await self._means.db.read(read)

    async def status(self, params: KnowledgeStatusParams) -> KnowledgeStatusResult:
        """`knowledge/status`."""
        now = self._means.clock.now()

        def describe(tx: Tx, listed: KnownCollection, watch: WatchState) -> CollectionStatus:
            known = find_collection(tx, listed.collection_id) or listed
            oldest = oldest_pending(tx, known.id)
            structure = "ready" if self._means.has_code_structure() else "off"
            enrichment = "off"
            if known.enrich:
                enrichment = "not_available" if self._means.has_enricher() else "no_role"
            return CollectionStatus(
                collection=to_wire(tx, known),
                watch=watch,
                oldest_pending_age_ms=now - oldest if oldest is not None else None,
                code_structure=structure,
                bad_patterns=known.bad,
                enrichment=enrichment,
            )

        workspaces = [params.workspace_id or DEFAULT_WORKSPACE, USER]
        listed = await self._means.db.read(lambda tx: list_collections(tx, workspaces))
        # a read has two seconds, of which a collection of 100,000 files may take a part beside other programs
        found = [
            await self._means.db.read(partial(describe, listed=one, watch=self._watchers.state_of(one)))
            for one in listed
        ]
        return KnowledgeStatusResult(enabled=self._means.settings().enabled, collections=found)

    async def retry(self, params: KnowledgeRetryParams) -> KnowledgeRetryResult:
        """`knowledge/retry`."""
        now = self._means.clock.now()

        def write(tx: Tx) -> int:
            if params.file_id is not None:
                collection_id = collection_of_file(tx, params.file_id)
                if collection_id is None:
                    raise CallerError.missing("file")
                count = retry_files(tx, now, file_id=params.file_id)
            elif params.collection_id is not None:
                known = require(tx, params.collection_id)
                collection_id, count = known.collection_id, retry_files(tx, now, collection=known.id)
            else:
                raise CallerError.at("$.file_id", "Name a file or a collection")
            if count:
                self._means.jobs.enqueue(tx, "read", collection_id)
            return count

        return KnowledgeRetryResult(requeued=await self._means.db.write(write))

    async def explain(self, params: KnowledgeExplainParams) -> KnowledgeExplainResult:
        """`knowledge/explain`."""
        if params.collection_id is not None and params.path is not None and params.query is None:
            return await self._explain_path(params.collection_id, params.path.strip("/"), params.context)
        if params.query is not None and params.path is None:
            return await self._explain_query(params)
        raise CallerError.at("$.path", "Name a collection and a path, or a query")

    async def _explain_path(self, collection_id: str, path: str, context: Context) -> KnowledgeExplainResult:
        def read(tx: Tx) -> tuple[KnownCollection, FileRow | None]:
            visible = visible_collections(tx, self._means, context)
            known = next((one for one in visible if one.collection_id == collection_id), None)
            if known is None:
                raise CallerError.missing("collection")
            return known, find_file(tx, known.id, path)

        known, file = await self._means.db.read(read)
        lost = known.reason if known.state == "unavailable" else None
        try:
            skipped = await anyio.to_thread.run_sync(partial(self._judge_path, known, path))
        except UnsafeFileError as error:
            skipped, lost = None, reason_of_loss(error)
        if lost is not None:
            is_in_index = file is not None and file.state in READABLE and file.content is not None
            return KnowledgeExplainResult(indexed=is_in_index, state="unavailable", reason=lost)
        is_indexed = file is not None and file.state in {"indexed", "partial"} and skipped is None
        reason = skipped.reason if skipped is not None else file.reason if file is not None else None
        if file is None and skipped is None:
            reason = known.state if known.state == "over_limit" else "not_seen"
        rule = skipped.rule if skipped is not None else None
        if rule is not None:
            rule = msgspec.structs.replace(rule, pattern=self._means.scanner.mask(rule.pattern))
        return KnowledgeExplainResult(
            indexed=is_indexed,
            state=file.state if file is not None else None,
            reason=reason,
            rule=rule,
            left_out=_find_left_out_lines(file) if file is not None and is_indexed else None,
            left_out_pages=_find_left_out_pages(file) if file is not None and is_indexed else [],
        )

    def _judge_path(self, known: KnownCollection, path: str) -> LeftOut | None:
        """Return the rule that leaves a path out at present, or None. Raises `UnsafeFileError` for a lost folder."""
        with self._means.open_root(known.path) as root:
            return judge_path(root, known, self._means.settings(), path)

    async def _explain_query(self, params: KnowledgeExplainParams) -> KnowledgeExplainResult:
        asked = KnowledgeSearchParams(query=params.query or "", context=params.context)
        snapshot, found = await self._searcher.find_files(asked)
        floor = self._means.settings().min_relevancy
        shown = {hit.address for hit in found.hits}
        rest = [one for one in snapshot.ranked if one.places[0].file not in found.stale]
        stopped = [(one, address) for one in rest if (address := one.address()) not in shown]

        def gate_of(one: RankedPiece) -> str:
            return "already_shown" if one.piece.id in found.crowded else "floor" if one.score < floor else "budget"

        misses = [NearMiss(address=address, score=one.score, gate=gate_of(one)) for one, address in stopped]
        counts = Counter(one.gate for one in misses)
        away = snapshot.away
        counts["collection"] = len(away)
        counts["file_state"], counts["verified"] = snapshot.pending, len(found.dropped)
        gates = [GateCount(name=name, stopped=counts[name]) for name in GATES]
        return KnowledgeExplainResult(
            state="unavailable" if away else None,
            reason=away[0].reason if away else None,
            gates=gates,
            near_misses=misses[:MOST_MISSES],
        )

    async def changes(self, params: ChangesParams) -> ChangesResult:
        """`knowledge/changes`."""
        (before,) = place_of(params.cursor, (LAST,))

        def read(tx: Tx) -> ChangesResult:
            name = params.collection_id or ""
            events = list_changes(tx, name=name, since=params.since_at or 0, before=before, limit=params.limit + 1)
            page, more = cut_page(events, params.limit, lambda one: (one.seq,))
            is_unknown = bool(name) and not events and find_collection(tx, name) is None
            unknown = [Diagnostic(code="no_match", message="No collection has that id.")] if is_unknown else []
            return ChangesResult(events=page, next_cursor=more, diagnostics=unknown)

        return await self._means.db.read(read)

    async def versions(self, params: FileVersionsParams) -> FileVersionsResult:
        """`knowledge/versions`."""
        (before,) = place_of(params.cursor, (LAST,))

        def read(tx: Tx) -> FileVersionsResult:
            known = require(tx, params.collection_id)
            rows = list_versions(tx, known.id, params.path, before, params.limit + 1)
            page, more = cut_page(rows, params.limit, lambda one: (one[0],))
            return FileVersionsResult(versions=[version for _, version in page], next_cursor=more)

        return await self._means.db.read(read)


def _find_left_out_lines(row: FileRow) -> list[int] | None:
    """Return the first and last line without a piece; None where every line has one."""
    return [row.left_from, row.lines] if row.left_from is not None and row.lines is not None else None


def _find_left_out_pages(row: FileRow) -> list[list[int]]:
    """Return the runs of pages of a PDF that were not read."""
    return msgspec.json.decode(row.left_pages or "[]", type=list[list[int]])


def _to_known_file(tx: Tx, known: KnownCollection, row: FileRow) -> KnownFile:
    places = places_of(tx, row.content) if row.content is not None else []
    also = [
        place.path if place.collection == known.id else f"{place.collection_id}:{place.path}"
        for place in places
        if place.file != row.id
    ]
    return KnownFile(
        file_id=row.file_id,
        path=row.path,
        kind=row.kind,
        language=row.language,
        bytes=row.bytes if row.bytes is not None else row.size,
        lines=row.lines or 0,
        state=row.state,
        reason=row.reason,
        sha256=row.sha256.hex() if row.sha256 else None,
        changed_at=row.mtime_ns // 1_000_000,
        indexed_at=row.indexed_at,
        attempt_count=row.attempts,
        next_run_at=row.next_run_at if row.state == "pending" else None,
        last_error=FileError(code=row.error) if row.error else None,
        left_out=_find_left_out_lines(row),
        left_out_pages=_find_left_out_pages(row),
        also=also,
    )
