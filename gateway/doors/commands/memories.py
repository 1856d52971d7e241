"""Durable memory as a person asks for it: remember, search, list, show, history, stats."""

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple, get_args

from gateway.base.exit_codes import DATA, NEGATIVE, OK
from gateway.doors.commands import Command
from gateway.doors.commands.door import HomeMethods, configured, through_door
from gateway.doors.commands.forgotten import find_forgotten
from gateway.doors.commands.naming import NOT_THERE, find_memory, name_memory
from gateway.doors.commands.options import (
    add_context,
    add_filters,
    add_place,
    add_words,
    context_of,
    filters_of,
    present,
    scope_of,
    scopes_of,
    text_of,
    time_of,
)
from gateway.doors.commands.paging import MORE, PAGE, add_limit, limit_of, paged
from gateway.doors.terminal.exits import Stop
from gateway.doors.terminal.screen import hint, plain, readable, say, show_json, show_pairs, show_table, when, words
from protocol import methods as m
from protocol.base import USER_SCOPE_KEY, Elsewhere
from protocol.memory import Category, Kind, Order, Record, SemanticFields, Sensitivity


def _no_number(name: str) -> Any:
    raise ValueError(name)  # NaN and its like are no JSON


def value_of(text: str | None) -> Any:
    """Return a value as JSON. Raises `Stop`."""
    try:
        return None if text is None else json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise Stop(DATA, "--value takes JSON, such as '\"tea\"' or 42") from None


# -- remember ----------------------------------------------------------------------------------------------------------


def _arrange_remember(to: argparse.ArgumentParser) -> None:
    add_place(to)
    add_context(to)
    to.add_argument("text", nargs="+", metavar="TEXT", help="one fact in plain words; `-` reads stdin")
    to.add_argument(
        "--category", choices=get_args(Category), metavar="NAME", help="default: by what the words state, else custom"
    )
    to.add_argument("--kind", choices=get_args(Kind), metavar="NAME", help="default: semantic")
    to.add_argument("--key", help="a name for the fact; a later one of the same key replaces it")
    to.add_argument("--path", help="a relative path to file it under; a later one of the same path replaces it")
    to.add_argument("--scope", metavar="SCOPE", help="user, workspace, agent, thread (default: by category)")
    to.add_argument("--tag", action="append", metavar="TAG", help="repeatable")
    to.add_argument("--value", metavar="JSON", help="the fact's value for programs")
    to.add_argument("--importance", type=float, metavar="0..1")
    to.add_argument("--sensitivity", choices=get_args(Sensitivity), metavar="NAME", help="such as regulated")
    to.add_argument("--expires", metavar="TIME", help="a date, or a span such as 30d")
    to.add_argument("--replaces", metavar="ID", help="the memory that this one takes the place of")


class KeptFact(NamedTuple):
    """The outcome of a fact, with the memory that it replaced."""

    result: m.m.RememberResult
    replaced: Record | None


def understand(text: str) -> dict[str, Any]:
    """Return category, attribute, value and scope of a single statement, as far as rules without a model find them."""
    # its tables of languages serve this alone
    from memory.extraction.rule_extraction import extract_statements  # noqa: PLC0415
    from memory.rules.categories import PROJECT_CATEGORIES  # noqa: PLC0415
    from memory.rules.identity import folded  # noqa: PLC0415

    for said in (text, f"Remember that {text}"):
        facts = extract_statements({"": said})
        if len(facts) == 1:
            [fact] = facts
            found: dict[str, Any] = {"category": fact.semantic.category}
            if folded(text).endswith(
                folded(fact.content)
            ):  # else it says more, which must not go with what is replaced
                found |= present(attribute=_attribute_of(fact.semantic), value=fact.value)
            if fact.semantic.scope_hint == "user_global" and fact.semantic.category in PROJECT_CATEGORIES:
                found["scope"] = {"kind": "user", "key": USER_SCOPE_KEY}  # an allergy holds in every project
            return found
        if facts:
            break  # two statements in one text are no single fact of either kind
    return {}


def _attribute_of(semantic: SemanticFields) -> str | None:
    """Return the attribute of which there is one at a time, or None of a set."""
    if semantic.cardinality != "single":
        return None
    return semantic.custom_attribute or semantic.attribute


def _remember(given: argparse.Namespace) -> int:
    text = text_of(given.text)
    understood = understand(text) if given.category is None else {}
    if "scope" in understood and not configured(given).config.memory.allow_global_user_by_default:
        del understood["scope"]
    params = understood | present(
        content=text,
        category=given.category,
        kind=given.kind,
        key=given.key,
        path=given.path,
        tags=given.tag,
        scope=scope_of(given.scope, given) if given.scope else None,
        value=value_of(given.value),
        importance=given.importance,
        sensitivity=given.sensitivity,
        supersedes=given.replaces,
        expires_at=time_of(given.expires, is_future=True),
        context=context_of(given),
        provenance={"source_kind": "explicit_user_request", "created_by": {"kind": "user", "id": "cli"}},
    )

    async def work(door: HomeMethods) -> KeptFact:
        await door.ensure_workspace(given.workspace)
        result = await door.call(m.MEMORY_REMEMBER, params)
        if result.superseded_memory_id is None:
            return KeptFact(result, None)
        asked = {"memory_id": result.superseded_memory_id, "context": context_of(given)}
        return KeptFact(result, (await door.call(m.MEMORY_GET, asked)).record)

    kept = through_door(given, work, "write", makes_home=True)
    if given.json:
        show_json(kept.result)
    else:
        _show_kept(kept)
    return OK


def _show_kept(kept: KeptFact) -> None:
    """Show the memory, and beside it the replaced one, the reason, and the way to undo it."""
    result, replaced = kept
    hint("kept:" if result.created else "known already:", "green")
    _show_rows([result.record])
    undo = f"pioneer forget {result.record.memory_id}"
    if replaced is not None:
        hint(f"in place of: {plain(replaced.content)}", "yellow")
        undo = f"pioneer edit {result.record.memory_id} {shlex.quote(plain(replaced.content))}"
    reasons = sorted(result.decision.factors, key=lambda factor: -factor.contribution)
    hint(f"why: {reasons[0].why if reasons else words(result.decision.reason_code)}")
    hint(f"to undo: {undo}")


# -- search and list ---------------------------------------------------------------------------------------------------


def _show_rows(records: Sequence[Record], scores: Sequence[float] | None = None) -> None:
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
                _said(record),
            ]
            for place, record in enumerate(records)
        ],
    )


def _said(record: Record) -> str:
    marks = [record.status] if record.status != "active" else []
    marks += ["note"] if record.voice == "machine" else []
    return f"({', '.join(marks)}) {record.content}" if marks else record.content


def _arrange_search(to: argparse.ArgumentParser) -> None:
    add_filters(to)
    to.add_argument("query", nargs="+", metavar="QUERY", help="plain words; `-` reads stdin")
    add_words(to)
    to.add_argument("--min-score", type=float, metavar="0..1", help="only what fits at least so well")
    to.add_argument("--limit", type=int, default=20, metavar="N", help="at most so many, 1 to 100 (default: 20)")


def _search(given: argparse.Namespace) -> int:
    mode = "lexical" if given.words else "hybrid"
    params = filters_of(given) | present(
        query=text_of(given.query), mode=mode, min_score=given.min_score, limit=given.limit, count_elsewhere=True
    )

    async def work(door: HomeMethods) -> m.m.SearchResult:
        result = await door.call(m.MEMORY_SEARCH, params)
        if not given.words and (count := await door.facts_without_vector()):
            told = "1 fact has" if count == 1 else f"{count} facts have"
            sys.stderr.write(f"pioneer: {told} no vector yet, and only words find them: `pioneer models index`\n")
        await door.hint_at(result.elsewhere)
        return result

    result = through_door(given, work, "off" if given.words else "ask")
    if given.json:
        show_json(result)
    elif result.hits:
        _show_rows([hit.record for hit in result.hits], [hit.score for hit in result.hits])
    else:
        hint("nothing found; `pioneer why` tells more")
    return OK if result.hits else NEGATIVE


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

    async def work(door: HomeMethods) -> m.m.ListResult:
        result = await paged(door, m.MEMORY_LIST, params, "records", limit_of(given))
        if not result.records:
            await door.hint_at(await _listed_elsewhere(door, given), "memory", "memories")
        return result

    result = through_door(given, work)
    if given.json:
        show_json(result)
        return OK
    _show_rows(result.records)
    if result.next_cursor is not None:
        hint(MORE)
    if not result.records:
        hint("there is nothing to list")
    return OK


async def _listed_elsewhere(door: HomeMethods, given: argparse.Namespace) -> list[Elsewhere]:
    """Return the counts, up to a page each, of other workspaces' lists; empty without this workspace's own memory."""
    if given.scope and "workspace" not in {scope.partition(":")[0] for scope in given.scope}:
        return []
    found = list[Elsewhere]()
    for other in (await paged(door, m.WORKSPACE_LIST, {}, "workspaces", None)).workspaces:
        if other.workspace_id == given.workspace:
            continue
        own = {
            "scopes": [{"kind": "workspace", "key": other.workspace_id}],
            "context": {"workspace_id": other.workspace_id},
        }
        records = (await door.call(m.MEMORY_LIST, filters_of(given) | own | {"limit": PAGE})).records
        if records:
            found.append(Elsewhere(workspace_id=other.workspace_id, count=len(records)))
    return sorted(found, key=lambda one: -one.count)


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
    async def work(door: HomeMethods) -> m.m.GetResult:
        record = await find_memory(door, " ".join(given.memory), given)
        if record is None:
            return m.m.GetResult(record=None)
        return await door.call(m.MEMORY_GET, {"memory_id": record.memory_id, "context": context_of(given)})

    result = through_door(given, work)
    if given.json:
        show_json(result)
    elif result.record is None:
        hint(NOT_THERE)
    else:
        _show_whole(result.record)
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
            ("strength", _strength_of(record)),
            ("fades", _end_of(record)),
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


def _strength_of(record: m.m.Record) -> str:
    """Return the strength of a record with the factors of its standing, from which time takes."""
    from memory.rules.strength import factors_of  # noqa: PLC0415

    factors = factors_of(record)
    product = " * ".join(f"{name} {value:.2f}" for name, value in factors._asdict().items())
    return f"{record.strength:.2f} now; standing {record.standing:.2f} = {product}"


def _end_of(record: m.m.Record) -> str:
    if record.pinned:
        return "never: pinned"
    return "never" if record.fades_at is None else f"{when(record.fades_at)}{', has faded' if record.faded else ''}"


def _history(given: argparse.Namespace) -> int:
    async def work(door: HomeMethods) -> m.m.HistoryResult:
        memory_id = await name_memory(door, " ".join(given.memory), given)
        return await door.call(m.MEMORY_HISTORY, {"memory_id": memory_id, "context": context_of(given)})

    result = through_door(given, work)
    if given.json:
        show_json(result)
    else:
        show_table(
            ["when", "event", "by", "why", "memory"],
            [
                [when(event.at), event.event, event.actor.kind, words(event.reason_code), event.memory_id]
                for event in result.events
            ],
        )
    return OK


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
    "remember": Command(
        _arrange_remember,
        _remember,
        '  pioneer remember "I take my coffee without sugar." --category preference\n'
        '  echo "The harbour office opens at nine." | pioneer remember -\n'
        '  pioneer remember "Releases go out on Thursdays." --category project_policy --key "release day"',
    ),
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
