"""The verbs of `pioneer knowledge` that change collections: add, scan, retry, update, remove.

Rule 1: a verb that changes a collection reads its folder before it answers, and shows how far it is: where no gateway
runs, nobody else would.
"""

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from gateway.base.exit_codes import NEGATIVE, OK
from gateway.doors.commands.door import HomeMethods, through_door, trying_home
from gateway.doors.commands.files.states import (
    describe_bad_pattern,
    format_counts,
    format_files,
    hint_if_off,
    show,
    show_collections,
)
from gateway.doors.commands.options import present
from gateway.doors.terminal.exits import check_folder
from gateway.doors.terminal.screen import hint, is_rich, progress, say
from protocol import methods as m
from protocol.files.collections import Collection, CollectionAddResult, CollectionResult, Preview
from protocol.files.knowledge import KnowledgeRetryResult

COMPARE_SECONDS = 5.0
"""The longest time for which a command compares folders with the index before it answers."""
PATTERN_LISTS = ("include", "exclude")
READ_SECONDS = 3600.0
"""The longest time for which a command reads files; 100,000 take some minutes."""
SWITCHES = ("follow_gitignore", "watch", "recall", "enrich")


def to_option_name(name: str) -> str:
    """Return the option for a member of parameters."""
    return f"--{name.replace('_', '-')}"


def add_choices(to: argparse.ArgumentParser) -> None:
    """Add the options that `add` and `update` share."""
    to.add_argument("--name", metavar="NAME", help="what it is called")
    for name in PATTERN_LISTS:
        to.add_argument(f"--{name}", action="append", metavar="PATTERN", help="as in a .gitignore; repeatable")
        to.add_argument(f"--no-{name}", dest=name, action="store_const", const=[], help=f"no --{name} from now on")
    for name in SWITCHES:
        to.add_argument(to_option_name(name), action=argparse.BooleanOptionalAction, default=None)
    to.add_argument("--meaning", choices=("documents", "all", "off"), help="kept for search by meaning")


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

    async def work(door: HomeMethods) -> CollectionAddResult:
        if given.scope == "workspace":
            await door.ensure_workspace(given.workspace)
        result = await door.call(m.COLLECTIONS_ADD, params)
        if not given.dry_run:
            return CollectionAddResult(collection=await _read_files(door, result.collection.collection_id))
        return result

    with trying_home(given):
        show(given, through_door(given, work, makes_home=True), _show_added)
    return OK


def _show_added(result: CollectionAddResult) -> None:
    if result.preview is not None:
        _show_preview(result.preview)
        return
    files = result.collection.files
    state = f"{format_files(files.indexed + files.partial)} indexed"
    named = result.collection.collection_id
    if files.pending or result.collection.scanned_at is None:
        state = f"{state}, {files.pending:,} wait: a gateway that runs reads them, or `pioneer knowledge scan {named}`"
    say(f"{named}\t{state}", "green")
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
        say(f"patterns: {describe_bad_pattern(bad)}")


def scan_collection(given: argparse.Namespace) -> int:
    """Compare a folder now."""
    return _compare(given, m.COLLECTIONS_SCAN, {"deep": given.deep})


def retry_files(given: argparse.Namespace) -> int:
    """Read files again that failed; the exit code is `NEGATIVE` where there are none."""
    params = present(file_id=given.file_id, collection_id=given.collection)

    async def work(door: HomeMethods) -> KnowledgeRetryResult:
        result = await door.call(m.KNOWLEDGE_RETRY, params)
        if result.requeued:
            await compare_all(door)
        return result

    result = through_door(given, work)
    show(given, result, lambda _: say(f"{format_files(result.requeued)} read again"))
    return OK if result.requeued else NEGATIVE


def update_collection(given: argparse.Namespace) -> int:
    """Change a collection, and compare its folder."""
    path = check_folder(given.path) if given.path is not None else None
    return _compare(given, m.COLLECTIONS_UPDATE, {**present(path=path), **_choices_of(given)})


async def compare_all(door: HomeMethods) -> None:
    """Compare folders for at most `COMPARE_SECONDS`, and write on stderr where that leaves something."""
    if await door.compare_files(COMPARE_SECONDS):
        later = "`pioneer knowledge scan COLLECTION` goes on with it" if door.is_alone else "the rest is found later"
        sys.stderr.write(f"pioneer: not every file could be compared in time; {later}\n")


async def _read_files(door: HomeMethods, collection_id: str) -> Collection:
    """Read the files of a collection, with a bar, for at most `READ_SECONDS`; return the collection after it."""

    async def find() -> Collection:
        return (await door.call(m.COLLECTIONS_GET, {"collection_id": collection_id})).collection

    with progress("reading files") as report:

        async def tell() -> None:
            files = (await find()).files
            done = files.indexed + files.partial + files.failed
            report(done, done + files.pending)

        await door.compare_files(READ_SECONDS, tell if is_rich(sys.stderr) else None)
    hint_if_off(door.knowledge_settings)
    return await find()


def _compare(given: argparse.Namespace, method: m.Method[Any, Any], choices: Mapping[str, Any]) -> int:
    """Call a method of a collection, compare its folder at once, and show the collection."""

    async def work(door: HomeMethods) -> Any:
        await door.call(method, {"collection_id": given.collection, **choices})
        return CollectionResult(collection=await _read_files(door, given.collection))

    result = through_door(given, work)
    show(given, result, lambda _: show_collections([result.collection]))
    return OK


def remove_collection(given: argparse.Namespace) -> int:
    """Remove a collection from the index; its folder stays."""
    params = {"collection_id": given.collection}
    receipt = through_door(given, lambda door: door.call(m.COLLECTIONS_REMOVE, params)).receipt
    line = f"removed {receipt.files} files and {receipt.chunks} pieces of the index; the folder is as it was"
    show(given, {"receipt": receipt}, lambda _: say(line if receipt.complete else f"{line}; its log is not empty yet"))
    return OK
