"""Checks the paths under which a writer files records: relative, with `/`, one active record a path in a home.

Rule 1: pure. A path is a name; no file is opened by it.
"""

import unicodedata
from typing import Final

from protocol.errors import CallerError
from protocol.unicode_forms import normalize

_PROBLEM: Final = (
    "A path is relative and has names between `/`: no `.` or `..`, no backslash, no drive, no control character"
)


def require_path(path: str, at: str = "$.path") -> str:
    """Return the path as it is stored and shown: in NFC, since file systems spell `é` in two ways.

    Raises `CallerError` at the member `at` of the request where it is no such path.
    """
    names = path.split("/")
    is_drive = len(names[0]) > 1 and names[0][1] == ":"
    is_clean = "\\" not in path and not any(unicodedata.category(char) in {"Cc", "Cs"} for char in path)
    is_path = is_clean and not is_drive and all(name.strip() not in {"", ".", ".."} for name in names)
    if not is_path:
        raise CallerError.at(at, _PROBLEM)
    return normalize("NFC", path)


def fold_path(path: str) -> str:
    """Return the form in which equal paths are compared: without case, in NFC."""
    return normalize("NFC", normalize("NFC", path).casefold())
