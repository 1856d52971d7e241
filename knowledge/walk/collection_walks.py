"""Walks through the folder of a collection, by what was chosen for it: all of it, some folders, one path."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import BinaryIO

import msgspec

from knowledge.rows.collections import KnownCollection
from knowledge.walk.patterns import LeftOut
from knowledge.walk.walking import FolderSight, Walk, WalkLimits, is_below, rules_of
from protocol.files.collections import PatternProblem
from protocol.seams.ports import SecretScanner
from protocol.seams.safe_files import SafeRoot, UnsafeFileError
from protocol.settings import KnowledgeSettings

MAX_BAD = 100
"""The most lines that are no patterns of which a collection tells."""


def limits_of(settings: KnowledgeSettings) -> WalkLimits:
    """Return the limits of a scan."""
    return WalkLimits(settings.max_file_bytes, settings.max_pdf_bytes, max_files=settings.max_files)


def walk_of(root: SafeRoot, known: KnownCollection, limits: WalkLimits) -> Walk:
    """Return a walk through a collection's folder."""
    rules = rules_of(root, known.choices(), follows_git=bool(known.follow_gitignore))
    return Walk(root, rules, limits)


def list_bad_patterns(walk: Walk, scanner: SecretScanner) -> list[PatternProblem]:
    """Return the lines that are no patterns and have no effect, at most `MAX_BAD`, without credentials."""
    return [msgspec.structs.replace(one, pattern=scanner.mask(one.pattern)) for one in walk.bad[:MAX_BAD]]


def list_folders(root: SafeRoot, known: KnownCollection) -> list[str]:
    """Return the folders of a collection that are not left out. Raises `UnsafeFileError` for an unreadable root."""
    return [
        sight.folder
        for sight in walk_of(root, known, WalkLimits(0, 0, counts_below=False))
        if not (sight.is_missing or sight.is_unreadable)
    ]


def judge_path(root: SafeRoot, known: KnownCollection, settings: KnowledgeSettings, path: str) -> LeftOut | None:
    """Return the reason for which a scan would leave a path out at present; None for a file that it would read."""
    return walk_of(root, known, limits_of(settings)).judge_path(path)


def open_indexed(root: SafeRoot, known: KnownCollection, settings: KnowledgeSettings, path: str) -> BinaryIO:
    """Return a file of a collection, opened; of a link its target, if a scan would read that at present.

    Raises `UnsafeFileError`.
    """
    try:
        return root.open_file(path)
    except UnsafeFileError as error:
        target = root.target_of(path) if error.reason == "link" else None
        if target is None or judge_path(root, known, settings, target) is not None:
            raise
        return root.open_file(target)


def list_changed_folders(root: SafeRoot, folders: Collection[str], since_ns: int) -> list[str]:
    """Return those of some folders of a collection in which a name came or went since a time; always with its root."""
    changed = [""]
    for folder in folders:
        with suppress(UnsafeFileError):
            if folder and root.find(folder).mtime_ns >= since_ns:
                changed.append(folder)
    return changed


def look_at_folders(
    root: SafeRoot, known: KnownCollection, limits: WalkLimits, folders: Sequence[str], known_folders: Collection[str]
) -> list[FolderSight]:
    """Return some folders as they are at present, with new ones below them, and known ones below a gone one."""
    walk = walk_of(root, known, limits._replace(counts_below=False, max_files=None))
    seen: dict[str, FolderSight] = {}
    waiting = list(folders)
    while waiting:
        folder = waiting.pop()
        if folder in seen:
            continue
        found = {sight.folder: sight for sight in walk.look_at(folder, {*known_folders, *seen})}
        seen |= found
        if folder in found and found[folder].is_missing:
            waiting += [one for one in known_folders if is_below(one, [folder])]
    return list(seen.values())
