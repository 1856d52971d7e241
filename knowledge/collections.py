"""The methods of collections: add, list, get, update, scan, remove.

Rule 1: `add` answers before any file of the folder is read; a preview stores nothing.
Rule 2: the folder of the user is never changed; a removal leaves no byte of what was made of it.
"""

import json
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
from msgspec import Struct

from knowledge.index.storing import Removed, drop_files
from knowledge.index.vectors import PieceVectors
from knowledge.ports import KnowledgeMeans
from knowledge.rows.changes import FileChange, add_change, count_rows
from knowledge.rows.collections import (
    CHOICES,
    USER,
    KnownCollection,
    LeavingCollection,
    add_collection,
    change_collection,
    count_collections,
    find_collection,
    find_owner,
    leave_collection,
    list_collections,
    list_leaving,
    owner_of,
    remove_collection_row,
    remove_owner,
    to_wire,
    want_deep,
)
from knowledge.rows.contents import empty_words
from knowledge.rows.files import retry_files, some_files
from knowledge.rows.links import HOUSE
from knowledge.rows.vectors import contents_after, mean_contents
from knowledge.scan.previewing import preview
from knowledge.scan.roots import is_overlapping, problem_of_root
from knowledge.scan.scanning import Scanner
from promt.patterns import compile_late
from protocol.base import DEFAULT_WORKSPACE
from protocol.cursors import cut_page, place_of
from protocol.errors import CallerError, Refused, Unavailable
from protocol.files.collections import (
    Collection,
    CollectionAddParams,
    CollectionAddResult,
    CollectionListParams,
    CollectionListResult,
    CollectionParams,
    CollectionRemoveResult,
    CollectionResult,
    CollectionScanParams,
    CollectionScanResult,
    CollectionUpdateParams,
    FileCounts,
    RemovalReceipt,
)
from protocol.seams.ports import Tx
from protocol.seams.safe_files import SafeRoot, UnsafeFileError
from retrieval.rows.embedding_cache import drop_left
from retrieval.rows.links import count_edges, drop_place

MOST_COLLECTIONS = 64
"""The most collections of a home."""
REMOVED_AT_ONCE = 200
"""Files that one transaction of a removal takes."""
MOST_PUT_BACK = 2000
"""Rows of other collections that are put into an emptied full-text table again: some 60 ms of its transaction."""
MEANT_AT_ONCE = 200
"""Contents whose vectors one transaction of `_mean_anew` decides on."""
MAX_ID_CHARS = 64

_NOT_OF_ID = compile_late(r"[^a-z0-9._-]+")


class Collections:
    """The collections of a home."""

    def __init__(self, means: KnowledgeMeans, scanner: Scanner, vectors: PieceVectors) -> None:
        self._means = means
        self._scanner = scanner
        self._vectors = vectors
        self._leaving = set[int]()
        self._going_on = anyio.Lock()

    async def add(self, params: CollectionAddParams) -> CollectionAddResult:
        """`knowledge/collections/add`."""
        root = await self._open(params.path)
        root.close()
        workspace = USER if params.scope == "user" else params.workspace_id or DEFAULT_WORKSPACE
        choices = {name: getattr(params, name) for name in CHOICES if name not in {"name", "path"}}
        name = params.name or root.path.rstrip("/\\").replace("\\", "/").rpartition("/")[2][:80] or "files"
        choices |= {"name": name, "path": root.path}
        if params.dry_run:
            known = await self._means.db.read(lambda tx: self._build_rowless_collection(tx, params, workspace, choices))
            return CollectionAddResult(collection=_to_unscanned(known), preview=await preview(self._means, known))
        return CollectionAddResult(
            collection=await self._means.db.write(lambda tx: self._add(tx, params, workspace, choices))
        )

    async def _open(self, path: str) -> SafeRoot:
        """Return the opened folder of a path. Raises `CallerError` for one that may not be a collection."""
        if not os.path.isabs(path):  # noqa: PTH117  # a path as this system has it
            raise CallerError.at("$.path", "Must be an absolute path")
        try:
            root = await anyio.to_thread.run_sync(self._means.resolve_root, path)
        except UnsafeFileError:
            raise CallerError("unsafe_root", "There is no such folder that can be read.") from None
        problem = problem_of_root(root.path, self._means.home, self._means.user_folder)
        if problem is not None:
            root.close()
            raise CallerError("unsafe_root", f"{problem}.")
        return root

    def _check_place(self, tx: Tx, workspace: str, path: str, but: str | None = None) -> None:
        """Raise `CallerError` without the workspace, `Refused` where the folder overlaps a collection but `but`."""
        if workspace != USER and not self._means.workspace_exists(tx, workspace):
            raise CallerError.missing("workspace")
        others = [one for one in list_collections(tx, [workspace]) if one.collection_id != but]
        other = next((one.collection_id for one in others if is_overlapping(path, one.path)), None)
        if other is not None:
            raise Refused(
                "overlapping_collection",
                f"The folder is that of the collection {other}, or inside or above it.",
                details={"collection_id": other},
            )

    def _new_id(self, tx: Tx, params: CollectionAddParams, name: str) -> str:
        """Return the wanted id, else one made of the name. Raises `Refused` for a wanted one that is taken."""
        if params.collection_id is not None:
            if find_collection(tx, params.collection_id) is not None:
                raise Refused("conflict", "There is another collection of that id.")
            return params.collection_id
        base = _NOT_OF_ID.sub("-", name.casefold()).strip("-.")[: MAX_ID_CHARS - 4] or "files"
        number = 1
        while find_collection(tx, base if number == 1 else f"{base}-{number}") is not None:
            number += 1
        return base if number == 1 else f"{base}-{number}"

    def _build_rowless_collection(
        self, tx: Tx, params: CollectionAddParams, workspace: str, choices: Mapping[str, Any]
    ) -> KnownCollection:
        """Return the collection that `add` would make, without storing it; for a preview."""
        self._check_place(tx, workspace, choices["path"])
        return build_rowless_collection(
            self._new_id(tx, params, choices["name"]), workspace, choices, self._means.clock.now()
        )

    def _add(self, tx: Tx, params: CollectionAddParams, workspace: str, choices: Mapping[str, Any]) -> Collection:
        """Store a collection and queue its first scan; return one of the same choices that is there already."""
        for one in list_collections(tx, [workspace]):
            is_asked = params.collection_id in {None, one.collection_id}
            if one.path == choices["path"] and one.choices() == choices and is_asked:
                return to_wire(tx, one)
        self._check_place(tx, workspace, choices["path"])
        if count_collections(tx) >= MOST_COLLECTIONS:
            raise Refused("conflict", f"There are {MOST_COLLECTIONS} collections already.")
        collection_id, now = self._new_id(tx, params, choices["name"]), self._means.clock.now()
        add_collection(tx, collection_id, owner_of(tx, workspace), choices, now)
        known = require(tx, collection_id)
        add_change(tx, known, FileChange("collection_added"), now)
        self._scanner.queue(tx, collection_id)
        return to_wire(tx, known)

    async def list(self, params: CollectionListParams) -> CollectionListResult:
        """`knowledge/collections/list`."""
        (after,) = place_of(params.cursor, (0,))
        workspaces = [params.workspace_id or DEFAULT_WORKSPACE, USER]

        rows = await self._means.db.read(lambda tx: list_collections(tx, workspaces, after, params.limit + 1))
        page, more = cut_page(rows, params.limit, lambda one: (one.id,))
        # each in a read of its own, as a read has two seconds
        found = [await self._means.db.read(partial(to_wire, known=one)) for one in page]
        return CollectionListResult(collections=found, next_cursor=more)

    async def get(self, params: CollectionParams) -> CollectionResult:
        """`knowledge/collections/get`."""
        return await self._means.db.read(
            lambda tx: CollectionResult(collection=to_wire(tx, require(tx, params.collection_id)))
        )

    async def update(self, params: CollectionUpdateParams) -> CollectionResult:
        """`knowledge/collections/update`: changed rules take effect with the scan that this queues."""
        changes = {name: value for name in CHOICES if (value := getattr(params, name)) is not None}
        if params.path is not None:
            root = await self._open(params.path)
            root.close()
            changes["path"] = root.path

        def write(tx: Tx) -> CollectionResult:
            known = require(tx, params.collection_id)
            if "path" in changes:
                self._check_place(tx, known.workspace_id, changes["path"], but=known.collection_id)
            change_collection(tx, known.id, known.choices() | changes)
            self._scanner.queue(tx, known.collection_id)
            return CollectionResult(collection=to_wire(tx, require(tx, params.collection_id)))

        result = await self._means.db.write(write)
        if params.meaning is not None:
            await self._mean_anew(params.collection_id)
        return result

    async def _mean_anew(self, collection_id: str) -> None:
        """Queue the vectors that the changed `meaning` of a collection wants, and drop those that it does not."""
        awaits, place = self._vectors.are_made(), 0

        def mean_some(tx: Tx, after: int) -> int:
            known = find_collection(tx, collection_id)
            contents = contents_after(tx, known.id, after, MEANT_AT_ONCE) if known is not None else []
            if mean_contents(tx, contents, awaits=awaits):
                self._vectors.queue(tx)
            return contents[-1] if len(contents) == MEANT_AT_ONCE else -1

        while place >= 0:
            place = await self._means.db.write(partial(mean_some, after=place))

    async def scan(self, params: CollectionScanParams) -> CollectionScanResult:
        """`knowledge/collections/scan`."""

        def write(tx: Tx) -> None:
            known = require(tx, params.collection_id)
            if params.deep:
                want_deep(tx, known.id)
            # what could not be opened may be readable by now, which changes nothing that a scan compares
            retry_files(tx, self._means.clock.now(), collection=known.id, lost_readers=False)
            self._scanner.queue(tx, known.collection_id)

        await self._means.db.write(write)
        return CollectionScanResult(queued=True)

    async def remove(self, params: CollectionParams) -> CollectionRemoveResult:
        """`knowledge/collections/remove`: in several transactions, so that other writers get in between."""
        known = await self._means.db.read(lambda tx: require(tx, params.collection_id))
        with self._removing(known.id):
            begun = await self._begin(known.collection_id)
            removed = begun.removed.plus(await self._remove_rows(begun.row))
            is_wiped = await self._means.truncate_wal()
        self._means.recover(f"knowledge:{known.collection_id}", None)
        receipt = RemovalReceipt(
            files=removed.files,
            chunks=removed.chunks,
            fts_rows=removed.fts_rows,
            vectors=removed.vectors,
            edges=begun.edges,
            versions=begun.versions,
            wal=is_wiped,
            complete=is_wiped,
        )
        return CollectionRemoveResult(receipt=receipt)

    async def remove_left(self) -> None:
        """Go on with the removals that a process was ended in; a second caller waits for the first."""
        async with self._going_on:
            for row in await self._means.db.read(list_leaving):
                with self._removing(row.id) as is_mine:
                    if is_mine:
                        await self._remove_rows(row)
                        await self._means.truncate_wal()

    @contextmanager
    def _removing(self, row: int) -> Generator[bool]:
        """Return whether no other task or process removes a collection; none begins to until the block ends."""
        lock = f"removed:{row}"
        is_mine = row not in self._leaving and self._means.locks.take(lock)
        if is_mine:
            self._leaving.add(row)
        try:
            yield is_mine
        finally:
            if is_mine:
                self._leaving.remove(row)
                self._means.locks.release(lock)

    async def _begin(self, collection_id: str) -> "_Begun":
        begin = partial(self._begin_removal, collection_id=collection_id)
        try:
            return await self._means.db.write(begin, is_vital=True)
        except Unavailable as failure:
            if failure.reason != "storage_full":
                raise
        return await self._means.db.write(partial(begin, keeps_words=True), is_vital=True)

    def _begin_removal(self, tx: Tx, collection_id: str, *, keeps_words: bool = False) -> "_Begun":
        """Take a collection out, with a line in the log. Raises `CallerError` where there is none."""
        known = require(tx, collection_id)
        begun = self._leave(tx, known, keeps_words=keeps_words)
        add_change(tx, known, FileChange("collection_removed"), self._means.clock.now(), is_gone=True)
        return begun

    def _leave(self, tx: Tx, known: KnownCollection, *, keeps_words: bool = False) -> "_Begun":
        """Take a collection out of all lists, the graph and, where it pays, the full text; its rows go next.

        With `keeps_words` the full text goes with the rows: a full disk has no room to empty it at once. A process that
        is ended after this leaves what `remove_left` finds.
        """
        files, versions = count_rows(tx, known.id)
        edges = count_edges(tx, HOUSE, known.collection_id)
        for kind in ("scan", "read"):
            self._means.jobs.remove(tx, kind=kind, subject=known.collection_id)
        # before the files, or links to those that go next would be resolved anew
        drop_place(tx, HOUSE, known.collection_id)
        left = drop_left(tx, HOUSE, known.collection_id)
        leave_collection(tx, known.id)
        self._means.forget_quotations(tx, known.collection_id)
        if not keeps_words:
            empty_words(tx, min(files, MOST_PUT_BACK))
        return _Begun(LeavingCollection(known.id, known.owner), Removed(vectors=left), edges, versions)

    async def _remove_rows(self, row: LeavingCollection) -> Removed:
        """Remove the rows of a collection that is being removed; return the counts.

        A full disk may have room for smaller steps only.
        """
        removed, is_done, most = Removed(), False, REMOVED_AT_ONCE
        while not is_done:
            try:
                step, is_done = await self._means.db.write(partial(_remove_some, row=row, most=most), is_vital=True)
            except Unavailable as failure:
                if failure.reason != "storage_full" or most == 1:
                    raise
                most = max(1, most // 4)
            else:
                removed = removed.plus(step)
        return removed

    def on_workspace_deleted(self, tx: Tx, workspace_id: str) -> Mapping[str, int]:
        """Remove a workspace's collections in the transaction that deletes it; return the counts of removed rows."""
        removed, collections = Removed(), list_collections(tx, [workspace_id])
        for known in collections:
            removed = removed.plus(self._leave(tx, known).removed)
        owner = find_owner(tx, workspace_id)
        if owner is not None:
            for row in list_leaving(tx, owner):
                is_done = False
                while not is_done:
                    step, is_done = _remove_some(tx, row)
                    removed = removed.plus(step)
            remove_owner(tx, owner)
        return {
            "collections": len(collections),
            "knowledge_files": removed.files,
            "knowledge_chunks": removed.chunks,
            "knowledge_vectors": removed.vectors,
        }


class _Begun(Struct, frozen=True):
    """A removal that has begun, with the numbers of what went first."""

    row: LeavingCollection
    removed: Removed
    edges: int
    versions: int


def _remove_some(tx: Tx, row: LeavingCollection, most: int = REMOVED_AT_ONCE) -> tuple[Removed, bool]:
    """Remove some files, and with the last of them the collection; return the counts, and whether that was all."""
    removed = drop_files(tx, row.owner, some_files(tx, row.id, most))
    is_done = removed.files < most
    if is_done:
        remove_collection_row(tx, row.id)
    return removed, is_done


def require(tx: Tx, collection_id: str) -> KnownCollection:
    """Return a collection. Raises `CallerError` where there is none."""
    known = find_collection(tx, collection_id)
    if known is None:
        raise CallerError.missing("collection")
    return known


def build_rowless_collection(
    collection_id: str, workspace: str, choices: Mapping[str, Any], now: int
) -> KnownCollection:
    """Return a collection as a row of it would read, before its first scan; `choices` are the columns of `CHOICES`."""
    stored: dict[str, Any] = {
        name: json.dumps(value) if isinstance(value, list) else value for name, value in choices.items()
    }
    return KnownCollection(
        id=0,
        collection_id=collection_id,
        workspace_id=workspace,
        owner=0,
        **stored,
        state="new",
        reason=None,
        skipped="{}",
        bad_patterns="[]",
        withheld_at=None,
        deep_wanted=0,
        scanned_at=None,
        deep_scanned_at=None,
        created_at=now,
    )


def _to_unscanned(known: KnownCollection) -> Collection:
    """Return a collection without a row as the wire shows it: without files, never scanned."""
    return Collection(
        collection_id=known.collection_id,
        workspace_id=known.workspace_id or None,
        scope="workspace" if known.workspace_id else "user",
        **known.choices(),
        state="new",
        reason=None,
        files=FileCounts(),
        bytes=0,
        chunks=0,
        scanned_at=None,
        deep_scanned_at=None,
        created_at=known.created_at,
    )
