"""The watching of collections: folders of changed paths are compared with their rows after a debounce.

Rule 1: the process that holds a collection's lock watches it; when it ends, another one's next `Watchers.look` takes
over.
Rule 2: a path is looked at when it was quiet for the debounce time, at the latest after `LATEST_SECONDS`.
Rule 3: where the system cannot report changes the collection is `polling`, with the reason, and scanned every minute.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Final

import anyio
import anyio.to_thread

from knowledge.ports import KnowledgeMeans
from knowledge.rows.collections import KnownCollection, change_state, find_collection, list_collections
from knowledge.scan.scanning import Scanner
from knowledge.walk.collection_walks import list_folders
from knowledge.walk.patterns import GITIGNORE, PIONEERIGNORE
from knowledge.walk.walking import AGENT_FILES
from protocol.files.knowledge import WatchState
from protocol.seams.ports import Tx
from protocol.seams.safe_files import FolderWatcher, UnsafeFileError, WatchRefusedError

LATEST_SECONDS = 10.0
"""The time after which a path is looked at though it still changes."""
DECIDING: Final = frozenset({GITIGNORE, PIONEERIGNORE, *AGENT_FILES})
"""Files that decide whether others are read: after a change of one a whole scan is queued."""
REFUSED_AGAIN_SECONDS = 60.0
"""The time until a watch that was refused is tried again."""
POLLED: Final = frozenset({"watch_limit", "network_file_system", "watch_failed"})
"""Reasons for which a collection is scanned every minute."""


class QuietPaths:
    """Changed paths, each until it was quiet for long enough; times are seconds of any one clock."""

    def __init__(self, latest: float = LATEST_SECONDS) -> None:
        self._latest = latest
        self._times: dict[str, tuple[float, float]] = {}

    def note(self, paths: Iterable[str], now: float) -> None:
        """Note that paths changed."""
        for path in paths:
            first, _ = self._times.get(path, (now, now))
            self._times[path] = (first, now)

    def __bool__(self) -> bool:
        """Return whether any path waits."""
        return bool(self._times)

    def take(self, now: float, quiet: float) -> set[str]:
        """Return and drop the paths that are due."""
        due = {path for path, times in self._times.items() if now >= self._due(times, quiet)}
        for path in due:
            del self._times[path]
        return due

    def wait(self, now: float, quiet: float) -> float | None:
        """Return the seconds until the next path is due; None without changed paths."""
        return min((max(0.0, self._due(times, quiet) - now) for times in self._times.values()), default=None)

    def _due(self, times: tuple[float, float], quiet: float) -> float:
        return min(times[1] + quiet, times[0] + self._latest)


class CollectionWatch:
    """The watch of one collection in this process."""

    def __init__(self, means: KnowledgeMeans, scanner: Scanner, known: KnownCollection) -> None:
        self._means = means
        self._scanner = scanner
        self._id = known.collection_id
        self.row = known.id
        self.path = known.path
        self.folders: frozenset[str] = frozenset()
        self.refused: str | None = None
        self.is_live = False
        self._quiet = QuietPaths()
        self._changed = anyio.Event()
        self._scope = anyio.CancelScope()
        self._watcher: FolderWatcher | None = None
        self._is_looking = True  # until it has queued its first scan
        self._hurried: list[anyio.Event] = []

    def stop(self) -> None:
        """End the watch."""
        self._scope.cancel()

    @property
    def has_unseen(self) -> bool:
        """Return whether a reported change has led to no job yet."""
        return self._is_looking or (self.is_live and bool(self._quiet))

    async def settle(self) -> None:
        """Look at reported changes without the debounce; return when their jobs are queued."""
        if self.has_unseen:
            seen = anyio.Event()
            self._hurried.append(seen)
            self._changed.set()
            await seen.wait()

    def _end_look(self, hurried: Sequence[anyio.Event]) -> None:
        self._is_looking = False
        for seen in hurried:
            seen.set()

    async def run(self) -> None:
        """Watch until stopped; after a refusal that `POLLED` names, return when it may be tried again."""
        try:
            with self._scope:
                await self._watch_all()
                await self._means.db.jot(self._store_begun)
                self.is_live, self._is_looking = True, False
                while True:
                    await self._follow()
        except WatchRefusedError as error:
            self.refused = error.reason
        except UnsafeFileError:
            self.refused = "missing"  # the scan that is queued below stores it
        finally:
            self.is_live = False
            self._end_look(self._hurried)
            if self._watcher is not None:
                self._watcher.close()
        if self.refused in POLLED:
            with self._scope:
                await anyio.sleep(REFUSED_AGAIN_SECONDS)
        elif self.refused is not None:
            await self._means.db.jot(lambda tx: self._scanner.queue(tx, self._id))

    def _store_begun(self, tx: Tx) -> None:
        """Store that the collection is watched, and queue a scan for what changed until now."""
        known = find_collection(tx, self._id)
        if known is not None and known.id == self.row and known.state == "polling":
            change_state(tx, known, "live", None)
        self._scanner.queue(tx, self._id)

    async def _watch_all(self) -> None:
        """Watch every folder that is not left out."""
        known = await self._means.db.read(lambda tx: find_collection(tx, self._id))
        if known is None:
            raise WatchRefusedError("missing")

        def folders() -> list[str]:
            with self._means.open_root(known.path) as root:
                return list_folders(root, known)

        for is_last in (False, False, True):
            try:
                self._watch(await anyio.to_thread.run_sync(folders))
            except WatchRefusedError as error:
                if is_last or error.reason != "missing":  # a folder may go between the two steps
                    raise
            else:
                return

    def _watch(self, folders: Sequence[str]) -> None:
        """Watch these folders in place of those before; the new watch begins before the old one ends."""
        before = self._watcher
        self._watcher = self._means.watch_folders(self.path, folders, self._note)
        self.folders = frozenset(folders)
        if before is not None:
            before.close()

    def _note(self, paths: set[str]) -> None:
        self._quiet.note(paths, time.monotonic())
        self._changed.set()

    async def _follow(self) -> None:
        """Wait until paths are due, and look at them."""
        quiet = self._means.settings().debounce_ms / 1000
        with anyio.move_on_after(self._quiet.wait(time.monotonic(), quiet)):
            await self._changed.wait()
        self._changed = anyio.Event()
        hurried, self._hurried = self._hurried, []
        paths = self._quiet.take(time.monotonic(), 0.0 if hurried else quiet)
        self._is_looking = bool(paths)
        try:
            await self._look_at(paths)
        finally:
            self._end_look(hurried)

    async def _look_at(self, paths: set[str]) -> None:
        if not paths:
            return
        if any(path.rpartition("/")[2] in DECIDING for path in paths):
            await self._watch_all()
            await self._means.db.jot(lambda tx: self._scanner.queue(tx, self._id))
            return
        asked = {path.rpartition("/")[0] for path in paths} | (paths & self.folders)
        while asked:
            present, gone = await self._scanner.look_at(self._id, asked, self.folders, paths)
            folders = (self.folders | present) - gone
            if folders == self.folders:
                return
            asked, paths = folders - self.folders, set[str]()  # once more, for what came before they were watched
            try:
                self._watch(sorted(folders))
            except WatchRefusedError:
                await self._watch_all()


class Watchers:
    """The watches of this process."""

    def __init__(self, means: KnowledgeMeans, scanner: Scanner) -> None:
        self._means = means
        self._scanner = scanner
        self._watches: dict[str, CollectionWatch] = {}
        self._seen: Mapping[str, tuple[bool, str | None]] | None = None
        """The states of the watches at the last look; None where a collection found no watch at all."""

    async def look(self) -> None:
        """Begin and end watches by the settings, the collections, and the locks of other processes."""
        known = await self._means.db.read(lambda tx: {one.collection_id: one for one in list_collections(tx)})
        self._seen = self._states()
        for collection_id, watch in list(self._watches.items()):
            one = known.get(collection_id)
            if one is None or not self._wants(one) or (one.id, one.path) != (watch.row, watch.path):
                watch.stop()
        for collection_id, one in known.items():
            if self._wants(one) and collection_id not in self._watches:
                self._begin(one)
            await self._store_state(one)

    def _begin(self, known: KnownCollection) -> None:
        """Begin a watch, unless another process has the collection's lock."""
        if not self._means.locks.take(_lock_of(known)):
            self._seen = None
            return
        watch = CollectionWatch(self._means, self._scanner, known)
        self._watches[known.collection_id] = watch
        self._means.spawn(partial(self._keep, known, watch), "watch")

    def _states(self) -> Mapping[str, tuple[bool, str | None]]:
        return {collection_id: (watch.is_live, watch.refused) for collection_id, watch in self._watches.items()}

    @property
    def needs_look(self) -> bool:
        """Return whether a watch began, was refused or ended since the last look, or waits for another process."""
        return self._seen != self._states()

    @property
    def has_unseen(self) -> bool:
        """Return whether a change reported to this process has led to no job yet."""
        return any(watch.has_unseen for watch in self._watches.values())

    async def settle(self) -> None:
        """Return when the jobs for every change reported until now are queued."""
        for watch in list(self._watches.values()):
            await watch.settle()

    def _wants(self, known: KnownCollection) -> bool:
        settings = self._means.settings()
        is_on = settings.enabled and settings.indexing_enabled and settings.watch_enabled
        return is_on and bool(known.watch) and known.scanned_at is not None and known.state in {"live", "polling"}

    async def _keep(self, known: KnownCollection, watch: CollectionWatch) -> None:
        try:
            await watch.run()
        finally:
            del self._watches[known.collection_id]
            self._means.locks.release(_lock_of(known))

    async def _store_state(self, known: KnownCollection) -> None:
        """Store the state of a collection's watch, and report a refusal; a watch of another process is left alone."""
        watch = self._watches.get(known.collection_id)
        component = f"knowledge:{known.collection_id}"
        state, reason = known.state, known.reason
        if watch is not None and watch.is_live:
            state, reason = "live", None
        elif watch is not None and watch.refused in POLLED:
            state, reason = "polling", watch.refused
            self._means.degrade(component, watch.refused)
        elif watch is None and known.state == "live" and not self._is_elsewhere(known):
            state, reason = "polling", "not_watched"
        if state == "live":
            for one in POLLED:
                self._means.recover(component, one)
        if known.state in {"live", "polling"} and (state, reason) != (known.state, known.reason):
            await self._means.db.note(lambda tx: change_state(tx, known, state, reason))

    def _is_elsewhere(self, known: KnownCollection) -> bool:
        """Return whether another process watches a collection."""
        if not self._means.locks.take(_lock_of(known)):
            return True
        self._means.locks.release(_lock_of(known))
        return False

    def state_of(self, known: KnownCollection) -> WatchState:
        """Return the process that watches a collection, and the number of folders where it is this one.

        To be called in the event loop, as it may take a lock for a moment.
        """
        watch = self._watches.get(known.collection_id)
        if watch is not None and watch.is_live:
            return WatchState(process="this", folders=len(watch.folders))
        is_other = known.state == "live" and watch is None and self._is_elsewhere(known)
        return WatchState(process="other" if is_other else "none", folders=0)


def _lock_of(known: KnownCollection) -> str:
    """Return the name of a collection's lock: its row, as the file stays when the collection is removed."""
    return str(known.id)
