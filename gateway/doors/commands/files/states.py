"""The verbs of `pioneer knowledge` that show collections, `list` and `status`, and the words for their states."""

import argparse
import time
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import UNSET

from gateway.base.exit_codes import NEGATIVE, OK
from gateway.doors.commands.door import HomeMethods, through_door
from gateway.doors.commands.paging import collect_pages
from gateway.doors.terminal.screen import format_count, hint, plain, say, show_json, show_pairs, show_table, when, words
from protocol import methods as m
from protocol.files.collections import Collection, PatternProblem
from protocol.files.knowledge import CollectionStatus, KnowledgeStatusResult
from protocol.settings import KnowledgeSettings

NO_COLLECTION = "there is no collection here: `pioneer knowledge add DIR` makes one"
UNTIL_BACK = "nothing is deleted, and what it holds is found again when it is back"
REASONS = {
    "root_missing": f"the folder is not there; {UNTIL_BACK}",
    "root_empty": f"the folder is empty, though it held files; {UNTIL_BACK}",
    "permission_denied": f"the folder may not be read; {UNTIL_BACK}",
    "max_files": "it has more files than gateway.knowledge.max_files, and the rest is left out",
    "not_watched": "no process watches it; a gateway compares it every {minutes} minutes, and each `pioneer knowledge "
    "search` does",
    "watch_limit": "the system has no room for more watches; a gateway compares it every minute",
    "network_file_system": "its file system reports no changes; a gateway compares it every minute",
    "watch_failed": "the system's watch of it failed; a gateway compares it every minute",
}
"""The words for the reason of a state; `{minutes}` is `gateway.knowledge.scan_minutes`."""
LEFT = "the process that watched it has ended; the next gateway compares it, and each `pioneer knowledge search` does"
"""The words for `live` where nobody watches."""
WATCHERS = {"this": "this process", "other": "a running gateway, which sees changes at once", "none": "nobody"}
ENRICHMENT = {
    "no_role": "agreed to, but no provider is gateway.roles.enricher",
    "not_available": "agreed to, but this version sends no text of files",
}
"""The words for the enrichment of a collection that agrees to it."""
BAD_SHOWN = 5
"""The most lines of a collection that are no patterns and are shown."""


def show(given: argparse.Namespace, result: Any, lines: Callable[[Any], None]) -> None:
    """Write a result as JSON with `--json`, else call `lines` with it."""
    if given.json:
        show_json(result)
    else:
        lines(result)


def format_files(number: int) -> str:
    """Return a number of files with the word for them."""
    return f"{number:,} file{'' if number == 1 else 's'}"


def format_counts(counts: Mapping[str, int]) -> str:
    """Return counts with their names in one line, the largest first."""
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return ", ".join(f"{name} {count:,}" for name, count in ordered) or "none"


def describe_bad_pattern(bad: PatternProblem) -> str:
    """Return where a line that is no pattern stands, or which file of patterns cannot be read."""
    if bad.reason is not UNSET:
        return f"{plain(bad.file)}, not read: {words(bad.reason)}"
    return f"{plain(bad.file)} line {bad.line}, no pattern: `{plain(bad.pattern)}`"


def list_collections(given: argparse.Namespace) -> int:
    """List the collections; the exit code is `NEGATIVE` where there is none."""
    asked = {"workspace_id": given.workspace}
    result = through_door(given, lambda door: collect_pages(door, m.COLLECTIONS_LIST, asked, "collections", None))
    found = result.collections
    show(given, {"collections": found}, lambda _: show_collections(found))
    return OK if found else NEGATIVE


def show_collections(found: list[Collection]) -> None:
    """Write a table of collections, or a hint where there is none."""
    rows = [
        [
            one.collection_id,
            one.name,
            f"{words(one.state)} ({words(one.reason)})" if one.reason else words(one.state),
            str(one.files.indexed + one.files.partial),
            str(one.files.pending),
            str(one.files.failed),
            when(one.scanned_at),
            one.path,
        ]
        for one in found
    ]
    show_table(["collection", "name", "state", "indexed", "waiting", "failed", "compared", "folder"], rows)
    if not rows:
        hint(NO_COLLECTION)


def show_status(given: argparse.Namespace) -> int:
    """Show each collection with its state in words; the exit code is `NEGATIVE` where there is none."""

    async def work(door: HomeMethods) -> tuple[KnowledgeStatusResult, KnowledgeSettings]:
        return await door.call(m.KNOWLEDGE_STATUS, {"workspace_id": given.workspace}), door.knowledge_settings

    found, settings = through_door(given, work)
    show(given, found, lambda _: _show_states(found.collections, settings))
    return OK if found.collections else NEGATIVE


def _show_states(found: list[CollectionStatus], settings: KnowledgeSettings) -> None:
    for number, one in enumerate(found):
        named, name = one.collection.collection_id, plain(one.collection.name)
        say(("\n" if number else "") + (named if name == named else f"{named} ({name})"), "bold")
        show_pairs(_describe(one, settings))
    if not found:
        hint(NO_COLLECTION)
    else:
        hint_if_off(settings)


def hint_if_off(settings: KnowledgeSettings) -> None:
    """Hint where files are switched off, or their indexing: then nothing reads what waits."""
    if not settings.enabled:
        hint("files are switched off (gateway.knowledge.enabled): they are neither compared nor searched")
    elif not settings.indexing_enabled:
        hint("indexing is switched off (gateway.knowledge.indexing_enabled): what waits is not read")


def _describe(status: CollectionStatus, settings: KnowledgeSettings) -> list[tuple[str, str]]:
    """Return what is known of a collection, as names and values."""
    one, files = status.collection, status.collection.files
    partial = f", {files.partial:,} of them in part" if files.partial else ""
    waiting = format_files(files.pending) if files.pending else ""
    if status.oldest_pending_age_ms is not None:
        waiting += f", the oldest since {when(round(time.time() * 1000) - status.oldest_pending_age_ms)}"
    failed = f"{format_files(files.failed)}: `pioneer knowledge files {one.collection_id} --state failed`"
    bad = [describe_bad_pattern(one) for one in status.bad_patterns]
    more = [f"{len(bad) - BAD_SHOWN} more"] if len(bad) > BAD_SHOWN else []
    return [
        ("folder", one.path),
        ("of", "the user: every project sees it" if one.scope == "user" else f"project {one.workspace_id}"),
        ("state", _describe_state(status, settings)),
        ("watched by", WATCHERS[status.watch.process]),
        (
            "indexed",
            f"{format_files(files.indexed + files.partial)}{partial}, {format_count(one.chunks, 'piece', 'pieces')}",
        ),
        ("waiting", waiting),
        ("failed", failed if files.failed else ""),
        ("skipped", format_counts(files.skipped) if files.skipped else ""),
        ("compared", when(one.scanned_at) or "never"),
        ("read anew", when(one.deep_scanned_at)),
        ("include", ", ".join(one.include)),
        ("exclude", ", ".join(one.exclude)),
        ("patterns", "; ".join([*bad[:BAD_SHOWN], *more])),
        ("enrichment", ENRICHMENT.get(status.enrichment, "")),
    ]


def _describe_state(status: CollectionStatus, settings: KnowledgeSettings) -> str:
    """Return the state of a collection with its reason in words."""
    one = status.collection
    is_left = one.state == "live" and status.watch.process == "none"
    reason = LEFT if is_left else REASONS.get(one.reason or "", words(one.reason)).format(minutes=settings.scan_minutes)
    return f"{words(one.state)}: {reason}" if reason else words(one.state)
