"""A home that processes may only read: by a mount of its own, or by its permissions where these stop the user of the
tests."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

MOUNT = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"'
WHY_NOT = "this user may write whatever the permissions say, and nobody may mount here"
NO_WRITING = 0o222


def _mounting(home: Path) -> list[str]:
    return ["unshare", "-rm", "sh", "-c", MOUNT, "sh", str(home)]


def _may_mount(home: Path) -> bool:
    if shutil.which("unshare") is None:
        return False
    command = [*_mounting(home), "sh", "-c", '! touch "$0/x"', str(home)]
    return subprocess.run(command, check=False, capture_output=True, timeout=240).returncode == 0


def _obeys_permissions() -> bool:
    return sys.platform != "win32" and os.geteuid() != 0


@contextmanager
def sealed(home: Path) -> Iterator[list[str]]:
    """Let processes that are started by the command that is given, with theirs behind it, read a home and not write it."""
    if _may_mount(home):
        yield _mounting(home)
        return
    if not _obeys_permissions():
        pytest.skip(WHY_NOT)
    places = [home, *home.rglob("*")]
    modes = {place: place.stat().st_mode for place in places}
    for place in reversed(places):
        place.chmod(modes[place] & ~NO_WRITING)
    try:
        yield []
    finally:
        for place, mode in modes.items():
            place.chmod(mode)
