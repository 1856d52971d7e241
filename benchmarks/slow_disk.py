"""`python -m benchmarks.slow_disk MILLISECONDS serve ...`: a gateway on a disk whose every sync takes so much longer.

Rule 1: nothing of the gateway is changed; SQLite's default file system is one that waits before it syncs.
"""

import sys
import time
from typing import Any

import apsw

from gateway.cli import main

SYSTEM = apsw.vfs_names()[0]  # the default, as long as we are not


class SlowFile(apsw.VFSFile):
    """An open file of a `SlowDisk`."""

    def __init__(self, name: Any, flags: Any, seconds: float) -> None:
        self._seconds = seconds
        super().__init__(SYSTEM, name, flags)

    def xSync(self, flags: int) -> None:  # noqa: N802
        """Sync, late."""
        time.sleep(self._seconds)
        super().xSync(flags)


class SlowDisk(apsw.VFS):
    """The system's own file system, slow to sync."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        super().__init__("slow-disk", SYSTEM, makedefault=True)

    def xOpen(self, name: Any, flags: Any) -> SlowFile:  # noqa: N802
        """Open a file."""
        return SlowFile(name, flags, self._seconds)


if __name__ == "__main__":
    disk = SlowDisk(float(sys.argv[1]) / 1000)
    sys.exit(main(sys.argv[2:]))
