"""The answer of `pioneer knowledge add`: a preview, which makes no home, or how far the new index is."""

import argparse
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from gateway.doors.commands.door import config_of, has_home, home_of
from gateway.doors.terminal.screen import plain, say
from protocol.files.collections import CollectionAddResult, Preview


@contextmanager
def previewing_home(given: argparse.Namespace) -> Generator[None]:
    """Let a preview have a home of its own for its time where there is none: it makes no other."""
    if not given.dry_run or has_home(given):
        yield
        return
    home = home_of(given).absolute()
    above = next(folder for folder in home.parents if folder.is_dir())  # where the same folders are refused
    config = config_of(given)
    with TemporaryDirectory(prefix=".pioneer-preview-", dir=above) as folder:
        given.home, given.config = Path(folder), config if config.exists() else None
        yield


def show_added(result: CollectionAddResult) -> None:
    """Write what would be indexed, or how far the index of a new collection is."""
    if result.preview is not None:
        _show_preview(result.preview)
        return
    files = result.collection.files
    told = f"{_count(files.indexed + files.partial)} files indexed"
    if files.pending or result.collection.scanned_at is None:
        told = (
            f"indexing {_count(files.pending)} files in the background; `pioneer knowledge status` tells how far it is"
        )
    say(f"{result.collection.collection_id}\t{told}", "green")


def _count(number: int) -> str:
    return f"{number:,}"


def _size(size: int) -> str:
    """Return a number of bytes for a person."""
    units = (("MB", 1_000_000), ("kB", 1000))
    return next((f"{size / one:.1f} {unit}" for unit, one in units if size >= one), f"{size} bytes")


def _counts(counted: Mapping[str, int]) -> str:
    """Return counts by their names, the largest first."""
    ordered = sorted(counted.items(), key=lambda one: (-one[1], one[0]))
    return ", ".join(f"{name} {_count(count)}" for name, count in ordered) or "none"


def _show_preview(preview: Preview) -> None:
    least = "at least " if preview.partial else ""
    size = f"{least}{_count(preview.files)} files, {_size(preview.bytes)} would be indexed"
    say(f"{size}: {_counts(preview.by_kind)}. Skipped: {_counts(preview.skipped)}.")
    for bad in preview.bad_patterns:
        say(f"no pattern: {plain(bad.file)} line {bad.line}, {plain(bad.pattern)}")
