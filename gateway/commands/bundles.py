"""What comes in and goes out: conversations of other programs, and bundles of memories.

Rule 1: a bundle file is one page after another, each whole in itself; a file that was cut off loses its last page alone.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from gateway.commands import Command
from gateway.commands.door import Door, home_of, through_door
from gateway.commands.exits import DATA, NO_INPUT, OK, USAGE, Stop
from gateway.commands.options import add_context, add_place, context_of, present, scope_of
from gateway.commands.terminal import plain, say, show_json, show_table, words
from gateway.durable_file import publish
from protocol import methods as m
from protocol.bundle import BUNDLE_FORMAT
from protocol.memory import MAX_BUNDLE_BYTES, ExportResult, ImportResult

HEAD_BYTES = 4096
"""A header is two hundred bytes; a first line that is longer is another format's."""
END_BYTES = 256
"""A last line is a hash and two names."""


# -- export ------------------------------------------------------------------------------------------------------------


def _arrange_export(to: argparse.ArgumentParser) -> None:
    add_place(to)
    add_context(to)
    to.add_argument("file", metavar="FILE", help="where to; `-` writes to stdout")
    to.add_argument(
        "--scope", action="append", metavar="SCOPE", help="only user, workspace, agent or thread; repeatable"
    )
    to.add_argument("--force", action="store_true", help="replace a file that is there")


async def _pages(door: Door, params: dict[str, Any]) -> list[ExportResult]:
    pages = [await door.call(m.MEMORY_EXPORT, params)]
    while (cursor := pages[-1].next_cursor) is not None:
        pages.append(await door.call(m.MEMORY_EXPORT, params | {"cursor": cursor}))
    return pages


def _export(given: argparse.Namespace) -> int:
    file = None if given.file == "-" else Path(given.file)
    if file is not None and file.exists() and not given.force:
        raise Stop(USAGE, "the file is there already; --force replaces it")
    scopes = [scope_of(text, given) for text in given.scope] if given.scope else None
    pages = through_door(given, lambda door: _pages(door, present(scopes=scopes, context=context_of(given))))
    bundle = "".join(page.bundle for page in pages)
    diagnostics = [entry for page in pages for entry in page.diagnostics]
    if file is not None:
        publish(file.absolute(), bundle.encode())
        bundle_shown = ""
    else:
        bundle_shown = bundle
    if given.json:
        show_json(ExportResult(bundle=bundle_shown, next_cursor=None, diagnostics=diagnostics))
    elif file is None:
        sys.stdout.write(bundle)
    else:
        counts = Counter(json.loads(line)["type"] for line in bundle.splitlines())
        say(f"{counts['record']} memories, {counts['candidate']} candidates, {counts['tombstone']} tombstones", "green")
        if scopes is None:
            say(f"of the user and of workspace {given.workspace}; `pioneer workspaces` lists the others")
    for entry in diagnostics:
        sys.stderr.write(f"left out: {words(entry.code)} {plain(entry.message or '')}\n")
    return OK


# -- import ------------------------------------------------------------------------------------------------------------


def _arrange_import(to: argparse.ArgumentParser) -> None:
    add_place(to)
    add_context(to)
    to.add_argument(
        "path", metavar="FILE|DIR",
        help="an export of ChatGPT or Claude (.json, .zip), sessions of Claude Code or Codex (.jsonl), Markdown, "
        "or a bundle of `pioneer export`; `-` reads a bundle from stdin",
    )  # fmt: skip
    to.add_argument("--dry-run", action="store_true", help="change nothing; say what would be done")


def _import(given: argparse.Namespace) -> int:
    if given.path == "-":
        return _take_in(given, sys.stdin.buffer)
    path = Path(given.path)
    if path.is_file():
        with path.open("rb") as file:
            if is_bundle(file.readline(HEAD_BYTES)):
                file.seek(0)
                return _take_in(given, file)
    from gateway.importing import Wish, main  # noqa: PLC0415

    return main(
        Wish(
            path=path, home=home_of(given), config=given.config, workspace_id=given.workspace, is_dry_run=given.dry_run,
            is_json=given.json,
        )
    )  # fmt: skip


def is_bundle(first_line: bytes) -> bool:
    """Whether a file that begins so is a bundle of memories."""
    try:
        header = json.loads(first_line)
    except ValueError:
        return False
    return isinstance(header, dict) and cast("dict[str, Any]", header).get("format") == BUNDLE_FORMAT


def pages_of(lines: Iterable[bytes]) -> Iterator[str]:
    """The bundles of a file, each up to its last line. Raises `Stop`."""
    page, size = list[bytes](), 0
    for line in lines:
        page.append(line)
        size += len(line)
        if size > MAX_BUNDLE_BYTES:
            raise Stop(DATA, "a page of the bundle is larger than 4 MiB")
        if len(line) < END_BYTES and _is_end(line):
            yield _decoded(page)
            page, size = [], 0
    if b"".join(page).strip():
        yield _decoded(page)


def _is_end(line: bytes) -> bool:
    try:
        return json.loads(line).get("type") == "end"
    except (ValueError, AttributeError):  # whoever imports it says what is wrong with it
        return False


def _decoded(page: list[bytes]) -> str:
    try:
        return b"".join(page).decode()
    except UnicodeDecodeError:
        raise Stop(DATA, "the bundle is not UTF-8") from None


def _take_in(given: argparse.Namespace, file: BinaryIO) -> int:
    async def work(door: Door) -> list[ImportResult]:
        if not given.dry_run:
            await door.ensure_workspace(given.workspace)
        members = {"dry_run": given.dry_run, "context": context_of(given)}
        return [await door.call(m.MEMORY_IMPORT, members | {"bundle": page}) for page in pages_of(file)]

    results = through_door(given, work, "later", makes_home=True)
    if not results:
        raise Stop(NO_INPUT, "there is nothing to read")
    total = ImportResult(
        imported=sum(one.imported for one in results), skipped=sum(one.skipped for one in results),
        conflicts=[conflict for one in results for conflict in one.conflicts],
        tombstoned=sum(one.tombstoned for one in results),
    )  # fmt: skip
    if given.json:
        show_json(total)
        return OK
    verb = "would be imported" if given.dry_run else "imported"
    say(
        f"{total.imported} {verb}, {total.skipped} known already, {total.tombstoned} forgotten, {len(total.conflicts)} left out"
    )
    show_table(["memory", "here", "why"], [
        [conflict.memory_id, conflict.existing_memory_id or "", words(conflict.reason)] for conflict in total.conflicts
    ])  # fmt: skip
    return OK


COMMANDS = {
    "import": Command(
        _arrange_import, _import,
        "  pioneer import conversations.json --dry-run\n  pioneer import ~/.claude/projects --workspace notes\n"
        "  pioneer import memories.jsonl",
    ),
    "export": Command(_arrange_export, _export, "  pioneer export memories.jsonl\n  pioneer export - --scope user > mine.jsonl"),
}  # fmt: skip
