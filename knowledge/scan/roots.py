"""The check of a folder that is to be a collection; pure."""

import sys
from pathlib import PurePath

FORBIDDEN = ("/etc", "/proc", "/sys", "/dev", "/boot") if sys.platform != "win32" else ("C:\\Windows",)
"""Folders of the system, which hold no documents."""
ORDINARY = ("/dev/shm",)  # noqa: S108
"""Folders within a forbidden one that hold ordinary files: Linux has its file system in memory there."""


def is_within(path: str, folder: str) -> bool:
    """Return whether a path is a folder or lies in it."""
    return PurePath(path).is_relative_to(PurePath(folder))


def problem_of_root(path: str, home: str, user_folder: str) -> str | None:
    """Return the sentence that says why a path may not be a collection; None where it may. All paths are real ones."""
    if path != path.encode(errors="replace").decode():
        return "The folder's name is not UTF-8"
    if PurePath(path).parent == PurePath(path):
        return "That is the root of a file system"
    if is_within(user_folder, path):
        return "That is the user's own folder, or one above it"
    if is_within(home, path) or is_within(path, home):
        return "That is the gateway's home, or a folder above or in it"
    is_ordinary = any(is_within(path, one) and path != one for one in ORDINARY)
    if not is_ordinary and any(is_within(path, one) for one in FORBIDDEN):
        return "That is a folder of the system"
    return None


def is_overlapping(path: str, other: str) -> bool:
    """Return whether a folder is another one, or lies inside or above it."""
    return is_within(path, other) or is_within(other, path)
