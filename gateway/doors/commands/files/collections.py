"""The verbs of `pioneer knowledge` that change collections: add, scan, retry, update, remove.

Rule 1: a verb that changes a collection compares its folder before it answers, for at most `COMPARE_SECONDS`; `scan`
goes on until every file is read.
Rule 2: what waits when a verb ends is said, and who reads it: nobody does where no other process lives in the home.
"""

import argparse
import sys
from typing import Any

from gateway.base.exit_codes import NEGATIVE, OK
from gateway.doors.commands.door import HomeMethods, through_door, trying_home
from gateway.doors.commands.files.states import format_counts, format_files, show, show_collections
from gateway.doors.commands.options import present
from gateway.doors.terminal.exits import check_folder
from gateway.doors.terminal.screen import hint, plain, progress, say
from protocol import methods as m
from protocol.files.collections import Collection, CollectionAddResult, CollectionResult, Preview
from protocol.files.knowledge import KnowledgeRetryResult

PATTERN_LISTS = ("include", "exclude")
SWITCHES = ("follow_gitignore", "watch", "recall", "enrich")


def to_option_name(name: str) -> str:
    """Return the option for a member of parameters."""
    return f"--{name.replace('_', '-')}"


def add_choices(to: argparse.ArgumentParser) -> None:
    """Add the options that `add` and `update` share."""
    to.add_argument("--name", metavar="NAME", help="what it is called")
    for name in PATTERN_LISTS:
        to.add_argument(f"--{name}", action="append", metavar="PATTERN", help="as in a .gitignore; repeatable")
    for name in SWITCHES:
        to.add_argument(to_option_name(name), action=argparse.BooleanOptionalAction, default=None)
    to.add_argument("--meaning", choices=("documents", "all", "off"), help="kept for search by meaning")


def add_emptying(to: argparse.ArgumentParser) -> None:
    """Add the options of `update` that take all patterns away."""
    for name in PATTERN_LISTS:
        to.add_argument(
            f"--no-{name}", dest=name, action="store_const", const=[], help=f"without the --{name} patterns it has"
        )


def _choices_of(given: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters for the options of `add_choices` that are given."""
    names = ("name", *PATTERN_LISTS, *SWITCHES, "meaning")
    return present(**{name: getattr(given, name) for name in names})


def add_collection(given: argparse.Namespace) -> int:
    """Have a folder indexed, or with `--dry-run` show its preview."""
    params = {
        "path": check_folder(given.path),
        "dry_run": given.dry_run,
        "scope": given.scope,
        "workspace_id": given.workspace,
        **present(collection_id=given.id),
        **_choices_of(given),
    }

    async def work(door: HomeMethods) -> tuple[CollectionAddResult, str | None]:
        if given.scope == "workspace":
            await door.ensure_workspace(given.workspace)
        result = await door.call(m.COLLECTIONS_ADD, params)
        if given.dry_run:
            return result, None
        fresh, waiting = await _compare(door, result.collection.collection_id)
        return CollectionAddResult(collection=fresh.collection), waiting

    with trying_home(given):
        result, waiting = through_door(given, work, makes_home=True)
        show(given, result, lambda _: _show_added(result, waiting))
    return OK


async def compare_all(door: HomeMethods) -> None:
    """Compare folders for a while, and write on stderr where that leaves something."""
    if await door.compare_files():
        later = "`pioneer knowledge scan COLLECTION` goes on with it" if door.is_alone else "the rest is found later"
        sys.stderr.write(f"pioneer: not every file could be compared in time; {later}\n")


async def _compare(door: HomeMethods, collection_id: str) -> tuple[CollectionResult, str | None]:
    """Compare folders for a while; return the collection as it is then, and what of it waits."""
    is_left = await door.compare_files()
    fresh = await door.call(m.COLLECTIONS_GET, {"collection_id": collection_id})
    return fresh, _describe_waiting(door, fresh.collection, is_left=is_left)


def _describe_waiting(door: HomeMethods, one: Collection, *, is_left: bool) -> str | None:
    """Return what of a collection waits and who reads it, or None; `is_left` says that some of it is due now."""
    count, named = one.files.pending, plain(one.collection_id)
    if one.scanned_at is not None and not count:
        return None
    least = "at least " if one.scanned_at is None else ""
    files, waits, they_are = f"{least}{format_files(count)}", "wait", "they are"
    if count == 1:
        waits, they_are = "waits", "it is"
    if not door.knowledge_settings.indexing_enabled:
        return f"{files} {waits}: indexing is switched off (gateway.knowledge.indexing_enabled)"
    if not is_left:
        return f"{files} {waits} to be tried again later: `pioneer knowledge files {named} --state pending`"
    if door.is_alone:
        return f"{files} {waits}: {they_are} read while a gateway runs, or now with `pioneer knowledge scan {named}`"
    return f"indexing {files} in the background; `pioneer knowledge status` tells how far it is"


def _show_added(result: CollectionAddResult, waiting: str | None) -> None:
    if result.preview is not None:
        _show_preview(result.preview)
        return
    files = result.collection.files
    named = result.collection.collection_id
    say(f"{named}\t{waiting or f'{format_files(files.indexed + files.partial)} indexed'}", "green")
    if files.skipped:
        hint(f"skipped: {format_counts(files.skipped)}; `pioneer knowledge why {named}:PATH` tells of one why")
    if named != result.collection.name:
        hint(f"addresses begin with its id, {named}; --id chooses another")


def _format_size(size: int) -> str:
    """Return a number of bytes with a decimal unit, as file managers show it."""
    units = (("MB", 1_000_000), ("kB", 1000))
    return next((f"{size / one:.1f} {unit}" for unit, one in units if size >= one), f"{size} bytes")


def _show_preview(preview: Preview) -> None:
    least = "at least " if preview.partial else ""
    found = f"{least}{format_files(preview.files)}, {_format_size(preview.bytes)} would be indexed"
    say(f"{found}: {format_counts(preview.by_kind)}. Skipped: {format_counts(preview.skipped)}.")
    for bad in preview.bad_patterns:
        say(f"no pattern: {plain(bad.file)} line {bad.line}, {plain(bad.pattern)}")


def scan_collection(given: argparse.Namespace) -> int:
    """Compare a folder now, and read its files until none waits."""
    named = {"collection_id": given.collection}

    async def work(door: HomeMethods) -> tuple[CollectionResult, str | None]:
        await door.call(m.COLLECTIONS_SCAN, {**named, "deep": given.deep})

        async def report() -> None:
            files = (await door.call(m.COLLECTIONS_GET, named)).collection.files
            done = files.indexed + files.partial + files.failed
            report_done(done, done + files.pending)

        await door.read_files(report)
        fresh = await door.call(m.COLLECTIONS_GET, named)
        return fresh, _describe_waiting(door, fresh.collection, is_left=False)

    with progress(f"reading {plain(given.collection)}") as report_done:
        result, waiting = through_door(given, work)
    return _show_compared(given, result, waiting)


def retry_files(given: argparse.Namespace) -> int:
    """Have failed files read again; the exit code is `NEGATIVE` where there are none."""
    params = present(file_id=given.file_id, collection_id=given.collection)

    async def work(door: HomeMethods) -> KnowledgeRetryResult:
        result = await door.call(m.KNOWLEDGE_RETRY, params)
        if result.requeued:
            await compare_all(door)
        return result

    result = through_door(given, work)
    show(given, result, lambda _: say(f"{format_files(result.requeued)} will be read again"))
    return OK if result.requeued else NEGATIVE


def update_collection(given: argparse.Namespace) -> int:
    """Change a collection, and compare its folder."""
    path = check_folder(given.path) if given.path is not None else None
    params = {"collection_id": given.collection, **present(path=path), **_choices_of(given)}

    async def work(door: HomeMethods) -> tuple[CollectionResult, str | None]:
        await door.call(m.COLLECTIONS_UPDATE, params)
        return await _compare(door, given.collection)

    return _show_compared(given, *through_door(given, work))


def _show_compared(given: argparse.Namespace, result: CollectionResult, waiting: str | None) -> int:
    """Show a collection that was compared with its folder, and what of it waits."""
    show(given, result, lambda _: show_collections([result.collection]))
    if waiting is not None:
        hint(waiting)
    return OK


def remove_collection(given: argparse.Namespace) -> int:
    """Remove a collection from the index; its folder stays."""
    params = {"collection_id": given.collection}
    receipt = through_door(given, lambda door: door.call(m.COLLECTIONS_REMOVE, params)).receipt
    line = f"removed {receipt.files} files and {receipt.chunks} pieces of the index; the folder is as it was"
    show(given, {"receipt": receipt}, lambda _: say(line if receipt.complete else f"{line}; its log is not empty yet"))
    return OK
