"""The checkup of the files that are searched: roots, what waits, some files read again, and the counts of their index.

Rule 1: nothing is changed; a file is only opened by the one safe way, and nothing of it is shown.
"""

import hashlib
import os
from collections.abc import Iterator

from gateway.care.damage_checks import is_readable
from gateway.care.findings import Finding, Subject
from gateway.files.safe_open import SafeFolder
from gateway.store.copy import open_snapshot
from knowledge.rows.upkeep import (
    CollectionCounts,
    SampledFile,
    count_collections_by_state,
    count_index_gaps,
    sample_files,
)
from protocol.seams.safe_files import UnsafeFileError

SAMPLE = 100  # files that a checkup reads again
READ_AT_ONCE = 1024 * 1024
QUEUES = "--fix queues it again"


def find_file_problems(subject: Subject) -> Iterator[Finding]:
    """Yield findings about collections, their files, and the index of both."""
    if not is_readable(subject):
        return
    with open_snapshot(subject.database) as tx:
        collections = count_collections_by_state(tx)
        sampled = sample_files(tx, SAMPLE)
        gaps = count_index_gaps(tx)
    for one in collections:
        yield from _of_collection(one)
    changed = sum(_has_changed_unnoticed(file) for file in sampled)
    if changed:
        text = f"{changed} of {len(sampled)} files that were read again say something else than their index, unnoticed"
        yield Finding("files", "warning", text, "--fix has every file read again", "files")
    for name, count in gaps.items():
        if count:
            text = f"{count} {name.replace('_', ' ')} in the index of files"
            is_mended = "words" in name
            advice = (
                "--fix puts them right" if is_mended else "remove the collection and add it again: its folder stays"
            )
            yield Finding("files", "warning", text, advice, "files" if is_mended else None)


def _of_collection(one: CollectionCounts) -> Iterator[Finding]:
    if not os.path.isdir(one.path):  # noqa: PTH112  # a path as the user's system has it
        yield Finding(
            "files",
            "warning",
            f"{one.collection_id}: its folder is not there; nothing of it is found, nothing is deleted",
            "bring it back, or `pioneer knowledge update --path` to where it is",
        )
    elif not os.access(one.path, os.R_OK | os.X_OK):
        yield Finding(
            "files", "warning", f"{one.collection_id}: its folder cannot be read", "give the right to read it"
        )
    if one.state == "over_limit":
        yield Finding("files", "warning", f"{one.collection_id}: it has more files than gateway.knowledge.max_files")
    if one.failed:
        text = f"{one.collection_id}: {one.failed} files could not be read"
        yield Finding("files", "warning", text, f"`pioneer knowledge retry {one.collection_id}`; {QUEUES}", "files")
    if one.pending:
        text = f"{one.collection_id}: {one.pending} files wait to be read"
        yield Finding("files", "note", text, "a running gateway reads them; --fix queues them now", "files")


def _has_changed_unnoticed(file: SampledFile) -> bool:
    """Return whether a file has the size and time that are known, and other bytes: no scan would notice that."""
    digest = hashlib.sha256()
    try:
        with SafeFolder(file.root) as root, root.open_file(file.path) as opened:
            known = os.fstat(opened.fileno())
            if (known.st_size, known.st_mtime_ns) != (file.size, file.mtime_ns):
                return False
            while part := opened.read(READ_AT_ONCE):
                digest.update(part)
    except (UnsafeFileError, OSError):
        return False  # it is gone or closed: the next scan notices that
    return digest.digest() != file.sha256
