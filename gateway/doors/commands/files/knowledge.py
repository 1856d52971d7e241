"""`pioneer knowledge`: the verbs that search, read, list and explain files, and the table of all verbs.

Rule 1: the options of a search are made of the members of the method's own parameters.
Rule 2: a search compares the folders with the index first, for at most `COMPARE_SECONDS`, so that it finds new files.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from gateway.base.exit_codes import NEGATIVE, OK
from gateway.doors.commands import Command
from gateway.doors.commands.door import HomeMethods, through_door
from gateway.doors.commands.files.addresses import find_collection_id, find_place, find_workspace, is_path
from gateway.doors.commands.files.collections import (
    add_choices,
    add_collection,
    compare_all,
    remove_collection,
    retry_files,
    scan_collection,
    to_option_name,
    update_collection,
)
from gateway.doors.commands.files.states import NO_COLLECTION, format_files, list_collections, show, show_status
from gateway.doors.commands.options import add_place, path, present, text_of
from gateway.doors.commands.paging import MORE, PAGE, add_limit, collect_pages, count_elsewhere, limit_of
from gateway.doors.terminal.screen import hint, plain, plain_path, say, show_json, show_table, when, words
from protocol import methods as m
from protocol.base import Diagnostic, Elsewhere
from protocol.errors import CallerError
from protocol.files.graph import EdgesResult, EntitiesResult, FileEdge
from protocol.files.knowledge import (
    KnowledgeExplainResult,
    KnowledgeHit,
    KnowledgeReadResult,
    KnowledgeSearchArgs,
    KnowledgeSearchResult,
    KnownFile,
)

MOST_HITS = 50
"""The most hits that are counted in another workspace."""
SHORT = {"topics": "--topic", "include_related": "--related"}
"""Shorter names of options that are typed often, beside their own."""
REASON_WORDS = {
    "folder": "a folder, whose files are judged one by one; `pioneer knowledge files COLLECTION` lists them",
    "no_reader": "no reader; the extra `pdf` of this package reads PDF files",
    "broken": "broken, or not what its suffix says",
}
"""The words for reasons whose code says too little."""


def search_options() -> Mapping[str, dict[str, Any]]:
    """Return the arguments of `add_argument` for each member of a search but its query."""
    options: dict[str, dict[str, Any]] = {}
    for member in msgspec.structs.fields(KnowledgeSearchArgs):
        if member.required:
            continue
        about = f"default: {member.default}" if isinstance(member.default, (bool, int)) else "default: none"
        if isinstance(member.default, bool):
            options[member.name] = {"action": argparse.BooleanOptionalAction, "default": None, "help": about}
        elif member.name == "topics":
            options[member.name] = {"action": "append", "metavar": "WORD", "help": "raises what has it; repeatable"}
        else:
            kind = {"max_results": int, "min_importance": float}.get(member.name, str)
            options[member.name] = {"type": kind, "metavar": member.name.upper(), "help": about}
    return options


def _hint_messages(diagnostics: Sequence[Diagnostic]) -> None:
    for one in diagnostics:
        if one.message is not None:
            hint(one.message)


def _show_rows(
    given: argparse.Namespace,
    result: Any,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    diagnostics: Sequence[Diagnostic] = (),
) -> int:
    """Show a result's rows, and hint where there are none or more of them; return the exit code."""
    if given.json:
        show_json(result)
    else:
        show_table(head, rows)
        if not rows:
            hint("nothing found")
        _hint_messages(diagnostics)
        if result.next_cursor is not None:
            hint(MORE)
    return OK if rows else NEGATIVE


def _search(given: argparse.Namespace) -> int:
    asked = {name: value for name in search_options() if (value := getattr(given, name)) is not None}
    params = {"query": text_of(given.query), "context": {"workspace_id": given.workspace}, **asked}

    async def work(door: HomeMethods) -> tuple[KnowledgeSearchResult, bool]:
        await compare_all(door)
        result = await door.call(m.KNOWLEDGE_SEARCH, params)
        if result.hits:
            return result, True
        await door.hint_at(await _count_elsewhere(door, given, params))
        listed = await door.call(m.COLLECTIONS_LIST, {"workspace_id": given.workspace, "limit": 1})
        return result, bool(listed.collections)

    result, has_collection = through_door(given, work, "write")
    show(given, result, lambda _: _show_hits(result, has_collection=has_collection))
    return OK if result.hits else NEGATIVE


async def _count_elsewhere(door: HomeMethods, given: argparse.Namespace, params: Mapping[str, Any]) -> list[Elsewhere]:
    """Return the numbers of hits, at most `MOST_HITS` each, that other workspaces have for a search."""

    async def count(workspace_id: str) -> int:
        there = {**params, "max_results": MOST_HITS, "context": {"workspace_id": workspace_id}}
        try:
            return len((await door.call(m.KNOWLEDGE_SEARCH, there)).hits)
        except CallerError:  # the name in `entity` is that of several there
            return 0

    return await count_elsewhere(door, given.workspace, count)


def _show_hits(result: KnowledgeSearchResult, *, has_collection: bool) -> None:
    # the first entity of a file's hit is the file itself; the best hit of a file, which comes first, wins
    pages = {one.entity_id: hit.locations[0].path for hit in reversed(result.hits) for one in hit.entities[:1]}

    def text(hit: KnowledgeHit) -> str:
        score = hit.breakdown
        if hit.via is None or score.words + score.meaning + score.card:
            return hit.snippet
        page = pages.get(hit.via.entity_id)  # only a link leads to this hit
        return f"linked from {plain_path(page)}" if page is not None else hit.snippet

    def head(hit: KnowledgeHit) -> str:
        page = hit.locations[0].page if hit.locations else None
        return (" > ".join(hit.heading) or hit.title) + (f", page {page}" if page is not None else "")

    rows = [[f"{hit.score:.2f}", plain(hit.address), plain(head(hit)), plain(text(hit))] for hit in result.hits]
    show_table(["score", "where", "heading", "text"], rows)
    notices = [words(one.code) for one in result.diagnostics if one.code not in {"semantic_off", "no_match"}]
    notices += ["some files have no vector yet, and only words find them"] if result.semantic == "pending" else []
    if not result.hits:
        hint("; ".join(["nothing found", *notices, *([] if has_collection else [NO_COLLECTION])]))
        if has_collection:
            _hint_messages(result.diagnostics)
    elif notices:
        hint("; ".join(notices))


def _read(given: argparse.Namespace) -> int:
    lines = present(from_line=given.from_line, to_line=given.to_line, max_chars=given.max_chars)

    async def work(door: HomeMethods) -> KnowledgeReadResult:
        place = await find_place(door, given, given.address)
        collection_id, below = place or (find_collection_id(given.address), None)
        named = {"address": given.address} if place is None else {"collection_id": collection_id, "path": below}
        context = {"workspace_id": await find_workspace(door, given, collection_id)}
        return await door.call(m.KNOWLEDGE_READ, {**named, "context": context, **lines})

    result = through_door(given, work)
    if given.json:
        show_json(result)
    else:
        for line in result.text.splitlines():
            say(plain(line))
        if result.to_line:
            place = f", lines {result.from_line} to {result.to_line} of {result.total_lines}: {result.state}"
        elif result.total_lines:
            place = f" has {result.total_lines} line{'' if result.total_lines == 1 else 's'}, and none there"
        else:
            place = f": {result.state}"
        cut = f"; {result.cut_chars:,} characters of the last line are left out" if result.cut_chars else ""
        hint(f"{plain_path(result.path)}{place}{cut}")
    return NEGATIVE if result.state == "gone" else OK


def _why(given: argparse.Namespace) -> int:
    is_query = not is_path(given.place) and find_collection_id(given.place) is None

    async def work(door: HomeMethods) -> KnowledgeExplainResult:
        if is_query:
            context = {"workspace_id": given.workspace}
            return await door.call(m.KNOWLEDGE_EXPLAIN, {"query": given.place, "context": context})
        place = await find_place(door, given, given.place)
        collection_id, below = place or given.place.split(":", maxsplit=1)
        context = {"workspace_id": await find_workspace(door, given, collection_id)}
        return await door.call(m.KNOWLEDGE_EXPLAIN, {"collection_id": collection_id, "path": below, "context": context})

    result = through_door(given, work, "ask" if is_query else "off")
    if given.json:
        show_json(result)
    elif is_query:
        rows = [[f"{one.score:.2f}", plain(one.address), words(one.gate)] for one in result.near_misses]
        show_table(["score", "where", "stopped by"], rows)
        if result.state == "unavailable":
            hint(f"a collection is unavailable, and nothing of it is shown: {words(result.reason or '')}")
        elif not rows:
            hint("no piece came near and was left out")
    elif result.state == "unavailable":
        is_in = "indexed" if result.indexed else "not indexed"
        say(f"{is_in}; the collection is unavailable, and nothing of it is shown: {words(result.reason or '')}")
    elif result.indexed:
        left_out = _describe_left_out(result)
        say(f"indexed in part: {left_out}" if left_out else "indexed")
    else:
        rule = result.rule
        by = f" by {plain(rule.file)} line {rule.line}, `{plain(rule.pattern)}`" if rule is not None else ""
        if rule is not None and rule.reason is not UNSET:
            by = f", as {plain(rule.file)} cannot be read: {words(rule.reason)}"
        reason = result.reason or result.state or "not_seen"
        say(f"not indexed: {REASON_WORDS.get(reason, words(reason))}{by}")
    return OK if result.indexed or result.near_misses else NEGATIVE


def _describe_left_out(file: KnownFile | KnowledgeExplainResult) -> str:
    """Return which lines and pages of a file are not indexed; empty where all are."""
    runs = [("line", *file.left_out)] if file.left_out is not None else []
    runs += [("page", *run) for run in file.left_out_pages]
    parts = [f"{what} {first}" if first == last else f"{what}s {first} to {last}" for what, first, last in runs]
    return f"{', '.join(parts)} left out" if parts else ""


def _files(given: argparse.Namespace) -> int:
    params = {
        "collection_id": given.collection,
        **present(prefix=given.prefix, states=given.states, kinds=given.kinds),
    }
    result = through_door(given, lambda door: collect_pages(door, m.KNOWLEDGE_FILES, params, "files", limit_of(given)))
    rows = [
        [one.state, words(one.reason or "") or _describe_left_out(one), str(one.lines), plain_path(one.path)]
        for one in result.files
    ]
    return _show_rows(given, result, ["state", "reason", "lines", "file"], rows)


def _entities(given: argparse.Namespace) -> int:
    asked = present(query=given.query, kinds=given.kinds, collection_id=given.collection)

    async def work(door: HomeMethods) -> EntitiesResult:
        params = {**asked, "context": {"workspace_id": await find_workspace(door, given, given.collection)}}
        return await collect_pages(door, m.KNOWLEDGE_ENTITIES, params, "entities", limit_of(given))

    result = through_door(given, work)
    rows = [
        [
            plain_path(one.name),
            words(one.kind),
            str(one.files),
            plain_path(one.path or ""),
            plain(", ".join(one.aliases)),
        ]
        for one in result.entities
    ]
    return _show_rows(given, result, ["name", "kind", "files", "path", "also called"], rows)


def _edges(given: argparse.Namespace) -> int:
    asked = present(direction=given.direction, kinds=given.kinds, min_strength=given.min_strength)

    async def work(door: HomeMethods) -> tuple[EdgesResult, Mapping[str, str]]:
        context = {"workspace_id": await find_workspace(door, given, find_collection_id(given.entity))}
        params = {"entity": given.entity, "context": context, **asked}
        found = await collect_pages(door, m.KNOWLEDGE_EDGES, params, "edges", limit_of(given))
        if not found.edges:
            return found, {}
        known = await collect_pages(door, m.KNOWLEDGE_ENTITIES, {"context": context}, "entities", None)
        return found, {one.entity_id: one.path or one.name for one in known.entities}

    result, named = through_door(given, work)

    def end(edge: FileEdge) -> str:
        if edge.unresolved is None:
            return named.get(edge.to or "", edge.to or "")
        several = f" ({len(edge.unresolved.candidates)} of that name)" if edge.unresolved.candidates else " (not there)"
        return edge.unresolved.text + several

    rows = [
        [
            plain_path(named.get(one.from_, one.from_)),
            words(one.kind),
            plain_path(end(one)),
            f"{one.strength:.2f}",
            plain(one.address),
        ]
        for one in result.edges
    ]
    return _show_rows(given, result, ["from", "kind", "to", "strength", "where"], rows, result.diagnostics)


def _changes(given: argparse.Namespace) -> int:
    params = present(collection_id=given.collection, since_at=given.since_at)
    result = through_door(
        given, lambda door: collect_pages(door, m.KNOWLEDGE_CHANGES, params, "events", limit_of(given))
    )
    rows = [
        [
            when(one.at),
            words(one.event),
            one.collection_id,
            plain_path(one.path or "") if one.count is None else format_files(one.count),
        ]
        for one in result.events
    ]
    return _show_rows(given, result, ["when", "what", "collection", "file"], rows, result.diagnostics)


VERBS: Mapping[str, tuple[Callable[[argparse.Namespace], int], str]] = {
    "add": (add_collection, "have a folder's files indexed"),
    "list": (list_collections, "list the collections"),
    "status": (show_status, "how far each collection is, who watches it, and what is wrong with it"),
    "search": (_search, "find what files say"),
    "read": (_read, "read around an address"),
    "why": (_why, "why a file is not found"),
    "files": (_files, "list the files of a collection"),
    "entities": (_entities, "list pages, folders, tags and code by name"),
    "edges": (_edges, "where the links of a page lead"),
    "changes": (_changes, "what happened to files"),
    "scan": (scan_collection, "compare a folder now, and read its files until none waits"),
    "retry": (retry_files, "read files again that failed"),
    "update": (update_collection, "change a collection"),
    "remove": (remove_collection, "forget a collection; its folder stays"),
}
"""Each verb with the function that runs it and the words that describe it."""


def _arrange(to: argparse.ArgumentParser) -> None:
    verbs = to.add_subparsers(dest="verb", required=True, metavar="WHAT")
    parsers: dict[str, argparse.ArgumentParser] = {}
    for verb, (_, about) in VERBS.items():
        parsers[verb] = verbs.add_parser(verb, help=about, description=about)
        add_place(parsers[verb])
    parsers["add"].add_argument("path", type=path, metavar="DIR", help="the folder")
    parsers["add"].add_argument(
        "--id", "--collection-id", dest="id", metavar="ID", help="the collection's id (default: from its name)"
    )
    scope = parsers["add"].add_mutually_exclusive_group()
    scope.add_argument("--scope", choices=("workspace", "user"), default="workspace", help="whose it is")
    scope.add_argument(
        "--user",
        dest="scope",
        action="store_const",
        const="user",
        help="the same as --scope user: seen from every project",
    )
    parsers["add"].add_argument("--dry-run", action="store_true", help="show what would be indexed")
    for verb in ("add", "update"):
        add_choices(parsers[verb])
    parsers["update"].add_argument("--path", type=path, metavar="DIR", help="where the folder lies now")
    for verb in ("files", "scan", "update", "remove"):
        parsers[verb].add_argument("collection", metavar="COLLECTION", help="its id")
    for verb in ("changes", "retry"):
        parsers[verb].add_argument("collection", nargs="?", metavar="COLLECTION", help="its id")
    parsers["changes"].add_argument(
        "--since-at", type=int, metavar="MS", help="only since this Unix time in milliseconds"
    )
    parsers["retry"].add_argument("--file-id", metavar="ID", help="only this file")
    parsers["scan"].add_argument("--deep", action="store_true", help="read every file again")
    parsers["files"].add_argument("--prefix", metavar="PATH", help="only paths that begin so")
    parsers["files"].add_argument(
        "--state", "--states", dest="states", action="append", metavar="STATE", help="only in this state; repeatable"
    )
    parsers["search"].add_argument("query", nargs="+", metavar="QUERY", help="plain words; `-` reads stdin")
    for name, how in search_options().items():
        parsers["search"].add_argument(
            to_option_name(name), *([SHORT[name]] if name in SHORT else []), dest=name, **how
        )
    parsers["read"].add_argument("address", metavar="ADDRESS", help="as a search names it, COLLECTION:PATH, or a path")
    for name in ("from_line", "to_line", "max_chars"):
        parsers["read"].add_argument(to_option_name(name), type=int, metavar="N")
    parsers["entities"].add_argument("query", nargs="?", metavar="NAME", help="a part of a name")
    parsers["entities"].add_argument("--collection", metavar="COLLECTION", help="only of this one")
    parsers["edges"].add_argument("entity", metavar="ENTITY", help="a name, COLLECTION:PATH, or an id")
    parsers["edges"].add_argument("--direction", choices=("out", "in", "both"), help="default: both")
    parsers["edges"].add_argument("--min-strength", dest="min_strength", type=float, metavar="0..1")
    for verb in ("files", "entities", "edges", "changes"):
        add_limit(parsers[verb], PAGE)
    for verb in ("files", "entities", "edges"):
        parsers[verb].add_argument(
            "--kind", "--kinds", dest="kinds", action="append", metavar="KIND", help="only of this kind; repeatable"
        )
    parsers["why"].add_argument(
        "place", metavar="COLLECTION:PATH", help="or a path, or a question: what came near and was left out"
    )


COMMANDS = {
    "knowledge": Command(
        _arrange,
        lambda given: VERBS[given.verb][0](given),
        '  pioneer knowledge add ./notes --dry-run\n  pioneer knowledge search "release checklist" --topic release\n'
        "  pioneer knowledge why notes:drafts/old.md",
    ),
}
