"""The scan of a collection: it compares the folder with its rows, and queues the files to be read.

Rule 1: a root that is missing, unreadable or suddenly empty deletes nothing: the collection is `unavailable`.
Rule 2: it costs one query a folder, and a transaction only where something changed.
Rule 3: a file that is gone keeps its row until the new files were seen: it may have moved.
"""

import time
from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

import anyio
import anyio.to_thread
import msgspec
from msgspec import Struct

from knowledge.index.vectors import PieceVectors
from knowledge.notices import ChangeNotices
from knowledge.ports import KnowledgeMeans
from knowledge.rows.changes import FileChange, add_change
from knowledge.rows.collections import KnownCollection, end_scan, find_collection, set_state
from knowledge.rows.contents import merge_cards
from knowledge.rows.files import (
    Inode,
    SeenRow,
    add_files,
    count_readable,
    files_of_folder,
    find_known_inodes,
    folders_below,
    folders_of,
    folders_of_inodes,
    hurry_waiting,
    miss_file,
    missing_files,
    next_due,
    release_files,
    renew_all,
    renew_files,
)
from knowledge.rows.vectors import await_again
from knowledge.scan.comparing import MASS, FolderPlan, compare, find_gone, is_mass
from knowledge.scan.moving import Gone, Moves, inode_of, keep_placed, list_missed, match_moves, store_moves
from knowledge.scan.roots import reason_of_loss
from knowledge.walk.collection_walks import limits_of, list_bad_patterns, list_changed_folders, look_at_folders, walk_of
from knowledge.walk.walking import FolderSight, SeenFile, Walk, is_below
from protocol.seams.ports import JobHandle, SqlValue, Tx
from protocol.seams.safe_files import SafeRoot, UnsafeFileError

FOLDERS_AT_ONCE = 64
"""Folders that are walked and compared in one step."""
FILES_AT_ONCE = 500
"""Files that one transaction stores; it takes some milliseconds."""
MOST_WALKS = 3
"""The most walks of one scan: what one misses is gone if the next misses it too, as it may move while one goes on."""
HELD_MS = 60_000
"""The time for which new files of a scan are not read, unless the scan ends before it.

One of them may be an old file that moved: read before that is known, it would be a copy, and the old one would lose its
id. After a scan that was killed the files are read when this time is over.
"""
LATELY_NS = 15 * 1_000_000_000
"""Beside the debounce the longest time for which a change of a folder may not have been looked at by a watch."""
AGREED_MS = 600_000
"""The time for which files that are gone together are withheld. A scan after it that still misses them removes them."""
MERGED_FOR = 20
"""The index of names is merged before one file in so many is moved: a microsecond a file, which saves 70 a move."""
LOST = ("root_missing", "root_empty", "permission_denied")
"""Reasons of a collection that is not available."""


class _Walked(Struct, frozen=True):
    """A walk at its end: the files that are gone, which new ones some of them became, and other new ones not stored."""

    walk: Walk
    gone: Sequence[Gone]
    moves: Moves
    new: Sequence[tuple[str, SeenFile]]


class _Looked(Struct, frozen=True):
    """Folders that were looked at, the changes of some of them, and all files that are gone."""

    sights: Sequence[FolderSight]
    plans: Sequence[tuple[FolderSight, FolderPlan]]
    gone: Sequence[Gone]


class SeenFolders(NamedTuple):
    """Folders that were looked at: those that exist, and those that are gone."""

    present: frozenset[str]
    gone: frozenset[str]


def _to_seen_folders(sights: Sequence[FolderSight]) -> SeenFolders:
    gone = frozenset(sight.folder for sight in sights if sight.is_missing)
    return SeenFolders(frozenset(sight.folder for sight in sights if not sight.is_unreadable) - gone, gone)


class Scanner:
    """Scans collections."""

    def __init__(self, means: KnowledgeMeans, vectors: PieceVectors, notices: ChangeNotices) -> None:
        self._means = means
        self._vectors = vectors
        self._notices = notices
        self._turns = defaultdict[str, anyio.Lock](anyio.Lock)
        """By collection: what a scan and a look saw is stored before the other one begins."""

    def queue(self, tx: Tx, collection_id: str) -> bool:
        """Queue a scan; return whether none was waiting."""
        return self._means.jobs.enqueue(tx, "scan", collection_id) is not None

    async def scan(self, handle: JobHandle) -> None:
        """Scan the collection that a `scan` job names."""
        async with self._turns[handle.job.subject]:
            await self._scan_all(handle.job.subject)

    async def _scan_all(self, collection_id: str) -> None:
        known = await self._means.db.read(lambda tx: find_collection(tx, collection_id))
        if known is None:  # removed since this was queued
            await self._means.db.note(lambda tx: self._means.jobs.remove(tx, kind="scan", subject=collection_id))
            return
        try:
            root = await anyio.to_thread.run_sync(self._means.open_root, known.path)
        except UnsafeFileError as error:
            await self._lose(known, reason_of_loss(error))
            return
        try:
            await self._scan(known, root)
        except UnsafeFileError:
            await self._lose(known, "permission_denied")
        finally:
            root.close()

    async def _lose(self, known: KnownCollection, reason: str) -> None:
        await self._means.db.note(lambda tx: set_state(tx, known.id, "unavailable", reason))
        self._means.degrade(f"knowledge:{known.collection_id}", reason)

    async def _scan(self, known: KnownCollection, root: SafeRoot) -> None:
        if known.scanned_at is None:
            await self._means.db.note(lambda tx: set_state(tx, known.id, "scanning"))
        walks, before = 0, set[int]()
        while (walked := await self._walk(known, root)) is not None:
            walks += 1
            missed = list_missed(walked.gone, walked.moves, walked.walk.ignored)
            if walks == MOST_WALKS or not missed - before:
                await self._end(known, walked)
                return
            before = missed

    async def _walk(self, known: KnownCollection, root: SafeRoot) -> _Walked | None:
        """Compare a collection's folder with its rows, and store what is new or changed; None where it is empty."""
        means, settings = self._means, self._means.settings()
        walk = await anyio.to_thread.run_sync(lambda: walk_of(root, known, limits_of(settings)))
        sights = iter(walk)
        walked: set[str] = set()
        gone: list[Gone] = []
        held: list[tuple[str, SeenFile]] = []
        is_empty = True
        present = await means.db.read(lambda tx: count_readable(tx, known.id))
        while batch := await anyio.to_thread.run_sync(lambda: list(islice(sights, FOLDERS_AT_ONCE))):
            is_empty = is_empty and not any(sight.files or sight.left_out for sight in batch) and len(batch) == 1
            if is_empty and present:
                await self._lose(known, "root_empty")
                return None
            walked.update(sight.folder for sight in batch)
            plans = await means.db.read(partial(_compare_all, collection=known.id, sights=batch))
            for sight, plan in plans:
                gone += [(sight.folder, row, reason) for row, reason in plan.gone]
            if plans:
                held += await self._store(known, plans)
            await means.db.calm()
        gone += await means.db.read(lambda tx: _list_gone_files(tx, known.id, walked, walk.unreadable))
        return _Walked(walk, gone, *match_moves(gone, held))

    async def _store(
        self, known: KnownCollection, plans: Sequence[tuple[FolderSight, FolderPlan]]
    ) -> list[tuple[str, SeenFile]]:
        """Store the new and the changed files of some folders.

        Returns the new files that are not stored, as each may be one of the index that moved.
        """
        new = [(sight.folder, seen) for sight, plan in plans for seen in plan.new]
        changed = [one for _, plan in plans for one in plan.changed]
        held: set[int] = set()
        if known.scanned_at is not None and new:
            inodes = [inode_of(seen.entry) for _, seen in new]
            held = await self._means.db.read(lambda tx: find_known_inodes(tx, known.id, inodes))
        await self._add(known, [one for index, one in enumerate(new) if index not in held])
        for first in range(0, len(changed), FILES_AT_ONCE):
            await self._means.db.note(partial(self._renew_some, known, changed[first : first + FILES_AT_ONCE]))
        return [new[index] for index in sorted(held)]

    async def _add(self, known: KnownCollection, new: Sequence[tuple[str, SeenFile]]) -> None:
        """Store new files."""
        for first in range(0, len(new), FILES_AT_ONCE):
            await self._means.db.note(partial(self._add_some, known, new[first : first + FILES_AT_ONCE]))

    def _add_some(self, known: KnownCollection, files: Sequence[tuple[str, SeenFile]], tx: Tx) -> None:
        """Store new files of a collection with their folders, unless it was removed meanwhile."""
        if find_collection(tx, known.collection_id) is None:
            return
        now, new_id = self._means.clock.now(), self._means.ids.new
        is_first = known.scanned_at is None
        own: dict[str, SqlValue] = {
            "collection": known.id,
            "is_baseline": int(is_first),
            "held_until": 0 if is_first else now + HELD_MS,  # nothing can have moved yet
        }
        add_files(
            tx,
            [
                own | _facts(seen, now) | {"file_id": new_id("fil"), "folder": folder, "name": seen.entry.name}
                for folder, seen in files
            ],
        )

    def _renew_some(self, known: KnownCollection, files: Sequence[tuple[SeenRow, SeenFile]], tx: Tx) -> None:
        """Store the changed files of a collection, unless it was removed meanwhile."""
        if find_collection(tx, known.collection_id) is not None:
            now = self._means.clock.now()
            renew_files(tx, [_facts(seen, now) | {"id": row.id} for row, seen in files])

    async def look_at(
        self,
        collection_id: str,
        folders: Collection[str],
        known_folders: Collection[str],
        paths: Collection[str] = frozenset(),
    ) -> SeenFolders:
        """Compare some folders with their rows, and those below them that are not in `known_folders`.

        So are folders of rows at or below some reported `paths`, and those where a new file may have lain before.
        Where many files are gone at once, more are new than there is room for, or the root cannot be read, nothing is
        stored, and a whole scan is queued.
        """
        async with self._turns[collection_id]:
            known = await self._means.db.read(lambda tx: find_collection(tx, collection_id))
            if known is None or known.scanned_at is None or known.state in {"unavailable", "over_limit"}:
                return SeenFolders(frozenset(), frozenset())
            below = await self._means.db.read(lambda tx: folders_below(tx, known.id, paths)) if paths else set[str]()
            return await self._look_at(known, {*folders, *below}, known_folders)

    async def _look_at(
        self, known: KnownCollection, folders: Collection[str], known_folders: Collection[str]
    ) -> SeenFolders:
        means, settings = self._means, self._means.settings()
        looked = _Looked([], [], [])
        try:
            root = await anyio.to_thread.run_sync(means.open_root, known.path)
        except UnsafeFileError:
            root = None
        if root is not None:
            try:
                looked = await self._look_twice(known, root, folders, known_folders)
            except UnsafeFileError:
                pass
            finally:
                root.close()
        sights, plans, gone = looked.sights, looked.plans, looked.gone
        more = sum(len(plan.new) for _, plan in plans) - len(gone)
        is_over = more > 0 and more + await means.db.read(lambda tx: count_readable(tx, known.id)) > settings.max_files
        is_bare = any(sight.is_empty and not sight.folder for sight in sights) and bool(gone)
        if not sights or len(gone) > MASS or is_bare or is_over:
            await means.db.jot(lambda tx: self.queue(tx, known.collection_id))
            return _to_seen_folders(sights)
        if plans:
            held = await self._store(known, plans)
            moves, held = match_moves(gone, held)
            await self._add(known, held)
            await means.db.note(lambda tx: self._take_away(tx, known, gone, moves))
            await self._notices.follow()
        return _to_seen_folders(sights)

    async def _look_twice(
        self, known: KnownCollection, root: SafeRoot, folders: Collection[str], known_folders: Collection[str]
    ) -> _Looked:
        """Return some folders and their changes; where a file is gone, those of a second look.

        It may be moving at present, or lie in a folder that is reported later: the second look is at all that changed.
        """
        looked = await self._look(known, root, folders, known_folders)
        new = [(sight.folder, seen) for sight, plan in looked.plans for seen in plan.new]
        if not list_missed(looked.gone, match_moves(looked.gone, new)[0], ()):
            return looked
        since_ns = time.time_ns() - LATELY_NS - self._means.settings().debounce_ms * 1_000_000
        changed = await anyio.to_thread.run_sync(lambda: list_changed_folders(root, known_folders, since_ns))
        again = {*folders, *changed, *(sight.folder for sight in looked.sights)}
        return await self._look(known, root, again, known_folders)

    async def _look(
        self, known: KnownCollection, root: SafeRoot, folders: Collection[str], known_folders: Collection[str]
    ) -> _Looked:
        """Return some folders, new ones below them, those that rows have there, and those where new files were."""
        means, limits = self._means, limits_of(self._means.settings())
        sights: dict[str, FolderSight] = {}
        plans: list[tuple[FolderSight, FolderPlan]] = []
        asked, waiting = set[str](), set(folders)
        while waiting:
            asked |= waiting
            look = partial(look_at_folders, root, known, limits, sorted(waiting), {*known_folders, *sights})
            found = [one for one in await anyio.to_thread.run_sync(look) if one.folder not in sights]
            sights |= {sight.folder: sight for sight in found}
            some = await means.db.read(partial(_compare_all, collection=known.id, sights=found))
            plans += some
            strange = [one.folder for one in found if one.is_missing or one.folder not in known_folders]
            new = {inode_of(seen.entry) for _, plan in some for seen in plan.new}
            if strange or new:
                waiting = await means.db.read(partial(_list_folders, collection=known.id, above=strange, new=new))
            waiting = waiting - asked - sights.keys()
        gone = [(sight.folder, row, reason) for sight, plan in plans for row, reason in plan.gone]
        return _Looked(list(sights.values()), plans, gone)

    def _take_away(self, tx: Tx, known: KnownCollection, gone: Sequence[Gone], moves: Moves) -> None:
        """Store gone files of some folders as moved or missing, and queue the reading of what waits."""
        fresh = find_collection(tx, known.collection_id)
        if fresh is None:
            return
        left = store_moves(self._means, fresh, gone, moves, tx)
        for _, row, reason in left:
            miss_file(tx, row.id, reason)
        release_files(tx, fresh.id, resting=False)
        self._means.jobs.enqueue(tx, "read", fresh.collection_id)

    async def _end(self, known: KnownCollection, walked: _Walked) -> None:
        """Store gone files as moved or missing, and the outcome of the scan; queue the reading of what waits."""
        means, left = self._means, list[Gone]()
        walk, gone, moves = walked.walk, walked.gone, walked.moves
        await self._add(known, walked.new)
        if moves and len(moves) * MERGED_FOR >= await means.db.read(lambda tx: count_readable(tx, known.id)):
            await means.db.note(merge_cards)
        for first in range(0, len(gone), FILES_AT_ONCE):
            some = gone[first : first + FILES_AT_ONCE]
            left += await means.db.note(partial(store_moves, means, known, some, moves))
            await means.db.calm()
        if not await means.db.note(lambda tx: self._close(tx, known, walk, left)):
            return
        component = f"knowledge:{known.collection_id}"
        if walk.is_over:
            means.degrade(component, "over_limit")
        else:
            for reason in ("over_limit", *LOST):
                means.recover(component, reason)
        await self._notices.follow()

    def _close(self, tx: Tx, known: KnownCollection, walk: Walk, gone: Sequence[Gone]) -> bool:
        """Store the outcome of a scan; return whether the collection still exists."""
        fresh, now = find_collection(tx, known.collection_id), self._means.clock.now()
        if fresh is None:
            return False
        left, is_first = keep_placed(tx, gone), known.scanned_at is None
        present = count_readable(tx, fresh.id) - len(left)
        for folder, row, reason in left:
            miss_file(tx, row.id, reason or ("ignored" if is_below(folder, walk.ignored) else None))
        withheld_at = _withheld_at(fresh, sum(reason is None for _, _, reason in left), present, now)
        if is_first:
            add_change(tx, fresh, FileChange("baseline", files=present), now)
        if fresh.state == "unavailable":
            hurry_waiting(tx, fresh.id)
            if self._vectors.are_made() and await_again(tx, fresh.id):
                self._vectors.queue(tx)
        if fresh.deep_wanted:
            renew_all(tx, fresh.id, now)
        state, reason = _state_after(fresh, is_over=walk.is_over)
        end_scan(
            tx,
            fresh.id,
            now,
            state=state,
            reason=reason,
            skipped=dict(+walk.skipped),
            bad=[msgspec.to_builtins(one) for one in list_bad_patterns(walk, self._means.scanner)],
            withheld_at=withheld_at,
            deep=bool(fresh.deep_wanted) or is_first,
        )
        release_files(tx, fresh.id, resting=True)
        if next_due(tx, fresh.id) is not None or (withheld_at is None and missing_files(tx, fresh.id, 1)):
            self._means.jobs.enqueue(tx, "read", fresh.collection_id)
        return True


def _state_after(known: KnownCollection, *, is_over: bool) -> tuple[str, str | None]:
    """Return state and reason of a collection after a scan; only its watcher makes it `live`."""
    if is_over:
        return "over_limit", "max_files"
    if known.state in {"live", "polling"}:
        return known.state, known.reason
    return "polling", "not_watched"


def _compare_all(tx: Tx, collection: int, sights: Sequence[FolderSight]) -> list[tuple[FolderSight, FolderPlan]]:
    plans = ((sight, compare(sight, files_of_folder(tx, collection, sight.folder))) for sight in sights)
    return [(sight, plan) for sight, plan in plans if plan]


def _list_folders(tx: Tx, collection: int, above: Sequence[str], new: Collection[Inode]) -> set[str]:
    """Return the folders that rows have at and below some folders, and in which some new files may have lain before."""
    return folders_below(tx, collection, above) | folders_of_inodes(tx, collection, new)


def _list_gone_files(tx: Tx, collection: int, walked: set[str], unreadable: Sequence[str]) -> list[Gone]:
    """Return the files of folders that the walk did not find."""
    return [
        (folder, row, None)
        for folder in find_gone(folders_of(tx, collection), walked, unreadable)
        for row in files_of_folder(tx, collection, folder).values()
        if row.state != "missing"
    ]


def _withheld_at(known: KnownCollection, gone: int, present: int, now: int) -> int | None:
    """Return the time since which gone files are withheld; None where none are, or not any more (`AGREED_MS`)."""
    if known.withheld_at is None:
        return now if is_mass(gone, present) else None
    return known.withheld_at if now - known.withheld_at < AGREED_MS else None


def _facts(seen: SeenFile, now: int) -> dict[str, SqlValue]:
    """Return the columns of a file's row that say how it is on the disk."""
    entry, kind = seen
    return {
        "device": entry.device,
        "inode": entry.inode,
        "size": entry.size,
        "mtime_ns": entry.mtime_ns,
        "kind": kind.kind,
        "language": kind.language,
        "now": now,
    }
