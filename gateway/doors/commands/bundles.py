"""Import and export: conversations of other programs, and bundles of memories."""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from gateway.base.durable_file import publish
from gateway.base.exit_codes import DATA, NO_INPUT, OK, USAGE
from gateway.doors.commands import Command
from gateway.doors.commands.bundle_files import (
    HEAD_BYTES,
    chunks_of,
    count_left_outside,
    counts_of,
    is_bundle,
    pages_of,
    write_out,
)
from gateway.doors.commands.door import HomeMethods, home_of, read_configuration, through_door, trying_home
from gateway.doors.commands.options import (
    add_context,
    add_place,
    context_of,
    path,
    present,
    read_workspace_variable,
    scopes_of,
    stdin_file,
    workspace_here,
)
from gateway.doors.commands.paging import each_page
from gateway.doors.terminal.exits import Stop, reading, require_folder_of, writing
from gateway.doors.terminal.screen import format_count, hint, plain, say, show_json, show_table, words
from protocol import methods as m
from protocol.base import DEFAULT_WORKSPACE, Diagnostic
from protocol.memory.bundles import ExportResult, ImportResult

DASH = Path("-")
"""The name that stands for stdin or stdout in place of a file."""
ZIP_START = b"PK"
SCOPE_OPTIONS = {"workspace": "--workspace", "agent": "--agent", "thread": "--thread"}
"""The option with which an import takes in the entries of a scope, by the kind of the scope."""


# -- export ------------------------------------------------------------------------------------------------------------


def _arrange_export(to: argparse.ArgumentParser) -> None:
    add_place(to)
    add_context(to)
    to.add_argument("file", type=path, metavar="FILE", help="where to; `-` writes to stdout")
    to.add_argument(
        "--scope", action="append", metavar="SCOPE", help="only user, workspace, agent or thread; repeatable"
    )
    to.add_argument("--force", action="store_true", help="replace a file that is there")


async def _pages(door: HomeMethods, params: dict[str, Any]) -> list[ExportResult]:
    return [page async for page in each_page(door, m.MEMORY_EXPORT, params)]


def _export(given: argparse.Namespace) -> int:
    file = None if given.file == DASH else given.file
    if file is not None and file.exists() and not given.force:
        raise Stop(USAGE, "the file is there already; --force replaces it")
    if file is not None:
        require_folder_of(file)
    scopes = scopes_of(given)
    pages = through_door(given, lambda door: _pages(door, present(scopes=scopes, context=context_of(given))))
    bundle = "".join(page.bundle for page in pages)
    diagnostics = [entry for page in pages for entry in page.diagnostics]
    if file is not None:
        with writing(file):
            publish(file.absolute(), bundle.encode())
        _show_export(given, pages, diagnostics, is_everything=scopes is None)
    elif given.json:
        show_json(ExportResult(bundle=bundle, next_cursor=None, diagnostics=diagnostics))
    else:
        write_out(bundle)
    for entry in diagnostics:
        sys.stderr.write(f"left out: {words(entry.code)} {plain(entry.message or '')}\n")
    return OK


def _show_export(
    given: argparse.Namespace, pages: list[ExportResult], diagnostics: list[Diagnostic], *, is_everything: bool
) -> None:
    headers = [counts_of(page.bundle) for page in pages]
    counts = {name: sum(header[name] for header in headers) for name in ("records", "candidates", "tombstones")}
    if given.json:
        show_json({"file": str(given.file.absolute()), **counts, "diagnostics": diagnostics})
        return
    named = {name: format_count(count, name.removesuffix("s"), name) for name, count in counts.items()}
    named["records"] = format_count(counts["records"], "memory", "memories")
    say(f"{named['records']} (with those that were replaced), {named['candidates']}, {named['tombstones']}", "green")
    if is_everything:
        hint(f"of the user and of workspace {given.workspace}; `pioneer workspaces` lists the others")


# -- import ------------------------------------------------------------------------------------------------------------


def _arrange_import(to: argparse.ArgumentParser) -> None:
    add_place(to)
    to.set_defaults(workspace=None)  # conversations name their own workspace
    add_context(to)
    to.add_argument(
        "path",
        type=path,
        metavar="FILE|DIR",
        help="an export of ChatGPT or Claude (.json, .zip), sessions of Claude Code or Codex (.jsonl), Markdown, "
        "or a bundle of `pioneer export`; `-` reads a bundle from stdin",
    )
    to.add_argument("--dry-run", action="store_true", help="change nothing; say what would be done")


def _import(given: argparse.Namespace) -> int:
    with trying_home(given):
        if given.path == DASH:
            return _import_bundle(given, chunks_of(stdin_file()))
        with reading(given.path):
            file = given.path.open("rb") if given.path.is_file() else None
        if file is not None:
            with file:
                head = file.read(HEAD_BYTES)
                if is_bundle(head):
                    file.seek(0)
                    return _import_bundle(given, chunks_of(file))
                _refuse_backup(given.path, file, head)
        return _import_conversations(given)


def _refuse_backup(path: Path, file: BinaryIO, head: bytes) -> None:
    """Raise `Stop` with the command that restores a backup, where the file is one."""
    if not head.startswith(ZIP_START):
        return
    from gateway.care.backup import is_backup  # noqa: PLC0415

    if is_backup(file):
        raise Stop(
            DATA,
            f"{path} is a backup of a whole home: `pioneer restore-backup {path} --home DIR` makes a home of it, "
            "and `pioneer export` there makes a bundle that `import` takes",
        )


def _import_conversations(given: argparse.Namespace) -> int:
    from gateway.imports.importer import ImportOptions, Stopped, main  # noqa: PLC0415

    read_configuration(given)  # so that its errors stop the import; the spawned gateway would start all the same
    options = ImportOptions(
        path=given.path,
        home=home_of(given),
        config=given.config,
        is_dry_run=given.dry_run,
        is_json=given.json,
        workspace_id=given.workspace or read_workspace_variable() or DEFAULT_WORKSPACE,
    )
    try:
        return main(options)
    except Stopped as stopped:
        raise Stop(stopped.code, stopped.line) from stopped


def _import_bundle(given: argparse.Namespace, chunks: Iterator[bytes]) -> int:
    given.workspace = given.workspace or workspace_here()
    head = next(chunks, b"")
    if not head:
        raise Stop(NO_INPUT, "there is nothing to read")
    if not is_bundle(head):
        raise Stop(DATA, "`-` takes a bundle of `pioneer export`; name the file of anything else")
    outside = Counter[str]()

    async def work(door: HomeMethods) -> list[ImportResult]:
        if not given.dry_run:
            await door.ensure_workspace(given.workspace)
        members = {"dry_run": given.dry_run, "context": context_of(given)}
        results = list[ImportResult]()
        for page in pages_of(chain([head], chunks)):
            results.append(await door.call(m.MEMORY_IMPORT, members | {"bundle": page}))
            outside.update(count_left_outside(page, results[-1]))
        return results

    results = through_door(given, work, "write", makes_home=True)
    total = ImportResult(
        imported=sum(one.imported for one in results),
        skipped=sum(one.skipped for one in results),
        conflicts=[conflict for one in results for conflict in one.conflicts],
        tombstoned=sum(one.tombstoned for one in results),
    )
    if given.json:
        show_json(total)
    else:
        _show_import(total, outside, is_dry_run=given.dry_run)
    return DATA if total.conflicts else OK


def _show_import(total: ImportResult, outside: Counter[str], *, is_dry_run: bool) -> None:
    verb = "would be imported" if is_dry_run else "imported"
    say(
        f"{total.imported} {verb}, {total.skipped} known already, {total.tombstoned} forgotten, "
        f"{len(total.conflicts)} left out"
    )
    show_table(
        ["memory", "here", "why"],
        [
            [conflict.memory_id, conflict.existing_memory_id or "", words(conflict.reason)]
            for conflict in total.conflicts
        ],
    )
    for scope, count in outside.items():
        kind, _, key = scope.partition(":")
        way = f": `{SCOPE_OPTIONS[kind]} {plain(key)}` takes it in" if kind in SCOPE_OPTIONS else ""
        say(f"{count} of them belong to {plain(scope)}{way}", "yellow")


COMMANDS = {
    "import": Command(
        _arrange_import,
        _import,
        "  pioneer import conversations.json --dry-run\n  pioneer import ~/.claude/projects --workspace notes\n"
        "  pioneer import memories.jsonl",
    ),
    "export": Command(
        _arrange_export, _export, "  pioneer export memories.jsonl\n  pioneer export - --scope user > mine.jsonl"
    ),
}
