"""The tokens of the doors that listen on a port: files below `HOME/http`, readable by the user alone.

Rule 1: a token is made at first need; processes that need it together agree on one.
Rule 2: a running process takes a changed file over with its next request.
"""

import errno
import os
import re
import secrets
import sys
from pathlib import Path

from gateway.base.durable_file import publish, publish_once

FOLDER = "http"
FILES = {"http": "token", "proxy": "proxy_token"}
"""The file of each door's token."""
INTERNAL = "internal"
"""The file of the token by which the gateway's own requests to models are known."""
TOKEN_BYTES = 32
_TOKEN = re.compile(rb"[A-Za-z0-9_-]{43}\s*")
OPEN_TO_OTHERS = 0o077


def token_path(root: Path, door: str) -> Path:
    """Return the path of a door's token in a home."""
    return root / FOLDER / FILES[door]


def _new() -> bytes:
    return secrets.token_urlsafe(TOKEN_BYTES).encode()


def rotate(path: Path) -> None:
    """Replace a token: the old one is refused from now on. Raises `OSError`."""
    publish(path, _new())


def read_token(path: Path) -> str:
    """Return a token; one that is absent or damaged is made anew.

    Raises `OSError`, also for what is no regular file: reading a pipe would wait for its writer.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is no regular file")
    found = publish_once(path, _new())
    if not _TOKEN.fullmatch(found):
        rotate(path)
        found = path.read_bytes()
    return found.decode().strip()


def is_open_to_others(path: Path) -> bool:
    """Return whether other users may read a file, or list its folder; never on Windows, where its folder decides."""
    places = (path, path.parent)
    return sys.platform != "win32" and any(place.exists() and place.stat().st_mode & OPEN_TO_OTHERS for place in places)


def close_to_others(path: Path) -> bool:
    """Take the rights of other users away; return whether they had any. Raises `OSError`."""
    if not is_open_to_others(path):
        return False
    path.parent.chmod(0o700)
    path.chmod(0o600)
    return True


class Token:
    """A door's token as its file has it now."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: tuple[int, ...] | None = None
        self._value = ""
        self.was_open = False
        """Other users could read the file; it is closed to them."""

    def current(self) -> str:
        """Return the token; the file is read again where it changed. Raises `OSError`."""
        stamp = self._look()
        if stamp is None or stamp != self._stamp:
            self._value = read_token(self._path)
            self.was_open = close_to_others(self._path) or self.was_open
            self._stamp = self._look()
        return self._value

    def _look(self) -> tuple[int, ...] | None:
        try:
            found = os.stat(self._path)  # noqa: PTH116  # at every request; a Path costs as much again
        except FileNotFoundError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino, found.st_mode
