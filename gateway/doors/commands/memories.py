"""The commands that read durable memory: search, list, show, history, stats."""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple, TextIO, get_args

from gateway.base.exit_codes import NEGATIVE, OK
from gateway.doors.commands import Command
from gateway.doors.commands.conversations import DIAGNOSTIC_WORDS
from gateway.doors.commands.door import HomeMethods, through_door
from gateway.doors.commands.forgotten import find_forgotten
from gateway.doors.commands.naming import NOT_THERE, find_memory, name_memory
from gateway.doors.commands.options import (
    add_context,
    add_filters,
    add_place,
    add_words,
    context_of,
    filters_of,
    number,
    positive,
    present,
    scopes_of,
    text_of,
)
from gateway.doors.commands.paging import MORE, PAGE, add_limit, collect_pages, count_elsewhere, limit_of
from gateway.doors.commands.sensitive import hint_named_sensitive, hint_sensitive, is_sensitive
from gateway.doors.terminal.screen import (
    format_count,
    hint,
    readable,
    say,
    show_json,
    show_pairs,
    show_table,
    when,
    words,
)
from memory.read.ranking import RECALL_FLOOR
from protocol import methods as m
from protocol.base import Elsewhere
from protocol.memory.changes import Event, HistoryResult
from protocol.memory.reads import GetResult, Hit, ListResult, SearchResult
from protocol.memory.values import Order
from protocol.record import Record

# -- search and list ---------------------------------------------------------------------------------------------------


def show_records(records: Sequence[Record], scores: Sequence[float] | None = None, to: TextIO | None = None) -> None:
    """Write a row for each record; `scores` are those of the records, in the same order."""
    columns = ["id", *(["score"] if scores is not None else []), "category", "scope", "updated", "content"]
    show_table(
        columns,
        [
            [
                record.memory_id,
                *([f"{scores[place]:.2f}"] if scores is not None else []),
                record.category,
                str(record.scope),
                when(record.updated_at),
                _format_content(record),
            ]
            for place, record in enumerate(records)
        ],
        to,
    )


def _format_content(record: Record) -> str:
    marks = [record.status] if record.status != "active" else []
    marks += ["note"] if record.voice == "machine" else []
    return f"({', '.join(marks)}) {record.content}" if marks else record.content


def _arrange_search(to: argparse.ArgumentParser) -> None:
    add_filters(to)
    to.add_argument("query", nargs="+", metavar="QUERY", help="plain words; `-` reads stdin")
    add_words(to)
    to.add_argument("--min-score", type=number, metavar="0..1", help="only what fits at least so well")
    to.add_argument("--limit", type=positive, default=20, metavar="N", help="at most so many, 1 to 100 (default: 20)")


def _search(given: argparse.Namespace) -> int:
    mode = "lexical" if given.words else "hybrid"
    params = filters_of(given) | present(
        query=text_of(given.query), mode=mode, min_score=given.min_score, limit=given.limit, count_elsewhere=True
    )

    async def work(door: HomeMethods) -> FoundMemories:
        result = await door.call(m.MEMORY_SEARCH, params)
        if not given.words and (count := await door.count_facts_without_vector()):
            lacking = format_count(count, "fact has", "facts have")
            sys.stderr.write(f"pioneer: {lacking} no vector yet, and only words find them: `pioneer models index`\n")
        # by words alone every hit has a word of the question; a program and a least score decide for themselves
        takes_all = given.json or given.words or given.min_score is not None
        found = FoundMemories(result, result.hits if takes_all else [hit for hit in result.hits if is_fitting(hit)])
        if found.fitting:
            return found._replace(sensitive=await _count_withheld(door, given, params))
        if not door.lexicon.query_terms(params["query"]):
            return found._replace(has_words=False)
        # without a floor a search by meaning counts every memory of the other workspaces
        closer = result if takes_all else await door.call(m.MEMORY_SEARCH, params | {"min_score": RECALL_FLOOR})
        await door.hint_at(closer.elsewhere)
        return found._replace(sensitive=await _count_withheld(door, given, params))

    found = through_door(given, work, "off" if given.words else "ask")
    if given.json:
        show_json(found.result)
    else:
        _show_found(found)
    return OK if found.fitting else NEGATIVE


async def _count_withheld(door: HomeMethods, given: argparse.Namespace, params: dict[str, Any]) -> int:
    """Return the number of memories that fit and are withheld as sensitive; 0 for a program, or with `--sensitive`."""
    if given.sensitive or given.json:
        return 0
    hits = (await door.call(m.MEMORY_SEARCH, params | {"include_sensitive": True, "count_elsewhere": False})).hits
    return sum(is_sensitive(hit.record) and is_fitting(hit) for hit in hits)


FITTING_FLOOR = 0.01
"""The least score of a hit by meaning alone that a person is shown; it is lower than a prompt's, which costs tokens.

With the static model and homes of six facts it shows the needed one for .81 of the messages of the sets `english_4`,
`english_5`, `others_5`, and something for .29 of the unrelated ones: .44 and .07 at a prompt's floor, .90 and .55 at
half of this.
"""
NEAREST = 3
"""The number of memories that are shown where none fits, so that the person sees that none does."""


class FoundMemories(NamedTuple):
    """The outcome of a search."""

    result: SearchResult
    fitting: Sequence[Hit]
    """The hits that are shown as fitting."""
    sensitive: int = 0
    """The number of fitting memories that are withheld as sensitive."""
    has_words: bool = True
    """The question has a word that can be searched for."""


def is_fitting(hit: Hit) -> bool:
    """Return whether a hit has a word of the question, or a score of `FITTING_FLOOR` by meaning alone.

    A search by meaning returns every memory, as each is a little like every question.
    """
    return bool(hit.matched_terms) or hit.score >= FITTING_FLOOR


def _show_found(found: FoundMemories) -> None:
    if found.fitting:
        show_records([hit.record for hit in found.fitting], [hit.score for hit in found.fitting])
        hint_sensitive(found.sensitive)
        return
    nearest = found.result.hits[:NEAREST]
    if nearest:
        hint("nothing fits; nearest in meaning (`--min-score 0` lists all that are):")
        show_records([hit.record for hit in nearest], [hit.score for hit in nearest], sys.stderr)
    elif not found.has_words:
        hint(f"nothing found; {DIAGNOSTIC_WORDS['query_too_vague']}")
    else:
        hint("nothing found; `pioneer why` tells more")
    hint_sensitive(found.sensitive)


def _arrange_list(to: argparse.ArgumentParser) -> None:
    add_filters(to)
    add_limit(to)
    to.add_argument(
        "--order",
        choices=get_args(Order),
        default="updated_at",
        metavar="NAME",
        help="updated_at, created_at, importance or strength",
    )
    to.add_argument("--forgotten", action="store_true", help="what `restore` can bring back, without its words")


def _list(given: argparse.Namespace) -> int:
    if given.forgotten:
        return _list_forgotten(given)
    params = filters_of(given) | {"order": given.order}

    async def work(door: HomeMethods) -> tuple[ListResult, int]:
        result: ListResult = await collect_pages(door, m.MEMORY_LIST, params, "records", limit_of(given))
        if not result.records:
            await door.hint_at(await _count_elsewhere(door, given), "memory", "memories")
        if given.sensitive or given.json:
            return result, 0
        # among as many as are listed, at least a page: a home may have a hundred thousand
        limit = limit_of(given)
        most = max(PAGE, limit) if limit is not None else None
        wider = await collect_pages(door, m.MEMORY_LIST, params | {"include_sensitive": True}, "records", most)
        return result, sum(map(is_sensitive, wider.records))

    result, withheld = through_door(given, work)
    if given.json:
        show_json(result)
        return OK
    show_records(result.records)
    hint_sensitive(withheld)
    if result.next_cursor is not None:
        hint(MORE)
    if not result.records:
        hint("there is nothing to list")
    return OK


async def _count_elsewhere(door: HomeMethods, given: argparse.Namespace) -> list[Elsewhere]:
    """Return the numbers of memories in other workspaces, at most `PAGE` each; none where --scope leaves them out."""
    if given.scope and "workspace" not in {scope.partition(":")[0] for scope in given.scope}:
        return []

    async def count(workspace_id: str) -> int:
        there = {"scopes": [{"kind": "workspace", "key": workspace_id}], "context": {"workspace_id": workspace_id}}
        return len((await door.call(m.MEMORY_LIST, filters_of(given) | there | {"limit": PAGE})).records)

    return await count_elsewhere(door, given.workspace, count)


def _list_forgotten(given: argparse.Namespace) -> int:
    context, scopes = context_of(given), scopes_of(given)
    found = through_door(given, lambda door: find_forgotten(door, context, scopes, given.category))
    shown = found[: limit_of(given)]
    if given.json:
        show_json({"forgotten": shown})
        return OK
    if not shown:
        hint("nothing that was forgotten can be restored")
    show_table(
        ["id", "category", "scope", "forgotten"],
        [[one.memory_id, one.category, str(one.scope), when(one.forgotten_at)] for one in shown],
    )
    if len(shown) < len(found):
        hint(MORE)
    return OK


# -- one memory --------------------------------------------------------------------------------------------------------


def _arrange_one(to: argparse.ArgumentParser) -> None:
    add_place(to)
    add_context(to)
    to.add_argument("memory", nargs="+", metavar="ID|WORDS", help="a memory's id or key, or words that only it has")


NOT_CONFIRMED = "not confirmed: `pioneer confirm` takes it for your own word"


def _show(given: argparse.Namespace) -> int:
    async def work(door: HomeMethods) -> GetResult:
        record = await find_memory(door, " ".join(given.memory), given)
        if record is None:
            return GetResult(record=None)
        return await door.call(m.MEMORY_GET, {"memory_id": record.memory_id, "context": context_of(given)})

    result = through_door(given, work)
    if given.json:
        show_json(result)
    elif result.record is None:
        hint(NOT_THERE)
    else:
        _show_whole(result.record)
        hint_named_sensitive(result.record)
        if result.similar_to:
            hint(f"looks like {', '.join(one.memory_id for one in result.similar_to)}: `pioneer merge` makes them one")
    return OK if result.record is not None else NEGATIVE


def _show_whole(record: Record) -> None:
    say(readable(record.content), "bold")
    show_pairs(
        [
            ("id", record.memory_id),
            ("key", record.key),
            ("path", record.path or ""),
            ("status", record.status + (", contested" if record.contested else "")),
            ("category", record.category),
            ("scope", str(record.scope)),
            ("value", "" if record.value is None else json.dumps(record.value, ensure_ascii=False)),
            ("tags", ", ".join(record.tags)),
            ("sensitivity", record.sensitivity),
            ("confidence", f"{record.confidence:.2f}"),
            ("importance", f"{record.importance:.2f}"),
            ("strength", _describe_strength(record)),
            ("fades", _describe_fading(record)),
            (
                "source",
                words(record.provenance.source_kind) + (f", {NOT_CONFIRMED}" if record.voice == "machine" else ""),
            ),
            ("conversation", record.provenance.thread_id or ""),
            ("evidence", f"{record.evidence_count} times"),
            ("created", when(record.created_at)),
            ("updated", when(record.updated_at)),
            ("valid from", when(record.valid_from)),
            ("expires", when(record.expires_at)),
            ("replaces", record.supersedes or ""),
            ("replaced by", record.superseded_by or ""),
        ]
    )


def _describe_strength(record: Record) -> str:
    """Return the present strength of a record, and the factors of its standing, its strength without ageing."""
    from memory.rules.strength import factors_of  # noqa: PLC0415

    factors = factors_of(record)
    product = " * ".join(f"{name} {value:.2f}" for name, value in factors._asdict().items())
    return f"{record.strength:.2f} now; standing {record.standing:.2f} = {product}"


def _describe_fading(record: Record) -> str:
    if record.pinned:
        return "never: pinned"
    return "never" if record.fades_at is None else f"{when(record.fades_at)}{', has faded' if record.faded else ''}"


def _history(given: argparse.Namespace) -> int:
    async def work(door: HomeMethods) -> HistoryResult:
        memory_id = await name_memory(door, " ".join(given.memory), given)
        return await door.call(m.MEMORY_HISTORY, {"memory_id": memory_id, "context": context_of(given)})

    result = through_door(given, work)
    if given.json:
        show_json(result)
    else:
        show_table(
            ["when", "event", "by", "why", "memory"],
            [
                [when(event.at), event.event, event.actor.kind, _describe_reason(event), event.memory_id]
                for event in result.events
            ],
        )
    return OK


def _describe_reason(event: Event) -> str:
    """Return the reason of an event in words; that of a record which a correction made is `correction`."""
    is_correction = event.event == "created" and event.reason_code == "superseded_by_correction"
    return "correction" if is_correction else words(event.reason_code)


# -- counts ------------------------------------------------------------------------------------------------------------


def _arrange_stats(to: argparse.ArgumentParser) -> None:
    add_place(to)
    add_context(to)


def _stats(given: argparse.Namespace) -> int:
    result = through_door(given, lambda door: door.call(m.MEMORY_STATS, {"context": context_of(given)}))
    if given.json:
        show_json(result)
        return OK
    groups = (
        ("scope", {str(entry.scope): entry.count for entry in result.records.by_scope}),
        ("category", result.records.by_category),
        ("status", result.records.by_status),
        ("candidates", result.candidates),
        ("decided", {words(code): count for code, count in result.decisions.by_reason_code.items()}),
    )
    show_table(
        ["of", "what", "count"],
        [[group, name, str(count)] for group, counts in groups for name, count in counts.items() if count],
    )
    return OK


COMMANDS = {
    "search": Command(
        _arrange_search,
        _search,
        "  pioneer search coffee\n  pioneer search release day --category project_policy --json",
    ),
    "list": Command(_arrange_list, _list, "  pioneer list --order importance --limit 5\n  pioneer list --all --json"),
    "show": Command(_arrange_one, _show, "  pioneer show mem_…\n  pioneer show coffee\n  pioneer show 'release day'"),
    "history": Command(_arrange_one, _history, "  pioneer history mem_…"),
    "stats": Command(_arrange_stats, _stats),
}
