"""Changes in folders of the user, as the system reports them. The one home of watchfiles.

Rule 1: on Linux each folder that is not left out is watched by itself; elsewhere the root is watched as a whole.
Rule 2: where changes cannot be reported (no room for watches, a file system of another machine) an error says why.
"""

import asyncio
import errno
import os
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from gateway.home.folder import NETWORK_FILE_SYSTEMS
from protocol.seams.safe_files import WatchRefusedError

STEP_MS = 250
"""The interval at which a waiting thread looks whether it is to end."""
GATHERED_MS = 500
"""The longest time for which changes are gathered before they are handed on."""
UNREPORTED = NETWORK_FILE_SYSTEMS | {
    "davfs",
    "drvfs",
    "fuse.davfs2",
    "fuse.rclone",
    "fuse.s3fs",
    "glusterfs",
    "lustre",
    "vboxsf",
    "virtiofs",
}
"""File systems of other machines, and of a virtual one's host: changes that these make are not reported."""

_NO_ROOM = frozenset({errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.ENOMEM})


class FolderWatch:
    """Reports the paths that changed, on the loop that made it, until closed. Satisfies `FolderWatcher`."""

    def __init__(self, root: str, folders: Sequence[str], report: Callable[[set[str]], None]) -> None:
        self._root = root
        self._report = report
        self._loop = asyncio.get_running_loop()
        self._stop = threading.Event()
        self.folders = len(folders)
        is_each = sys.platform == "linux"
        paths = [os.path.join(root, folder) if folder else root for folder in folders] if is_each else [root]  # noqa: PTH118
        try:
            from watchfiles._rust_notify import RustNotify  # noqa: PLC0415  # 70 ms that only a watch needs

            self._notify = RustNotify(paths, False, False, 0, not is_each, True)
        except FileNotFoundError:
            raise WatchRefusedError("missing") from None
        except (OSError, RuntimeError, ImportError) as error:
            is_full = getattr(error, "errno", None) in _NO_ROOM or "limit" in str(error)
            raise WatchRefusedError("watch_limit" if is_full else "watch_failed") from None
        self._thread = threading.Thread(target=self._wait, name="folder_watch", daemon=True)
        self._thread.start()

    def _wait(self) -> None:
        while not self._stop.is_set():
            found = self._notify.watch(GATHERED_MS, STEP_MS, 0, self._stop)
            if isinstance(found, set):
                self._hand_on({path for _, path in found})
            elif found == "signal":
                return

    def _hand_on(self, paths: set[str]) -> None:
        below = {below for path in paths if (below := self._below(path)) is not None}
        try:
            self._loop.call_soon_threadsafe(self._report, below)
        except RuntimeError:  # the loop is closed: nothing waits for it any more
            self._stop.set()

    def _below(self, path: str) -> str | None:
        """Return a path below the root, with `/` between its names; None for one that is not below it."""
        if path == self._root:
            return ""
        prefix = self._root.rstrip(os.sep) + os.sep
        return path[len(prefix) :].replace(os.sep, "/") if path.startswith(prefix) else None

    def close(self) -> None:
        """Report nothing from now on."""
        self._stop.set()
        self._notify.close()


def watch_folders(root: str, folders: Sequence[str], report: Callable[[set[str]], None]) -> FolderWatch:
    """Watch folders below a root ("" is the root) and return the watch. Raises `WatchRefusedError`."""
    if is_on_network(root):
        raise WatchRefusedError("network_file_system")
    return FolderWatch(root, folders, report)


def is_on_network(path: str, mounts: Path = Path("/proc/self/mountinfo")) -> bool:
    """Return whether a folder lies on a file system of another machine; False where the system does not say."""
    if sys.platform == "win32":
        return False
    try:
        device = os.stat(path).st_dev  # noqa: PTH116
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    number = f"{os.major(device)}:{os.minor(device)}"
    return any(line.split()[2] == number and line.partition(" - ")[2].split(" ")[0] in UNREPORTED for line in lines)
