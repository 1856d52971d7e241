"""The verbs of `pioneer knowledge` for collections: add, list, status, scan, retry, update, remove.

Rule 1: a verb that changes a collection reads its folder before it answers, and shows how far it is: where no gateway
runs, nobody else would.
"""

import argparse
from collections.abc import Callable, Mapping
from typing import Any

from gateway.base.exit_codes import NEGATIVE, OK
from gateway.doors.commands.door import HomeMethods, through_door, trying_home
from gateway.doors.commands.options import present
from gateway.doors.commands.paging import collect_pages
from gateway.doors.terminal.exits import check_folder
from gateway.doors.terminal.screen import hint, plain, progress, say, show_json, show_table, when, words
from protocol import methods as m
from protocol.files.collections import Collection, CollectionAddResult, CollectionResult, Preview

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


def show(given: argparse.Namespace, result: Any, lines: Callable[[Any], None]) -> None:
    """Write a result as JSON with `--json`, else call `lines` with it."""
    if given.json:
        show_json(result)
    else:
        lines(result)


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
    state = f"{_format_files(files.indexed + files.partial)} indexed"
    named = result.collection.collection_id
    if files.pending or result.collection.scanned_at is None:
        state = f"{state}, {files.pending:,} wait: a gateway that runs reads them, or `pioneer knowledge scan {named}`"
    say(f"{named}\t{state}", "green")
    if files.skipped:
        hint(f"skipped: {_format_counts(files.skipped)}; `pioneer knowledge why {named}:PATH` tells of one why")
    if named != result.collection.name:
        hint(f"addresses begin with its id, {named}; --id chooses another")


def _format_files(number: int) -> str:
    return f"{number:,} file{'' if number == 1 else 's'}"


def _format_size(size: int) -> str:
    """Return a number of bytes with a decimal unit, as file managers show it."""
    units = (("MB", 1_000_000), ("kB", 1000))
    return next((f"{size / one:.1f} {unit}" for unit, one in units if size >= one), f"{size} bytes")


def _format_counts(counts: Mapping[str, int]) -> str:
    """Return counts with their names in one line, the largest first."""
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return ", ".join(f"{name} {count:,}" for name, count in ordered) or "none"


def _show_preview(preview: Preview) -> None:
    least = "at least " if preview.partial else ""
    found = f"{least}{_format_files(preview.files)}, {_format_size(preview.bytes)} would be indexed"
    say(f"{found}: {_format_counts(preview.by_kind)}. Skipped: {_format_counts(preview.skipped)}.")
    for bad in preview.bad_patterns:
        where = f"{plain(bad.file)} line {bad.line}, {plain(bad.pattern)}"
        say(f"no pattern: {where}" if bad.reason is None else f"not read: {plain(bad.file)}, {words(bad.reason)}")


def list_collections(given: argparse.Namespace) -> int:
    """List the collections; the exit code is `NEGATIVE` where there is none."""
    asked = {"workspace_id": given.workspace}
    result = through_door(given, lambda door: collect_pages(door, m.COLLECTIONS_LIST, asked, "collections", None))
    found = result.collections
    show(given, {"collections": found}, lambda _: _show_collections(found))
    return OK if found else NEGATIVE


def _show_collections(found: list[Collection]) -> None:
    rows = [
        [
            one.collection_id,
            words(one.state) + (f" ({words(one.reason)})" if one.reason is not None else ""),
            str(one.files.indexed + one.files.partial),
            str(one.files.pending),
            str(one.files.failed),
            when(one.scanned_at) if one.scanned_at else "",
            plain(one.path),
        ]
        for one in found
    ]
    show_table(["collection", "state", "indexed", "waiting", "failed", "compared", "folder"], rows)
    if not rows:
        hint("there is no collection here: `pioneer knowledge add DIR` makes one")


def show_status(given: argparse.Namespace) -> int:
    """Show the state of each collection; the exit code is `NEGATIVE` where there is none."""
    found = through_door(given, lambda door: door.call(m.KNOWLEDGE_STATUS, {"workspace_id": given.workspace}))
    show(given, found, lambda _: _show_collections([one.collection for one in found.collections]))
    return OK if found.collections else NEGATIVE


def scan_collection(given: argparse.Namespace) -> int:
    """Compare a folder now."""
    return _compare(given, m.COLLECTIONS_SCAN, {"deep": given.deep})


def retry_files(given: argparse.Namespace) -> int:
    """Have failed files read again; the exit code is `NEGATIVE` where there are none."""
    params = present(file_id=given.file_id, collection_id=given.collection)
    result = through_door(given, lambda door: door.call(m.KNOWLEDGE_RETRY, params))
    show(given, result, lambda _: say(f"{result.requeued} files will be read again"))
    return OK if result.requeued else NEGATIVE


def update_collection(given: argparse.Namespace) -> int:
    """Change a collection, and compare its folder."""
    path = check_folder(given.path) if given.path is not None else None
    return _compare(given, m.COLLECTIONS_UPDATE, {**present(path=path), **_choices_of(given)})


async def _read_files(door: HomeMethods, collection_id: str) -> Collection:
    """Read the files of a collection, with a bar, for at most `READ_SECONDS`; return the collection after it."""

    async def find() -> Collection:
        return (await door.call(m.COLLECTIONS_GET, {"collection_id": collection_id})).collection

    with progress("reading files") as report:

        async def tell() -> None:
            files = (await find()).files
            done = files.indexed + files.partial + files.failed
            report(done, done + files.pending)

        await door.compare_files(READ_SECONDS, tell)
    return await find()


def _compare(given: argparse.Namespace, method: m.Method[Any, Any], choices: Mapping[str, Any]) -> int:
    """Call a method of a collection, compare its folder at once, and show the collection."""

    async def work(door: HomeMethods) -> Any:
        await door.call(method, {"collection_id": given.collection, **choices})
        return CollectionResult(collection=await _read_files(door, given.collection))

    result = through_door(given, work)
    show(given, result, lambda _: _show_collections([result.collection]))
    return OK


def remove_collection(given: argparse.Namespace) -> int:
    """Remove a collection from the index; its folder stays."""
    params = {"collection_id": given.collection}
    receipt = through_door(given, lambda door: door.call(m.COLLECTIONS_REMOVE, params)).receipt
    line = f"removed {receipt.files} files and {receipt.chunks} pieces of the index; the folder is as it was"
    show(given, {"receipt": receipt}, lambda _: say(line if receipt.complete else f"{line}; its log is not empty yet"))
    return OK
